//! How a run tells what it is doing: the loops call, the caller draws.

use std::ops::ControlFlow;

/// Where a run stands after an evaluation of its objective.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
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
