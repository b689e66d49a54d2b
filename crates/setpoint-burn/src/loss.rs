//! The loss as Burn sees it: tensors in, a scalar out whose backward pass hands v to the network.

use burn_tensor::{DType, Tensor, TensorCreationOptions, TensorData};
use setpoint::certify::{Certificate, certify_goal};
use setpoint::engine::EngineOptions;
use setpoint::goal::{Constraint, Top};
use setpoint::metric::{self, Value};
use setpoint::problem::{Problem, ProblemOptions};
use setpoint::surrogate::Surrogate;
use setpoint::train::method::Loss;
use setpoint::train::{Bandwidth, BatchLoss, BatchOptions, TrainError};
use setpoint::{Goal, Sample};

use crate::host::{self, Labels};
use crate::{LossError, LossState};

/// Settings of a [`GoalLoss`]. The defaults are what served networks best.
#[derive(Clone, Debug, PartialEq)]
pub struct GoalLossConfig {
    /// Batches whose scores thresholds are solved on, the newest included; 1 for the batch alone.
    pub pool_batches: usize,
    /// Share of cross-entropy in the gradient: half suits networks with capacity to spare; 0 for the
    /// goal's loss alone.
    pub mix: f64,
    /// Batches with cross-entropy alone at the start; about a third of all is a good number.
    pub warmup: u64,
    /// Width of the surrogate. `Tail` follows the scores at the threshold.
    pub bandwidth: Bandwidth,
    /// How many times a positive counts in the cross-entropy; not in the goal.
    pub positive_weight: f64,
    /// The smooth stand-in for decisions.
    pub surrogate: Surrogate,
}

impl Default for GoalLossConfig {
    fn default() -> Self {
        Self {
            pool_batches: 20,
            mix: 0.5,
            warmup: 0,
            bandwidth: Bandwidth::Tail(0.5),
            positive_weight: 1.0,
            surrogate: Surrogate::Sigmoid,
        }
    }
}

/// The goal's smooth loss, differentiated through its thresholds, mixed with cross-entropy.
///
/// Thresholds are solved on a pool, the scores of the last batches as they were when computed; the
/// gradient is that of the newest. Batches of any class balance will do: where the pool itself
/// lacks a class, or cannot meet the goal, that step is [cross-entropy alone](Self::alone).
#[derive(Debug)]
pub struct GoalLoss {
    goal: Goal,
    loss: BatchLoss,
}

impl GoalLoss {
    /// A loss for this goal.
    ///
    /// # Errors
    /// If the goal is on groups, asks for the top k without saying of how many, or is one that
    /// cannot be trained for; or if a setting is out of range.
    pub fn new(goal: Goal, config: GoalLossConfig) -> Result<Self, LossError> {
        check(&config)?;
        let refused = |expected| Err(LossError::Setting { what: "goal", found: goal.to_string(), expected });
        if goal.column().is_some() {
            return refused("conditions on all examples, not on groups");
        }
        if goal.constraints.iter().any(|c| matches!(c, Constraint::Top(Top::Count { of: None, .. }))) {
            return refused(
                "a share, as in top=2% or k=100 of 5000: batches do not know the rows to choose from",
            );
        }
        let any = Sample::new(vec![true, false])?;
        Problem::new(&goal, &any, &ProblemOptions::default())
            .map_err(|error| TrainError::Engine(error.into()))?;
        let options = BatchOptions {
            engine: EngineOptions { surrogate: config.surrogate, ..EngineOptions::default() },
            bandwidth: config.bandwidth,
            pool: config.pool_batches,
            mix: config.mix,
            warm_up: config.warmup,
            positive_weight: config.positive_weight,
            ..BatchOptions::default()
        };
        Ok(Self { loss: BatchLoss::new(&goal, options), goal })
    }

    /// The loss of a batch; its derivative by each score is v, the goal's through its thresholds.
    ///
    /// `scores` are logits of any shape, `labels` as many: `bool`s, or a tensor of 0 and 1. The
    /// scores are read once to the host, which waits for the device.
    ///
    /// # Errors
    /// If a score is not finite, a label not 0 or 1, or their numbers differ. Nothing is kept of
    /// such a batch.
    pub fn forward<const D: usize, L: Labels + ?Sized>(
        &mut self,
        scores: Tensor<D>,
        labels: &L,
    ) -> Result<Tensor<1>, LossError> {
        let (values, labels) = host::batch(&scores, labels)?;
        let mut v = vec![0.0; values.len()];
        let value = self.loss.evaluate(&Sample::new(labels)?, &values, &mut v)?;
        // In 32 bits also for a network in 16: v is of the size of 1 / batch.
        let options = TensorCreationOptions::new(scores.device()).with_dtype(DType::F32);
        let v = Tensor::from_data(TensorData::new(v, scores.shape()), options);
        let product = (scores.cast(DType::F32) * v).sum();
        // The product has the gradient wanted; its own value is taken off again, to the last bit.
        Ok(product.clone() - product.detach() + value)
    }

    /// The goal's exact value on scores that are not trained on, and where it is attained.
    ///
    /// # Errors
    /// If the batch is bad, or no decisions on it meet the goal.
    pub fn value<const D: usize, L: Labels + ?Sized>(
        &self,
        scores: &Tensor<D>,
        labels: &L,
    ) -> Result<Value, LossError> {
        let (scores, labels) = host::batch(scores, labels)?;
        Ok(metric::value_at(&self.goal, &Sample::new(labels)?, &scores)?)
    }

    /// The goal's exact value on the pool, with threshold and rates there: for logs.
    ///
    /// # Errors
    /// If there has been no batch yet, or no decisions on the pool meet the goal.
    pub fn pool_value(&self) -> Result<Value, LossError> {
        let (sample, scores) = self.loss.pool().ok_or(LossError::EmptyPool)?;
        Ok(metric::value_at(&self.goal, sample, scores)?)
    }

    /// The threshold to ship: the goal's conditions hold at it on new data, with this confidence.
    ///
    /// `scores` must be of examples used neither for training nor for any choice.
    ///
    /// # Errors
    /// If there are too few examples (with the number needed), or the goal has no such threshold.
    pub fn certify<const D: usize, L: Labels + ?Sized>(
        &self,
        scores: &Tensor<D>,
        labels: &L,
        confidence: f64,
    ) -> Result<Certificate, LossError> {
        let (scores, labels) = host::batch(scores, labels)?;
        Ok(certify_goal(&self.goal, &Sample::new(labels)?, &scores, confidence)?)
    }

    /// The goal.
    #[must_use]
    pub fn goal(&self) -> &Goal {
        &self.goal
    }

    /// The thresholds of the last step that had any, where the smooth conditions hold on the pool.
    #[must_use]
    pub fn thresholds(&self) -> Option<&[f64]> {
        self.loss.thresholds()
    }

    /// Batches seen.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.loss.steps()
    }

    /// Batches, beside those of the warm-up, that were cross-entropy alone: the pool lacked a class or
    /// could not meet the goal.
    #[must_use]
    pub fn alone(&self) -> u64 {
        self.loss.alone()
    }

    /// All that the next step depends on besides its batch.
    #[must_use]
    pub fn state(&self) -> LossState {
        LossState { goal: self.goal.to_string(), entries: self.loss.state() }
    }

    /// Goes on from a saved state.
    ///
    /// # Errors
    /// If it is of another goal, or damaged.
    pub fn restore(&mut self, state: &LossState) -> Result<(), LossError> {
        let refused = |reason: String| LossError::State { reason };
        if state.goal != self.goal.to_string() {
            let (other, own) = (&state.goal, &self.goal);
            return Err(refused(format!("it is of the goal {other:?}, and this loss is for \"{own}\"")));
        }
        self.loss.restore(&state.entries).map_err(|error| refused(error.to_string()))
    }
}

fn check(config: &GoalLossConfig) -> Result<(), LossError> {
    let refused = |what, found: String, expected| Err(LossError::Setting { what, found, expected });
    let positive = |value: f64| value.is_finite() && value > 0.0;
    if config.pool_batches == 0 {
        return refused("pool_batches", "0".into(), "at least 1, the batch itself");
    }
    if !(0.0..=1.0).contains(&config.mix) {
        return refused("mix", config.mix.to_string(), "a share between 0 and 1");
    }
    if !positive(config.positive_weight) {
        return refused("positive_weight", config.positive_weight.to_string(), "a positive number");
    }
    let (Bandwidth::Deviations(width) | Bandwidth::Tail(width) | Bandwidth::Score(width)) = config.bandwidth;
    if !positive(width) {
        return refused("bandwidth", width.to_string(), "a positive number");
    }
    Ok(())
}
