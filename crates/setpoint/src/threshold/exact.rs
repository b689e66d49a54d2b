//! Thresholds at which the *unrelaxed* rates meet the goal's conditions, with the best objective.
//!
//! One sort, then a sweep over every set of decisions a threshold can make; ties
//! stay together and weights count. `=` is read on the safe side of its target,
//! as everywhere on a sample.
//!
//! - one threshold: the best cut that satisfies every condition;
//! - two thresholds: the best pair of cuts, upper and lower, that satisfies every condition;
//! - an area: for each bin, the best height where the axis meets the bin's midpoint;
//! - `k=`, `top=`: the cut that predicts as many positive as fit;
//! - group conditions: one threshold per group, chosen together (`coupled`), or one that all
//!   groups share (`shared`).

use super::{ThresholdError, coupled, shared};
use crate::goal::{Constraint, Goal, Objective, Rate, safe_side};
use crate::metric::operating_point::{self, OperatingPoint};
use crate::metric::{At, Condition, Cuts, MetricError, ThresholdRange, value_of};
use crate::problem::{Problem, ProblemOptions};
use crate::sample::Sample;

/// Thresholds that meet the unrelaxed conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactThresholds {
    /// One per threshold of the goal: per group, per bin, or a single one.
    pub thresholds: Vec<f32>,
    /// For each, all thresholds that make the same decisions.
    pub ranges: Vec<ThresholdRange>,
    /// The objective there; for an area, the mean over its bins.
    pub value: f64,
}

/// Solves the thresholds of a goal on a sample.
///
/// # Errors
/// If the goal does not fit the sample, or no thresholds meet its conditions.
pub fn solve(
    goal: &Goal,
    sample: &Sample,
    scores: &[f32],
    options: &ProblemOptions,
) -> Result<ExactThresholds, ThresholdError> {
    // Refuses what no set of thresholds could mean: missing groups or classes, k beyond the rows.
    let problem = Problem::new(goal, sample, options)?;
    if problem.per_group() {
        return coupled::solve(goal, sample, scores);
    }
    if problem.by_group() {
        return shared::solve(goal, sample, scores);
    }
    let cuts = Cuts::new(sample, scores)?;
    if goal.abstains() {
        let At::Band(band) = value_of(goal, &cuts)?.at else {
            return Err(MetricError::AreaWithConditions.into());
        };
        return Ok(ExactThresholds {
            thresholds: band.thresholds.to_vec(),
            ranges: band.cuts.map(|cut| cuts.range(cut)).to_vec(),
            value: band.value,
        });
    }
    let points = match &goal.objective {
        Objective::Rate(_) | Objective::Money(_) => match goal.constraints[..] {
            [Constraint::Top(_)] => {
                // The problem has worked the fraction out: its condition is positive-rate - fraction = 0.
                vec![top(
                    &cuts,
                    goal.objective.rate().ok_or(MetricError::AreaWithConditions)?,
                    -problem.conditions()[0].expression.constant,
                )?]
            }
            _ => {
                let of = |constraint| Condition::of(constraint)?.ok_or(MetricError::TwoTops);
                let conditions: Vec<Condition> = goal.constraints.iter().map(of).collect::<Result<_, _>>()?;
                let rate = goal.objective.rate().ok_or(MetricError::AreaWithConditions)?;
                vec![operating_point::best(&cuts, rate, &conditions)?]
            }
        },
        Objective::Area(area) => {
            let height = area.height().ok_or(MetricError::Axis { curve: area.curve, axis: area.axis })?;
            area.midpoints(problem.thresholds())
                .map(|target| {
                    let axis = Condition { rate: area.axis, relation: safe_side(area.axis), target };
                    operating_point::best(&cuts, height, &[axis])
                })
                .collect::<Result<_, _>>()?
        }
    };
    Ok(ExactThresholds {
        value: points.iter().map(|point| point.value).sum::<f64>() / points.len() as f64,
        thresholds: points.iter().map(|point| point.threshold).collect(),
        ranges: points.iter().map(|point| point.range).collect(),
    })
}

/// The loosest cut with at most this fraction predicted positive, but at least the highest score.
fn top(cuts: &Cuts, rate: Rate, fraction: f64) -> Result<OperatingPoint, MetricError> {
    // k of n examples as a fraction may round to just below k.
    let places = fraction * (cuts.positives() + cuts.negatives()) * (1.0 + 1e-12);
    let cut = (cuts.partition_point(1..cuts.len(), |cut| cut.predicted() <= places) - 1).max(1);
    let counts = cuts.counts_at(cut);
    let value = rate.of(&counts).ok_or_else(|| MetricError::Undefined {
        metric: rate.to_string(),
        reason: "its denominator is zero".to_owned(),
    })?;
    Ok(OperatingPoint { value, cut, threshold: cuts.threshold(cut), range: cuts.range(cut), counts })
}
