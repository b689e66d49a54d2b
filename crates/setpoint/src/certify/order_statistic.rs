//! Limits on a threshold from one order statistic of the scores of a slice.
//!
//! For `fpr<=a` with n negatives, take the smallest k with P\[Binomial(n, 1 - a) >= k\] <= delta
//! and certify every threshold *above* the k-th smallest negative score X(k). Proof: let q be the
//! smallest number with P\[X > q\] <= a. The rule fails only if P\[X > X(k)\] > a, that is if
//! X(k) < q, that is if at least k of the n scores are below q. Each of them is with probability
//! P\[X < q\] <= 1 - a, because every x < q has P\[X > x\] > a. So
//!
//! ```text
//! P[failure] <= P[Binomial(n, 1 - a) >= k] <= delta,     with equality on the left without ties
//! ```
//!
//! Nothing is assumed about the distribution: with ties P\[X < q\] only gets smaller. The
//! threshold is the float just above X(k), so all scores tied with X(k) fall on the safe side.
//! For `recall>=b` the same holds upside down: every threshold *at or below* the k-th largest
//! positive score, with P\[Binomial(n, b) >= k\] <= delta. That score ties with itself on the safe
//! side already, being predicted positive.
//!
//! Finding one order statistic is a selection, cheaper than a sort.

use super::claim::{Claim, Slice};
use super::cohort::Cohort;
use super::error::CertifyError;
use super::level::Level;

/// A certified end of the thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit {
    /// The loosest threshold if the claim wants it strict, else the strictest.
    pub threshold: f32,
    /// Which order statistic it comes from: the k-th smallest score if the claim wants the
    /// threshold strict, else the k-th largest.
    pub k: u64,
}

pub(super) fn limit(claim: &Claim, cohort: &Cohort, level: &Level) -> Result<Limit, CertifyError> {
    let mut scores = cohort.scores_of(claim.slice);
    let found = scores.len() as u64;
    if found == 0 {
        let missing = if claim.slice == Slice::Positives { "positives" } else { "negatives" };
        return Err(cohort.without(missing, claim.rate.to_string()).into());
    }
    let Some(bad) = claim.allowed(found, level.delta()) else {
        return Err(level.too_few(claim, cohort, found, claim.needed(level.delta())));
    };
    let k = found - bad;
    let (index, strict) = (k as usize - 1, claim.wants_strict());
    let index = if strict { index } else { scores.len() - 1 - index };
    let (_, score, _) = scores.select_nth_unstable_by(index, f32::total_cmp);
    let threshold = if strict { score.next_up() } else { *score };
    if threshold.is_finite() {
        Ok(Limit { threshold, k })
    } else {
        Err(CertifyError::NoFiniteThreshold { score: *score })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::parse_conditions;
    use crate::sample::Sample;

    fn limit_of(
        condition: &str,
        labels: Vec<bool>,
        scores: &[f32],
        confidence: f64,
    ) -> Result<Limit, CertifyError> {
        let claim = Claim::of(&parse_conditions(condition).unwrap()[0]).unwrap();
        let sample = Sample::new(labels).unwrap();
        let cohort = Cohort { sample: &sample, scores, group: None };
        limit(&claim, &cohort, &Level { confidence, shared_by: 1 })
    }

    #[test]
    fn the_limit_is_the_order_statistic_of_the_rule() {
        // P[Binomial(10, 0.5) <= 1] = 11/1024 = 0.0107, P[... <= 2] = 56/1024 = 0.0547.
        let scores: Vec<f32> = (1..=10).map(|i| i as f32).collect();
        let fpr = limit_of("fpr<=50%", vec![false; 10], &scores, 0.95).unwrap();
        assert_eq!(fpr, Limit { threshold: 9.0_f32.next_up(), k: 9 });
        let tnr = limit_of("tnr>=0.5", vec![false; 10], &scores, 0.94).unwrap();
        assert_eq!(tnr, Limit { threshold: 8.0_f32.next_up(), k: 8 });
        let recall = limit_of("recall>=0.5", vec![true; 10], &scores, 0.95).unwrap();
        assert_eq!(recall, Limit { threshold: 2.0, k: 9 });
        let fnr = limit_of("fnr<=50%", vec![true; 10], &scores, 0.94).unwrap();
        assert_eq!(fnr, Limit { threshold: 3.0, k: 8 });
    }

    #[test]
    fn ties_fall_on_the_safe_side() {
        let scores = [-0.0, 0.0, -0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0];
        let fpr = limit_of("fpr<=50%", vec![false; 10], &scores, 0.94).unwrap();
        assert_eq!(fpr.threshold, 1.0_f32.next_up());
        let recall = limit_of("recall>=0.5", vec![true; 10], &scores, 0.94).unwrap();
        assert_eq!(recall.threshold.to_bits(), 0.0_f32.to_bits());
    }

    #[test]
    fn too_few_examples_are_refused_with_the_number_needed() {
        let labels = (0..250).map(|i| i < 50).collect();
        let error = limit_of("fpr<=0.1%", labels, &[0.5; 250], 0.95).unwrap_err();
        assert_eq!(
            error.to_string(),
            "200 negatives cannot certify fpr <= 0.1% at 95% confidence; at least 2995 are needed"
        );
    }

    #[test]
    fn no_float_above_the_largest_is_an_error() {
        let error = limit_of("fpr<=50%", vec![false; 10], &[f32::MAX; 10], 0.95).unwrap_err();
        assert_eq!(error, CertifyError::NoFiniteThreshold { score: f32::MAX });
    }
}
