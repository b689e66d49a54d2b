//! Rounds of a stage whose multipliers move: to the minimum for these, then new ones, and again.

use std::ops::ControlFlow;

use super::TrainError;
use super::full_batch::{Stage, Work};
use super::method::{Loss, Multipliers};
use super::selection::Best;
use super::stage::Running;
use crate::goal::{Constraint, Goal};
use crate::model::Rows;
use crate::optimizer::{Lbfgs, LbfgsConfig, Outcome, Values};
use crate::problem::ProblemOptions;
use crate::sample::Sample;
use crate::threshold::exact;

/// Times the multipliers move.
const ROUNDS: u64 = 12;

impl Stage<'_, '_, '_, '_> {
    /// Runs the rounds from `start`, or from where a checkpoint left them; at most `steps`
    /// evaluations each. The best iterate of any round is kept.
    pub(super) fn rounds(
        &mut self,
        goal: &Goal,
        loss: &mut Multipliers,
        start: &[f32],
        steps: u64,
    ) -> Result<Best, TrainError> {
        let config =
            LbfgsConfig { max_evaluations: steps, decrease_tolerance: 1e-5, ..LbfgsConfig::default() };
        let mut best = Best::none();
        // Evaluations of the rounds that are done.
        let mut before = 0;
        let mut work = Work::new(self.train);
        let mut lbfgs = match self.reporter.resume() {
            Some(running) => {
                before = running.count("before")?;
                best = running.best;
                loss.restore(&running.extra)?;
                Lbfgs::restore(config, &running.optimizer)?
            }
            None => {
                self.train.model.scores(start, Rows::All, &mut work.scores)?;
                let start = centred(start, threshold(goal, self.train.sample.whole(), &work.scores));
                Lbfgs::new(config, start)?
            }
        };
        let mut single = vec![0.0f32; start.len()];
        loop {
            let outcome = lbfgs.next_iter(&mut |parameters: &[f32], gradient: &mut [f64]| {
                let value = self.evaluate(loss, parameters, &mut work, &mut single)?;
                gradient.iter_mut().zip(&single).for_each(|(wide, narrow)| *wide = f64::from(*narrow));
                Ok::<f64, TrainError>(value)
            })?;
            let (evaluations, value) = (before + lbfgs.iterate().evaluations, lbfgs.iterate().value);
            let parameters = lbfgs.parameters().to_vec();
            let validation = self.selection.value(&parameters)?;
            best.offer(&parameters, validation, self.selection.merit(validation), evaluations);
            if self.reporter.step(evaluations, steps * (ROUNDS + 1), value, validation, None)
                == ControlFlow::Break(())
            {
                return Err(TrainError::Stopped);
            }
            if let Outcome::Done(_) = outcome {
                if loss.rounds() == ROUNDS {
                    self.reporter.evaluations += evaluations;
                    return Ok(best);
                }
                before = evaluations;
                self.ascend(loss, &parameters, &mut work)?;
                lbfgs = Lbfgs::new(config, parameters)?;
            }
            self.reporter.save(|| {
                let mut extra = loss.state();
                extra.insert("before".to_owned(), Values::U64(vec![before]));
                Running { best: best.clone(), optimizer: lbfgs.state(), extra }
            })?;
        }
    }

    /// Moves the multipliers by the rates on validation; by those on the training rows where
    /// validation lacks one of the groups.
    fn ascend(
        &mut self,
        loss: &mut Multipliers,
        parameters: &[f32],
        work: &mut Work,
    ) -> Result<(), TrainError> {
        if self.selection.sample().groups() == self.train.sample.groups() {
            // The selection has just looked these parameters up.
            return loss.ascend(self.selection.sample(), self.selection.scores());
        }
        self.train.model.scores(parameters, Rows::All, &mut work.scores)?;
        loss.ascend(self.train.sample, &work.scores)
    }
}

/// Where to begin: the best threshold under the conditions that a threshold can meet, those between
/// groups left to the model.
fn threshold(goal: &Goal, sample: &Sample, scores: &[f32]) -> f32 {
    let mut goal = goal.clone();
    goal.constraints
        .retain(|constraint| !matches!(constraint, Constraint::Gap { .. } | Constraint::Ratio { .. }));
    let options = ProblemOptions { shared_threshold: true, ..ProblemOptions::default() };
    let solved = exact::solve(&goal, sample, scores, &options).ok().map(|solved| solved.thresholds[0]);
    solved.filter(|threshold| threshold.is_finite()).unwrap_or_else(|| {
        let mut sorted = scores.to_vec();
        sorted.sort_by(f32::total_cmp);
        sorted[sorted.len() / 2]
    })
}

/// The parameters with this threshold at 0: the bias comes last.
fn centred(parameters: &[f32], threshold: f32) -> Vec<f32> {
    let mut moved = parameters.to_vec();
    if let Some(bias) = moved.last_mut() {
        *bias -= threshold;
    }
    moved
}
