//! Boosting rounds on the engine's gradient: log loss mixed with the goal's own loss.
//!
//! With g and h log loss's first two derivatives by the scores, and v the gradient of the goal through
//! its thresholds, each round is fitted to
//!
//! ```text
//! g + 2 a v,   h + |a v|,   a = mean |g| / mean |v|
//! ```
//!
//! The thresholds are solved again at every round, from where they were. Where v vanishes (training
//! scores that separate the classes) or cannot be had, the round is log loss's own.

use rayon::prelude::*;
use setpoint::Sample;
use setpoint::engine::EngineOptions;
use setpoint::goal::Goal;
use setpoint::sample::{SampleError, Stakes};
use setpoint::train::method::{Ico, Loss};
use setpoint::train::{Bandwidth, TrainError};

/// Rows that are summed as one unit, so that sums do not depend on the number of threads.
const CHUNK: usize = 8_192;

/// What each round is fitted to.
pub(crate) trait Derivatives {
    /// The constant that boosting starts from.
    fn bias(&self) -> f64;

    /// The derivatives for the next round, given what the trees so far add to each row's score.
    fn derivatives(&mut self, outputs: &[f64]) -> Result<(&[f32], &[f32]), TrainError>;

    /// Scores of the held-out rows that boosting starts from, where it goes on from other trees.
    fn held_out(&self) -> Option<&[f32]> {
        None
    }

    /// The loss at the last derivatives; log loss otherwise.
    fn loss(&self) -> Option<f64> {
        None
    }
}

/// The mixture's derivatives over a training sample.
pub(crate) struct Mixture<'s> {
    sample: &'s Sample,
    /// None where log loss is all there is, of rows that count by what hangs on them.
    ico: Option<Ico>,
    positive_weight: f64,
    bias: f64,
    rounds: usize,
    scores: Vec<f32>,
    v: Vec<f32>,
    gradient: Vec<f32>,
    curvature: Vec<f32>,
}

impl<'s> Mixture<'s> {
    /// Ties a goal to the training sample.
    ///
    /// # Errors
    /// If the goal does not fit the sample.
    pub(crate) fn new(
        goal: &Goal,
        sample: &'s Sample,
        positive_weight: f64,
        bandwidth: Bandwidth,
    ) -> Result<Self, TrainError> {
        let zeros = vec![0.0; sample.len()];
        let totals = sample.totals();
        let odds = positive_weight * totals.positives / totals.negatives;
        if !(odds.is_finite() && odds > 0.0) {
            return Err(TrainError::Infeasible {
                split: "train",
                reason: "it needs positives and negatives".into(),
            });
        }
        Ok(Self {
            sample,
            ico: Some(Ico::new(goal, sample, EngineOptions::default(), bandwidth)?),
            positive_weight,
            bias: odds.ln(),
            rounds: 0,
            scores: zeros.clone(),
            v: zeros.clone(),
            gradient: zeros.clone(),
            curvature: zeros,
        })
    }

    /// Log loss of the better decisions of a sample, each weighed by what hangs on it.
    ///
    /// # Errors
    /// If the sample says nothing of amounts, or one decision is the better one for all rows.
    pub(crate) fn of_stakes(sample: &'s Sample) -> Result<Self, TrainError> {
        let none = || SampleError::NoStakes { rows: sample.len() };
        let stakes = sample.stakes().ok_or_else(none)?;
        let weight = |better: bool| {
            let rows = stakes.better().iter().zip(stakes.weights()).filter(|(row, _)| **row == better);
            rows.map(|(_, weight)| f64::from(*weight)).sum::<f64>()
        };
        let (positive, negative) = (weight(true), weight(false));
        let odds = positive / negative;
        if !(odds.is_finite() && odds > 0.0) {
            return Err(none().into());
        }
        let zeros = vec![0.0; sample.len()];
        Ok(Self {
            sample,
            ico: None,
            // Weights of about 1, as shrinkage and the least weight of a leaf expect.
            positive_weight: sample.len() as f64 / (positive + negative),
            bias: odds.ln(),
            rounds: 0,
            scores: zeros.clone(),
            v: Vec::new(),
            gradient: zeros.clone(),
            curvature: zeros,
        })
    }

    /// Scores, and log loss's derivatives there.
    fn log_loss(&mut self, outputs: &[f64]) {
        let Self { sample, positive_weight, bias, .. } = *self;
        let stakes = sample.stakes().filter(|_| self.ico.is_none());
        let labels = stakes.map_or(sample.labels(), Stakes::better);
        let weights = stakes.map_or(sample.weights(), |stakes| Some(stakes.weights()));
        // By label, or for all rows alike.
        let negative_weight = if stakes.is_some() { positive_weight as f32 } else { 1.0 };
        let chunks = self
            .scores
            .par_chunks_mut(CHUNK)
            .zip(self.gradient.par_chunks_mut(CHUNK))
            .zip(self.curvature.par_chunks_mut(CHUNK))
            .zip(outputs.par_chunks(CHUNK));
        chunks.enumerate().for_each(|(chunk, (((scores, gradient), curvature), outputs))| {
            let first = chunk * CHUNK;
            let labels = &labels[first..first + outputs.len()];
            for (offset, output) in outputs.iter().enumerate() {
                let score = (output + bias) as f32;
                let p = 1.0 / (1.0 + (-score).exp());
                let mut weight = weights.map_or(1.0, |weights| weights[first + offset]);
                let mut target = 0.0;
                if labels[offset] {
                    weight *= positive_weight as f32;
                    target = 1.0;
                } else {
                    weight *= negative_weight;
                }
                scores[offset] = score;
                gradient[offset] = weight * (p - target);
                curvature[offset] = weight * p * (1.0 - p);
            }
        });
    }

    /// Adds the goal's part.
    fn mix(&mut self, share: f64) {
        let share = share as f32;
        let chunks = self.gradient.par_chunks_mut(CHUNK).zip(self.curvature.par_chunks_mut(CHUNK));
        chunks.zip(self.v.par_chunks(CHUNK)).for_each(|((gradient, curvature), v)| {
            for ((gradient, curvature), v) in gradient.iter_mut().zip(curvature).zip(v) {
                let pull = share * v;
                *gradient += 2.0 * pull;
                *curvature += pull.abs();
            }
        });
    }
}

impl Derivatives for Mixture<'_> {
    /// The log odds of the weighted labels.
    fn bias(&self) -> f64 {
        self.bias
    }

    fn derivatives(&mut self, outputs: &[f64]) -> Result<(&[f32], &[f32]), TrainError> {
        self.log_loss(outputs);
        // All scores are equal before the first tree: there is no threshold between them.
        let usable = match &mut self.ico {
            Some(ico) if self.rounds > 0 => match ico.evaluate(self.sample, &self.scores, &mut self.v) {
                Ok(_) => true,
                Err(TrainError::Threshold(_) | TrainError::Engine(_)) => false,
                Err(error) => return Err(error),
            },
            _ => false,
        };
        self.rounds += 1;
        let size = if usable { mean_size(&self.v) } else { 0.0 };
        let share = mean_size(&self.gradient) / size;
        if size > 0.0 && share.is_finite() {
            self.mix(share);
        }
        Ok((&self.gradient, &self.curvature))
    }
}

/// Mean of the absolute values.
fn mean_size(values: &[f32]) -> f64 {
    let sums: Vec<f64> = values
        .par_chunks(CHUNK)
        .map(|values| values.iter().map(|value| f64::from(value.abs())).sum())
        .collect();
    sums.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Sample {
        Sample::new((0..400).map(|row| row % 8 == 0).collect()).unwrap()
    }

    #[test]
    fn derivatives_are_those_of_log_loss_where_the_goal_says_nothing() {
        let sample = sample();
        let goal = "recall @ fpr<=5%".parse().unwrap();
        let mut mixture = Mixture::new(&goal, &sample, 3.0, Bandwidth::Deviations(0.1)).unwrap();
        let bias = mixture.bias();
        let (gradient, curvature) = mixture.derivatives(&[0.0; 400]).unwrap();
        let p = 1.0 / (1.0 + (-bias).exp());
        for (row, label) in sample.labels().iter().enumerate() {
            let (weight, target) = if *label { (3.0, 1.0) } else { (1.0, 0.0) };
            assert!((f64::from(gradient[row]) - weight * (p - target)).abs() < 1e-6);
            assert!((f64::from(curvature[row]) - weight * p * (1.0 - p)).abs() < 1e-6);
        }
        // The bias is log loss's own constant: nothing pulls all scores one way.
        let pull: f64 = gradient.iter().map(|g| f64::from(*g)).sum();
        assert!(pull.abs() < 1e-4, "{pull}");
    }

    #[test]
    fn the_goals_pull_is_twice_as_large_as_log_loss_and_curvature_stays_positive() {
        let sample = sample();
        let goal = "recall @ fpr<=5%".parse().unwrap();
        let mut mixture = Mixture::new(&goal, &sample, 1.0, Bandwidth::Deviations(0.3)).unwrap();
        let outputs: Vec<f64> =
            (0..400).map(|row| (row as f64 * 0.7).sin() + f64::from(row % 8 == 0)).collect();
        let _ = mixture.derivatives(&outputs).unwrap();
        let plain = mixture.gradient.clone();
        let mixed = mixture.derivatives(&outputs).unwrap().0.to_vec();
        let added: Vec<f32> = mixed.iter().zip(&plain).map(|(mixed, plain)| mixed - plain).collect();
        assert!((mean_size(&added) / mean_size(&plain) - 2.0).abs() < 1e-3);
        assert!(mixture.curvature.iter().all(|curvature| *curvature > 0.0));
    }
}
