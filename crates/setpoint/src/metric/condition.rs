//! A condition of a goal as it is checked on counted decisions.

use std::fmt;

use super::MetricError;
use crate::goal::{Constraint, Counts, Rate, Relation, safe_side};

/// A rate held against a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// The rate held.
    pub rate: Rate,
    /// Which side of the target it must be on.
    pub relation: Relation,
    /// The value asked for.
    pub target: f64,
}

impl Condition {
    /// The condition of a goal, where it is about one threshold.
    ///
    /// # Errors
    /// If it is about groups. `k=` and `top=` are no conditions on a rate: `Ok(None)`.
    pub fn of(constraint: &Constraint) -> Result<Option<Self>, MetricError> {
        match constraint {
            Constraint::Rate { rate, relation, target } => {
                Ok(Some(Self { rate: *rate, relation: *relation, target: *target }))
            }
            Constraint::Top(_) => Ok(None),
            Constraint::PerGroup { column, .. }
            | Constraint::Gap { column, .. }
            | Constraint::Ratio { column, .. } => Err(MetricError::GroupCondition { column: column.clone() }),
        }
    }

    /// `AtMost` or `AtLeast`: an equality is read on the safe side.
    #[must_use]
    pub fn side(&self) -> Relation {
        match self.relation {
            Relation::Equal => safe_side(self.rate),
            side => side,
        }
    }

    /// Whether the condition holds for these counts; not where its rate is undefined.
    #[must_use]
    pub fn holds(&self, counts: &Counts) -> bool {
        self.rate.of(counts).is_some_and(|value| self.allows(value))
    }

    /// Whether a value is on the right side of the target.
    #[must_use]
    pub fn allows(&self, value: f64) -> bool {
        match self.side() {
            Relation::AtMost => value <= self.target,
            _ => value >= self.target,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rate, relation, target } = *self;
        Constraint::Rate { rate, relation, target }.fmt(f)
    }
}
