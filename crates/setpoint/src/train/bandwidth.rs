//! The surrogate's width, in units of the scores that it is used on.

use super::{Bandwidth, Standard};
use crate::class::Classes;
use crate::goal::{Constraint, Goal, Objective, Rate, Top};
use crate::shard::Shard;

impl Bandwidth {
    /// 1 / width at these scores.
    #[must_use]
    pub fn sharpness(self, goal: &Goal, rows: &dyn Shard, scores: &[f32]) -> f64 {
        1.0 / match self {
            Self::Deviations(share) => share * Standard::of(rows, scores).deviation,
            Self::Tail(share) => share * tail_scale(goal, rows, scores),
            Self::Score(width) => width,
        }
    }
}

impl Bandwidth {
    /// The width at these scores of several classes.
    pub(super) fn of_classes(self, classes: &Classes<'_>, scores: &[f32]) -> f64 {
        match self {
            Self::Deviations(share) | Self::Tail(share) => share * classes.spread(scores),
            Self::Score(width) => width,
        }
    }
}

/// The scale on which the tail of the conditioned class falls off, over the goal's targets.
///
/// With e the share of the class beyond the threshold and q its quantiles on that side,
/// (q\[e/2\] - q\[2e\]) / ln 4: the scale of an exponential tail there. The median over targets;
/// 0.2 where the goal has none.
fn tail_scale(goal: &Goal, rows: &dyn Shard, scores: &[f32]) -> f64 {
    let asked: Vec<(Option<bool>, f64)> = targets(goal).into_iter().filter_map(class_and_share).collect();
    let mut scales: Vec<f64> = Vec::new();
    for class in [Some(false), Some(true), None] {
        let shares = asked.iter().filter(|(of, _)| *of == class).map(|(_, share)| *share);
        if shares.clone().next().is_none() {
            continue;
        }
        let values = rows.in_order(scores, class, &|members| {
            let Some(last) = members.checked_sub(1) else { return Vec::new() };
            let ranks = shares.clone().flat_map(|share| {
                let e = share.min(1.0 - share).clamp(1e-4, 0.25);
                let from_end = |q: f64| if share < 0.5 { 1.0 - q } else { q };
                [e / 2.0, 2.0 * e].map(|q| (from_end(q) * last as f64).round() as usize)
            });
            ranks.collect()
        });
        let spread = |pair: &[f32]| (f64::from(pair[0]) - f64::from(pair[1])).abs() / 4.0f64.ln();
        scales.extend(values.chunks_exact(2).map(spread).filter(|scale| *scale > 0.0));
    }
    scales.sort_by(f64::total_cmp);
    scales.get(scales.len() / 2).copied().unwrap_or(0.2)
}

/// The class that a rate is a share of, and the share beyond a threshold at its target.
fn class_and_share((rate, target): (Rate, f64)) -> Option<(Option<bool>, f64)> {
    match rate {
        Rate::FalsePositiveRate => Some((Some(false), target)),
        Rate::TrueNegativeRate => Some((Some(false), 1.0 - target)),
        Rate::Recall => Some((Some(true), target)),
        Rate::FalseNegativeRate => Some((Some(true), 1.0 - target)),
        Rate::PositiveRate => Some((None, target)),
        _ => None,
    }
}

/// The rates and targets that a goal holds.
fn targets(goal: &Goal) -> Vec<(Rate, f64)> {
    if let Objective::Area(area) = &goal.objective {
        return area.midpoints(area.default_bins()).map(|target| (area.axis, target)).collect();
    }
    let of = |constraint: &Constraint| match constraint {
        Constraint::Rate { rate, target, .. } | Constraint::PerGroup { rate, target, .. } => {
            Some((*rate, *target))
        }
        Constraint::Top(Top::Fraction(fraction)) => Some((Rate::PositiveRate, *fraction)),
        Constraint::Top(Top::Count { k, of: Some(of) }) => Some((Rate::PositiveRate, *k as f64 / *of as f64)),
        _ => None,
    };
    goal.constraints.iter().filter_map(of).collect()
}
