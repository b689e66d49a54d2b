//! Ico on mini-batches: thresholds from a pool of scores, or algorithm 1 of the paper.

use std::collections::{BTreeMap, VecDeque};

use super::lacks_examples;
use crate::engine::{Engine, EngineError, EngineOptions, Step};
use crate::goal::Goal;
use crate::optimizer::Values;
use crate::sample::Sample;
use crate::train::method::{CrossEntropy, Loss, tail_scale};
use crate::train::stage::Running;
use crate::train::{Bandwidth, Detail, Scope, Settings, Standard, Thresholds, TrainError};

/// Steps between measurements of the scores' scale.
const REFRESH: u64 = 10;
/// Memory of the moving averages that balance two gradients.
const MEMORY: f64 = 0.95;

/// Ico over mini-batches.
pub(super) struct BatchIco<'a> {
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
    /// Weight of the positives in the cross-entropy beside.
    positive_weight: f64,
    /// Steps of cross-entropy alone.
    warm_up: u64,
    /// dg/dt and the like of the last held step live in its engine; kept for tracking.
    held: bool,
    /// The gradient with the thresholds held, for layers outside their scope.
    direct: Vec<f32>,
    /// The last evaluation, told to observers.
    pub(super) detail: Option<Detail>,
}

impl<'a> BatchIco<'a> {
    pub(super) fn new(
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
            positive_weight: 1.0,
            warm_up: 0,
            held: false,
            direct: Vec::new(),
            detail: None,
        }
    }

    /// The same beside cross-entropy: alone for the first steps, and mixed in after.
    pub(super) fn beside_cross_entropy(self, positive_weight: f64, warm_up: u64) -> Self {
        Self { positive_weight, warm_up, ..self }
    }

    /// What layers outside the thresholds' scope learn by, where there are any.
    pub(super) fn direct(&self) -> Option<&[f32]> {
        (!self.direct.is_empty()).then_some(&self.direct)
    }

    pub(super) fn tracks(&self, step: u64) -> bool {
        self.settings.thresholds == Thresholds::Track && step >= self.warm_up
    }

    pub(super) fn needs_correction(&self, step: u64) -> bool {
        self.settings.thresholds.corrected()
            && step >= self.warm_up
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
    pub(super) fn correct(&mut self, rows: &[u32], scores: &[f32]) -> Result<(), TrainError> {
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
    pub(super) fn evaluate(
        &mut self,
        step: u64,
        rows: &[u32],
        scores: &[f32],
        v: &mut [f32],
    ) -> Result<f64, TrainError> {
        let batch = self.sample.select(rows);
        batch.check_scores(scores)?;
        let mut cross_entropy = vec![0.0; v.len()];
        let alone = CrossEntropy::new(&batch, self.positive_weight).evaluate(scores, &mut cross_entropy)?;
        self.direct.clear();
        let corrected = self.settings.thresholds.corrected();
        if !corrected {
            self.remember(rows, scores);
        }
        if step < self.warm_up {
            v.copy_from_slice(&cross_entropy);
            return Ok(alone);
        }
        let result = if corrected { self.on_batch(&batch, scores, v) } else { self.on_pool(step, scores, v) };
        self.held = result.is_ok();
        match result {
            Ok(value) => {
                self.mix(&cross_entropy, v);
                Ok(value)
            }
            Err(error) if lacks_examples(&error) || error.is_about_the_scores() => {
                self.direct.clear();
                v.copy_from_slice(&cross_entropy);
                Ok(alone)
            }
            Err(error) => Err(error),
        }
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
        let mixed = |v: &mut f32, c: &f32| {
            *v = (mix * f64::from(*c) + (1.0 - mix) * balance * f64::from(*v)) as f32;
        };
        v.iter_mut().zip(cross_entropy).for_each(|(v, c)| mixed(v, c));
        self.direct.iter_mut().zip(cross_entropy).for_each(|(v, c)| mixed(v, c));
    }

    /// Thresholds held; counts and slopes from the batch alone (algorithm 1).
    fn on_batch(&mut self, batch: &Sample, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        let mut engine = self.engine(batch)?;
        let step = engine.step(scores, v)?;
        let value = step.loss + step.penalty;
        self.detail = Some(Detail::of(&step));
        if self.settings.implicit_scope == Scope::Head {
            self.direct.resize(scores.len(), 0.0);
            engine.direct_gradient(scores, &mut self.direct)?;
        }
        Ok(value)
    }

    fn engine<'s>(&self, sample: &'s Sample) -> Result<Engine<'s>, TrainError> {
        let mut engine = Engine::new(self.goal, sample, self.options.clone())?;
        if let Some(thresholds) = &self.thresholds {
            engine.set_thresholds(thresholds)?;
        }
        Ok(engine)
    }

    /// Adds the batch to the pool, and drops the oldest.
    fn remember(&mut self, rows: &[u32], scores: &[f32]) {
        let mut place = match self.pool.len() >= self.settings.pool.max(1) {
            true => self.pool.pop_front().unwrap_or_default(),
            false => (Vec::new(), Vec::new()),
        };
        place.0.clear();
        place.0.extend_from_slice(rows);
        place.1.clear();
        place.1.extend_from_slice(scores);
        self.pool.push_back(place);
    }

    /// Thresholds and slopes from the pool; the batch's share of the gradient, times the batches.
    fn on_pool(&mut self, step: u64, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
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
        let newest = all_scores.len() - scores.len();
        v.iter_mut().zip(&gradient[newest..]).for_each(|(v, g)| *v = share * g);
        if self.settings.implicit_scope == Scope::Head {
            engine.direct_gradient(&all_scores, &mut gradient)?;
            self.direct.extend(gradient[newest..].iter().map(|g| share * g));
        }
        Ok(value)
    }

    /// Moves the thresholds to first order with the batch's scores.
    pub(super) fn track(&mut self, rows: &[u32], before: &[f32], after: &[f32]) -> Result<(), TrainError> {
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

    pub(super) fn entries(&self) -> BTreeMap<String, Values> {
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

    pub(super) fn restore(&mut self, running: &Running) {
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
