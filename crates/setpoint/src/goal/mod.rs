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

#[cfg(test)]
mod arbitrary;
mod caret;
mod check;
mod column;
mod constraint;
mod describe;
mod error;
mod name;
mod number;
mod objective;
mod parse;
mod presets;
mod print;
mod rate;

pub use check::check_conditions;
pub use constraint::{Constraint, Relation, Top, safe_side};
pub use error::GoalError;
pub use objective::{Area, Curve, Objective};
pub use parse::{ParseError, ParseErrorKind, parse_conditions};
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
}
