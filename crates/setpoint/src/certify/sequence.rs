//! Thresholds on which to test a condition on precision or its like, from rows that the test does not use.
//!
//! A fixed sequence ends at its first failure, so it starts where these rows pass the test most clearly,
//! and goes on towards looser thresholds as far as they meet the target at all.

use super::claim::{Claim, Slice};
use crate::goal::Constraint;
use crate::metric::{Cut, Cuts, MetricError};
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
    let (positives, negatives) = (cuts.positives(), cuts.negatives());
    // The predicted examples of a cut, and how many of them are mistakes.
    let share = |cut: &Cut| match upper {
        true => (cut.predicted() as u64, cut.false_positives as u64),
        false => (
            (positives - cut.true_positives + negatives - cut.false_positives) as u64,
            (positives - cut.true_positives) as u64,
        ),
    };
    // Cut i predicts the i highest distinct scores positive: strict to loose for precision, the
    // other way round for npv, of which the last cut has no examples.
    let count = if upper { cuts.len() - 1 } else { cuts.len() - 2 };
    let cut_of = |place: usize| if upper { place + 1 } else { count - place };
    let p_value = |place: usize| {
        let (examples, bad) = share(&cuts.at(cut_of(place)));
        claim.tail(examples, bad)
    };
    let meets = |cut: &Cut| {
        let (examples, bad) = share(cut);
        claim.allows(claim.bad(bad, examples) as f64 / examples as f64)
    };
    // A thousand places are looked at, evenly by rank.
    let step = count.div_ceil(1000).max(1);
    let looked = (0..count).step_by(step).map(|place| (place, p_value(place)));
    let (start, least) = looked.min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)))?;
    if least > delta.sqrt() {
        return None;
    }
    let loosest = match upper {
        true => cuts.backwards().take_while(|cut| cut.place > start).find(meets).map(|cut| cut.place - 1),
        false => cuts.walk(1..count + 1 - start).find(meets).map(|cut| count - cut.place),
    };
    let end = loosest.unwrap_or(start);
    let step = (end - start).div_ceil(MOST).max(1);
    let sequence = (start..=end).step_by(step).map(|place| cuts.threshold(cut_of(place)));
    Some(sequence.filter(|threshold| threshold.is_finite()).collect())
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
