//! What the studies spend.
//!
//! All networks learn by Adam on mini-batches from a start drawn by the seed, are looked at on
//! validation after every epoch, and the best epoch is kept; all keep a moving average of the weights.
//! The settings that each method may choose from are in [`grid`](super::grid).

use crate::Experiment;
use crate::goals::Table;
use crate::task::Source;

/// The network for images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cnn {
    /// A hundredth of the paper's work.
    Small,
    /// That of the paper's reference code.
    Paper,
}

/// How much is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// A look, in minutes.
    Quick,
    /// A comparison that means something, within half an hour on two quiet cores.
    HalfHour,
    /// As the paper.
    Full,
}

/// How networks are fitted on one kind of examples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Training {
    /// Passes over the training rows.
    pub epochs: u64,
    /// Rows of a batch.
    pub batch: usize,
    /// Step size.
    pub learning_rate: f64,
}

/// Everything about a study but its tasks, goals and seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Protocol {
    /// Which study.
    pub study: Experiment,
    /// How much is spent.
    pub budget: Budget,
    /// The network for images.
    pub cnn: Cnn,
    /// How networks on images are fitted.
    pub images: Training,
    /// How networks on tables are fitted.
    pub tables: Training,
    /// Most training rows; half as many to validate and to test on.
    pub rows: Option<usize>,
}

impl Protocol {
    /// The paper's image experiments.
    #[must_use]
    pub fn images(budget: Budget, cnn: Cnn) -> Self {
        let training = |epochs, batch, learning_rate| Training { epochs, batch, learning_rate };
        let (images, rows) = match budget {
            Budget::Quick => (training(4, 128, 0.005), Some(4_000)),
            Budget::HalfHour => (training(8, 128, 0.005), Some(8_000)),
            Budget::Full => (training(40, 512, 0.001), None),
        };
        Self { study: Experiment::Images, budget, cnn, images, tables: images, rows }
    }

    /// The comparison at equal compute.
    #[must_use]
    pub fn networks(budget: Budget) -> Self {
        let training = |epochs, batch, learning_rate| Training { epochs, batch, learning_rate };
        let (images, tables, rows) = match budget {
            Budget::Quick => (training(3, 128, 0.005), training(5, 256, 0.005), Some(4_000)),
            Budget::HalfHour => (training(8, 128, 0.005), training(20, 256, 0.005), Some(8_000)),
            Budget::Full => (training(12, 128, 0.005), training(40, 256, 0.005), None),
        };
        Self { study: Experiment::Networks, budget, cnn: Cnn::Small, images, tables, rows }
    }

    /// Splits, unless told otherwise.
    #[must_use]
    pub fn trials(&self) -> u64 {
        match self.budget {
            Budget::Quick => 1,
            Budget::HalfHour => 3,
            Budget::Full => 5,
        }
    }

    /// How networks are fitted on these examples.
    #[must_use]
    pub fn training(&self, source: Source) -> Training {
        if source.is_table() { self.tables } else { self.images }
    }

    /// The goals of a table: the paper's, fewer of the areas in a smaller budget.
    #[must_use]
    pub fn goals(&self, table: Table) -> Vec<String> {
        let mut goals = table.goals();
        if table == Table::RocAuc && self.budget != Budget::Full {
            goals.retain(|goal| goal.ends_with("..10%"));
        }
        goals
    }

    /// In a sentence, for the record.
    #[must_use]
    pub fn describe(&self) -> String {
        format!(
            "budget {:?}, cnn {:?}, images {:?}, tables {:?}, rows {:?}",
            self.budget, self.cnn, self.images, self.tables, self.rows
        )
    }
}
