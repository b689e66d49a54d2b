//! What the stages of a run share: reporting, and checkpoints that end in the same bytes.
//!
//! A run is a fixed list of stages, each deterministic. A checkpoint holds the stages that are done
//! and, of those under way, what their next steps depend on. A run that is killed and resumed goes
//! on from there and comes to the same result, to the last bit.

use std::collections::BTreeMap;
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

/// What a checkpoint holds, by the number of the stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Stages that are done.
    pub done: BTreeMap<usize, Candidate>,
    /// Those under way.
    pub running: BTreeMap<usize, Running>,
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
    names: BTreeMap<usize, (StageKind, String)>,
    stages: usize,
    /// Gradient evaluations over all stages.
    pub(super) evaluations: u64,
    /// Rows walked over.
    pub(super) walked: u64,
}

impl<'r> Reporter<'r> {
    pub(super) fn new(
        observer: &'r mut (dyn Observer + 'r),
        mut store: Option<&'r mut (dyn Store + 'r)>,
        stages: usize,
    ) -> Self {
        let snapshot = store.as_mut().and_then(|store| store.load()).unwrap_or_default();
        Self { observer, store, snapshot, names: BTreeMap::new(), stages, evaluations: 0, walked: 0 }
    }

    /// Begins a stage; returns its result if a checkpoint has it already.
    pub(super) fn begin(&mut self, index: usize, kind: StageKind, name: &str) -> Option<Candidate> {
        self.names.insert(index, (kind, name.to_owned()));
        let done = self.snapshot.done.get(&index).map(|done| Candidate { kind, ..done.clone() });
        if let Some(candidate) = &done {
            self.evaluations += candidate.evaluations;
        }
        done
    }

    /// What a stage had come to.
    pub(super) fn resume(&self, index: usize) -> Option<Running> {
        self.snapshot.running.get(&index).cloned()
    }

    /// Whether there is a store.
    pub(super) fn saves(&self) -> bool {
        self.store.is_some()
    }

    /// Counts walks over so many rows.
    pub(super) fn walked(&mut self, walks: u64, rows: usize) {
        self.walked += walks * rows as u64;
    }

    pub(super) fn step(
        &mut self,
        index: usize,
        step: u64,
        steps: u64,
        loss: f64,
        validation: Option<f64>,
        detail: Option<Detail>,
    ) -> ControlFlow<()> {
        let (kind, stage) = self.names.get(&index).cloned().unwrap_or_default();
        let (stage_index, stages) = (index, self.stages);
        self.observer.observe(&Progress {
            kind,
            stage,
            stage_index,
            stages,
            step,
            steps,
            loss,
            validation,
            detail,
        })
    }

    /// Saves a stage under way.
    pub(super) fn save(&mut self, index: usize, running: Running) -> Result<(), TrainError> {
        if self.store.is_some() {
            self.snapshot.running.insert(index, running);
        }
        self.store()
    }

    fn store(&mut self) -> Result<(), TrainError> {
        let Some(store) = &mut self.store else { return Ok(()) };
        store.save(&self.snapshot).map_err(|message| TrainError::Checkpoint { message })
    }

    /// Ends a stage with its best parameters, after so many evaluations, and saves what is done.
    pub(super) fn end(
        &mut self,
        index: usize,
        best: Best,
        evaluations: u64,
    ) -> Result<Candidate, TrainError> {
        let (kind, name) = self.names.get(&index).cloned().unwrap_or_default();
        let Best { parameters, value: validation, step, .. } = best;
        let candidate = Candidate { kind, name, parameters, validation, step, evaluations };
        self.evaluations += evaluations;
        self.snapshot.running.remove(&index);
        self.snapshot.done.insert(index, candidate.clone());
        self.store()?;
        Ok(candidate)
    }
}
