//! Counted decisions at a threshold that is already there: what a user gets.

use super::{MetricError, Rows};
use crate::goal::{Counts, Rate};
use crate::sample::Sample;

/// The weighted counts of the decisions `score >= threshold`.
///
/// # Errors
/// If there is not one finite score for each example, or the threshold is NaN.
pub fn at(sample: &Sample, scores: &[f32], threshold: f32) -> Result<Counts, MetricError> {
    check(sample, scores, threshold)?;
    of(&(sample, scores), threshold)
}

/// The same of rows wherever they are.
///
/// # Errors
/// If the threshold is NaN.
pub fn of(rows: &dyn Rows, threshold: f32) -> Result<Counts, MetricError> {
    let mut counts = Counts::default();
    if threshold.is_nan() {
        return Err(MetricError::Threshold);
    }
    rows.each(&mut |sample, scores| count(&mut counts, sample, scores, threshold, 0..sample.len()));
    Ok(counts)
}

/// The weighted counts of positive decisions at or above the upper threshold and negative ones below the lower.
///
/// # Errors
/// As [`at`].
pub fn between(sample: &Sample, scores: &[f32], [upper, lower]: [f32; 2]) -> Result<Counts, MetricError> {
    let (above, below) = (at(sample, scores, upper)?, at(sample, scores, lower)?);
    Ok(Counts { false_negatives: below.false_negatives, true_negatives: below.true_negatives, ..above })
}

/// The same within each group, by group code.
///
/// # Errors
/// As [`at`], or if the sample has no groups.
pub fn per_group(sample: &Sample, scores: &[f32], threshold: f32) -> Result<Vec<Counts>, MetricError> {
    check(sample, scores, threshold)?;
    of_groups(&(sample, scores), threshold)
}

/// The same of rows wherever they are.
///
/// # Errors
/// If the threshold is NaN, or the rows have no groups.
pub fn of_groups(rows: &dyn Rows, threshold: f32) -> Result<Vec<Counts>, MetricError> {
    let (_, names) = rows.about().groups.ok_or(MetricError::NoGroups)?;
    if threshold.is_nan() {
        return Err(MetricError::Threshold);
    }
    let mut counts = vec![Counts::default(); names.len()];
    rows.each(&mut |sample, scores| {
        for (group, counts) in counts.iter_mut().enumerate() {
            let own = sample.groups().map_or(&[][..], |groups| groups.rows(group));
            count(counts, sample, scores, threshold, own.iter().map(|row| *row as usize));
        }
    });
    Ok(counts)
}

/// Every rate of these counts, with `None` where it is undefined.
#[must_use]
pub fn rates(counts: &Counts) -> [(Rate, Option<f64>); Rate::ALL.len()] {
    Rate::ALL.map(|rate| (rate, rate.of(counts)))
}

fn check(sample: &Sample, scores: &[f32], threshold: f32) -> Result<(), MetricError> {
    sample.check_scores(scores)?;
    if threshold.is_nan() { Err(MetricError::Threshold) } else { Ok(()) }
}

/// Adds rows to counts, one after the other.
fn count(
    counts: &mut Counts,
    sample: &Sample,
    scores: &[f32],
    threshold: f32,
    rows: impl Iterator<Item = usize>,
) {
    for row in rows {
        let cell = match (sample.labels()[row], scores[row] >= threshold) {
            (true, true) => &mut counts.true_positives,
            (true, false) => &mut counts.false_negatives,
            (false, true) => &mut counts.false_positives,
            (false, false) => &mut counts.true_negatives,
        };
        *cell += sample.weight(row);
        if let Some(stakes) = sample.stakes() {
            counts.money += sample.weight(row) * stakes.pays()[row][usize::from(scores[row] >= threshold)];
        }
    }
    counts.positives = counts.true_positives + counts.false_negatives;
    counts.negatives = counts.false_positives + counts.true_negatives;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Cuts;
    use crate::metric::data::random_case;

    #[test]
    fn counts_at_a_threshold_are_those_of_its_cut() {
        for seed in 0..20 {
            let (sample, scores) = random_case(seed, 50);
            let cuts = Cuts::new(&sample, &scores).unwrap();
            for threshold in scores.iter().copied().chain([f32::INFINITY, f32::NEG_INFINITY, 0.1]) {
                let counts = at(&sample, &scores, threshold).unwrap();
                // The weights are eighths: sums are exact in any order.
                assert_eq!(counts, cuts.counts_at(cuts.cut_of(threshold)));
            }
        }
    }

    #[test]
    fn groups_are_counted_apart() {
        let sample = Sample::new(vec![true, false, true, false])
            .unwrap()
            .with_groups("sex", vec!["f".into(), "m".into()], vec![1, 0, 0, 1])
            .unwrap();
        let scores = [1.0, 2.0, 3.0, 4.0];
        let groups = per_group(&sample, &scores, 2.5).unwrap();
        assert_eq!((groups[0].true_positives, groups[0].true_negatives), (1.0, 1.0));
        assert_eq!((groups[1].false_negatives, groups[1].false_positives), (1.0, 1.0));
        let alone = Sample::new(vec![true, false, true, false]).unwrap();
        assert_eq!(per_group(&alone, &scores, 2.5).unwrap_err(), MetricError::NoGroups);
    }

    #[test]
    fn undefined_rates_are_none_and_the_others_are_there() {
        let sample = Sample::new(vec![false, false]).unwrap();
        let counts = at(&sample, &[1.0, 2.0], 5.0).unwrap();
        for (rate, value) in rates(&counts) {
            let undefined = matches!(
                rate,
                Rate::Recall | Rate::FalseNegativeRate | Rate::Precision | Rate::FalseDiscoveryRate
            ) || matches!(rate, Rate::BalancedAccuracy | Rate::FBeta(_));
            assert_eq!(value.is_none(), undefined, "{rate:?}");
        }
        assert_eq!(at(&sample, &[1.0, 2.0], f32::NAN).unwrap_err(), MetricError::Threshold);
    }
}
