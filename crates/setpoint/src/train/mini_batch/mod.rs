//! One stage of training on mini-batches.
//!
//! The goal's loss is a [`BatchLoss`](super::BatchLoss); cross-entropy, and the lagrangian and pairwise losses,
//! are those of each batch by itself, and carry thresholds and multipliers from one to the next.

mod order;

use std::ops::ControlFlow;

use self::order::Batches;
use super::method::{ClassCrossEntropy, CrossEntropy, Loss};
use super::selection::{Best, Selection};
use super::stage::{Reporter, Running};
use super::{Part, Schedule, Settings, Thresholds, TrainError};
use crate::model::Batch;
use crate::optimizer;
use crate::sample::Sample;

/// A stage of mini-batches, to be run.
pub(super) struct Stage<'s, 'p, 'v, 'r> {
    pub(super) train: &'s mut Part<'p>,
    pub(super) selection: &'s mut Selection<'v>,
    pub(super) reporter: &'s mut Reporter<'r>,
    /// Which stage of the run it is.
    pub(super) index: usize,
    pub(super) settings: &'s Settings,
    /// Rows of a batch.
    pub(super) size: usize,
    /// Most steps.
    pub(super) steps: u64,
    /// Step size at the start.
    pub(super) learning_rate: f64,
    /// Whether the start itself may be the result: it is a fit already.
    pub(super) start_is_fit: bool,
    /// Where the loss holds thresholds that corrections set: from this step on.
    pub(super) corrected_from: Option<u64>,
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
}

impl Stage<'_, '_, '_, '_> {
    /// Runs the stage from `start`, or from where a checkpoint left it; with its number of steps.
    pub(super) fn run(&mut self, loss: &mut dyn Loss, start: &[f32]) -> Result<(Best, u64), TrainError> {
        let (settings, sample) = (self.settings, self.train.sample.whole());
        let mut optimizer = settings.optimizer.build(settings)?;
        let mut state = match self.reporter.resume(self.index) {
            Some(running) => {
                optimizer.restore(&running.optimizer)?;
                loss.restore(&running.extra)?;
                self.restore(&running)?
            }
            None => self.begin(start)?,
        };
        let outputs = self.train.model.outputs();
        let mut on_batch = Sample::none();
        let mut alone: Box<dyn Loss> = match outputs {
            1 => Box::new(CrossEntropy::new(1.0)),
            _ => Box::new(ClassCrossEntropy::new(0.0)),
        };
        let mut batches = Batches::new(sample, self.size, settings.seed, settings.batches);
        let epoch = batches.per_epoch();
        let decayed = self.train.model.decayed();
        let mut gradient = vec![0.0; state.parameters.len()];
        let (mut scores, mut v, mut after) = (Vec::new(), Vec::new(), Vec::new());
        let every = settings.correct_every.max(1);
        while state.step < self.steps && settings.patience.is_none_or(|most| state.stale < most) {
            let step = state.step;
            if self.corrected_from.is_some_and(|from| step == from || (step > from && step % every == 0)) {
                self.correct(loss, &mut batches, &state)?;
            }
            let rows = batches.rows(step);
            let batch = Batch { rows, seed: settings.seed, step };
            scores.resize(rows.len() * outputs, 0.0);
            v.resize(scores.len(), 0.0);
            self.train.model.learn(&state.parameters, &batch, &mut scores)?;
            on_batch.refill(sample, rows);
            let value = match loss.evaluate(&on_batch, &scores, &mut v) {
                Err(error) if error.lacks_examples() => alone.evaluate(&on_batch, &scores, &mut v)?,
                value => value?,
            };
            if !value.is_finite() {
                return Err(TrainError::Diverged { step });
            }
            match loss.direct() {
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
            let tracks = settings.thresholds == Thresholds::Track;
            if tracks && self.corrected_from.is_some_and(|from| step >= from) {
                after.resize(scores.len(), 0.0);
                self.train.model.learn(&state.parameters, &batch, &mut after)?;
                loss.after_step(&on_batch, &scores, &after)?;
            }
            state.step += 1;
            let look = state.step.is_multiple_of(epoch) || state.step == self.steps;
            let validation = if look { self.look(&mut state, epoch)? } else { None };
            let detail = loss.detail();
            let told = self.reporter.step(self.index, state.step, self.steps, value, validation, detail);
            if told == ControlFlow::Break(()) {
                return Err(TrainError::Stopped);
            }
            if look && self.reporter.saves() {
                let running = state.running(loss.state(), optimizer.state());
                self.reporter.save(self.index, running)?;
            }
        }
        Ok((state.best, state.step))
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
        })
    }

    fn restore(&self, running: &Running) -> Result<State, TrainError> {
        let averages = self.settings.weight_average > 0.0;
        let ([step], [stale]) = (running.extra.array("step")?, running.extra.array("stale")?);
        let vector = |name| running.extra.get(name).map(<[f32]>::to_vec);
        Ok(State {
            step,
            stale,
            parameters: vector("parameters")?,
            average: averages.then(|| vector("average")).transpose()?,
            best: running.best.clone(),
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

    /// Corrects thresholds on the next batches, each scored as it will be learnt from.
    fn correct(
        &mut self,
        loss: &mut dyn Loss,
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
        loss.correct(&self.train.sample.whole().select(&rows), &scores)
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

    fn running(&self, loss: optimizer::State, optimizer: optimizer::State) -> Running {
        let extra = loss
            .with("parameters", self.parameters.clone())
            .with_some("average", self.average.clone())
            .with("step", vec![self.step])
            .with("stale", vec![self.stale]);
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
