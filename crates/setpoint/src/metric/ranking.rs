//! The highest scores and no others: precision and recall at k, or in a top fraction.
//!
//! Exactly `k` places are given out. Where the last place falls inside a block of equal scores,
//! any of them might get it: the block's rows share the places left, in expectation over a random
//! order. That makes the counts linear between two cuts, and every rate exact in expectation,
//! since the number of predicted positives is fixed.
//!
//! A row takes as many places as its weight, so that weight two equals a duplicated row; with
//! unit weights a place is a row. A fraction is a fraction of the total weight, as positive-rate
//! has it, and may end inside a row.

use super::{Condition, Cut, Cuts, MetricError};
use crate::goal::{Counts, Rate, Top};

/// The decisions that predict exactly the highest scores positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TopCut {
    /// Places given out: the weight predicted positive.
    pub places: f64,
    /// The strictest cut that gives out at least as many places.
    pub cut: usize,
    /// A threshold for `cut`; it predicts exactly the top positive where `share` is 1.
    pub threshold: f32,
    /// The share of the last block of equal scores that gets a place.
    pub share: f64,
    /// The expected counts.
    pub counts: Counts,
}

/// How many places `k=` or `top=` gives out on this sample.
///
/// `k=100` is 100 places; `k=100 of 5000` and `top=2%` are that fraction of the total weight.
///
/// # Errors
/// If there are no places, or more than the sample's total weight.
pub fn places(cuts: &Cuts, top: Top) -> Result<f64, MetricError> {
    let total = cuts.positives() + cuts.negatives();
    let places = match top {
        Top::Fraction(fraction) => fraction * total,
        Top::Count { k, of: None } => k as f64,
        Top::Count { k, of: Some(of) } => k as f64 * total / of as f64,
    };
    if places > 0.0 && places <= total { Ok(places) } else { Err(MetricError::Places { places, total }) }
}

/// The decisions that predict the `places` highest scores positive.
///
/// # Errors
/// If there are no places, or more than the sample's total weight.
pub fn top(cuts: &Cuts, places: f64) -> Result<TopCut, MetricError> {
    let total = cuts.positives() + cuts.negatives();
    if !(places > 0.0 && places <= total) {
        return Err(MetricError::Places { places, total });
    }
    // A fraction such as 7% of 100 comes out an ulp above 7; it means 7.
    let needed = places * (1.0 - 4.0 * f64::EPSILON);
    let cut = cuts.partition_point(1..cuts.len() - 1, |cut| cut.predicted() < needed);
    let (low, high) = (cuts.at(cut - 1), cuts.at(cut));
    let (before, after) = (low.predicted(), high.predicted());
    let share =
        if after * (1.0 - 4.0 * f64::EPSILON) <= places { 1.0 } else { (places - before) / (after - before) };
    let between = |of: fn(&Cut) -> f64| {
        if share == 1.0 { of(&high) } else { of(&low) + share * (of(&high) - of(&low)) }
    };
    let counts = cuts.counts(
        between(|cut| cut.true_positives),
        between(|cut| cut.false_positives),
        between(|cut| cut.money),
    );
    Ok(TopCut { places, cut, threshold: cuts.threshold(cut), share, counts })
}

/// The share of positives among the k highest scores.
///
/// # Errors
/// If `k` is 0 or more than the sample's total weight.
pub fn precision_at_k(cuts: &Cuts, k: u64) -> Result<f64, MetricError> {
    value(cuts, &top(cuts, k as f64)?, Rate::Precision, &[])
}

/// The share of all positives that the k highest scores hold.
///
/// # Errors
/// If `k` is 0 or more than the sample's total weight, or the sample holds no positives.
pub fn recall_at_k(cuts: &Cuts, k: u64) -> Result<f64, MetricError> {
    value(cuts, &top(cuts, k as f64)?, Rate::Recall, &[])
}

/// A rate of these decisions, where they satisfy the conditions.
///
/// # Errors
/// If the sample lacks a class that a rate needs, a condition does not hold, or the rate is
/// undefined.
pub fn value(cuts: &Cuts, top: &TopCut, rate: Rate, conditions: &[Condition]) -> Result<f64, MetricError> {
    for condition in conditions {
        cuts.require_for(condition.rate)?;
        if !condition.holds(&top.counts) {
            return Err(MetricError::Infeasible {
                condition: *condition,
                best: condition.rate.of(&top.counts),
                recall: Rate::Recall.of(&top.counts),
                given: Vec::new(),
            });
        }
    }
    cuts.require_for(rate)?;
    rate.of(&top.counts).ok_or_else(|| MetricError::Undefined {
        metric: rate.to_string(),
        reason: format!("its denominator is zero in the top {}", top.places),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::data::{random_case, unweighted};
    use crate::sample::Sample;

    /// The mean number of positives among the k highest, over every order of the tied rows: each
    /// tied row has the same chance of a place.
    fn expected_hits(labels: &[bool], scores: &[f32], k: usize) -> f64 {
        let mut descending = scores.to_vec();
        descending.sort_by(|a, b| b.total_cmp(a));
        let last = descending[k - 1];
        let above = scores.iter().filter(|score| **score > last).count();
        let tied = scores.iter().filter(|score| **score == last).count();
        let chance = (k - above) as f64 / tied as f64;
        let rows = labels.iter().zip(scores).filter(|(label, _)| **label);
        rows.map(|(_, score)| {
            if *score > last {
                1.0
            } else if *score == last {
                chance
            } else {
                0.0
            }
        })
        .sum()
    }

    #[test]
    fn ties_at_the_cut_share_it_in_expectation() {
        for seed in 0..40 {
            let (sample, scores) = random_case(seed, 30);
            let sample = unweighted(&sample);
            let cuts = Cuts::new(&sample, &scores).unwrap();
            for k in 1..=sample.len() {
                let hits = expected_hits(sample.labels(), &scores, k);
                let precision = precision_at_k(&cuts, k as u64).unwrap();
                let recall = recall_at_k(&cuts, k as u64).unwrap();
                assert!((precision - hits / k as f64).abs() < 1e-14);
                assert!((recall - hits / sample.totals().positives).abs() < 1e-14);
                let top = top(&cuts, k as f64).unwrap();
                let decided = scores.iter().filter(|score| **score >= top.threshold).count();
                assert!(decided >= k && (top.share < 1.0 || decided == k));
            }
        }
    }

    #[test]
    fn a_row_of_weight_two_takes_two_places() {
        let sample = Sample::new(vec![true, false, true]).unwrap();
        let scores = [3.0, 2.0, 1.0];
        let sample = sample.with_weights(vec![2.0, 1.0, 1.0]).unwrap();
        let cuts = Cuts::new(&sample, &scores).unwrap();
        assert_eq!(precision_at_k(&cuts, 1).unwrap(), 1.0);
        assert_eq!(precision_at_k(&cuts, 3).unwrap(), 2.0 / 3.0);
        assert_eq!(recall_at_k(&cuts, 3).unwrap(), 2.0 / 3.0);
    }

    #[test]
    fn a_fraction_of_the_sample_lands_on_its_cut() {
        let sample = Sample::new((0..100).map(|i| i % 3 == 0).collect()).unwrap();
        let scores: Vec<f32> = (0..100).map(|i| -(i as f32)).collect();
        let cuts = Cuts::new(&sample, &scores).unwrap();
        // 0.07 * 100 is 7.000000000000001.
        for (top_, cut) in [
            (Top::Fraction(0.07), 7),
            (Top::Fraction(0.29), 29),
            (Top::Count { k: 10, of: Some(1000) }, 1),
            (Top::Count { k: 10, of: None }, 10),
        ] {
            let found = top(&cuts, places(&cuts, top_).unwrap()).unwrap();
            assert_eq!((found.cut, found.share), (cut, 1.0), "{top_:?}");
        }
        let half = top(&cuts, 2.5).unwrap();
        assert_eq!((half.cut, half.share), (3, 0.5));
    }

    #[test]
    fn places_beyond_the_sample_are_refused() {
        let cuts = Cuts::new(&Sample::new(vec![true, false]).unwrap(), &[1.0, 2.0]).unwrap();
        for k in [0, 3] {
            assert!(matches!(precision_at_k(&cuts, k), Err(MetricError::Places { .. })));
        }
        let none = Top::Count { k: 1, of: Some(0) };
        assert!(matches!(places(&cuts, none), Err(MetricError::Places { .. })));
        assert!(matches!(top(&cuts, f64::NAN), Err(MetricError::Places { .. })));
    }

    #[test]
    fn a_condition_that_the_top_misses_is_infeasible() {
        use crate::goal::Relation;
        let cuts = Cuts::new(&Sample::new(vec![true, false]).unwrap(), &[1.0, 2.0]).unwrap();
        let condition = Condition { rate: Rate::Recall, relation: Relation::AtLeast, target: 0.5 };
        let top = top(&cuts, 1.0).unwrap();
        let error = value(&cuts, &top, Rate::Precision, &[condition]).unwrap_err();
        assert!(matches!(error, MetricError::Infeasible { .. }));
        assert_eq!(value(&cuts, &top, Rate::Precision, &[]).unwrap(), 0.0);
    }
}
