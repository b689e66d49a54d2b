//! Goals as text: the short form that parses back to the same goal.

use std::fmt::{self, Display, Formatter};

use super::{Area, Constraint, Curve, Goal, Objective, Rate, Relation, Top, column, name, number};

impl Display for Goal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.objective)?;
        let ranged = matches!(&self.objective, Objective::Area(area) if !area.is_whole());
        let mut separator = if ranged { ", " } else { " @ " };
        for constraint in &self.constraints {
            write!(f, "{separator}{constraint}")?;
            separator = ", ";
        }
        Ok(())
    }
}

impl Display for Objective {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => rate.fmt(f),
            Self::Area(area) => area.fmt(f),
            Self::Money(money) => money.fmt(f),
        }
    }
}

impl Display for Area {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.curve.fmt(f)?;
        if self.is_whole() {
            return Ok(());
        }
        write!(f, " @ {} in {}", self.axis, number::range(self.from, self.to))
    }
}

impl Display for Curve {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(name::area(*self))
    }
}

impl Display for Rate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self, name::short(*self)) {
            (_, Some(name)) => f.write_str(name),
            (Self::FBeta(beta), None) => write!(f, "f{}", number::fraction(*beta)),
            (Self::Cost, None) => f.write_str("cost"),
            (Self::Profit, None) => f.write_str("profit"),
            // Unreachable: `name` has every other rate, and its tests say so.
            (other, None) => write!(f, "{other:?}"),
        }
    }
}

impl Display for Relation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
        })
    }
}

impl Display for Constraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate { relation, target, .. } | Self::PerGroup { relation, target, .. } => {
                write!(f, "{}{relation}{}", self.quantity(), number::target(*target))
            }
            // 2% of a gap could mean two kinds of things; 0.02 cannot.
            Self::Gap { relation, target, .. } | Self::Ratio { relation, target, .. } => {
                write!(f, "{}{relation}{}", self.quantity(), number::fraction(*target))
            }
            Self::Top(top) => top.fmt(f),
        }
    }
}

impl Display for Top {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fraction(fraction) => write!(f, "top={}", number::target(*fraction)),
            Self::Count { k, of: None } => write!(f, "k={k}"),
            Self::Count { k, of: Some(rows) } => write!(f, "k={k} of {rows}"),
        }
    }
}

impl Constraint {
    /// What the condition holds, without the target: `fpr`, `fpr(sex)`, `gap(recall, sex)`, `top`.
    #[must_use]
    pub fn quantity(&self) -> String {
        match self {
            Self::Rate { rate, .. } => rate.to_string(),
            Self::PerGroup { rate, column, .. } => format!("{rate}({})", column::quote(column)),
            Self::Gap { rate, column, .. } => format!("gap({rate}, {})", column::quote(column)),
            Self::Ratio { rate, column, .. } => format!("ratio({rate}, {})", column::quote(column)),
            Self::Top(Top::Fraction(_)) => "top".to_owned(),
            Self::Top(Top::Count { .. }) => "k".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_prints_as_a_difference_and_a_rate_as_a_percentage() {
        let column = "sex".to_owned();
        let gap = Constraint::Gap { rate: Rate::Recall, column, relation: Relation::AtMost, target: 0.02 };
        assert_eq!(gap.to_string(), "gap(recall, sex)<=0.02");
        let rate =
            Constraint::Rate { rate: Rate::FalsePositiveRate, relation: Relation::Equal, target: 0.02 };
        assert_eq!(rate.to_string(), "fpr=2%");
    }
}
