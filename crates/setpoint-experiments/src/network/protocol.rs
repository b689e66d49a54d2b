//! The methods, each with the settings it may choose from on validation.
//!
//! All networks learn by Adam on mini-batches from a start drawn by the seed, are looked at on
//! validation after every epoch, and the best epoch is kept; all keep a moving average of the weights.
//!
//! | method | grid of `images` | grid of `networks`: four fits each |
//! |---|---|---|
//! | cross-entropy | none | - |
//! | cross-entropy, weighted | positive weight 1, 3, 10 | these, and 1 from a fourth start |
//! | lagrangian | multipliers' rate 0.01, 0.1 (the paper's) | 0.1, 0.5, from two starts |
//! | pairwise | softplus, or sigmoid of sharpness 0.1, 1 | softplus, sigmoid, from two starts |
//! | ico (paper) | sharpness 0.001, 0.01, 0.1, 1 (the paper's), corrected every N steps from k = 10 batches | softplus 0.01, 0.1, 1; sigmoid 1 |
//! | ico, mixed | positive weight 1, 3: half cross-entropy after 30% of the steps, thresholds from a pool | - |
//! | Setpoint | its defaults: three fits of cross-entropy, each refined for a third as long | the same: the epochs of four fits |
//!
//! The paper corrects thresholds every N = 1000 steps for fnr, and every 100 or 1000 for areas, in some
//! 12,000 steps. Smaller budgets have a few hundred steps, so N = 100 there.

use setpoint::Goal;
use setpoint::goal::Objective;
use setpoint::surrogate::Surrogate;
use setpoint::train::{Bandwidth, MethodChoice, OptimizerChoice, PositiveWeight, Settings, Thresholds};

use super::goals::Table;
use super::task::Source;

/// A column of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// Cross-entropy, the paper's baseline.
    CrossEntropy,
    /// Cross-entropy with a positive weight chosen on validation.
    Weighted,
    /// The proxy-Lagrangian: the paper's TFCO.
    Lagrangian,
    /// The pairwise loss.
    Pairwise,
    /// Ico as the paper trains it.
    Ico,
    /// Ico with a pool of scores, beside cross-entropy.
    Mixed,
    /// Setpoint as it comes.
    Auto,
}

impl Method {
    /// In the order of the tables.
    pub const ALL: [Self; 7] = [
        Self::CrossEntropy,
        Self::Weighted,
        Self::Lagrangian,
        Self::Pairwise,
        Self::Ico,
        Self::Mixed,
        Self::Auto,
    ];
    /// Those that Setpoint is compared with.
    pub const RIVALS: [Self; 4] = [Self::Weighted, Self::Lagrangian, Self::Pairwise, Self::Ico];

    /// Its name in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CrossEntropy => "cross-entropy",
            Self::Weighted => "weighted",
            Self::Lagrangian => "lagrangian",
            Self::Pairwise => "pairwise",
            Self::Ico => "ico",
            Self::Mixed => "ico-mixed",
            Self::Auto => "auto",
        }
    }

    /// Its name in tables.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Ico => "ico (paper)",
            Self::Mixed => "ico, mixed",
            Self::Auto => "Setpoint",
            other => other.name(),
        }
    }

    /// The method of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether it is made of the fits of cross-entropy that all goals share.
    #[must_use]
    pub fn is_shared(self) -> bool {
        matches!(self, Self::CrossEntropy | Self::Weighted | Self::Auto)
    }
}

/// Which study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Study {
    /// The paper's image experiments.
    Images,
    /// The comparison at equal compute.
    Networks,
}

/// The network for images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cnn {
    /// A hundredth of the paper's work.
    Small,
    /// That of the paper's reference code.
    Paper,
}

/// How much is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// A look, in minutes.
    Quick,
    /// A comparison that means something, within half an hour on two quiet cores.
    HalfHour,
    /// As the paper.
    Full,
}

/// How networks are fitted on one kind of examples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Training {
    /// Passes over the training rows.
    pub epochs: u64,
    /// Rows of a batch.
    pub batch: usize,
    /// Step size.
    pub learning_rate: f64,
}

/// Everything about a study but its tasks, goals and seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Which study.
    pub study: Study,
    /// How much is spent.
    pub budget: Budget,
    /// The network for images.
    pub cnn: Cnn,
    /// How networks on images are fitted.
    pub images: Training,
    /// How networks on tables are fitted.
    pub tables: Training,
    /// Most training rows; half as many to validate and to test on.
    pub rows: Option<usize>,
}

/// One point of a method's grid.
#[derive(Clone, Debug)]
pub struct Choice {
    /// What makes it differ from the others.
    pub name: String,
    /// All of its settings.
    pub settings: Settings,
    /// Which start, from 0.
    pub restart: u64,
}

/// Hidden values of the network on tables.
pub const HIDDEN: [usize; 2] = [64, 32];
/// Memory of the moving average of the weights, for all methods.
const WEIGHT_AVERAGE: f64 = 0.99;

impl Protocol {
    /// The paper's image experiments.
    #[must_use]
    pub fn images(budget: Budget, cnn: Cnn) -> Self {
        let training = |epochs, batch, learning_rate| Training { epochs, batch, learning_rate };
        let (images, rows) = match budget {
            Budget::Quick => (training(4, 128, 0.002), Some(4_000)),
            Budget::HalfHour => (training(10, 128, 0.002), Some(12_000)),
            Budget::Full => (training(40, 512, 0.001), None),
        };
        // The paper's network has a hundred times the work: fewer images in the same time.
        let rows = match cnn {
            Cnn::Small => rows,
            Cnn::Paper => rows.map(|rows| rows / 40),
        };
        Self { study: Study::Images, budget, cnn, images, tables: images, rows }
    }

    /// The comparison at equal compute.
    #[must_use]
    pub fn networks(budget: Budget) -> Self {
        let training = |epochs, batch, learning_rate| Training { epochs, batch, learning_rate };
        let (images, tables, rows) = match budget {
            Budget::Quick => (training(3, 128, 0.002), training(5, 256, 0.002), Some(4_000)),
            Budget::HalfHour => (training(8, 128, 0.002), training(20, 256, 0.002), Some(8_000)),
            Budget::Full => (training(15, 128, 0.002), training(40, 256, 0.002), None),
        };
        Self { study: Study::Networks, budget, cnn: Cnn::Small, images, tables, rows }
    }

    /// How networks are fitted on these examples.
    #[must_use]
    pub fn training(&self, source: Source) -> Training {
        match source {
            Source::Ijcnn1 | Source::Adult => self.tables,
            _ => self.images,
        }
    }

    /// The goals of a table: the paper's, fewer of the areas in a smaller budget.
    #[must_use]
    pub fn goals(&self, table: Table) -> Vec<String> {
        match (table, self.budget) {
            (Table::Fnr, _) => table.goals(&[1, 2, 5, 10]),
            (Table::RocAuc, Budget::Full) => table.goals(&[1, 2, 5, 10, 20]),
            (Table::RocAuc, _) => table.goals(&[5, 10]),
        }
    }

    fn base(&self, source: Source, seed: u64) -> Settings {
        let Training { epochs, batch, learning_rate } = self.training(source);
        Settings {
            optimizer: OptimizerChoice::Adam,
            epochs,
            batch_size: Some(batch),
            learning_rate,
            weight_average: WEIGHT_AVERAGE,
            seed,
            ..Settings::default()
        }
    }

    /// Setpoint's defaults.
    #[must_use]
    pub fn auto(&self, source: Source, seed: u64) -> Settings {
        Settings { mix: 0.5, bandwidth: Bandwidth::Tail(0.5), ..self.base(source, seed) }
    }

    /// The fits of cross-entropy that Setpoint's defaults begin with.
    #[must_use]
    pub fn cross_entropy(&self, source: Source, seed: u64) -> Settings {
        Settings { method: MethodChoice::CrossEntropy, ..self.auto(source, seed) }
    }

    /// The settings that a method may choose from, beyond the shared fits of cross-entropy.
    #[must_use]
    pub fn grid(&self, method: Method, goal: &Goal, source: Source, seed: u64) -> Vec<Choice> {
        let base = self.base(source, seed);
        let equal = self.study == Study::Networks;
        match method {
            Method::Weighted if equal => vec![Choice {
                name: "cross-entropy, start 4".to_owned(),
                settings: Settings {
                    method: MethodChoice::CrossEntropy,
                    positive_weight: PositiveWeight::Fixed(1.0),
                    ..base
                },
                restart: 3,
            }],
            Method::CrossEntropy | Method::Weighted | Method::Auto => Vec::new(),
            Method::Lagrangian => {
                let rates: &[f64] = if equal { &[0.1, 0.5] } else { &[0.01, 0.1] };
                let rates = if self.budget == Budget::Quick && !equal { &rates[1..] } else { rates };
                let of = |rate: &f64| Choice {
                    name: format!("multipliers' rate {rate}"),
                    settings: Settings {
                        method: MethodChoice::Lagrangian,
                        dual_learning_rate: *rate,
                        ..base.clone()
                    },
                    restart: 0,
                };
                self.restarted(rates.iter().map(of).collect())
            }
            Method::Pairwise => {
                let widths: &[(Surrogate, f64)] = match (equal, self.budget) {
                    (false, Budget::Quick) => &[(Surrogate::Softplus, 1.0)],
                    (true, _) => &[(Surrogate::Softplus, 1.0), (Surrogate::Sigmoid, 1.0)],
                    _ => &[(Surrogate::Softplus, 1.0), (Surrogate::Sigmoid, 0.1), (Surrogate::Sigmoid, 1.0)],
                };
                let of = |(surrogate, sharpness): &(Surrogate, f64)| Choice {
                    name: named(*surrogate, *sharpness),
                    settings: Settings {
                        method: MethodChoice::Pairwise,
                        surrogate: *surrogate,
                        bandwidth: Bandwidth::Score(1.0 / sharpness),
                        ..base.clone()
                    },
                    restart: 0,
                };
                self.restarted(widths.iter().map(of).collect())
            }
            Method::Ico => self.ico(&base, goal),
            Method::Mixed => {
                let weights: &[f64] = if self.budget == Budget::Quick { &[1.0] } else { &[1.0, 3.0] };
                let of = |weight: &f64| Choice {
                    name: format!("positive weight {weight}"),
                    settings: Settings {
                        method: MethodChoice::Ico,
                        positive_weight: PositiveWeight::Fixed(*weight),
                        mix: 0.5,
                        warm_up: Some(0.3),
                        bandwidth: Bandwidth::Tail(0.5),
                        ..base.clone()
                    },
                    restart: 0,
                };
                weights.iter().map(of).collect()
            }
        }
    }

    /// Algorithm 1, from the network's start.
    fn ico(&self, base: &Settings, goal: &Goal) -> Vec<Choice> {
        let area = matches!(goal.objective, Objective::Area(_));
        // The tables of the paper's appendix name softplus for fnr and sigmoid for areas.
        let usual = if area { Surrogate::Sigmoid } else { Surrogate::Softplus };
        let widths: &[(Surrogate, f64)] = match (self.study, self.budget) {
            (Study::Networks, _) => &[(usual, 0.01), (usual, 0.1), (usual, 1.0), (Surrogate::Sigmoid, 1.0)],
            (Study::Images, Budget::Quick) => &[(usual, 0.1), (usual, 1.0)],
            (Study::Images, Budget::HalfHour) => &[(usual, 0.01), (usual, 0.1), (usual, 1.0)],
            (Study::Images, Budget::Full) => &[(usual, 0.001), (usual, 0.01), (usual, 0.1), (usual, 1.0)],
        };
        let steps: &[u64] = match (self.budget, area) {
            (Budget::Full, _) if self.study == Study::Networks => &[100],
            (Budget::Full, false) => &[1000],
            (Budget::Full, true) => &[100, 1000],
            _ => &[100],
        };
        let pairs = widths.iter().flat_map(|width| steps.iter().map(move |every| (width, *every)));
        let of = |((surrogate, sharpness), correct_every): (&(Surrogate, f64), u64)| Choice {
            name: format!("{}, N = {correct_every}", named(*surrogate, *sharpness)),
            settings: Settings {
                method: MethodChoice::Ico,
                positive_weight: PositiveWeight::Fixed(1.0),
                surrogate: *surrogate,
                bandwidth: Bandwidth::Score(1.0 / sharpness),
                thresholds: if area { Thresholds::Hold } else { Thresholds::Track },
                correct_every,
                correct_batches: 10,
                ..base.clone()
            },
            restart: 0,
        };
        pairs.map(of).collect()
    }

    /// The same choices from a second start too, where every method has four fits.
    fn restarted(&self, choices: Vec<Choice>) -> Vec<Choice> {
        if self.study == Study::Images {
            return choices;
        }
        let again = choices.iter().map(|choice| Choice {
            name: format!("{}, start 2", choice.name),
            settings: choice.settings.clone(),
            restart: 1,
        });
        choices.iter().cloned().chain(again.collect::<Vec<_>>()).collect()
    }
}

fn named(surrogate: Surrogate, sharpness: f64) -> String {
    let name = if surrogate == Surrogate::Sigmoid { "sigmoid" } else { "softplus" };
    format!("{name}, sharpness {sharpness}")
}
