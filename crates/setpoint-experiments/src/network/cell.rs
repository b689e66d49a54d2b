//! One cell of a table: a method on one task, seed and goal.
//!
//! The test part is looked at once for what was chosen on validation: the best fit, and the average of
//! the three best.

use serde::{Deserialize, Serialize};
use setpoint::Goal;
use setpoint::train::{Combined, Member, Standard, TrainError};

use super::goals::parse;
use super::problem::{Problem, failed};
use super::protocol::{Method, Protocol};
use super::shared::auto;
use super::task::Task;
use super::trial::{Look, Trial, better};
use crate::{ExperimentError, Watch};

/// Which cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The task.
    pub task: Task,
    /// The seed of its split, or of the network's start where the data gives the split.
    pub seed: u64,
    /// The goal, as text.
    pub goal: String,
    /// The method.
    pub method: Method,
}

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
    pub gain: Option<Gain>,
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
pub struct Gain {
    /// On validation, positive is better.
    pub difference: f64,
    /// Its standard error.
    pub standard_error: Option<f64>,
    /// Whether it was enough; if not, cross-entropy is what Setpoint came to.
    pub kept: bool,
    /// The value of cross-entropy, averaged, on test.
    pub baseline: f64,
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { task, seed, goal, method } = self;
        write!(f, "{} with seed {seed}, {goal}, {}", task.title, method.title())
    }
}

impl Cell {
    /// Fits the grid of a method that shares no fits, and measures what was chosen.
    ///
    /// # Errors
    /// If no fit has a value, or the caller stops.
    pub fn run(
        &self,
        problem: &Problem,
        protocol: &Protocol,
        watch: &dyn Watch,
    ) -> Result<Fitted, ExperimentError> {
        let goal = parse(&self.goal);
        let batch = protocol.training(self.task.source).batch;
        if self.method == Method::Auto {
            let settings = protocol.rotated(self.task.source, self.seed);
            return auto(&goal, problem, &settings, &[], batch, watch).map_err(failed(self.to_string()));
        }
        let mut trials = Vec::new();
        for choice in protocol.grid(self.method, &goal, self.task.source, self.seed) {
            trials.push(Trial::run(&goal, problem, &choice, watch).map_err(failed(self.to_string()))?);
        }
        judge(&goal, problem, batch, &trials).map_err(failed(self.to_string()))
    }
}

/// Three networks are as many as Setpoint averages.
const AVERAGED: usize = 3;

/// Chooses the best of some fits and averages the three best, by validation; then looks at test.
pub fn judge(goal: &Goal, problem: &Problem, batch: usize, trials: &[Trial]) -> Result<Fitted, TrainError> {
    let mut order: Vec<(&Trial, f64)> =
        trials.iter().filter_map(|trial| Some((trial, trial.validation?))).collect();
    order.sort_by(|(_, a), (_, b)| {
        // The first of equals stays first.
        if better(goal, *a, *b) {
            std::cmp::Ordering::Less
        } else if better(goal, *b, *a) {
            std::cmp::Ordering::Greater
        } else {
            std::cmp::Ordering::Equal
        }
    });
    let Some((best, validation)) = order.first().copied() else {
        let reason = format!("none of {} fits has a value", trials.len());
        return Err(TrainError::Infeasible { split: "validation", reason });
    };
    let chosen: Vec<&Trial> = order.iter().take(AVERAGED).map(|(trial, _)| *trial).collect();
    let average = match chosen.len() {
        1 => None,
        of => {
            let combined = combine(problem, &chosen)?;
            let value = |part: &super::problem::Part| part.value(goal, &combined);
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
