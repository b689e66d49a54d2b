//! All that a loss carries from one batch to the next.

use serde::{Deserialize, Serialize};
use setpoint::Goal;

use crate::LossError;
use crate::pool::Pool;

/// What a loss has come to: save it beside the network and the optimizer, to resume as if nothing
/// had happened.
///
/// Any serde format will do that keeps numbers to the last bit (with `serde_json`, its feature
/// `float_roundtrip`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossState {
    /// The goal as text: a state serves no other.
    pub(crate) goal: String,
    pub(crate) pool: Pool,
    /// The warm start of the next solve.
    pub(crate) thresholds: Option<Vec<f64>>,
    /// Of the surrogate; measured now and then.
    pub(crate) sharpness: Option<f64>,
    /// Moving averages of mean |v|: of cross-entropy, and of the goal's loss.
    pub(crate) sizes: Option<[f64; 2]>,
    pub(crate) steps: u64,
    pub(crate) alone: u64,
}

impl LossState {
    pub(crate) fn new(goal: &Goal) -> Self {
        Self {
            goal: goal.to_string(),
            pool: Pool::default(),
            thresholds: None,
            sharpness: None,
            sizes: None,
            steps: 0,
            alone: 0,
        }
    }

    /// Refuses what a loss for this goal, with so many thresholds, cannot go on from.
    pub(crate) fn check(&self, goal: &Goal, thresholds: usize) -> Result<(), LossError> {
        let wrong = |reason: String| Err(LossError::State { reason });
        if self.goal != goal.to_string() {
            return wrong(format!("it is of the goal {:?}, and this loss is for \"{goal}\"", self.goal));
        }
        if !self.pool.is_sound() {
            return wrong("its pool has scores without labels, or scores that are not finite".into());
        }
        if let Some(found) = self
            .thresholds
            .as_ref()
            .filter(|found| found.len() != thresholds || found.iter().any(|threshold| !threshold.is_finite()))
        {
            return wrong(format!("its thresholds are {found:?}: expected {thresholds} finite numbers"));
        }
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if let Some(sharpness) = self.sharpness.filter(|sharpness| !positive(*sharpness)) {
            return wrong(format!("its sharpness is {sharpness}: expected a positive number"));
        }
        if let Some(sizes) =
            self.sizes.filter(|sizes| sizes.iter().any(|size| !(size.is_finite() && *size >= 0.0)))
        {
            return wrong(format!("its gradient sizes are {sizes:?}: expected numbers of 0 or more"));
        }
        Ok(())
    }
}
