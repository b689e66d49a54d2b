//! What counts as positive.

use serde::Serialize;

/// The label of the rows, and what makes one positive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabelRecord {
    /// Its column.
    pub column: String,
    /// The positive value, or the rule in the place of one, such as `>0.5`.
    pub positive: String,
}
