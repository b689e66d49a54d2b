//! Why a run ended early: one message, and what kind of ending it is.

use std::error::Error;
use std::fmt;

use setpoint::artifact::{ArtifactError, WriteError};
use setpoint::certify::CertifyError;
use setpoint::class::ClassError;
use setpoint::engine::EngineError;
use setpoint::goal::ParseError;
use setpoint::metric::MetricError;
use setpoint::model::ModelError;
use setpoint::rank::RankError;
use setpoint::sample::SampleError;
use setpoint::scratch::ScratchError;
use setpoint::threshold::ThresholdError;
use setpoint::train::TrainError;
use setpoint_data::{EncodeError, LabelError, SplitError};
use setpoint_trees::TreesError;

/// What kind of ending it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// It ran, and the answer is no.
    No,
    /// Bad usage or input.
    Input,
    /// Ctrl-C.
    Interrupted,
}

/// One message and the kind of ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind.
    pub kind: FailureKind,
    /// What was found, what was expected, what to do.
    pub message: String,
}

impl Failure {
    /// It ran, and the answer is no.
    pub fn no(message: impl fmt::Display) -> Self {
        Self { kind: FailureKind::No, message: message.to_string() }
    }

    /// Bad usage or input.
    pub fn input(message: impl fmt::Display) -> Self {
        Self { kind: FailureKind::Input, message: message.to_string() }
    }

    /// Ctrl-C.
    pub fn interrupted(message: impl fmt::Display) -> Self {
        Self { kind: FailureKind::Interrupted, message: message.to_string() }
    }

    /// The same, with what was being done in front.
    pub fn context(self, what: impl fmt::Display) -> Self {
        Self { kind: self.kind, message: format!("{what}: {}", self.message) }
    }
}

/// The message and its causes, those left out that the message repeats already.
fn chain(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let text = next.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        cause = next.source();
    }
    message
}

macro_rules! input_errors {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::input(chain(&error))
            }
        })*
    };
}

input_errors!(
    ArtifactError,
    WriteError,
    ParseError,
    ModelError,
    SampleError,
    ScratchError,
    setpoint_data::Error,
    EncodeError,
    LabelError,
    SplitError,
    std::io::Error,
    serde_json::Error,
);

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl Error for Failure {}

impl From<MetricError> for Failure {
    fn from(error: MetricError) -> Self {
        let kind = if error.is_no_value() { FailureKind::No } else { FailureKind::Input };
        Self { kind, message: chain(&error) }
    }
}

impl From<ThresholdError> for Failure {
    fn from(error: ThresholdError) -> Self {
        let no = error.is_no_value() || matches!(error, ThresholdError::NotSettled { .. });
        let kind = if no { FailureKind::No } else { FailureKind::Input };
        Self { kind, message: chain(&error) }
    }
}

impl From<ClassError> for Failure {
    fn from(error: ClassError) -> Self {
        let kind = if error.is_no_value() { FailureKind::No } else { FailureKind::Input };
        Self { kind, message: chain(&error) }
    }
}

impl From<RankError> for Failure {
    fn from(error: RankError) -> Self {
        let kind = if matches!(error, RankError::NoneRelevant { .. }) {
            FailureKind::No
        } else {
            FailureKind::Input
        };
        Self { kind, message: chain(&error) }
    }
}

impl From<CertifyError> for Failure {
    fn from(error: CertifyError) -> Self {
        let kind = match &error {
            CertifyError::TooFew { .. }
            | CertifyError::TooFewEntities { .. }
            | CertifyError::TooFewDraws { .. }
            | CertifyError::NoneCertified { .. }
            | CertifyError::NoShifts { .. }
            | CertifyError::NoneAtPrevalence { .. }
            | CertifyError::Contradiction { .. } => FailureKind::No,
            _ => FailureKind::Input,
        };
        Self { kind, message: chain(&error) }
    }
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        let message = chain(&error);
        match error {
            TrainError::Threshold(error) | TrainError::Engine(EngineError::Threshold(error)) => error.into(),
            TrainError::Metric(error) => error.into(),
            TrainError::Class(error) => error.into(),
            TrainError::Rank(error) => error.into(),
            TrainError::Infeasible { .. } | TrainError::Diverged { .. } => Self::no(message),
            TrainError::Stopped => Self::interrupted(message),
            _ => Self::input(message),
        }
    }
}

impl From<TreesError> for Failure {
    fn from(error: TreesError) -> Self {
        match error {
            TreesError::Train(error) => error.into(),
            other => Self::input(chain(&other)),
        }
    }
}
