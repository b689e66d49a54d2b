//! Why a sample was refused.

use thiserror::Error;

use crate::message::{number, quote};

/// Why a sample was refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SampleError {
    /// No examples.
    #[error("the sample is empty: nothing to count")]
    Empty,
    /// More examples than row numbers can hold.
    #[error("{rows} examples are too many: at most {limit} fit one sample")]
    TooLarge {
        /// Examples given.
        rows: usize,
        /// Largest number supported.
        limit: usize,
    },
    /// Two columns differ in length.
    #[error("{what}: expected {expected} values, one for each label, got {got}")]
    Length {
        /// Which column.
        what: &'static str,
        /// Number of labels.
        expected: usize,
        /// Number of values in the column.
        got: usize,
    },
    /// Every example has the same label, and the rate asked for needs the other.
    #[error("labels hold no {missing} (0 of {rows}): {rate} is undefined; use a larger or stratified sample")]
    OneClass {
        /// `positives` or `negatives`.
        missing: &'static str,
        /// Number of examples.
        rows: usize,
        /// The rate that needs them.
        rate: String,
    },
    /// A group lacks the class that a rate needs.
    #[error(
        "group {} of column {} has no {missing}: {rate} is undefined there; pool small groups or drop the condition",
        quote(group),
        quote(column)
    )]
    GroupWithoutClass {
        /// The group column.
        column: String,
        /// The group.
        group: String,
        /// `positives` or `negatives`.
        missing: &'static str,
        /// The rate that needs them.
        rate: String,
    },
    /// A score is NaN or infinite.
    #[error("score {} of example {index} is not a finite number", number(*value))]
    Score {
        /// Position, from 0.
        index: usize,
        /// What was found.
        value: f32,
    },
    /// A weight is negative, zero, NaN or infinite.
    #[error("weight {} of example {index} is not a positive number", number(*value))]
    Weight {
        /// Position, from 0.
        index: usize,
        /// What was found.
        value: f32,
    },
    /// An amount is NaN or infinite, or too large.
    #[error("the amounts of example {index} are not finite numbers that 32 bits can hold")]
    Amount {
        /// Position, from 0.
        index: usize,
    },
    /// A goal in money, and no amounts.
    #[error("{rate} needs what decisions about each row pay, and the sample has no amounts")]
    NoAmounts {
        /// `cost` or `profit`.
        rate: String,
    },
    /// Amounts that are the same whatever is decided.
    #[error("the amounts of all {rows} examples are the same for both decisions: nothing hangs on them")]
    NoStakes {
        /// Number of examples.
        rows: usize,
    },
    /// A group code has no name.
    #[error("group code {code} of example {index} is not below the {names} group names given")]
    GroupCode {
        /// Position, from 0.
        index: usize,
        /// What was found.
        code: u32,
        /// Number of names.
        names: usize,
    },
    /// Shards whose group codes do not mean the same.
    #[error("the shards do not have the same groups by the same names, in the same order")]
    Shards,
    /// A named group holds no example.
    #[error("group {} of column {} has no examples", quote(group), quote(column))]
    EmptyGroup {
        /// The group column.
        column: String,
        /// The group.
        group: String,
    },
}

impl SampleError {
    /// The same of rows that come after so many others.
    pub(crate) fn after(self, rows: usize) -> Self {
        match self {
            Self::Score { index, value } => Self::Score { index: rows + index, value },
            other => other,
        }
    }
}
