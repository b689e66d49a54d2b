//! Precision against recall: the curve, average precision, and areas over ranges.
//!
//! There is no interpolation between cuts: precision does not move along a straight line
//! there, and a line would promise decisions nobody can make. The curve is a staircase.

use super::{Cut, Cuts, MetricError, check_range};

/// One cut on the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrPoint {
    /// True positives / positives.
    pub recall: f64,
    /// True positives / predicted positives.
    pub precision: f64,
    /// A threshold that makes these decisions.
    pub threshold: f32,
}

/// The curve's points by falling threshold. The cut that predicts nobody positive has no precision
/// and is left out.
///
/// # Errors
/// If the sample holds no positives.
pub fn points(cuts: &Cuts) -> Result<impl Iterator<Item = PrPoint> + '_, MetricError> {
    require_positives(cuts)?;
    Ok(cuts.walk(1..cuts.len()).filter_map(|cut| {
        let recall = cut.true_positives / cuts.positives();
        Some(PrPoint { recall, precision: precision_at(&cut)?, threshold: cut.threshold() })
    }))
}

/// Average precision: the area under the staircase over all recalls, as scikit-learn's
/// `average_precision_score`.
///
/// # Errors
/// If the sample holds no positives.
pub fn average_precision(cuts: &Cuts) -> Result<f64, MetricError> {
    area_over_recall(cuts, 0.0, 1.0)
}

/// The mean precision over a range of recall.
///
/// Precision at recall `r` is the precision at the largest threshold whose recall is at least `r`;
/// the mean is the exact integral of that step function over the range, divided by its width.
///
/// # Errors
/// If the sample holds no positives or the range is not within 0..1.
pub fn area_over_recall(cuts: &Cuts, from: f64, to: f64) -> Result<f64, MetricError> {
    require_positives(cuts)?;
    check_range(from, to)?;
    let (from, to) = (from * cuts.positives(), to * cuts.positives());
    let mut area = 0.0;
    // Recalls above that of the cut before are first reached at a cut.
    let first = cuts.partition_point(0..cuts.len(), |cut| cut.true_positives <= from);
    for [before, cut] in cuts.steps(first - 1..cuts.len()) {
        if before.true_positives >= to {
            break;
        }
        let width = cut.true_positives.min(to) - before.true_positives.max(from);
        if width > 0.0 {
            area += width * (cut.true_positives / cut.predicted());
        }
    }
    Ok(area / (to - from))
}

/// The mean recall over a range of precision.
///
/// Recall at precision `p` is the best recall among the thresholds whose precision is at least
/// `p`, and 0 where no threshold attains `p`. That is a falling step function of `p`; the mean is
/// its exact integral over the range, divided by its width.
///
/// # Errors
/// If the sample holds no positives or the range is not within 0..1.
pub fn area_over_precision(cuts: &Cuts, from: f64, to: f64) -> Result<f64, MetricError> {
    require_positives(cuts)?;
    check_range(from, to)?;
    // From the loosest cut, which has the best recall: each cut that raises the precision seen so
    // far has the best recall for the levels it adds.
    let mut reached = from;
    let mut area = 0.0;
    for cut in cuts.backwards() {
        let Some(precision) = precision_at(&cut) else { continue };
        if precision > reached {
            let level = precision.min(to);
            area += (level - reached) * cut.true_positives;
            reached = level;
            if reached >= to {
                break;
            }
        }
    }
    Ok(area / cuts.positives() / (to - from))
}

fn precision_at(cut: &Cut) -> Option<f64> {
    (cut.predicted() > 0.0).then(|| cut.true_positives / cut.predicted())
}

fn require_positives(cuts: &Cuts) -> Result<(), MetricError> {
    cuts.require(|| "pr-auc".to_owned(), true, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::data::random_case;
    use crate::sample::Sample;

    /// Weighted recall and precision at a threshold, counted row by row.
    fn rates(sample: &Sample, scores: &[f32], threshold: f32) -> (f64, f64) {
        let (mut tp, mut predicted) = (0.0, 0.0);
        for row in (0..sample.len()).filter(|row| scores[*row] >= threshold) {
            predicted += sample.weight(row);
            tp += if sample.labels()[row] { sample.weight(row) } else { 0.0 };
        }
        (tp / sample.totals().positives, tp / predicted)
    }

    /// The integral of a step function with these corners: its value inside each piece times the width.
    fn mean_of_steps(mut corners: Vec<f64>, from: f64, to: f64, height: impl Fn(f64) -> f64) -> f64 {
        corners.retain(|x| from < *x && *x < to);
        corners.extend([from, to]);
        corners.sort_by(f64::total_cmp);
        let piece = |pair: &[f64]| (pair[1] - pair[0]) * height(f64::midpoint(pair[0], pair[1]));
        corners.windows(2).map(piece).sum::<f64>() / (to - from)
    }

    const RANGES: [(f64, f64); 5] = [(0.0, 1.0), (0.95, 1.0), (0.2, 0.3), (0.5, 0.9), (0.0, 0.1)];

    #[test]
    fn the_area_over_recall_is_the_integral_of_the_step_function() {
        for seed in 0..40 {
            let (sample, scores) = random_case(seed, 50);
            let cuts = Cuts::new(&sample, &scores).unwrap();
            for (from, to) in RANGES {
                let corners = scores.iter().map(|score| rates(&sample, &scores, *score).0).collect();
                let precision_at_recall = |recall: f64| {
                    let reach = scores.iter().filter(|score| rates(&sample, &scores, **score).0 >= recall);
                    let largest = reach.copied().max_by(f32::total_cmp).unwrap();
                    rates(&sample, &scores, largest).1
                };
                let expected = mean_of_steps(corners, from, to, precision_at_recall);
                let got = area_over_recall(&cuts, from, to).unwrap();
                assert!((got - expected).abs() < 1e-12, "{from}..{to}: {got} is not {expected}");
            }
        }
    }

    #[test]
    fn the_area_over_precision_is_the_integral_of_the_best_recall() {
        for seed in 0..40 {
            let (sample, scores) = random_case(seed, 50);
            let cuts = Cuts::new(&sample, &scores).unwrap();
            for (from, to) in RANGES {
                let corners = scores.iter().map(|score| rates(&sample, &scores, *score).1).collect();
                let best_recall = |precision: f64| {
                    let all = scores.iter().map(|score| rates(&sample, &scores, *score));
                    all.filter(|(_, p)| *p >= precision).map(|(recall, _)| recall).fold(0.0, f64::max)
                };
                let expected = mean_of_steps(corners, from, to, best_recall);
                let got = area_over_precision(&cuts, from, to).unwrap();
                assert!((got - expected).abs() < 1e-12, "{from}..{to}: {got} is not {expected}");
            }
        }
    }

    #[test]
    fn points_are_the_rates_of_their_thresholds() {
        let (sample, scores) = random_case(2, 50);
        let cuts = Cuts::new(&sample, &scores).unwrap();
        for point in points(&cuts).unwrap() {
            let (recall, precision) = rates(&sample, &scores, point.threshold);
            assert_eq!((point.recall, point.precision), (recall, precision));
        }
    }

    #[test]
    fn a_sample_without_positives_has_no_curve() {
        let cuts = Cuts::new(&Sample::new(vec![false; 4]).unwrap(), &[1.0; 4]).unwrap();
        assert!(average_precision(&cuts).is_err() && points(&cuts).is_err());
        // Without negatives every precision is 1.
        let cuts = Cuts::new(&Sample::new(vec![true; 4]).unwrap(), &[1.0, 2.0, 2.0, 3.0]).unwrap();
        assert_eq!(average_precision(&cuts).unwrap(), 1.0);
        assert_eq!(area_over_precision(&cuts, 0.3, 1.0).unwrap(), 1.0);
    }
}
