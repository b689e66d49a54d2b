//! All cells of the tables that were asked for, those known from an earlier run left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::cell::{Cell, Outcome};
use super::goals::{Table, parse};
use super::picture;
use super::protocol::Method;
use super::record::{CellRecord, Record};
use super::table::document;
use super::{Set, Split};
use crate::document::FileRecord;
use crate::{ExperimentError, JOURNAL, Journal, Watch, date, pool};

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Directory with the data files.
    pub data: PathBuf,
    /// Directory for the journal and the results.
    pub output: PathBuf,
    /// Seeds of the splits.
    pub seeds: Vec<u64>,
    /// Data sets.
    pub sets: Vec<Set>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Methods.
    pub methods: Vec<Method>,
    /// Methods to run again although the journal has them.
    pub anew: Vec<Method>,
    /// Cells at a time.
    pub threads: usize,
    /// The command, for the record.
    pub command: String,
}

/// What a run came to, with what pictures need.
#[derive(Debug)]
pub struct Results {
    /// The record.
    pub record: Record,
    /// Every outcome, in the order of the record's cells.
    pub outcomes: Vec<(Cell, Outcome)>,
    /// The splits by set and seed.
    pub splits: Splits,
}

/// Splits by set and seed.
pub type Splits = BTreeMap<(Set, u64), Split>;

impl Plan {
    /// The cells asked for, each once.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for table in &self.tables {
            for goal in table.goals() {
                for set in self.sets.iter().filter(|set| table.covers(**set)) {
                    for method in &self.methods {
                        for seed in &self.seeds {
                            let cell = Cell { set: *set, seed: *seed, goal: goal.clone(), method: *method };
                            if !cells.contains(&cell) {
                                cells.push(cell);
                            }
                        }
                    }
                }
            }
        }
        cells
    }

    /// Runs what is not in the journal yet.
    ///
    /// # Errors
    /// If the data cannot be read, a cell fails, a result cannot be kept, or the caller stops.
    pub fn run(&self, watch: &dyn Watch) -> Result<Results, ExperimentError> {
        let made = std::fs::create_dir_all(&self.output);
        made.map_err(|error| ExperimentError::Directory { path: self.output.clone(), error })?;
        let journal = Journal::open(&self.output.join(JOURNAL))?;
        let files = self.files()?;
        let cells = self.cells();
        let keys: Vec<Value> = cells.iter().map(|cell| key(cell, &files[&cell.set])).collect();
        let known: Vec<Option<Outcome>> = cells
            .iter()
            .zip(&keys)
            .map(|(cell, key)| journal.get(key).filter(|_| !self.anew.contains(&cell.method)))
            .collect();
        let mut open: Vec<usize> = (0..cells.len()).filter(|index| known[*index].is_none()).collect();
        // The largest first: no thread is left alone with one at the end.
        open.sort_by_key(|index| std::cmp::Reverse(cells[*index].set.size()));
        watch.begin(
            open.iter().map(|index| cells[*index].fits()).sum(),
            cells.len() - open.len(),
            cells.len(),
        );

        let splits = self.splits()?;
        let fresh = pool::run(&open, self.threads, |index| {
            if watch.stop() {
                return Err(ExperimentError::Stopped);
            }
            let cell = &cells[*index];
            let outcome = cell.run(&splits[&(cell.set, cell.seed)], watch)?;
            journal.put(&keys[*index], &outcome)?;
            Ok((*index, outcome))
        })?;
        let mut fresh: BTreeMap<usize, Outcome> = fresh.into_iter().collect();
        let outcome = |(index, known): (usize, Option<Outcome>)| known.or_else(|| fresh.remove(&index));
        let outcomes: Vec<Outcome> = known.into_iter().enumerate().filter_map(outcome).collect();
        let outcomes: Vec<(Cell, Outcome)> = cells.into_iter().zip(outcomes).collect();
        Ok(Results { record: self.record(files, &outcomes), outcomes, splits })
    }

    fn files(&self) -> Result<BTreeMap<Set, Vec<FileRecord>>, ExperimentError> {
        let mut files = BTreeMap::new();
        for set in &self.sets {
            let hashes = set.hashes(&self.data)?;
            let named = set.files().iter().zip(hashes);
            let record = named.map(|(name, sha256)| FileRecord { name: (*name).to_owned(), sha256 });
            files.insert(*set, record.collect());
        }
        Ok(files)
    }

    fn splits(&self) -> Result<Splits, ExperimentError> {
        let each = self.sets.iter().flat_map(|set| self.seeds.iter().map(|seed| (*set, *seed)));
        let wanted: Vec<(Set, u64)> = each.collect();
        let read = pool::run(&wanted, self.threads, |(set, seed)| Split::read(*set, &self.data, *seed))?;
        Ok(wanted.into_iter().zip(read).collect())
    }

    fn record(&self, files: BTreeMap<Set, Vec<FileRecord>>, outcomes: &[(Cell, Outcome)]) -> Record {
        Record {
            experiment: "uci".to_owned(),
            date: date::today(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command.clone(),
            threads: self.threads,
            seeds: self.seeds.clone(),
            files: files.into_iter().map(|(set, files)| (set.name().to_owned(), files)).collect(),
            cells: outcomes.iter().map(|(cell, outcome)| CellRecord::new(cell, outcome)).collect(),
        }
    }
}

impl Results {
    /// Writes `uci.json`, `uci.md`, `uci.html` and the pictures, each whole or not at all.
    ///
    /// # Errors
    /// If a file cannot be written, a picture's models cannot be fitted, or the caller stops.
    pub fn save(&self, output: &Path, watch: &dyn Watch) -> Result<(), ExperimentError> {
        let pictures = picture::draw(self, watch)?;
        document(&self.record, &pictures).save(output, "uci", &self.record)
    }
}

/// Everything that a cell depends on.
fn key(cell: &Cell, files: &[FileRecord]) -> Value {
    let goal = parse(&cell.goal);
    let settings = (cell.method.starts(cell.seed), cell.method.grid(&goal, cell.seed));
    let digest = Sha256::digest(format!("{settings:?}"));
    let grid: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "files": files.iter().map(|file| &file.sha256).collect::<Vec<_>>(),
        "set": cell.set.name(),
        "seed": cell.seed,
        "goal": cell.goal,
        "method": cell.method.name(),
        "grid": grid,
    })
}

#[cfg(test)]
mod tests;
