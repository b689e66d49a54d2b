//! The loss of a goal of several classes on mini-batches: shifts on a pool, beside cross-entropy.
//!
//! As [`BatchLoss`](super::BatchLoss) does it for two classes: shifts and slopes are solved on the scores of the last
//! batches, and the newest batch's share of the gradient is used, times the number of batches.

use super::method::{ClassCrossEntropy, Loss};
use super::pool::{Balance, Pool, REFRESH, sharpness};
use super::{Bandwidth, Detail, TrainError};
use crate::class::{Classes, ShiftEngine};
use crate::goal::ClassGoal;
use crate::optimizer::{State, damaged};
use crate::sample::Sample;
use crate::shard::Shard;

/// Settings of a [`ClassBatchLoss`].
#[derive(Clone, Copy, Debug)]
pub struct ClassBatchOptions {
    /// Width of the surrogate.
    pub bandwidth: Bandwidth,
    /// Batches whose scores shifts are solved on, the newest included.
    pub pool: usize,
    /// Share of cross-entropy in the gradient.
    pub mix: f64,
    /// Batches of cross-entropy alone at the start.
    pub warm_up: u64,
}

/// The goal's loss through its shifts, batch by batch, beside cross-entropy.
#[derive(Debug)]
pub struct ClassBatchLoss {
    goal: ClassGoal,
    options: ClassBatchOptions,
    engine: Option<ShiftEngine>,
    cross_entropy: ClassCrossEntropy,
    pool: Pool,
    shifts: Option<Vec<f64>>,
    ties: Option<Vec<u32>>,
    sharpness: Option<f64>,
    balance: Balance,
    steps: u64,
    /// Gradients of the pool's scores, and of cross-entropy.
    pooled: Vec<f32>,
    beside: Vec<f32>,
    detail: Option<Detail>,
}

impl ClassBatchLoss {
    /// A loss for this goal.
    #[must_use]
    pub fn new(goal: &ClassGoal, options: ClassBatchOptions) -> Self {
        Self {
            goal: goal.clone(),
            options,
            engine: None,
            cross_entropy: ClassCrossEntropy::new(0.0),
            pool: Pool::none(),
            shifts: None,
            ties: None,
            sharpness: None,
            balance: Balance::default(),
            steps: 0,
            pooled: Vec::new(),
            beside: Vec::new(),
            detail: None,
        }
    }

    /// The shifts of the last step that had any.
    #[must_use]
    pub fn shifts(&self) -> Option<&[f64]> {
        self.shifts.as_deref()
    }

    /// The examples that shifts are solved on, and their scores; none before the first batch.
    #[must_use]
    pub fn pool(&self) -> Option<(&Sample, &[f32])> {
        self.pool.held()
    }

    /// The goal's loss on the pool, and its derivative by the scores of the newest batch as if they were all.
    fn goal_loss(&mut self, v: &mut [f32]) -> Result<f64, TrainError> {
        let (sample, scores) = (&self.pool.sample, &self.pool.scores);
        let classes = Classes::of(&self.goal, sample)?;
        if self.sharpness.is_none() || self.steps.is_multiple_of(REFRESH) {
            self.sharpness = Some(1.0 / self.options.bandwidth.of_classes(&classes, scores));
        }
        let sharpness = self.sharpness.unwrap_or(f64::NAN);
        let engine = match &mut self.engine {
            Some(engine) => engine,
            None => {
                let mut engine = ShiftEngine::new(&self.goal, &classes, sharpness)?;
                if let (Some(shifts), Some(ties)) = (&self.shifts, &self.ties) {
                    engine.start_from(shifts);
                    engine.tie_as(ties);
                }
                self.engine.insert(engine)
            }
        };
        engine.set_sharpness(sharpness);
        self.pooled.resize(scores.len(), 0.0);
        let step = engine.step(&classes, scores, &mut self.pooled)?;
        self.detail = Some(Detail::of_classes(&step));
        self.shifts = Some(step.shifts.to_vec());
        let (loss, share) = (step.loss, scores.len() as f32 / v.len() as f32);
        self.ties = Some(engine.ties());
        let newest = &self.pooled[scores.len() - v.len()..];
        v.iter_mut().zip(newest).for_each(|(v, pooled)| *v = share * pooled);
        Ok(loss)
    }
}

impl Loss for ClassBatchLoss {
    /// The loss of a batch, which is kept in the pool.
    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        let batch = rows.whole();
        Classes::of(&self.goal, batch)?.check_scores(scores)?;
        self.steps += 1;
        self.pool.push(batch, scores, self.options.pool);
        let ClassBatchOptions { mix, warm_up, .. } = self.options;
        if self.steps <= warm_up || mix == 1.0 {
            return self.cross_entropy.evaluate(rows, scores, v);
        }
        let goal = match self.goal_loss(v) {
            Ok(goal) => goal,
            Err(error) if error.is_about_the_scores() => return self.cross_entropy.evaluate(rows, scores, v),
            Err(error) => return Err(error),
        };
        if mix == 0.0 {
            return Ok(goal);
        }
        self.beside.resize(scores.len(), 0.0);
        let entropy = self.cross_entropy.evaluate(rows, scores, &mut self.beside)?;
        Ok(self.balance.mix(mix, (entropy, &self.beside), goal, [v, &mut []], |_| {}))
    }

    fn detail(&self) -> Option<Detail> {
        self.detail.clone()
    }

    fn state(&self) -> State {
        State::default()
            .with("steps", vec![self.steps])
            .with_some("shifts", self.shifts.clone())
            .with_some("ties", self.ties.clone())
            .with_some("sharpness", self.sharpness.map(|sharpness| vec![sharpness]))
            .with_all("", self.balance.state())
            .with_all("", self.pool.state())
    }

    fn restore(&mut self, state: &State) -> Result<(), TrainError> {
        let count = self.goal.classes.len();
        let [steps] = state.array("steps")?;
        let pool = Pool::restored(state, count)?;
        let shifts: Option<&[f64]> = state.find("shifts")?;
        if !shifts.is_none_or(|found| found.len() == count && found.iter().all(|shift| shift.is_finite())) {
            return Err(damaged("shifts").into());
        }
        let (sharpness, balance) = (sharpness(state)?, Balance::restored(state)?);
        self.shifts = shifts.map(<[f64]>::to_vec);
        self.ties = state.find("ties")?.map(<[u32]>::to_vec);
        (self.sharpness, self.balance, self.pool, self.steps) = (sharpness, balance, pool, steps);
        self.engine = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::method::ClassIco;

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

    fn options(pool: usize, mix: f64) -> ClassBatchOptions {
        ClassBatchOptions { bandwidth: Bandwidth::Score(0.4), pool, mix, warm_up: 0 }
    }

    #[test]
    fn a_batch_alone_has_the_loss_and_gradient_of_all_its_rows() {
        let (sample, scores) = batch(200, 0, 3);
        let goal = goal("accuracy @ recall(b)>=0.9");
        let (mut v, mut whole) = (vec![0.0; 600], vec![0.0; 600]);
        let loss = ClassBatchLoss::new(&goal, options(1, 0.0)).evaluate(&sample, &scores, &mut v).unwrap();
        let full =
            ClassIco::new(&goal, Bandwidth::Score(0.4)).evaluate(&sample, &scores, &mut whole).unwrap();
        assert_eq!((loss, v), (full, whole));
    }

    #[test]
    fn the_newest_batch_has_its_share_of_the_pools_gradient_times_the_number_of_batches() {
        let goal = goal("macro-f1 @ recall(b)>=0.8");
        let batches: Vec<_> = (0..3).map(|seed| batch(100, seed, 3)).collect();
        let mut loss = ClassBatchLoss::new(&goal, options(2, 0.0));
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
        ["worst(recall)", "accuracy @ recall(b)>=0.9", "accuracy @ recall(b)>=0.99, precision(b)>=0.99"]
            .into_iter()
            .for_each(a_state_goes_on_where_it_was);
    }

    fn a_state_goes_on_where_it_was(text: &str) {
        let goal = goal(text);
        let (mut first, mut second) =
            (ClassBatchLoss::new(&goal, options(3, 0.5)), ClassBatchLoss::new(&goal, options(3, 0.5)));
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
        assert_eq!((a, v), (b, again), "{text}");
        let mut damaged = first.state();
        damaged.entries.remove("pool scores");
        assert!(second.restore(&damaged).is_err());
        assert!(second.restore(&first.state().with("shifts", vec![f64::NAN; 3])).is_err());
    }
}
