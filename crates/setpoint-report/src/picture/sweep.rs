//! Rates at thresholds about the shipped one, for a reader who asks what another would give.

use serde::Serialize;
use setpoint::goal::{Constraint, Counts, Rate};
use setpoint::metric::interval::clopper_pearson;

use super::Scene;
use crate::few::LEAST;

/// Thresholds in a sweep, besides the shipped one.
const PLACES: usize = 300;

/// Exact counts and rates at a range of thresholds, ascending.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    /// The thresholds.
    pub thresholds: Vec<f32>,
    /// Which of them ships.
    pub shipped: usize,
    /// Positives predicted positive, by threshold.
    pub true_positives: Vec<f64>,
    /// Negatives predicted positive, by threshold.
    pub false_positives: Vec<f64>,
    /// All positives.
    pub positives: f64,
    /// All negatives.
    pub negatives: f64,
    /// Recall, fpr and precision, and what else the goal's conditions are on.
    pub rates: Vec<RateSweep>,
    /// The thresholds that the certificate covers, within this range.
    pub certified: Option<(f64, f64)>,
}

/// One rate at every threshold of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RateSweep {
    /// Its name in the goal language.
    pub name: String,
    /// Its value; `None` where it is undefined, or of few examples and without an interval.
    pub values: Vec<Option<f64>>,
    /// Its exact interval, where there is one.
    pub intervals: Vec<Option<(f64, f64)>>,
}

impl Sweep {
    pub(super) fn of(scene: &Scene<'_>, (from, to): (f64, f64)) -> Self {
        let cuts = scene.model.cuts;
        let mut thresholds: Vec<f32> = (0..=PLACES)
            .map(|place| (from + (to - from) * place as f64 / PLACES as f64) as f32)
            .chain([scene.threshold])
            .filter(|threshold| threshold.is_finite())
            .collect();
        thresholds.sort_by(f32::total_cmp);
        thresholds.dedup();
        let shipped = thresholds.iter().position(|threshold| *threshold == scene.threshold).unwrap_or(0);
        let counts: Vec<Counts> =
            thresholds.iter().map(|threshold| cuts.counts_at(cuts.cut_of(*threshold))).collect();
        let fewer = cuts.positives().min(cuts.negatives()) as u64;
        let rates = rates(scene).into_iter().map(|rate| {
            let intervals: Vec<_> = counts.iter().map(|counts| interval(scene, rate, counts)).collect();
            let told = |(counts, ends): (&Counts, &Option<_>)| {
                rate.of(counts).filter(|_| ends.is_some() || fewer >= LEAST)
            };
            RateSweep {
                name: rate.to_string(),
                values: counts.iter().zip(&intervals).map(told).collect(),
                intervals,
            }
        });
        let certified =
            scene.certified.map(|(low, high)| (f64::from(low).max(from), f64::from(high).min(to)));
        Self {
            shipped,
            true_positives: counts.iter().map(|counts| counts.true_positives).collect(),
            false_positives: counts.iter().map(|counts| counts.false_positives).collect(),
            positives: cuts.positives(),
            negatives: cuts.negatives(),
            rates: rates.collect(),
            certified: certified.filter(|(low, high)| low < high),
            thresholds,
        }
    }

    /// The sweep of a rate.
    #[must_use]
    pub fn rate(&self, name: &str) -> Option<&RateSweep> {
        self.rates.iter().find(|rate| rate.name == name)
    }
}

fn rates(scene: &Scene<'_>) -> Vec<Rate> {
    let mut rates = vec![Rate::Recall, Rate::FalsePositiveRate, Rate::Precision];
    for constraint in &scene.goal.operating().constraints {
        let rate = match constraint {
            Constraint::Rate { rate, .. } | Constraint::PerGroup { rate, .. } => *rate,
            Constraint::Top(_) => Rate::PositiveRate,
            Constraint::Gap { .. } | Constraint::Ratio { .. } => continue,
        };
        if !rates.contains(&rate) {
            rates.push(rate);
        }
    }
    rates
}

/// Shares of whole numbers of examples have an exact interval; other rates have none here.
fn interval(scene: &Scene<'_>, rate: Rate, counts: &Counts) -> Option<(f64, f64)> {
    if scene.weighted {
        return None;
    }
    let Counts { true_positives, false_positives, positives, negatives, .. } = *counts;
    let (part, whole) = match rate {
        Rate::Recall => (true_positives, positives),
        Rate::FalseNegativeRate => (positives - true_positives, positives),
        Rate::FalsePositiveRate => (false_positives, negatives),
        Rate::TrueNegativeRate => (negatives - false_positives, negatives),
        Rate::Precision => (true_positives, true_positives + false_positives),
        Rate::PositiveRate => (true_positives + false_positives, positives + negatives),
        _ => return None,
    };
    let interval = clopper_pearson(part as u64, whole as u64, scene.confidence).ok()?;
    Some((interval.lower, interval.upper))
}
