//! Scores in units of their own spread.
//!
//! A surrogate objective is scale-free: scores can grow until every surrogate saturates, or shrink
//! until it sees nothing. So the objective is that of the standardised scores,
//!
//! ```text
//! p_i = (s_i - mean) / sd,        v_s = (v - w mean(v) - w p mean(v p)) / sd
//! ```
//!
//! where means are weighted with w (summing to 1 over the sample) and v, the gradient by p, is sent
//! back through the standardisation. The scores need not be touched for that: sharpness k in units
//! of p is k / sd in units of s, and a threshold t is mean + sd t.

use serde::{Deserialize, Serialize};

use crate::class::Classes;
use crate::examples::Moments;
use crate::shard::{Shard, moments};

/// Weighted mean and standard deviation of scores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standard {
    /// Mean.
    pub mean: f64,
    /// Standard deviation; never zero.
    pub deviation: f64,
    /// Summed weight.
    pub total: f64,
}

impl Default for Standard {
    fn default() -> Self {
        Self { mean: 0.0, deviation: 1.0, total: 1.0 }
    }
}

impl Standard {
    /// Measures scores; equal scores get a deviation of 1.
    #[must_use]
    pub fn of(rows: &dyn Shard, scores: &[f32]) -> Self {
        let pivot = scores.first().map_or(0.0, |score| f64::from(*score));
        Moments { pivot, sums: rows.moments(scores, pivot) }.standard()
    }

    /// The same of a model with several scores a row, whose mean over the row decides nothing.
    pub(super) fn of_outputs(rows: &dyn Shard, scores: &[f32], outputs: usize) -> Self {
        if outputs == 1 {
            return Self::of(rows, scores);
        }
        let classes = Classes::new(rows.whole());
        Self { mean: 0.0, deviation: classes.spread(scores), total: classes.totals().iter().sum() }
    }

    /// A threshold in standardised units, as a score; and back.
    #[must_use]
    pub fn to_score(&self, threshold: f64) -> f64 {
        self.mean + self.deviation * threshold
    }

    /// A score in standardised units.
    #[must_use]
    pub fn from_score(&self, score: f64) -> f64 {
        (score - self.mean) / self.deviation
    }

    /// Turns the gradient by the scores with mean and deviation held into that with them moving.
    pub fn pull_back(&self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) {
        let [at_zero, slope] = self.line(self.slopes(moments(scores, Some(v), self.mean)));
        rows.add_line(scores, at_zero, slope, v);
    }

    /// Σ v and Σ v p, by the moments of the scores from the mean, weighted by v.
    pub(crate) fn slopes(&self, [sum, product, _]: [f64; 3]) -> [f64; 2] {
        [sum, product / self.deviation]
    }

    /// What that adds to v, as a line in the score, by Σ v and Σ v p.
    pub(super) fn line(&self, [sum, product]: [f64; 2]) -> [f64; 2] {
        let slope = -product / (self.total * self.deviation);
        [-sum / self.total - slope * self.mean, slope]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[test]
    fn the_gradient_goes_through_the_standardisation() {
        let sample = Sample::new(vec![true; 5]).unwrap().with_weights(vec![1.0, 2.0, 0.5, 1.5, 1.0]).unwrap();
        let scores = [0.3f32, -1.2, 2.0, 0.7, -0.4];
        // f = Σ c p² / 2 of the standardised scores.
        let factors = [0.5, -1.0, 2.0, 0.25, 1.0];
        let value = |scores: &[f32]| {
            let standard = Standard::of(&sample, scores);
            let square = |s: &f32| standard.from_score(f64::from(*s)).powi(2);
            scores.iter().zip(factors).map(|(s, c)| 0.5 * c * square(s)).sum::<f64>()
        };
        let standard = Standard::of(&sample, &scores);
        let held = |s: &f32, c: f64| (c * standard.from_score(f64::from(*s)) / standard.deviation) as f32;
        let mut v: Vec<f32> = scores.iter().zip(factors).map(|(s, c)| held(s, c)).collect();
        standard.pull_back(&sample, &scores, &mut v);
        for row in 0..5 {
            // Steps of 2^-6 are exact in f32; the error is a few 1e-7 of the value over the step.
            let h = 0.015_625;
            let mut moved = scores;
            moved[row] += h;
            let above = value(&moved);
            moved[row] -= 2.0 * h;
            let numeric = (above - value(&moved)) / (2.0 * f64::from(h));
            assert!((f64::from(v[row]) - numeric).abs() < 2e-3, "{} is not {numeric}", v[row]);
        }
    }

    #[test]
    fn equal_scores_do_not_divide_by_zero() {
        let sample = Sample::new(vec![true, false]).unwrap();
        assert_eq!(Standard::of(&sample, &[2.0, 2.0]), Standard { mean: 2.0, deviation: 1.0, total: 2.0 });
    }
}
