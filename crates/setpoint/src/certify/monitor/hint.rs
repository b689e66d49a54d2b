//! What rows without labels can tell: a hint that they are no longer like the calibration rows.
//!
//! The share of rows at or above an edge is known from the calibration rows to within an exact interval; bets are
//! placed on it being above the upper end, and on it being below the lower one. The mean of all capitals is a
//! capital like any other. Half of each hint's chance to be false is that of its intervals, half that of its bets.

use serde::{Deserialize, Serialize};

use super::evidence::{Draws, Evidence, log_sum};
use super::sketch::Sketch;
use crate::certify::error::CertifyError;
use crate::metric::interval::clopper_pearson;

/// Hints that share their chance to be false: the share decided positive, and the scores.
pub(super) const HINTS: f64 = 2.0;

/// Bets on both sides of the shares that the calibration rows had.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shift {
    sides: Vec<[Evidence; 2]>,
    /// Rows at or above each edge.
    above: Vec<u64>,
    rows: u64,
    pub(super) alarm: Option<u64>,
}

/// The share of rows that differs most from what was expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Furthest {
    /// The logarithm of the mean capital.
    pub(super) log: f64,
    /// Which of the edges.
    pub(super) place: usize,
    pub(super) expected: f64,
    pub(super) observed: Option<f64>,
}

impl Shift {
    /// Adds a batch: rows at or above each edge, where the calibration part had `known` of `total`.
    pub(super) fn add(
        &mut self,
        known: &[u64],
        total: u64,
        above: &[u64],
        rows: u64,
        alpha: f64,
    ) -> Result<(), CertifyError> {
        self.sides.resize(known.len(), <[Evidence; 2]>::default());
        self.above.resize(known.len(), 0);
        for (place, [higher, lower]) in self.sides.iter_mut().enumerate() {
            let [most, least] = limits(known, total, place, alpha)?;
            let bad = above[place];
            higher.add(most, Draws::Examples { bad, examples: rows });
            lower.add(least, Draws::Examples { bad: rows - bad, examples: rows });
            self.above[place] += bad;
        }
        self.rows += rows;
        if self.alarm.is_none() && self.furthest(known, total, alpha)?.log >= goal(alpha) {
            self.alarm = Some(self.rows);
        }
        Ok(())
    }

    pub(super) fn furthest(&self, known: &[u64], total: u64, alpha: f64) -> Result<Furthest, CertifyError> {
        let mut log = f64::NEG_INFINITY;
        let mut furthest = (f64::NEG_INFINITY, 0);
        for (place, sides) in self.sides.iter().enumerate() {
            for (side, allowed) in sides.iter().zip(limits(known, total, place, alpha)?) {
                let one = side.log(allowed);
                log = log_sum(log, one);
                if one > furthest.0 {
                    furthest = (one, place);
                }
            }
        }
        let log = if self.sides.is_empty() { 0.0 } else { log - ((2 * self.sides.len()) as f64).ln() };
        let place = furthest.1;
        let observed = (self.rows > 0).then(|| self.above[place] as f64 / self.rows as f64);
        Ok(Furthest { log, place, expected: known[place] as f64 / total as f64, observed })
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }
}

/// The logarithm of the capital at which a hint is given.
pub(super) fn goal(alpha: f64) -> f64 {
    (2.0 * HINTS / alpha).ln()
}

/// Most rows at or above an edge, and most below it, as shares.
fn limits(known: &[u64], total: u64, place: usize, alpha: f64) -> Result<[f64; 2], CertifyError> {
    let confidence = 1.0 - alpha / (2.0 * HINTS * known.len() as f64);
    let share = clopper_pearson(known[place], total, confidence)?;
    Ok([share.upper, 1.0 - share.lower])
}

/// Rows at or above each edge of a sketch.
pub(super) fn above(sketch: &Sketch, scores: &[f32]) -> Vec<u64> {
    let mut cells = vec![0; sketch.edges.len() + 1];
    for score in scores {
        cells[sketch.edges.partition_point(|edge| edge <= score)] += 1;
    }
    for place in (1..cells.len()).rev() {
        cells[place - 1] += cells[place];
    }
    cells.split_off(1)
}
