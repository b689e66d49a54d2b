//! All that a loss carries from one batch to the next.

use serde::{Deserialize, Serialize};
use setpoint::optimizer::State;

/// What a loss has come to: save it beside the network and the optimizer, to resume as if nothing
/// had happened.
///
/// Any serde format will do that keeps numbers to the last bit (with `serde_json`, its feature
/// `float_roundtrip`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossState {
    /// The goal as text: a state serves no other.
    pub(crate) goal: String,
    pub(crate) entries: State,
}
