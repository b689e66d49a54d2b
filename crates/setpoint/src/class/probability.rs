//! Scores of several classes as probabilities: one slope for all of them, and a shift for each.
//!
//! ```text
//! p_ic = softmax_c (slope s_ic - b_c),      slope >= 0
//! ```
//!
//! Fitted to rows that the model has not learnt from, by cross-entropy with the true class drawn in as by one
//! row of another: so that classes which scores tell apart without an error do not get a probability of one.

use rayon::prelude::*;

use super::{Classes, minimise::minimise};
use crate::sample::Sample;

/// Rows summed up as one unit, so that sums do not depend on the number of threads.
const CHUNK: usize = 4_096;
/// Evaluations at the most; some thirty settle it.
const EVALUATIONS: usize = 300;

/// From the scores of a row to the probabilities of its classes.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassProbability {
    /// How steeply the log-odds of two classes rise with the difference of their scores; not negative.
    pub slope: f64,
    /// What is subtracted for each class then.
    pub shifts: Vec<f64>,
}

impl ClassProbability {
    /// Fits slope and shifts to scores and classes.
    #[must_use]
    pub fn fit(sample: &Sample, scores: &[f32]) -> Self {
        let classes = Classes::new(sample);
        let count = classes.count();
        let spread = classes.spread(scores);
        // In units of the scores' own spread, so that steps and stops do not depend on their scale.
        let mut x = vec![0.0; count + 1];
        x[0] = 1.0;
        minimise(&mut x, 1e-7, EVALUATIONS, |x, gradient| Some(loss(&classes, scores, spread, x, gradient)));
        let slope = x[0] / spread;
        let shifts = x[1..].to_vec();
        if slope > 0.0 && slope.is_finite() && shifts.iter().all(|shift| shift.is_finite()) {
            return Self { slope, shifts };
        }
        let shifts = (0..count).map(|class| -((classes.totals()[class] + 1.0).ln())).collect();
        Self { slope: 0.0, shifts }
    }

    /// Writes the probabilities of a row with these scores.
    ///
    /// # Panics
    /// If there is not one score, and room for one probability, for each class.
    pub fn of(&self, scores: &[f32], out: &mut [f64]) {
        assert!(scores.len() == self.shifts.len() && out.len() == scores.len());
        for ((out, score), shift) in out.iter_mut().zip(scores).zip(&self.shifts) {
            *out = self.slope * f64::from(*score) - shift;
        }
        softmax(out);
    }
}

/// Turns log-odds into probabilities; returns the logarithm of what they were divided by.
fn softmax(values: &mut [f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for value in values.iter_mut() {
        *value = (*value - most).exp();
        sum += *value;
    }
    values.iter_mut().for_each(|value| *value /= sum);
    most + sum.ln()
}

/// Mean cross-entropy at slope and shifts, and its gradient.
fn loss(classes: &Classes<'_>, scores: &[f32], spread: f64, x: &[f64], gradient: &mut [f64]) -> f64 {
    let count = classes.count();
    // A share of one row in those of a class, and two, belongs to the others.
    let strays: Vec<f64> = classes.totals().iter().map(|rows| 1.0 / (rows + 2.0)).collect();
    let partial = |(chunk, scores): (usize, &[f32])| {
        let (mut sums, mut p) = (vec![0.0; count + 2], vec![0.0; count]);
        for (row, scores) in (chunk * CHUNK..).zip(scores.chunks_exact(count)) {
            let (y, weight) = (classes.codes()[row] as usize, classes.weight(row));
            let stray = strays[y] / (count - 1).max(1) as f64;
            let target = |class: usize| if class == y { 1.0 - strays[y] } else { stray };
            for (class, (p, score)) in p.iter_mut().zip(scores).enumerate() {
                *p = x[0] * f64::from(*score) / spread - x[1 + class];
            }
            let aligned: f64 = p.iter().enumerate().map(|(class, odds)| target(class) * odds).sum();
            sums[count + 1] += weight * (softmax(&mut p) - aligned);
            for (class, (p, score)) in p.iter().zip(scores).enumerate() {
                let error = weight * (p - target(class));
                sums[0] += error * f64::from(*score) / spread;
                sums[1 + class] -= error;
            }
        }
        sums
    };
    let partials: Vec<Vec<f64>> = scores.par_chunks(CHUNK * count).enumerate().map(partial).collect();
    let mut sums = vec![0.0; count + 2];
    partials.iter().for_each(|partial| sums.iter_mut().zip(partial).for_each(|(sum, more)| *sum += more));
    let total: f64 = classes.totals().iter().sum();
    gradient.iter_mut().zip(&sums).for_each(|(gradient, sum)| *gradient = sum / total);
    sums[count + 1] / total
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Classes drawn with log-odds 2 s_c - b_c, whatever the unit that s is written in.
    fn drawn(rows: usize, unit: f32) -> (Sample, Vec<f32>) {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (mut codes, mut scores) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let own: Vec<f64> = (0..3).map(|_| rng.random_range(-1.0..1.0)).collect();
            let mut p: Vec<f64> = own.iter().zip([0.0, 0.5, -1.0]).map(|(s, b)| 2.0 * s - b).collect();
            softmax(&mut p);
            let at: f64 = rng.random();
            codes.push(if at < p[0] { 0 } else { 1 + u32::from(at >= p[0] + p[1]) });
            scores.extend(own.iter().map(|s| *s as f32 * unit));
        }
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        (Sample::of_classes("y", names, codes).unwrap(), scores)
    }

    #[test]
    fn the_curve_that_drew_the_classes_is_found_in_any_unit() {
        for unit in [1.0, 1e-3, 1e4] {
            let (sample, scores) = drawn(20_000, unit);
            let found = ClassProbability::fit(&sample, &scores);
            // Standard errors of about 0.03 at 20,000 rows.
            assert!((found.slope * f64::from(unit) - 2.0).abs() < 0.1, "{found:?}");
            assert!((found.shifts[1] - found.shifts[0] - 0.5).abs() < 0.1, "{found:?}");
            assert!((found.shifts[2] - found.shifts[0] + 1.0).abs() < 0.1, "{found:?}");
            let mut p = [0.0; 3];
            found.of(&scores[..3], &mut p);
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn separable_and_equal_and_reversed_scores_have_probabilities() {
        let names = || ["a", "b", "c"].map(str::to_owned).to_vec();
        let sample = Sample::of_classes("y", names(), vec![0, 0, 1, 1, 2, 2]).unwrap();
        let of = |own: f32| -> Vec<f32> {
            sample
                .groups()
                .unwrap()
                .codes()
                .iter()
                .flat_map(|y| (0..3).map(move |c| own * f32::from(u8::from(c == *y))))
                .collect()
        };
        let mut p = [0.0; 3];
        ClassProbability::fit(&sample, &of(1.0)).of(&of(1.0)[..3], &mut p);
        assert!(p[0] > 0.6 && p[0] < 0.95, "{p:?}");
        for scores in [of(0.0), of(-1.0)] {
            ClassProbability::fit(&sample, &scores).of(&scores[..3], &mut p);
            assert!(p.iter().all(|p| (p - 1.0 / 3.0).abs() < 0.05), "{p:?}");
        }
    }
}
