//! Goals built in code, for programs that compute their conditions; people write text.
//!
//! Nothing is checked here; [`Goal::check`] is the one door, for goals of any origin.

use super::{Area, Constraint, Goal, Money, Objective, Rate, Relation};

impl Goal {
    /// A goal that improves a rate or an area, under no condition yet.
    #[must_use]
    pub fn improve(objective: impl Into<Objective>) -> Self {
        Self { objective: objective.into(), constraints: Vec::new() }
    }

    /// The same goal under one more condition.
    ///
    /// ```
    /// # use setpoint::goal::{Constraint, Goal, Rate};
    /// let goal = Goal::improve(Rate::Recall)
    ///     .under(Constraint::at_least(Rate::Precision, 0.9))
    ///     .under(Constraint::at_most(Rate::FalsePositiveRate, 0.02));
    /// assert_eq!(goal.to_string(), "recall @ precision>=0.9, fpr<=2%");
    /// ```
    #[must_use]
    pub fn under(mut self, condition: Constraint) -> Self {
        self.constraints.push(condition);
        self
    }
}

impl Constraint {
    /// `rate<=target`
    #[must_use]
    pub fn at_most(rate: Rate, target: f64) -> Self {
        Self::Rate { rate, relation: Relation::AtMost, target }
    }

    /// `rate>=target`
    #[must_use]
    pub fn at_least(rate: Rate, target: f64) -> Self {
        Self::Rate { rate, relation: Relation::AtLeast, target }
    }

    /// `rate=target`
    #[must_use]
    pub fn equal(rate: Rate, target: f64) -> Self {
        Self::Rate { rate, relation: Relation::Equal, target }
    }

    /// `gap(rate, column)<=largest`
    #[must_use]
    pub fn gap(rate: Rate, column: impl Into<String>, largest: f64) -> Self {
        Self::Gap { rate, column: column.into(), relation: Relation::AtMost, target: largest }
    }

    /// `ratio(rate, column)>=smallest`
    #[must_use]
    pub fn ratio(rate: Rate, column: impl Into<String>, smallest: f64) -> Self {
        Self::Ratio { rate, column: column.into(), relation: Relation::AtLeast, target: smallest }
    }

    /// This condition within each group of a column: `fpr<=2%` becomes `fpr(sex)<=2%`.
    ///
    /// Conditions that already name a column change it; `k` and `top` stay as they are.
    ///
    /// ```
    /// # use setpoint::goal::{Constraint, Rate};
    /// let condition = Constraint::at_most(Rate::FalsePositiveRate, 0.02).per_group("sex");
    /// assert_eq!(condition.to_string(), "fpr(sex)<=2%");
    /// ```
    #[must_use]
    pub fn per_group(self, column: impl Into<String>) -> Self {
        let column = column.into();
        match self {
            Self::Rate { rate, relation, target } | Self::PerGroup { rate, relation, target, .. } => {
                Self::PerGroup { rate, column, relation, target }
            }
            Self::Gap { rate, relation, target, .. } => Self::Gap { rate, column, relation, target },
            Self::Ratio { rate, relation, target, .. } => Self::Ratio { rate, column, relation, target },
            Self::Top(top) => Self::Top(top),
        }
    }
}

impl From<Rate> for Objective {
    fn from(rate: Rate) -> Self {
        Self::Rate(rate)
    }
}

impl From<Money> for Objective {
    fn from(money: Money) -> Self {
        Self::Money(money)
    }
}

impl From<Area> for Objective {
    fn from(area: Area) -> Self {
        Self::Area(area)
    }
}
