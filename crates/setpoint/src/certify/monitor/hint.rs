//! What rows without labels can tell: a hint that they are no longer like the calibration rows.
//!
//! The share of rows at or above an edge, or decided in some way, is known from the calibration rows to within an exact
//! interval; bets are placed on it being above the upper end, and on it being below the lower one. The mean of all capitals is a
//! capital like any other. Half of each hint's chance to be false is that of its intervals, half that of its bets.

use serde::{Deserialize, Serialize};

use super::MOST_ROWS;
use super::evidence::{Draws, Evidence, log_sum};
use crate::certify::error::CertifyError;
use crate::metric::interval::clopper_pearson;

/// Hints that share their chance to be false, at most.
pub(super) const HINTS: f64 = 2.0;

/// Shares that the calibration rows had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// How many rows there were of each, at least one share.
    pub counts: Vec<u64>,
    /// Of how many.
    pub total: u64,
}

/// Bets on both sides of the shares that the calibration rows had.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shift {
    sides: Vec<[Evidence; 2]>,
    /// Rows of each share.
    seen: Vec<u64>,
    rows: u64,
    pub(super) alarm: Option<u64>,
}

/// The share of rows that differs most from what was expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Furthest {
    /// The logarithm of the mean capital.
    pub(super) log: f64,
    /// Which of the shares.
    pub(super) place: usize,
    pub(super) expected: f64,
    pub(super) observed: Option<f64>,
}

impl Shift {
    pub(super) fn is_sound(&self) -> bool {
        let rows = self.seen.iter().chain([&self.rows]);
        rows.copied().all(|rows| rows <= MOST_ROWS) && self.sides.iter().flatten().all(Evidence::is_sound)
    }

    /// Adds a batch: rows of each share.
    pub(super) fn add(
        &mut self,
        known: &Known,
        seen: &[u64],
        rows: u64,
        alpha: f64,
    ) -> Result<(), CertifyError> {
        let places = known.counts.len();
        self.sides.resize(places, <[Evidence; 2]>::default());
        self.seen.resize(places, 0);
        // What one capital must come to for the mean of all to do so.
        let alone = goal(alpha) + ((2 * places) as f64).ln();
        for (place, [higher, lower]) in self.sides.iter_mut().enumerate() {
            let [most, least] = limits(known, place, alpha)?;
            let bad = seen.get(place).copied().unwrap_or_default().min(rows);
            higher.add(most, Draws::Examples { bad, examples: rows }, alone);
            lower.add(least, Draws::Examples { bad: rows - bad, examples: rows }, alone);
            self.seen[place] += bad;
        }
        self.rows += rows;
        if self.alarm.is_none() && self.furthest(known, alpha)?.log >= goal(alpha) {
            self.alarm = Some(self.rows);
        }
        Ok(())
    }

    pub(super) fn furthest(&self, known: &Known, alpha: f64) -> Result<Furthest, CertifyError> {
        let mut log = f64::NEG_INFINITY;
        let mut furthest = (f64::NEG_INFINITY, 0);
        for (place, sides) in self.sides.iter().enumerate().take(known.counts.len()) {
            for (side, allowed) in sides.iter().zip(limits(known, place, alpha)?) {
                let one = side.log(allowed);
                log = log_sum(log, one);
                if one > furthest.0 {
                    furthest = (one, place);
                }
            }
        }
        let log = if self.sides.is_empty() { 0.0 } else { log - ((2 * self.sides.len()) as f64).ln() };
        let place = furthest.1;
        let observed =
            self.seen.get(place).filter(|_| self.rows > 0).map(|seen| *seen as f64 / self.rows as f64);
        Ok(Furthest { log, place, expected: known.counts[place] as f64 / known.total as f64, observed })
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }
}

/// The logarithm of the capital at which a hint is given.
pub(super) fn goal(alpha: f64) -> f64 {
    (2.0 * HINTS / alpha).ln()
}

/// Most rows of a share, and most that are not of it, as shares.
fn limits(known: &Known, place: usize, alpha: f64) -> Result<[f64; 2], CertifyError> {
    let confidence = 1.0 - alpha / (2.0 * HINTS * known.counts.len() as f64);
    let share = clopper_pearson(known.counts[place], known.total, confidence)?;
    Ok([share.upper, 1.0 - share.lower])
}
