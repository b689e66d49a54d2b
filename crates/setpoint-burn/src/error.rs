//! Why a loss was refused.

use setpoint::certify::CertifyError;
use setpoint::metric::MetricError;
use setpoint::sample::SampleError;
use setpoint::train::TrainError;
use thiserror::Error;

/// Why a loss, a value or a certificate was refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum LossError {
    /// A setting that makes no sense.
    #[error("{what} {found}: expected {expected}")]
    Setting {
        /// Which setting.
        what: &'static str,
        /// What was found.
        found: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// A tensor could not be read from its device.
    #[error("cannot read the {what} from the device: {message}")]
    Read {
        /// Which tensor.
        what: &'static str,
        /// What Burn says.
        message: String,
    },
    /// Not one label for each score.
    #[error("scores of shape {shape:?} with {labels} labels: expected one label for each score")]
    Length {
        /// The shape of the scores.
        shape: Vec<usize>,
        /// The number of labels.
        labels: usize,
    },
    /// A label that is neither 0 nor 1.
    #[error("label {value} of example {index}: expected 0 or 1")]
    Label {
        /// Position, from 0.
        index: usize,
        /// What was found.
        value: f32,
    },
    /// A score is NaN or infinite.
    #[error("score {value} of example {index} is not a finite number; try a smaller learning rate")]
    Score {
        /// Position, from 0.
        index: usize,
        /// What was found.
        value: f32,
    },
    /// Nothing has been scored yet.
    #[error("the pool is empty: the goal has a value there after the first batch")]
    EmptyPool,
    /// A state that is not of this loss.
    #[error("the state cannot be restored: {reason}")]
    State {
        /// What does not fit.
        reason: String,
    },
    /// The examples do not serve the goal.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The engine refused.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// The goal has no value.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// No certificate.
    #[error(transparent)]
    Certify(#[from] CertifyError),
}
