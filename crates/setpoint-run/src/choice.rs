//! The kinds of model.

use std::fmt;

use serde::Serialize;
use setpoint::train::{Bandwidth, Settings};

use crate::failure::Failure;

/// The kind of model asked for, with its own settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
pub enum ModelChoice {
    /// A weight for each column.
    #[default]
    Linear,
    /// Dense layers, with this many values each.
    Mlp {
        /// Values of each hidden layer.
        hidden: Vec<usize>,
        /// Share of them left out at random while learning.
        dropout: f64,
    },
    /// Convolutions, for images.
    Cnn {
        /// Which network.
        #[serde(rename = "cnn")]
        size: CnnSize,
    },
    /// Boosted trees, grown by LightGBM.
    Trees {
        /// How many configurations are tried.
        search: usize,
        /// Most rounds of a booster; `None`: 400.
        rounds: Option<usize>,
    },
}

/// The networks for images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CnnSize {
    /// That of the paper's reference code.
    #[default]
    Paper,
    /// A hundredth of its work, for small images.
    Small,
}

impl ModelChoice {
    /// Its name on the command line and in model files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Mlp { .. } => "mlp",
            Self::Cnn { .. } => "cnn",
            Self::Trees { .. } => "trees",
        }
    }

    /// Whether it is for images, not for tables.
    #[must_use]
    pub fn takes_images(&self) -> bool {
        matches!(self, Self::Cnn { .. })
    }

    /// Whether it learns from mini-batches alone.
    #[must_use]
    pub fn is_network(&self) -> bool {
        matches!(self, Self::Mlp { .. } | Self::Cnn { .. })
    }

    /// Refuses settings of its own that make no sense.
    ///
    /// # Errors
    /// If there are any.
    pub fn check(&self) -> Result<(), Failure> {
        let counts = match self {
            Self::Linear | Self::Cnn { .. } => Vec::new(),
            Self::Mlp { hidden, .. } => hidden.iter().map(|size| ("hidden", *size, 65_536)).collect(),
            Self::Trees { search, rounds } => {
                vec![("search", *search, 1000), ("rounds", rounds.unwrap_or(1), 100_000)]
            }
        };
        match counts.into_iter().find(|(_, count, most)| !(1..=*most).contains(count)) {
            Some((name, count, most)) => {
                Err(Failure::input(format!("‹{name} {count}›: expected a number from 1 to {most}")))
            }
            None => Ok(()),
        }
    }

    /// The settings that suit it, before anybody has a wish.
    #[must_use]
    pub fn settings(&self) -> Settings {
        match self {
            Self::Linear | Self::Trees { .. } => Settings::default(),
            Self::Mlp { .. } => of_network(256, 0.005),
            Self::Cnn { size: CnnSize::Small } => of_network(128, 0.005),
            Self::Cnn { size: CnnSize::Paper } => of_network(512, 0.001),
        }
    }
}

/// See `docs/decisions.md`.
fn of_network(batch_size: usize, learning_rate: f64) -> Settings {
    Settings {
        batch_size: Some(batch_size),
        learning_rate,
        weight_average: 0.99,
        mix: 0.5,
        bandwidth: Bandwidth::Tail(0.5),
        ..Settings::default()
    }
}

impl fmt::Display for ModelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_and_searches_have_sizes() {
        for size in [0, 70_000] {
            assert!(ModelChoice::Mlp { hidden: vec![8, size], dropout: 0.0 }.check().is_err(), "{size}");
            assert!(ModelChoice::Trees { search: size, rounds: None }.check().is_err(), "{size}");
        }
        assert!(ModelChoice::Trees { search: 12, rounds: Some(0) }.check().is_err());
        assert!(ModelChoice::Mlp { hidden: vec![256, 128], dropout: 0.0 }.check().is_ok());
    }
}
