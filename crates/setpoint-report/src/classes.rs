//! Decisions among several classes: counted, and as rates of each class.

use std::fmt;

use serde::Serialize;
use setpoint::message;

use crate::evaluate::Measured;
use crate::number::{number, percent, value_of};
use crate::table::Table;

/// Most classes whose matrix a terminal shows, and most mistakes that it shows of more.
const MOST_CLASSES: usize = 12;
const MOST_MISTAKES: usize = 10;

/// How a model decides among several classes, and what that comes to on each part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassesRecord<T> {
    /// The classes, in the order of the scores.
    pub names: Vec<String>,
    /// What is subtracted from the score of each before the largest is taken.
    pub shifts: Vec<f64>,
    /// What the decisions come to.
    pub decided: T,
    /// What cross-entropy's largest score comes to, with no shifts; where that was measured.
    pub plain: Option<ClassDecisions>,
    /// What each condition costs, where that was measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<PriceRecord>,
}

/// Decisions among several classes on some rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassDecisions {
    /// The goal's objective at these decisions.
    pub objective: Option<f64>,
    /// Rates over all classes.
    pub overall: Vec<Measured>,
    /// Rows of each true class, by weight, decided as each class.
    pub matrix: Vec<Vec<f64>>,
    /// Rates of each class against all others.
    pub by_class: Vec<ClassRecord>,
}

/// Rates of one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassRecord {
    /// The class.
    pub class: String,
    /// Its rows.
    pub rows: u64,
    /// Its rates, those left out that are undefined.
    pub rates: Vec<Measured>,
}

/// What a condition costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PriceRecord {
    /// The condition.
    pub condition: String,
    /// What the goal would be worth without it, less what it is worth: below 0 where less is better.
    pub price: f64,
}

impl ClassDecisions {
    /// A rate over all classes.
    #[must_use]
    pub fn overall(&self, name: &str) -> Option<&Measured> {
        self.overall.iter().find(|one| one.name == name)
    }
}

impl ClassRecord {
    /// A rate of the class.
    #[must_use]
    pub fn rate(&self, name: &str) -> Option<&Measured> {
        self.rates.iter().find(|one| one.name == name)
    }
}

/// Rates by class as a table, beside those of cross-entropy's largest score where they are known.
#[must_use]
pub fn class_table(decided: &ClassDecisions, shifts: &[f64], plain: Option<&ClassDecisions>) -> Table {
    let rates = ["recall", "precision", "f1", "coverage"];
    let mut heading = vec!["class".to_owned(), "rows".to_owned(), "shift".to_owned()];
    for rate in rates {
        heading.push(rate.to_owned());
        if plain.is_some() {
            heading.push("plain".to_owned());
        }
    }
    let mut table = Table::with_heading(heading);
    for (place, one) in decided.by_class.iter().enumerate() {
        let shift = shifts.get(place).map_or_else(String::new, |shift| number(*shift));
        let mut row = vec![message::clip(&one.class), one.rows.to_string(), shift];
        for rate in rates {
            let shown = |measured: &Measured| match &measured.interval {
                Some(bounds) if plain.is_none() => format!("{} {bounds}", percent(measured.value)),
                _ => value_of(measured.alone()),
            };
            row.push(one.rate(rate).map_or_else(|| "-".to_owned(), shown));
            if let Some(plain) = plain {
                let before = plain.by_class.get(place).and_then(|one| one.rate(rate));
                row.push(value_of(before.and_then(Measured::alone)));
            }
        }
        table.row(row);
    }
    table
}

/// The matrix, or of many classes the most frequent mistakes.
pub(crate) struct Matrix<'a>(pub &'a ClassDecisions);

impl fmt::Display for Matrix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |value: f64| if value.fract() == 0.0 { format!("{value:.0}") } else { number(value) };
        let ClassDecisions { matrix, by_class, .. } = self.0;
        let name = |class: usize| message::clip(&by_class[class].class);
        if by_class.len() <= MOST_CLASSES {
            let decided = (0..by_class.len()).map(|class| format!("as {}", name(class)));
            let mut table = Table::with_heading(["decided".to_owned()].into_iter().chain(decided).collect());
            for (y, row) in matrix.iter().enumerate() {
                table.row([name(y)].into_iter().chain(row.iter().map(|count| whole(*count))));
            }
            return write!(f, "{table}");
        }
        let mut mistakes: Vec<(usize, usize, f64)> = matrix
            .iter()
            .enumerate()
            .flat_map(|(y, row)| row.iter().enumerate().map(move |(class, count)| (y, class, *count)))
            .filter(|(y, class, count)| y != class && *count > 0.0)
            .collect();
        mistakes.sort_by(|a, b| b.2.total_cmp(&a.2));
        let mut table = Table::new(["most frequent mistakes", "decided as", "rows"]);
        for (y, class, count) in mistakes.into_iter().take(MOST_MISTAKES) {
            table.row([name(y), name(class), whole(count)]);
        }
        write!(f, "{table}")
    }
}
