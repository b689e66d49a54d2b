//! The record of a run: every single cell, and what it depends on.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Set;
use super::cell::{Cell, Fitted, Outcome};
use super::protocol::Method;
use crate::document::FileRecord;

/// The record of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// `uci`.
    pub experiment: String,
    /// The day of the run.
    pub date: String,
    /// Setpoint's version.
    pub version: String,
    /// What was typed, but for the data directory.
    pub command: String,
    /// Cells at a time, each on one thread.
    pub threads: usize,
    /// Seeds of the splits.
    pub seeds: Vec<u64>,
    /// The files of each set.
    pub files: BTreeMap<String, Vec<FileRecord>>,
    /// The cells.
    pub cells: Vec<CellRecord>,
}

/// A cell and what it came to.
#[derive(Clone, Debug, Serialize)]
pub struct CellRecord {
    /// The data set.
    pub set: &'static str,
    /// The seed of its split.
    pub seed: u64,
    /// The goal.
    pub goal: String,
    /// The method.
    pub method: &'static str,
    /// What it came to, without the parameters.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl CellRecord {
    /// The record of a cell.
    #[must_use]
    pub fn new(cell: &Cell, outcome: &Outcome) -> Self {
        let outcome = match outcome {
            Outcome::Fitted(fitted) => Outcome::Fitted(Fitted { parameters: Vec::new(), ..fitted.clone() }),
            unable => unable.clone(),
        };
        Self {
            set: cell.set.name(),
            seed: cell.seed,
            goal: cell.goal.clone(),
            method: cell.method.name(),
            outcome,
        }
    }
}

impl Record {
    /// What a method came to on a set, seed by seed; `None` where it has no cells or no loss for the goal.
    #[must_use]
    pub fn fitted(&self, set: Set, goal: &str, method: Method) -> Option<Vec<&Fitted>> {
        let mut found = Vec::new();
        for cell in &self.cells {
            if cell.set == set.name() && cell.goal == goal && cell.method == method.name() {
                match &cell.outcome {
                    Outcome::Fitted(fitted) => found.push(fitted),
                    Outcome::Unable { .. } => return None,
                }
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// The test values of [`fitted`](Self::fitted), in percent.
    #[must_use]
    pub fn test(&self, set: Set, goal: &str, method: Method) -> Option<Vec<f64>> {
        let fitted = self.fitted(set, goal, method)?;
        Some(fitted.into_iter().map(|fitted| 100.0 * fitted.test).collect())
    }

    /// The methods that have cells, in the order of the tables.
    #[must_use]
    pub fn methods(&self) -> Vec<Method> {
        let present = |method: &Method| self.cells.iter().any(|cell| cell.method == method.name());
        Method::ALL.into_iter().filter(present).collect()
    }

    /// The sets that have cells for a goal, in the paper's order.
    #[must_use]
    pub fn sets(&self, goal: &str) -> Vec<Set> {
        let present = |set: &Set| self.cells.iter().any(|cell| cell.set == set.name() && cell.goal == goal);
        Set::ALL.into_iter().filter(present).collect()
    }
}
