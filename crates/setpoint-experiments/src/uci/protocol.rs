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

use crate::{Choice, Method};

/// Gradient steps of every first-order fit.
pub const STEPS: u64 = 500;

/// Positive weights that cross-entropy may choose from.
pub const WEIGHTS: [f64; 5] = [1.0, 3.0, 10.0, 30.0, 100.0];

/// The settings that a method may choose from; one, its defaults, for Setpoint.
#[must_use]
pub fn grid(method: Method, goal: &Goal, seed: u64) -> Vec<Choice> {
    let base = Settings { seed, steps: Some(STEPS), correct_every: 10, ..Settings::default() };
    match method {
        Method::CrossEntropy => cross_entropy(&base, &[1.0]),
        Method::Weighted => cross_entropy(&base, &WEIGHTS),
        Method::Lagrangian => pairs(&[0.01, 0.1, 1.0], &[0.1, 1.0, 10.0], |rate, scale| {
            let settings = Settings {
                method: MethodChoice::Lagrangian,
                optimizer: OptimizerChoice::Adam,
                learning_rate: rate,
                dual_learning_rate: rate * scale,
                ..base.clone()
            };
            (format!("learning rate {rate}, multipliers' {}", rate * scale), settings)
        }),
        Method::Pairwise => {
            let surrogates = [("sigmoid", Surrogate::Sigmoid), ("softplus", Surrogate::Softplus)];
            pairs(&surrogates, &[0.05, 0.1, 0.3, 1.0], |(name, surrogate), width| {
                let settings = Settings {
                    method: MethodChoice::Pairwise,
                    optimizer: OptimizerChoice::Lbfgs,
                    surrogate,
                    bandwidth: Bandwidth::Deviations(width),
                    steps: None,
                    ..base.clone()
                };
                (format!("{name}, bandwidth {width} sd"), settings)
            })
        }
        Method::Ico => pairs(&[0.5, 1.0, 5.0], &[0.0, 0.05, 0.1], |sharpness, regulariser| {
            let settings = Settings {
                method: MethodChoice::Ico,
                optimizer: OptimizerChoice::Adagrad,
                learning_rate: 0.1,
                bandwidth: Bandwidth::Score(1.0 / sharpness),
                regulariser,
                thresholds: match &goal.objective {
                    Objective::Area(_) => Thresholds::Hold,
                    Objective::Rate(_) | Objective::Money(_) => Thresholds::Track,
                },
                ..base.clone()
            };
            (format!("sharpness {sharpness}, regulariser {regulariser}"), settings)
        }),
        Method::Setpoint | Method::Once => {
            let rotations = if method == Method::Setpoint { 3 } else { 1 };
            let settings = Settings { seed, rotations: Some(rotations), ..Settings::default() };
            vec![Choice::new("defaults".to_owned(), settings)]
        }
        Method::Mixed => Vec::new(),
    }
}

/// Weighted cross-entropy fits that a method's grid starts from; none start from zeros.
#[must_use]
pub fn starts(method: Method, seed: u64) -> Vec<Choice> {
    let weights: &[f64] = if method == Method::Pairwise { &WEIGHTS } else { &[] };
    pairs(weights, &[()], |weight, ()| {
        let settings = Settings {
            method: MethodChoice::CrossEntropy,
            positive_weight: PositiveWeight::Fixed(weight),
            optimizer: OptimizerChoice::Lbfgs,
            seed,
            ..Settings::default()
        };
        (format!("positive weight {weight}"), settings)
    })
}

fn cross_entropy(base: &Settings, weights: &[f64]) -> Vec<Choice> {
    pairs(weights, &[0.001, 0.01, 0.1, 1.0], |weight, rate| {
        let settings = Settings {
            method: MethodChoice::CrossEntropy,
            positive_weight: PositiveWeight::Fixed(weight),
            optimizer: OptimizerChoice::Adam,
            learning_rate: rate,
            ..base.clone()
        };
        let weight = if weights.len() > 1 { format!("positive weight {weight}, ") } else { String::new() };
        (format!("{weight}learning rate {rate}"), settings)
    })
}

fn pairs<A: Copy, B: Copy>(
    first: &[A],
    second: &[B],
    choice: impl Fn(A, B) -> (String, Settings),
) -> Vec<Choice> {
    let pairs = first.iter().flat_map(|a| second.iter().map(|b| choice(*a, *b)));
    pairs.map(|(name, settings)| Choice::new(name, settings)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;
    use crate::goals::parse;
    use crate::record::unique;

    #[test]
    fn grids_are_those_of_the_paper() {
        let goal = parse("pr-auc @ recall in 0.95..1");
        let sizes = Experiment::Uci.methods().iter().map(|method| grid(*method, &goal, 0).len());
        assert_eq!(sizes.collect::<Vec<_>>(), [4, 20, 9, 8, 9, 1, 1]);
        let ico = grid(Method::Ico, &goal, 0);
        assert!(ico.iter().all(|choice| choice.settings.thresholds == Thresholds::Hold));
        assert!(ico.iter().all(|choice| choice.settings.optimizer == OptimizerChoice::Adagrad));
        let single = grid(Method::Ico, &parse("fnr @ fpr<=1%"), 0);
        assert!(single.iter().all(|choice| choice.settings.thresholds == Thresholds::Track));
    }

    #[test]
    fn the_names_tell_the_choices_apart() {
        for method in Experiment::Uci.methods() {
            let grid = grid(*method, &parse("fnr @ fpr<=1%"), 0);
            assert_eq!(unique(grid.iter().map(|choice| &choice.name)).len(), grid.len());
        }
    }
}
