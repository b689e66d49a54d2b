//! Scores in units of their own spread.
//!
//! A surrogate objective is scale-free: scores can grow until every surrogate saturates, or shrink
//! until it sees nothing. Inside the objective, scores are therefore standardised,
//!
//! ```text
//! p_i = (s_i - mean) / sd,        v_s = (v - w mean(v) - w p mean(v p)) / sd
//! ```
//!
//! where means are weighted with w (summing to 1 over the sample) and v is sent back through the
//! standardisation, so that the gradient is that of the whole.

use crate::sample::Sample;

/// Weighted mean and standard deviation of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standard {
    /// Mean.
    pub mean: f64,
    /// Standard deviation; never zero.
    pub deviation: f64,
}

impl Standard {
    /// Measures scores; equal scores get a deviation of 1.
    #[must_use]
    pub fn of(sample: &Sample, scores: &[f32]) -> Self {
        let mut total = 0.0;
        let mut sum = 0.0;
        for (row, score) in scores.iter().enumerate() {
            let weight = sample.weight(row);
            total += weight;
            sum += weight * f64::from(*score);
        }
        let mean = sum / total;
        let squares: f64 = scores
            .iter()
            .enumerate()
            .map(|(row, s)| sample.weight(row) * (f64::from(*s) - mean).powi(2))
            .sum();
        let deviation = (squares / total).sqrt();
        Self { mean, deviation: if deviation > 0.0 && deviation.is_finite() { deviation } else { 1.0 } }
    }

    /// Writes the standardised scores.
    pub fn apply(&self, scores: &[f32], out: &mut [f32]) {
        for (out, score) in out.iter_mut().zip(scores) {
            *out = ((f64::from(*score) - self.mean) / self.deviation) as f32;
        }
    }

    /// Turns the gradient by standardised scores into that by the scores, in place.
    pub fn pull_back(&self, sample: &Sample, standardised: &[f32], v: &mut [f32]) {
        let (mut total, mut sum, mut product) = (0.0, 0.0, 0.0);
        for (row, (v, p)) in v.iter().zip(standardised).enumerate() {
            total += sample.weight(row);
            sum += f64::from(*v);
            product += f64::from(*v) * f64::from(*p);
        }
        for (row, (v, p)) in v.iter_mut().zip(standardised).enumerate() {
            let share = sample.weight(row) / total;
            *v = ((f64::from(*v) - share * (sum + product * f64::from(*p))) / self.deviation) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_goes_through_the_standardisation() {
        let sample = Sample::new(vec![true; 5]).unwrap().with_weights(vec![1.0, 2.0, 0.5, 1.5, 1.0]).unwrap();
        let scores = [0.3f32, -1.2, 2.0, 0.7, -0.4];
        // f = Σ c p² / 2 of the standardised scores.
        let factors = [0.5, -1.0, 2.0, 0.25, 1.0];
        let value = |scores: &[f32]| {
            let mut p = [0.0; 5];
            Standard::of(&sample, scores).apply(scores, &mut p);
            p.iter().zip(factors).map(|(p, c)| 0.5 * c * f64::from(*p).powi(2)).sum::<f64>()
        };
        let standard = Standard::of(&sample, &scores);
        let mut p = [0.0; 5];
        standard.apply(&scores, &mut p);
        let mut v: Vec<f32> = p.iter().zip(factors).map(|(p, c)| p * c as f32).collect();
        standard.pull_back(&sample, &p, &mut v);
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
        assert_eq!(Standard::of(&sample, &[2.0, 2.0]), Standard { mean: 2.0, deviation: 1.0 });
    }
}
