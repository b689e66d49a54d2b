//! The record of a run: every single cell, and what it depends on.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cell::{Cell, Fitted};
use super::protocol::{Method, Protocol, Study};
use crate::FileRecord;

/// The record of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// `images` or `networks`.
    pub experiment: &'static str,
    /// The day of the run.
    pub date: String,
    /// Setpoint's version.
    pub version: String,
    /// What was typed, but for the data directory.
    pub command: String,
    /// Cells at a time, each on one thread.
    pub threads: usize,
    /// How networks were fitted.
    pub protocol: String,
    /// Seeds of the splits.
    pub seeds: Vec<u64>,
    /// The files of the tasks.
    pub files: BTreeMap<String, Vec<FileRecord>>,
    /// The cells.
    pub cells: Vec<CellRecord>,
}

/// A cell and what it came to.
#[derive(Clone, Debug, Serialize)]
pub struct CellRecord {
    /// The task.
    pub task: &'static str,
    /// Its name in tables.
    #[serde(skip)]
    pub title: &'static str,
    /// The seed of its split.
    pub seed: u64,
    /// The goal.
    pub goal: String,
    /// The method.
    #[serde(serialize_with = "named")]
    pub method: Method,
    /// What it came to.
    #[serde(flatten)]
    pub fitted: Fitted,
}

fn named<S: serde::Serializer>(method: &Method, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.name())
}

/// One way of using a method's fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The best by validation.
    Best,
    /// The average of the three best.
    Average,
}

impl CellRecord {
    /// The record of a cell.
    #[must_use]
    pub fn new(cell: &Cell, fitted: &Fitted) -> Self {
        Self {
            task: cell.task.name,
            title: cell.task.title,
            seed: cell.seed,
            goal: cell.goal.clone(),
            method: cell.method,
            fitted: fitted.clone(),
        }
    }
}

impl Study {
    /// Its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Images => "images",
            Self::Networks => "networks",
        }
    }
}

impl Record {
    /// Which study it is of.
    #[must_use]
    pub fn study(&self) -> Study {
        if self.experiment == Study::Images.name() { Study::Images } else { Study::Networks }
    }

    /// What a method came to on a task, seed by seed.
    #[must_use]
    pub fn cells(&self, task: &str, goal: &str, method: Method) -> Vec<&CellRecord> {
        let of = |cell: &&CellRecord| cell.task == task && cell.goal == goal && cell.method == method;
        self.cells.iter().filter(of).collect()
    }

    /// The test values of a method, seed by seed, in percent; `None` where it has none.
    #[must_use]
    pub fn test(&self, task: &str, goal: &str, method: Method, way: Use) -> Option<Vec<f64>> {
        let value = |cell: &&CellRecord| match way {
            Use::Best => Some(100.0 * cell.fitted.test),
            Use::Average => cell.fitted.average.map(|average| 100.0 * average.test),
        };
        let values: Option<Vec<f64>> = self.cells(task, goal, method).iter().map(value).collect();
        values.filter(|values| !values.is_empty())
    }

    /// The methods that have cells, in the order of the tables.
    #[must_use]
    pub fn methods(&self) -> Vec<Method> {
        Method::ALL
            .into_iter()
            .filter(|method| self.cells.iter().any(|cell| cell.method == *method))
            .collect()
    }

    /// The tasks that have cells, with their titles, in order.
    #[must_use]
    pub fn tasks(&self) -> Vec<(&'static str, &'static str)> {
        unique(self.cells.iter().map(|cell| (cell.task, cell.title)))
    }

    /// The goals that have cells, in order.
    #[must_use]
    pub fn goals(&self) -> Vec<&str> {
        unique(self.cells.iter().map(|cell| cell.goal.as_str()))
    }
}

impl Protocol {
    /// In a sentence, for the record.
    #[must_use]
    pub fn describe(&self) -> String {
        format!(
            "budget {:?}, cnn {:?}, images {:?}, tables {:?}, rows {:?}",
            self.budget, self.cnn, self.images, self.tables, self.rows
        )
    }
}

fn unique<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}
