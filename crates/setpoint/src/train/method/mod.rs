//! Losses over a whole sample. Every method ends in the same vector: the loss's derivative by each
//! score. So comparisons between methods differ in nothing else.

mod cross_entropy;
mod ico;
mod lagrangian;
mod multiplier;
mod pairwise;
#[cfg(test)]
mod plane;

pub use cross_entropy::CrossEntropy;
pub use ico::{Ico, tail_scale};
pub use lagrangian::{Lagrangian, LagrangianOptions};
pub use multiplier::Multipliers;
pub use pairwise::Pairwise;

use std::collections::BTreeMap;

use super::{Detail, TrainError};
use crate::optimizer::Values;

/// A loss of the scores of a sample.
pub trait Loss {
    /// The loss, and its derivative v by each score.
    ///
    /// # Errors
    /// If the scores are bad, or the goal cannot be met at them.
    fn evaluate(&mut self, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError>;

    /// Tells that the scores went from `before` (those of the last evaluation) to `after`.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    fn after_step(&mut self, before: &[f32], after: &[f32]) -> Result<(), TrainError> {
        let _ = (before, after);
        Ok(())
    }

    /// What the last evaluation was made of, for methods with thresholds.
    fn detail(&self) -> Option<Detail> {
        None
    }

    /// What the next evaluation depends on beside the scores: warm starts and the like.
    fn state(&self) -> BTreeMap<String, Values> {
        BTreeMap::new()
    }

    /// Goes on from such a state.
    ///
    /// # Errors
    /// If an entry is missing or does not fit.
    fn restore(&mut self, state: &BTreeMap<String, Values>) -> Result<(), TrainError> {
        let _ = state;
        Ok(())
    }

    /// Corrects what was only tracked, at these scores.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    fn correct(&mut self, scores: &[f32]) -> Result<(), TrainError> {
        let _ = scores;
        Ok(())
    }
}
