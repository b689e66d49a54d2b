//! Goals that people ask for by name, and the two steps to build any other.
//!
//! Nothing is checked here; [`Goal::check`] is the one door, for goals of any origin.

use super::{Area, Constraint, Curve, Goal, Objective, Rate, Relation, Top};

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

    /// The most recall within a false-alarm rate.
    ///
    /// ```
    /// # use setpoint::goal::Goal;
    /// assert_eq!(Goal::recall_at_fpr(0.01).to_string(), "recall @ fpr<=1%");
    /// ```
    #[must_use]
    pub fn recall_at_fpr(limit: f64) -> Self {
        Self::improve(Rate::Recall).under(Constraint::at_most(Rate::FalsePositiveRate, limit))
    }

    /// The fewest misses at exactly this false-alarm rate.
    ///
    /// ```
    /// # use setpoint::goal::Goal;
    /// assert_eq!(Goal::fnr_at_fpr(0.01).to_string(), "fnr @ fpr=1%");
    /// ```
    #[must_use]
    pub fn fnr_at_fpr(target: f64) -> Self {
        Self::improve(Rate::FalseNegativeRate).under(Constraint::equal(Rate::FalsePositiveRate, target))
    }

    /// The most recall at this precision or better.
    ///
    /// ```
    /// # use setpoint::goal::Goal;
    /// assert_eq!(Goal::recall_at_precision(0.9).to_string(), "recall @ precision>=0.9");
    /// ```
    #[must_use]
    pub fn recall_at_precision(least: f64) -> Self {
        Self::improve(Rate::Recall).under(Constraint::at_least(Rate::Precision, least))
    }

    /// The highest precision at this recall or better.
    ///
    /// ```
    /// # use setpoint::goal::Goal;
    /// assert_eq!(Goal::precision_at_recall(0.95).to_string(), "precision @ recall>=0.95");
    /// ```
    #[must_use]
    pub fn precision_at_recall(least: f64) -> Self {
        Self::improve(Rate::Precision).under(Constraint::at_least(Rate::Recall, least))
    }

    /// The best precision among the `k` highest scores.
    ///
    /// ```
    /// # use setpoint::goal::Goal;
    /// assert_eq!(Goal::precision_at_k(100).to_string(), "precision @ k=100");
    /// ```
    #[must_use]
    pub fn precision_at_k(k: u64) -> Self {
        Self::improve(Rate::Precision).under(Constraint::Top(Top::Count { k, of: None }))
    }

    /// The best precision among this share of the highest scores.
    ///
    /// ```
    /// # use setpoint::goal::Goal;
    /// assert_eq!(Goal::precision_at_top(0.05).to_string(), "precision @ top=5%");
    /// ```
    #[must_use]
    pub fn precision_at_top(share: f64) -> Self {
        Self::improve(Rate::Precision).under(Constraint::Top(Top::Fraction(share)))
    }

    /// The largest area under the ROC curve up to this false-alarm rate.
    ///
    /// ```
    /// # use setpoint::goal::Goal;
    /// assert_eq!(Goal::partial_roc_auc(0.05).to_string(), "roc-auc @ fpr in 0..5%");
    /// ```
    #[must_use]
    pub fn partial_roc_auc(max_fpr: f64) -> Self {
        Self::improve(Area { to: max_fpr, ..Area::whole(Curve::Roc) })
    }

    /// The largest area under the precision-recall curve from this recall on.
    ///
    /// ```
    /// # use setpoint::goal::Goal;
    /// assert_eq!(Goal::partial_pr_auc(0.95).to_string(), "pr-auc @ recall in 0.95..1");
    /// ```
    #[must_use]
    pub fn partial_pr_auc(min_recall: f64) -> Self {
        Self::improve(Area { from: min_recall, ..Area::whole(Curve::PrecisionRecall) })
    }

    /// The highest accuracy with nearly equal positive rates in all groups.
    ///
    /// ```
    /// # use setpoint::goal::Goal;
    /// let goal = Goal::demographic_parity("sex", 0.02);
    /// assert_eq!(goal.to_string(), "accuracy @ gap(positive-rate, sex)<=0.02");
    /// ```
    #[must_use]
    pub fn demographic_parity(column: impl Into<String>, gap: f64) -> Self {
        Self::improve(Rate::Accuracy).under(Constraint::gap(Rate::PositiveRate, column, gap))
    }

    /// The highest accuracy with nearly equal recall in all groups.
    ///
    /// ```
    /// # use setpoint::goal::Goal;
    /// let goal = Goal::equal_opportunity("sex", 0.02);
    /// assert_eq!(goal.to_string(), "accuracy @ gap(recall, sex)<=0.02");
    /// ```
    #[must_use]
    pub fn equal_opportunity(column: impl Into<String>, gap: f64) -> Self {
        Self::improve(Rate::Accuracy).under(Constraint::gap(Rate::Recall, column, gap))
    }

    /// The highest accuracy with nearly equal recall and false-alarm rate in all groups.
    ///
    /// ```
    /// # use setpoint::goal::Goal;
    /// let goal = Goal::equalized_odds("sex", 0.02);
    /// assert_eq!(goal.to_string(), "accuracy @ gap(recall, sex)<=0.02, gap(fpr, sex)<=0.02");
    /// ```
    #[must_use]
    pub fn equalized_odds(column: impl Into<String> + Clone, gap: f64) -> Self {
        let equal_recall = Self::equal_opportunity(column.clone(), gap);
        equal_recall.under(Constraint::gap(Rate::FalsePositiveRate, column, gap))
    }

    /// The highest accuracy where no group has less than 80% of another's positive rate.
    ///
    /// ```
    /// # use setpoint::goal::Goal;
    /// let goal = Goal::eighty_percent_rule("marital status");
    /// assert_eq!(goal.to_string(), r#"accuracy @ ratio(positive-rate, "marital status")>=0.8"#);
    /// ```
    #[must_use]
    pub fn eighty_percent_rule(column: impl Into<String>) -> Self {
        Self::improve(Rate::Accuracy).under(Constraint::ratio(Rate::PositiveRate, column, 0.8))
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

impl From<Area> for Objective {
    fn from(area: Area) -> Self {
        Self::Area(area)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_make_sense_and_read_back() {
        let presets = [
            Goal::recall_at_fpr(0.01),
            Goal::fnr_at_fpr(0.05),
            Goal::recall_at_precision(0.9),
            Goal::precision_at_recall(0.95),
            Goal::precision_at_k(100),
            Goal::precision_at_top(0.05),
            Goal::partial_roc_auc(0.05),
            Goal::partial_pr_auc(0.95),
            Goal::demographic_parity("sex", 0.02),
            Goal::equal_opportunity("sex", 0.02),
            Goal::equalized_odds("sex", 0.02),
            Goal::eighty_percent_rule("marital status"),
        ];
        for goal in presets {
            assert_eq!(goal.check(), Ok(()), "{goal}");
            assert_eq!(goal.to_string().parse::<Goal>().as_ref(), Ok(&goal));
        }
    }
}
