//! The surrogate's width, in units of the scores that it is used on.

use super::{Bandwidth, Standard};
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

/// The scale on which the tail of the conditioned class falls off, over the goal's targets.
///
/// With e the share of the class beyond the threshold and q its quantiles on that side,
/// (q\[e/2\] - q\[2e\]) / ln 4: the scale of an exponential tail there. The median over targets;
/// 0.2 where the goal has none.
fn tail_scale(goal: &Goal, rows: &dyn Shard, scores: &[f32]) -> f64 {
    let labels = rows.whole().labels();
    // Of each class in turn, the scores in order: many targets are on one class.
    let mut sorted: Option<(Option<bool>, Vec<f32>)> = None;
    let mut scale = |(rate, target): (Rate, f64)| {
        let (class, share) = match rate {
            Rate::FalsePositiveRate => (Some(false), target),
            Rate::TrueNegativeRate => (Some(false), 1.0 - target),
            Rate::Recall => (Some(true), target),
            Rate::FalseNegativeRate => (Some(true), 1.0 - target),
            Rate::PositiveRate => (None, target),
            _ => return None,
        };
        if sorted.as_ref().is_none_or(|(of, _)| *of != class) {
            let members = scores.iter().zip(labels).filter(|(_, label)| class.is_none_or(|c| c == **label));
            let mut values: Vec<f32> = members.map(|(score, _)| *score).collect();
            values.sort_unstable_by(f32::total_cmp);
            sorted = Some((class, values));
        }
        let (_, values) = sorted.as_ref()?;
        let last = values.len().checked_sub(1)?;
        let e = share.min(1.0 - share).clamp(1e-4, 0.25);
        let quantile = |q: f64| {
            f64::from(values[((if share < 0.5 { 1.0 - q } else { q }) * last as f64).round() as usize])
        };
        let scale = (quantile(e / 2.0) - quantile(2.0 * e)).abs() / 4.0f64.ln();
        (scale > 0.0).then_some(scale)
    };
    let mut scales: Vec<f64> = targets(goal).into_iter().filter_map(&mut scale).collect();
    scales.sort_by(f64::total_cmp);
    scales.get(scales.len() / 2).copied().unwrap_or(0.2)
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
