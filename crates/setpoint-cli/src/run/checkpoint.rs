//! Checkpoints of a run in a directory, each file written whole or not at all.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use setpoint::artifact::{Checkpoint, remove_left_over};
use setpoint::goal::Direction;
use setpoint::optimizer::{OptimizerError, State};
use setpoint::train::selection::Best;
use setpoint::train::{Candidate, Running, Snapshot, StageKind, Store};

use setpoint_run::Failure;
use setpoint_trees::Finished;
use setpoint_trees::store::{pack, unpack};

/// The file in the checkpoint directory.
pub const FILE: &str = "setpoint-checkpoint.safetensors";

/// Least time between two checkpoints within a stage. Going on from an older one only takes longer.
const PAUSE: Duration = Duration::from_millis(250);

/// What a checkpoint says besides its numbers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Story {
    /// What the run is: a checkpoint of another one is refused.
    run: Map<String, Value>,
    done: Vec<Stage>,
    running: Vec<Stage>,
    /// Names of the boosters that are done, of a run for trees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    boosters: Vec<String>,
}

/// One stage, without its parameters.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stage {
    /// Which stage of the run.
    index: usize,
    name: String,
    step: u64,
    evaluations: u64,
}

impl Stage {
    /// What its numbers are called, of some kind: no name begins with another.
    fn of(&self, kind: &str) -> String {
        match kind.strip_suffix('/') {
            Some(kind) => format!("{kind}/{}/", self.index),
            None => format!("{kind}/{}", self.index),
        }
    }
}

/// What a checkpoint held: stages of the core, or boosters.
struct Found {
    stages: Snapshot,
    boosters: Vec<Finished>,
}

/// Checkpoints of one run.
pub struct Directory {
    path: PathBuf,
    run: Map<String, Value>,
    direction: Direction,
    /// Columns of the matrix.
    columns: usize,
    found: Option<Found>,
    last: Option<(usize, Instant)>,
}

impl Directory {
    /// Opens a directory, making it if need be. With `resume`, goes on from the checkpoint there
    /// if there is one; without, one that is there is refused.
    pub fn open(
        directory: &Path,
        run: Map<String, Value>,
        direction: Direction,
        columns: usize,
        resume: bool,
    ) -> Result<Self, Failure> {
        std::fs::create_dir_all(directory).map_err(|error| {
            Failure::input(format!(
                "--checkpoint {}: cannot make the directory: {error}",
                directory.display()
            ))
        })?;
        remove_left_over(directory);
        let path = directory.join(FILE);
        let mut found = Self { path, run, direction, columns, found: None, last: None };
        if found.path.exists() {
            if !resume {
                return Err(Failure::input(format!(
                    "{} holds the checkpoint of a run that did not end; add --resume to go on with it, or remove the file",
                    found.path.display()
                )));
            }
            found.found = Some(found.read()?);
        }
        Ok(found)
    }

    /// Whether there is something to go on from.
    pub fn resumes(&self) -> bool {
        self.found.is_some()
    }

    /// Removes the checkpoint of a run that is done.
    pub fn remove(self) -> Result<(), Failure> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::input(format!("{}: cannot remove: {error}", self.path.display())))
            }
            _ => Ok(()),
        }
    }

    fn read(&self) -> Result<Found, Failure> {
        self.understand(Checkpoint::load(&self.path)?)
    }

    fn understand(&self, mut file: Checkpoint) -> Result<Found, Failure> {
        let damaged = |reason: String| Failure::input(format!("{}: {reason}", self.path.display()));
        let story: Story = serde_json::from_value(std::mem::take(&mut file.document))
            .map_err(|error| damaged(format!("not a checkpoint of a training run: {error}")))?;
        if let Some(difference) = difference(&story.run, &self.run) {
            return Err(damaged(format!(
                "is the checkpoint of another run: {difference}; use another --checkpoint directory, or remove the file"
            )));
        }
        let lacks = |error: OptimizerError| damaged(error.to_string());
        let mut stages = Snapshot::default();
        for stage in &story.done {
            let (parameters, validation) = taken(&file.state, &stage.of("done")).map_err(lacks)?;
            let candidate = Candidate {
                // The run knows; see `Reporter::begin`.
                kind: StageKind::default(),
                name: stage.name.clone(),
                parameters,
                validation,
                step: stage.step,
                evaluations: stage.evaluations,
            };
            stages.done.insert(stage.index, candidate);
        }
        for stage in &story.running {
            let (parameters, value) = taken(&file.state, &stage.of("running")).map_err(lacks)?;
            let best = self.best(&parameters, value, stage.step);
            let [optimizer, extra] = ["optimizer/", "extra/"].map(|of| file.state.all(&stage.of(of)));
            stages.running.insert(stage.index, Running { best, optimizer, extra });
        }
        let boosters =
            unpack(&story.boosters, &file.state, self.columns).map_err(|error| damaged(error.to_string()))?;
        Ok(Found { stages, boosters })
    }

    /// The best so far, with the merit that its value had.
    fn best(&self, parameters: &[f32], value: Option<f64>, step: u64) -> Best {
        let mut best = Best::none();
        if !parameters.is_empty() {
            best.offer(parameters, value, self.direction.merit(value), step);
        }
        best
    }

    fn checkpoint(&self, snapshot: &Snapshot) -> Result<Checkpoint, String> {
        let mut state = State::default();
        let mut done = Vec::with_capacity(snapshot.done.len());
        for (index, candidate) in snapshot.done.clone() {
            let Candidate { name, parameters, validation, step, evaluations, .. } = candidate;
            let stage = Stage { index, name, step, evaluations };
            state = kept(state, &stage.of("done"), parameters, validation);
            done.push(stage);
        }
        let mut running = Vec::with_capacity(snapshot.running.len());
        for (index, Running { best, optimizer, extra }) in snapshot.running.clone() {
            let stage = Stage { index, name: String::new(), step: best.step, evaluations: 0 };
            state = kept(state, &stage.of("running"), best.parameters, best.value)
                .with_all(&stage.of("optimizer/"), optimizer)
                .with_all(&stage.of("extra/"), extra);
            running.push(stage);
        }
        let story = Story { run: self.run.clone(), done, running, boosters: Vec::new() };
        let document = serde_json::to_value(story).map_err(|error| error.to_string())?;
        Ok(Checkpoint { document, state })
    }
}

impl Store for Directory {
    fn load(&mut self) -> Option<Snapshot> {
        self.found.take().map(|found| found.stages)
    }

    fn save(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        let stage = snapshot.done.len();
        let soon = |(last, at): (usize, Instant)| last == stage && at.elapsed() < PAUSE;
        if !snapshot.running.is_empty() && self.last.is_some_and(soon) {
            return Ok(());
        }
        self.checkpoint(snapshot)?.save(&self.path).map_err(|error| error.to_string())?;
        self.last = Some((stage, Instant::now()));
        Ok(())
    }
}

impl setpoint_trees::Store for Directory {
    fn load(&mut self) -> Vec<Finished> {
        self.found.take().map(|found| found.boosters).unwrap_or_default()
    }

    fn save(&mut self, done: &[Finished]) -> Result<(), String> {
        let (boosters, state) = pack(done);
        let story = Story { run: self.run.clone(), done: Vec::new(), running: Vec::new(), boosters };
        let document = serde_json::to_value(story).map_err(|error| error.to_string())?;
        Checkpoint { document, state }.save(&self.path).map_err(|error| error.to_string())
    }
}

/// Whether a checkpoint is one that its own run would go on from.
///
/// # Errors
/// If it is none, with what is wrong.
pub fn check(file: Checkpoint) -> Result<(), Failure> {
    let run = file.document.get("run").and_then(Value::as_object).cloned().unwrap_or_default();
    let (path, direction, columns) = (PathBuf::from(FILE), Direction::Up, 3);
    Directory { path, run, direction, columns, found: None, last: None }.understand(file).map(drop)
}

/// The first setting in which two runs differ.
fn difference(then: &Map<String, Value>, now: &Map<String, Value>) -> Option<String> {
    let keys = now.keys().chain(then.keys().filter(|key| !now.contains_key(*key)));
    let mut differing = keys.filter(|key| then.get(*key) != now.get(*key));
    let key = differing.next()?;
    let show = |value: Option<&Value>| value.map_or_else(|| "absent".to_owned(), ToString::to_string);
    Some(format!("its {key} is {}, now {}", show(then.get(key)), show(now.get(key))))
}

/// Adds parameters and their value, if they have one, under a name.
fn kept(state: State, name: &str, parameters: Vec<f32>, value: Option<f64>) -> State {
    state.with(name, parameters).with_some(&format!("{name}/value"), value.map(|value| vec![value]))
}

/// What [`kept`] added.
fn taken(state: &State, name: &str) -> Result<(Vec<f32>, Option<f64>), OptimizerError> {
    let value = state.find(&format!("{name}/value"))?.and_then(|value| value.first().copied());
    Ok((state.get(name)?.to_vec(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_comes_back_bit_for_bit() {
        let home = tempfile::tempdir().unwrap();
        for goal in ["recall @ fpr<=1%", "fnr @ fpr<=1%"] {
            let goal: setpoint::Goal = goal.parse().unwrap();
            let mut run = Map::new();
            run.insert("goal".to_owned(), Value::String(goal.to_string()));
            let mut directory =
                Directory::open(home.path(), run.clone(), goal.objective.direction(), 2, true).unwrap();
            assert!(!directory.resumes());
            let candidate = |validation| Candidate {
                kind: StageKind::default(),
                name: "cross-entropy".to_owned(),
                parameters: vec![-0.0, f32::MIN_POSITIVE / 3.0],
                validation,
                step: 7,
                evaluations: 9,
            };
            let state = |value: f64| State::default().with("v", vec![value]);
            let snapshot = Snapshot {
                done: [(0, candidate(Some(0.1 + 0.2))), (2, candidate(None))].into(),
                running: [1, 11]
                    .map(|stage| {
                        let best = directory.best(&[1.0, 2.0], Some(0.3), 5);
                        let (optimizer, extra) = (state(f64::NEG_INFINITY), state(1e-310 * stage as f64));
                        (stage, Running { best, optimizer, extra })
                    })
                    .into(),
            };
            directory.save(&snapshot).unwrap();
            let mut again = Directory::open(home.path(), run, goal.objective.direction(), 2, true).unwrap();
            assert_eq!(again.load(), Some(snapshot));
            again.remove().unwrap();
        }
    }

    #[test]
    fn the_first_difference_between_runs_is_named() {
        let map = |seed: u64| Map::from_iter([("seed".to_owned(), Value::from(seed))]);
        assert_eq!(difference(&map(1), &map(1)), None);
        assert_eq!(difference(&map(1), &map(2)).unwrap(), "its seed is 1, now 2");
        assert_eq!(difference(&map(1), &Map::new()).unwrap(), "its seed is 1, now absent");
    }
}
