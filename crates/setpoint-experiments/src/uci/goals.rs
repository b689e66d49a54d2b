//! What the tables ask for.

use setpoint::Goal;

use super::Set;

/// A table, or a figure, of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Pr-auc over recall in 0.95..1: the paper's table 4.
    PrAuc,
    /// Fnr at four limits on fpr.
    Fnr,
    /// Roc-auc over five ranges of fpr, by McClish's scale.
    RocAuc,
    /// Pr-auc over recall in b..1 as b varies: the paper's figure 3, on its two sets.
    Range,
}

/// The lower ends of figure 3's ranges of recall.
pub const RANGES: [f64; 7] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98];

impl Table {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::PrAuc, Self::Fnr, Self::RocAuc, Self::Range];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PrAuc => "pr-auc",
            Self::Fnr => "fnr",
            Self::RocAuc => "roc-auc",
            Self::Range => "range",
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
        }
    }

    /// Whether the set is in it.
    #[must_use]
    pub fn covers(self, set: Set) -> bool {
        self != Self::Range || matches!(set, Set::Letter | Set::Ijcnn1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_goal_reads_and_has_a_direction() {
        use setpoint::goal::Direction;
        for table in Table::ALL {
            for text in table.goals() {
                let down = parse(&text).objective.direction() == Direction::Down;
                assert_eq!(down, table == Table::Fnr, "{text}");
            }
        }
    }
}
