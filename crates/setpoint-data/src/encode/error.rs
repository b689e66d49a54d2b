//! Why a table could not be encoded.

use setpoint::message::quote;
use setpoint::scratch::ScratchError;
use thiserror::Error;

/// Why a table could not be encoded.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum EncodeError {
    /// No rows to fit on.
    #[error("{file}: no training rows to fit the encoding on")]
    NoRows {
        /// The file.
        file: String,
    },
    /// A training row that the table does not have.
    #[error("{file}: training row {row} is not one of its {rows} rows")]
    Row {
        /// The file.
        file: String,
        /// The row, from 0.
        row: u32,
        /// Rows of the table.
        rows: usize,
    },
    /// Rows in a scratch file, which cannot be read.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// All columns are constant.
    #[error("{file}: every feature column has a single value in the training rows; nothing to learn from")]
    AllConstant {
        /// The file.
        file: String,
    },
    /// Texts alone, for a model that reads none.
    #[error("the columns to learn from are all texts ({}), which trees do not read; choose a linear model", columns.join(", "))]
    OnlyTexts {
        /// The columns.
        columns: Vec<String>,
    },
    /// The table was not read for this encoder.
    #[error("{file}: column {} is not {expected}; read the table with Table::read_for", quote(column))]
    Column {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// What the encoder needs.
        expected: &'static str,
    },
    /// A column in memory of another kind than in training.
    #[error("{file}: column {} does not hold {expected}, as it did in training", quote(column))]
    ColumnKind {
        /// What the data is called.
        file: String,
        /// The column.
        column: String,
        /// `numbers` or `texts`.
        expected: &'static str,
    },
    /// A text in memory that is not what the column held in training.
    #[error("{file}: row {row}: column {column:?}: {value:?} is not {expected}, as in training")]
    Value {
        /// What the data is called.
        file: String,
        /// The row, from 1.
        row: usize,
        /// The column.
        column: String,
        /// The text.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A sparse matrix in memory whose rows are not in order.
    #[error(
        "{file}: its row starts or columns do not ascend within its entries; sum duplicates and sort its indices"
    )]
    Entries {
        /// What the data is called.
        file: String,
    },
    /// A number in memory that the matrix cannot hold.
    #[error(
        "{file}: row {row}: column {}: infinity, or too large for a 32-bit number; rescale the column",
        quote(column)
    )]
    Infinite {
        /// What the data is called.
        file: String,
        /// The row, from 1.
        row: usize,
        /// The column.
        column: String,
    },
    /// A stored encoder that cannot be right.
    #[error("the stored encoding of {} is damaged: {problem}", quote(column))]
    Damaged {
        /// The column.
        column: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// The matrix does not fit the address space.
    #[error(
        "{file}: {rows} rows of {columns} columns do not fit in memory; drop columns with many categories"
    )]
    TooLarge {
        /// The file.
        file: String,
        /// Rows.
        rows: usize,
        /// Encoded columns.
        columns: usize,
    },
}
