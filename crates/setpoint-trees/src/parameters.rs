//! What a booster is asked for, and which of these a search tries.

use std::fmt::{self, Write};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Settings of one booster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// How much of each tree is taken.
    pub learning_rate: f64,
    /// Most leaves of a tree.
    pub leaves: u32,
    /// Fewest rows of a leaf.
    pub min_leaf_rows: u32,
    /// Share of the columns that each tree looks at.
    pub column_share: f64,
    /// Share of the rows that each tree is grown on.
    pub row_share: f64,
    /// Shrinkage of leaf values (λ).
    pub shrinkage: f64,
    /// How much more a positive counts than a negative.
    pub positive_weight: f64,
    /// Whether a row counts by what hangs on the decision about it instead, of a goal in money.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub staked: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            learning_rate: 0.1,
            leaves: 31,
            min_leaf_rows: 20,
            column_share: 1.0,
            row_share: 1.0,
            shrinkage: 0.0,
            positive_weight: 1.0,
            staked: false,
        }
    }
}

/// The first configurations of every search: learning rate, leaves, rows of a leaf, columns, rows,
/// shrinkage, positive weight. The default comes first; each value occurs beside several of the others.
const FIRST: [(f64, u32, u32, f64, f64, f64, f64); 12] = [
    (0.1, 31, 20, 1.0, 1.0, 0.0, 1.0),
    (0.05, 63, 10, 0.8, 0.8, 1.0, 1.0),
    (0.1, 15, 5, 0.8, 1.0, 1.0, 3.0),
    (0.05, 127, 20, 0.6, 0.8, 5.0, 3.0),
    (0.08, 31, 5, 0.6, 0.8, 1.0, 10.0),
    (0.05, 63, 40, 0.8, 1.0, 0.0, 30.0),
    (0.1, 63, 20, 0.6, 0.8, 5.0, 1.0),
    (0.08, 15, 40, 1.0, 0.8, 0.0, 10.0),
    (0.05, 31, 10, 0.6, 0.8, 5.0, 3.0),
    (0.08, 127, 10, 0.8, 0.8, 10.0, 1.0),
    (0.1, 31, 10, 0.8, 0.8, 1.0, 30.0),
    (0.05, 15, 20, 0.6, 1.0, 1.0, 1.0),
];

impl Parameters {
    /// The configurations that a search tries: a fixed dozen, then draws.
    #[must_use]
    pub fn search(count: usize, seed: u64) -> Vec<Self> {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        (0..count)
            .map(|index| match FIRST.get(index) {
                Some(&(
                    learning_rate,
                    leaves,
                    min_leaf_rows,
                    column_share,
                    row_share,
                    shrinkage,
                    positive_weight,
                )) => Self {
                    learning_rate,
                    leaves,
                    min_leaf_rows,
                    column_share,
                    row_share,
                    shrinkage,
                    positive_weight,
                    staked: false,
                },
                None => Self::draw(&mut generator),
            })
            .collect()
    }

    fn draw(generator: &mut ChaCha8Rng) -> Self {
        fn one_of<T: Copy, const N: usize>(generator: &mut ChaCha8Rng, choices: [T; N]) -> T {
            choices[generator.random_range(0..N)]
        }
        Self {
            learning_rate: one_of(generator, [0.05, 0.08, 0.1]),
            leaves: one_of(generator, [15, 31, 63, 127]),
            min_leaf_rows: one_of(generator, [5, 10, 20, 40]),
            column_share: one_of(generator, [0.6, 0.8, 1.0]),
            row_share: one_of(generator, [0.8, 1.0]),
            shrinkage: one_of(generator, [0.0, 1.0, 5.0, 10.0]),
            positive_weight: one_of(generator, [1.0, 3.0, 10.0, 30.0]),
            staked: false,
        }
    }

    /// For log loss, as LightGBM takes it.
    #[must_use]
    pub fn of_log_loss(self, seed: u64, threads: usize) -> String {
        let weight = self.positive_weight;
        format!("objective=binary scale_pos_weight={weight} {}", self.to_text(seed, threads))
    }

    /// As LightGBM takes them. The positive weight is left to the objective.
    ///
    /// Histograms are filled column by column: each is then summed by one thread in the order of the
    /// rows, so that the trees do not depend on the number of threads.
    pub(crate) fn to_text(self, seed: u64, threads: usize) -> String {
        let Self { learning_rate, leaves, min_leaf_rows, column_share, row_share, shrinkage, .. } = self;
        let mut text = format!(
            "learning_rate={learning_rate} num_leaves={leaves} min_data_in_leaf={min_leaf_rows} \
             feature_fraction={column_share} lambda_l2={shrinkage} seed={} {}",
            // LightGBM's seed is a signed number of 32 bits.
            seed % (1 << 31),
            steady(threads)
        );
        if row_share < 1.0 {
            let _ = write!(text, " bagging_fraction={row_share} bagging_freq=1");
        }
        text
    }

    /// What is wrong with the settings, if anything.
    pub(crate) fn check(&self) -> Result<(), setpoint::train::TrainError> {
        let share = |share: f64| share > 0.0 && share <= 1.0;
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let checks = [
            ("learning-rate", self.learning_rate, positive(self.learning_rate), "a positive number"),
            ("leaves", f64::from(self.leaves), (2..=131_072).contains(&self.leaves), "2 to 131072"),
            ("min-leaf-rows", f64::from(self.min_leaf_rows), self.min_leaf_rows <= 1 << 30, "2^30 at most"),
            ("column-share", self.column_share, share(self.column_share), "a share in (0, 1]"),
            ("row-share", self.row_share, share(self.row_share), "a share in (0, 1]"),
            ("shrinkage", self.shrinkage, self.shrinkage.is_finite() && self.shrinkage >= 0.0, "0 or more"),
            ("positive-weight", self.positive_weight, positive(self.positive_weight), "a positive number"),
        ];
        match checks.into_iter().find(|(_, _, good, _)| !good) {
            Some((what, found, _, expected)) => Err(setpoint::train::TrainError::Setting {
                what,
                found: setpoint::message::number(found),
                expected,
            }),
            None => Ok(()),
        }
    }
}

/// Parameters that keep LightGBM quiet and its result the same for any number of threads.
pub(crate) fn steady(threads: usize) -> String {
    format!("num_threads={threads} deterministic=true force_col_wise=true verbosity=-1")
}

/// `rate 0.05, 63 leaves of 10 rows, columns 80%, rows 80%, shrinkage 1, positive weight 3`.
impl fmt::Display for Parameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rate {}, {} leaves of {} rows", self.learning_rate, self.leaves, self.min_leaf_rows)?;
        for (name, share) in [("columns", self.column_share), ("rows", self.row_share)] {
            if share < 1.0 {
                write!(f, ", {name} {}%", (share * 1000.0).round() / 10.0)?;
            }
        }
        if self.shrinkage > 0.0 {
            write!(f, ", shrinkage {}", self.shrinkage)?;
        }
        if self.positive_weight != 1.0 {
            write!(f, ", positive weight {}", self.positive_weight)?;
        }
        if self.staked {
            write!(f, ", weighed by amounts")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_starts_with_the_default_and_goes_on_with_draws_that_the_seed_decides() {
        let first = Parameters::search(20, 1);
        assert_eq!(first[0], Parameters::default());
        assert_eq!(first[..20], Parameters::search(30, 1)[..20]);
        assert_eq!(first[..12], Parameters::search(12, 2)[..]);
        assert_ne!(first, Parameters::search(20, 2));
        assert!(first.iter().all(|parameters| parameters.check().is_ok()));
    }

    #[test]
    fn settings_out_of_range_are_refused_by_name() {
        let wrong = Parameters { column_share: 1.5, ..Parameters::default() };
        assert_eq!(wrong.check().unwrap_err().to_string(), "‹column-share 1.5›: expected a share in (0, 1]");
        assert!(Parameters { leaves: 1, ..Parameters::default() }.check().is_err());
        assert!(Parameters { learning_rate: f64::NAN, ..Parameters::default() }.check().is_err());
    }

    #[test]
    fn names_say_what_differs_from_plain_boosting() {
        assert_eq!(Parameters::default().to_string(), "rate 0.1, 31 leaves of 20 rows");
        let named = Parameters::search(12, 0)[3].to_string();
        assert_eq!(
            named,
            "rate 0.05, 127 leaves of 20 rows, columns 60%, rows 80%, shrinkage 5, positive weight 3"
        );
    }
}
