//! The loss of a goal of classes on mini-batches, beside cross-entropy: as [`BatchLoss`](super::BatchLoss) is for
//! two classes.
//!
//! Shifts and rates are those of a pool of the last batches, scored as they were when computed; the newest batch's
//! share of the gradient is used, times the number of batches. A pool that lacks a class that the goal names leaves
//! the step to cross-entropy. The sharpness is in units of the pool's spread, measured anew every few batches: a
//! network starts with scores that say nothing of their later scale.

use super::method::{ClassCrossEntropy, ClassIco, Loss};
use super::pool::{Balance, Pool};
use super::{Bandwidth, Detail, TrainError};
use crate::goal::ClassGoal;
use crate::optimizer::State;
use crate::sample::Sample;
use crate::shard::Shard;

/// Steps between measurements of the scores' scale.
const REFRESH: u64 = 10;

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

    /// The shifts of the last step that had any.
    #[must_use]
    pub fn shifts(&self) -> Option<&[f64]> {
        self.ico.shifts()
    }

    /// The examples that shifts are solved on, and their scores; none before the first batch.
    #[must_use]
    pub fn pool(&self) -> Option<(&Sample, &[f32])> {
        (!self.pool.scores.is_empty()).then_some((&self.pool.sample, &self.pool.scores))
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
        if self.steps.is_multiple_of(REFRESH) {
            self.ico.measure_anew();
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

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["a", "b", "c"];

    fn goal(text: &str) -> ClassGoal {
        ClassGoal::parse(text, &NAMES.map(str::to_owned)).unwrap()
    }

    /// Rows whose own class scores higher; the classes of some batches are not all there.
    fn batch(rows: usize, seed: usize, most: u32) -> (Sample, Vec<f32>) {
        let noise = |at: usize| ((at + 7919 * seed) as f32 * 12.9898).sin() * 2.0;
        let codes: Vec<u32> = (0..rows).map(|row| (row * 5 + seed) as u32 % most).collect();
        let score = |at: usize| noise(at) + if codes[at / 3] as usize == at % 3 { 1.5 } else { 0.0 };
        let scores = (0..3 * rows).map(score).collect();
        let all = (0..3).chain(codes.iter().copied()).collect();
        let sample = Sample::of_classes("class", NAMES.map(str::to_owned).to_vec(), all).unwrap();
        (sample.select(&(3..3 + rows as u32).collect::<Vec<_>>()), scores)
    }

    fn fresh(goal: &ClassGoal, pool: usize, mix: f64) -> ClassBatchLoss {
        ClassBatchLoss::new(goal, Bandwidth::Score(0.4), pool, mix, 0)
    }

    #[test]
    fn a_batch_alone_has_the_loss_and_gradient_of_all_its_rows() {
        let (sample, scores) = batch(200, 0, 3);
        let goal = goal("accuracy @ recall(b)>=0.9");
        let (mut v, mut whole) = (vec![0.0; 600], vec![0.0; 600]);
        let loss = fresh(&goal, 1, 0.0).evaluate(&sample, &scores, &mut v).unwrap();
        let full =
            ClassIco::new(&goal, Bandwidth::Score(0.4)).evaluate(&sample, &scores, &mut whole).unwrap();
        assert_eq!((loss, v), (full, whole));
    }

    #[test]
    fn the_newest_batch_has_its_share_of_the_pools_gradient_times_the_number_of_batches() {
        let goal = goal("macro-f1 @ recall(b)>=0.8");
        let batches: Vec<_> = (0..3).map(|seed| batch(100, seed, 3)).collect();
        let mut loss = fresh(&goal, 2, 0.0);
        let mut v = vec![0.0; 300];
        for (sample, scores) in &batches {
            loss.evaluate(sample, scores, &mut v).unwrap();
        }
        let (pool, scores) = loss.pool().unwrap();
        assert_eq!((pool.len(), scores), (200, &[&batches[1].1[..], &batches[2].1].concat()[..]));
        let mut whole = vec![0.0; 600];
        ClassIco::new(&goal, Bandwidth::Score(0.4)).evaluate(pool, scores, &mut whole).unwrap();
        let most = whole.iter().fold(0.0f32, |most, v| most.max(v.abs()));
        // Shifts of the pool are solved from those of the last one, to 1e-6 of a rate.
        assert!(v.iter().zip(&whole[300..]).all(|(v, part)| (v - 2.0 * part).abs() < 1e-3 * most));
    }

    #[test]
    fn a_state_goes_on_where_it_was_and_classes_may_lack_rows() {
        let goal = goal("worst(recall)");
        let (mut first, mut second) = (fresh(&goal, 3, 0.5), fresh(&goal, 3, 0.5));
        let mut v = vec![0.0; 150];
        for seed in 0..5 {
            let (sample, scores) = batch(50, seed, if seed == 2 { 1 } else { 3 });
            assert!(first.evaluate(&sample, &scores, &mut v).unwrap().is_finite());
        }
        second.restore(&first.state()).unwrap();
        let (sample, scores) = batch(50, 9, 2);
        let mut again = v.clone();
        let a = first.evaluate(&sample, &scores, &mut v).unwrap();
        let b = second.evaluate(&sample, &scores, &mut again).unwrap();
        assert_eq!((a, v), (b, again));
        let mut damaged = first.state();
        damaged.entries.remove("pool scores");
        assert!(second.restore(&damaged).is_err());
        assert!(second.restore(&first.state().with("shifts", vec![f64::NAN; 3])).is_err());
    }
}
