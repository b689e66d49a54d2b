//! What a long run has done so far, so that it can go on after an interruption.
//!
//! One line of JSON for each result, appended as soon as there is one. A result is taken from the
//! journal only where everything it depends on is the same: that is its key. A line cut short by a
//! crash is passed over, and its work done again.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ExperimentError;

/// Its name in a directory of results.
pub const JOURNAL: &str = "journal.jsonl";

/// A file of results by key.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    known: Vec<Line>,
    file: Mutex<File>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    key: Value,
    result: Value,
}

impl Journal {
    /// Opens a journal, or begins one.
    pub fn open(path: &Path) -> Result<Self, ExperimentError> {
        let refused = |error| ExperimentError::Output { what: "the journal", path: path.to_owned(), error };
        let text = match std::fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(refused(error)),
        };
        let known = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut file = OpenOptions::new().append(true).create(true).open(path).map_err(refused)?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(refused)?;
        }
        Ok(Self { path: path.to_owned(), known, file: Mutex::new(file) })
    }

    /// The result with this key, if an earlier run had it; the last, if several did.
    pub fn get<T: DeserializeOwned>(&self, key: &Value) -> Option<T> {
        let line = self.known.iter().rev().find(|line| line.key == *key)?;
        serde_json::from_value(line.result.clone()).ok()
    }

    /// Keeps a result.
    pub fn put(&self, key: &Value, result: &impl Serialize) -> Result<(), ExperimentError> {
        let refused = |error| ExperimentError::Output { what: "the journal", path: self.path.clone(), error };
        let result = serde_json::to_value(result).map_err(|error| refused(error.into()))?;
        let line = Line { key: key.clone(), result };
        let mut text = serde_json::to_string(&line).map_err(|error| refused(error.into()))?;
        text.push('\n');
        // One write for the whole line: lines of several threads do not mix.
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(text.as_bytes()).map_err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn results_are_found_again_by_their_whole_key() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.jsonl");
        let journal = Journal::open(&path).unwrap();
        journal.put(&json!({"set": "a", "seed": 1}), &0.25).unwrap();
        journal.put(&json!({"set": "a", "seed": 2}), &0.5).unwrap();
        let journal = Journal::open(&path).unwrap();
        assert_eq!(journal.get(&json!({"seed": 2, "set": "a"})), Some(0.5));
        assert_eq!(journal.get::<f64>(&json!({"set": "a", "seed": 3})), None);
        assert_eq!(journal.get::<f64>(&json!({"set": "a"})), None);
    }

    #[test]
    fn a_line_cut_short_is_passed_over_and_spoils_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.jsonl");
        Journal::open(&path).unwrap().put(&json!(1), &1.5).unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"key\":2,\"resu").unwrap();
        Journal::open(&path).unwrap().put(&json!(3), &3.5).unwrap();
        let journal = Journal::open(&path).unwrap();
        let found = [1, 2, 3].map(|key| journal.get::<f64>(&json!(key)));
        assert_eq!(found, [Some(1.5), None, Some(3.5)]);
    }
}
