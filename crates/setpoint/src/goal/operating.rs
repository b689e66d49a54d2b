//! The goal that one shipped threshold answers.
//!
//! An area is improved over a stretch of a curve, yet a deployed model decides at one place on it.
//! That place is the end of the stretch where a user has the most to lose: the loosest false-alarm
//! rate asked for, or the smallest recall or precision.
//!
//! | goal | threshold chosen for |
//! |---|---|
//! | `roc-auc @ fpr in a..b` | `recall @ fpr<=b` |
//! | `roc-auc @ recall in a..b` | `tnr @ recall>=a` |
//! | `pr-auc @ recall in a..b` | `precision @ recall>=a` |
//! | `pr-auc @ precision in a..b` | `recall @ precision>=a` |
//! | `roc-auc` | `balanced-accuracy` |
//! | `pr-auc` | `f1` |
//! | anything else | itself |
//!
//! A stretch that reaches the end of its axis (`fpr in 5%..1`, `recall in 0..50%`) limits nothing
//! there, and is treated as the whole curve.

use super::{Area, Constraint, Curve, Goal, Objective, Rate, safe_side};

impl Goal {
    /// The goal that the shipped threshold answers: itself, or for an area the rate at its end.
    ///
    /// ```
    /// use setpoint::Goal;
    ///
    /// let goal: Goal = "pr-auc @ recall in 0.95..1".parse()?;
    /// assert_eq!(goal.operating().to_string(), "precision @ recall>=0.95");
    /// # Ok::<(), setpoint::goal::ParseError>(())
    /// ```
    #[must_use]
    pub fn operating(&self) -> Self {
        match &self.objective {
            Objective::Rate(_) | Objective::Money(_) => self.clone(),
            Objective::Area(area) => at_end(area),
        }
    }
}

fn at_end(area: &Area) -> Goal {
    let end = match safe_side(area.axis) {
        super::Relation::AtLeast => area.from,
        _ => area.to,
    };
    match area.height() {
        Some(height) if end > 0.0 && end < 1.0 => Goal {
            objective: Objective::Rate(height),
            constraints: vec![Constraint::Rate {
                rate: area.axis,
                relation: safe_side(area.axis),
                target: end,
            }],
        },
        _ => {
            let rate = match area.curve {
                Curve::Roc => Rate::BalancedAccuracy,
                Curve::PrecisionRecall => Rate::FBeta(1.0),
            };
            Goal { objective: Objective::Rate(rate), constraints: vec![] }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::goal::Goal;

    #[test]
    fn each_kind_of_goal_has_the_threshold_documented() {
        for (goal, operating) in [
            ("roc-auc @ fpr in 0..5%", "recall @ fpr<=5%"),
            ("roc-auc @ fpr in 1%..5%", "recall @ fpr<=5%"),
            ("roc-auc @ recall in 0.8..1", "tnr @ recall>=0.8"),
            ("pr-auc @ recall in 0.95..1", "precision @ recall>=0.95"),
            ("pr-auc @ precision in 0.9..1", "recall @ precision>=0.9"),
            ("roc-auc", "balanced-accuracy"),
            ("pr-auc", "f1"),
            ("roc-auc @ fpr in 5%..1", "balanced-accuracy"),
            ("pr-auc @ recall in 0..0.5", "f1"),
            ("recall @ fpr<=1%", "recall @ fpr<=1%"),
            ("fnr @ fpr=5%", "fnr @ fpr=5%"),
            ("precision @ k=100", "precision @ k=100"),
            ("accuracy @ gap(recall, sex)<=0.02", "accuracy @ gap(recall, sex)<=0.02"),
        ] {
            let goal: Goal = goal.parse().unwrap();
            let found = goal.operating();
            assert_eq!(found.to_string(), operating);
            found.check().unwrap();
            assert_eq!(found.operating(), found, "{operating} is its own operating goal");
        }
    }
}
