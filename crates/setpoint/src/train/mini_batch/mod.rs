//! One stage of training on mini-batches.
//!
//! A batch of a few hundred rows has too few examples near a 1% threshold to place it. Two remedies:
//!
//! - *Pool* (the default): thresholds and slopes are solved on the scores of the last `pool` batches,
//!   as they were when computed; the newest batch's share of the gradient is used, times the number
//!   of batches.
//! - *Algorithm 1* of the paper: the thresholds are tracked to first order after each step and
//!   corrected on the unrelaxed rates of the next `correct_batches` batches every `correct_every`
//!   steps.
//!
//! Cross-entropy, and the lagrangian and pairwise losses, are those of each batch by itself; thresholds
//! and multipliers are carried from one to the next.
//!
//! A batch (or pool) without positives or without negatives says nothing about a rate of that class:
//! its step uses cross-entropy alone.

mod ico;
mod order;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use self::ico::BatchIco;
use self::order::Batches;
use super::method::{CrossEntropy, Loss};
use super::selection::{Best, Selection};
use super::stage::{Reporter, Running};
use super::{Bandwidth, Part, Schedule, Settings, TrainError};
use crate::engine::{EngineError, EngineOptions};
use crate::goal::Goal;
use crate::model::Batch;
use crate::optimizer::Values;
use crate::problem::ProblemError;
use crate::sample::{Sample, SampleError};

/// What is minimised, batch by batch.
pub(super) enum BatchLoss<'g> {
    /// Weighted cross-entropy.
    CrossEntropy { positive_weight: f64 },
    /// The goal's loss through its thresholds.
    Ico { goal: &'g Goal, engine: EngineOptions, bandwidth: Bandwidth, positive_weight: f64 },
    /// A loss of each batch by itself, with what it carries from one to the next.
    OnBatch(&'g OnBatch<'g>),
}

/// Value and gradient on a batch with these scores; the state is brought up to date.
type OnBatch<'g> =
    dyn Fn(&Sample, &mut BTreeMap<String, Values>, &[f32], &mut [f32]) -> Result<f64, TrainError> + 'g;

/// A stage of mini-batches, to be run.
pub(super) struct Stage<'s, 'p, 'v, 'r> {
    pub(super) train: &'s mut Part<'p>,
    pub(super) selection: &'s mut Selection<'v>,
    pub(super) reporter: &'s mut Reporter<'r>,
    pub(super) settings: &'s Settings,
    /// Rows of a batch.
    pub(super) size: usize,
    /// Most steps.
    pub(super) steps: u64,
    /// Step size at the start.
    pub(super) learning_rate: f64,
    /// Whether the start itself may be the result: it is a fit already.
    pub(super) start_is_fit: bool,
}

/// What changes from step to step.
struct State {
    step: u64,
    /// Steps since the best value on validation.
    stale: u64,
    parameters: Vec<f32>,
    /// The moving average of the parameters, where one is kept.
    average: Option<Vec<f32>>,
    best: Best,
    /// What losses of single batches carry from one to the next.
    carried: BTreeMap<String, Values>,
}

impl Stage<'_, '_, '_, '_> {
    /// Runs the stage from `start`, or from where a checkpoint left it.
    pub(super) fn run(&mut self, loss: &BatchLoss<'_>, start: &[f32]) -> Result<Best, TrainError> {
        let (settings, sample) = (self.settings, self.train.sample);
        let mut optimizer = settings.optimizer.build(settings)?;
        let mut ico = match loss {
            BatchLoss::Ico { goal, engine, bandwidth, positive_weight } => {
                let warm_up = (settings.warm_up.unwrap_or(0.0) * self.steps as f64).round() as u64;
                let ico = BatchIco::new(goal, engine.clone(), *bandwidth, settings, sample);
                Some(ico.beside_cross_entropy(*positive_weight, warm_up))
            }
            BatchLoss::CrossEntropy { .. } | BatchLoss::OnBatch(_) => None,
        };
        let resumed = self.reporter.resume();
        let mut state = match &resumed {
            Some(running) => self.restore(running)?,
            None => self.begin(start)?,
        };
        if let Some(running) = &resumed {
            optimizer.restore(&running.optimizer)?;
            match &mut ico {
                Some(ico) => ico.restore(running),
                None => state.carried.clone_from(&running.extra),
            }
        }
        let mut batches = Batches::new(sample.labels(), self.size, settings.seed, settings.batches);
        let epoch = batches.per_epoch();
        let decayed = self.train.model.decayed();
        let mut gradient = vec![0.0; state.parameters.len()];
        let (mut scores, mut v) = (Vec::new(), Vec::new());
        while state.step < self.steps && settings.patience.is_none_or(|most| state.stale < most) {
            let step = state.step;
            if let Some(ico) = ico.as_mut().filter(|ico| ico.needs_correction(step)) {
                self.correct(ico, &mut batches, &state)?;
            }
            let rows = batches.rows(step);
            let batch = Batch { rows, seed: settings.seed, step };
            scores.resize(rows.len(), 0.0);
            v.resize(rows.len(), 0.0);
            self.train.model.learn(&state.parameters, &batch, &mut scores)?;
            let value = match (&mut ico, loss) {
                (Some(ico), _) => ico.evaluate(step, rows, &scores, &mut v)?,
                (None, loss) => on_batch(loss, &sample.select(rows), &mut state.carried, &scores, &mut v)?,
            };
            if !value.is_finite() {
                return Err(TrainError::Diverged { step });
            }
            match ico.as_ref().and_then(BatchIco::direct) {
                Some(direct) => {
                    self.train.model.backward_head(&state.parameters, &v, direct, &mut gradient)?;
                }
                None => self.train.model.backward(&state.parameters, &v, &mut gradient)?,
            }
            let rate = self.learning_rate * settings.schedule.share(step, self.steps);
            optimizer.set_learning_rate(rate);
            optimizer.step(&mut state.parameters, &gradient)?;
            if settings.weight_decay > 0.0 {
                let keep = (1.0 - rate * settings.weight_decay) as f32;
                let weights = decayed.iter().flat_map(Clone::clone);
                weights.for_each(|index| state.parameters[index] *= keep);
            }
            self.train.model.observe(&mut state.parameters);
            state.follow(settings.weight_average);
            if let Some(ico) = ico.as_mut().filter(|ico| ico.tracks(step)) {
                let mut after = vec![0.0; rows.len()];
                self.train.model.learn(&state.parameters, &batch, &mut after)?;
                ico.track(rows, &scores, &after)?;
            }
            state.step += 1;
            let look = state.step.is_multiple_of(epoch) || state.step == self.steps;
            let validation = if look { self.look(&mut state, epoch)? } else { None };
            let detail = ico.as_ref().and_then(|ico| ico.detail.clone());
            if self.reporter.step(state.step, self.steps, value, validation, detail) == ControlFlow::Break(())
            {
                return Err(TrainError::Stopped);
            }
            if look {
                self.reporter.save(|| {
                    let extra = ico.as_ref().map_or_else(|| state.carried.clone(), BatchIco::entries);
                    state.running(extra, optimizer.state())
                })?;
            }
        }
        self.reporter.evaluations += state.step;
        Ok(state.best)
    }

    fn begin(&mut self, start: &[f32]) -> Result<State, TrainError> {
        let mut best = Best::none();
        if self.start_is_fit {
            let value = self.selection.value(start)?;
            best.offer(start, value, self.selection.merit(value), 0);
        }
        Ok(State {
            step: 0,
            stale: 0,
            parameters: start.to_vec(),
            average: (self.settings.weight_average > 0.0).then(|| start.to_vec()),
            best,
            carried: BTreeMap::new(),
        })
    }

    fn restore(&self, running: &Running) -> Result<State, TrainError> {
        let averages = self.settings.weight_average > 0.0;
        Ok(State {
            step: running.count("step")?,
            stale: running.count("stale")?,
            parameters: running.vector("parameters")?,
            average: averages.then(|| running.vector("average")).transpose()?,
            best: running.best.clone(),
            carried: BTreeMap::new(),
        })
    }

    /// Offers the parameters to the selection.
    fn look(&mut self, state: &mut State, epoch: u64) -> Result<Option<f64>, TrainError> {
        let shown = state.average.as_ref().unwrap_or(&state.parameters);
        let value = self.selection.value(shown)?;
        let better = state.best.offer(shown, value, self.selection.merit(value), state.step);
        state.stale = if better { 0 } else { state.stale + epoch };
        Ok(value)
    }

    /// Corrects ico's thresholds on the next batches, each scored as it will be learnt from.
    fn correct(
        &mut self,
        ico: &mut BatchIco<'_>,
        batches: &mut Batches<'_>,
        state: &State,
    ) -> Result<(), TrainError> {
        let (mut rows, mut scores) = (Vec::new(), Vec::new());
        let last = state.step + self.settings.correct_batches.max(1) as u64;
        for step in state.step..last {
            let next = batches.rows(step);
            let from = scores.len();
            scores.resize(from + next.len(), 0.0);
            let batch = Batch { rows: next, seed: self.settings.seed, step };
            self.train.model.learn(&state.parameters, &batch, &mut scores[from..])?;
            rows.extend_from_slice(next);
        }
        ico.correct(&rows, &scores)
    }
}

impl State {
    /// Lets the average follow the parameters; fast at first, when it is far behind.
    fn follow(&mut self, keep: f64) {
        let Some(average) = &mut self.average else { return };
        let seen = self.step as f64;
        let move_by = (1.0 - keep.min((1.0 + seen) / (10.0 + seen))) as f32;
        average.iter_mut().zip(&self.parameters).for_each(|(mean, now)| *mean += move_by * (now - *mean));
    }

    fn running(&self, mut extra: BTreeMap<String, Values>, optimizer: crate::optimizer::State) -> Running {
        extra.insert("parameters".into(), Values::F32(self.parameters.clone()));
        if let Some(average) = &self.average {
            extra.insert("average".into(), Values::F32(average.clone()));
        }
        extra.insert("step".into(), Values::U64(vec![self.step]));
        extra.insert("stale".into(), Values::U64(vec![self.stale]));
        Running { best: self.best.clone(), optimizer, extra }
    }
}

impl Schedule {
    /// The share of the learning rate at a step.
    fn share(self, step: u64, steps: u64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * step as f64 / steps as f64).cos()),
        }
    }
}

/// A loss of one batch by itself.
fn on_batch(
    loss: &BatchLoss<'_>,
    batch: &Sample,
    carried: &mut BTreeMap<String, Values>,
    scores: &[f32],
    v: &mut [f32],
) -> Result<f64, TrainError> {
    let positive_weight = match loss {
        BatchLoss::OnBatch(loss) => match loss(batch, carried, scores, v) {
            Err(error) if lacks_examples(&error) => 1.0,
            found => return found,
        },
        BatchLoss::CrossEntropy { positive_weight } | BatchLoss::Ico { positive_weight, .. } => {
            *positive_weight
        }
    };
    CrossEntropy::new(batch, positive_weight).evaluate(scores, v)
}

/// Whether a step failed because its rows lack a class or a group.
fn lacks_examples(error: &TrainError) -> bool {
    matches!(
        error,
        TrainError::Engine(EngineError::Problem(ProblemError::Sample(_) | ProblemError::Groups { .. }))
            | TrainError::Sample(SampleError::OneClass { .. })
    )
}
