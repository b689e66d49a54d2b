//! Thresholds as functions of the scores, three ways:
//!
//! - [`exact`]: unrelaxed rates, from a sorted sweep; what a deployed model uses.
//! - [`smooth`]: the root or constrained optimum of the surrogate rates; what
//!   the gradient differentiates.
//! - [`track`]: first order along a motion of the scores; the cheap update
//!   between corrections of the paper's algorithm 1.

mod coupled;
pub mod exact;
mod quadratic;
mod shared;
pub mod smooth;
pub mod track;

#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::metric::MetricError;
use crate::problem::ProblemError;
use crate::sample::SampleError;

/// Why no threshold was found.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ThresholdError {
    /// The scores do not fit the sample.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The goal does not fit the sample.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// No decisions on the sample meet the goal.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// More gap and ratio conditions than are searched together.
    #[error("{found} gap and ratio conditions at once; at most {most} are supported")]
    TooManyCouplings {
        /// Conditions found.
        found: usize,
        /// Conditions supported.
        most: usize,
    },
    /// No thresholds meet the conditions.
    #[error("no thresholds meet condition {} of the goal{}; relax it, or train a better model first", condition + 1, by(*violation))]
    Infeasible {
        /// Index of the goal's condition that is missed by most.
        condition: usize,
        /// By how much the closest thresholds miss it, where that is known.
        violation: Option<f64>,
    },
    /// The solver stopped short of a solution.
    #[error(
        "the smooth thresholds did not settle after {passes} passes (residual {residual:e}); lower the sharpness or start from the exact thresholds"
    )]
    NotSettled {
        /// Passes over the scores.
        passes: usize,
        /// How far from a solution.
        residual: f64,
    },
    /// Slack variables for more conditions than there are thresholds.
    #[error(
        "slack variables need a threshold for each condition: {conditions} conditions, {thresholds} thresholds; use active sets"
    )]
    TooManySlacks {
        /// Number of conditions.
        conditions: usize,
        /// Number of thresholds.
        thresholds: usize,
    },
}

impl ThresholdError {
    /// Whether no thresholds on these scores have a value; see [`MetricError::is_no_value`].
    #[must_use]
    pub fn is_no_value(&self) -> bool {
        match self {
            Self::Infeasible { .. } => true,
            Self::Metric(error) => error.is_no_value(),
            _ => false,
        }
    }
}

fn by(violation: Option<f64>) -> String {
    violation.map_or_else(String::new, |v| format!(": the closest miss its target by {v:.4}"))
}
