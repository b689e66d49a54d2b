//! The record of a run: every single trial, and what other tools came to on the same rows.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cell::{Outcome, Trial};
use super::task::Task;
use crate::ExperimentError;
use crate::document::FileRecord;

/// The record of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    /// `trees`.
    pub experiment: &'static str,
    /// The day of the run.
    pub date: String,
    /// Setpoint's version.
    pub version: String,
    /// What was typed, but for the data directory.
    pub command: String,
    /// Trials at a time, each on one thread.
    pub threads: usize,
    /// Configurations of a search.
    pub search: usize,
    /// Most rounds of a booster.
    pub rounds: usize,
    /// Seeds of the splits.
    pub seeds: Vec<u64>,
    /// The files of each task.
    pub files: BTreeMap<String, Vec<FileRecord>>,
    /// The trials.
    pub trials: Vec<TrialRecord>,
    /// What other tools came to.
    pub peers: Vec<PeerRecord>,
}

/// A trial and where it belongs.
#[derive(Clone, Debug, Serialize)]
pub struct TrialRecord {
    /// The task.
    pub task: &'static str,
    /// The seed of its split.
    pub seed: u64,
    /// What it came to.
    #[serde(flatten)]
    pub trial: Trial,
}

/// What another tool came to for one goal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerRecord {
    /// The tool.
    pub peer: String,
    /// Its version.
    pub version: String,
    /// The task.
    pub task: String,
    /// The seed of its split.
    pub seed: u64,
    /// The goal.
    pub goal: String,
    /// The configuration and rounds that were best on validation, on the test rows.
    pub single: f64,
    /// The average of the three best.
    pub average: f64,
}

/// A column of the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    /// LightGBM's best booster.
    LightGbm,
    /// Its three best together.
    LightGbmAverage,
    /// Another tool's best booster.
    Peer(String),
    /// Its three best together.
    PeerAverage(String),
    /// Setpoint.
    Setpoint,
}

impl Tool {
    /// Its name in tables.
    #[must_use]
    pub fn title(&self) -> String {
        match self {
            Self::LightGbm => "LightGBM".to_owned(),
            Self::LightGbmAverage => "LightGBM, 3".to_owned(),
            Self::Peer(peer) => peer.clone(),
            Self::PeerAverage(peer) => format!("{peer}, 3"),
            Self::Setpoint => "Setpoint".to_owned(),
        }
    }
}

impl Record {
    /// The columns: rivals, then Setpoint.
    #[must_use]
    pub fn tools(&self) -> Vec<Tool> {
        let mut tools = vec![Tool::LightGbm, Tool::LightGbmAverage];
        for PeerRecord { peer, .. } in &self.peers {
            if !tools.contains(&Tool::Peer(peer.clone())) {
                tools.extend([Tool::Peer(peer.clone()), Tool::PeerAverage(peer.clone())]);
            }
        }
        tools.push(Tool::Setpoint);
        tools
    }

    /// What a tool came to on the test rows in percent, seed by seed; `None` where one is missing.
    #[must_use]
    pub fn values(&self, task: Task, goal: &str, tool: &Tool) -> Option<Vec<f64>> {
        let value = |trial: &TrialRecord| -> Option<f64> {
            let own = || trial.trial.outcomes.iter().find(|outcome| outcome.goal == goal);
            let other = |peer: &str| {
                self.peers.iter().find(|record| {
                    record.peer == peer
                        && record.task == trial.task
                        && record.seed == trial.seed
                        && record.goal == goal
                })
            };
            Some(match tool {
                Tool::LightGbm => own()?.lightgbm,
                Tool::LightGbmAverage => own()?.lightgbm_average,
                Tool::Setpoint => own()?.setpoint,
                Tool::Peer(peer) => other(peer)?.single,
                Tool::PeerAverage(peer) => other(peer)?.average,
            })
        };
        let values: Option<Vec<f64>> =
            self.of(task).map(|trial| value(trial).map(|value| 100.0 * value)).collect();
        values.filter(|values| !values.is_empty())
    }

    /// The trials of a task.
    pub fn of(&self, task: Task) -> impl Iterator<Item = &TrialRecord> {
        self.trials.iter().filter(move |trial| trial.task == task.name())
    }

    /// What became of a goal, seed by seed.
    pub fn outcomes<'r>(&'r self, task: Task, goal: &'r str) -> impl Iterator<Item = &'r Outcome> {
        self.of(task).flat_map(|trial| &trial.trial.outcomes).filter(move |outcome| outcome.goal == goal)
    }
}

/// Reads what other tools came to, one JSON object a line.
///
/// # Errors
/// If the file cannot be read, or a line is something else.
pub fn peers(path: &Path) -> Result<Vec<PeerRecord>, ExperimentError> {
    let text = fs::read_to_string(path)
        .map_err(|error| ExperimentError::Journal { path: path.to_owned(), error })?;
    let parse = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| ExperimentError::Peer {
            path: path.to_owned(),
            line: at + 1,
            error,
        })
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(parse).collect()
}
