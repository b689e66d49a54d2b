//! A study: its cells, what is known of them from an earlier run, and the rest of them run.
//!
//! ```text
//! Study::cells ──not in the journal──▶ jobs ──Study::run──▶ outcomes ──▶ Record: JSON, tables, a page
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use setpoint_data::time_text;
use sha2::{Digest, Sha256};

use crate::record::{Entry, Record, Results};
use crate::source::Sources;
use crate::task::{self, Task};
use crate::{ExperimentError, JOURNAL, Journal, Method, Picture, Table, Watch, worker};

/// Which study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Linear models on tables: the paper's section 4.3.
    Uci,
    /// Convolutional networks on images: the paper's sections 4.1 and 4.2.
    Images,
    /// Networks at equal compute.
    Networks,
    /// Boosted trees.
    Trees,
    /// Several classes, linear models and trees.
    Classes,
}

impl Experiment {
    /// Its name in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uci => "uci",
            Self::Images => "images",
            Self::Networks => "networks",
            Self::Trees => "trees",
            Self::Classes => "classes",
        }
    }

    /// All of its tasks.
    #[must_use]
    pub fn tasks(self) -> &'static [Task] {
        match self {
            Self::Uci => &task::UCI,
            Self::Images => &task::IMAGES,
            Self::Networks => &task::NETWORKS,
            Self::Trees => &task::TREES,
            Self::Classes => &task::CLASSES,
        }
    }

    /// All of its methods, in the order of its tables.
    #[must_use]
    pub fn methods(self) -> &'static [Method] {
        use Method::{CrossEntropy, Ico, Lagrangian, Mixed, Once, Pairwise, Setpoint, Weighted};
        match self {
            Self::Uci => &[CrossEntropy, Weighted, Lagrangian, Pairwise, Ico, Setpoint, Once],
            Self::Images | Self::Networks => {
                &[CrossEntropy, Weighted, Lagrangian, Pairwise, Ico, Mixed, Once, Setpoint]
            }
            Self::Trees | Self::Classes => &[],
        }
    }

    /// All of its tables that compare methods.
    #[must_use]
    pub fn tables(self) -> &'static [Table] {
        match self {
            Self::Uci => &[Table::PrAuc, Table::Fnr, Table::RocAuc, Table::Range],
            Self::Images => &[Table::Fnr, Table::RocAuc],
            Self::Networks => &[Table::Recall],
            Self::Trees | Self::Classes => &[],
        }
    }
}

/// What every study is told.
#[derive(Clone, Debug)]
pub struct StudyPlan {
    /// Which study.
    pub experiment: Experiment,
    /// Directory with the data.
    pub data: PathBuf,
    /// Directory that keeps decoded images for the next time.
    pub cache: Option<PathBuf>,
    /// Directory for the journal and the results.
    pub output: PathBuf,
    /// Tasks.
    pub tasks: Vec<Task>,
    /// Seeds of the splits.
    pub seeds: Vec<u64>,
    /// Cells at a time.
    pub threads: usize,
    /// The command, for the record.
    pub command: String,
}

/// Everything that makes one study differ from another.
pub trait Study: Sync {
    /// Which result.
    type Cell: Serialize + Sync;
    /// A result, as the journal keeps it.
    type Outcome: Serialize + DeserializeOwned + Send;
    /// A task split by a seed.
    type Problem: Send + Sync;
    /// All results.
    type Results: Results;

    /// The cells asked for, in the order of the record.
    fn cells(&self, plan: &StudyPlan) -> Vec<Self::Cell>;

    /// The task and seed of a cell.
    fn place(&self, cell: &Self::Cell) -> (Task, u64);

    /// What a cell depends on beside the data, the version and what it is called.
    fn settings(&self, cell: &Self::Cell) -> String;

    /// Whether to run a cell although the journal has it.
    fn anew(&self, cell: &Self::Cell) -> bool;

    /// Whether a cell shares its fits with others of its task and seed; they are run together.
    fn shares(&self, _: &Self::Cell) -> bool {
        false
    }

    /// Models that these cells take together.
    fn fits(&self, cells: &[&Self::Cell]) -> u64;

    /// A task split by a seed.
    ///
    /// # Errors
    /// If a file is missing or is not what it should be.
    fn problem(&self, sources: &Sources, task: &Task, seed: u64) -> Result<Self::Problem, ExperimentError>;

    /// Runs cells of one problem that share their fits, or one cell; the results are in their order.
    ///
    /// # Errors
    /// If a fit fails, or the caller stops.
    fn run(
        &self,
        cells: &[&Self::Cell],
        problem: &Self::Problem,
        watch: &dyn Watch,
    ) -> Result<Vec<Self::Outcome>, ExperimentError>;

    /// All results together.
    fn results(&self, cells: Vec<Entry<Self::Cell, Self::Outcome>>) -> Self::Results;

    /// Draws what the results allow, and lets go of what only pictures need.
    ///
    /// # Errors
    /// If a fit fails, or the caller stops.
    fn pictures(
        &self,
        _: &StudyPlan,
        _: &mut Self::Results,
        _: &dyn Watch,
    ) -> Result<Vec<Picture>, ExperimentError> {
        Ok(Vec::new())
    }
}

/// Cells that are run together, by their place in the list of all.
struct Job {
    place: (Task, u64),
    shares: bool,
    cells: Vec<usize>,
}

/// Runs the cells that are not in the journal yet, and writes the record of all of them.
///
/// # Errors
/// If the data cannot be read, a cell fails, a result cannot be kept, or the caller stops.
pub fn run<S: Study>(
    plan: &StudyPlan,
    study: &S,
    watch: &dyn Watch,
) -> Result<Record<S::Results>, ExperimentError> {
    let mut record = collect(plan, study, watch)?;
    let pictures = study.pictures(plan, &mut record.results, watch)?;
    record.save(&plan.output, &pictures)?;
    Ok(record)
}

/// The record of all cells.
pub(crate) fn collect<S: Study>(
    plan: &StudyPlan,
    study: &S,
    watch: &dyn Watch,
) -> Result<Record<S::Results>, ExperimentError> {
    let made = std::fs::create_dir_all(&plan.output);
    made.map_err(|error| ExperimentError::Output {
        what: "cannot make the directory",
        path: plan.output.clone(),
        error,
    })?;
    let journal = Journal::open(&plan.output.join(JOURNAL))?;
    let sources = Sources::read(plan, watch)?;
    let cells = study.cells(plan);
    let keys: Vec<Value> = cells.iter().map(|cell| key(study, cell, &sources)).collect();
    let known = |(cell, key): (&S::Cell, &Value)| journal.get(key).filter(|_| !study.anew(cell));
    let mut found: Vec<Option<S::Outcome>> = cells.iter().zip(&keys).map(known).collect();
    let open: Vec<usize> = (0..cells.len()).filter(|index| found[*index].is_none()).collect();
    let jobs = jobs(study, &cells, &open);
    let of = |job: &Job| -> Vec<&S::Cell> { job.cells.iter().map(|index| &cells[*index]).collect() };
    let fits = jobs.iter().map(|job| study.fits(&of(job))).sum();
    watch.begin(fits, cells.len() - open.len(), cells.len());

    let problems = Problems::new(&jobs);
    let fresh = worker::run(&jobs, plan.threads, |job| {
        if watch.stop() {
            return Err(ExperimentError::Stopped);
        }
        let (task, seed) = job.place;
        let problem = problems.get(job, || study.problem(&sources, &task, seed))?;
        let outcomes = study.run(&of(job), &problem, watch)?;
        for (index, outcome) in job.cells.iter().zip(&outcomes) {
            journal.put(&keys[*index], outcome)?;
        }
        Ok(job.cells.iter().copied().zip(outcomes).collect::<Vec<_>>())
    })?;
    for (index, outcome) in fresh.into_iter().flatten() {
        found[index] = Some(outcome);
    }
    let done = cells.into_iter().zip(found);
    let done = done.filter_map(|(cell, outcome)| Some(Entry { cell, outcome: outcome? })).collect();
    Ok(Record {
        experiment: plan.experiment,
        date: today(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: plan.command.clone(),
        threads: plan.threads,
        seeds: plan.seeds.clone(),
        files: plan.tasks.iter().map(|task| (task.set(), sources.files[&task.source].clone())).collect(),
        results: study.results(done),
    })
}

/// The day, as `2026-02-28`, in universal time.
fn today() -> String {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    time_text((86_400 * (elapsed.as_secs() / 86_400)) as f64)
}

/// Everything that a cell depends on.
fn key<S: Study>(study: &S, cell: &S::Cell, sources: &Sources) -> Value {
    let files = &sources.files[&study.place(cell).0.source];
    let digest = Sha256::digest(study.settings(cell));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "files": files.iter().map(|file| &file.sha256).collect::<Vec<_>>(),
        "cell": cell,
        "settings": digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>(),
    })
}

/// The jobs that make the open cells, the largest first: no thread is left alone with one at the end.
fn jobs<S: Study>(study: &S, cells: &[S::Cell], open: &[usize]) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    for index in open {
        let (place, shares) = (study.place(&cells[*index]), study.shares(&cells[*index]));
        match jobs.iter_mut().find(|job| shares && job.shares && job.place == place) {
            Some(job) => job.cells.push(*index),
            None => jobs.push(Job { place, shares, cells: vec![*index] }),
        }
    }
    jobs.sort_by_key(|job| (job.place.0.source, !job.shares));
    jobs
}

/// Problems that are read when a job needs them, and let go after the last that does.
struct Problems<P>(BTreeMap<(&'static str, u64), Mutex<Kept<P>>>);

struct Kept<P> {
    jobs: usize,
    problem: Option<Arc<P>>,
}

impl<P> Problems<P> {
    fn new(jobs: &[Job]) -> Self {
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        for Job { place: (task, seed), .. } in jobs {
            *counts.entry((task.name, *seed)).or_default() += 1;
        }
        let kept = |jobs| Mutex::new(Kept { jobs, problem: None });
        Self(counts.into_iter().map(|(place, jobs)| (place, kept(jobs))).collect())
    }

    fn get(
        &self,
        job: &Job,
        read: impl FnOnce() -> Result<P, ExperimentError>,
    ) -> Result<Arc<P>, ExperimentError> {
        let (task, seed) = job.place;
        let mut kept = self.0[&(task.name, seed)].lock().unwrap_or_else(PoisonError::into_inner);
        let problem = match kept.problem.take() {
            Some(problem) => problem,
            None => Arc::new(read()?),
        };
        kept.jobs -= 1;
        if kept.jobs > 0 {
            kept.problem = Some(Arc::clone(&problem));
        }
        Ok(problem)
    }
}

#[cfg(test)]
impl StudyPlan {
    /// Two seeds on two threads.
    pub fn made(
        experiment: Experiment,
        data: &std::path::Path,
        output: &std::path::Path,
        tasks: &[Task],
    ) -> Self {
        Self {
            experiment,
            data: data.to_owned(),
            cache: None,
            output: output.to_owned(),
            tasks: tasks.to_vec(),
            seeds: vec![0, 1],
            threads: 2,
            command: "setpoint reproduce".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_tasks_and_methods_apart() {
        use Experiment::{Classes, Images, Networks, Trees, Uci};
        for experiment in [Uci, Images, Networks, Trees, Classes] {
            let methods = experiment.methods().iter().map(|method| method.name(experiment));
            let names: Vec<&str> = methods.chain(experiment.tasks().iter().map(|task| task.name)).collect();
            assert_eq!(crate::record::unique(names.clone()), names);
        }
    }
}
