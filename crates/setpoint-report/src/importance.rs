//! Which columns a model owes the goal's value to.

use std::fmt;

use serde::Serialize;

use crate::evaluate::Bounds;
use crate::number::{amount, is_money, level};
use crate::table::Table;

/// Weights of one column that a terminal and a page show; the record has more.
pub(crate) const ON_TERMINAL: usize = 3;
pub(crate) const ON_PAGE: usize = 8;

/// What the goal's value loses when a column is shuffled: row i gets the value of another row, drawn without
/// replacement, and the value at the condition is solved for anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ImportanceRecord {
    /// The goal, as goals print.
    pub goal: String,
    /// Its value at its condition with every column in place.
    pub value: f64,
    /// Rows it was measured on: all of them, or a sample of the data drawn by label and group, and weighted back.
    pub rows: u64,
    /// How often each column was shuffled.
    pub shuffles: u64,
    /// Columns that the model reads.
    pub columns_read: u64,
    /// Those that the goal loses most by, the first one first.
    pub columns: Vec<ColumnRecord>,
}

/// A column of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnRecord {
    /// Its name.
    pub column: String,
    /// The mean loss of the goal's value; below 0 where it is better without the column. `None` where the condition
    /// cannot be met without it.
    pub loss: Option<f64>,
    /// Its interval: that of one shuffle, around the mean of all.
    pub interval: Option<Bounds>,
    /// Of a linear model, what its values add to the score, the largest spread first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<WeightRecord>,
}

/// What a value of a column adds to the score of a linear model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeightRecord {
    /// The category, the word, `a unit` of a number, or `missing`.
    pub of: String,
    /// What one unit of a number adds; what a category or a missing value adds to a row that has it; what a word adds
    /// in the mean of the rows that have it.
    pub weight: f64,
}

impl ImportanceRecord {
    /// One line on what is shown.
    #[must_use]
    pub fn caption(&self) -> String {
        format!(
            "loss of {} when a column is shuffled ({} of {} columns; {} rows, {} shuffles)",
            self.goal,
            self.columns.len(),
            self.columns_read,
            self.rows,
            self.shuffles
        )
    }

    /// The columns as a table, with so many weights of each.
    #[must_use]
    pub fn table(&self, most: usize) -> Table {
        let money = is_money(&self.goal);
        let shown = |value: f64| if money { amount(value) } else { points(value) };
        let bounds = self.columns.iter().find_map(|column| column.interval.as_ref());
        let interval =
            bounds.map_or_else(String::new, |bounds| format!("{} interval", level(bounds.confidence)));
        let loss = if money { "loss" } else { "loss in points" };
        let weighted = self.columns.iter().any(|column| !column.weights.is_empty());
        let heading = ["column", loss, &interval, "adds to the score"].map(str::to_owned);
        let cells = if weighted { 4 } else { 3 };
        let mut table = Table::with_heading(heading[..cells].to_vec());
        for column in &self.columns {
            let loss = column.loss.map_or_else(|| "cannot be met".to_owned(), shown);
            let interval = column.interval.as_ref();
            let interval = interval.map_or_else(String::new, |bounds| {
                format!("{} to {}", shown(bounds.lower), shown(bounds.upper))
            });
            let weights: Vec<String> = column.weights.iter().take(most).map(ToString::to_string).collect();
            table.row(
                [setpoint::message::clip(&column.column), loss, interval, weights.join(", ")]
                    .into_iter()
                    .take(cells),
            );
        }
        table
    }
}

/// A difference of rates in points, none of them -0.00.
fn points(value: f64) -> String {
    let text = format!("{:.2}", 100.0 * value);
    text.strip_prefix('-').filter(|rest| *rest == "0.00").map_or(text.clone(), str::to_owned)
}

/// `married +0.31`.
impl fmt::Display for WeightRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.weight.abs();
        let digits = if size > 0.0 { (1 - size.log10().floor() as i32).clamp(0, 12) as usize } else { 0 };
        write!(f, "{} {:+.digits$}", setpoint::message::clip(&self.of), self.weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_listed_with_losses_and_weights() {
        let weight = |of: &str, weight: f64| WeightRecord { of: of.to_owned(), weight };
        let bounds = Bounds { lower: 0.05, upper: 0.151, confidence: 0.95, method: "bootstrap" };
        let column = |column: &str, loss, interval, weights| ColumnRecord {
            column: column.to_owned(),
            loss,
            interval,
            weights,
        };
        let mut record = ImportanceRecord {
            goal: "recall @ fpr<=1%".to_owned(),
            value: 0.7,
            rows: 500,
            shuffles: 5,
            columns_read: 9,
            columns: vec![
                column("town", None, None, vec![weight("York", 1.25), weight("missing", -0.031_25)]),
                column("age", Some(0.1), Some(bounds), vec![weight("a unit", -0.000_123)]),
            ],
        };
        assert_eq!(
            record.table(ON_TERMINAL).to_string(),
            "column  loss in points   95% interval          adds to the score\n\
             town     cannot be met                 York +1.2, missing -0.031\n\
             age              10.00  5.00 to 15.10            a unit -0.00012\n"
        );
        assert_eq!(
            record.caption(),
            "loss of recall @ fpr<=1% when a column is shuffled (2 of 9 columns; 500 rows, 5 shuffles)"
        );
        assert_eq!([-0.000_01, -0.0001, 0.1].map(points), ["0.00", "-0.01", "10.00"]);
        record.columns.iter_mut().for_each(|column| column.weights.clear());
        assert!(!record.table(ON_TERMINAL).to_string().contains("adds"));
    }
}
