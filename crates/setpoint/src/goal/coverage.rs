//! The rules for goals in money, and for those that leave rows undecided.

use super::check::{Clause, Fault, fault};
use super::{Amount, Constraint, Goal, GoalError, Money, Objective, Rate};

/// Amounts are finite numbers, or columns with a name, and one of them is not 0.
pub(super) fn amounts(money: &Money) -> Result<(), Fault> {
    for (name, amount) in money.amounts() {
        match amount {
            Amount::Fixed(amount) if !amount.is_finite() => {
                return fault(Clause::Objective, GoalError::Amount { name, amount: *amount });
            }
            Amount::Column { name, .. } if name.is_empty() => {
                return fault(Clause::Objective, GoalError::EmptyColumn);
            }
            _ => {}
        }
    }
    if money.amounts().iter().all(|(_, amount)| **amount == Amount::default()) {
        return fault(Clause::Objective, GoalError::NoAmount { rate: money.rate() });
    }
    Ok(())
}

/// The rules for goals of coverage.
pub(super) fn leaves_rows_undecided(goal: &Goal) -> Result<(), Fault> {
    if !goal.abstains() {
        return Ok(());
    }
    if goal.money().is_some() {
        let (condition, instead) = (goal.objective.to_string(), "hold error or precision and npv instead");
        return fault(Clause::Objective, GoalError::BesideCoverage { condition, instead });
    }
    let decides_all = |condition: &Constraint| condition.column().is_some() || condition.rate().is_none();
    if let Some(index) = goal.constraints.iter().position(decides_all) {
        let (condition, instead) = (goal.constraints[index].to_string(), "hold rates over all rows instead");
        return fault(Clause::Condition(index), GoalError::BesideCoverage { condition, instead });
    }
    if goal.objective != Objective::Rate(Rate::Coverage) {
        return Ok(());
    }
    let held = |rates: &[Rate]| goal.constraints.iter().any(|c| c.rate().is_some_and(|r| rates.contains(&r)));
    let both = held(&[Rate::Accuracy, Rate::Error]);
    let positives = [Rate::Precision, Rate::FalseDiscoveryRate, Rate::FalsePositiveRate];
    let negatives = [Rate::NegativePredictiveValue, Rate::FalseOmissionRate, Rate::FalseNegativeRate];
    let missing = match (both || held(&positives), both || held(&negatives)) {
        (true, true) => return Ok(()),
        (true, false) => "negative decisions",
        (false, _) => "positive decisions",
    };
    let example = "precision>=0.95, npv>=0.99";
    fault(Clause::Objective, GoalError::OneSided { missing, example })
}

#[cfg(test)]
mod tests {
    use crate::goal::Goal;

    #[test]
    fn goals_of_coverage_hold_mistakes_of_both_kinds_and_decide_no_row_by_the_way() {
        for goal in ["coverage @ precision>=0.95, npv>=0.99", "coverage @ error<=2%", "error @ coverage>=0.9"]
        {
            assert_eq!(goal.parse::<Goal>().unwrap_or_else(|error| panic!("{error}")).to_string(), goal);
        }
        for (goal, said) in [
            ("coverage", "coverage alone is best at an extreme threshold"),
            ("coverage @ precision>=0.9", "negative decisions are held by no condition"),
            ("coverage @ npv>=0.9, recall>=0.5", "positive decisions are held by no condition"),
            ("accuracy @ coverage>=0.9, fpr(sex)<=2%", "fpr(sex)<=2% decides every row"),
            ("profit(tp=1, fp=-1) @ coverage>=0.9", "decides every row"),
            ("error @ coverage<=0.9", "coverage is better high"),
            ("roc-auc @ coverage in 0..1", "roc-auc takes a range of fpr or recall"),
        ] {
            let error = goal.parse::<Goal>().unwrap_err().to_string();
            assert!(error.contains(said), "{goal}: {error}");
        }
    }
}
