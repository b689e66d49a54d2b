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

mod aim;
mod alone;
mod around;
mod auto;
mod bandwidth;
mod batch_loss;
mod check;
mod class_batch_loss;
mod classes;
mod combined;
mod desk;
mod full_batch;
mod judge;
mod level;
pub mod method;
mod mini_batch;
mod observer;
mod pool;
pub mod queries;
mod rotate;
pub mod selection;
pub(crate) mod settings;
mod stage;
mod standard;
mod task;

pub use alone::fit_alone;
pub use auto::{Baseline, Candidate, Fit, fit};
pub use batch_loss::{BatchLoss, BatchOptions};
pub use class_batch_loss::{ClassBatchLoss, ClassBatchOptions};
pub use classes::fit_classes;
pub use combined::{Combined, Member};
pub use judge::{Gain, Judge, if_any};
pub use observer::{Detail, Observer, Progress, Silent};
pub use queries::fit_queries;
pub use settings::{
    Bandwidth, BatchOrder, MethodChoice, NamedValue, OptimizerChoice, PositiveWeight, Schedule, Scope,
    Setting, SettingKind, Settings, Thresholds,
};
pub use stage::{Running, Snapshot, StageKind, Store};
pub use standard::Standard;

#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::class::ClassError;
use crate::engine::EngineError;
use crate::message::{quote, setting};
use crate::metric::MetricError;
use crate::model::{Model, ModelError};
use crate::optimizer::{Adagrad, Adam, Optimizer, OptimizerError, Sgd};
use crate::problem::ProblemError;
use crate::rank::RankError;
use crate::sample::SampleError;
use crate::shard::Shard;
use crate::threshold::ThresholdError;

/// A model over the examples of one split, and what is known of them.
pub struct Part<'a> {
    /// The model, holding the split's examples.
    pub model: &'a mut dyn Model,
    /// Their labels, weights and groups.
    pub sample: &'a dyn Shard,
}

impl OptimizerChoice {
    /// The optimizer with the settings' learning rate. `Auto` stands for Adam here, and so
    /// does L-BFGS, which has none.
    fn build(self, settings: &Settings) -> Result<Box<dyn Optimizer>, TrainError> {
        let learning_rate = settings.learning_rate;
        Ok(match self {
            Self::Sgd => Box::new(Sgd::new(learning_rate)?),
            Self::Adagrad => Box::new(Adagrad::new(learning_rate)?),
            Self::Adam | Self::Auto | Self::Lbfgs => Box::new(Adam::new(learning_rate)?),
        })
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
    /// Several classes.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// Queries.
    #[error(transparent)]
    Rank(#[from] RankError),
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
    /// The system has no more threads.
    #[error("cannot start a thread: {message}")]
    Threads {
        /// Why.
        message: String,
    },
    /// Rows elsewhere, which cannot be had.
    #[error("{message}")]
    Elsewhere {
        /// Why.
        message: String,
    },
    /// A setting that makes no sense.
    #[error("{}: expected {expected}", setting(what, found))]
    Setting {
        /// Which setting.
        what: &'static str,
        /// What was found; empty where another setting is what does not suit it.
        found: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// A name that no setting has.
    #[error("there is no setting {}", quote(name))]
    UnknownSetting {
        /// The name.
        name: String,
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
            Self::Class(error) => error.is_no_value(),
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
            Self::Class(
                ClassError::Undefined { .. } | ClassError::Large { .. } | ClassError::Infeasible { .. }
            ) | Self::Threshold(
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
