//! How a run tells what it is doing: the loops call, the caller draws.

use std::ops::ControlFlow;

use super::StageKind;
use crate::class::ShiftStep;
use crate::engine::Step;

/// Where a run stands after an evaluation of its objective.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// What the stage fits by.
    pub kind: StageKind,
    /// What is being fitted, such as `cross-entropy, positive weight 10`.
    pub stage: String,
    /// Which stage, from 0.
    pub stage_index: usize,
    /// How many stages there will be.
    pub stages: usize,
    /// Steps of this stage so far.
    pub step: u64,
    /// Most steps of this stage.
    pub steps: u64,
    /// The training loss.
    pub loss: f64,
    /// The goal's exact value on the validation split, where it was looked at.
    pub validation: Option<f64>,
    /// What the loss is made of, for methods with thresholds.
    pub detail: Option<Detail>,
}

/// What a loss through thresholds is made of, at one step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detail {
    /// The smooth objective.
    pub objective: f64,
    /// How far each smooth condition is past its limit: 0 at it, below 0 inside.
    pub constraints: Vec<f64>,
    /// The thresholds; in standardised units of the scores on the full batch.
    pub thresholds: Vec<f64>,
}

impl Detail {
    /// That of a step of the engine.
    pub(super) fn of(step: &Step<'_>) -> Self {
        Self {
            objective: step.objective,
            constraints: step.constraints.to_vec(),
            thresholds: step.thresholds.to_vec(),
        }
    }

    /// That of a step with shifts.
    pub(super) fn of_classes(step: &ShiftStep<'_>) -> Self {
        Self {
            objective: step.objective,
            constraints: step.constraints.to_vec(),
            thresholds: step.shifts.to_vec(),
        }
    }
}

/// Watches a run, and may end it.
pub trait Observer {
    /// Called after every step; `Break` ends the run with [`TrainError::Stopped`](super::TrainError).
    fn observe(&mut self, progress: &Progress) -> ControlFlow<()>;
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn observe(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(&Progress) -> ControlFlow<()>> Observer for F {
    fn observe(&mut self, progress: &Progress) -> ControlFlow<()> {
        self(progress)
    }
}
