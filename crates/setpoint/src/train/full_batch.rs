//! One stage of training on the full batch: a loss, an optimizer, and the best iterate by validation.
//!
//! With L-BFGS the thresholds are solved again at every evaluation, so that the objective is one
//! smooth function of the parameters; ten to twenty evaluations then do what hundreds of first-order
//! steps do. First-order optimizers take the paper's algorithm 1: the thresholds are held, tracked to
//! first order after each step, and corrected on the unrelaxed rates every `correct_every` steps.

use std::ops::ControlFlow;

use super::method::Loss;
use super::selection::{Best, Selection};
use super::stage::{Reporter, Running};
use super::{OptimizerChoice, Part, Settings, Thresholds, TrainError};
use crate::model::Rows;
use crate::optimizer::{Lbfgs, LbfgsConfig, Optimizer, Outcome};

/// What keeps the weights in check; the biases, which come last, are left out.
#[derive(Clone, Debug)]
pub(super) enum Penalty {
    /// λ |w|² / 2.
    Shrinkage(f64),
    /// ρ |w|² / sd(s)²: shrinkage for an objective that is scale-free itself, on which the plain
    /// kind does nothing.
    ScaleFreeRidge(f64),
    /// λ |w - start|² / 2, for an objective that is scale-free itself and starts from a fit.
    Near { start: Vec<f32>, strength: f64 },
}

impl Penalty {
    /// Adds the penalty's gradient by the scores to `v`; returns the penalty, and the factor of the
    /// weights in its gradient by them.
    fn add_to_scores(
        &self,
        parameters: &[f32],
        part: &Part<'_>,
        scores: &[f32],
        v: &mut [f32],
    ) -> (f64, f64) {
        let places = weights(parameters, part.model.outputs()).iter().enumerate();
        let squares: f64 = places.map(|(place, w)| f64::from(w - self.origin(place)).powi(2)).sum();
        match *self {
            Self::Near { strength: lambda, .. } | Self::Shrinkage(lambda) => (0.5 * lambda * squares, lambda),
            Self::ScaleFreeRidge(0.0) => (0.0, 0.0),
            Self::ScaleFreeRidge(rho) => {
                let standard = super::Standard::of(part.sample, scores);
                let variance = standard.deviation.powi(2);
                // d(sd²)/ds_i = 2 w_i (s_i - mean) / Σ w
                let factor = -rho * squares / (variance * variance) * 2.0 / standard.total;
                part.sample.add_line(scores, -factor * standard.mean, factor, v);
                (rho * squares / variance, 2.0 * rho / variance)
            }
        }
    }
}

impl Penalty {
    /// Where it holds a weight.
    fn origin(&self, place: usize) -> f32 {
        match self {
            Self::Near { start, .. } => start[place],
            Self::Shrinkage(_) | Self::ScaleFreeRidge(_) => 0.0,
        }
    }
}

/// All parameters but the biases, one for each output.
fn weights(parameters: &[f32], outputs: usize) -> &[f32] {
    &parameters[..parameters.len().saturating_sub(outputs)]
}

/// What a stage needs beside its loss.
pub(super) struct Stage<'a, 't, 's, 'r> {
    pub(super) train: &'a mut Part<'t>,
    pub(super) selection: &'a mut Selection<'s>,
    pub(super) reporter: &'a mut Reporter<'r>,
    pub(super) penalty: Penalty,
    /// Not `Auto`.
    pub(super) optimizer: OptimizerChoice,
    pub(super) settings: &'a Settings,
}

impl Stage<'_, '_, '_, '_> {
    /// Runs the stage from `start`, or from where a checkpoint left it.
    pub(super) fn run(&mut self, loss: &mut dyn Loss, start: &[f32], steps: u64) -> Result<Best, TrainError> {
        match self.optimizer {
            OptimizerChoice::Lbfgs => self.quasi_newton(loss, start, steps),
            choice => {
                let optimizer = choice.build(self.settings)?;
                self.first_order(loss, optimizer, start, steps)
            }
        }
    }

    /// Loss and gradient at these parameters; infinite where the goal cannot be met there.
    pub(super) fn evaluate(
        &mut self,
        loss: &mut dyn Loss,
        parameters: &[f32],
        work: &mut Work,
        gradient: &mut [f32],
    ) -> Result<f64, TrainError> {
        self.train.model.scores(parameters, Rows::All, &mut work.scores)?;
        let value = match loss.evaluate(self.train.sample, &work.scores, &mut work.v) {
            Ok(value) => value,
            Err(error) if error.is_about_the_scores() => return Ok(f64::INFINITY),
            Err(error) => return Err(error),
        };
        let (penalty, pull) = self.penalty.add_to_scores(parameters, self.train, &work.scores, &mut work.v);
        self.train.model.backward(parameters, &work.v, gradient)?;
        let weights = weights(parameters, self.train.model.outputs());
        for (place, (gradient, weight)) in gradient.iter_mut().zip(weights).enumerate() {
            *gradient += (pull * f64::from(weight - self.penalty.origin(place))) as f32;
        }
        Ok(value + penalty)
    }

    fn quasi_newton(&mut self, loss: &mut dyn Loss, start: &[f32], steps: u64) -> Result<Best, TrainError> {
        // From a fit the first step is a small one: half of the weights' length would leave it for good.
        let first_step = if matches!(self.penalty, Penalty::Near { .. }) { 0.05 } else { 0.5 };
        let config = LbfgsConfig {
            max_evaluations: steps,
            decrease_tolerance: 1e-5,
            first_step,
            ..LbfgsConfig::default()
        };
        let mut best = Best::none();
        // Evaluations of the rounds that are done.
        let mut before = 0;
        let mut lbfgs = match self.reporter.resume() {
            Some(running) => {
                [before] = running.extra.array("before")?;
                loss.restore(&running.extra)?;
                best = running.best;
                Lbfgs::restore(config, &running.optimizer)?
            }
            None => Lbfgs::new(config, start.to_vec())?,
        };
        let steps = steps * loss.rounds();
        let mut work = Work::new(self.train);
        let mut single = vec![0.0f32; start.len()];
        loop {
            let outcome = lbfgs.next_iter(&mut |parameters: &[f32], gradient: &mut [f64]| {
                let value = self.evaluate(loss, parameters, &mut work, &mut single)?;
                gradient.iter_mut().zip(&single).for_each(|(wide, narrow)| *wide = f64::from(*narrow));
                Ok::<f64, TrainError>(value)
            })?;
            let (evaluations, value) = (before + lbfgs.iterate().evaluations, lbfgs.iterate().value);
            let parameters = lbfgs.parameters().to_vec();
            // Every second iterate: a look sorts the validation rows, which costs about as much as a step.
            let look = matches!(outcome, Outcome::Done(_)) || lbfgs.iterate().iteration.is_multiple_of(2);
            let validation = if look { self.selection.value(&parameters)? } else { None };
            if look {
                best.offer(&parameters, validation, self.selection.merit(validation), evaluations);
            }
            if self.reporter.step(evaluations, steps, value, validation, loss.detail())
                == ControlFlow::Break(())
            {
                return Err(TrainError::Stopped);
            }
            if let Outcome::Done(_) = outcome {
                if !self.next_round(loss, &parameters, &mut work)? {
                    self.reporter.evaluations += evaluations;
                    return Ok(best);
                }
                before = evaluations;
                lbfgs = Lbfgs::new(config, parameters)?;
            }
            self.reporter.save(|| {
                let extra = loss.state().with("before", vec![before]);
                Running { best: best.clone(), optimizer: lbfgs.state(), extra }
            })?;
        }
    }

    /// Begins another round of the loss by what it comes to on validation, whose scores the selection has just looked
    /// up; on the training rows where validation lacks one of the groups.
    fn next_round(
        &mut self,
        loss: &mut dyn Loss,
        parameters: &[f32],
        work: &mut Work,
    ) -> Result<bool, TrainError> {
        let (sample, held_out) = (self.train.sample, self.selection.sample());
        if loss.rounds() == 1 || held_out.groups() == sample.groups() {
            return loss.next_round(held_out, self.selection.scores());
        }
        self.train.model.scores(parameters, Rows::All, &mut work.scores)?;
        loss.next_round(sample, &work.scores)
    }

    fn first_order(
        &mut self,
        loss: &mut dyn Loss,
        mut optimizer: Box<dyn Optimizer>,
        start: &[f32],
        steps: u64,
    ) -> Result<Best, TrainError> {
        let mut parameters = start.to_vec();
        let mut best = Best::none();
        let (mut first, mut stale) = (0, 0);
        if let Some(running) = self.reporter.resume() {
            optimizer.restore(&running.optimizer)?;
            parameters = running.extra.get("parameters")?.to_vec();
            ([first], [stale]) = (running.extra.array("step")?, running.extra.array("stale")?);
            loss.restore(&running.extra)?;
            best = running.best;
        }
        let thresholds = self.settings.thresholds;
        let every = self.settings.correct_every.max(1);
        let mut work = Work::new(self.train);
        let mut gradient = vec![0.0; parameters.len()];
        let mut taken = first;
        for step in first..steps {
            taken = step + 1;
            let value = self.evaluate(loss, &parameters, &mut work, &mut gradient)?;
            if !value.is_finite() {
                return Err(TrainError::Diverged { step });
            }
            optimizer.step(&mut parameters, &gradient)?;
            let correct = (step + 1) % every == 0;
            if thresholds.corrected() && (correct || thresholds == Thresholds::Track) {
                let before = work.scores.clone();
                self.train.model.scores(&parameters, Rows::All, &mut work.scores)?;
                if correct {
                    // Where there are none on these scores, the old thresholds stay.
                    match loss.correct(self.train.sample, &work.scores) {
                        Err(error) if error.is_about_the_scores() => {}
                        corrected => corrected?,
                    }
                } else {
                    loss.after_step(self.train.sample, &before, &work.scores)?;
                }
            }
            let look = correct || step + 1 == steps;
            let validation = if look { self.selection.value(&parameters)? } else { None };
            if look {
                let merit = self.selection.merit(validation);
                stale = if best.offer(&parameters, validation, merit, step + 1) { 0 } else { stale + every };
            }
            if self.reporter.step(step + 1, steps, value, validation, loss.detail()) == ControlFlow::Break(())
            {
                return Err(TrainError::Stopped);
            }
            if self.settings.patience.is_some_and(|most| stale >= most) {
                break;
            }
            if correct {
                self.reporter.save(|| {
                    let extra = loss
                        .state()
                        .with("parameters", parameters.clone())
                        .with("step", vec![step + 1])
                        .with("stale", vec![stale]);
                    Running { best: best.clone(), optimizer: optimizer.state(), extra }
                })?;
            }
        }
        self.reporter.evaluations += taken;
        Ok(best)
    }
}

/// Vectors as long as the training split, kept between evaluations.
pub(super) struct Work {
    pub(super) scores: Vec<f32>,
    v: Vec<f32>,
}

impl Work {
    pub(super) fn new(part: &Part<'_>) -> Self {
        let scores = vec![0.0; part.sample.rows() * part.model.outputs()];
        Self { v: scores.clone(), scores }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Features;
    use crate::model::Linear;
    use crate::model::Model;
    use crate::sample::Sample;

    /// The penalty with its gradient, through the scores of a small linear model.
    #[test]
    fn gradients_of_the_penalties_match_finite_differences() {
        let values: Vec<f32> = (0..60).map(|i| ((i * i) as f32 * 0.37).sin()).collect();
        let mut model = Linear::new(Features::from_row_major(values, 3).unwrap());
        let sample = Sample::new((0..20).map(|i| i % 4 == 0).collect())
            .unwrap()
            .with_weights((0..20).map(|i| 0.5 + i as f32 / 20.0).collect())
            .unwrap();
        let parameters = [0.5f32, -1.0, 0.75, 0.25];
        for penalty in [Penalty::Shrinkage(0.3), Penalty::ScaleFreeRidge(0.3)] {
            let mut evaluate = |parameters: &[f32]| {
                let (mut scores, mut v, mut gradient) = (vec![0.0; 20], vec![0.0; 20], vec![0.0; 4]);
                model.scores(parameters, Rows::All, &mut scores).unwrap();
                let part = Part { model: &mut model, sample: &sample };
                let (value, pull) = penalty.add_to_scores(parameters, &part, &scores, &mut v);
                model.backward(parameters, &v, &mut gradient).unwrap();
                gradient
                    .iter_mut()
                    .zip(weights(parameters, 1))
                    .for_each(|(g, w)| *g += (pull * f64::from(*w)) as f32);
                (value, gradient)
            };
            let (value, gradient) = evaluate(&parameters);
            for index in 0..4 {
                let h = 0.007_812_5;
                let mut moved = parameters;
                moved[index] += h;
                let above = evaluate(&moved).0;
                moved[index] -= 2.0 * h;
                let numeric = (above - evaluate(&moved).0) / (2.0 * f64::from(h));
                // Scores are f32: errors of 1e-7 of the value, over the step; and h² of it.
                assert!(
                    (f64::from(gradient[index]) - numeric).abs() < 5e-4 * value,
                    "{penalty:?}: {numeric}"
                );
            }
        }
    }
}
