//! What other tools came to on the same rows.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::ExperimentError;

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
