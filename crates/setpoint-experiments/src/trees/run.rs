//! All trials of the study, those known from an earlier run left out.

use std::path::PathBuf;

use serde_json::{Value, json};
use setpoint::Goal;
use setpoint_trees::Settings;

use super::cell::{self, Trial};
use super::record::{PeerRecord, Record, TrialRecord};
use super::task::Task;
use crate::{ExperimentError, FileRecord, JOURNAL, Journal, Watch, date, pool};

/// What the trees are for.
pub const GOALS: [&str; 4] =
    ["recall @ fpr<=1%", "recall @ fpr<=0.1%", "pr-auc @ recall in 0.95..1", "precision @ k=100"];

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Directory with the data files.
    pub data: PathBuf,
    /// Directory for the journal and the results.
    pub output: PathBuf,
    /// Seeds of the splits.
    pub seeds: Vec<u64>,
    /// Tasks.
    pub tasks: Vec<Task>,
    /// How to search.
    pub settings: Settings,
    /// Whether to run again what the journal has.
    pub anew: bool,
    /// What other tools came to.
    pub peers: Vec<PeerRecord>,
    /// Trials at a time.
    pub threads: usize,
    /// The command, for the record.
    pub command: String,
}

impl Plan {
    /// Runs what is not in the journal yet.
    ///
    /// # Errors
    /// If the data cannot be read, a trial fails, a result cannot be kept, or the caller stops.
    pub fn run(&self, watch: &dyn Watch) -> Result<Record, ExperimentError> {
        let made = std::fs::create_dir_all(&self.output);
        made.map_err(|error| ExperimentError::Directory { path: self.output.clone(), error })?;
        let journal = Journal::open(&self.output.join(JOURNAL))?;
        let goals: Vec<Goal> = GOALS.iter().filter_map(|goal| goal.parse().ok()).collect();
        let mut files: Vec<(Task, Vec<FileRecord>)> = Vec::new();
        for task in &self.tasks {
            files.push((*task, task.files(&self.data)?));
        }
        // Seed by seed: a run that is stopped has whole seeds.
        let mut trials = Vec::new();
        for seed in &self.seeds {
            trials.extend(files.iter().map(|(task, files)| (*task, *seed, self.key(*task, *seed, files))));
        }
        let mut found: Vec<Option<Trial>> =
            trials.iter().map(|(_, _, key)| journal.get(key).filter(|_| !self.anew)).collect();
        let open: Vec<usize> = (0..trials.len()).filter(|index| found[*index].is_none()).collect();
        let boosters = open.len() * self.settings.configurations.len();
        watch.begin(boosters as u64, trials.len() - open.len(), trials.len());
        let fresh = pool::run(&open, self.threads, |index| {
            if watch.stop() {
                return Err(ExperimentError::Stopped);
            }
            let (task, seed, key) = &trials[*index];
            let problem = task.problem(&self.data, *seed)?;
            let settings = Settings { seed: *seed, ..self.settings.clone() };
            let trial = cell::run(&problem, &goals, &settings, watch).map_err(|error| {
                if cell::stopped(&error) {
                    return ExperimentError::Stopped;
                }
                let what = format!("{} with seed {seed}", task.title());
                ExperimentError::Trees { what, error: Box::new(error) }
            })?;
            journal.put(key, &trial)?;
            Ok((*index, trial))
        })?;
        for (index, trial) in fresh {
            found[index] = Some(trial);
        }
        let record = |((task, seed, _), trial): (&(Task, u64, Value), Option<Trial>)| {
            Some(TrialRecord { task: task.name(), seed: *seed, trial: trial? })
        };
        Ok(Record {
            experiment: "trees",
            date: date::today(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command.clone(),
            threads: self.threads,
            search: self.settings.configurations.len(),
            rounds: self.settings.rounds,
            seeds: self.seeds.clone(),
            files: files.into_iter().map(|(task, files)| (task.name().to_owned(), files)).collect(),
            trials: trials.iter().zip(found).filter_map(record).collect(),
            peers: self.peers.clone(),
        })
    }

    /// Everything that a trial depends on.
    fn key(&self, task: Task, seed: u64, files: &[FileRecord]) -> Value {
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "files": files.iter().map(|file| &file.sha256).collect::<Vec<_>>(),
            "task": task.name(),
            "seed": seed,
            "goals": GOALS,
            "configurations": self.settings.configurations,
            "rounds": self.settings.rounds,
        })
    }
}

#[cfg(test)]
mod tests;
