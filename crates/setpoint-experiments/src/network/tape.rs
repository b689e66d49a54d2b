//! One fit, seen by several goals.

use std::time::{Duration, Instant};

use setpoint::Goal;
use setpoint::train::{Candidate, Combined, Judge, Running, Snapshot, Store};

use crate::trial::{Trial, better, follow};
use crate::{HeldRows, Problem};

/// A fit of cross-entropy at the best epoch of each goal.
pub type Watched = Vec<Trial>;

/// With the name and the steps of the stage.
pub fn named(mut watched: Watched, candidate: &Candidate) -> Watched {
    for trial in &mut watched {
        trial.name.clone_from(&candidate.name);
        trial.steps = candidate.evaluations;
    }
    watched
}

/// Watches every epoch of a fit with the eyes of all goals, in the place of checkpoints.
pub struct Tape<'a> {
    goals: &'a [Goal],
    validation: HeldRows,
    /// Stages that are done.
    pub done: Vec<Watched>,
    running: Option<Watched>,
    began: Instant,
    /// Time spent here, which is no part of the fit.
    own: Duration,
}

impl<'a> Tape<'a> {
    /// Nothing yet.
    pub fn new(problem: &Problem, goals: &'a [Goal]) -> Self {
        let (done, running) = (Vec::new(), None);
        let validation = problem.validation.clone();
        Self { goals, validation, done, running, began: Instant::now(), own: Duration::ZERO }
    }

    fn look(&mut self, stage: &Running) -> Result<(), String> {
        let elapsed = self.began.elapsed() - self.own;
        let parameters = stage.extra.get("average").or_else(|_| stage.extra.get("parameters"));
        let parameters: &[f32] = parameters.map_err(|error| error.to_string())?;
        let [step] = stage.extra.array("step").map_err(|error| error.to_string())?;
        let scores = self.validation.scores(&Combined::single(parameters.to_vec()));
        let scores = scores.map_err(|error| error.to_string())?;
        let watched = self.running.get_or_insert_with(|| vec![Trial::default(); self.goals.len()]);
        for (trial, goal) in watched.iter_mut().zip(self.goals) {
            let found = Judge::new(goal, &self.validation.sample).exact(&scores).ok();
            let improved = match (found, trial.validation) {
                (Some(found), Some(best)) => better(goal, found, best),
                (found, best) => found.is_some() && best.is_none(),
            };
            if improved || trial.parameters.is_empty() {
                trial.parameters = parameters.to_vec();
                (trial.validation, trial.step) = (found, step);
            }
            follow(&mut trial.looks, goal, found, elapsed);
            trial.seconds = elapsed.as_secs_f64();
        }
        Ok(())
    }
}

impl Store for Tape<'_> {
    fn load(&mut self) -> Option<Snapshot> {
        None
    }

    fn save(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let now = Instant::now();
        match snapshot.running.values().next() {
            Some(running) => {
                self.look(running)?;
                self.own += now.elapsed();
            }
            None => {
                self.done.extend(self.running.take());
                (self.began, self.own) = (Instant::now(), Duration::ZERO);
            }
        }
        Ok(())
    }
}
