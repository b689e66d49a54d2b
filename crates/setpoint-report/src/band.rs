//! Who goes where, of decisions that leave some rows to people.

use std::fmt;

use serde::Serialize;

use crate::few::alone;
use crate::number::{amount, percent, value_of};

/// Rows that two thresholds decide and leave undecided, by weight where there are weights.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BandRecord {
    /// Decided positive.
    pub positive: f64,
    /// Left undecided.
    pub undecided: f64,
    /// Decided negative.
    pub negative: f64,
    /// Positives among the undecided.
    pub undecided_positives: f64,
    /// The share decided.
    pub coverage: Option<f64>,
    /// Of those decided positive, the share that is.
    pub precision: Option<f64>,
    /// Of those decided negative, the share that is.
    pub npv: Option<f64>,
    /// Of those decided, the share that is decided wrongly.
    pub error: Option<f64>,
    /// Rows a day that the numbers of rows a day are for.
    pub volume: f64,
}

impl BandRecord {
    /// The rows, their share, how many they are a day, and what is known of them.
    #[must_use]
    pub fn lines(&self) -> [[String; 5]; 3] {
        let all = self.positive + self.undecided + self.negative;
        let line = |name: &str, rows: f64, known: String| {
            let share = rows / all;
            [name.to_owned(), amount(rows), percent(share), amount((share * self.volume).round()), known]
        };
        let positives = (self.undecided > 0.0).then(|| self.undecided_positives / self.undecided);
        let known = |name: &str, value, rows: f64| format!("{name} {}", value_of(alone(value, rows as u64)));
        [
            line("positive", self.positive, known("precision", self.precision, self.positive)),
            line("left to people", self.undecided, known("positives among them", positives, self.undecided)),
            line("negative", self.negative, known("npv", self.npv, self.negative)),
        ]
    }

    /// What the lines are headed by.
    #[must_use]
    pub fn heading(&self) -> [String; 5] {
        let volume = format!("of {} a day", amount(self.volume));
        ["decided".to_owned(), "rows".to_owned(), "share".to_owned(), volume, String::new()]
    }
}

impl fmt::Display for BandRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = crate::table::Table::with_heading(self.heading().to_vec());
        self.lines().into_iter().for_each(|line| table.row(line));
        write!(f, "{table}")?;
        let decided = self.positive + self.negative;
        let shown = |value, rows: f64| value_of(alone(value, rows as u64));
        let (coverage, error) = (shown(self.coverage, decided + self.undecided), shown(self.error, decided));
        writeln!(f, "decided {coverage}, of which wrongly {error}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_three_ways() {
        let record = BandRecord {
            positive: 100.0,
            undecided: 300.0,
            negative: 600.0,
            undecided_positives: 60.0,
            coverage: Some(0.7),
            precision: Some(0.95),
            npv: Some(0.99),
            error: Some(0.0157),
            volume: 5000.0,
        };
        let text = record.to_string();
        assert!(text.contains("left to people"), "{text}");
        assert!(
            text.contains("1,500") && text.contains("of 5,000 a day") && text.contains("20.00%"),
            "{text}"
        );
        assert!(text.ends_with("decided 70.00%, of which wrongly 1.57%\n"), "{text}");
    }
}
