//! The goal's loss on mini-batches, for networks of any make.
//!
//! A batch of a few hundred rows has too few examples near a 1% threshold to place it. Two remedies:
//!
//! - *Pool* (the default): thresholds and slopes are solved on the scores of the last `pool` batches,
//!   as they were when computed; the newest batch's share of the gradient is used, times the number
//!   of batches.
//! - *Algorithm 1* of the paper: the thresholds are tracked to first order after each step and
//!   corrected on the unrelaxed rates of several batches now and then.
//!
//! The gradient of cross-entropy may be mixed in, both brought to the same size by moving averages E:
//!
//! ```text
//! v = mix v_ce + (1 - mix) b v_goal,      b = E[mean |v_ce|] / E[mean |v_goal|]
//! ```
//!
//! Processes that have a share of each batch, and keep a pool of their own, add up what is counted ([`Ranks`]): the
//! loss is that of one process with all of it.
//!
//! A batch (or pool) without positives or without negatives says nothing about a rate of that class, and some
//! cannot meet the goal: such a step is cross-entropy alone.

use std::sync::Arc;

use super::method::{CrossEntropy, Loss};
use super::pool::{Balance, Pool, REFRESH, sharpness};
use super::{Bandwidth, Detail, Scope, TrainError};
use crate::engine::{Engine, EngineOptions, Solve};
use crate::goal::Goal;
use crate::optimizer::{State, damaged};
use crate::problem::Problem;
use crate::ranks::{Ranked, Ranks};
use crate::sample::Sample;
use crate::shard::Shard;

/// Relative error of a rate that may be left to the next batch, whose search starts a Newton step on: what chance
/// makes of a hundred examples. So thresholds cost one pass over the pool.
const TOLERANCE: f64 = 0.1;

/// Settings of a [`BatchLoss`].
#[derive(Clone, Debug)]
pub struct BatchOptions {
    /// How thresholds are solved and differentiated; the sharpness comes from the bandwidth. [`Solve::Hold`] is
    /// algorithm 1.
    pub engine: EngineOptions,
    /// Width of the surrogate.
    pub bandwidth: Bandwidth,
    /// Batches whose scores thresholds are solved on, the newest included.
    pub pool: usize,
    /// Share of cross-entropy in the gradient.
    pub mix: f64,
    /// Batches of cross-entropy alone at the start.
    pub warm_up: u64,
    /// How many times a positive counts in cross-entropy.
    pub positive_weight: f64,
    /// What thresholds are a function of.
    pub scope: Scope,
}

/// The defaults are what served networks best.
impl Default for BatchOptions {
    fn default() -> Self {
        Self {
            engine: EngineOptions::default(),
            bandwidth: Bandwidth::Tail(0.5),
            pool: 20,
            mix: 0.5,
            warm_up: 0,
            positive_weight: 1.0,
            scope: Scope::All,
        }
    }
}

/// The goal's loss through its thresholds, batch by batch, beside cross-entropy.
#[derive(Debug)]
pub struct BatchLoss {
    goal: Goal,
    options: BatchOptions,
    /// Once there are rows to tie it to.
    engine: Option<Engine>,
    cross_entropy: CrossEntropy,
    pool: Pool,
    /// Where the next solve starts.
    thresholds: Option<Vec<f64>>,
    sharpness: Option<f64>,
    balance: Balance,
    steps: u64,
    alone: u64,
    /// Whether the last step had thresholds.
    placed: bool,
    /// The gradient of cross-entropy.
    beside: Vec<f32>,
    /// The gradient with the thresholds held, for layers outside their scope.
    direct: Vec<f32>,
    detail: Option<Detail>,
    ranks: Option<Arc<dyn Ranks>>,
}

impl BatchLoss {
    /// A loss for this goal.
    #[must_use]
    pub fn new(goal: &Goal, options: BatchOptions) -> Self {
        Self {
            goal: goal.clone(),
            engine: None,
            cross_entropy: CrossEntropy::new(options.positive_weight),
            pool: Pool::none(),
            thresholds: None,
            sharpness: None,
            balance: Balance::default(),
            steps: 0,
            alone: 0,
            placed: false,
            beside: Vec::new(),
            direct: Vec::new(),
            detail: None,
            ranks: None,
            options,
        }
    }

    /// Says who else has a share of each batch from now on.
    pub fn set_ranks(&mut self, ranks: Option<Arc<dyn Ranks>>) {
        self.ranks = ranks;
    }

    /// The thresholds of the last step that had any.
    #[must_use]
    pub fn thresholds(&self) -> Option<&[f64]> {
        self.thresholds.as_deref()
    }

    /// The examples that thresholds are solved on, and their scores; none before the first batch.
    #[must_use]
    pub fn pool(&self) -> Option<(&Sample, &[f32])> {
        self.pool.held()
    }

    /// Batches seen.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Batches, beside those of the warm-up, that were cross-entropy alone: the pool lacked a class or could not
    /// meet the goal.
    #[must_use]
    pub fn alone(&self) -> u64 {
        self.alone
    }

    fn holds(&self) -> bool {
        self.options.engine.solve == Solve::Hold
    }

    /// The engine on these rows, its thresholds those of the last step.
    fn engine(&mut self, rows: &dyn Shard, scores: &[f32], refresh: bool) -> Result<&mut Engine, TrainError> {
        if refresh || self.sharpness.is_none() {
            self.sharpness = Some(self.options.bandwidth.sharpness(&self.goal, rows, scores));
        }
        let sharpness = self.sharpness.unwrap_or(f64::NAN);
        let engine = match self.engine.take() {
            Some(mut engine) => {
                engine.set_sharpness(sharpness);
                engine
            }
            None => {
                let options = EngineOptions { sharpness, ..self.options.engine.clone() };
                let mut engine = Engine::new(&self.goal, rows, options)?;
                if let Some(thresholds) = &self.thresholds {
                    engine.set_thresholds(thresholds)?;
                    engine.set_tolerance(TOLERANCE);
                }
                engine
            }
        };
        Ok(self.engine.insert(engine))
    }

    /// The goal's loss, and its derivative by the batch's scores as if they were all that thresholds are solved
    /// on.
    fn goal_loss(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        let (found, share) = if self.holds() {
            (self.settle(rows, scores, false), 1.0)
        } else {
            let pool = std::mem::replace(&mut self.pool, Pool::none());
            let ranks = self.ranks.clone();
            let joined = ranks.as_deref().map(|ranks| Ranked::new(&pool.sample, ranks));
            let pooled: &dyn Shard = joined.as_ref().map_or(&pool.sample, |joined| joined);
            let found = self.settle(pooled, &pool.scores, self.steps.is_multiple_of(REFRESH));
            let share = pooled.everywhere() as f32 / rows.everywhere() as f32;
            drop(joined);
            self.pool = pool;
            (found, share)
        };
        let value = found?;
        let Some(engine) = &mut self.engine else { return Ok(value) };
        engine.spread(rows, scores, v)?;
        if self.options.scope == Scope::Head {
            self.direct.resize(scores.len(), 0.0);
            engine.direct_gradient(rows, scores, &mut self.direct)?;
        }
        if share != 1.0 {
            v.iter_mut().chain(&mut self.direct).for_each(|v| *v *= share);
        }
        Ok(value)
    }

    /// Thresholds and slopes on these rows.
    fn settle(&mut self, rows: &dyn Shard, scores: &[f32], refresh: bool) -> Result<f64, TrainError> {
        let engine = self.engine(rows, scores, refresh)?;
        let passes = engine.settle(rows, scores)?;
        engine.set_tolerance(TOLERANCE);
        let step = engine.last(passes);
        let (value, detail) = (step.loss + step.penalty, Detail::of(&step));
        engine.follow();
        self.detail = Some(detail);
        self.keep();
        Ok(value)
    }

    /// Keeps the engine's thresholds.
    fn keep(&mut self) {
        self.thresholds = self.engine.as_ref().and_then(Engine::thresholds).map(<[f64]>::to_vec);
    }
}

impl Loss for BatchLoss {
    /// The loss of a batch, which is kept in the pool.
    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        let batch = rows.whole();
        batch.check_scores(scores)?;
        self.direct.clear();
        self.steps += 1;
        if !self.holds() {
            self.pool.push(batch, scores, self.options.pool);
        }
        let ranks = self.ranks.clone();
        let joined = ranks.as_deref().map(|ranks| Ranked::new(batch, ranks));
        let rows: &dyn Shard = joined.as_ref().map_or(rows, |joined| joined);
        if self.steps <= self.options.warm_up || self.options.mix == 1.0 {
            return self.cross_entropy.evaluate(rows, scores, v);
        }
        let found = self.goal_loss(rows, scores, v);
        self.placed = found.is_ok();
        match found {
            Ok(goal) if self.options.mix == 0.0 => Ok(goal),
            Ok(goal) => {
                self.beside.resize(scores.len(), 0.0);
                let mut beside = std::mem::take(&mut self.beside);
                let entropy = self.cross_entropy.evaluate(rows, scores, &mut beside)?;
                let vs = [v, &mut self.direct[..]];
                let sum = |sums: &mut [f64]| ranks.iter().for_each(|ranks| ranks.sum(sums));
                let mixed = self.balance.mix(self.options.mix, (entropy, &beside), goal, vs, sum);
                self.beside = beside;
                Ok(mixed)
            }
            Err(error) if error.lacks_examples() || error.is_about_the_scores() => {
                self.alone += 1;
                self.direct.clear();
                self.cross_entropy.evaluate(rows, scores, v)
            }
            Err(error) => Err(error),
        }
    }

    /// Moves the thresholds to first order with the scores of the last batch.
    fn after_step(&mut self, rows: &dyn Shard, before: &[f32], after: &[f32]) -> Result<(), TrainError> {
        let Some(engine) = self.engine.as_mut().filter(|_| self.placed) else { return Ok(()) };
        let motion: Vec<f32> = after.iter().zip(before).map(|(after, before)| after - before).collect();
        engine.track(rows, before, &motion)?;
        self.keep();
        Ok(())
    }

    /// Thresholds from the unrelaxed rates of these rows; where they cannot be had, the old ones stay.
    fn correct(&mut self, rows: &dyn Shard, scores: &[f32]) -> Result<(), TrainError> {
        let corrected = self.engine(rows, scores, true).and_then(|engine| Ok(engine.correct(rows, scores)?));
        match corrected {
            Err(error) if error.lacks_examples() || error.is_about_the_scores() => {}
            corrected => corrected?,
        }
        self.keep();
        Ok(())
    }

    fn direct(&self) -> Option<&[f32]> {
        (!self.direct.is_empty()).then_some(&self.direct)
    }

    fn detail(&self) -> Option<Detail> {
        self.detail.clone()
    }

    fn state(&self) -> State {
        State::default()
            .with("steps", vec![self.steps, self.alone])
            .with_some("thresholds", self.thresholds.clone())
            .with_some("sharpness", self.sharpness.map(|sharpness| vec![sharpness]))
            .with_all("", self.balance.state())
            .with_all("", self.pool.state())
    }

    fn restore(&mut self, state: &State) -> Result<(), TrainError> {
        let [steps, alone] = state.array("steps")?;
        let pool = Pool::restored(state, 1)?;
        let thresholds = state.find("thresholds")?;
        let problem = Problem::new(&self.goal, &pool.sample, &self.options.engine.problem);
        let expected = problem.ok().map(|problem| problem.thresholds());
        let fit = |found: &[f64]| {
            found.iter().all(|t| t.is_finite()) && expected.is_none_or(|expected| found.len() == expected)
        };
        if !thresholds.is_none_or(fit) {
            return Err(damaged("thresholds").into());
        }
        let (sharpness, balance) = (sharpness(state)?, Balance::restored(state)?);
        self.thresholds = thresholds.map(<[f64]>::to_vec);
        (self.sharpness, self.balance, self.pool) = (sharpness, balance, pool);
        (self.steps, self.alone) = (steps, alone);
        self.engine = None;
        Ok(())
    }
}
