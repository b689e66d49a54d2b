//! One cell of a table: a method's grid on one split, for one goal.
//!
//! [`choose`] sees the training and validation parts only; the test part is looked at once, with the
//! parameters that were chosen.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use setpoint::Goal;
use setpoint::train::{self, Combined, TrainError};

use super::protocol::{grid, starts};
use crate::goals::parse;
use crate::problem::failed;
use crate::trial::{Trial, ranked};
use crate::{Cell, Choice, ExperimentError, Method, Problem, Watch};

/// What a cell came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// Models were fitted and one was chosen.
    Fitted(Fitted),
    /// The method has no loss for the goal.
    Unable {
        /// Why.
        unable: String,
    },
}

/// The model that was chosen on validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// The settings chosen.
    pub setting: String,
    /// The goal's value on validation.
    pub validation: f64,
    /// The goal's value on test.
    pub test: f64,
    /// Models fitted.
    pub fits: usize,
    /// Of these, without a value: diverged, or never within the conditions.
    pub failed: usize,
    /// Gradient evaluations.
    pub evaluations: u64,
    /// Wall-clock time of all fits, on one thread.
    pub seconds: f64,
    /// The parameters chosen, weights and then the bias; the journal has them, the record has not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<f32>,
}

impl Outcome {
    /// The model that was chosen, if there is one.
    pub fn fitted(&self) -> Option<&Fitted> {
        match self {
            Self::Fitted(fitted) => Some(fitted),
            Self::Unable { .. } => None,
        }
    }
}

/// Fits a cell's grid and measures what was chosen.
pub fn run(cell: &Cell, problem: &Problem, watch: &dyn Watch) -> Result<Outcome, ExperimentError> {
    let goal = parse(&cell.goal);
    let measured = choose(cell.method, &goal, cell.seed, problem, watch).and_then(|fitted| {
        let test = problem.test.value(&goal, &Combined::single(fitted.parameters.clone()))?;
        Ok(Fitted { test, ..fitted })
    });
    match measured {
        Err(TrainError::Method { reason, .. }) => Ok(Outcome::Unable { unable: reason.to_owned() }),
        measured => Ok(Outcome::Fitted(measured.map_err(failed(cell))?)),
    }
}

/// Fits a method's grid and keeps the best by validation; the first of equals. Test is not looked at.
fn choose(
    method: Method,
    goal: &Goal,
    seed: u64,
    problem: &Problem,
    watch: &dyn Watch,
) -> Result<Fitted, TrainError> {
    let grid = grid(method, goal, seed);
    if method == Method::Pairwise {
        // Says so before its start is fitted.
        let settings = &grid[0].settings;
        train::method::Pairwise::new(goal, &problem.train.sample, settings.surrogate, settings.bandwidth)?;
    }
    let run = |choices: &[Choice], start: Option<&[f32]>| -> Result<Vec<Trial>, TrainError> {
        choices.iter().map(|choice| Trial::run(goal, problem, choice, start, watch)).collect()
    };
    let before = run(&starts(method, seed), None)?;
    let trials = match method {
        Method::Setpoint | Method::Once => vec![defaults(goal, problem, &grid[0], watch)?],
        _ => run(&grid, ranked(goal, &before).ok().map(|order| &order[0].0.parameters[..]))?,
    };
    let (best, validation) = ranked(goal, &trials)?[0];
    let all = || before.iter().chain(&trials);
    Ok(Fitted {
        setting: best.name.clone(),
        validation,
        test: f64::NAN,
        fits: all().count(),
        failed: all().filter(|trial| trial.validation.is_none()).count(),
        evaluations: all().map(|trial| trial.steps).sum(),
        seconds: all().map(|trial| trial.seconds).sum(),
        parameters: best.parameters.clone(),
    })
}

/// Setpoint's defaults as one fit.
fn defaults(goal: &Goal, problem: &Problem, choice: &Choice, watch: &dyn Watch) -> Result<Trial, TrainError> {
    let began = Instant::now();
    let fitted = problem.fit(goal, &choice.settings, watch, None)?;
    watch.fitted();
    Ok(Trial {
        parameters: fitted.combined.parameters().unwrap_or_default().to_vec(),
        name: fitted.winner,
        validation: fitted.validation,
        steps: fitted.evaluations,
        seconds: began.elapsed().as_secs_f64(),
        ..Trial::default()
    })
}
