//! The variance of roc-auc after DeLong, DeLong and Clarke-Pearson (1988).
//!
//! Each positive has a *placement*: the share of negatives it beats, ties counted half; each
//! negative the share of positives that beat it. The area is the mean of either, and
//!
//! ```text
//! variance = var(placements of the m positives) / m + var(placements of the n negatives) / n
//! ```
//!
//! All examples of one cut share a placement, so the cuts give it all in one pass after the
//! sort (the midrank method of Sun and Xu, 2014).
//!
//! The interval is symmetric in logit(auc), not in auc: it never leaves [0, 1] and covers better
//! near 1. For a perfect order the variance is zero and says nothing; then
//! min(m, n) disjoint pairs, all in the right order, give an exact binomial bound instead.

use super::{Interval, check_confidence, clopper_pearson, normal_quantile, sigmoid};
use crate::metric::{Cuts, MetricError, Rows, roc};
use crate::sample::Sample;

/// The area under the roc curve with its standard error and interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeLong {
    /// Area under the curve.
    pub auc: f64,
    /// Standard error of the area, on its own scale.
    pub standard_error: f64,
    /// The interval.
    pub interval: Interval,
}

/// DeLong's interval for the area under the roc curve.
///
/// # Errors
/// If the sample has weights, fewer than two examples of a class, the scores do not fit, or the
/// confidence is not in (0, 1).
pub fn delong(sample: &Sample, scores: &[f32], confidence: f64) -> Result<DeLong, MetricError> {
    let rows = (sample, scores);
    check(&rows, confidence)?;
    delong_of(&rows, &rows.cuts()?, confidence)
}

fn check(rows: &dyn Rows, confidence: f64) -> Result<(), MetricError> {
    check_confidence(confidence)?;
    let about = rows.about();
    if about.weighted {
        return Err(MetricError::Weighted { method: "DeLong's variance" });
    }
    if about.together {
        return Err(MetricError::Together { method: "DeLong's variance" });
    }
    Ok(())
}

/// The same from cuts that are there already.
///
/// # Errors
/// As [`delong`].
pub fn delong_of(rows: &dyn Rows, cuts: &Cuts, confidence: f64) -> Result<DeLong, MetricError> {
    check(rows, confidence)?;
    let auc = roc::auc(cuts)?;
    let (positives, negatives) = (cuts.positives(), cuts.negatives());
    let fewest = positives.min(negatives);
    if fewest < 2.0 {
        return Err(MetricError::Undefined {
            metric: "DeLong's variance".to_owned(),
            reason: format!(
                "{positives} positives and {negatives} negatives; at least two of each are needed"
            ),
        });
    }
    if auc == 0.0 || auc == 1.0 {
        let pairs = fewest as u64;
        let interval = clopper_pearson(if auc == 1.0 { pairs } else { 0 }, pairs, confidence)?;
        return Ok(DeLong { auc, standard_error: 0.0, interval });
    }
    let standard_error = variance(cuts, auc).sqrt();
    let logit = (auc / (1.0 - auc)).ln();
    let reach = normal_quantile(0.5 + confidence / 2.0) * standard_error / (auc * (1.0 - auc));
    let interval = Interval { lower: sigmoid(logit - reach), upper: sigmoid(logit + reach), confidence };
    Ok(DeLong { auc, standard_error, interval })
}

fn variance(cuts: &Cuts, auc: f64) -> f64 {
    let (positives, negatives) = (cuts.positives(), cuts.negatives());
    let (mut of_positives, mut of_negatives) = (0.0, 0.0);
    for [before, cut] in cuts.steps(0..cuts.len()) {
        let beaten = (negatives - (before.false_positives + cut.false_positives) / 2.0) / negatives;
        let beaten_by = (before.true_positives + cut.true_positives) / 2.0 / positives;
        of_positives += (cut.true_positives - before.true_positives) * (beaten - auc).powi(2);
        of_negatives += (cut.false_positives - before.false_positives) * (beaten_by - auc).powi(2);
    }
    of_positives / (positives - 1.0) / positives + of_negatives / (negatives - 1.0) / negatives
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::data::{random_case, unweighted};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// All pairs, written out as a matrix.
    fn oracle(labels: &[bool], scores: &[f32]) -> (f64, f64) {
        let of = |label| (0..labels.len()).filter(move |i| labels[*i] == label).map(|i| scores[i]);
        let kernel = |p: f32, n: f32| {
            if p > n {
                1.0
            } else if p == n {
                0.5
            } else {
                0.0
            }
        };
        let (m, n) = (of(true).count() as f64, of(false).count() as f64);
        let v10: Vec<f64> = of(true).map(|p| of(false).map(|n| kernel(p, n)).sum::<f64>() / n).collect();
        let v01: Vec<f64> = of(false).map(|n| of(true).map(|p| kernel(p, n)).sum::<f64>() / m).collect();
        let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
        let spread = |v: &[f64]| {
            v.iter().map(|x| (x - mean(v)).powi(2)).sum::<f64>() / (v.len() as f64 - 1.0) / v.len() as f64
        };
        (mean(&v10), (spread(&v10) + spread(&v01)).sqrt())
    }

    #[test]
    fn the_standard_error_is_that_of_the_placement_matrix() {
        let mut compared = 0;
        for seed in 0..60 {
            let (sample, scores) = random_case(seed, 60);
            let sample = unweighted(&sample);
            let Ok(got) = delong(&sample, &scores, 0.95) else { continue };
            let (auc, error) = oracle(sample.labels(), &scores);
            assert!((got.auc - auc).abs() < 1e-13);
            assert!((got.standard_error - error).abs() < 1e-13, "{} is not {error}", got.standard_error);
            compared += 1;
        }
        assert!(compared > 40);
    }

    #[test]
    fn a_perfect_order_still_has_an_interval() {
        let sample = Sample::new(vec![true, true, true, false, false]).unwrap();
        let got = delong(&sample, &[5.0, 4.0, 3.0, 2.0, 1.0], 0.95).unwrap();
        assert_eq!((got.auc, got.interval.upper), (1.0, 1.0));
        assert!((got.interval.lower - 0.025_f64.sqrt()).abs() < 1e-12);
        let got = delong(&sample, &[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert_eq!((got.auc, got.interval.lower), (0.0, 0.0));
    }

    #[test]
    fn weights_and_lone_examples_are_refused() {
        let sample = Sample::new(vec![true, false, false]).unwrap();
        let error = delong(&sample, &[1.0, 2.0, 3.0], 0.95).unwrap_err();
        assert!(error.to_string().contains("1 positives and 2 negatives; at least two"), "{error}");
        let weighted = sample.with_weights(vec![1.0, 2.0, 1.0]).unwrap();
        assert!(matches!(delong(&weighted, &[1.0; 3], 0.95), Err(MetricError::Weighted { .. })));
    }

    #[test]
    fn the_interval_covers_about_as_often_as_it_says() {
        // Negatives N(0, 1), positives N(1.5, 1): the area is Phi(1.5 / sqrt 2) = 0.855578.
        // scipy.stats.norm.cdf(1.5 / 2**0.5)
        let truth = 0.855_577_816_826_757_6;
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let labels: Vec<bool> = (0..160).map(|i| i < 60).collect();
        let sample = Sample::new(labels.clone()).unwrap();
        let trials = 2000;
        let mut covered = 0;
        for _ in 0..trials {
            let scores: Vec<f32> = labels
                .iter()
                .map(|label| {
                    let normal = normal_quantile(rng.random_range(1e-12..1.0));
                    (normal + if *label { 1.5 } else { 0.0 }) as f32
                })
                .collect();
            let Interval { lower, upper, .. } = delong(&sample, &scores, 0.95).unwrap().interval;
            covered += u32::from(lower <= truth && truth <= upper);
        }
        // The simulation's own standard error is sqrt(0.95 * 0.05 / 2000) = 0.0049; four of them, and
        // one point for the normal approximation at 60 positives.
        let coverage = f64::from(covered) / f64::from(trials);
        assert!((coverage - 0.95).abs() < 4.0 * 0.0049 + 0.01, "covered {coverage}");
    }
}
