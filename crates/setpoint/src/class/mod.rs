//! Decisions among several classes: argmax of score minus shift.
//!
//! ```text
//! decision_i = argmax_c (s_ic - λ_c)                    exact
//! p_i        = softmax_c (a (s_ic - λ_c))               smooth, sharpness a
//! C[y, c]    = Σ over rows of class y of w_i p_ic       smooth confusion matrix
//! ```
//!
//! Scores are one for each class, row after row. The classes of a [`Sample`] are its groups
//! ([`Sample::of_classes`]), so that rows are dealt out, joined and selected by class as they are by group.
//!
//! [`ShiftEngine`] solves the shifts that conditions tie and differentiates through them; [`Confusion`] counts
//! decisions; [`shift`] finds the shifts that suit a goal best on counted decisions, and
//! [`certify_classes`](crate::certify::certify_classes) proves them.

mod confusion;
mod engine;
mod kernel;
mod minimise;
mod probability;
mod problem;
#[cfg(test)]
mod reference;
pub mod shift;
mod solve;

pub use confusion::{Confusion, decide, standard_error};
pub use engine::{ShiftEngine, ShiftStep};
pub(crate) use kernel::{Ask, Softmax, Tally};
pub use probability::ClassProbability;

use thiserror::Error;

use crate::goal::{ClassGoal, ClassObjective};
use crate::message::list;
use crate::sample::{Sample, SampleError};

/// The classes of rows, with their weights.
#[derive(Clone, Debug)]
pub struct Classes<'a> {
    codes: &'a [u32],
    weights: Option<&'a [f32]>,
    totals: Vec<f64>,
    total: f64,
}

impl<'a> Classes<'a> {
    /// The classes of a sample, which must be those of the goal.
    ///
    /// # Errors
    /// If the sample has other classes, or the goal's costs are not known.
    pub fn of(goal: &ClassGoal, sample: &'a Sample) -> Result<Self, ClassError> {
        if matches!(&goal.objective, ClassObjective::Cost { table, .. } if table.len() != goal.classes.len().pow(2))
        {
            return Err(ClassError::NoCosts);
        }
        match sample.groups() {
            Some(groups) if groups.names() == goal.classes => Ok(Self::new(sample)),
            groups => Err(ClassError::Classes {
                expected: goal.classes.clone(),
                found: groups.map_or_else(Vec::new, |groups| groups.names().to_vec()),
            }),
        }
    }

    /// The classes of a sample, whatever they are.
    pub(crate) fn new(sample: &'a Sample) -> Self {
        let (codes, totals) = match sample.groups() {
            Some(groups) => (groups.codes(), groups.totals().iter().map(|total| total.positives).collect()),
            None => (&[][..], Vec::new()),
        };
        Self { codes, weights: sample.weights(), total: totals.iter().sum(), totals }
    }

    /// How many classes there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.totals.len()
    }

    /// The class of each row.
    #[must_use]
    pub fn codes(&self) -> &'a [u32] {
        self.codes
    }

    /// Summed weight of each class.
    #[must_use]
    pub fn totals(&self) -> &[f64] {
        &self.totals
    }

    /// The share of a class among the rows.
    #[must_use]
    pub fn prior(&self, class: usize) -> f64 {
        self.totals[class] / self.total
    }

    /// Root of the mean square of the scores about the mean of their row: what a decision sees of their scale.
    /// Never zero.
    #[must_use]
    pub fn spread(&self, scores: &[f32]) -> f64 {
        let count = self.count();
        let of_row = |scores: &[f32]| {
            let mean = scores.iter().map(|score| f64::from(*score)).sum::<f64>() / count as f64;
            scores.iter().map(|score| (f64::from(*score) - mean).powi(2)).sum::<f64>() / count as f64
        };
        let square =
            scores.chunks_exact(count).zip(0..).map(|(scores, row)| self.weight(row) * of_row(scores));
        let spread = (square.sum::<f64>() / self.total).sqrt();
        if spread > 0.0 && spread.is_finite() { spread } else { 1.0 }
    }

    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| f64::from(weights[row]))
    }

    pub(crate) fn check_scores(&self, scores: &[f32]) -> Result<(), ClassError> {
        let expected = self.codes.len() * self.count();
        if scores.len() != expected {
            return Err(ClassError::Scores { expected, got: scores.len(), classes: self.count() });
        }
        match scores.iter().position(|score| !score.is_finite()) {
            Some(index) => {
                Err(SampleError::Score { index: index / self.count(), value: scores[index] }.into())
            }
            None => Ok(()),
        }
    }
}

/// Why a question about several classes has no answer.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ClassError {
    /// Rows of other classes than the goal's.
    #[error("the goal is of the classes {}, the rows have {}", list(expected), if found.is_empty() { "none".to_owned() } else { list(found) })]
    Classes {
        /// The goal's.
        expected: Vec<String>,
        /// The rows'.
        found: Vec<String>,
    },
    /// Not one score for each class of each row.
    #[error("expected {expected} scores, {classes} for each row, got {got}")]
    Scores {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        got: usize,
        /// Classes.
        classes: usize,
    },
    /// A row or a score that is none.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// Costs that nobody gave.
    #[error("the goal's costs are not known: give one for each pair of true and decided class")]
    NoCosts,
    /// Conditions that no shifts were found for.
    #[error("no shifts meet {condition}: at the nearest it is {} past its limit", crate::message::number(*violation))]
    Infeasible {
        /// The condition that is missed most.
        condition: String,
        /// By how much.
        violation: f64,
    },
    /// Scores that are too large to be smoothed.
    #[error("scores times the sharpness of {} are too large for 32 bits; scale the scores down", crate::message::number(*sharpness))]
    Large {
        /// The sharpness.
        sharpness: f64,
    },
    /// A rate that is undefined at the best decisions.
    #[error("{quantity} is undefined: no row is decided as its class")]
    Undefined {
        /// The rate.
        quantity: String,
    },
}

impl ClassError {
    /// Whether the goal has no value on these scores, while it may have one on others.
    #[must_use]
    pub fn is_no_value(&self) -> bool {
        matches!(self, Self::Infeasible { .. } | Self::Large { .. } | Self::Undefined { .. })
    }
}

#[cfg(test)]
mod tests;
