//! How a fit came about: the goal on validation and test as training goes on (the paper's appendix B).

use std::time::Instant;

use setpoint::Goal;
use setpoint::train::{Combined, Progress, Snapshot, Store, TrainError};

use crate::watch::control;
use crate::{Choice, Look, Problem, Watch};

/// Fits a choice from zeros and looks at it every ten steps.
pub fn trace(
    goal: &Goal,
    split: &Problem,
    choice: &Choice,
    watch: &dyn Watch,
) -> Result<Vec<Look>, TrainError> {
    let mut tape = Tape { start: Instant::now(), epoch: 0, entries: Vec::new() };
    let mut observer = |_: &Progress| control(watch);
    split.fit_alone(goal, &choice.settings, None, &mut observer, Some(&mut tape))?;
    // Measured afterwards: it is no part of training, nor of its time.
    let mut looks: Vec<Look> = Vec::new();
    for (look, parameters) in tape.entries {
        let test = match looks.last() {
            Some(last) if last.validation == look.validation => last.test,
            _ => Some(split.test.value(goal, &Combined::single(parameters))?),
        };
        looks.push(Look { test, ..look });
    }
    Ok(looks)
}

/// Keeps the best parameters of every look, in the place of checkpoints.
struct Tape {
    start: Instant,
    epoch: u64,
    entries: Vec<(Look, Vec<f32>)>,
}

impl Store for Tape {
    fn load(&mut self) -> Option<Snapshot> {
        None
    }

    fn save(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        if let Some(running) = snapshot.running.values().next() {
            // On the full batch each step is an epoch.
            self.epoch += 10;
            let (epoch, seconds) = (self.epoch, self.start.elapsed().as_secs_f64());
            self.entries.extend(running.best.value.map(|validation| {
                (Look { epoch, seconds, validation, test: None }, running.best.parameters.clone())
            }));
        }
        Ok(())
    }
}
