//! What the tables ask for.

use setpoint::Goal;
use setpoint::goal::Direction;

/// A table, or a figure, of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Pr-auc over recall in 0.95..1: the paper's table 4.
    PrAuc,
    /// Fnr at four limits on fpr.
    Fnr,
    /// Roc-auc over five ranges of fpr, by McClish's scale.
    RocAuc,
    /// Pr-auc over recall in b..1 as b varies: the paper's figure 3.
    Range,
    /// Recall at two limits on fpr: the comparison at equal compute.
    Recall,
}

/// The lower ends of figure 3's ranges of recall.
pub const RANGES: [f64; 7] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98];

impl Table {
    /// In the order of the documents.
    pub const ALL: [Self; 5] = [Self::PrAuc, Self::Fnr, Self::RocAuc, Self::Range, Self::Recall];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PrAuc => "pr-auc",
            Self::Fnr => "fnr",
            Self::RocAuc => "roc-auc",
            Self::Range => "range",
            Self::Recall => "recall",
        }
    }

    /// Its title in documents.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::PrAuc => "Pr-auc over recall in 0.95..1",
            Self::Fnr => "Fnr at a limit on fpr (lower is better)",
            Self::RocAuc => "Roc-auc over fpr in 0..b, McClish",
            Self::Range => "Pr-auc over recall in b..1",
            Self::Recall => "Recall at a limit on fpr",
        }
    }

    /// Its goals.
    #[must_use]
    pub fn goals(self) -> Vec<String> {
        let range = |from: &f64| format!("pr-auc @ recall in {from}..1");
        match self {
            Self::PrAuc => vec![range(&0.95)],
            Self::Fnr => [1, 2, 5, 10].map(|percent| format!("fnr @ fpr<={percent}%")).to_vec(),
            Self::RocAuc => {
                [1, 2, 5, 10, 20].map(|percent| format!("roc-auc @ fpr in 0..{percent}%")).to_vec()
            }
            Self::Range => RANGES.iter().map(range).collect(),
            Self::Recall => [1, 5].map(|percent| format!("recall @ fpr<={percent}%")).to_vec(),
        }
    }

    /// The tables that some goals make, each with its goals; figure 3 only where it is whole.
    pub(crate) fn of(goals: &[&str]) -> Vec<(Self, Vec<String>)> {
        let of = |table: Self| {
            let (mut found, all) = (table.goals(), table.goals().len());
            found.retain(|goal| goals.contains(&goal.as_str()));
            let shown = !found.is_empty() && (table != Self::Range || found.len() == all);
            shown.then_some((table, found))
        };
        Self::ALL.into_iter().filter_map(of).collect()
    }
}

/// The goal of a table's text.
///
/// # Panics
/// Never for the texts of [`Table::goals`], which are tested.
#[must_use]
pub fn parse(text: &str) -> Goal {
    text.parse().unwrap_or_else(|error| unreachable!("{text}: {error}"))
}

/// 1 where larger values are better, -1 where smaller ones are.
pub(crate) fn sign(goal: &Goal) -> f64 {
    if goal.objective.direction() == Direction::Up { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_goal_reads_and_has_a_direction() {
        for table in Table::ALL {
            assert!(table.goals().iter().all(|goal| (sign(&parse(goal)) > 0.0) == (table != Table::Fnr)));
        }
    }

    #[test]
    fn a_figure_is_shown_where_it_is_whole() {
        let range = Table::Range.goals();
        let tables = |goals: &[String]| -> Vec<Table> {
            let goals: Vec<&str> = goals.iter().map(String::as_str).collect();
            Table::of(&goals).into_iter().map(|(table, _)| table).collect()
        };
        assert_eq!(tables(&range), [Table::PrAuc, Table::Range]);
        assert_eq!(tables(&range[5..6]), [Table::PrAuc]);
        assert_eq!(tables(&["roc-auc @ fpr in 0..10%".to_owned()]), [Table::RocAuc]);
    }
}
