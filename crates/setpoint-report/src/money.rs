//! What decisions pay, in the user's units.

use std::fmt;

use serde::Serialize;

use crate::evaluate::Bounds;
use crate::number::{amount, level};

/// What the decisions of a goal in money come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MoneyRecord {
    /// `profit` or `cost`.
    pub name: String,
    /// Rows, by weight where there are weights.
    pub rows: f64,
    /// What all decisions together pay.
    pub total: f64,
    /// The same a row.
    pub per_row: f64,
    /// The interval of that.
    pub interval: Option<Bounds>,
    /// What a row pays if nobody is decided positive.
    pub nobody: f64,
    /// What a row pays if everybody is.
    pub everybody: f64,
}

/// `profit 12,430 in 10,000 rows (1.24 a row, 95% interval 1.02 to 1.45); nobody positive 0, everybody -3,120`.
impl fmt::Display for MoneyRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, rows, total, per_row, .. } = self;
        write!(f, "{name} {} in {} rows ({} a row", amount(*total), amount(*rows), amount(*per_row))?;
        if let Some(Bounds { lower, upper, confidence, .. }) = &self.interval {
            write!(f, ", {} interval {} to {}", level(*confidence), amount(*lower), amount(*upper))?;
        }
        let all = |per_row: f64| amount(rows * per_row);
        write!(f, "); nobody positive {}, everybody {}", all(self.nobody), all(self.everybody))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_reads_as_people_write_it() {
        let record = MoneyRecord {
            name: "profit".into(),
            rows: 10_000.0,
            total: 12_430.0,
            per_row: 1.243,
            interval: Some(Bounds { lower: 1.0, upper: 1.5, confidence: 0.95, method: "bootstrap" }),
            nobody: 0.0,
            everybody: -0.312,
        };
        assert_eq!(
            record.to_string(),
            "profit 12,430 in 10,000 rows (1.24 a row, 95% interval 1 to 1.50); nobody positive 0, everybody -3,120"
        );
    }
}
