//! The loss of a goal of classes on mini-batches, beside cross-entropy: as [`BatchLoss`](super::BatchLoss) is for
//! two classes.
//!
//! Shifts and rates are those of a pool of the last batches, scored as they were when computed; the newest batch's
//! share of the gradient is used, times the number of batches. A pool that lacks a class that the goal names leaves
//! the step to cross-entropy.

use super::method::{ClassCrossEntropy, ClassIco, Loss};
use super::pool::{Balance, Pool};
use super::{Bandwidth, Detail, TrainError};
use crate::goal::ClassGoal;
use crate::optimizer::State;
use crate::shard::Shard;

/// The goal's loss through its shifts, batch by batch.
#[derive(Debug)]
pub struct ClassBatchLoss {
    ico: ClassIco,
    cross_entropy: ClassCrossEntropy,
    /// Batches whose scores shifts are solved on, the newest included.
    most: usize,
    mix: f64,
    /// Batches of cross-entropy alone at the start.
    warm_up: u64,
    classes: usize,
    pool: Pool,
    balance: Balance,
    steps: u64,
    /// The gradient by the pool's scores, and that of cross-entropy by the batch's.
    of_pool: Vec<f32>,
    beside: Vec<f32>,
}

impl ClassBatchLoss {
    /// A loss for this goal; shifts are those of the last `pool` batches, and `mix` is the share of cross-entropy.
    #[must_use]
    pub fn new(goal: &ClassGoal, bandwidth: Bandwidth, pool: usize, mix: f64, warm_up: u64) -> Self {
        Self {
            ico: ClassIco::new(goal, bandwidth),
            cross_entropy: ClassCrossEntropy::new(0.0),
            most: pool,
            mix,
            warm_up,
            classes: goal.classes.len(),
            pool: Pool::none(),
            balance: Balance::default(),
            steps: 0,
            of_pool: Vec::new(),
            beside: Vec::new(),
        }
    }
}

impl Loss for ClassBatchLoss {
    /// The loss of a batch, which is kept in the pool.
    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        self.steps += 1;
        self.pool.push(rows.whole(), scores, self.most);
        if self.steps <= self.warm_up || self.mix == 1.0 {
            return self.cross_entropy.evaluate(rows, scores, v);
        }
        let Pool { sample, scores: pooled, .. } = &self.pool;
        self.of_pool.resize(pooled.len(), 0.0);
        let goal = match self.ico.evaluate(sample, pooled, &mut self.of_pool) {
            Err(error) if error.lacks_examples() || error.is_about_the_scores() => {
                return self.cross_entropy.evaluate(rows, scores, v);
            }
            goal => goal?,
        };
        let share = pooled.len() as f32 / scores.len() as f32;
        let newest = &self.of_pool[pooled.len() - scores.len()..];
        v.iter_mut().zip(newest).for_each(|(v, newest)| *v = share * newest);
        if self.mix == 0.0 {
            return Ok(goal);
        }
        self.beside.resize(scores.len(), 0.0);
        let entropy = self.cross_entropy.evaluate(rows, scores, &mut self.beside)?;
        Ok(self.balance.mix(self.mix, (entropy, &self.beside), (goal, v), &mut []))
    }

    fn detail(&self) -> Option<Detail> {
        self.ico.detail()
    }

    fn state(&self) -> State {
        let state = self.ico.state().with("steps", vec![self.steps]);
        self.pool.save(self.balance.save(state))
    }

    fn restore(&mut self, state: &State) -> Result<(), TrainError> {
        [self.steps] = state.array("steps")?;
        self.pool = Pool::restored(state, self.classes)?;
        self.balance = Balance::restored(state)?;
        self.ico.restore(state)
    }
}
