//! Settings of a run.

use std::time::Instant;

use setpoint::train::{Bandwidth, MethodChoice, TrainError};

use crate::parameters::Parameters;

/// How to train trees.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `Auto`: the search, then averaging, retraining and the head as they pay. `CrossEntropy`: the
    /// best booster of the search. `Ico`: rounds on the goal's own gradient with its settings.
    pub method: MethodChoice,
    /// The configurations that are tried.
    pub configurations: Vec<Parameters>,
    /// Most rounds of a booster.
    pub rounds: usize,
    /// Rounds between looks at the validation rows.
    pub look_every: usize,
    /// Rounds without a better value of any goal before a booster ends.
    pub patience: usize,
    /// Whether validation rows may be fitted to, by a head over the boosters and by retraining them on
    /// train and validation rows together. Thresholds must then come from other rows.
    pub retrain: bool,
    /// Bandwidth of the surrogate in rounds on the goal's own gradient.
    pub bandwidth: Bandwidth,
    /// One threshold for all groups.
    pub shared_threshold: bool,
    /// Rows of the data that `k=` will be asked of; by default those of validation.
    pub rows_scored: Option<u64>,
    /// Seed of the draws of rows and columns.
    pub seed: u64,
    /// When boosters of the search end at their next look, whatever they promise.
    pub until: Option<Instant>,
    /// Threads for LightGBM; by default those of rayon. Does not change the result.
    pub threads: Option<usize>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            method: MethodChoice::Auto,
            configurations: Parameters::search(12, 0),
            rounds: 400,
            look_every: 20,
            patience: 120,
            retrain: false,
            bandwidth: Bandwidth::Deviations(0.1),
            shared_threshold: false,
            rows_scored: None,
            seed: 0,
            until: None,
            threads: None,
        }
    }
}

impl Settings {
    /// Refuses what makes no sense.
    pub(crate) fn check(&self) -> Result<(), TrainError> {
        let refuse = |what, found: String, expected| Err(TrainError::Setting { what, found, expected });
        if let MethodChoice::Lagrangian | MethodChoice::Pairwise = self.method {
            let found = format!("{} for trees", self.method);
            return refuse("method", found, "auto, ico or cross-entropy");
        }
        if self.configurations.is_empty() {
            return refuse("search", "0".into(), "at least one configuration");
        }
        for (what, count) in [("rounds", self.rounds), ("look-every", self.look_every)] {
            if !(1..=1_000_000).contains(&count) {
                return refuse(what, count.to_string(), "1 to 1000000 rounds");
            }
        }
        self.configurations.iter().try_for_each(Parameters::check)
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.unwrap_or_else(rayon::current_num_threads).max(1)
    }
}
