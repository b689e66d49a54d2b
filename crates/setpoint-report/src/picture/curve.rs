//! ROC and precision-recall curves, whole and zoomed, and the places on them that matter.

use serde::Serialize;
use setpoint::goal::{Constraint, Counts, Goal, Objective, Rate, safe_side};
use setpoint::metric::{At, Cut, Cuts, value_of};

use super::Subject;
use super::window::{Window, pr_place, roc_place};
use crate::chart::{Scale, Thinner};

/// The curves of one method; points are joined by straight lines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurveRecord {
    /// The method.
    pub name: String,
    /// Recall against false-positive rate.
    pub roc: Vec<(f64, f64)>,
    /// The same in the window of the goal.
    pub roc_zoom: Vec<(f64, f64)>,
    /// Precision against recall: at each recall, that of the largest threshold that attains it.
    pub pr: Vec<(f64, f64)>,
    /// The same in the window of the goal.
    pub pr_zoom: Vec<(f64, f64)>,
    /// Where the goal's conditions hold exactly on this data.
    pub at_condition: Option<Place>,
}

/// Decisions of one threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Place {
    /// The threshold.
    pub threshold: f32,
    /// False-positive rate.
    pub fpr: Option<f64>,
    /// Recall.
    pub recall: Option<f64>,
    /// Precision.
    pub precision: Option<f64>,
}

/// One of the thresholds that stand for an area.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AreaPoint {
    /// The rate along the area's range.
    pub axis: String,
    /// Its value: the middle of a bin.
    pub target: f64,
    /// The threshold that attains it on this data.
    pub threshold: f32,
    /// The rate that the area averages.
    pub rate: String,
    /// Its value there.
    pub value: f64,
}

impl CurveRecord {
    pub(super) fn of(goal: &Goal, subject: Subject<'_>, (roc, pr): (Window, Window)) -> Self {
        let unit = Window { x: (0.0, 1.0), y: (0.0, 1.0) };
        let cuts = subject.cuts;
        Self {
            name: subject.name.to_owned(),
            roc: roc_curve(cuts, unit),
            roc_zoom: roc_curve(cuts, roc),
            pr: pr_curve(cuts, unit),
            pr_zoom: pr_curve(cuts, pr),
            at_condition: at_condition(goal, cuts),
        }
    }
}

impl Place {
    /// Those of a threshold with these counts.
    fn new(threshold: f32, counts: &Counts) -> Self {
        Self {
            threshold,
            fpr: Rate::FalsePositiveRate.of(counts),
            recall: Rate::Recall.of(counts),
            precision: Rate::Precision.of(counts),
        }
    }
}

fn thinner(window: Window) -> Thinner {
    Thinner::new(Scale::linear(window.x.0, window.x.1), Scale::linear(window.y.0, window.y.1))
}

/// Places along an axis at which a monotone curve is looked up: two for each column of a picture.
const PLACES: u32 = 2000;

/// Both rates only grow from cut to cut, so that what a column of pixels shows of the curve are its
/// cuts on both sides of the column's ends: no need to walk them all.
fn roc_curve(cuts: &Cuts, window: Window) -> Vec<(f64, f64)> {
    let mut thinner = thinner(window);
    let last = cuts.len() - 1;
    let mut seen = None;
    let mut push = |cut: usize| {
        if seen.is_none_or(|seen| cut > seen)
            && let Some((fpr, recall)) = roc_place(&cuts.counts_at(cut))
        {
            thinner.push(fpr, recall);
            seen = Some(cut);
        }
    };
    push(0);
    for place in 0..=PLACES {
        let fpr = window.x.0 + (window.x.1 - window.x.0) * f64::from(place) / f64::from(PLACES);
        let within = |cut: &Cut| cut.false_positives <= fpr * cuts.negatives();
        let beyond = cuts.partition_point(0..cuts.len(), within);
        push(beyond.saturating_sub(1));
        push(beyond.min(last));
    }
    thinner.finish()
}

/// A step up to each point: precision is held for the recalls that only this threshold attains.
fn pr_curve(cuts: &Cuts, window: Window) -> Vec<(f64, f64)> {
    let mut thinner = thinner(window);
    // From the last cut before the window to the first one beyond it.
    let before = |recall: f64| {
        cuts.partition_point(0..cuts.len(), |cut| cut.true_positives < recall * cuts.positives())
    };
    let (start, end) = (before(window.x.0).max(1), before(window.x.1));
    let mut recall_before = cuts.at(start - 1).true_positives / cuts.positives();
    for [before, cut] in cuts.steps(start - 1..cuts.len().min(end + 1)) {
        if cut.true_positives > before.true_positives
            && let Some((recall, precision)) = pr_place(&cuts.counts_of(&cut))
        {
            thinner.push(recall_before, precision);
            thinner.push(recall, precision);
            recall_before = recall;
        }
    }
    thinner.finish()
}

fn at_condition(goal: &Goal, cuts: &Cuts) -> Option<Place> {
    match value_of(&goal.operating(), cuts).ok()?.at {
        At::Threshold(point) => Some(Place::new(point.threshold, &point.counts)),
        At::Top(top) => Some(Place::new(cuts.threshold(top.cut), &cuts.counts_at(top.cut))),
        _ => None,
    }
}

/// The thresholds at the middles of an area's bins; none where the goal is no area.
pub(super) fn area_points(goal: &Goal, cuts: &Cuts) -> Vec<AreaPoint> {
    let Objective::Area(area) = &goal.objective else { return Vec::new() };
    let Some(height) = area.height() else { return Vec::new() };
    let at = |target: f64| {
        let condition = Constraint::Rate { rate: area.axis, relation: safe_side(area.axis), target };
        let goal = Goal { objective: Objective::Rate(height), constraints: vec![condition] };
        match value_of(&goal, cuts).ok()? {
            setpoint::metric::Value { value, at: At::Threshold(point) } => Some(AreaPoint {
                axis: area.axis.to_string(),
                target,
                threshold: point.threshold,
                rate: height.to_string(),
                value,
            }),
            _ => None,
        }
    };
    area.midpoints(area.default_bins()).filter_map(at).collect()
}
