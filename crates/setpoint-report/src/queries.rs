//! Rows that come in queries: what the order of their results comes to.

use std::fmt;

use serde::Serialize;
use setpoint::certify::MeanCertificate;
use setpoint::message;

use crate::evaluate::{Bounds, Measured};
use crate::number::{level, percent};
use crate::part::ByPart;
use crate::table::Table;
use crate::train::Column;

/// Best and worst queries on a terminal.
const SHOWN: usize = 3;

/// What the order within queries comes to on some rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueriesRecord {
    /// The column that the queries come from.
    pub column: String,
    /// How many there are.
    pub queries: u64,
    /// Those in which nothing is relevant.
    pub empty: u64,
    /// Those whose value no order of their rows changes, of the others: they teach nothing.
    pub idle: u64,
    /// What each of the empty ones counts: `skip`, `0` or `1`.
    pub empty_queries: &'static str,
    /// Every metric of the first results, the goal's first; means over the queries.
    pub metrics: Vec<Measured>,
    /// How much better the model is than the baseline, metric by metric, paired over the queries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gains: Vec<Measured>,
    /// The metric that is shown by the number of results looked at.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by_k_metric: String,
    /// Its values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_k: Vec<ByK>,
    /// How many queries have a value of the goal's metric in each tenth from 0 to 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenths: Vec<u64>,
    /// The queries with the lowest values, the lowest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worst: Vec<QueryRecord>,
    /// Those with the highest, the highest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub best: Vec<QueryRecord>,
}

/// A metric of the first k results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ByK {
    /// How many results.
    pub k: u64,
    /// The model's value, with its interval.
    pub value: f64,
    /// Its interval.
    pub interval: Option<Bounds>,
    /// The baseline's value.
    pub baseline: Option<f64>,
}

/// A query and its first results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueryRecord {
    /// The query.
    pub query: String,
    /// Its rows.
    pub rows: u64,
    /// Those that are relevant.
    pub relevant: u64,
    /// The value of the goal's metric.
    pub value: f64,
    /// The baseline's.
    pub baseline: Option<f64>,
    /// The first results, and relevant ones that come later, by place.
    pub results: Vec<ResultRecord>,
}

/// A row in its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultRecord {
    /// The place within the query, from 1.
    pub place: u64,
    /// The row of the data, from 1.
    pub row: u64,
    /// Its grade.
    pub grade: f64,
    /// Whether it is relevant.
    pub relevant: bool,
    /// Its score.
    pub score: f64,
}

/// A lower bound of the mean over queries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BoundRecord {
    /// The metric, as goals write it.
    pub metric: String,
    /// What is proved.
    #[serde(flatten)]
    pub full: MeanCertificate,
}

impl BoundRecord {
    /// What is proved, after "certified:".
    #[must_use]
    pub fn words(&self) -> String {
        let MeanCertificate { lower, confidence, .. } = self.full;
        format!(
            "{} of at least {} on average over new queries, with {} confidence",
            self.metric,
            percent(lower),
            level(confidence)
        )
    }
}

impl fmt::Display for BoundRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MeanCertificate { draws, mean, .. } = self.full;
        write!(f, "certified: {} ({draws} queries, {} on average)", self.words(), percent(mean))
    }
}

impl QueriesRecord {
    /// `106 queries, 4 of them without anything relevant (left out)`.
    pub(crate) fn counted(&self) -> String {
        let queries =
            if self.queries == 1 { "1 query".to_owned() } else { format!("{} queries", self.queries) };
        let counts = match self.empty_queries {
            "skip" => "left out".to_owned(),
            counts => format!("counted {counts}"),
        };
        match self.empty {
            0 => queries,
            empty => format!("{queries}, {empty} of them without anything relevant ({counts})"),
        }
    }

    /// Numbers rows by those of the whole data, of which these are the ones listed; as they are where none is.
    pub fn number_rows(&mut self, rows: &[u32]) {
        let results = self.worst.iter_mut().chain(&mut self.best).flat_map(|query| &mut query.results);
        for result in results {
            result.row = rows.get(result.row as usize - 1).map_or(result.row, |row| u64::from(*row) + 1);
        }
    }

    /// The best and the worst queries, in a line each.
    pub(crate) fn extremes(&self) -> Option<Table> {
        let with_base = self.worst.iter().chain(&self.best).any(|one| one.baseline.is_some());
        let mut heading = ["", "query", "rows", "relevant", "value"].map(str::to_owned).to_vec();
        heading.extend(with_base.then(|| "baseline".to_owned()));
        let mut table = Table::with_heading(heading);
        for (name, some) in [("best", &self.best), ("worst", &self.worst)] {
            for (place, one) in some.iter().take(SHOWN).enumerate() {
                let start = if place == 0 { name } else { "" };
                let counts = [one.rows, one.relevant].map(|count| count.to_string());
                let mut row = vec![start.to_owned(), message::clip(&one.query)];
                row.extend(counts);
                row.push(percent(one.value));
                row.extend(one.baseline.map(percent));
                table.row(row);
            }
        }
        (!self.worst.is_empty()).then_some(table)
    }
}

type Parts = ByPart<Option<QueriesRecord>>;

/// How many queries each part has.
pub(crate) fn counts(parts: &Parts) -> String {
    let each = || parts.iter().filter_map(|(split, one)| Some((split, one.as_ref()?)));
    let counts: Vec<String> = each().map(|(split, one)| format!("{} {split}", one.queries)).collect();
    let mut text = counts.join(", ");
    match each().map(|(_, one)| one.empty).sum::<u64>() {
        0 => {}
        empty => text += &format!("; {empty} without anything relevant"),
    }
    match parts.train.as_ref().map_or(0, |train| train.idle) {
        0 => {}
        idle => {
            text +=
                &format!("; {idle} of train teach nothing, since every order of their rows is worth the same")
        }
    }
    text
}

/// Every metric but the goal's, with its values by split.
pub(crate) fn columns(parts: &Parts) -> Vec<Column> {
    let named = parts.iter().find_map(|(_, one)| one.as_ref());
    let others = named.map_or(&[][..], |one| one.metrics.get(1..).unwrap_or_default());
    let value = |name: &str, one: &Option<QueriesRecord>| {
        one.as_ref()?.metrics.iter().find(|one| one.name == name).map(Measured::rests)
    };
    let column = |name: &str| parts.iter().map(|(_, one)| value(name, one)).collect();
    others.iter().map(|one| (one.name.clone(), column(&one.name))).collect()
}

/// What is known of new queries.
pub(crate) fn write_bound(
    f: &mut fmt::Formatter<'_>,
    parts: &Parts,
    bound: Option<&BoundRecord>,
    refused: bool,
) -> fmt::Result {
    if let Some(queries) = parts.iter().find_map(|(_, one)| one.as_ref()) {
        writeln!(f, "order     by score, within each {}", message::clip(&queries.column))?;
    }
    match bound {
        Some(bound) => writeln!(f, "          {bound}"),
        None if refused => writeln!(f, "          not certified"),
        None => writeln!(f, "          not certified (no certificate was asked for)"),
    }
}
