//! The columns of the tables that compare methods.

use setpoint_report::chart::Tone;

use crate::Experiment;

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Cross-entropy, the paper's baseline.
    CrossEntropy,
    /// Cross-entropy with a positive weight chosen on validation, the baseline that is hard to beat.
    Weighted,
    /// The proxy-Lagrangian: the paper's TFCO.
    Lagrangian,
    /// The pairwise loss, for goals on a limit of fpr.
    Pairwise,
    /// Ico as the paper trains it.
    Ico,
    /// Ico with a pool of scores, beside cross-entropy.
    Mixed,
    /// Setpoint without rotations, so that like the others it learns from the training rows alone.
    Once,
    /// Setpoint as it comes: train and validation rows change places.
    Setpoint,
}

impl Method {
    /// Those that Setpoint is compared with.
    pub const RIVALS: [Self; 4] = [Self::Weighted, Self::Lagrangian, Self::Pairwise, Self::Ico];

    /// Its name in the files and on the command line of an experiment.
    #[must_use]
    pub fn name(self, experiment: Experiment) -> &'static str {
        let linear = experiment == Experiment::Uci;
        match self {
            Self::CrossEntropy => "cross-entropy",
            Self::Weighted => "weighted",
            Self::Lagrangian => "lagrangian",
            Self::Pairwise => "pairwise",
            Self::Ico => "ico",
            Self::Mixed => "ico-mixed",
            Self::Once if linear => "setpoint-once",
            Self::Once => "once",
            Self::Setpoint if linear => "setpoint",
            Self::Setpoint => "auto",
        }
    }

    /// Its name in tables.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Ico => "ico (paper)",
            Self::Mixed => "ico, mixed",
            Self::Once => "Setpoint, once",
            Self::Setpoint => "Setpoint",
            other => other.name(Experiment::Uci),
        }
    }

    /// Its colour in pictures.
    pub(crate) fn tone(self) -> Tone {
        match self {
            Self::Setpoint | Self::Mixed => Tone::Main,
            Self::Ico => Tone::Third,
            Self::Lagrangian => Tone::Other,
            Self::Weighted => Tone::Fourth,
            // Never in one picture.
            Self::Once | Self::Pairwise => Tone::Limit,
            Self::CrossEntropy => Tone::Quiet,
        }
    }
}
