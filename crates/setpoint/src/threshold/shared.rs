//! One unrelaxed threshold for all groups, under conditions within and between them.
//!
//! The cuts of the whole sample are swept once, strict to loose, with the counts of every group at
//! each; the best cut that meets every condition is kept. A single threshold may meet none: then the
//! cut that misses its conditions by least says by how much.

use super::ThresholdError;
use super::exact::ExactThresholds;
use crate::goal::{Constraint, Counts, Direction, Goal, Rate, Relation};
use crate::metric::{Condition, Cuts, MetricError};
use crate::sample::Sample;

/// Solves a goal with group conditions at one threshold.
pub(super) fn solve(goal: &Goal, sample: &Sample, scores: &[f32]) -> Result<ExactThresholds, ThresholdError> {
    let (Some(objective), Some(groups)) = (goal.objective.rate(), sample.groups()) else {
        return Err(MetricError::AreaWithConditions.into());
    };
    if goal.constraints.iter().any(|constraint| matches!(constraint, Constraint::Top(_))) {
        return Err(MetricError::TwoTops.into());
    }
    let sign = if objective.direction() == Direction::Down { -1.0 } else { 1.0 };
    let whole = Cuts::new(sample, scores)?;
    let parts: Vec<Cuts> = (0..groups.names().len())
        .map(|group| Cuts::of_rows(sample, scores, groups.rows(group)))
        .collect::<Result<_, _>>()?;
    let mut ahead: Vec<_> = parts.iter().map(|part| part.walk(1..part.len()).peekable()).collect();
    let mut counts: Vec<Counts> = parts.iter().map(|part| part.counts_at(0)).collect();
    let mut best: Option<(f64, usize)> = None;
    let mut closest = (f64::INFINITY, 0);
    for cut in whole.walk(0..whole.len()) {
        for ((part, ahead), counts) in parts.iter().zip(&mut ahead).zip(&mut counts) {
            while let Some(own) = ahead.next_if(|own| own.range.up_to >= cut.range.up_to) {
                *counts = part.counts_of(&own);
            }
        }
        let all = whole.counts_of(&cut);
        let miss = worst(&goal.constraints, &all, &counts);
        if miss.0 > 0.0 {
            if miss.0 < closest.0 {
                closest = miss;
            }
        } else if let Some(value) = objective.of(&all)
            && best.is_none_or(|(most, _)| sign * value > most)
        {
            best = Some((sign * value, cut.place));
        }
    }
    match best {
        Some((value, cut)) => Ok(ExactThresholds {
            thresholds: vec![whole.threshold(cut)],
            ranges: vec![whole.range(cut)],
            value: sign * value,
        }),
        None => {
            let violation = closest.0.is_finite().then_some(closest.0);
            Err(ThresholdError::Infeasible { condition: closest.1, violation })
        }
    }
}

/// By how much the condition that is missed by most is missed, and which it is; 0 where all hold. A
/// rate that is undefined meets no condition.
fn worst(constraints: &[Constraint], all: &Counts, groups: &[Counts]) -> (f64, usize) {
    let mut worst = (0.0, 0);
    for (index, constraint) in constraints.iter().enumerate() {
        let miss = miss(constraint, all, groups).unwrap_or(f64::INFINITY);
        if miss > worst.0 {
            worst = (miss, index);
        }
    }
    worst
}

fn miss(constraint: &Constraint, all: &Counts, groups: &[Counts]) -> Option<f64> {
    let past = |rate: Rate, relation: Relation, target: f64, counts: &Counts| {
        let value = rate.of(counts)?;
        match (Condition { rate, relation, target }).side() {
            Relation::AtMost => Some(value - target),
            _ => Some(target - value),
        }
    };
    let extremes = |rate: Rate| {
        let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
        for counts in groups {
            let value = rate.of(counts)?;
            ends = (ends.0.min(value), ends.1.max(value));
        }
        Some(ends)
    };
    match constraint {
        Constraint::Rate { rate, relation, target } => past(*rate, *relation, *target, all),
        Constraint::PerGroup { rate, relation, target, .. } => {
            let each = groups.iter().map(|counts| past(*rate, *relation, *target, counts));
            each.reduce(|worst, next| Some(worst?.max(next?)))?
        }
        Constraint::Gap { rate, target, .. } => extremes(*rate).map(|(low, high)| high - low - target),
        Constraint::Ratio { rate, target, .. } => extremes(*rate).map(|(low, high)| target * high - low),
        Constraint::Top(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metric::confusion;
    use crate::problem::ProblemOptions;
    use crate::threshold::exact;

    proptest! {
        #[test]
        fn no_threshold_does_better_within_the_conditions(
            rows in proptest::collection::vec((0i8..12, any::<bool>(), 1u8..4, 0u32..3), 12..50),
            goal in proptest::sample::select(vec![
                "accuracy @ gap(positive-rate, g)<=0.3",
                "accuracy @ ratio(positive-rate, g)>=0.6",
                "error @ gap(recall, g)<=0.25",
                "recall @ fpr(g)<=40%",
                "recall @ precision(g)>=0.4, fpr<=50%",
                "accuracy @ recall(g)>=0.7, gap(fpr, g)<=0.2",
            ]),
        ) {
            let goal: Goal = goal.parse().unwrap();
            let mut rows = rows;
            // Every group has both labels.
            for (row, (label, group)) in rows.iter_mut().zip([(true, 0), (false, 0), (true, 1), (false, 1), (true, 2), (false, 2)]) {
                (row.1, row.3) = (label, group);
            }
            let scores: Vec<f32> = rows.iter().map(|row| f32::from(row.0)).collect();
            let sample = Sample::new(rows.iter().map(|row| row.1).collect()).unwrap()
                .with_weights(rows.iter().map(|row| f32::from(row.2)).collect()).unwrap()
                .with_groups("g", ["a", "b", "c"].map(str::to_owned).to_vec(), rows.iter().map(|row| row.3).collect()).unwrap();
            let objective = goal.objective.rate().unwrap();
            let sign = if objective.direction() == Direction::Down { -1.0 } else { 1.0 };
            let mut oracle: Option<f64> = None;
            for threshold in (0..14).map(|t| t as f32 - 0.5) {
                let all = confusion::at(&sample, &scores, threshold).unwrap();
                let groups = confusion::per_group(&sample, &scores, threshold).unwrap();
                let holds = goal.constraints.iter().all(|constraint| match constraint {
                    Constraint::Rate { rate, relation, target } =>
                        Condition { rate: *rate, relation: *relation, target: *target }.holds(&all),
                    Constraint::PerGroup { rate, relation, target, .. } => groups.iter().all(|counts|
                        Condition { rate: *rate, relation: *relation, target: *target }.holds(counts)),
                    Constraint::Gap { rate, target, .. } => groups.iter().all(|a| groups.iter().all(|b|
                        rate.of(a).unwrap() - rate.of(b).unwrap() <= *target)),
                    Constraint::Ratio { rate, target, .. } => groups.iter().all(|a| groups.iter().all(|b|
                        rate.of(a).unwrap() >= *target * rate.of(b).unwrap())),
                    Constraint::Top(_) => false,
                });
                if let (true, Some(value)) = (holds, objective.of(&all)) {
                    oracle = Some(oracle.map_or(sign * value, |most| most.max(sign * value)));
                }
            }
            let options = ProblemOptions { shared_threshold: true, ..ProblemOptions::default() };
            match (exact::solve(&goal, &sample, &scores, &options), oracle) {
                (Ok(found), Some(value)) => {
                    prop_assert_eq!(found.thresholds.len(), 1);
                    prop_assert_eq!(sign * found.value, value);
                    let all = confusion::at(&sample, &scores, found.thresholds[0]).unwrap();
                    prop_assert_eq!(objective.of(&all), Some(found.value));
                }
                (Err(ThresholdError::Infeasible { violation, .. }), None) => {
                    prop_assert!(violation.is_none_or(|violation| violation > 0.0));
                }
                (found, oracle) => prop_assert!(false, "{found:?} {oracle:?}"),
            }
        }
    }
}
