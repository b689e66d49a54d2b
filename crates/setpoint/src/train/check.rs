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
    settings.check_ranges()?;
    if settings.batch_size.is_some() && settings.optimizer == OptimizerChoice::Lbfgs {
        return refuse(
            "optimizer",
            "lbfgs with mini-batches",
            "adam, adagrad or sgd with `batch-size`, or lbfgs on the full batch",
        );
    }
    if settings.method == MethodChoice::Lagrangian && settings.optimizer == OptimizerChoice::Lbfgs {
        return refuse(
            "optimizer",
            "lbfgs with the lagrangian method",
            "adam, adagrad or sgd: multipliers and thresholds move at every step, and a line search needs a function that stays",
        );
    }
    Ok(())
}

fn refuse(what: &'static str, found: impl Into<String>, expected: &'static str) -> Result<(), TrainError> {
    Err(TrainError::Setting { what, found: found.into(), expected })
}

impl Settings {
    /// Refuses values that make no sense whatever the others are.
    pub(super) fn check_ranges(&self) -> Result<(), TrainError> {
        let (Bandwidth::Deviations(width) | Bandwidth::Tail(width) | Bandwidth::Score(width)) =
            self.bandwidth;
        let weight = match self.positive_weight {
            PositiveWeight::Fixed(weight) => weight,
            PositiveWeight::Auto => 1.0,
        };
        for (what, value) in [
            ("learning-rate", self.learning_rate),
            ("dual-learning-rate", self.dual_learning_rate),
            ("bandwidth", width),
            ("positive-weight", weight),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return refuse(what, number(value), "a positive number");
            }
        }
        for (what, value) in
            [("weight-decay", self.weight_decay), ("ridge", self.ridge), ("regulariser", self.regulariser)]
        {
            if !(value.is_finite() && value >= 0.0) {
                return refuse(what, number(value), "a number of 0 or more");
            }
        }
        for (what, share) in [("mix", self.mix), ("warm-up", self.warm_up.unwrap_or_default())] {
            if !(0.0..=1.0).contains(&share) {
                return refuse(what, number(share), "a share in [0, 1]");
            }
        }
        if !(0.0..1.0).contains(&self.weight_average) {
            return refuse("weight-average", number(self.weight_average), "a memory in [0, 1)");
        }
        for (what, none) in [
            ("batch-size", self.batch_size == Some(0)),
            ("epochs", self.epochs == 0),
            ("steps", self.steps == Some(0)),
            ("correct-every", self.correct_every == 0),
            ("correct-batches", self.correct_batches == 0),
            ("pool", self.pool == 0),
            ("bins", self.bins == Some(0)),
        ] {
            if none {
                return refuse(what, "0", "at least 1");
            }
        }
        if !matches!(self.rotations(), 1 | 3..=1000) {
            return refuse("rotations", self.rotations().to_string(), "1 for none, or from 3 to 1000");
        }
        Ok(())
    }
}

/// Refuses what models that learn from mini-batches alone cannot be had with.
fn check_network(settings: &Settings) -> Result<(), TrainError> {
    if settings.optimizer == OptimizerChoice::Lbfgs {
        return refuse("optimizer", "lbfgs for a network", "adam, adagrad or sgd");
    }
    if settings.inequality == Inequality::Slack {
        return refuse("inequality", "slack for a network", "active-set");
    }
    let multipliers = matches!(settings.method, MethodChoice::Auto | MethodChoice::Ico);
    if settings.shared_threshold && multipliers {
        return refuse(
            "shared-threshold",
            "",
            "the linear model, or the lagrangian method: multipliers need the full batch",
        );
    }
    Ok(())
}

/// Refuses what slack variables cannot be had with.
fn check_slack(goal: &Goal, settings: &Settings) -> Result<(), TrainError> {
    let refuse = |found: &str, expected| refuse("inequality", found, expected);
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
    let refuse = |expected| refuse("shared-threshold", "", expected);
    if goal.column().is_none() {
        return refuse("a goal with conditions on groups; without one there is one threshold anyway");
    }
    let multipliers = matches!(settings.method, MethodChoice::Auto | MethodChoice::Ico);
    if settings.method == MethodChoice::Pairwise {
        return refuse("method auto, ico, lagrangian or cross-entropy");
    }
    if multipliers && settings.batch_size.is_some() {
        return refuse("the full batch, or the lagrangian method");
    }
    if multipliers && !matches!(settings.optimizer, OptimizerChoice::Auto | OptimizerChoice::Lbfgs) {
        return refuse("optimizer lbfgs, or the lagrangian method");
    }
    if settings.method == MethodChoice::Ico && !matches!(settings.bandwidth, Bandwidth::Deviations(_)) {
        return refuse("a bandwidth in deviations, such as 0.1sd");
    }
    if settings.rotations() > 1 {
        return refuse(
            "no rotations: an average need not meet the conditions on groups that its members meet",
        );
    }
    if settings.inequality == Inequality::Slack {
        return refuse("inequality active-set: multipliers meet the limits");
    }
    Ok(())
}
