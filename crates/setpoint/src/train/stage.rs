//! What the stages of a run share: reporting, and checkpoints that end in the same bytes.
//!
//! A run is a fixed list of stages, each deterministic. A checkpoint holds the stages that are done
//! and, of the one under way, what its next step depends on. A run that is killed and resumed goes
//! on from there and comes to the same result, to the last bit.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::selection::Best;
use super::{Candidate, Detail, Observer, Progress, TrainError};
use crate::optimizer::State;

/// What a stage fits by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StageKind {
    /// Cross-entropy: what others are compared with.
    #[default]
    CrossEntropy,
    /// Ico.
    Ico,
    /// The proxy-Lagrangian.
    Lagrangian,
    /// Pairs of positives and negatives.
    Pairwise,
    /// Multipliers, where groups share a threshold.
    Multipliers,
    /// Boosted trees.
    Boosting,
}

/// What a checkpoint holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Stages that are done.
    pub done: Vec<Candidate>,
    /// The stage under way.
    pub running: Option<Running>,
}

/// A stage under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    /// Its best parameters so far.
    pub best: Best,
    /// Its optimizer.
    pub optimizer: State,
    /// Whatever else its next step depends on.
    pub extra: State,
}

/// Where checkpoints are kept.
pub trait Store {
    /// The last snapshot, if there is one to go on from.
    fn load(&mut self) -> Option<Snapshot>;

    /// Keeps a snapshot, whole or not at all.
    ///
    /// # Errors
    /// With the reason, which ends the run.
    fn save(&mut self, snapshot: &Snapshot) -> Result<(), String>;
}

/// Hands progress to the observer and snapshots to the store.
pub(super) struct Reporter<'r> {
    observer: &'r mut (dyn Observer + 'r),
    store: Option<&'r mut (dyn Store + 'r)>,
    snapshot: Snapshot,
    stage: (StageKind, String),
    stages: usize,
    /// Gradient evaluations over all stages, and those before the stage under way.
    pub(super) evaluations: u64,
    before: u64,
}

impl<'r> Reporter<'r> {
    pub(super) fn new(
        observer: &'r mut (dyn Observer + 'r),
        mut store: Option<&'r mut (dyn Store + 'r)>,
        stages: usize,
    ) -> Self {
        let snapshot = store.as_mut().and_then(|store| store.load()).unwrap_or_default();
        Self { observer, store, snapshot, stage: Default::default(), stages, evaluations: 0, before: 0 }
    }

    /// Begins a stage; returns its result if a checkpoint has it already.
    pub(super) fn begin(&mut self, index: usize, kind: StageKind, name: &str) -> Option<Candidate> {
        self.stage = (kind, name.to_owned());
        self.before = self.evaluations;
        let done = self.snapshot.done.get(index).map(|done| Candidate { kind, ..done.clone() });
        if let Some(candidate) = &done {
            self.evaluations += candidate.evaluations;
        }
        done
    }

    /// What the stage under way had come to, once.
    pub(super) fn resume(&mut self) -> Option<Running> {
        self.snapshot.running.take()
    }

    pub(super) fn step(
        &mut self,
        step: u64,
        steps: u64,
        loss: f64,
        validation: Option<f64>,
        detail: Option<Detail>,
    ) -> ControlFlow<()> {
        self.observer.observe(&Progress {
            kind: self.stage.0,
            stage: self.stage.1.clone(),
            stage_index: self.snapshot.done.len(),
            stages: self.stages,
            step,
            steps,
            loss,
            validation,
            detail,
        })
    }

    /// Saves the stage under way.
    pub(super) fn save(&mut self, running: impl FnOnce() -> Running) -> Result<(), TrainError> {
        let Some(store) = &mut self.store else { return Ok(()) };
        self.snapshot.running = Some(running());
        let saved = store.save(&self.snapshot).map_err(|message| TrainError::Checkpoint { message });
        self.snapshot.running = None;
        saved
    }

    /// Ends a stage with its best parameters, and saves what is done.
    pub(super) fn end(&mut self, best: Best) -> Result<Candidate, TrainError> {
        let (kind, name) = self.stage.clone();
        let candidate = Candidate {
            kind,
            name,
            parameters: best.parameters,
            validation: best.value,
            step: best.step,
            evaluations: self.evaluations - self.before,
        };
        self.snapshot.done.push(candidate.clone());
        self.snapshot.running = None;
        if let Some(store) = &mut self.store {
            store.save(&self.snapshot).map_err(|message| TrainError::Checkpoint { message })?;
        }
        Ok(candidate)
    }
}
