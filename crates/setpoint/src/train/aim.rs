//! What a run is for. A kind of goal says how its losses are made and what scores are worth; the stages, their
//! order, selection, averages and checkpoints know no more of it.

use super::judge::{Judge, if_any};
use super::method::{Loss, threshold_to_start_at};
use super::task::Task;
use super::{Settings, TrainError};
use crate::goal::{Direction, Goal};
use crate::sample::Sample;
use crate::shard::Shard;

/// A goal of some kind.
pub(super) trait Aim: Sync {
    /// Which way its value gets better.
    fn direction(&self) -> Direction;

    /// Its exact value, the best that its conditions allow of these scores.
    fn exact(&self, sample: &Sample, scores: &[f32]) -> Result<f64, TrainError>;

    /// The same; `None` where the scores have none.
    fn value(&self, sample: &Sample, scores: &[f32]) -> Result<Option<f64>, TrainError> {
        if_any(self.exact(sample, scores))
    }

    /// Standard error of the difference in value between two vectors of scores.
    fn standard_error(&self, sample: &Sample, first: &[f32], second: &[f32], seed: u64) -> Option<f64>;

    /// What a stage minimises on these rows, or on mini-batches of them, after so many steps of warming up.
    fn loss(
        &self,
        task: &Task,
        rows: &dyn Shard,
        settings: &Settings,
        batches: Option<u64>,
    ) -> Result<Box<dyn Loss>, TrainError>;

    /// The threshold at which a model that decides at 0 should start.
    fn threshold(&self, sample: &Sample, scores: &[f32]) -> f32 {
        let _ = (sample, scores);
        0.0
    }

    /// Whether the goal's own stages are held near where they start, not near zero.
    fn held_near_start(&self) -> bool {
        false
    }

    /// Whether the baseline is the average of the best of its fits, not the best of them.
    fn averages_baseline(&self, linear: bool) -> bool {
        !linear
    }

    /// Whether a gain of such a model must exceed its standard error.
    fn gated(&self, linear: bool) -> bool {
        !linear
    }
}

/// A goal of two classes.
pub(super) struct TwoClasses<'a> {
    pub(super) goal: &'a Goal,
    pub(super) shared_threshold: bool,
}

impl TwoClasses<'_> {
    fn judge<'j>(&'j self, sample: &'j Sample) -> Judge<'j> {
        Judge { shared_threshold: self.shared_threshold, ..Judge::new(self.goal, sample) }
    }
}

impl Aim for TwoClasses<'_> {
    fn direction(&self) -> Direction {
        self.goal.objective.direction()
    }

    fn exact(&self, sample: &Sample, scores: &[f32]) -> Result<f64, TrainError> {
        self.judge(sample).exact(scores)
    }

    fn standard_error(&self, sample: &Sample, first: &[f32], second: &[f32], seed: u64) -> Option<f64> {
        Judge { seed, ..self.judge(sample) }.standard_error(first, second)
    }

    fn loss(
        &self,
        task: &Task,
        rows: &dyn Shard,
        settings: &Settings,
        batches: Option<u64>,
    ) -> Result<Box<dyn Loss>, TrainError> {
        task.loss(self.goal, rows, settings, batches)
    }

    fn threshold(&self, sample: &Sample, scores: &[f32]) -> f32 {
        threshold_to_start_at(self.goal, sample, scores)
    }
}
