//! Settings that do not go together, or not with the goal, are refused before anything is fitted.

use super::{Bandwidth, MethodChoice, OptimizerChoice, Settings, Thresholds, TrainError};
use crate::engine::Inequality;
use crate::goal::{Constraint, Goal};
use crate::surrogate::Surrogate;

pub(super) fn check(goal: &Goal, settings: &Settings, linear: bool) -> Result<(), TrainError> {
    let method = settings.method;
    let lbfgs = settings.optimizer == OptimizerChoice::Lbfgs;
    let first_order = !lbfgs && settings.optimizer != OptimizerChoice::Auto;
    let batches = settings.batch_size.is_some();
    let slack = settings.inequality == Inequality::Slack;
    let coupled =
        |constraint: &Constraint| matches!(constraint, Constraint::Gap { .. } | Constraint::Ratio { .. });
    let shared = settings.shared_threshold;
    let multipliers = shared && matches!(method, MethodChoice::Auto | MethodChoice::Ico);
    let in_deviations = matches!(settings.bandwidth, Bandwidth::Deviations(_));
    let combinations = [
        (!linear && lbfgs, "optimizer", "lbfgs for a network", "adam, adagrad or sgd"),
        (!linear && slack, "inequality", "slack for a network", "active-set"),
        (
            !linear && multipliers,
            "shared-threshold",
            "",
            "the linear model, or the lagrangian method: multipliers need the full batch",
        ),
        (
            shared && goal.column().is_none(),
            "shared-threshold",
            "",
            "a goal with conditions on groups; without one there is one threshold anyway",
        ),
        (
            shared && method == MethodChoice::Pairwise,
            "shared-threshold",
            "",
            "method auto, ico, lagrangian or cross-entropy",
        ),
        (multipliers && batches, "shared-threshold", "", "the full batch, or the lagrangian method"),
        (multipliers && first_order, "shared-threshold", "", "optimizer lbfgs, or the lagrangian method"),
        (
            shared && method == MethodChoice::Ico && !in_deviations,
            "shared-threshold",
            "",
            "a bandwidth in deviations, such as 0.1sd",
        ),
        (
            shared && settings.rotations() > 1,
            "shared-threshold",
            "",
            "no rotations: an average need not meet the conditions on groups that its members meet",
        ),
        (shared && slack, "shared-threshold", "", "inequality active-set: multipliers meet the limits"),
        (
            slack && lbfgs,
            "inequality",
            "slack with optimizer lbfgs",
            "adam, adagrad or sgd: slack variables move at every step, and a line search needs a function that stays",
        ),
        (slack && batches, "inequality", "slack with mini-batches", "the full batch, or active-set"),
        (
            slack && settings.thresholds != Thresholds::Smooth,
            "inequality",
            "slack with thresholds that are not smooth",
            "thresholds smooth, or active-set",
        ),
        (
            slack && goal.constraints.iter().any(coupled),
            "inequality",
            "slack for a gap or ratio",
            "active-set: such a limit has two sides, and slack variables start with both met as equalities",
        ),
        (
            lbfgs && batches,
            "optimizer",
            "lbfgs with mini-batches",
            "adam, adagrad or sgd with ‹batch-size›, or lbfgs on the full batch",
        ),
        (
            lbfgs && method == MethodChoice::Lagrangian,
            "optimizer",
            "lbfgs with the lagrangian method",
            "adam, adagrad or sgd: multipliers and thresholds move at every step, and a line search needs a function that stays",
        ),
    ];
    match combinations.into_iter().find(|(refused, ..)| *refused) {
        Some((_, what, found, expected)) => {
            Err(TrainError::Setting { what, found: found.to_owned(), expected })
        }
        None => settings.check_ranges(),
    }
}

/// The same for goals of several classes and per query, which may not have any bandwidth.
pub(super) fn check_other_kinds(settings: &Settings, bandwidth: bool) -> Result<(), TrainError> {
    let combinations = [
        (
            matches!(settings.method, MethodChoice::Lagrangian | MethodChoice::Pairwise),
            "method",
            "auto, ico or cross-entropy for several classes and goals per query",
        ),
        (settings.shared_threshold, "shared-threshold", "a label of two classes and conditions on groups"),
        (
            settings.inequality == Inequality::Slack,
            "inequality",
            "active-set for several classes and goals per query",
        ),
        (
            settings.thresholds != Thresholds::Smooth,
            "thresholds",
            "smooth for several classes and goals per query",
        ),
        (
            settings.surrogate != Surrogate::Sigmoid,
            "surrogate",
            "sigmoid for goals per query, and several classes, where it is the softmax",
        ),
        (!bandwidth, "bandwidth", "one in deviations for goals per query; or in scores for several classes"),
        (
            settings.batch_size.is_some() && settings.optimizer == OptimizerChoice::Lbfgs,
            "optimizer",
            "adam, adagrad or sgd with ‹batch-size›, or lbfgs on the full batch",
        ),
    ];
    match combinations.into_iter().find(|(refused, ..)| *refused) {
        Some((_, what, expected)) => Err(TrainError::Setting { what, found: String::new(), expected }),
        None => settings.check_ranges(),
    }
}
