//! How a fit came about: the goal on validation and test as training goes on (the paper's appendix B).

use std::time::{Duration, Instant};

use setpoint::Goal;
use setpoint::train::{self, Progress, Snapshot, Store, TrainError, fit_alone};

use super::Split;
use super::protocol::Choice;
use crate::Watch;
use crate::watch::control;

/// A look at a fit under way, at its best parameters so far by validation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Steps so far; on the full batch each is an epoch.
    pub step: u64,
    /// Seconds so far.
    pub seconds: f64,
    /// The goal on validation.
    pub validation: f64,
    /// The goal on test.
    pub test: f64,
}

/// Fits a choice from zeros and looks at it every ten steps.
///
/// # Errors
/// If the fit fails, the goal cannot be met on test, or the caller stops.
pub fn trace(
    goal: &Goal,
    split: &Split,
    choice: &Choice,
    watch: &dyn Watch,
) -> Result<Vec<Look>, TrainError> {
    let (mut train, mut validation) = (split.train.model.model(), split.validation.model.model());
    let train = train::Part { model: &mut *train, sample: &split.train.sample };
    let validation = train::Part { model: &mut *validation, sample: &split.validation.sample };
    let mut tape = Tape { start: Instant::now(), entries: Vec::new() };
    let mut observer = |_: &Progress| control(watch);
    fit_alone(goal, train, validation, &choice.settings, None, &mut observer, Some(&mut tape))?;
    // Measured afterwards: it is no part of training, nor of its time.
    let mut looks: Vec<Look> = Vec::new();
    for entry in tape.entries {
        let Some(validation) = entry.validation else { continue };
        let test = match looks.last() {
            Some(last) if last.validation == validation => last.test,
            _ => split.test.value(goal, &entry.parameters)?,
        };
        looks.push(Look { step: entry.step, seconds: entry.elapsed.as_secs_f64(), validation, test });
    }
    Ok(looks)
}

/// Keeps the best parameters of every look, in the place of checkpoints.
struct Tape {
    start: Instant,
    entries: Vec<Entry>,
}

struct Entry {
    step: u64,
    elapsed: Duration,
    validation: Option<f64>,
    parameters: Vec<f32>,
}

impl Store for Tape {
    fn load(&mut self) -> Option<Snapshot> {
        None
    }

    fn save(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        if let Some(running) = &snapshot.running {
            self.entries.push(Entry {
                step: 10 * (self.entries.len() as u64 + 1),
                elapsed: self.start.elapsed(),
                validation: running.best.value,
                parameters: running.best.parameters.clone(),
            });
        }
        Ok(())
    }
}
