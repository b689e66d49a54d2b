//! One fit: the parameters of its best epoch, and how it came to them.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use setpoint::Goal;
use setpoint::goal::Direction;
use setpoint::model::Model;
use setpoint::train::{Progress, TrainError, fit_alone};

use super::problem::Problem;
use super::protocol::Choice;
use crate::Watch;
use crate::watch::control;

/// A fit under way, at its best epoch so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Passes over the training rows so far.
    pub epoch: u64,
    /// Seconds so far, on one thread.
    pub seconds: f64,
    /// The goal on validation, at the best epoch so far.
    pub validation: f64,
}

/// One fit.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Which settings.
    pub name: String,
    /// The parameters of the best epoch.
    pub parameters: Vec<f32>,
    /// The goal on validation with them; `None` where it diverged.
    pub validation: Option<f64>,
    /// The step they are from.
    pub step: u64,
    /// Gradient steps in all.
    pub steps: u64,
    /// Seconds in all.
    pub seconds: f64,
    /// Epoch by epoch.
    pub looks: Vec<Look>,
}

/// Whether one value of a goal is better than another.
pub fn better(goal: &Goal, value: f64, than: f64) -> bool {
    if goal.objective.direction() == Direction::Up { value > than } else { value < than }
}

/// Adds an epoch to a curve of the best so far.
pub fn follow(looks: &mut Vec<Look>, goal: &Goal, value: Option<f64>, elapsed: Duration) {
    let best = looks.last().map(|look| look.validation);
    let validation = match (value, best) {
        (Some(value), Some(best)) => Some(if better(goal, value, best) { value } else { best }),
        (value, best) => value.or(best),
    };
    let epoch = looks.last().map_or(0, |look| look.epoch) + 1;
    looks.extend(validation.map(|validation| Look { epoch, seconds: elapsed.as_secs_f64(), validation }));
}

impl Trial {
    /// Fits a choice for a goal.
    ///
    /// # Errors
    /// If the fit fails, but for one that diverges: a choice that lost.
    pub fn run(
        goal: &Goal,
        problem: &Problem,
        choice: &Choice,
        watch: &dyn Watch,
    ) -> Result<Self, TrainError> {
        let (mut train, mut validation) = (problem.train.clone(), problem.validation.clone());
        let start = train.network.initial(choice.settings.seed.wrapping_add(choice.restart << 32));
        let began = Instant::now();
        let mut looks = Vec::new();
        let mut observer = |progress: &Progress| {
            if progress.validation.is_some() {
                follow(&mut looks, goal, progress.validation, began.elapsed());
            }
            control(watch)
        };
        let fitted = fit_alone(
            goal,
            train.part(),
            validation.part(),
            &choice.settings,
            Some(&start),
            &mut observer,
            None,
        );
        let seconds = began.elapsed().as_secs_f64();
        watch.fitted();
        let name = choice.name.clone();
        match fitted {
            Ok(candidate) => Ok(Self {
                name,
                parameters: candidate.parameters,
                validation: candidate.validation,
                step: candidate.step,
                steps: candidate.evaluations,
                seconds,
                looks,
            }),
            Err(TrainError::Diverged { step }) => {
                let (parameters, validation) = (Vec::new(), None);
                Ok(Self { name, parameters, validation, step, steps: step, seconds, looks })
            }
            Err(error) => Err(error),
        }
    }
}
