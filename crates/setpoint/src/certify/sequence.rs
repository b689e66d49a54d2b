//! Thresholds on which to test a condition on precision or its like, from rows that the test does not use.
//!
//! A fixed sequence ends at its first failure, so it starts where these rows pass the test most clearly,
//! and goes on towards looser thresholds as far as they meet the target at all.

use super::claim::{Claim, Slice};
use crate::goal::Constraint;
use crate::metric::{Cuts, MetricError};
use crate::sample::Sample;

/// Most thresholds of a sequence.
const MOST: usize = 100;

/// The sequence for the one condition on precision or its like, chosen on a sample of its own.
///
/// `None` where no condition or more than one needs a sequence, where conditions are on groups or the
/// sample has weights, or where the sample does not come near to passing the test: then the certificate
/// finds thresholds of its own.
///
/// # Errors
/// If the scores do not fit the sample.
pub fn sequence(
    conditions: &[Constraint],
    sample: &Sample,
    scores: &[f32],
    delta: f64,
) -> Result<Option<Vec<f32>>, MetricError> {
    let claims = conditions.iter().filter_map(|condition| Claim::of(condition).ok());
    let mut tested = claims.filter(Claim::is_predictive);
    let (Some(claim), None) = (tested.next(), tested.next()) else { return Ok(None) };
    if conditions.iter().any(|condition| condition.column().is_some()) || sample.weights().is_some() {
        return Ok(None);
    }
    Ok(along(&claim, &Cuts::new(sample, scores)?, delta))
}

/// The sequence of a claim, by the cuts of these rows.
pub(super) fn along(claim: &Claim, cuts: &Cuts, delta: f64) -> Option<Vec<f32>> {
    let upper = claim.slice == Slice::PredictedPositives;
    let (examples, bad) = shares(cuts, upper);
    // Cut i predicts the i highest distinct scores positive: strict to loose for precision, the
    // other way round for npv.
    let mut order: Vec<usize> = (1..cuts.len()).filter(|cut| examples[*cut] > 0).collect();
    if !upper {
        order.reverse();
    }
    let p_value = |place: usize| claim.tail(examples[order[place]], bad[order[place]]);
    let meets = |place: &usize| {
        let (bad, examples) = (bad[order[*place]], examples[order[*place]]);
        claim.allows(claim.bad(bad, examples) as f64 / examples as f64)
    };
    // A thousand places are looked at, evenly by rank.
    let step = order.len().div_ceil(1000).max(1);
    let start = (0..order.len())
        .step_by(step)
        .min_by(|a, b| p_value(*a).total_cmp(&p_value(*b)).then(a.cmp(b)))
        .filter(|start| p_value(*start) <= delta.sqrt())?;
    let end = (start..order.len()).rev().find(meets).unwrap_or(start);
    let step = (end - start).div_ceil(MOST).max(1);
    let sequence = (start..=end).step_by(step).map(|place| cuts.threshold(order[place]));
    Some(sequence.filter(|threshold| threshold.is_finite()).collect())
}

/// The predicted examples of each cut, and how many of them are mistakes.
fn shares(cuts: &Cuts, upper: bool) -> (Vec<u64>, Vec<u64>) {
    let last = cuts.len() - 1;
    let (positives, negatives) = (cuts.true_positives()[last], cuts.false_positives()[last]);
    let share = |cut: usize| {
        let (tp, fp) = (cuts.true_positives()[cut], cuts.false_positives()[cut]);
        match upper {
            true => ((tp + fp) as u64, fp as u64),
            false => ((positives - tp + negatives - fp) as u64, (positives - tp) as u64),
        }
    };
    (0..cuts.len()).map(share).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::parse_conditions;

    #[test]
    fn a_sequence_goes_from_the_clearest_pass_to_the_loosest_that_meets_the_target() {
        let (labels, scores): (Vec<bool>, Vec<f32>) =
            (0..1000).map(|row| (row >= 700 || row % 5 == 0, row as f32)).unzip();
        let sample = Sample::new(labels).unwrap();
        for (conditions, from_loose) in
            [("precision>=0.8", true), ("fdr<=20%, fpr<=50%", true), ("npv>=0.7", false)]
        {
            let conditions = parse_conditions(conditions).unwrap();
            let found = sequence(&conditions, &sample, &scores, 0.05).unwrap().unwrap();
            assert!(found.len() > 10 && found.len() <= MOST + 1, "{}", found.len());
            assert_eq!(found.is_sorted_by(|a, b| a > b), from_loose);
        }
        for none in ["fpr<=5%", "precision>=0.8, npv>=0.9", "precision>=0.999"] {
            assert_eq!(sequence(&parse_conditions(none).unwrap(), &sample, &scores, 0.05).unwrap(), None);
        }
        let weighted = sample.with_weights(vec![2.0; 1000]).unwrap();
        let precision = parse_conditions("precision>=0.8").unwrap();
        assert_eq!(sequence(&precision, &weighted, &scores, 0.05).unwrap(), None);
    }
}
