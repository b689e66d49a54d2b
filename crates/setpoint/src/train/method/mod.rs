//! Losses of scores: the seam between a model and a goal. Every method ends in the same vector, the loss's
//! derivative by each score, so that comparisons between methods differ in nothing else; and another kind of
//! goal is another loss.

mod class;
mod cross_entropy;
mod ico;
mod lagrangian;
mod multiplier;
mod pairwise;
#[cfg(test)]
mod plane;
mod query;

pub use class::{ClassCrossEntropy, ClassIco};
pub use cross_entropy::CrossEntropy;
pub use ico::Ico;
pub use lagrangian::{Lagrangian, LagrangianOptions};
pub use multiplier::Multipliers;
pub(super) use multiplier::threshold_to_start_at;
pub use pairwise::Pairwise;
pub use query::{Compare, QueryBaseline, QueryIco};

use super::{Detail, Standard, TrainError};
use crate::count::Cell;
use crate::examples::{Answer, Function, Question};
use crate::optimizer::State;
use crate::shard::Shard;

/// Rows that hold their features, asked.
pub struct Asking<'a> {
    /// Labels, weights and groups.
    pub rows: &'a dyn Shard,
    /// Where scores are kept between questions.
    pub column: usize,
    /// Answers a question.
    pub ask: &'a mut dyn FnMut(Question) -> Result<Answer, TrainError>,
}

/// A value by counts.
pub type OfCounts = Box<dyn FnOnce(&[Cell]) -> f64>;

/// A loss at some parameters, as a function of counts: what is left to ask is its gradient.
pub struct Plan {
    /// Where the scores are kept, if they are.
    pub column: Option<usize>,
    /// The function.
    pub of: Function,
    /// Mean and spread of the scores, where they are known.
    pub standard: Option<Standard>,
    /// Its value, by the counts, where these come with the gradient.
    pub value: OfCounts,
}

/// A loss of the scores of rows; the rows may be others at each call.
pub trait Loss: Send {
    /// The loss, and its derivative v by each score: as many for each row as the model gives.
    ///
    /// # Errors
    /// If the scores are bad, or the goal cannot be met at them.
    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError>;

    /// The loss at these parameters, by sums over rows alone; `None` where it needs all scores at once.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    fn plan(&mut self, rows: &mut Asking<'_>, parameters: &[f32]) -> Result<Option<Plan>, TrainError> {
        let _ = (rows, parameters);
        Ok(None)
    }

    /// Tells that the scores went from `before` (those of the last evaluation) to `after`.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    fn after_step(&mut self, rows: &dyn Shard, before: &[f32], after: &[f32]) -> Result<(), TrainError> {
        let _ = (rows, before, after);
        Ok(())
    }

    /// The derivative with the thresholds held, where some layers of the model learn by that.
    fn direct(&self) -> Option<&[f32]> {
        None
    }

    /// What the last evaluation was made of, for methods with thresholds.
    fn detail(&self) -> Option<Detail> {
        None
    }

    /// What the next evaluation depends on beside the scores: warm starts and the like.
    fn state(&self) -> State {
        State::default()
    }

    /// Goes on from such a state.
    ///
    /// # Errors
    /// If an entry is missing or does not fit.
    fn restore(&mut self, state: &State) -> Result<(), TrainError> {
        let _ = state;
        Ok(())
    }

    /// How often it is minimised, with changes in between.
    fn rounds(&self) -> u64 {
        1
    }

    /// Begins another round after a minimum, by what its decisions are on these rows; whether there is one.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    fn next_round(&mut self, rows: &dyn Shard, scores: &[f32]) -> Result<bool, TrainError> {
        let _ = (rows, scores);
        Ok(false)
    }

    /// Corrects what was only tracked, at these scores.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    fn correct(&mut self, rows: &dyn Shard, scores: &[f32]) -> Result<(), TrainError> {
        let _ = (rows, scores);
        Ok(())
    }
}
