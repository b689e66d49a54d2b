//! One cell of a table: a method on one task, seed and goal.
//!
//! The test part is looked at once for what was chosen on validation: the best fit, and the average of
//! the three best.

use serde::{Deserialize, Serialize};
use setpoint::Goal;
use setpoint::train::{Combined, Member, Standard, TrainError};

use super::protocol::Protocol;
use super::shared::auto;
use crate::goals::parse;
use crate::problem::failed;
use crate::trial::{Trial, ranked};
use crate::{Cell, Choice, ExperimentError, HeldRows, Look, Method, Problem, Watch};

/// What was chosen on validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// The settings of the best fit; for Setpoint what it says it is.
    pub setting: String,
    /// The goal on validation.
    pub validation: f64,
    /// The goal on test.
    pub test: f64,
    /// The average of the three best fits.
    pub average: Option<Average>,
    /// For Setpoint: what it says of its gain, and what it was measured against.
    pub gain: Option<ClaimedGain>,
    /// Networks fitted.
    pub fits: usize,
    /// Of these, without a value.
    pub failed: usize,
    /// Passes over the training rows, all fits together.
    pub epochs: f64,
    /// Seconds of all fits, each on one thread.
    pub seconds: f64,
    /// The best fit, epoch by epoch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<Look>,
}

/// Several fits as one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Average {
    /// How many.
    pub of: usize,
    /// The goal on validation.
    pub validation: f64,
    /// The goal on test.
    pub test: f64,
}

/// What Setpoint says of its gain over cross-entropy, and what it turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimedGain {
    /// On validation, positive is better.
    pub difference: f64,
    /// Its standard error.
    pub standard_error: Option<f64>,
    /// Whether it was enough; if not, cross-entropy is what Setpoint came to.
    pub kept: bool,
    /// The value of cross-entropy, averaged, on test.
    pub baseline: f64,
}

/// Fits the grid of a method that shares no fits, and measures what was chosen.
pub fn run(
    cell: &Cell,
    problem: &Problem,
    protocol: &Protocol,
    watch: &dyn Watch,
) -> Result<Fitted, ExperimentError> {
    let (goal, source) = (parse(&cell.goal), cell.task.source);
    let batch = protocol.training(source).batch;
    let fitted = if cell.method == Method::Setpoint {
        auto(&goal, problem, &protocol.rotated(source, cell.seed), &[], batch, watch)
    } else {
        let grid = protocol.grid(cell.method, &goal, source, cell.seed);
        let trial =
            |choice: &Choice| Trial::run(&goal, problem, choice, Some(&start(problem, choice)), watch);
        let trials: Result<Vec<Trial>, TrainError> = grid.iter().map(trial).collect();
        trials.and_then(|trials| judge(&goal, problem, batch, &trials))
    };
    fitted.map_err(failed(cell))
}

/// Where the network of a choice starts.
pub fn start(problem: &Problem, choice: &Choice) -> Vec<f32> {
    problem.train.held.model().initial(choice.settings.seed.wrapping_add(choice.restart << 32))
}

/// Three networks are as many as Setpoint averages.
const AVERAGED: usize = 3;

/// Chooses the best of some fits and averages the three best, by validation; then looks at test.
pub fn judge(goal: &Goal, problem: &Problem, batch: usize, trials: &[Trial]) -> Result<Fitted, TrainError> {
    let order = ranked(goal, trials)?;
    let (best, validation) = order[0];
    let chosen: Vec<&Trial> = order.iter().take(AVERAGED).map(|(trial, _)| *trial).collect();
    let average = match chosen.len() {
        1 => None,
        of => {
            let combined = combine(problem, &chosen)?;
            let value = |part: &HeldRows| part.value(goal, &combined);
            Some(Average { of, validation: value(&problem.validation)?, test: value(&problem.test)? })
        }
    };
    Ok(Fitted {
        setting: best.name.clone(),
        validation,
        test: problem.test.value(goal, &Combined::single(best.parameters.clone()))?,
        average,
        gain: None,
        fits: trials.len(),
        failed: trials.len() - order.len(),
        epochs: epochs(problem, batch, trials.iter().map(|trial| trial.steps).sum()),
        seconds: trials.iter().map(|trial| trial.seconds).sum(),
        looks: best.looks.clone(),
    })
}

/// Passes over the training rows that so many steps are.
pub fn epochs(problem: &Problem, batch: usize, steps: u64) -> f64 {
    steps as f64 / problem.train.sample.len().div_ceil(batch) as f64
}

/// Fits with their scores brought to the same spread on the training rows, averaged.
fn combine(problem: &Problem, trials: &[&Trial]) -> Result<Combined, TrainError> {
    let share = 1.0 / trials.len() as f64;
    let member = |trial: &&Trial| -> Result<Member, TrainError> {
        let scores = problem.train.scores(&Combined::single(trial.parameters.clone()))?;
        let standard = Standard::of(&problem.train.sample, &scores);
        let weight = share / standard.deviation;
        Ok(Member { parameters: trial.parameters.clone(), weight, shift: -standard.mean * weight })
    };
    Ok(Combined { members: trials.iter().map(member).collect::<Result<_, _>>()? })
}
