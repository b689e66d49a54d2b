//! Training: a goal, a model on two splits, and settings in; parameters out.
//!
//! ```text
//! cross-entropy (a few positive weights) ─▶ ico from the best of them (a few settings) ─▶ selection
//! ```
//!
//! or one ico, lagrangian or pairwise stage in the place of the few. Where groups share one threshold,
//! ico's place is taken by multipliers: no threshold can then meet a condition on groups.
//!
//! Every stage is a [`Loss`](method::Loss) minimised by an optimizer; the best
//! iterate by the goal's exact value on the validation split is kept. Cross-entropy
//! is always run beside, and says what the goal is worth. Loops report to an
//! [`Observer`] and print nothing; a [`Store`] makes runs resumable.

mod alone;
mod auto;
mod bandwidth;
mod batch_loss;
mod check;
mod combined;
mod full_batch;
mod judge;
pub mod method;
mod mini_batch;
mod name;
mod observer;
mod rotate;
mod round;
pub mod selection;
mod stage;
mod standard;
mod task;

pub use alone::fit_alone;
pub use auto::{Baseline, Candidate, Fit, fit};
pub use batch_loss::{BatchLoss, BatchOptions};
pub use combined::{Combined, Member};
pub use judge::{Gain, Judge, if_any};
pub use observer::{Detail, Observer, Progress, Silent};
pub use stage::{Running, Snapshot, StageKind, Store};
pub use standard::Standard;

#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::engine::{EngineError, Inequality};
use crate::message::clip;
use crate::metric::MetricError;
use crate::model::{Model, ModelError};
use crate::optimizer::{Adagrad, AdagradConfig, Adam, AdamConfig, Optimizer, OptimizerError, Sgd, SgdConfig};
use crate::problem::ProblemError;
use crate::sample::SampleError;
use crate::shard::Shard;
use crate::surrogate::Surrogate;
use crate::threshold::ThresholdError;

/// A model over the examples of one split, and what is known of them.
pub struct Part<'a> {
    /// The model, holding the split's examples.
    pub model: &'a mut dyn Model,
    /// Their labels, weights and groups.
    pub sample: &'a dyn Shard,
}

/// How to train.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MethodChoice {
    /// Weighted cross-entropy over a small grid, ico from there, the best averaged.
    #[default]
    Auto,
    /// Ico with the settings as given, from a cross-entropy start.
    Ico,
    /// Cross-entropy alone.
    CrossEntropy,
    /// The proxy-Lagrangian: thresholds as parameters, multipliers moved by exact rates.
    Lagrangian,
    /// Positives against the highest negatives, pair by pair; for goals on a limit of fpr.
    Pairwise,
}

/// How much the positives count in cross-entropy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PositiveWeight {
    /// This many times.
    Fixed(f64),
    /// The best of a small grid by validation.
    Auto,
}

/// The rule that moves the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptimizerChoice {
    /// L-BFGS where the loss is one function of the parameters; Adam on mini-batches, for the
    /// lagrangian method, whose multipliers move, and for slack variables, which do too.
    #[default]
    Auto,
    /// Quasi-Newton on the full batch; thresholds are solved at every evaluation.
    Lbfgs,
    /// Gradient descent.
    Sgd,
    /// Adagrad, as the paper's UCI experiments.
    Adagrad,
    /// Adam.
    Adam,
}

impl OptimizerChoice {
    /// The optimizer with the settings' learning rate. `Auto` stands for Adam here, and so
    /// does L-BFGS, which has none.
    fn build(self, settings: &Settings) -> Result<Box<dyn Optimizer>, TrainError> {
        let learning_rate = settings.learning_rate;
        Ok(match self {
            Self::Sgd => Box::new(Sgd::new(SgdConfig { learning_rate, ..SgdConfig::default() })?),
            Self::Adagrad => {
                Box::new(Adagrad::new(AdagradConfig { learning_rate, ..AdagradConfig::default() })?)
            }
            Self::Adam | Self::Auto | Self::Lbfgs => {
                Box::new(Adam::new(AdamConfig { learning_rate, ..AdamConfig::default() })?)
            }
        })
    }
}

/// Where ico's thresholds come from with first-order optimizers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thresholds {
    /// The smooth conditions, solved at every step.
    #[default]
    Smooth,
    /// The unrelaxed conditions, solved at every step.
    Exact,
    /// Algorithm 1: tracked to first order, corrected every `correct_every` steps.
    Track,
    /// Held until corrected every `correct_every` steps: as the paper does for areas.
    Hold,
}

impl Thresholds {
    /// Whether they stay as they are within a step, and corrections set them.
    fn corrected(self) -> bool {
        matches!(self, Self::Track | Self::Hold)
    }
}

/// The width of the surrogate's switch, 1 / sharpness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bandwidth {
    /// In standard deviations of the scores.
    Deviations(f64),
    /// In units of the tail of the scores that the goal's conditions look at.
    Tail(f64),
    /// In units of the scores themselves: the paper's 1 / τ.
    Score(f64),
}

/// How the learning rate goes over a stage of mini-batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// The same throughout.
    #[default]
    Constant,
    /// Half a cosine, from the learning rate down to 0.
    Cosine,
}

/// How rows are dealt into mini-batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BatchOrder {
    /// Shuffled.
    #[default]
    Shuffled,
    /// Shuffled, with the same share of positives in every batch.
    Stratified,
}

/// What thresholds are a function of when they are differentiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All parameters.
    #[default]
    All,
    /// Those of the last layer: the layers before it learn with the thresholds held.
    Head,
}

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How to train.
    pub method: MethodChoice,
    /// Weight of the positives in cross-entropy.
    pub positive_weight: PositiveWeight,
    /// The optimizer.
    pub optimizer: OptimizerChoice,
    /// Step size of first-order optimizers.
    pub learning_rate: f64,
    /// Step size of the lagrangian method's multipliers. Under fpr<=1% they settle at 12 to 16 on Letter
    /// and IJCNN1: within 200 steps at the default, 1,500 and more at 0.05; at 3 they circle.
    pub dual_learning_rate: f64,
    /// Rows per step; all of them where `None`, or 512 for models that learn from mini-batches alone.
    pub batch_size: Option<usize>,
    /// Most gradient evaluations of a stage; by default 30 for L-BFGS, 500 for full-batch
    /// first-order steps, and `epochs` of mini-batches.
    pub steps: Option<u64>,
    /// Passes over the rows in mini-batches.
    pub epochs: u64,
    /// How rows are dealt into mini-batches.
    pub batches: BatchOrder,
    /// How the learning rate goes over a stage of mini-batches.
    pub schedule: Schedule,
    /// Pull of the weights towards zero on mini-batches, in proportion to the learning rate.
    pub weight_decay: f64,
    /// Memory of the moving average of the parameters that mini-batches end in; 0: none is kept.
    pub weight_average: f64,
    /// Steps without a better validation value before a first-order stage ends.
    pub patience: u64,
    /// Where thresholds come from.
    pub thresholds: Thresholds,
    /// N: steps between corrections, and between looks at the validation split.
    pub correct_every: u64,
    /// k: mini-batches that a correction is made from.
    pub correct_batches: usize,
    /// Mini-batches whose scores thresholds are solved on.
    pub pool: usize,
    /// Share of the cross-entropy gradient mixed into ico's on mini-batches.
    pub mix: f64,
    /// Ico on mini-batches from the model's own start, with cross-entropy alone for this share of the
    /// steps; `None`: from the best cross-entropy fit.
    pub warm_up: Option<f64>,
    /// What thresholds are a function of, on mini-batches.
    pub scope: Scope,
    /// The smooth stand-in for decisions.
    pub surrogate: Surrogate,
    /// Its width.
    pub bandwidth: Bandwidth,
    /// ρ of the scale-free ridge ρ |w|² / sd(s)².
    pub ridge: f64,
    /// ρ of the paper's penalty on (dg/dt)².
    pub regulariser: f64,
    /// How limits are met.
    pub inequality: Inequality,
    /// One threshold for all groups: conditions on groups are then met by the model.
    pub shared_threshold: bool,
    /// Thresholds that stand for an area.
    pub bins: Option<usize>,
    /// Rows of the data that `k=` will be asked of; by default those of validation.
    pub rows_scored: Option<u64>,
    /// How often train and validation rows change places; the fits are averaged. 1: never. For linear
    /// models; the validation rows are then no longer held out from the result.
    pub rotations: usize,
    /// Seed of the order of mini-batches.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            method: MethodChoice::Auto,
            positive_weight: PositiveWeight::Auto,
            optimizer: OptimizerChoice::Auto,
            learning_rate: 0.05,
            dual_learning_rate: 0.5,
            batch_size: None,
            steps: None,
            epochs: 20,
            batches: BatchOrder::Shuffled,
            schedule: Schedule::Constant,
            weight_decay: 0.0,
            weight_average: 0.0,
            patience: u64::MAX,
            thresholds: Thresholds::Smooth,
            correct_every: 10,
            correct_batches: 10,
            pool: 20,
            mix: 0.0,
            warm_up: None,
            scope: Scope::All,
            surrogate: Surrogate::Sigmoid,
            bandwidth: Bandwidth::Deviations(0.1),
            ridge: 0.0,
            regulariser: 0.0,
            inequality: Inequality::ActiveSet,
            shared_threshold: false,
            bins: None,
            rows_scored: None,
            rotations: 1,
            seed: 0,
        }
    }
}

/// Why a run ended without a model.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum TrainError {
    /// The engine refused a step.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The model refused.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The optimizer refused.
    #[error(transparent)]
    Optimizer(#[from] OptimizerError),
    /// Labels, weights, groups or scores.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A metric has no value.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// No thresholds.
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    /// The observer ended the run.
    #[error("stopped before the end")]
    Stopped,
    /// The loss is no longer a number.
    #[error("the loss is not finite at step {step}; try a smaller learning rate")]
    Diverged {
        /// The step.
        step: u64,
    },
    /// A checkpoint could not be kept.
    #[error("cannot write the checkpoint: {message}")]
    Checkpoint {
        /// Why.
        message: String,
    },
    /// A setting that makes no sense.
    #[error("{what} {}: expected {expected}", clip(found))]
    Setting {
        /// Which setting.
        what: &'static str,
        /// What was found.
        found: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// A method that has no loss for the goal.
    #[error("the {method} method cannot train for {goal:?}: {reason}; it can for {able}")]
    Method {
        /// Which method.
        method: &'static str,
        /// The goal.
        goal: String,
        /// What of it the method has no words for.
        reason: &'static str,
        /// The goals that it can express.
        able: &'static str,
    },
    /// No stage came to usable parameters.
    #[error("the goal cannot be met on the {split} split: {reason}")]
    Infeasible {
        /// Which split.
        split: &'static str,
        /// Why.
        reason: String,
    },
}

impl TrainError {
    /// Whether the goal has no value on these scores; see [`MetricError::is_no_value`].
    #[must_use]
    pub fn is_no_value(&self) -> bool {
        match self {
            Self::Metric(error) => error.is_no_value(),
            Self::Threshold(error) | Self::Engine(EngineError::Threshold(error)) => error.is_no_value(),
            _ => false,
        }
    }

    /// Whether rows lack a class or a group.
    fn lacks_examples(&self) -> bool {
        matches!(
            self,
            Self::Engine(EngineError::Problem(ProblemError::Sample(_) | ProblemError::Groups { .. }))
                | Self::Sample(SampleError::OneClass { .. })
        )
    }

    /// Whether other scores could do better: a line search may step back.
    fn is_about_the_scores(&self) -> bool {
        matches!(
            self,
            Self::Threshold(
                ThresholdError::Infeasible { .. }
                    | ThresholdError::NotSettled { .. }
                    | ThresholdError::Metric(_)
            ) | Self::Engine(EngineError::Threshold(
                ThresholdError::Infeasible { .. }
                    | ThresholdError::NotSettled { .. }
                    | ThresholdError::Metric(_)
            ))
        )
    }
}
