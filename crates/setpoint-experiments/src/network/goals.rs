//! What the tables ask for.

use setpoint::Goal;

/// A table of the image experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Fnr at four limits on fpr.
    Fnr,
    /// Roc-auc over ranges of fpr from 0.
    RocAuc,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Fnr, Self::RocAuc];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fnr => "fnr",
            Self::RocAuc => "roc-auc",
        }
    }

    /// Its goals, with the limits on fpr in percent.
    #[must_use]
    pub fn goals(self, percent: &[u64]) -> Vec<String> {
        let goal = |percent: &u64| match self {
            Self::Fnr => format!("fnr @ fpr<={percent}%"),
            Self::RocAuc => format!("roc-auc @ fpr in 0..{percent}%"),
        };
        percent.iter().map(goal).collect()
    }
}

/// The goals of the comparison at equal compute.
pub const EQUAL: [&str; 2] = ["recall @ fpr<=1%", "recall @ fpr<=5%"];

/// The goal of a table's text.
///
/// # Panics
/// Never for the texts of this module, which are tested.
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
        let down = |text: &str| parse(text).objective.direction() == Direction::Down;
        for table in Table::ALL {
            assert!(table.goals(&[1, 20]).iter().all(|text| down(text) == (table == Table::Fnr)));
        }
        assert!(EQUAL.iter().all(|text| !down(text)));
    }
}
