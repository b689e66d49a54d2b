//! Rates within each group, with their intervals.

use serde::Serialize;
use setpoint::message;

use crate::evaluate::{Bounds, Measured};
use crate::number::{percent, value_of};
use crate::table::Table;
use crate::train::Confusion;

/// Rates that the table on a terminal has room for; JSON has all.
const SHOWN: [&str; 5] = ["positive-rate", "recall", "fpr", "precision", "accuracy"];

/// One group at its threshold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupRecord {
    /// The column.
    pub column: String,
    /// The group.
    pub group: String,
    /// Examples in it.
    pub rows: u64,
    /// Its threshold.
    pub threshold: f64,
    /// The decisions, counted.
    pub confusion: Confusion,
    /// Its rates.
    pub rates: Vec<Measured>,
}

/// The groups as rows, each rate with its interval.
#[must_use]
pub fn group_table(groups: &[GroupRecord]) -> Table {
    let column = groups.first().map(|group| message::clip(&group.column)).unwrap_or_default();
    let heading = [column, "rows".to_owned(), "threshold".to_owned()];
    let mut table = Table::with_heading(heading.into_iter().chain(SHOWN.map(str::to_owned)).collect());
    for group in groups {
        let rate = |name: &str| {
            let found = group.rates.iter().find(|rate| rate.name == name);
            found.map_or_else(|| "-".to_owned(), with_interval)
        };
        let start = [message::clip(&group.group), group.rows.to_string(), message::number(group.threshold)];
        table.row(start.into_iter().chain(SHOWN.map(rate)));
    }
    table
}

/// `71.20% [69.1, 73.2]`.
fn with_interval(rate: &Measured) -> String {
    match &rate.interval {
        Some(Bounds { lower, upper, .. }) => {
            format!("{} [{:.1}, {:.1}]", percent(rate.value), 100.0 * lower, 100.0 * upper)
        }
        None => value_of(rate.told()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_stands_beside_its_interval_and_one_undefined_or_of_few_rows_is_a_dash() {
        let bounds = Bounds { lower: 0.25, upper: 0.75, confidence: 0.95, method: "Clopper-Pearson" };
        let counts = [1.0, 1.0, 0.0, 0.0];
        let [true_positives, false_negatives, false_positives, true_negatives] = counts;
        let groups = [GroupRecord {
            column: "sex".to_owned(),
            group: "f".to_owned(),
            rows: 2,
            threshold: 0.5,
            confusion: Confusion { true_positives, false_negatives, false_positives, true_negatives },
            rates: vec![
                Measured { name: "recall".to_owned(), value: 0.5, interval: Some(bounds), examples: 2 },
                Measured { name: "precision".to_owned(), value: 1.0, interval: None, examples: 1 },
            ],
        }];
        let text = group_table(&groups).to_string();
        let row: Vec<&str> =
            text.lines().nth(1).unwrap().split("  ").filter(|cell| !cell.is_empty()).collect();
        let cells: Vec<&str> = row.iter().map(|cell| cell.trim()).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells, ["f", "2", "0.5", "-", "50.00% [25.0, 75.0]", "-", "-", "-"]);
    }
}
