//! One fit: the parameters of its best look on validation, and how it came to them.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use setpoint::Goal;
use setpoint::train::{Progress, Settings, TrainError};

use crate::Watch;
use crate::goals::sign;
use crate::problem::Problem;
use crate::watch::control;

/// One point of a method's grid.
#[derive(Clone, Debug)]
pub struct Choice {
    /// What makes it differ from the others.
    pub name: String,
    /// All of its settings.
    pub settings: Settings,
    /// Which of a network's starts, from 0.
    pub restart: u64,
}

impl Choice {
    /// From the first start.
    pub fn new(name: String, settings: Settings) -> Self {
        Self { name, settings, restart: 0 }
    }
}

/// A fit under way, at its best so far by validation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Passes over the training rows so far.
    pub epoch: u64,
    /// Seconds so far, on one thread.
    pub seconds: f64,
    /// The goal on validation.
    pub validation: f64,
    /// The goal on test, where that was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<f64>,
}

/// One fit.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Which settings.
    pub name: String,
    /// The best parameters.
    pub parameters: Vec<f32>,
    /// The goal on validation with them; `None` where it diverged.
    pub validation: Option<f64>,
    /// The step they are from.
    pub step: u64,
    /// Gradient steps in all.
    pub steps: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// Look by look.
    pub looks: Vec<Look>,
}

/// Whether one value of a goal is better than another.
pub fn better(goal: &Goal, value: f64, than: f64) -> bool {
    sign(goal) * value > sign(goal) * than
}

/// Adds an epoch to a curve of the best so far.
pub fn follow(looks: &mut Vec<Look>, goal: &Goal, value: Option<f64>, elapsed: Duration) {
    let best = looks.last().map(|look| look.validation);
    let validation = match (value, best) {
        (Some(value), Some(best)) => Some(if better(goal, value, best) { value } else { best }),
        (value, best) => value.or(best),
    };
    let epoch = looks.last().map_or(0, |look| look.epoch) + 1;
    let seconds = elapsed.as_secs_f64();
    looks.extend(validation.map(|validation| Look { epoch, seconds, validation, test: None }));
}

/// The fits that have a value on validation, the best first; of equals the earlier.
pub fn ranked<'t>(goal: &Goal, trials: &'t [Trial]) -> Result<Vec<(&'t Trial, f64)>, TrainError> {
    let mut order: Vec<(&Trial, f64)> =
        trials.iter().filter_map(|trial| Some((trial, trial.validation?))).collect();
    order.sort_by(|(_, a), (_, b)| better(goal, *b, *a).cmp(&better(goal, *a, *b)));
    if order.is_empty() {
        let reason = format!("none of {} fits has a value", trials.len());
        return Err(TrainError::Infeasible { split: "validation", reason });
    }
    Ok(order)
}

impl Trial {
    /// Fits a choice for a goal, from this start or from zeros.
    pub fn run(
        goal: &Goal,
        problem: &Problem,
        choice: &Choice,
        start: Option<&[f32]>,
        watch: &dyn Watch,
    ) -> Result<Self, TrainError> {
        let began = Instant::now();
        let mut looks = Vec::new();
        let mut observer = |progress: &Progress| {
            if progress.validation.is_some() {
                follow(&mut looks, goal, progress.validation, began.elapsed());
            }
            control(watch)
        };
        let fitted = problem.fit_alone(goal, &choice.settings, start, &mut observer, None);
        let seconds = began.elapsed().as_secs_f64();
        let name = choice.name.clone();
        let trial = match fitted {
            Ok(candidate) => Self {
                name,
                parameters: candidate.parameters,
                validation: candidate.validation,
                step: candidate.step,
                steps: candidate.evaluations,
                seconds,
                looks,
            },
            // A step size that was too large for this split.
            Err(TrainError::Diverged { step }) => {
                Self { name, step, steps: step, seconds, looks, ..Self::default() }
            }
            Err(error) => return Err(error),
        };
        watch.fitted();
        Ok(trial)
    }
}
