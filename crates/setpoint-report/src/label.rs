//! What the label says.

use serde::Serialize;

/// The label of the rows, and what makes one positive, or which classes there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabelRecord {
    /// Its column.
    pub column: String,
    /// The positive value, or the rule in the place of one, such as `>0.5`; none for several classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positive: Option<String>,
    /// The classes, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
}
