//! The methods, the studies and what they spend.
//!
//! All networks learn by Adam on mini-batches from a start drawn by the seed, are looked at on
//! validation after every epoch, and the best epoch is kept; all keep a moving average of the weights.
//! The settings that each method may choose from are in [`grid`](super::grid).

use super::goals::Table;
use super::task::Source;

/// A column of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// Cross-entropy, the paper's baseline.
    CrossEntropy,
    /// Cross-entropy with a positive weight chosen on validation.
    Weighted,
    /// The proxy-Lagrangian: the paper's TFCO.
    Lagrangian,
    /// The pairwise loss.
    Pairwise,
    /// Ico as the paper trains it.
    Ico,
    /// Ico with a pool of scores, beside cross-entropy.
    Mixed,
    /// Setpoint without rotations.
    Once,
    /// Setpoint as it comes: train and validation rows change places.
    Auto,
}

impl Method {
    /// In the order of the tables.
    pub const ALL: [Self; 8] = [
        Self::CrossEntropy,
        Self::Weighted,
        Self::Lagrangian,
        Self::Pairwise,
        Self::Ico,
        Self::Mixed,
        Self::Once,
        Self::Auto,
    ];
    /// Those that Setpoint is compared with.
    pub const RIVALS: [Self; 4] = [Self::Weighted, Self::Lagrangian, Self::Pairwise, Self::Ico];

    /// Its name in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CrossEntropy => "cross-entropy",
            Self::Weighted => "weighted",
            Self::Lagrangian => "lagrangian",
            Self::Pairwise => "pairwise",
            Self::Ico => "ico",
            Self::Mixed => "ico-mixed",
            Self::Once => "once",
            Self::Auto => "auto",
        }
    }

    /// Its name in tables.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Ico => "ico (paper)",
            Self::Mixed => "ico, mixed",
            Self::Once => "Setpoint, once",
            Self::Auto => "Setpoint",
            other => other.name(),
        }
    }

    /// The method of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// Whether it is made of the fits of cross-entropy that all goals share.
    #[must_use]
    pub fn is_shared(self) -> bool {
        matches!(self, Self::CrossEntropy | Self::Weighted | Self::Once)
    }
}

/// Which study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Study {
    /// The paper's image experiments.
    Images,
    /// The comparison at equal compute.
    Networks,
}

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
    pub study: Study,
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

/// Hidden values of the network on tables.
pub const HIDDEN: [usize; 2] = [64, 32];

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
        Self { study: Study::Images, budget, cnn, images, tables: images, rows }
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
        Self { study: Study::Networks, budget, cnn: Cnn::Small, images, tables, rows }
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
        match source {
            Source::Ijcnn1 | Source::Adult => self.tables,
            _ => self.images,
        }
    }

    /// The goals of a table: the paper's, fewer of the areas in a smaller budget.
    #[must_use]
    pub fn goals(&self, table: Table) -> Vec<String> {
        match (table, self.budget) {
            (Table::Fnr, _) => table.goals(&[1, 2, 5, 10]),
            (Table::RocAuc, Budget::Full) => table.goals(&[1, 2, 5, 10, 20]),
            (Table::RocAuc, _) => table.goals(&[10]),
        }
    }
}
