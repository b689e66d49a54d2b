//! The study: which trials, and what they depend on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use setpoint::train::TrainError;
use setpoint_trees::{Data, FeatureView, Settings, TreesError};

use super::cell::{self, Trial};
use super::table::{Grown, PeerRecord};
use crate::goals::parse;
use crate::split::{Matrix, plain};
use crate::task::Task;
use crate::{Entry, ExperimentError, Sources, Study, StudyPlan, Watch, export};

/// What the trees are for.
pub const GOALS: [&str; 4] =
    ["recall @ fpr<=1%", "recall @ fpr<=0.1%", "pr-auc @ recall in 0.95..1", "precision @ k=100"];

/// Boosted trees beside LightGBM and what other tools came to.
#[derive(Clone, Debug)]
pub struct Trees {
    /// How to search.
    pub settings: Settings,
    /// Whether to run again what the journal has.
    pub anew: bool,
    /// What other tools came to.
    pub peers: Vec<PeerRecord>,
}

/// A task and the seed of its split: one trial serves all goals.
#[derive(Clone, Debug, Serialize)]
pub struct TaskSplit {
    /// The task.
    #[serde(serialize_with = "name")]
    pub task: Task,
    /// The seed.
    pub seed: u64,
}

fn name<S: Serializer>(task: &Task, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(task.name)
}

/// The rows of a split in the columns that trees want: no scaling, categories as codes.
#[derive(Clone, Debug)]
pub struct Rows {
    parts: [Matrix; 3],
    /// The columns that hold codes.
    categorical: Vec<u32>,
}

impl Rows {
    /// A part as trees take it.
    pub(super) fn data(&self, part: usize) -> Result<Data<'_>, TreesError> {
        let Matrix { values, columns, sample, .. } = &self.parts[part];
        Ok(Data { features: FeatureView::dense(values, *columns)?, sample, categorical: &self.categorical })
    }
}

impl Trees {
    /// Writes a split as `<task>-<seed>.safetensors` for other tools, with the columns that hold codes and
    /// the search's configurations beside. Returns the file's path.
    ///
    /// # Errors
    /// If the data cannot be read or the file not be written.
    pub fn export(&self, data: &Path, task: &Task, seed: u64, to: &Path) -> Result<PathBuf, ExperimentError> {
        let (parts, categorical) = plain(task.source, data, seed)?;
        let path = to.join(format!("{}-{seed}.safetensors", task.name));
        let failed =
            |error: serde_json::Error| ExperimentError::File { path: path.clone(), error: error.into() };
        let configurations = serde_json::to_string(&self.settings.configurations).map_err(failed)?;
        let notes = BTreeMap::from([
            ("categorical".to_owned(), serde_json::to_string(&categorical).map_err(failed)?),
            ("configurations".to_owned(), configurations),
        ]);
        export::write(&path, &parts, notes)?;
        Ok(path)
    }
}

impl Study for Trees {
    type Cell = TaskSplit;
    type Outcome = Trial;
    type Problem = Rows;
    type Results = Grown;

    fn cells(&self, plan: &StudyPlan) -> Vec<TaskSplit> {
        let tasks = |seed: &u64| {
            let seed = *seed;
            plan.tasks.iter().map(move |task| TaskSplit { task: *task, seed })
        };
        plan.seeds.iter().flat_map(tasks).collect()
    }

    fn place(&self, cell: &TaskSplit) -> (Task, u64) {
        (cell.task, cell.seed)
    }

    fn settings(&self, _: &TaskSplit) -> String {
        format!("{:?}", (GOALS, &self.settings.configurations, self.settings.rounds))
    }

    fn anew(&self, _: &TaskSplit) -> bool {
        self.anew
    }

    fn fits(&self, _: &[&TaskSplit]) -> u64 {
        self.settings.configurations.len() as u64
    }

    fn problem(&self, sources: &Sources, task: &Task, seed: u64) -> Result<Rows, ExperimentError> {
        let (parts, categorical) = plain(task.source, &sources.data, seed)?;
        Ok(Rows { parts, categorical })
    }

    fn run(
        &self,
        cells: &[&TaskSplit],
        rows: &Rows,
        watch: &dyn Watch,
    ) -> Result<Vec<Trial>, ExperimentError> {
        let trial = |TaskSplit { task, seed }: &&TaskSplit| {
            let settings = Settings { seed: *seed, ..self.settings.clone() };
            cell::run(rows, &GOALS.map(parse), &settings, watch).map_err(|error| match error {
                TreesError::Train(TrainError::Stopped) => ExperimentError::Stopped,
                error => {
                    let what = format!("{} with seed {seed}", task.title);
                    ExperimentError::Trees { what, error: Box::new(error) }
                }
            })
        };
        cells.iter().map(trial).collect()
    }

    fn results(&self, trials: Vec<Entry<TaskSplit, Trial>>) -> Grown {
        let (search, rounds) = (self.settings.configurations.len(), self.settings.rounds);
        Grown { search, rounds, trials, peers: self.peers.clone() }
    }
}

#[cfg(test)]
mod tests;
