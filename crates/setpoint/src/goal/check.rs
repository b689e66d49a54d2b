//! What makes sense as a goal, whether it was parsed or built in code.
//!
//! A rule returns a fault with the clause of the goal that broke it; the parser
//! turns the clause into a place in the text, [`Goal::check`] drops it.

use super::{
    Area, Constraint, Direction, Goal, GoalError, Objective, Rate, Relation, Top, column, coverage, number,
};

/// The clause of a goal that a fault is about; conditions by their position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clause {
    Objective,
    Axis,
    Range,
    Condition(usize),
    Rate(usize),
    Column(usize),
    Relation(usize),
    Target(usize),
}

/// A broken rule and where it was broken.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub clause: Clause,
    pub error: GoalError,
}

impl Goal {
    /// Whether the goal makes sense; parsed goals always do.
    ///
    /// ```
    /// use setpoint::goal::{Constraint, Goal, Rate};
    ///
    /// let at = |fpr| Goal::improve(Rate::Recall).under(Constraint::at_most(Rate::FalsePositiveRate, fpr));
    /// assert!(at(0.01).check().is_ok());
    /// let error = at(1.5).check().unwrap_err();
    /// assert_eq!(error.to_string(), "target fpr 1.5 is outside (0, 1); write 1.5% as 0.015 or 1.5%");
    /// ```
    ///
    /// # Errors
    ///
    /// [`GoalError`] with the first rule that the goal breaks.
    pub fn check(&self) -> Result<(), GoalError> {
        goal(self).map_err(|fault| fault.error)
    }
}

/// Whether conditions make sense together, whatever the objective.
///
/// # Errors
///
/// [`GoalError`] with the first rule that they break.
pub fn check_conditions(constraints: &[Constraint]) -> Result<(), GoalError> {
    conditions(constraints).map_err(|fault| fault.error)
}

pub(super) fn fault<T>(clause: Clause, error: GoalError) -> Result<T, Fault> {
    Err(Fault { clause, error })
}

pub(super) fn goal(goal: &Goal) -> Result<(), Fault> {
    match &goal.objective {
        Objective::Area(area) => {
            check_area(area)?;
            conditions(&goal.constraints)?;
            match goal.constraints.first() {
                None => Ok(()),
                Some(condition) => {
                    let condition = condition.to_string();
                    fault(Clause::Condition(0), GoalError::BesideArea { curve: area.curve, condition })
                }
            }
        }
        Objective::Money(money) => {
            coverage::amounts(money)?;
            conditions(&goal.constraints)?;
            if money.extreme() && goal.constraints.is_empty() {
                let (objective, example) = (money.to_string(), "positive-rate<=2%".to_owned());
                return fault(Clause::Objective, GoalError::Unconditioned { objective, example });
            }
            coverage::leaves_rows_undecided(goal)
        }
        Objective::Rate(rate) => {
            beta(*rate, Clause::Objective)?;
            if rate.direction() == Direction::Neither {
                return fault(Clause::Objective, GoalError::NoDirection { rate: *rate });
            }
            conditions(&goal.constraints)?;
            leaves_something_to_improve(*rate, &goal.constraints)?;
            coverage::leaves_rows_undecided(goal)
        }
    }
}

fn leaves_something_to_improve(objective: Rate, constraints: &[Constraint]) -> Result<(), Fault> {
    for (index, condition) in constraints.iter().enumerate() {
        if matches!(condition, Constraint::Rate { rate, .. } if upright(*rate) == upright(objective)) {
            let condition = condition.to_string();
            let objective = objective.to_string();
            return fault(Clause::Condition(index), GoalError::NothingToImprove { objective, condition });
        }
    }
    let example = match objective {
        Rate::Recall | Rate::FalseNegativeRate | Rate::NegativePredictiveValue | Rate::FalseOmissionRate => {
            "fpr<=1%"
        }
        Rate::Precision | Rate::FalseDiscoveryRate | Rate::FalsePositiveRate | Rate::TrueNegativeRate => {
            "recall>=0.95"
        }
        Rate::Coverage => "precision>=0.95, npv>=0.99",
        // These weigh both kinds of mistake, so a free threshold has a best place.
        _ => return Ok(()),
    };
    if constraints.is_empty() {
        return fault(
            Clause::Objective,
            GoalError::Unconditioned { objective: objective.to_string(), example: example.to_owned() },
        );
    }
    Ok(())
}

pub(super) fn conditions(constraints: &[Constraint]) -> Result<(), Fault> {
    for (index, condition) in constraints.iter().enumerate() {
        check_alone(condition, index)?;
        for first in &constraints[..index] {
            check_pair(first, condition, index)?;
        }
    }
    Ok(())
}

/// The rules for one condition by itself.
fn check_alone(condition: &Constraint, index: usize) -> Result<(), Fault> {
    let (rate, relation, target) = match condition {
        Constraint::Top(top) => return check_top(*top, index),
        Constraint::Rate { rate, relation, target }
        | Constraint::PerGroup { rate, relation, target, .. }
        | Constraint::Gap { rate, relation, target, .. }
        | Constraint::Ratio { rate, relation, target, .. } => (*rate, *relation, *target),
    };
    beta(rate, Clause::Rate(index))?;
    if condition.column() == Some("") {
        return fault(Clause::Column(index), GoalError::EmptyColumn);
    }
    let (inside, interval) = match condition {
        Constraint::Gap { .. } => ((0.0..1.0).contains(&target), "[0, 1)"),
        Constraint::Ratio { .. } => (target > 0.0 && target <= 1.0, "(0, 1]"),
        _ => (target > 0.0 && target < 1.0, "(0, 1)"),
    };
    let quantity = condition.quantity();
    if !inside {
        return fault(Clause::Target(index), GoalError::Target { quantity, target, interval });
    }
    let (right, target) = match (condition, rate.direction()) {
        (Constraint::Gap { .. }, _) => (Relation::AtMost, number::fraction(target)),
        (Constraint::Ratio { .. }, _) => (Relation::AtLeast, number::fraction(target)),
        (_, Direction::Up) => (Relation::AtLeast, number::target(target)),
        (_, Direction::Down) => (Relation::AtMost, number::target(target)),
        (_, Direction::Neither) => return Ok(()),
    };
    if relation != right && relation != Relation::Equal {
        return fault(Clause::Relation(index), GoalError::WrongSide { quantity, right, target });
    }
    Ok(())
}

fn check_top(top: Top, index: usize) -> Result<(), Fault> {
    let clause = Clause::Target(index);
    match top {
        Top::Count { k: 0, .. } => fault(clause, GoalError::NoneTaken),
        Top::Count { k, of: Some(of) } if k >= of => fault(clause, GoalError::AllTaken { k, of }),
        Top::Fraction(target) if !(target > 0.0 && target < 1.0) => {
            fault(clause, GoalError::Target { quantity: "top".to_owned(), target, interval: "(0, 1)" })
        }
        Top::Count { .. } | Top::Fraction(_) => Ok(()),
    }
}

/// The rules for a condition and one before it.
fn check_pair(first: &Constraint, second: &Constraint, index: usize) -> Result<(), Fault> {
    let clause = Clause::Condition(index);
    if matches!(first, Constraint::Top(_)) || matches!(second, Constraint::Top(_)) {
        let fraction = [first, second].iter().any(|c| matches!(c, Constraint::Top(Top::Fraction(_))));
        return fault(clause, GoalError::TopBeside { quantity: if fraction { "top" } else { "k" } });
    }
    if let (Some(a), Some(b)) = (first.column(), second.column())
        && a != b
    {
        let (first, second) = (column::quote(a), column::quote(b));
        return fault(Clause::Column(index), GoalError::TwoColumns { first, second });
    }
    if !hold_one_quantity(first, second) {
        return Ok(());
    }
    let (first, second, band) = (first.to_string(), second.to_string(), band(first, second));
    match band {
        Some((low, high)) if low < high => Ok(()),
        Some(_) => fault(clause, GoalError::NoRoom { first, second }),
        None => fault(clause, GoalError::Duplicate { first, second }),
    }
}

/// Whether two conditions set limits on the same quantity.
///
/// A rate and its complement are one quantity (recall and fnr), and so are the
/// gaps of the two; their ratios are not.
fn hold_one_quantity(first: &Constraint, second: &Constraint) -> bool {
    use Constraint::{Gap, PerGroup, Rate, Ratio};
    match (first, second) {
        (Rate { rate: a, .. }, Rate { rate: b, .. })
        | (PerGroup { rate: a, .. }, PerGroup { rate: b, .. })
        | (Gap { rate: a, .. }, Gap { rate: b, .. }) => upright(*a) == upright(*b),
        (Ratio { rate: a, .. }, Ratio { rate: b, .. }) => a == b,
        _ => false,
    }
}

/// Lower and upper end of `positive-rate>=5%, positive-rate<=10%` and the like.
///
/// Only a rate without direction has limits on both sides.
fn band(first: &Constraint, second: &Constraint) -> Option<(f64, f64)> {
    let limit = |condition: &Constraint| match condition {
        Constraint::Rate { rate: Rate::PositiveRate, relation, target }
        | Constraint::PerGroup { rate: Rate::PositiveRate, relation, target, .. } => {
            Some((*relation, *target))
        }
        _ => None,
    };
    match (limit(first)?, limit(second)?) {
        ((Relation::AtLeast, low), (Relation::AtMost, high))
        | ((Relation::AtMost, high), (Relation::AtLeast, low)) => Some((low, high)),
        _ => None,
    }
}

/// The rate itself if more of it is better, else its complement: fnr as recall.
fn upright(rate: Rate) -> Rate {
    match rate.direction() {
        Direction::Down => rate.complement().unwrap_or(rate),
        Direction::Up | Direction::Neither => rate,
    }
}

pub(super) fn beta(rate: Rate, clause: Clause) -> Result<(), Fault> {
    match rate {
        Rate::FBeta(beta) if !(1e-3..=1e3).contains(&beta) => fault(clause, GoalError::Beta { beta }),
        _ => Ok(()),
    }
}

fn check_area(area: &Area) -> Result<(), Fault> {
    if area.height().is_none() {
        return fault(Clause::Axis, GoalError::Axis { curve: area.curve, axis: area.axis });
    }
    if let Some(end) = [area.from, area.to].into_iter().find(|end| !(0.0..=1.0).contains(end)) {
        return fault(Clause::Range, GoalError::RangeOutside { end });
    }
    if area.from >= area.to {
        return fault(Clause::Range, GoalError::EmptyRange { from: area.from, to: area.to });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::Curve;

    fn message(goal: &Goal) -> String {
        goal.check().expect_err("the goal breaks a rule").to_string()
    }

    fn under(conditions: &[Constraint]) -> Goal {
        Goal { objective: Rate::Recall.into(), constraints: conditions.to_vec() }
    }

    const FPR: Rate = Rate::FalsePositiveRate;

    #[test]
    fn targets_outside_their_interval_are_refused() {
        for (target, hint) in [
            (1.5, "1.5 is outside (0, 1); write 1.5% as 0.015 or 1.5%"),
            (5.0, "5 is outside (0, 1); write 5% as 0.05 or 5%"),
            (0.0, "0 is outside (0, 1); write a small number such as 0.1%"),
            (1.0, "1 is outside (0, 1); write a number close to 1 such as 0.999"),
            (-0.1, "-0.1 is outside (0, 1)"),
            (500.0, "500 is outside (0, 1)"),
            (f64::NAN, "NaN is outside (0, 1)"),
            (f64::INFINITY, "inf is outside (0, 1)"),
        ] {
            assert_eq!(message(&under(&[Constraint::at_most(FPR, target)])), format!("target fpr {hint}"));
            let top = Goal::improve(Rate::Precision).under(Constraint::Top(Top::Fraction(target)));
            assert_eq!(message(&top), format!("target top {hint}"));
        }
        let parity =
            |gap| Goal::improve(Rate::Accuracy).under(Constraint::gap(Rate::PositiveRate, "sex", gap));
        assert_eq!(parity(0.0).check(), Ok(()));
        assert_eq!(
            message(&parity(2.0)),
            "target gap(positive-rate, sex) 2 is outside [0, 1); write 2% as 0.02 or 2%"
        );
        let ratio = |target| Goal::improve(Rate::Accuracy).under(Constraint::ratio(FPR, "sex", target));
        assert_eq!(ratio(1.0).check(), Ok(()));
        assert_eq!(
            message(&ratio(0.0)),
            "target ratio(fpr, sex) 0 is outside (0, 1]; write a small number such as 0.1%"
        );
    }

    #[test]
    fn conditions_on_the_worse_side_say_what_to_write() {
        assert_eq!(
            message(&under(&[Constraint::at_least(FPR, 0.01)])),
            "fpr is better low: write fpr<=1% or fpr=1%"
        );
        assert_eq!(
            message(&under(&[Constraint::at_most(Rate::Precision, 0.9).per_group("sex")])),
            "precision(sex) is better high: write precision(sex)>=0.9 or precision(sex)=0.9"
        );
        let column = || "sex".to_owned();
        let gap = Constraint::Gap { rate: FPR, column: column(), relation: Relation::AtLeast, target: 0.02 };
        assert_eq!(
            message(&under(&[gap])),
            "gap(fpr, sex) is better low: write gap(fpr, sex)<=0.02 or gap(fpr, sex)=0.02"
        );
        let ratio =
            Constraint::Ratio { rate: FPR, column: column(), relation: Relation::AtMost, target: 0.8 };
        assert_eq!(
            message(&under(&[ratio])),
            "ratio(fpr, sex) is better high: write ratio(fpr, sex)>=0.8 or ratio(fpr, sex)=0.8"
        );
        for condition in [Constraint::at_most, Constraint::at_least, Constraint::equal] {
            assert_eq!(under(&[condition(Rate::PositiveRate, 0.1)]).check(), Ok(()));
        }
    }

    #[test]
    fn an_objective_must_have_a_direction_and_room_to_improve() {
        assert_eq!(
            message(&Goal::improve(Rate::PositiveRate)),
            "positive-rate is neither better high nor better low, so it cannot be improved; make it a condition, as in \"accuracy @ positive-rate<=10%\""
        );
        assert_eq!(
            message(&under(&[])),
            "recall alone is best at an extreme threshold, which is of no use; add a condition, as in \"recall @ fpr<=1%\""
        );
        for rate in [Rate::Accuracy, Rate::Error, Rate::BalancedAccuracy, Rate::FBeta(2.0)] {
            assert_eq!(Goal::improve(rate).check(), Ok(()));
        }
        let settled = "so nothing is left to improve; condition on another rate, or improve one";
        assert_eq!(
            message(&under(&[Constraint::at_least(Rate::Recall, 0.9)])),
            format!("recall>=0.9 already settles recall, {settled}")
        );
        assert_eq!(
            message(&under(&[
                Constraint::at_most(FPR, 0.1),
                Constraint::at_most(Rate::FalseNegativeRate, 0.1)
            ])),
            format!("fnr<=10% already settles recall, {settled}")
        );
        // Held within groups, the rate can still be improved overall.
        let groups = Constraint::at_least(Rate::Recall, 0.9).per_group("sex");
        assert_eq!(under(&[Constraint::at_most(FPR, 0.1), groups]).check(), Ok(()));
    }

    #[test]
    fn one_goal_takes_one_group_column() {
        let by = |column: &str| Constraint::at_most(FPR, 0.1).per_group(column);
        let gap = Constraint::gap(Rate::Recall, "marital status", 0.1);
        assert_eq!(
            message(&under(&[by("sex"), gap])),
            "conditions name two group columns, sex and \"marital status\"; a goal takes one"
        );
        assert_eq!(message(&under(&[by("")])), "the group column has an empty name");
    }

    #[test]
    fn an_area_takes_its_range_and_nothing_else() {
        let area = Area { curve: Curve::Roc, axis: FPR, from: 0.0, to: 0.05 };
        for (area, expected) in [
            (
                Area { axis: Rate::Precision, ..area },
                "roc-auc takes a range of fpr or recall, not of precision",
            ),
            (
                Area { curve: Curve::PrecisionRecall, ..area },
                "pr-auc takes a range of recall or precision, not of fpr",
            ),
            (Area { from: 0.05, ..area }, "the range from 0.05 to 0.05 is empty"),
            (
                Area { from: 1.0, ..area },
                "the range from 1 to 0.05 runs backwards; write the lower end first, and % on both ends or on neither",
            ),
            (Area { to: 5.0, ..area }, "5 is outside [0, 1], where rates are; write 5% as 0.05 or 5%"),
            (Area { from: f64::NAN, ..area }, "NaN is outside [0, 1], where rates are"),
        ] {
            assert_eq!(message(&Goal::improve(area)), expected);
        }
        assert_eq!(
            message(&Goal::improve(area).under(Constraint::at_least(Rate::Recall, 0.9))),
            "roc-auc takes its range and nothing else, but recall>=0.9 stands beside it"
        );
    }

    #[test]
    fn the_highest_scores_are_some_and_not_all_and_stand_alone() {
        let top = |k, of| Goal::improve(Rate::Precision).under(Constraint::Top(Top::Count { k, of }));
        assert_eq!(top(100, Some(101)).check(), Ok(()));
        assert_eq!(
            message(&top(0, None)),
            "k=0 takes nothing; write the number of examples to take, as in k=100"
        );
        for of in [50, 100] {
            assert_eq!(
                message(&top(100, Some(of))),
                format!("k=100 of {of} leaves no row out; k must be below the number of rows")
            );
        }
        for beside in [Constraint::at_most(FPR, 0.1), Constraint::Top(Top::Count { k: 5, of: None })] {
            assert_eq!(
                message(&top(100, None).under(beside)),
                "k alone decides which examples are taken, so it stands by itself; beside other conditions write positive-rate<=5% or the like"
            );
        }
    }

    #[test]
    fn the_same_thing_is_held_once() {
        let fpr = Constraint::at_most(FPR, 0.01);
        for (other, text) in [
            (Constraint::at_most(FPR, 0.02), "fpr<=2%"),
            (Constraint::equal(FPR, 0.01), "fpr=1%"),
            (Constraint::at_least(Rate::TrueNegativeRate, 0.9), "tnr>=0.9"),
        ] {
            let goal = under(&[fpr.clone(), other]);
            assert_eq!(message(&goal), format!("{text} and fpr<=1% hold the same thing; keep one"));
        }
        assert_eq!(under(&[fpr.clone(), fpr.clone().per_group("sex")]).check(), Ok(()));
        assert_eq!(under(&[fpr, Constraint::gap(FPR, "sex", 0.01)]).check(), Ok(()));

        let band = |low, high| {
            let positive = Rate::PositiveRate;
            under(&[Constraint::at_least(positive, low), Constraint::at_most(positive, high)])
        };
        assert_eq!(band(0.05, 0.1).check(), Ok(()));
        assert_eq!(
            message(&band(0.1, 0.05)),
            "positive-rate>=10% and positive-rate<=5% leave no room between them"
        );
    }

    #[test]
    fn a_beta_is_a_weight() {
        for beta in [0.0, -1.0, 1e-9, 1e9, f64::NAN, f64::INFINITY] {
            assert!(
                matches!(Goal::improve(Rate::FBeta(beta)).check(), Err(GoalError::Beta { .. })),
                "{beta}"
            );
        }
        assert_eq!(
            message(&Goal::improve(Rate::FBeta(0.0))),
            "beta 0 of f-beta must be between 0.001 and 1000, as in f1, f2 or f0.5"
        );
    }
}
