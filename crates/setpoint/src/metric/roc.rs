//! Recall against fpr: the curve, its area, and areas over ranges.
//!
//! Between two cuts the curve is a straight line, so that ties count one half:
//! the full area is the chance that a random positive scores above a random
//! negative, plus half the chance that they tie.

use super::{Cut, Cuts, MetricError, check_range};

/// One cut on the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RocPoint {
    /// False positives / negatives.
    pub fpr: f64,
    /// True positives / positives.
    pub recall: f64,
    /// A threshold that makes these decisions.
    pub threshold: f32,
}

/// The curve's points, from nobody predicted positive to everybody.
///
/// # Errors
/// If the sample lacks a class.
pub fn points(cuts: &Cuts) -> Result<impl Iterator<Item = RocPoint> + '_, MetricError> {
    require_both(cuts)?;
    Ok(cuts.walk(0..cuts.len()).map(|cut| RocPoint {
        fpr: cut.false_positives / cuts.negatives(),
        recall: cut.true_positives / cuts.positives(),
        threshold: cut.threshold(),
    }))
}

/// The area under the whole curve.
///
/// # Errors
/// If the sample lacks a class.
pub fn auc(cuts: &Cuts) -> Result<f64, MetricError> {
    require_both(cuts)?;
    let beaten = |[before, cut]: [Cut; 2]| {
        (cut.false_positives - before.false_positives) * (before.true_positives + cut.true_positives)
    };
    let twice: f64 = cuts.steps(0..cuts.len()).map(beaten).sum();
    Ok(twice / 2.0 / cuts.negatives() / cuts.positives())
}

/// The normalised area over a range of fpr.
///
/// Over `0..b`, with the rescaling of McClish (1989), so that 0.5 is chance and 1 is perfect, as
/// scikit-learn's `roc_auc_score(max_fpr=b)`:
///
/// ```text
/// (1 + (area - b²/2) / (b - b²/2)) / 2
/// ```
///
/// Over other ranges, the mean recall: area / width.
///
/// # Errors
/// If the sample lacks a class or the range is not within 0..1.
pub fn area_over_fpr(cuts: &Cuts, from: f64, to: f64) -> Result<f64, MetricError> {
    require_both(cuts)?;
    check_range(from, to)?;
    let area = mean_height(cuts, |cut| (cut.false_positives, cut.true_positives), from, to);
    if from > 0.0 {
        return Ok(area);
    }
    let chance = to / 2.0;
    Ok((1.0 + (area - chance) / (1.0 - chance)) / 2.0)
}

/// The normalised area over a range of recall: the mean tnr (1 - fpr) along it.
///
/// # Errors
/// If the sample lacks a class or the range is not within 0..1.
pub fn area_over_recall(cuts: &Cuts, from: f64, to: f64) -> Result<f64, MetricError> {
    require_both(cuts)?;
    check_range(from, to)?;
    Ok(1.0 - mean_height(cuts, |cut| (cut.true_positives, cut.false_positives), from, to))
}

fn require_both(cuts: &Cuts) -> Result<(), MetricError> {
    cuts.require(|| "roc-auc".to_owned(), true, true)
}

/// The mean of `y / y_last` along `from < x / x_last < to`, linear between the cuts; neither ever falls.
fn mean_height(cuts: &Cuts, place: impl Fn(&Cut) -> (f64, f64), from: f64, to: f64) -> f64 {
    let (x_last, y_last) = place(&cuts.at(cuts.len() - 1));
    let (from, to) = (from * x_last, to * x_last);
    // The segment that crosses `from` starts at the last point not beyond it.
    let first = cuts.partition_point(0..cuts.len(), |cut| place(cut).0 <= from).saturating_sub(1);
    let mut twice = 0.0;
    for [before, cut] in cuts.steps(first..cuts.len()) {
        let ((x0, y0), (x1, y1)) = (place(&before), place(&cut));
        if x0 >= to {
            break;
        }
        let (left, right) = (x0.max(from), x1.min(to));
        if left < right {
            let at = |x: f64| if x >= x1 { y1 } else { y0 + (y1 - y0) * ((x - x0) / (x1 - x0)) };
            twice += (right - left) * (at(left) + at(right));
        }
    }
    twice / 2.0 / (to - from) / y_last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::data::random_case;
    use crate::sample::Sample;

    /// Every positive against every negative.
    fn pairs(sample: &Sample, scores: &[f32]) -> f64 {
        let (mut won, mut all) = (0.0, 0.0);
        for p in (0..sample.len()).filter(|p| sample.labels()[*p]) {
            for n in (0..sample.len()).filter(|n| !sample.labels()[*n]) {
                let weight = sample.weight(p) * sample.weight(n);
                all += weight;
                won += match scores[p].total_cmp(&scores[n]) {
                    _ if scores[p] == scores[n] => weight / 2.0,
                    std::cmp::Ordering::Greater => weight,
                    _ => 0.0,
                };
            }
        }
        won / all
    }

    /// Recall at an fpr: the line between the cuts on either side, found by looking at them all.
    fn recall_at(points: &[RocPoint], fpr: f64) -> f64 {
        let on_line = points.windows(2).find(|pair| pair[0].fpr <= fpr && fpr < pair[1].fpr).unwrap();
        let share = (fpr - on_line[0].fpr) / (on_line[1].fpr - on_line[0].fpr);
        on_line[0].recall + share * (on_line[1].recall - on_line[0].recall)
    }

    /// Exact for a line between its corners: the value at the middle of each piece times its width.
    fn by_pieces(mut corners: Vec<f64>, from: f64, to: f64, height: impl Fn(f64) -> f64) -> f64 {
        corners.retain(|x| from < *x && *x < to);
        corners.extend([from, to]);
        corners.sort_by(f64::total_cmp);
        let piece = |pair: &[f64]| {
            let width = pair[1] - pair[0];
            if width < 1e-14 { 0.0 } else { width * height(f64::midpoint(pair[0], pair[1])) }
        };
        corners.windows(2).map(piece).sum::<f64>() / (to - from)
    }

    #[test]
    fn the_area_is_the_share_of_pairs_in_the_right_order() {
        for seed in 0..60 {
            let (sample, scores) = random_case(seed, 50);
            let cuts = Cuts::new(&sample, &scores).unwrap();
            let (got, expected) = (auc(&cuts).unwrap(), pairs(&sample, &scores));
            // Sums of at most 2500 products of exact weights.
            assert!((got - expected).abs() < 1e-13, "{got} is not {expected}");
            let whole = area_over_fpr(&cuts, 0.0, 1.0).unwrap();
            assert!((whole - got).abs() < 1e-13);
            assert!((area_over_recall(&cuts, 0.0, 1.0).unwrap() - got).abs() < 1e-13);
        }
    }

    #[test]
    fn areas_over_ranges_are_means_of_the_line_between_cuts() {
        for seed in 0..40 {
            let (sample, scores) = random_case(seed, 50);
            let cuts = Cuts::new(&sample, &scores).unwrap();
            let points: Vec<RocPoint> = points(&cuts).unwrap().collect();
            for (from, to) in [(0.1, 0.3), (0.25, 0.26), (0.5, 1.0), (0.0, 0.4)] {
                let corners = points.iter().map(|point| point.fpr).collect();
                let mut expected = by_pieces(corners, from, to, |fpr| recall_at(&points, fpr));
                if from == 0.0 {
                    let (low, high) = (to * to / 2.0, to);
                    expected = 0.5 * (1.0 + (expected * to - low) / (high - low));
                }
                let got = area_over_fpr(&cuts, from, to).unwrap();
                assert!((got - expected).abs() < 1e-11, "{from}..{to}: {got} is not {expected}");

                // Over recall: the same curve seen from the other side.
                let swapped: Vec<RocPoint> =
                    points.iter().map(|p| RocPoint { fpr: p.recall, recall: p.fpr, ..*p }).collect();
                let corners = swapped.iter().map(|point| point.fpr).collect();
                let expected = by_pieces(corners, from, to, |recall| 1.0 - recall_at(&swapped, recall));
                let got = area_over_recall(&cuts, from, to).unwrap();
                assert!((got - expected).abs() < 1e-11, "recall {from}..{to}: {got} is not {expected}");
            }
        }
    }

    #[test]
    fn a_perfect_ranking_has_area_one_everywhere_and_a_constant_score_one_half() {
        let sample = Sample::new(vec![true, true, false, false, false]).unwrap();
        let perfect = Cuts::new(&sample, &[5.0, 4.0, 3.0, 2.0, 1.0]).unwrap();
        assert_eq!(area_over_fpr(&perfect, 0.0, 0.1).unwrap(), 1.0);
        assert_eq!(area_over_fpr(&perfect, 0.1, 0.2).unwrap(), 1.0);
        assert_eq!(area_over_recall(&perfect, 0.9, 1.0).unwrap(), 1.0);
        let constant = Cuts::new(&sample, &[1.0; 5]).unwrap();
        assert_eq!(auc(&constant).unwrap(), 0.5);
        assert!((area_over_fpr(&constant, 0.0, 0.05).unwrap() - 0.5).abs() < 1e-15);
    }

    #[test]
    fn one_class_has_no_curve() {
        let cuts = Cuts::new(&Sample::new(vec![false; 4]).unwrap(), &[1.0; 4]).unwrap();
        let error = auc(&cuts).unwrap_err().to_string();
        assert!(error.starts_with("labels hold no positives (0 of 4): roc-auc is undefined"), "{error}");
        assert!(points(&cuts).is_err());
    }
}
