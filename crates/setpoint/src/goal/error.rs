//! Why a goal makes no sense: what was found, and what to write instead.

use thiserror::Error;

use super::{Curve, Rate, Relation, number};
use crate::message::clip;

/// Why a goal makes no sense.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum GoalError {
    /// A target that the quantity cannot have, or that decides nothing.
    #[error("target {quantity} {} is outside {interval}{}",
        number::fraction(*target), target_hint(*target), quantity = clip(quantity))]
    Target {
        /// What has the target, as goals write it.
        quantity: String,
        /// The target given.
        target: f64,
        /// The targets that make sense.
        interval: &'static str,
    },
    /// A condition that asks for the worse side of a quantity.
    #[error("{quantity} is better {}: write {quantity}{right}{target} or {quantity}={target}",
        if *right == Relation::AtMost { "low" } else { "high" }, quantity = clip(quantity))]
    WrongSide {
        /// What is held, as goals write it.
        quantity: String,
        /// The relation that makes sense.
        right: Relation,
        /// The target, as goals write it.
        target: String,
    },
    /// An objective that is neither better high nor better low.
    #[error(
        "{rate} is neither better high nor better low, so it cannot be improved; make it a condition, as in \"accuracy @ {rate}<=10%\""
    )]
    NoDirection {
        /// The objective.
        rate: Rate,
    },
    /// An objective that is best at a useless threshold.
    #[error(
        "{objective} alone is best at an extreme threshold, which is of no use; add a condition, as in \"{objective} @ {example}\"",
        objective = clip(objective), example = clip(example)
    )]
    Unconditioned {
        /// The objective.
        objective: String,
        /// A condition that would do.
        example: String,
    },
    /// An objective that a condition already settles.
    #[error(
        "{condition} already settles {objective}, so nothing is left to improve; condition on another rate, or improve one",
        condition = clip(condition), objective = clip(objective)
    )]
    NothingToImprove {
        /// The objective.
        objective: String,
        /// The condition that settles it.
        condition: String,
    },
    /// Conditions on groups of different columns.
    #[error("conditions name two group columns, {first} and {second}; a goal takes one", first = clip(first), second = clip(second))]
    TwoColumns {
        /// The column named first, quoted where needed.
        first: String,
        /// The other column.
        second: String,
    },
    /// A group column without a name.
    #[error("the group column has an empty name")]
    EmptyColumn,
    /// Conditions beside an area.
    #[error("{curve} takes its range and nothing else, but {condition} stands beside it", condition = clip(condition))]
    BesideArea {
        /// The curve.
        curve: Curve,
        /// The first condition.
        condition: String,
    },
    /// A range along a rate that the curve does not have.
    #[error("{curve} takes a range of {}, not of {axis}", axes(*curve))]
    Axis {
        /// The curve.
        curve: Curve,
        /// The rate given.
        axis: Rate,
    },
    /// A range that is empty or runs backwards.
    #[error(
        "the range from {} to {} {}", number::fraction(*from), number::fraction(*to),
        if from == to { "is empty" } else { "runs backwards; write the lower end first, and % on both ends or on neither" }
    )]
    EmptyRange {
        /// Lower end given.
        from: f64,
        /// Upper end given.
        to: f64,
    },
    /// A range that leaves what rates can be.
    #[error("{} is outside [0, 1], where rates are{}", number::fraction(*end), target_hint(*end))]
    RangeOutside {
        /// The end that is outside.
        end: f64,
    },
    /// `k=0`.
    #[error("k=0 takes nothing; write the number of examples to take, as in k=100")]
    NoneTaken,
    /// `k=100 of 50`.
    #[error("k={k} of {of} leaves no row out; k must be below the number of rows")]
    AllTaken {
        /// How many to take.
        k: u64,
        /// Out of how many.
        of: u64,
    },
    /// `k` or `top` together with other conditions.
    #[error(
        "{quantity} alone decides which examples are taken, so it stands by itself; beside other conditions write positive-rate<=5% or the like"
    )]
    TopBeside {
        /// `k` or `top`.
        quantity: &'static str,
    },
    /// Two conditions on one quantity.
    #[error("{second} and {first} hold the same thing; keep one", first = clip(first), second = clip(second))]
    Duplicate {
        /// The condition written first.
        first: String,
        /// The condition that repeats it.
        second: String,
    },
    /// A lower limit that is not below the upper one.
    #[error("{first} and {second} leave no room between them", first = clip(first), second = clip(second))]
    NoRoom {
        /// The condition written first.
        first: String,
        /// The limit on the other side.
        second: String,
    },
    /// Costs that are not one for each pair of classes.
    #[error(
        "the costs of {classes} classes are {expected} finite numbers, one for each pair of true and decided class"
    )]
    Costs {
        /// How many there should be.
        expected: usize,
        /// How many classes there are.
        classes: usize,
    },
    /// Costs for a goal that names none.
    #[error("the goal has no costs; write cost(table.csv) to improve them")]
    NoCosts,
    /// An amount that is none.
    #[error("amount {name}={} is not a finite number", number::fraction(*amount))]
    Amount {
        /// `tp`, `fp`, `fn` or `tn`.
        name: &'static str,
        /// The amount given.
        amount: f64,
    },
    /// Amounts that are all 0.
    #[error("every amount of {rate} is 0, so there is nothing to improve; give one that is not")]
    NoAmount {
        /// `cost` or `profit`.
        rate: Rate,
    },
    /// A condition that takes no notice of rows that are left undecided.
    #[error(
        "{condition} decides every row, and coverage leaves some undecided; {instead}", condition = clip(condition)
    )]
    BesideCoverage {
        /// What stands beside coverage.
        condition: String,
        /// What to do.
        instead: &'static str,
    },
    /// Coverage to be improved while mistakes of one kind are free.
    #[error(
        "coverage is 1 wherever this can be met: {missing} are held by no condition; add one, as in \"coverage @ {example}\""
    )]
    OneSided {
        /// Decisions that may be made at will.
        missing: &'static str,
        /// Conditions that would do.
        example: &'static str,
    },
    /// An f-beta whose beta is no weight.
    #[error("beta {} of f-beta must be between 0.001 and 1000, as in f1, f2 or f0.5", number::fraction(*beta))]
    Beta {
        /// The beta given.
        beta: f64,
    },
}

fn axes(curve: Curve) -> &'static str {
    match curve {
        Curve::Roc => "fpr or recall",
        Curve::PrecisionRecall => "recall or precision",
    }
}

/// What a target outside its interval was probably meant to be.
fn target_hint(target: f64) -> String {
    if target == 0.0 {
        "; write a small number such as 0.1%".to_owned()
    } else if target == 1.0 {
        "; write a number close to 1 such as 0.999".to_owned()
    } else if target > 1.0 && target < 100.0 {
        let share = number::read(&number::fraction(target), true).unwrap_or(target / 100.0);
        let (percent, share) = (number::fraction(target), number::fraction(share));
        format!("; write {percent}% as {share} or {percent}%")
    } else {
        String::new()
    }
}
