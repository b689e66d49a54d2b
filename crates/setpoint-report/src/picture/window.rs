//! The stretch of a curve that a goal is about.

use serde::Serialize;
use setpoint::goal::{Area, Constraint, Counts, Curve as Kind, Goal, Objective, Rate};
use setpoint::metric::{Cut, Cuts};

use super::Scene;

/// A part of the plane, within 0..1 both ways.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Range along the first axis.
    pub x: (f64, f64),
    /// Range along the second axis.
    pub y: (f64, f64),
}

/// Of the ROC curve and of the precision-recall curve.
pub(super) fn both(scene: &Scene<'_>) -> (Window, Window) {
    let shipped = scene.model.cuts.counts_at(scene.model.cuts.cut_of(scene.threshold));
    let (fpr, recall) = along(scene.goal, &shipped);
    let subjects = || [Some(scene.model), scene.baseline].into_iter().flatten();
    let height = |x: (f64, f64), kind: Kind| {
        let ranges = subjects().filter_map(|subject| heights(subject.cuts, x, kind));
        let (low, high) = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0.0, 1.0));
        padded(low, high)
    };
    (
        Window { x: fpr, y: height(fpr, Kind::Roc) },
        Window { x: recall, y: height(recall, Kind::PrecisionRecall) },
    )
}

/// A point of the ROC curve.
pub(super) fn roc_place(counts: &Counts) -> Option<(f64, f64)> {
    Some((Rate::FalsePositiveRate.of(counts)?, Rate::Recall.of(counts)?))
}

/// A point of the precision-recall curve.
pub(super) fn pr_place(counts: &Counts) -> Option<(f64, f64)> {
    Some((Rate::Recall.of(counts)?, Rate::Precision.of(counts)?))
}

/// The ranges of fpr and recall to look at: about the goal's targets, else about what ships.
fn along(goal: &Goal, shipped: &Counts) -> ((f64, f64), (f64, f64)) {
    let (mut fpr, mut recall) = (None, None);
    let mut look_at = |rate: Rate, from: f64, to: f64| match rate {
        Rate::FalsePositiveRate => fpr = Some((0.0, (3.0 * to).min(1.0))),
        Rate::TrueNegativeRate => fpr = Some((0.0, (3.0 * (1.0 - from)).min(1.0))),
        Rate::Recall => recall = Some((lowered(from), 1.0)),
        Rate::FalseNegativeRate => recall = Some((lowered(1.0 - to), 1.0)),
        _ => {}
    };
    match &goal.objective {
        Objective::Area(Area { axis, from, to, curve }) if *from > 0.0 || *to < 1.0 => match (curve, axis) {
            // An area's own range, with little beside it.
            (Kind::Roc, Rate::FalsePositiveRate) => look_at(*axis, *from, to / 2.4),
            _ => look_at(*axis, *from, *to),
        },
        _ => {}
    }
    for constraint in &goal.constraints {
        if let Constraint::Rate { rate, target, .. } | Constraint::PerGroup { rate, target, .. } = constraint
        {
            look_at(*rate, *target, *target);
        }
    }
    let rate = |rate: Rate| rate.of(shipped).unwrap_or(0.5);
    let fpr = fpr.unwrap_or_else(|| (0.0, (3.0 * rate(Rate::FalsePositiveRate)).clamp(0.003, 1.0)));
    // Data that has changed may put what ships far from its target: it is in the picture all the same.
    let fpr = (fpr.0, fpr.1.max(1.2 * Rate::FalsePositiveRate.of(shipped).unwrap_or(0.0)).min(1.0));
    let recall = recall.unwrap_or_else(|| {
        let at = rate(Rate::Recall);
        ((at - 0.25).max(0.0), (at + 0.25).min(1.0))
    });
    let lowest = Rate::Recall.of(shipped).map_or(1.0, |at| (at - 0.05).max(0.0));
    (fpr, (recall.0.min(lowest), recall.1))
}

/// A recall to start from so that the target is well inside.
fn lowered(target: f64) -> f64 {
    (target - 1.5 * (1.0 - target)).max(0.0)
}

/// The lowest and highest point of a curve within a range, its start left out by a tenth: a curve
/// that starts at zero would hide the rest.
fn heights(cuts: &Cuts, (from, to): (f64, f64), kind: Kind) -> Option<(f64, f64)> {
    let (along, all): (fn(&Cut) -> f64, f64) = match kind {
        Kind::Roc => (|cut| cut.false_positives, cuts.negatives()),
        Kind::PrecisionRecall => (|cut| cut.true_positives, cuts.positives()),
    };
    // What lies along the axis only grows from cut to cut.
    let every = 0..cuts.len();
    let start = cuts.partition_point(every.clone(), |cut| along(cut) < (from + 0.1 * (to - from)) * all);
    let end = cuts.partition_point(every, |cut| along(cut) <= to * all);
    let height = |cut: Cut| match kind {
        Kind::Roc => roc_place(&cuts.counts_of(&cut)),
        Kind::PrecisionRecall => pr_place(&cuts.counts_of(&cut)),
    };
    let heights = |cuts: &mut dyn Iterator<Item = Cut>| {
        cuts.filter_map(height).map(|(_, y)| (y, y)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    };
    match kind {
        // Recall grows as well: its ends are those of the range.
        Kind::Roc => {
            let ends = [start, end.saturating_sub(1)].into_iter().filter(|cut| (start..end).contains(cut));
            heights(&mut ends.map(|cut| cuts.at(cut)))
        }
        Kind::PrecisionRecall => heights(&mut cuts.walk(start..end)),
    }
}

/// A little room, at round values.
fn padded(low: f64, high: f64) -> (f64, f64) {
    let room = 0.05 * (high - low).max(0.02);
    let step = if high - low > 0.3 { 10.0 } else { 50.0 };
    let low = ((low - room) * step).floor() / step;
    let high = ((high + room) * step).ceil() / step;
    (low.max(0.0), high.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(goal: &str) -> ((f64, f64), (f64, f64)) {
        let shipped = Counts {
            true_positives: 60.0,
            false_negatives: 40.0,
            false_positives: 10.0,
            true_negatives: 990.0,
            positives: 100.0,
            negatives: 1000.0,
            money: 0.0,
        };
        along(&goal.parse().unwrap(), &shipped)
    }

    #[test]
    fn the_goal_is_inside_its_window() {
        assert_eq!(ranges("recall @ fpr<=2%").0, (0.0, 0.06));
        assert_eq!(ranges("recall @ tnr>=0.99").0.1, 3.0 * (1.0 - 0.99));
        let (from, to) = ranges("precision @ recall>=0.7").1;
        assert!((from - 0.25).abs() < 1e-12 && to == 1.0);
        assert!((ranges("roc-auc @ fpr in 0..4%").0.1 - 0.05).abs() < 1e-12);
        // What ships has recall 0.6 and fpr 1%: inside, however far from its target.
        let (from, to) = ranges("precision @ recall>=0.95").1;
        assert!((from - 0.55).abs() < 1e-12 && to == 1.0);
        assert!((ranges("recall @ fpr<=0.1%").0.1 - 0.012).abs() < 1e-12);
        assert!((ranges("f1").0.1 - 0.03).abs() < 1e-12);
        assert_eq!(ranges("f1").1, (0.35, 0.85));
    }
}
