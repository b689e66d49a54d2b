//! Conditions of the goal that decisions do not meet.

use std::fmt;

use serde::Serialize;

use crate::number::percent;

/// A condition that the shipped thresholds do not meet on some rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnmetRecord {
    /// The condition, as goals print.
    pub condition: String,
    /// What it limits, such as `fpr(sex=f)`.
    pub rate: String,
    /// What that is there.
    pub observed: f64,
}

impl fmt::Display for UnmetRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, asked for was {}", self.rate, percent(self.observed), self.condition)
    }
}

/// Several of them in a sentence.
pub(crate) fn listed(unmet: &[UnmetRecord]) -> String {
    unmet.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
