//! Thresholds as functions of the scores, three ways:
//!
//! - `exact`: unrelaxed rates, from a sorted sweep; what a deployed model uses.
//! - [`smooth`]: the root or constrained optimum of the surrogate rates; what
//!   the gradient differentiates.
//! - [`track`]: first order along a motion of the scores; the cheap update
//!   between corrections of the paper's algorithm 1.

mod quadratic;
pub mod smooth;
pub mod track;

use thiserror::Error;

use crate::sample::SampleError;

/// Why no threshold was found.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ThresholdError {
    /// The scores do not fit the sample.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// No thresholds meet the conditions.
    #[error("no threshold meets condition {} of the goal: the closest misses its target by {violation:.4}; relax it, or train a better model first", condition + 1)]
    Infeasible {
        /// Index of the goal's condition that is missed by most.
        condition: usize,
        /// By how much.
        violation: f64,
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
