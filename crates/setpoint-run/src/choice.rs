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
    /// The best of several kinds, by the goal's value on validation.
    Auto {
        /// The kinds, the simplest first.
        #[serde(skip)]
        kinds: Vec<ModelChoice>,
    },
    /// The average of a linear model and boosted trees, which `auto` makes of what it has tried.
    Average,
    /// Boosted trees, grown by LightGBM.
    Trees {
        /// How many configurations are tried; `None`: as many as the size of the data bears.
        search: Option<usize>,
        /// Most rounds of a booster; `None`: 400.
        rounds: Option<usize>,
    },
}

/// Configurations of boosters that are tried, most and least.
const SEARCH: (usize, usize) = (12, 3);
/// Values of the train rows over all configurations that the search is cut to.
const SEARCHED_VALUES: usize = 60_000_000;

/// How many configurations of boosters data of this size bears.
pub(crate) fn searched(rows: usize, columns: usize) -> usize {
    (SEARCHED_VALUES / (rows * columns).max(1)).clamp(SEARCH.1, SEARCH.0)
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
            Self::Auto { .. } => "auto",
            Self::Average => "average",
        }
    }

    /// For a table: linear, and boosted trees.
    #[must_use]
    pub fn auto(search: Option<usize>, rounds: Option<usize>) -> Self {
        Self::Auto { kinds: vec![Self::Linear, Self::Trees { search, rounds }] }
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
            Self::Linear | Self::Cnn { .. } | Self::Average => Vec::new(),
            Self::Mlp { hidden, .. } => hidden.iter().map(|size| ("hidden", *size, 65_536)).collect(),
            Self::Trees { search, rounds } => {
                vec![("search", search.unwrap_or(1), 1000), ("rounds", rounds.unwrap_or(1), 100_000)]
            }
            Self::Auto { kinds } => return kinds.iter().try_for_each(Self::check),
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
            Self::Linear | Self::Trees { .. } | Self::Auto { .. } | Self::Average => Settings::default(),
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
            assert!(ModelChoice::auto(Some(size), None).check().is_err(), "{size}");
        }
        assert!(ModelChoice::Trees { search: None, rounds: Some(0) }.check().is_err());
        assert!(ModelChoice::Mlp { hidden: vec![256, 128], dropout: 0.0 }.check().is_ok());
    }
}
