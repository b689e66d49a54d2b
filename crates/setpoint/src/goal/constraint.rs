//! Under which conditions a goal improves its objective.

use super::rate::{Direction, Rate};

/// How a quantity relates to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `=`: trained to equality, evaluated on the safe side of the target.
    Equal,
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
}

/// One condition of a goal.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    /// `fpr<=1%`: a rate over all examples.
    Rate {
        /// The rate held.
        rate: Rate,
        /// Which side of the target it must be on.
        relation: Relation,
        /// The value asked for, strictly between 0 and 1.
        target: f64,
    },
    /// `fpr(sex)<=2%`: the rate within each group of a column.
    PerGroup {
        /// The rate held.
        rate: Rate,
        /// The column that names each example's group.
        column: String,
        /// Which side of the target it must be on.
        relation: Relation,
        /// The value asked for, strictly between 0 and 1.
        target: f64,
    },
    /// `gap(recall, sex)<=0.02`: largest minus smallest rate over the groups.
    Gap {
        /// The rate compared.
        rate: Rate,
        /// The column that names each example's group.
        column: String,
        /// `AtMost`, or `Equal` for a gap of exactly this size or less.
        relation: Relation,
        /// The largest difference allowed, in [0, 1).
        target: f64,
    },
    /// `ratio(positive-rate, sex)>=0.8`: smallest over largest rate over the groups.
    Ratio {
        /// The rate compared.
        rate: Rate,
        /// The column that names each example's group.
        column: String,
        /// `AtLeast`, or `Equal` for this ratio or better.
        relation: Relation,
        /// The smallest ratio allowed, in (0, 1].
        target: f64,
    },
    /// `k=100`, `k=100 of 5000`, `top=2%`: the highest scores and no others.
    Top(Top),
}

/// How many of the highest scores are predicted positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Top {
    /// This fraction of the examples, strictly between 0 and 1.
    Fraction(f64),
    /// `k` examples of the data being scored; `of` says how many rows that data has.
    Count {
        /// How many examples.
        k: u64,
        /// Out of how many rows, where the goal says so.
        of: Option<u64>,
    },
}

impl Constraint {
    /// Whether it holds as before under another share of positives, each class scoring as before.
    #[must_use]
    pub fn survives_mix(&self) -> bool {
        self.rate().is_some_and(Rate::survives_mix)
    }

    /// The rate that it is about; `k` and `top` are about none.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        match self {
            Self::Rate { rate, .. }
            | Self::PerGroup { rate, .. }
            | Self::Gap { rate, .. }
            | Self::Ratio { rate, .. } => Some(*rate),
            Self::Top(_) => None,
        }
    }

    /// The group column the condition names, if it names one.
    #[must_use]
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::PerGroup { column, .. } | Self::Gap { column, .. } | Self::Ratio { column, .. } => {
                Some(column)
            }
            Self::Rate { .. } | Self::Top(_) => None,
        }
    }
}

/// The side of the target on which a rate is safe: `AtMost` for fpr, `AtLeast` for recall.
///
/// An equality is evaluated on this side, since on a sample the exact value is rarely attained.
#[must_use]
pub fn safe_side(rate: Rate) -> Relation {
    match rate.direction() {
        Direction::Up => Relation::AtLeast,
        Direction::Down | Direction::Neither => Relation::AtMost,
    }
}
