//! What is wanted, as plain data: an objective under conditions.
//!
//! A [`Goal`] says nothing about models, scores or data. It can be built in
//! code or parsed from the text people write, and prints back as that text:
//!
//! ```
//! use setpoint::goal::Goal;
//!
//! let goal: Goal = "recall @ fpr<=1%".parse()?;
//! assert_eq!(goal.to_string(), "recall @ fpr<=1%");
//! # Ok::<(), setpoint::goal::ParseError>(())
//! ```

mod any;
#[cfg(test)]
mod arbitrary;
mod build;
mod caret;
mod check;
pub(crate) mod class;
mod column;
mod constraint;
mod coverage;
mod describe;
mod error;
mod money;
mod name;
mod number;
mod objective;
mod operating;
mod parse;
mod print;
mod query;
mod rate;

pub use any::{AnyGoal, GoalText};
pub use check::check_conditions;
pub use class::{ClassCondition, ClassGoal, ClassObjective, ClassRate, Over, Target};
pub use constraint::{Constraint, Relation, Top, safe_side};
pub use error::GoalError;
pub use money::{Amount, Money};
pub use objective::{Area, Curve, Objective};
pub use parse::{ParseError, ParseErrorKind, parse_conditions};
pub use query::{Gain, QueryGoal, QueryMetric, QueryTop};
pub use rate::{Counts, Direction, Fraction, Rate};

/// An objective and the conditions under which it is improved.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// What to improve.
    pub objective: Objective,
    /// What must hold meanwhile; empty for a free threshold (`f1`) and for areas.
    pub constraints: Vec<Constraint>,
}

impl Goal {
    /// The group column that the conditions name, if any. All conditions name the same one.
    #[must_use]
    pub fn column(&self) -> Option<&str> {
        self.constraints.iter().find_map(Constraint::column)
    }

    /// The amounts that it is about, if it is one in money.
    #[must_use]
    pub fn money(&self) -> Option<&Money> {
        match &self.objective {
            Objective::Money(money) => Some(money),
            _ => None,
        }
    }

    /// Whether rows between two thresholds are left undecided: where it speaks of coverage.
    #[must_use]
    pub fn abstains(&self) -> bool {
        let coverage = |constraint: &Constraint| constraint.rate() == Some(Rate::Coverage);
        self.objective.rate() == Some(Rate::Coverage) || self.constraints.iter().any(coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> String {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/goals.md");
        std::fs::read_to_string(path).expect("docs/goals.md is part of the repository")
    }

    /// The fenced blocks of the page that are marked with this word.
    fn documented(mark: &str) -> Vec<String> {
        let page = page();
        let blocks = page.split("```").skip(1).step_by(2);
        blocks.filter_map(|block| block.strip_prefix(mark)?.strip_prefix('\n').map(str::to_owned)).collect()
    }

    #[test]
    fn documented_goals_parse_and_print_as_documented() {
        let blocks = documented("goal");
        let goals: Vec<&str> = blocks.iter().flat_map(|block| block.lines()).collect();
        assert!(goals.len() > 15, "{goals:?}");
        for line in goals {
            let goal = line.split("   ").next().unwrap_or_default();
            assert_eq!(goal.parse::<Goal>().unwrap_or_else(|error| panic!("{error}")).to_string(), goal);
        }
    }

    #[test]
    fn documented_goals_of_classes_parse_and_print_as_documented() {
        let classes = ["review", "r2l", "u2r", "shirt"].map(str::to_owned);
        let blocks = documented("classes");
        assert_eq!(blocks.iter().flat_map(|block| block.lines()).count(), 9);
        for line in blocks.iter().flat_map(|block| block.lines()) {
            let goal = line.split("   ").next().unwrap_or_default();
            assert_eq!(
                ClassGoal::parse(goal, &classes).unwrap_or_else(|error| panic!("{error}")).to_string(),
                goal
            );
        }
    }

    #[test]
    fn documented_goals_per_query_parse_and_print_as_documented() {
        let blocks = documented("query");
        assert_eq!(blocks.iter().flat_map(|block| block.lines()).count(), 6);
        for line in blocks.iter().flat_map(|block| block.lines()) {
            let goal = line.split("   ").next().unwrap_or_default();
            assert_eq!(goal.parse::<QueryGoal>().unwrap_or_else(|error| panic!("{error}")).to_string(), goal);
        }
    }

    #[test]
    fn documented_errors_are_the_ones_given() {
        let blocks = documented("error");
        assert_eq!(blocks.len(), 2);
        for block in blocks {
            let goal = block.split('"').nth(1).unwrap_or_default();
            assert_eq!(goal.parse::<Goal>().unwrap_err().to_string(), block.trim_end());
        }
    }

    #[test]
    fn every_rate_is_documented() {
        for rate in Rate::ALL {
            assert!(page().contains(&format!("| `{rate}`")), "{rate}");
        }
    }
}
