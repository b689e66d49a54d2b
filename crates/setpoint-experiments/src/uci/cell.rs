//! One cell of a table: a method's grid on one split, for one goal.
//!
//! [`choose`] sees the training and validation parts only; the test part is looked at once, with the
//! parameters that were chosen.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use setpoint::Goal;
use setpoint::goal::Direction;
use setpoint::train::{self, Progress, TrainError, fit, fit_alone};

use super::goals::parse;
use super::protocol::{Choice, Method};
use super::{Part, Set, Split};
use crate::watch::control;
use crate::{ExperimentError, Watch};

/// Which cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The data set.
    pub set: Set,
    /// The seed of its split.
    pub seed: u64,
    /// The goal, as text.
    pub goal: String,
    /// The method.
    pub method: Method,
}

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
    /// The parameters chosen, weights and then the bias.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<f32>,
}

impl Cell {
    /// Fits the method's grid and measures what was chosen.
    ///
    /// # Errors
    /// If no model of the grid has a value, or the caller stops.
    pub fn run(&self, split: &Split, watch: &dyn Watch) -> Result<Outcome, ExperimentError> {
        let goal = parse(&self.goal);
        let start = Instant::now();
        let failed = |error| match error {
            TrainError::Stopped => ExperimentError::Stopped,
            error => ExperimentError::Train { what: self.to_string(), error: Box::new(error) },
        };
        let chosen = match choose(self.method, &goal, self.seed, &split.train, &split.validation, watch) {
            Err(TrainError::Method { reason, .. }) => {
                return Ok(Outcome::Unable { unable: reason.to_owned() });
            }
            chosen => chosen.map_err(failed)?,
        };
        let seconds = start.elapsed().as_secs_f64();
        let test = split.test.value(&goal, &chosen.parameters).map_err(failed)?;
        Ok(Outcome::Fitted(Fitted {
            setting: chosen.setting,
            validation: chosen.validation,
            test,
            fits: chosen.fits,
            failed: chosen.failed,
            evaluations: chosen.evaluations,
            seconds,
            parameters: chosen.parameters,
        }))
    }

    /// Models that it fits.
    #[must_use]
    pub fn fits(&self) -> u64 {
        let grid = self.method.grid(&parse(&self.goal), self.seed).len();
        (grid + self.method.starts(self.seed).len()) as u64
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { set, seed, goal, method } = self;
        write!(f, "{} with seed {seed}, {goal}, {}", set.title(), method.title())
    }
}

/// The best of a grid by validation.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Which settings.
    pub setting: String,
    /// Their value on validation.
    pub validation: f64,
    /// The parameters.
    pub parameters: Vec<f32>,
    /// Models fitted.
    pub fits: usize,
    /// Of these, without a value.
    pub failed: usize,
    /// Gradient evaluations.
    pub evaluations: u64,
}

/// Fits a method's grid and keeps the best by validation; the first of equals.
///
/// # Errors
/// If the method cannot be had for the goal, no model has a value, or the caller stops.
pub fn choose(
    method: Method,
    goal: &Goal,
    seed: u64,
    train: &Part,
    validation: &Part,
    watch: &dyn Watch,
) -> Result<Chosen, TrainError> {
    let mut grid = Grid { goal, train, validation, watch, best: None, fits: 0, failed: 0, evaluations: 0 };
    if matches!(method, Method::Setpoint | Method::Once) {
        grid.defaults(&method.grid(goal, seed)[0])?;
        return grid.conclude();
    }
    let grids = method.grid(goal, seed);
    if method == Method::Pairwise {
        // Says so before its start is fitted.
        let settings = &grids[0].settings;
        train::method::Pairwise::new(goal, &train.sample, settings.surrogate, settings.bandwidth)?;
    }
    for choice in method.starts(seed) {
        grid.alone(&choice, None)?;
    }
    let start = grid.best.take().map(|best| best.parameters);
    for choice in grids {
        grid.alone(&choice, start.as_deref())?;
    }
    grid.conclude()
}

/// A grid being fitted.
struct Grid<'a> {
    goal: &'a Goal,
    train: &'a Part,
    validation: &'a Part,
    watch: &'a dyn Watch,
    best: Option<Best>,
    fits: usize,
    failed: usize,
    evaluations: u64,
}

struct Best {
    setting: String,
    validation: f64,
    parameters: Vec<f32>,
}

impl Grid<'_> {
    /// Fits one choice alone.
    fn alone(&mut self, choice: &Choice, start: Option<&[f32]>) -> Result<(), TrainError> {
        let (mut train, mut validation) = (self.train.model.model(), self.validation.model.model());
        let train = train::Part { model: &mut *train, sample: &self.train.sample };
        let validation = train::Part { model: &mut *validation, sample: &self.validation.sample };
        let watch = self.watch;
        let mut observer = |_: &Progress| control(watch);
        match fit_alone(self.goal, train, validation, &choice.settings, start, &mut observer, None) {
            Ok(candidate) => {
                self.evaluations += candidate.evaluations;
                self.offer(&choice.name, candidate.validation, candidate.parameters);
            }
            // A step size that was too large for this split is a choice that lost.
            Err(TrainError::Diverged { step }) => {
                self.evaluations += step;
                self.offer(&choice.name, None, Vec::new());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Fits Setpoint's defaults.
    fn defaults(&mut self, choice: &Choice) -> Result<(), TrainError> {
        let (mut train, mut validation) = (self.train.model.model(), self.validation.model.model());
        let train = train::Part { model: &mut *train, sample: &self.train.sample };
        let validation = train::Part { model: &mut *validation, sample: &self.validation.sample };
        let watch = self.watch;
        let mut observer = |_: &Progress| control(watch);
        let fitted = fit(self.goal, train, validation, &choice.settings, &mut observer, None)?;
        self.evaluations += fitted.evaluations;
        let parameters = fitted.combined.parameters().unwrap_or_default().to_vec();
        self.offer(&fitted.winner, fitted.validation, parameters);
        Ok(())
    }

    fn offer(&mut self, setting: &str, value: Option<f64>, parameters: Vec<f32>) {
        self.fits += 1;
        self.watch.fitted();
        let Some(validation) = value else {
            self.failed += 1;
            return;
        };
        let up = self.goal.objective.direction() == Direction::Up;
        let better =
            |best: &Best| if up { validation > best.validation } else { validation < best.validation };
        if self.best.as_ref().is_none_or(better) {
            self.best = Some(Best { setting: setting.to_owned(), validation, parameters });
        }
    }

    fn conclude(self) -> Result<Chosen, TrainError> {
        let Some(Best { setting, validation, parameters }) = self.best else {
            let reason = format!("none of {} fits has a value", self.fits);
            return Err(TrainError::Infeasible { split: "validation", reason });
        };
        let Self { fits, failed, evaluations, .. } = self;
        Ok(Chosen { setting, validation, parameters, fits, failed, evaluations })
    }
}
