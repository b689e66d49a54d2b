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

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::method::{CrossEntropy, Loss, tail_scale};
use super::selection::{Best, Selection};
use super::stage::{Reporter, Running};
use super::{Bandwidth, Detail, Part, Settings, Standard, Thresholds, TrainError};
use crate::engine::{Engine, EngineError, EngineOptions, Step};
use crate::goal::Goal;
use crate::model::Rows;
use crate::optimizer::Values;
use crate::problem::ProblemError;
use crate::sample::{Sample, SampleError};

/// Steps between measurements of the scores' scale.
const REFRESH: u64 = 10;
/// Memory of the moving averages that balance two gradients.
const MEMORY: f64 = 0.95;

/// What is minimised, batch by batch.
pub(super) enum BatchLoss<'g> {
    /// Weighted cross-entropy.
    CrossEntropy { positive_weight: f64 },
    /// The goal's loss through its thresholds.
    Ico { goal: &'g Goal, engine: EngineOptions, bandwidth: Bandwidth },
    /// A loss of each batch by itself, with what it carries from one to the next.
    OnBatch(&'g OnBatch<'g>),
}

/// Value and gradient on a batch with these scores; the state is brought up to date.
type OnBatch<'g> =
    dyn Fn(&Sample, &mut BTreeMap<String, Values>, &[f32], &mut [f32]) -> Result<f64, TrainError> + 'g;

/// Runs a stage of mini-batches from `start`, or from where a checkpoint left it.
#[allow(clippy::too_many_arguments, reason = "one caller; a struct would only rename the arguments")]
pub(super) fn run(
    loss: &BatchLoss<'_>,
    train: &mut Part<'_>,
    selection: &mut Selection<'_>,
    reporter: &mut Reporter<'_>,
    settings: &Settings,
    size: usize,
    start: &[f32],
    steps: u64,
) -> Result<Best, TrainError> {
    let mut optimizer = settings.optimizer.build(settings)?;
    let mut ico = match loss {
        BatchLoss::Ico { goal, engine, bandwidth } => {
            Some(BatchIco::new(goal, engine.clone(), *bandwidth, settings, train.sample))
        }
        BatchLoss::CrossEntropy { .. } | BatchLoss::OnBatch(_) => None,
    };
    let mut carried = BTreeMap::new();
    let mut parameters = start.to_vec();
    let mut best = Best::none();
    let (mut first, mut stale) = (0, 0);
    if let Some(running) = reporter.resume() {
        optimizer.restore(&running.optimizer)?;
        parameters = running.vector("parameters")?;
        (first, stale) = (running.count("step")?, running.count("stale")?);
        if let Some(ico) = &mut ico {
            ico.restore(&running);
        } else {
            carried = running.extra;
        }
        best = running.best;
    }
    let mut batches = Batches::new(train.sample.len(), size, settings.seed);
    let epoch = batches.per_epoch();
    let mut gradient = vec![0.0; parameters.len()];
    let mut step = first;
    while step < steps && stale < settings.patience {
        let rows = batches.rows(step);
        if let Some(ico) = ico.as_mut().filter(|ico| ico.needs_correction(step)) {
            let pool: Vec<u32> = (step..step + settings.correct_batches.max(1) as u64)
                .flat_map(|step| batches.rows(step))
                .collect();
            let mut scores = vec![0.0; pool.len()];
            train.model.scores(&parameters, Rows::At(&pool), &mut scores)?;
            ico.correct(&pool, &scores)?;
        }
        let mut scores = vec![0.0; rows.len()];
        let mut v = vec![0.0; rows.len()];
        train.model.scores(&parameters, Rows::At(&rows), &mut scores)?;
        let value = match (&mut ico, loss) {
            (Some(ico), _) => ico.evaluate(step, &rows, &scores, &mut v)?,
            (None, BatchLoss::CrossEntropy { positive_weight }) => {
                CrossEntropy::new(&train.sample.select(&rows), *positive_weight).evaluate(&scores, &mut v)?
            }
            (None, BatchLoss::OnBatch(loss)) => {
                let batch = train.sample.select(&rows);
                match loss(&batch, &mut carried, &scores, &mut v) {
                    Err(error) if lacks_examples(&error) => {
                        CrossEntropy::new(&batch, 1.0).evaluate(&scores, &mut v)?
                    }
                    found => found?,
                }
            }
            (None, BatchLoss::Ico { .. }) => unreachable!("ico has its state"),
        };
        if !value.is_finite() {
            return Err(TrainError::Diverged { step });
        }
        train.model.backward(&parameters, &v, &mut gradient)?;
        optimizer.step(&mut parameters, &gradient)?;
        if let Some(ico) = ico.as_mut().filter(|ico| ico.tracks()) {
            let mut after = vec![0.0; rows.len()];
            train.model.scores(&parameters, Rows::At(&rows), &mut after)?;
            ico.track(&rows, &scores, &after)?;
        }
        step += 1;
        let look = step.is_multiple_of(epoch) || step == steps;
        let validation = if look { selection.value(&parameters)? } else { None };
        if look {
            let better = best.offer(&parameters, validation, selection.merit(validation), step);
            stale = if better { 0 } else { stale + epoch };
        }
        if reporter.step(step, steps, value, validation, ico.as_ref().and_then(|ico| ico.detail.clone()))
            == ControlFlow::Break(())
        {
            return Err(TrainError::Stopped);
        }
        if look {
            reporter.save(|| {
                let mut extra = ico.as_ref().map_or_else(|| carried.clone(), BatchIco::entries);
                extra.insert("parameters".into(), Values::F32(parameters.clone()));
                extra.insert("step".into(), Values::U64(vec![step]));
                extra.insert("stale".into(), Values::U64(vec![stale]));
                Running { best: best.clone(), optimizer: optimizer.state(), extra }
            })?;
        }
    }
    reporter.evaluations += step;
    Ok(best)
}

/// The order of rows: shuffled afresh every epoch, by seed and epoch alone.
struct Batches {
    rows: usize,
    size: usize,
    seed: u64,
    epoch: Option<u64>,
    order: Vec<u32>,
}

impl Batches {
    fn new(rows: usize, size: usize, seed: u64) -> Self {
        Self { rows, size: size.min(rows), seed, epoch: None, order: Vec::new() }
    }

    fn per_epoch(&self) -> u64 {
        self.rows.div_ceil(self.size) as u64
    }

    fn rows(&mut self, step: u64) -> Vec<u32> {
        let (epoch, index) = (step / self.per_epoch(), (step % self.per_epoch()) as usize);
        if self.epoch != Some(epoch) {
            let mut random = ChaCha8Rng::seed_from_u64(self.seed);
            random.set_stream(epoch);
            self.order = (0..self.rows as u32).collect();
            self.order.shuffle(&mut random);
            self.epoch = Some(epoch);
        }
        let from = index * self.size;
        self.order[from..self.rows.min(from + self.size)].to_vec()
    }
}

/// Ico over mini-batches.
struct BatchIco<'a> {
    goal: &'a Goal,
    options: EngineOptions,
    bandwidth: Bandwidth,
    settings: &'a Settings,
    sample: &'a Sample,
    thresholds: Option<Vec<f64>>,
    /// Rows and scores of the last batches, as they were when computed.
    pool: VecDeque<(Vec<u32>, Vec<f32>)>,
    /// Moving averages of mean |v|: of cross-entropy, and of ico.
    sizes: [f64; 2],
    /// dg/dt and the like of the last held step live in its engine; kept for tracking.
    held: bool,
    /// The last evaluation, told to observers.
    detail: Option<Detail>,
}

impl<'a> BatchIco<'a> {
    fn new(
        goal: &'a Goal,
        mut options: EngineOptions,
        bandwidth: Bandwidth,
        settings: &'a Settings,
        sample: &'a Sample,
    ) -> Self {
        // The first batch sets the sharpness; see `refresh`.
        options.sharpness = f64::NAN;
        Self {
            goal,
            options,
            bandwidth,
            settings,
            sample,
            thresholds: None,
            pool: VecDeque::new(),
            sizes: [0.0; 2],
            held: false,
            detail: None,
        }
    }

    fn tracks(&self) -> bool {
        self.settings.thresholds == Thresholds::Track
    }

    fn needs_correction(&self, step: u64) -> bool {
        self.settings.thresholds.corrected()
            && (self.thresholds.is_none() || step.is_multiple_of(self.settings.correct_every.max(1)))
    }

    /// Measures the scale of the scores, now and then, for the sharpness.
    fn refresh(&mut self, step: u64, sample: &Sample, scores: &[f32]) {
        if self.options.sharpness.is_nan() || step.is_multiple_of(REFRESH) {
            let bandwidth = match self.bandwidth {
                Bandwidth::Deviations(share) => share * Standard::of(sample, scores).deviation,
                Bandwidth::Tail(share) => share * tail_scale(self.goal, sample, scores),
                Bandwidth::Score(bandwidth) => bandwidth,
            };
            self.options.sharpness = 1.0 / bandwidth;
        }
    }

    /// Thresholds from the unrelaxed rates of these rows; where they cannot be had, the old ones stay.
    fn correct(&mut self, rows: &[u32], scores: &[f32]) -> Result<(), TrainError> {
        let pool = self.sample.select(rows);
        self.refresh(0, &pool, scores);
        let corrected = Engine::new(self.goal, &pool, self.options.clone()).and_then(|mut engine| {
            engine.correct(scores)?;
            Ok(engine.thresholds().map(<[f64]>::to_vec))
        });
        match corrected.map_err(TrainError::from) {
            Ok(thresholds) => self.thresholds = thresholds,
            Err(error) if lacks_examples(&error) || error.is_about_the_scores() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The loss on a batch, and its gradient v by the batch's scores.
    fn evaluate(
        &mut self,
        step: u64,
        rows: &[u32],
        scores: &[f32],
        v: &mut [f32],
    ) -> Result<f64, TrainError> {
        let batch = self.sample.select(rows);
        batch.check_scores(scores)?;
        let mut cross_entropy = vec![0.0; v.len()];
        let fallback = CrossEntropy::new(&batch, 1.0).evaluate(scores, &mut cross_entropy)?;
        let result = if self.settings.thresholds.corrected() {
            self.on_batch(&batch, scores, v)
        } else {
            self.on_pool(step, rows, scores, v)
        };
        self.held = result.is_ok();
        let value = match result {
            Ok(value) => value,
            Err(error) if lacks_examples(&error) || error.is_about_the_scores() => {
                v.copy_from_slice(&cross_entropy);
                return Ok(fallback);
            }
            Err(error) => return Err(error),
        };
        self.mix(&cross_entropy, v);
        Ok(value)
    }

    /// Mixes the cross-entropy gradient in, both brought to the same size.
    fn mix(&mut self, cross_entropy: &[f32], v: &mut [f32]) {
        let mix = self.settings.mix;
        if mix == 0.0 {
            return;
        }
        let size = |v: &[f32]| v.iter().map(|v| f64::from(v.abs())).sum::<f64>() / v.len() as f64;
        for (kept, now) in self.sizes.iter_mut().zip([size(cross_entropy), size(v)]) {
            *kept = if *kept == 0.0 { now } else { MEMORY * *kept + (1.0 - MEMORY) * now };
        }
        let balance = if self.sizes[1] > 0.0 { self.sizes[0] / self.sizes[1] } else { 0.0 };
        for (v, c) in v.iter_mut().zip(cross_entropy) {
            *v = (mix * f64::from(*c) + (1.0 - mix) * balance * f64::from(*v)) as f32;
        }
    }

    /// Thresholds held; counts and slopes from the batch alone (algorithm 1).
    fn on_batch(&mut self, batch: &Sample, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        let mut engine = self.engine(batch)?;
        let step = engine.step(scores, v)?;
        self.detail = Some(Detail::of(&step));
        Ok(step.loss + step.penalty)
    }

    fn engine<'s>(&self, sample: &'s Sample) -> Result<Engine<'s>, TrainError> {
        let mut engine = Engine::new(self.goal, sample, self.options.clone())?;
        if let Some(thresholds) = &self.thresholds {
            engine.set_thresholds(thresholds)?;
        }
        Ok(engine)
    }

    /// Thresholds and slopes from the pool; the batch's share of the gradient, times the batches.
    fn on_pool(&mut self, step: u64, rows: &[u32], scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        self.pool.push_back((rows.to_vec(), scores.to_vec()));
        while self.pool.len() > self.settings.pool.max(1) {
            self.pool.pop_front();
        }
        let all_rows: Vec<u32> = self.pool.iter().flat_map(|(rows, _)| rows.iter().copied()).collect();
        let all_scores: Vec<f32> = self.pool.iter().flat_map(|(_, scores)| scores.iter().copied()).collect();
        let sample = self.sample.select(&all_rows);
        self.refresh(step, &sample, &all_scores);
        let mut gradient = vec![0.0; all_scores.len()];
        let mut engine = self.engine(&sample)?;
        let told = |step: Step<'_>| (step.loss + step.penalty, Detail::of(&step));
        let (value, detail) = match engine.step(&all_scores, &mut gradient).map(told) {
            Ok(found) => found,
            Err(EngineError::Threshold(_)) => {
                engine.correct(&all_scores)?;
                told(engine.step(&all_scores, &mut gradient)?)
            }
            Err(error) => return Err(error.into()),
        };
        self.detail = Some(detail);
        self.thresholds = engine.thresholds().map(<[f64]>::to_vec);
        let share = all_scores.len() as f32 / scores.len() as f32;
        let newest = &gradient[all_scores.len() - scores.len()..];
        v.iter_mut().zip(newest).for_each(|(v, g)| *v = share * g);
        Ok(value)
    }

    /// Moves the thresholds to first order with the batch's scores.
    fn track(&mut self, rows: &[u32], before: &[f32], after: &[f32]) -> Result<(), TrainError> {
        if !self.held {
            return Ok(());
        }
        let batch = self.sample.select(rows);
        let mut engine = self.engine(&batch)?;
        engine.step(before, &mut vec![0.0; before.len()])?;
        let motion: Vec<f32> = after.iter().zip(before).map(|(after, before)| after - before).collect();
        engine.track(before, &motion)?;
        self.thresholds = engine.thresholds().map(<[f64]>::to_vec);
        Ok(())
    }

    fn entries(&self) -> BTreeMap<String, Values> {
        let mut entries = BTreeMap::new();
        if let Some(thresholds) = &self.thresholds {
            entries.insert("thresholds".to_owned(), Values::F64(thresholds.clone()));
        }
        entries.insert("sharpness".to_owned(), Values::F64(vec![self.options.sharpness]));
        entries.insert("sizes".to_owned(), Values::F64(self.sizes.to_vec()));
        let of = |f: fn(&(Vec<u32>, Vec<f32>)) -> u64| self.pool.iter().map(f).collect();
        entries.insert("pool lengths".to_owned(), Values::U64(of(|(rows, _)| rows.len() as u64)));
        let rows = self.pool.iter().flat_map(|(rows, _)| rows.iter().map(|row| u64::from(*row))).collect();
        entries.insert("pool rows".to_owned(), Values::U64(rows));
        let scores = self.pool.iter().flat_map(|(_, scores)| scores.iter().copied()).collect();
        entries.insert("pool scores".to_owned(), Values::F32(scores));
        entries
    }

    fn restore(&mut self, running: &Running) {
        let entry = |name: &str| running.extra.get(name);
        if let Some(Values::F64(thresholds)) = entry("thresholds") {
            self.thresholds = Some(thresholds.clone());
        }
        if let Some(Values::F64(values)) = entry("sharpness") {
            self.options.sharpness = values.first().copied().unwrap_or(f64::NAN);
        }
        if let Some(Values::F64(sizes)) = entry("sizes") {
            self.sizes.iter_mut().zip(sizes).for_each(|(kept, size)| *kept = *size);
        }
        if let (Some(Values::U64(lengths)), Some(Values::U64(rows)), Some(Values::F32(scores))) =
            (entry("pool lengths"), entry("pool rows"), entry("pool scores"))
        {
            let (mut rows, mut scores) = (rows.iter(), scores.iter());
            for length in lengths {
                let rows = rows.by_ref().take(*length as usize).map(|row| *row as u32).collect();
                let scores = scores.by_ref().take(*length as usize).copied().collect();
                self.pool.push_back((rows, scores));
            }
        }
    }
}

/// Whether a step failed because its rows lack a class or a group.
fn lacks_examples(error: &TrainError) -> bool {
    matches!(
        error,
        TrainError::Engine(EngineError::Problem(ProblemError::Sample(_) | ProblemError::Groups { .. }))
            | TrainError::Sample(SampleError::OneClass { .. })
    )
}
