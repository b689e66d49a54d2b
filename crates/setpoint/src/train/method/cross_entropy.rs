//! Cross-entropy: the loss everyone uses, with a weight on the positives.
//!
//! ```text
//! f = Σ w_i c_i ln(1 + e^{∓s_i}) / Σ w_i c_i,      c = positive weight for positives, 1 for negatives
//! v_i = w_i c_i (sigmoid(s_i) - y_i) / Σ w c
//! ```

use super::{Asking, Loss, Plan};
use crate::count::{Cell, CellPartial, Counter};
use crate::examples::Function;
use crate::shard::Shard;
use crate::surrogate::Surrogate;
use crate::train::TrainError;

/// Weighted cross-entropy.
///
/// Softplus counts at the threshold 0 with sharpness 1: the smooth false negatives and false
/// positives. So it shares the engine's vector code.
#[derive(Debug)]
pub struct CrossEntropy {
    counter: Counter,
    positive_weight: f64,
    staked: bool,
}

impl CrossEntropy {
    /// The loss with positives counting `positive_weight` times.
    #[must_use]
    pub fn new(positive_weight: f64) -> Self {
        Self { counter: Counter::new(1, Surrogate::Softplus, 1.0), positive_weight, staked: false }
    }

    /// The loss of a goal in money: the labels are the better decisions, each weighed by what hangs on it.
    #[must_use]
    pub fn of_stakes() -> Self {
        Self { staked: true, ..Self::new(1.0) }
    }
}

/// The loss on some rows, as a function of counts.
struct OfCounts {
    positive_weight: f64,
    total: f64,
    partials: Vec<CellPartial>,
}

impl OfCounts {
    fn value(&self, cells: &[Cell]) -> f64 {
        let [.., negatives, positives] = cells else { return f64::NAN };
        (negatives.positive + self.positive_weight * positives.negative) / self.total
    }
}

impl CrossEntropy {
    fn of_counts(&self, rows: &dyn Shard) -> OfCounts {
        let positive_weight = self.positive_weight;
        let staked = rows.staked(false).filter(|_| self.staked);
        let totals = staked.map_or(rows.totals(false)[0], |staked| staked.totals[0]);
        // What hangs on decisions is counted in the second layer of cells.
        let layer = if staked.is_some() { 2 } else { 0 };
        let total = positive_weight * totals.positives + totals.negatives;
        let mut partials = vec![CellPartial::default(); layer + 2];
        partials[layer].positive = 1.0 / total;
        partials[layer + 1].negative = positive_weight / total;
        OfCounts { positive_weight, total, partials }
    }
}

impl Loss for CrossEntropy {
    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        let function = self.of_counts(rows);
        let mut cells = vec![Cell::default(); function.partials.len()];
        self.counter.count(rows, scores, &[0.0], false, &mut cells)?;
        self.counter.gradient(rows, scores, &[0.0], &function.partials, false, v)?;
        Ok(function.value(&cells))
    }

    fn plan(&mut self, rows: &mut Asking<'_>, _: &[f32]) -> Result<Option<Plan>, TrainError> {
        let function = self.of_counts(rows.rows);
        let partials = function.partials.clone();
        let of =
            Function { counts: self.counter.counts(&[0.0], false, partials.len()), partials, lines: vec![] };
        let value = Box::new(move |cells: &[Cell]| function.value(cells));
        Ok(Some(Plan { column: None, of, standard: None, value }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[test]
    fn gradient_matches_finite_differences() {
        let sample = Sample::new(vec![true, false, true]).unwrap().with_weights(vec![1.0, 2.0, 0.5]).unwrap();
        let paid = sample.clone().with_stakes(true, vec![[0.0, 3.0], [1.0, 0.5], [-2.0, -4.0]]).unwrap();
        check(&sample, CrossEntropy::new(3.0));
        check(&paid, CrossEntropy::of_stakes());
    }

    fn check(sample: &Sample, mut loss: CrossEntropy) {
        let scores = [0.5, -0.25, -2.0];
        let mut v = [0.0; 3];
        loss.evaluate(sample, &scores, &mut v).unwrap();
        for row in 0..3 {
            let h = 0.015_625;
            let at = |loss: &mut CrossEntropy, h: f32| {
                let mut moved = scores;
                moved[row] += h;
                loss.evaluate(sample, &moved, &mut [0.0; 3]).unwrap()
            };
            let numeric = (at(&mut loss, h) - at(&mut loss, -h)) / (2.0 * f64::from(h));
            // Third derivatives are below 0.2: h² / 30; and rounding of the loss, 1e-7 / h.
            assert!((f64::from(v[row]) - numeric).abs() < 1e-5, "{} is not {numeric}", v[row]);
        }
    }

    #[test]
    fn without_weights_it_is_the_mean_log_loss() {
        let sample = Sample::new(vec![true, false]).unwrap();
        let loss = CrossEntropy::new(1.0).evaluate(&sample, &[0.0, 0.0], &mut [0.0; 2]).unwrap();
        // The vector code's logarithm is within 3e-7.
        assert!((loss - std::f64::consts::LN_2).abs() < 3e-7);
    }
}
