//! The settings that each method may choose from on validation.
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
//! Smaller budgets take fewer of a grid.
//!
//! The paper corrects thresholds every N = 1000 steps for fnr, and every 100 or 1000 for areas, in some
//! 12,000 steps. Smaller budgets have a few hundred steps, so N = 100 there.

use setpoint::Goal;
use setpoint::goal::Objective;
use setpoint::surrogate::Surrogate;
use setpoint::train::{Bandwidth, MethodChoice, OptimizerChoice, PositiveWeight, Settings, Thresholds};

use super::protocol::{Budget, Protocol, Training};
use crate::task::Source;
use crate::{Choice, Experiment, Method};

/// Memory of the moving average of the weights, for all methods.
const WEIGHT_AVERAGE: f64 = 0.99;

impl Protocol {
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

    /// The same with train and validation rows changing places: one start for each of three rotations.
    #[must_use]
    pub fn rotated(&self, source: Source, seed: u64) -> Settings {
        Settings { rotations: Some(3), ..self.auto(source, seed) }
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
        let equal = self.study == Experiment::Networks;
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
            Method::CrossEntropy | Method::Weighted | Method::Once | Method::Setpoint => Vec::new(),
            Method::Lagrangian => {
                let rates: &[f64] = if equal { &[0.1, 0.5] } else { &[0.01, 0.1] };
                let rates = if self.budget == Budget::Quick && !equal { &rates[1..] } else { rates };
                let of = |rate: &f64| {
                    let (method, dual_learning_rate) = (MethodChoice::Lagrangian, *rate);
                    let settings = Settings { method, dual_learning_rate, ..base.clone() };
                    Choice::new(format!("multipliers' rate {rate}"), settings)
                };
                self.restarted(rates.iter().map(of).collect())
            }
            Method::Pairwise => {
                let widths: &[(Surrogate, f64)] = match (equal, self.budget) {
                    (false, Budget::Quick) => &[(Surrogate::Softplus, 1.0)],
                    (true, _) | (_, Budget::HalfHour) => {
                        &[(Surrogate::Softplus, 1.0), (Surrogate::Sigmoid, 1.0)]
                    }
                    _ => &[(Surrogate::Softplus, 1.0), (Surrogate::Sigmoid, 0.1), (Surrogate::Sigmoid, 1.0)],
                };
                let of = |(surrogate, sharpness): &(Surrogate, f64)| {
                    let (method, bandwidth) = (MethodChoice::Pairwise, Bandwidth::Score(1.0 / sharpness));
                    let settings = Settings { method, surrogate: *surrogate, bandwidth, ..base.clone() };
                    Choice::new(named(*surrogate, *sharpness), settings)
                };
                self.restarted(widths.iter().map(of).collect())
            }
            Method::Ico => self.ico(&base, goal),
            Method::Mixed => {
                let weights: &[f64] = if self.budget == Budget::Full { &[1.0, 3.0] } else { &[1.0] };
                let of = |weight: &f64| {
                    let settings = Settings {
                        method: MethodChoice::Ico,
                        positive_weight: PositiveWeight::Fixed(*weight),
                        mix: 0.5,
                        warm_up: Some(0.3),
                        bandwidth: Bandwidth::Tail(0.5),
                        ..base.clone()
                    };
                    Choice::new(format!("positive weight {weight}"), settings)
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
            (Experiment::Networks, _) => {
                &[(usual, 0.01), (usual, 0.1), (usual, 1.0), (Surrogate::Sigmoid, 1.0)]
            }
            (_, Budget::Quick) => &[(usual, 0.1), (usual, 1.0)],
            (_, Budget::HalfHour) => &[(usual, 0.01), (usual, 0.1), (usual, 1.0)],
            (_, Budget::Full) => &[(usual, 0.001), (usual, 0.01), (usual, 0.1), (usual, 1.0)],
        };
        let steps: &[u64] = match (self.budget, area) {
            (Budget::Full, _) if self.study == Experiment::Networks => &[100],
            (Budget::Full, false) => &[1000],
            (Budget::Full, true) => &[100, 1000],
            _ => &[100],
        };
        let pairs = widths.iter().flat_map(|width| steps.iter().map(move |every| (width, *every)));
        let of = |((surrogate, sharpness), correct_every): (&(Surrogate, f64), u64)| {
            let settings = Settings {
                method: MethodChoice::Ico,
                positive_weight: PositiveWeight::Fixed(1.0),
                surrogate: *surrogate,
                bandwidth: Bandwidth::Score(1.0 / sharpness),
                thresholds: if area { Thresholds::Hold } else { Thresholds::Track },
                correct_every,
                correct_batches: 10,
                ..base.clone()
            };
            Choice::new(format!("{}, N = {correct_every}", named(*surrogate, *sharpness)), settings)
        };
        pairs.map(of).collect()
    }

    /// The same choices from a second start too, where every method has four fits.
    fn restarted(&self, mut choices: Vec<Choice>) -> Vec<Choice> {
        if self.study == Experiment::Networks {
            let again = choices.clone().into_iter().map(|choice| Choice {
                name: format!("{}, start 2", choice.name),
                restart: 1,
                ..choice
            });
            choices.extend(again);
        }
        choices
    }
}

fn named(surrogate: Surrogate, sharpness: f64) -> String {
    let name = if surrogate == Surrogate::Sigmoid { "sigmoid" } else { "softplus" };
    format!("{name}, sharpness {sharpness}")
}
