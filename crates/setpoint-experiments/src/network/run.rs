//! All cells of a study, those known from an earlier run left out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::cell::{Cell, Fitted};
use super::goals::parse;
use super::problem::Problem;
use super::protocol::{Method, Protocol};
use super::record::{CellRecord, Record};
use super::shared::Shared;
use super::source::Sources;
use super::task::{Source, Task};
use crate::{ExperimentError, FileRecord, JOURNAL, Journal, Watch, date, pool};

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The study and what it spends.
    pub protocol: Protocol,
    /// Directory with the data.
    pub data: PathBuf,
    /// Directory for the journal and the results.
    pub output: PathBuf,
    /// Seeds of the splits.
    pub seeds: Vec<u64>,
    /// Tasks.
    pub tasks: Vec<Task>,
    /// Goals, as text.
    pub goals: Vec<String>,
    /// Methods.
    pub methods: Vec<Method>,
    /// Methods to run again although the journal has them.
    pub anew: Vec<Method>,
    /// Directory that keeps decoded images for the next time.
    pub cache: Option<PathBuf>,
    /// Cells at a time.
    pub threads: usize,
    /// The command, for the record.
    pub command: String,
}

/// Cells that are run together, by their place in the list of all.
struct Job {
    problem: (usize, u64),
    cells: Vec<usize>,
}

impl Plan {
    /// The cells asked for.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for task in &self.tasks {
            for goal in &self.goals {
                for method in &self.methods {
                    for seed in &self.seeds {
                        cells.push(Cell { task: *task, seed: *seed, goal: goal.clone(), method: *method });
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
    pub fn run(&self, watch: &dyn Watch) -> Result<Record, ExperimentError> {
        let made = std::fs::create_dir_all(&self.output);
        made.map_err(|error| ExperimentError::Directory { path: self.output.clone(), error })?;
        let journal = Journal::open(&self.output.join(JOURNAL))?;
        let sources = Sources::read(&self.data, self.cache.clone(), &self.tasks, watch)?;
        let cells = self.cells();
        let keys: Vec<Value> =
            cells.iter().map(|cell| self.key(cell, &sources.files[&cell.task.source])).collect();
        let mut found: Vec<Option<Fitted>> = cells
            .iter()
            .zip(&keys)
            .map(|(cell, key)| journal.get(key).filter(|_| !self.anew.contains(&cell.method)))
            .collect();
        let open: Vec<usize> = (0..cells.len()).filter(|index| found[*index].is_none()).collect();
        let jobs = self.jobs(&cells, &open);
        let fits = jobs.iter().map(|job| self.fits(job, &cells)).sum();
        watch.begin(fits, cells.len() - open.len(), cells.len());

        let problems = self.problems(&sources, &jobs)?;
        let fresh = pool::run(&jobs, self.threads, |job| {
            if watch.stop() {
                return Err(ExperimentError::Stopped);
            }
            let fitted = self.job(job, &cells, &problems[&job.problem], watch)?;
            for (index, fitted) in job.cells.iter().zip(&fitted) {
                journal.put(&keys[*index], fitted)?;
            }
            Ok(job.cells.iter().copied().zip(fitted).collect::<Vec<_>>())
        })?;
        for (index, fitted) in fresh.into_iter().flatten() {
            found[index] = Some(fitted);
        }
        Ok(self.record(&sources, &cells, &found))
    }

    /// The jobs that make the open cells: one for those of a task and seed that share fits, and one for
    /// each other. The largest come first: no thread is left alone with one at the end.
    fn jobs(&self, cells: &[Cell], open: &[usize]) -> Vec<Job> {
        let (mut shared, mut single): (Vec<Job>, Vec<Job>) = (Vec::new(), Vec::new());
        for index in open {
            let cell = &cells[*index];
            let task = self.tasks.iter().position(|task| *task == cell.task).unwrap_or_default();
            let problem = (task, cell.seed);
            match shared.iter_mut().find(|job| job.problem == problem && cell.method.is_shared()) {
                Some(job) => job.cells.push(*index),
                None if cell.method.is_shared() => shared.push(Job { problem, cells: vec![*index] }),
                None => single.push(Job { problem, cells: vec![*index] }),
            }
        }
        shared.extend(single);
        let table = |job: &Job| matches!(self.tasks[job.problem.0].source, Source::Ijcnn1 | Source::Adult);
        shared.sort_by_key(table);
        shared
    }

    fn shared<'a>(&self, job: &Job, cells: &'a [Cell]) -> Option<Shared<'a>> {
        let first = &cells[job.cells[0]];
        first.method.is_shared().then(|| Shared {
            task: &first.task,
            seed: first.seed,
            cells: job.cells.iter().map(|index| &cells[*index]).collect(),
        })
    }

    fn fits(&self, job: &Job, cells: &[Cell]) -> u64 {
        match self.shared(job, cells) {
            Some(shared) => shared.fits(&self.protocol),
            None => {
                let Cell { task, seed, goal, method } = &cells[job.cells[0]];
                // A run of Setpoint's stages counts as one.
                let grid = self.protocol.grid(*method, &parse(goal), task.source, *seed);
                grid.len().max(1) as u64
            }
        }
    }

    fn job(
        &self,
        job: &Job,
        cells: &[Cell],
        problem: &Problem,
        watch: &dyn Watch,
    ) -> Result<Vec<Fitted>, ExperimentError> {
        match self.shared(job, cells) {
            Some(shared) => shared.run(problem, &self.protocol, watch),
            None => Ok(vec![cells[job.cells[0]].run(problem, &self.protocol, watch)?]),
        }
    }

    fn problems(
        &self,
        sources: &Sources,
        jobs: &[Job],
    ) -> Result<BTreeMap<(usize, u64), Problem>, ExperimentError> {
        let mut wanted: Vec<(usize, u64)> = jobs.iter().map(|job| job.problem).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let read = pool::run(&wanted, self.threads, |(task, seed)| {
            sources.problem(&self.tasks[*task], &self.protocol, *seed)
        })?;
        Ok(wanted.into_iter().zip(read).collect())
    }

    /// Everything that a cell depends on.
    fn key(&self, cell: &Cell, files: &[FileRecord]) -> Value {
        let Cell { task, seed, goal, method } = cell;
        let protocol = &self.protocol;
        let grid = protocol.grid(*method, &parse(goal), task.source, *seed);
        let settings = (protocol.auto(task.source, *seed), grid, protocol.cnn, protocol.rows);
        let digest = Sha256::digest(format!("{settings:?}"));
        let settings: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "files": files.iter().map(|file| &file.sha256).collect::<Vec<_>>(),
            "task": task.name,
            "seed": seed,
            "goal": goal,
            "method": method.name(),
            "settings": settings,
        })
    }

    fn record(&self, sources: &Sources, cells: &[Cell], found: &[Option<Fitted>]) -> Record {
        let title = |source: &Source| source.files()[0].to_owned();
        let of = |(cell, fitted): (&Cell, &Option<Fitted>)| Some(CellRecord::new(cell, fitted.as_ref()?));
        Record {
            experiment: self.protocol.study.name(),
            date: date::today(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: self.command.clone(),
            threads: self.threads,
            protocol: self.protocol.describe(),
            seeds: self.seeds.clone(),
            files: sources.files.iter().map(|(source, files)| (title(source), files.clone())).collect(),
            cells: cells.iter().zip(found).filter_map(of).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
