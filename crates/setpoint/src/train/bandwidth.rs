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
    let labels = rows.whole().labels();
    let asked: Vec<(Option<bool>, f64)> = targets(goal).into_iter().filter_map(class_and_share).collect();
    let mut scales: Vec<f64> = Vec::new();
    for class in [Some(false), Some(true), None] {
        let members = scores.iter().zip(labels).filter(|(_, label)| class.is_none_or(|c| c == **label));
        let shares = asked.iter().filter(|(of, _)| *of == class).map(|(_, share)| *share);
        let mut values: Vec<f32> = if shares.clone().next().is_some() {
            members.map(|(score, _)| *score).collect()
        } else {
            Vec::new()
        };
        let Some(last) = values.len().checked_sub(1) else { continue };
        let ranks: Vec<[usize; 2]> = shares
            .map(|share| {
                let e = share.min(1.0 - share).clamp(1e-4, 0.25);
                let from_end = |q: f64| if share < 0.5 { 1.0 - q } else { q };
                [e / 2.0, 2.0 * e].map(|q| (from_end(q) * last as f64).round() as usize)
            })
            .collect();
        // Only what lies between the ranks has to be in order.
        let low = ranks.iter().flatten().copied().min().unwrap_or(0);
        let high = ranks.iter().flatten().copied().max().unwrap_or(last);
        values.select_nth_unstable_by(low, f32::total_cmp);
        values[low..].select_nth_unstable_by(high - low, f32::total_cmp);
        values[low..=high].sort_unstable_by(f32::total_cmp);
        let spread = |[a, b]: [usize; 2]| (f64::from(values[a]) - f64::from(values[b])).abs() / 4.0f64.ln();
        scales.extend(ranks.into_iter().map(spread).filter(|scale| *scale > 0.0));
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
