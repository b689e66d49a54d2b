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

use rayon::prelude::*;

use crate::sample::Sample;

/// Rows added up as one unit, so that sums do not depend on the number of threads.
const CHUNK: usize = 16_384;

/// Weighted mean and standard deviation of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standard {
    /// Mean.
    pub mean: f64,
    /// Standard deviation; never zero.
    pub deviation: f64,
    /// Summed weight.
    pub total: f64,
}

impl Standard {
    /// Measures scores; equal scores get a deviation of 1.
    #[must_use]
    pub fn of(sample: &Sample, scores: &[f32]) -> Self {
        let [total, sum] = sums(sample, scores, scores, |w, s, _| [w, w * s]);
        let mean = sum / total;
        let [squares, _] = sums(sample, scores, scores, |w, s, _| [w * (s - mean) * (s - mean), 0.0]);
        let deviation = (squares / total).sqrt();
        let deviation = if deviation > 0.0 && deviation.is_finite() { deviation } else { 1.0 };
        Self { mean, deviation, total }
    }

    /// Writes the standardised scores.
    pub fn apply(&self, scores: &[f32], out: &mut [f32]) {
        let scale = 1.0 / self.deviation;
        out.par_chunks_mut(CHUNK).zip(scores.par_chunks(CHUNK)).for_each(|(out, scores)| {
            for (out, score) in out.iter_mut().zip(scores) {
                *out = ((f64::from(*score) - self.mean) * scale) as f32;
            }
        });
    }

    /// Turns the gradient by standardised scores into that by the scores, in place.
    pub fn pull_back(&self, sample: &Sample, standardised: &[f32], v: &mut [f32]) {
        let [sum, product] = sums(sample, standardised, v, |_, p, v| [v, v * p]);
        let (sum, product, scale) = (sum / self.total, product / self.total, 1.0 / self.deviation);
        let weights = sample.weights();
        v.par_chunks_mut(CHUNK).zip(standardised.par_chunks(CHUNK)).enumerate().for_each(
            |(chunk, (v, p))| {
                let weights = weights.map(|weights| &weights[chunk * CHUNK..]);
                for (row, (v, p)) in v.iter_mut().zip(p).enumerate() {
                    let weight = weights.map_or(1.0, |weights| f64::from(weights[row]));
                    *v = ((f64::from(*v) - weight * (sum + product * f64::from(*p))) * scale) as f32;
                }
            },
        );
    }
}

/// Two sums over the rows of f(weight, a, b), the same bits for any number of threads.
fn sums(sample: &Sample, a: &[f32], b: &[f32], f: impl Fn(f64, f64, f64) -> [f64; 2] + Sync) -> [f64; 2] {
    let weights = sample.weights();
    let partial = |(chunk, (a, b)): (usize, (&[f32], &[f32]))| {
        let weights = weights.map(|weights| &weights[chunk * CHUNK..]);
        // Four sums side by side, so that additions need not wait for each other.
        let mut lanes = [[0.0; 2]; 4];
        for (row, (a, b)) in a.iter().zip(b).enumerate() {
            let weight = weights.map_or(1.0, |weights| f64::from(weights[row]));
            let [x, y] = f(weight, f64::from(*a), f64::from(*b));
            lanes[row % 4][0] += x;
            lanes[row % 4][1] += y;
        }
        lanes.iter().fold([0.0; 2], |sum, lane| [sum[0] + lane[0], sum[1] + lane[1]])
    };
    let partials: Vec<[f64; 2]> =
        a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)).enumerate().map(partial).collect();
    partials.iter().fold([0.0; 2], |sum, part| [sum[0] + part[0], sum[1] + part[1]])
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
        assert_eq!(Standard::of(&sample, &[2.0, 2.0]), Standard { mean: 2.0, deviation: 1.0, total: 2.0 });
    }
}
