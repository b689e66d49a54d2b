//! The methods, each with the settings it may choose from on validation.
//!
//! | method | from | optimizer | grid |
//! |---|---|---|---|
//! | cross-entropy | zeros | Adam | learning rate 0.001, 0.01, 0.1, 1 (the paper's) |
//! | cross-entropy, weighted | zeros | Adam | these, times positive weight 1, 3, 10, 30, 100 |
//! | lagrangian | zeros | Adam | learning rate 0.01, 0.1, 1 (the paper's), times multipliers' rate 0.1, 1, 10 of it |
//! | pairwise | cross-entropy | L-BFGS | sigmoid or softplus, times bandwidth 0.05, 0.1, 0.3, 1 deviations |
//! | ico | zeros | Adagrad, 0.1 | sharpness 0.5, 1, 5, times regulariser 0, 0.05, 0.1 (the paper's) |
//! | Setpoint | - | its defaults | none |
//! | Setpoint, once | - | its defaults without rotations: validation rows only choose | none |
//!
//! All take full-batch steps, are looked at on validation every ten, and keep the best iterate. Ico's
//! thresholds are corrected on the unrelaxed rates every ten steps; for areas they are held in between,
//! as in the paper, for a single threshold tracked.
//!
//! The paper's grid for the lagrangian method has a "dual scale". In its library that scales the
//! multipliers' gradient, which Adam undoes; so here it scales their learning rate, and the grid holds
//! what the paper ran (scale 1). The paper gives no number of steps.

use setpoint::Goal;
use setpoint::goal::Objective;
use setpoint::surrogate::Surrogate;
use setpoint::train::{Bandwidth, MethodChoice, OptimizerChoice, PositiveWeight, Settings, Thresholds};

/// Gradient steps of every first-order fit.
pub const STEPS: u64 = 500;

/// Positive weights that cross-entropy may choose from.
pub const WEIGHTS: [f64; 5] = [1.0, 3.0, 10.0, 30.0, 100.0];

/// A column of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// Setpoint as it comes.
    Setpoint,
    /// The same without rotations, so that like the others it learns from the training rows alone.
    Once,
}

/// One point of a method's grid.
#[derive(Clone, Debug)]
pub struct Choice {
    /// What makes it differ from the others.
    pub name: String,
    /// All of its settings.
    pub settings: Settings,
}

impl Method {
    /// In the order of the tables.
    pub const ALL: [Self; 7] = [
        Self::CrossEntropy,
        Self::Weighted,
        Self::Lagrangian,
        Self::Pairwise,
        Self::Ico,
        Self::Setpoint,
        Self::Once,
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
            Self::Setpoint => "setpoint",
            Self::Once => "setpoint-once",
        }
    }

    /// Its name in tables.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::CrossEntropy => "cross-entropy",
            Self::Weighted => "weighted",
            Self::Lagrangian => "lagrangian",
            Self::Pairwise => "pairwise",
            Self::Ico => "ico (paper)",
            Self::Setpoint => "Setpoint",
            Self::Once => "Setpoint, once",
        }
    }

    /// The method of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The settings it may choose from; one, its defaults, for Setpoint.
    #[must_use]
    pub fn grid(self, goal: &Goal, seed: u64) -> Vec<Choice> {
        let base = Settings { seed, steps: Some(STEPS), correct_every: 10, ..Settings::default() };
        match self {
            Self::CrossEntropy => cross_entropy(&base, &[1.0]),
            Self::Weighted => cross_entropy(&base, &WEIGHTS),
            Self::Lagrangian => pairs(&[0.01, 0.1, 1.0], &[0.1, 1.0, 10.0], |rate, scale| Choice {
                name: format!("learning rate {rate}, multipliers' {}", rate * scale),
                settings: Settings {
                    method: MethodChoice::Lagrangian,
                    optimizer: OptimizerChoice::Adam,
                    learning_rate: rate,
                    dual_learning_rate: rate * scale,
                    ..base.clone()
                },
            }),
            Self::Pairwise => {
                let surrogates = [("sigmoid", Surrogate::Sigmoid), ("softplus", Surrogate::Softplus)];
                pairs(&surrogates, &[0.05, 0.1, 0.3, 1.0], |(name, surrogate), width| Choice {
                    name: format!("{name}, bandwidth {width} sd"),
                    settings: Settings {
                        method: MethodChoice::Pairwise,
                        optimizer: OptimizerChoice::Lbfgs,
                        surrogate,
                        bandwidth: Bandwidth::Deviations(width),
                        steps: None,
                        ..base.clone()
                    },
                })
            }
            Self::Ico => pairs(&[0.5, 1.0, 5.0], &[0.0, 0.05, 0.1], |sharpness, regulariser| Choice {
                name: format!("sharpness {sharpness}, regulariser {regulariser}"),
                settings: Settings {
                    method: MethodChoice::Ico,
                    optimizer: OptimizerChoice::Adagrad,
                    learning_rate: 0.1,
                    bandwidth: Bandwidth::Score(1.0 / sharpness),
                    regulariser,
                    thresholds: match &goal.objective {
                        Objective::Area(_) => Thresholds::Hold,
                        Objective::Rate(_) => Thresholds::Track,
                    },
                    ..base.clone()
                },
            }),
            Self::Setpoint | Self::Once => {
                let rotations = if self == Self::Setpoint { 3 } else { 1 };
                let settings = Settings { seed, rotations: Some(rotations), ..Settings::default() };
                vec![Choice { name: "defaults".to_owned(), settings }]
            }
        }
    }

    /// Weighted cross-entropy fits that its grid starts from; none start from zeros.
    #[must_use]
    pub fn starts(self, seed: u64) -> Vec<Choice> {
        if self != Self::Pairwise {
            return Vec::new();
        }
        let settings = |weight| Settings {
            method: MethodChoice::CrossEntropy,
            positive_weight: PositiveWeight::Fixed(weight),
            optimizer: OptimizerChoice::Lbfgs,
            seed,
            ..Settings::default()
        };
        let choice =
            |weight| Choice { name: format!("positive weight {weight}"), settings: settings(weight) };
        WEIGHTS.map(choice).to_vec()
    }
}

fn cross_entropy(base: &Settings, weights: &[f64]) -> Vec<Choice> {
    pairs(weights, &[0.001, 0.01, 0.1, 1.0], |weight, rate| Choice {
        name: if weights.len() > 1 {
            format!("positive weight {weight}, learning rate {rate}")
        } else {
            format!("learning rate {rate}")
        },
        settings: Settings {
            method: MethodChoice::CrossEntropy,
            positive_weight: PositiveWeight::Fixed(weight),
            optimizer: OptimizerChoice::Adam,
            learning_rate: rate,
            ..base.clone()
        },
    })
}

fn pairs<A: Copy, B: Copy>(first: &[A], second: &[B], choice: impl Fn(A, B) -> Choice) -> Vec<Choice> {
    first.iter().flat_map(|a| second.iter().map(|b| (*a, *b))).map(|(a, b)| choice(a, b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uci::goals::parse;

    #[test]
    fn grids_are_those_of_the_paper() {
        let sizes = |goal: &str| Method::ALL.map(|method| method.grid(&parse(goal), 0).len());
        assert_eq!(sizes("pr-auc @ recall in 0.95..1"), [4, 20, 9, 8, 9, 1, 1]);
        let ico = Method::Ico.grid(&parse("pr-auc @ recall in 0.95..1"), 0);
        assert!(ico.iter().all(|choice| choice.settings.thresholds == Thresholds::Hold));
        assert!(ico.iter().all(|choice| choice.settings.optimizer == OptimizerChoice::Adagrad));
        let single = Method::Ico.grid(&parse("fnr @ fpr<=1%"), 0);
        assert!(single.iter().all(|choice| choice.settings.thresholds == Thresholds::Track));
    }

    #[test]
    fn the_names_tell_the_choices_apart() {
        for method in Method::ALL {
            assert_eq!(Method::named(method.name()), Some(method));
            let mut names: Vec<String> =
                method.grid(&parse("fnr @ fpr<=1%"), 0).into_iter().map(|choice| choice.name).collect();
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count);
        }
    }
}
