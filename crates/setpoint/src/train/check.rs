//! Settings that make no sense, alone or together, are refused before anything is fitted.

use super::{Bandwidth, MethodChoice, OptimizerChoice, PositiveWeight, Settings, Thresholds, TrainError};
use crate::engine::Inequality;
use crate::goal::{Constraint, Goal};
use crate::message::number;

pub(super) fn check(goal: &Goal, settings: &Settings, linear: bool) -> Result<(), TrainError> {
    if !linear {
        check_network(settings)?;
    }
    if settings.shared_threshold {
        check_shared(goal, settings)?;
    }
    if settings.inequality == Inequality::Slack {
        check_slack(goal, settings)?;
    }
    let positive = |what, value: f64| {
        if value.is_finite() && value > 0.0 {
            Ok(())
        } else {
            Err(TrainError::Setting { what, found: number(value), expected: "a positive number" })
        }
    };
    positive("learning rate", settings.learning_rate)?;
    positive("dual learning rate", settings.dual_learning_rate)?;
    let (Bandwidth::Deviations(b) | Bandwidth::Tail(b) | Bandwidth::Score(b)) = settings.bandwidth;
    positive("bandwidth", b)?;
    if let PositiveWeight::Fixed(weight) = settings.positive_weight {
        positive("positive weight", weight)?;
    }
    if settings.batch_size == Some(0) {
        return Err(TrainError::Setting { what: "batch size", found: "0".into(), expected: "at least 1" });
    }
    if settings.batch_size.is_some() && settings.optimizer == OptimizerChoice::Lbfgs {
        return Err(TrainError::Setting {
            what: "optimizer",
            found: "lbfgs with mini-batches".into(),
            expected: "adam, adagrad or sgd with --batch-size, or lbfgs on the full batch",
        });
    }
    if settings.method == MethodChoice::Lagrangian && settings.optimizer == OptimizerChoice::Lbfgs {
        return Err(TrainError::Setting {
            what: "optimizer",
            found: "lbfgs with the lagrangian method".into(),
            expected: "adam, adagrad or sgd: multipliers and thresholds move at every step, and a line search needs a function that stays",
        });
    }
    if !matches!(settings.rotations, 1 | 3..=1000) {
        return Err(TrainError::Setting {
            what: "rotations",
            found: settings.rotations.to_string(),
            expected: "1 for none, or from 3 to 1000",
        });
    }
    for (what, share) in [("mix", settings.mix), ("warm-up", settings.warm_up.unwrap_or_default())] {
        if !(0.0..=1.0).contains(&share) {
            let found = number(share);
            return Err(TrainError::Setting { what, found, expected: "a share in [0, 1]" });
        }
    }
    if !(0.0..1.0).contains(&settings.weight_average) {
        let (what, found) = ("weight average", number(settings.weight_average));
        return Err(TrainError::Setting { what, found, expected: "a memory in [0, 1)" });
    }
    if !(settings.weight_decay.is_finite() && settings.weight_decay >= 0.0) {
        let (what, found) = ("weight decay", number(settings.weight_decay));
        return Err(TrainError::Setting { what, found, expected: "a number of 0 or more" });
    }
    if settings.epochs == 0 {
        return Err(TrainError::Setting { what: "epochs", found: "0".into(), expected: "at least 1" });
    }
    Ok(())
}

/// Refuses what models that learn from mini-batches alone cannot be had with.
fn check_network(settings: &Settings) -> Result<(), TrainError> {
    let refuse =
        |what, found: &str, expected| Err(TrainError::Setting { what, found: found.into(), expected });
    if settings.optimizer == OptimizerChoice::Lbfgs {
        return refuse("optimizer", "lbfgs for a network", "adam, adagrad or sgd");
    }
    if settings.inequality == Inequality::Slack {
        return refuse("inequality", "slack for a network", "active-set");
    }
    let multipliers = matches!(settings.method, MethodChoice::Auto | MethodChoice::Ico);
    if settings.shared_threshold && multipliers {
        return refuse(
            "shared threshold",
            "for a network",
            "the linear model, or the lagrangian method: multipliers need the full batch",
        );
    }
    Ok(())
}

/// Refuses what slack variables cannot be had with.
fn check_slack(goal: &Goal, settings: &Settings) -> Result<(), TrainError> {
    let refuse = |found: &str, expected| {
        Err(TrainError::Setting { what: "inequality", found: found.to_owned(), expected })
    };
    if settings.optimizer == OptimizerChoice::Lbfgs {
        return refuse(
            "slack with optimizer lbfgs",
            "adam, adagrad or sgd: slack variables move at every step, and a line search needs a function that stays",
        );
    }
    if settings.batch_size.is_some() {
        return refuse("slack with mini-batches", "the full batch, or active-set");
    }
    if settings.thresholds != Thresholds::Smooth {
        return refuse("slack with thresholds that are not smooth", "thresholds smooth, or active-set");
    }
    let coupled =
        |constraint: &Constraint| matches!(constraint, Constraint::Gap { .. } | Constraint::Ratio { .. });
    if goal.constraints.iter().any(coupled) {
        return refuse(
            "slack for a gap or ratio",
            "active-set: such a limit has two sides, and slack variables start with both met as equalities",
        );
    }
    Ok(())
}

/// Refuses what one threshold for all groups cannot be had with.
fn check_shared(goal: &Goal, settings: &Settings) -> Result<(), TrainError> {
    let refuse = |found: &str, expected| {
        Err(TrainError::Setting { what: "shared threshold", found: found.to_owned(), expected })
    };
    if goal.column().is_none() {
        return refuse(
            "for a goal without conditions on groups",
            "such a condition; without one there is one threshold anyway",
        );
    }
    let multipliers = matches!(settings.method, MethodChoice::Auto | MethodChoice::Ico);
    if settings.method == MethodChoice::Pairwise {
        return refuse("with the pairwise method", "method auto, ico, lagrangian or cross-entropy");
    }
    if multipliers && settings.batch_size.is_some() {
        return refuse("with mini-batches", "the full batch, or the lagrangian method");
    }
    if multipliers && !matches!(settings.optimizer, OptimizerChoice::Auto | OptimizerChoice::Lbfgs) {
        return refuse("with a first-order optimizer", "optimizer lbfgs, or the lagrangian method");
    }
    if settings.method == MethodChoice::Ico && !matches!(settings.bandwidth, Bandwidth::Deviations(_)) {
        return refuse("with a bandwidth in other units", "a bandwidth in deviations, such as 0.1sd");
    }
    if settings.rotations > 1 {
        return refuse(
            "with rotations",
            "none: an average need not meet the conditions on groups that its members meet",
        );
    }
    if settings.inequality == Inequality::Slack {
        return refuse("with slack variables", "inequality active-set: multipliers meet the limits");
    }
    Ok(())
}
