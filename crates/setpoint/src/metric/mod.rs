//! Exact metrics: counted decisions, no surrogate.
//!
//! An example is predicted positive when `score >= threshold`. The scores are sorted once
//! ([`Sorted`]); the cumulative counts at every cut ([`Cuts`]) then give every curve, area and
//! operating point. Weights count everywhere as copies would: weight two equals a duplicated row.
//!
//! ```
//! use setpoint::{Goal, Sample, metric};
//!
//! let sample = Sample::new(vec![true, false, true, false, false])?;
//! let scores = [0.9, 0.8, 0.7, 0.3, 0.1];
//! let goal: Goal = "recall @ precision>=0.6".parse()?;
//! assert_eq!(metric::value_at(&goal, &sample, &scores)?.value, 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod condition;
mod cuts;
mod error;
mod rank;
mod rows;
mod sort;

pub mod band;
pub mod confusion;
pub mod interval;
pub mod operating_point;
pub mod pr;
pub mod proper;
pub mod ranking;
pub mod roc;
pub mod two_sample;

#[cfg(test)]
mod data;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod invariance;

pub use band::Band;
pub use condition::Condition;
pub use cuts::{Cut, Cuts, ThresholdRange, Walk};
pub use error::MetricError;
pub use operating_point::OperatingPoint;
pub use rank::Ranked;
pub use ranking::TopCut;
pub use rows::{About, OfGroup, Rows, StoredRows};
pub use sort::Sorted;

use crate::goal::{Area, Constraint, Curve, Goal, Objective, Rate};
use crate::sample::Sample;

/// The exact value of a goal on a sample, and where it is attained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The objective's value.
    pub value: f64,
    /// The decisions that attain it.
    pub at: At,
}

/// The decisions that attain a value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum At {
    /// Those of one threshold.
    Threshold(OperatingPoint),
    /// The highest scores, ties at the cut shared.
    Top(TopCut),
    /// Those of two thresholds, with rows between them left undecided.
    Band(Band),
    /// All those along a range: the value is an area.
    Range,
}

/// The value of a goal with one threshold, an area, or a `k=` or `top=` goal on a sample: the best
/// objective among the decisions that satisfy every condition exactly there.
///
/// # Errors
/// If the scores do not fit the sample, the sample lacks a class, no threshold satisfies the
/// conditions, or the goal has conditions on groups.
pub fn value_at(goal: &Goal, sample: &Sample, scores: &[f32]) -> Result<Value, MetricError> {
    value_of(goal, &Cuts::new(sample, scores)?)
}

/// As [`value_at`], from cuts that are there already.
///
/// # Errors
/// As [`value_at`].
pub fn value_of(goal: &Goal, cuts: &Cuts) -> Result<Value, MetricError> {
    let conditions: Vec<Condition> = goal
        .constraints
        .iter()
        .filter_map(|constraint| Condition::of(constraint).transpose())
        .collect::<Result<_, _>>()?;
    let mut tops = goal.constraints.iter().filter_map(|constraint| match constraint {
        Constraint::Top(top) => Some(*top),
        _ => None,
    });
    let top = tops.next();
    if tops.next().is_some() {
        return Err(MetricError::TwoTops);
    }
    match (&goal.objective, goal.objective.rate(), top) {
        (_, Some(rate), None) if goal.abstains() => {
            let band = band::best(cuts, rate, &conditions)?;
            Ok(Value { value: band.value, at: At::Band(band) })
        }
        (_, Some(rate), None) => {
            let point = operating_point::best(cuts, rate, &conditions)?;
            Ok(Value { value: point.value, at: At::Threshold(point) })
        }
        (_, Some(rate), Some(top)) => {
            let cut = ranking::top(cuts, ranking::places(cuts, top)?)?;
            Ok(Value { value: ranking::value(cuts, &cut, rate, &conditions)?, at: At::Top(cut) })
        }
        (Objective::Area(area), None, None) if conditions.is_empty() => {
            Ok(Value { value: area_of(area, cuts)?, at: At::Range })
        }
        _ => Err(MetricError::AreaWithConditions),
    }
}

/// The normalised area under a stretch of a curve.
///
/// # Errors
/// If the sample lacks a class, the curve has no such axis, or the range is not within 0..1.
pub fn area_of(area: &Area, cuts: &Cuts) -> Result<f64, MetricError> {
    let Area { curve, axis, from, to } = *area;
    match (curve, axis) {
        (Curve::Roc, Rate::FalsePositiveRate) => roc::area_over_fpr(cuts, from, to),
        (Curve::Roc, Rate::Recall) => roc::area_over_recall(cuts, from, to),
        (Curve::PrecisionRecall, Rate::Recall) => pr::area_over_recall(cuts, from, to),
        (Curve::PrecisionRecall, Rate::Precision) => pr::area_over_precision(cuts, from, to),
        _ => Err(MetricError::Axis { curve, axis }),
    }
}

fn check_range(from: f64, to: f64) -> Result<(), MetricError> {
    if 0.0 <= from && from < to && to <= 1.0 { Ok(()) } else { Err(MetricError::Range { from, to }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::{Relation, Top};

    fn small() -> Cuts {
        let sample = Sample::new(vec![true, false, true, false]).unwrap();
        Cuts::new(&sample, &[4.0, 3.0, 2.0, 1.0]).unwrap()
    }

    fn goal(rate: Rate, constraints: Vec<Constraint>) -> Goal {
        Goal { objective: Objective::Rate(rate), constraints }
    }

    #[test]
    fn each_kind_of_goal_says_where_its_value_is_attained() {
        let free = value_of(&goal(Rate::FBeta(1.0), vec![]), &small()).unwrap();
        assert!(matches!(free.at, At::Threshold(OperatingPoint { cut: 3, .. })));
        assert_eq!(free.value, 0.8);
        let top = Constraint::Top(Top::Count { k: 2, of: None });
        let top = value_of(&goal(Rate::Precision, vec![top]), &small()).unwrap();
        assert!(matches!(top.at, At::Top(TopCut { cut: 2, .. })));
        assert_eq!(top.value, 0.5);
        let area = Area { curve: Curve::Roc, axis: Rate::FalsePositiveRate, from: 0.0, to: 1.0 };
        let area = Goal { objective: Objective::Area(area), constraints: vec![] };
        assert_eq!(value_of(&area, &small()).unwrap(), Value { value: 0.75, at: At::Range });
    }

    #[test]
    fn goals_that_one_threshold_cannot_answer_are_refused_by_name() {
        let group = Constraint::PerGroup {
            rate: Rate::Recall,
            column: "sex".to_owned(),
            relation: Relation::AtLeast,
            target: 0.5,
        };
        assert_eq!(
            value_of(&goal(Rate::Precision, vec![group]), &small()).unwrap_err(),
            MetricError::GroupCondition { column: "sex".to_owned() }
        );
        let top = || Constraint::Top(Top::Fraction(0.5));
        assert_eq!(
            value_of(&goal(Rate::Precision, vec![top(), top()]), &small()).unwrap_err(),
            MetricError::TwoTops
        );
        let area = |axis, from, to| Area { curve: Curve::Roc, axis, from, to };
        let refused = area_of(&area(Rate::Precision, 0.0, 1.0), &small()).unwrap_err();
        assert_eq!(refused.to_string(), "roc-auc has no range over precision");
        for (from, to) in [(0.5, 0.5), (-0.1, 0.5), (0.5, 1.1), (f64::NAN, 1.0), (0.7, 0.2)] {
            let refused = area_of(&area(Rate::Recall, from, to), &small());
            assert!(matches!(refused, Err(MetricError::Range { .. })), "{from}..{to}");
        }
        let objective = Objective::Area(area(Rate::Recall, 0.0, 1.0));
        assert_eq!(
            value_of(&Goal { objective, constraints: vec![top()] }, &small()).unwrap_err(),
            MetricError::AreaWithConditions
        );
    }
}
