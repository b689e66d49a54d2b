//! What can be wrong with a file.

use std::io;

use setpoint::message::{clip, counted, number, quote};
use setpoint::scratch::ScratchError;
use thiserror::Error;

use crate::form::Form;

/// Why a file could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be opened.
    #[error("{file}: cannot open: {source}")]
    Open {
        /// The file.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// Reading or decompressing stopped.
    #[error("{file}: cannot read on: {source}; the file may be cut short or damaged")]
    Io {
        /// The file.
        file: String,
        /// What the system or the decompressor said.
        source: io::Error,
    },
    /// Far more behind the compression than data has.
    #[error(
        "{file}: expands to more than 1 GiB and 256 times its size; if that is meant, decompress it first"
    )]
    Expands {
        /// The file.
        file: String,
    },
    /// Rows that are too many for memory have no other place.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// No rows and no header.
    #[error("{file}: empty: expected a table with at least one row")]
    Empty {
        /// The file.
        file: String,
    },
    /// A header, and nothing below it.
    #[error("{file}: has a header of {} but no rows below it", counted(*columns, "column"))]
    HeaderOnly {
        /// The file.
        file: String,
        /// Columns in the header.
        columns: usize,
    },
    /// A line of a file of sizes that is none.
    #[error("{file}:{line}: {}: expected the number of rows of a query", quote(found))]
    QuerySize {
        /// The file of sizes.
        file: String,
        /// The line.
        line: u64,
        /// What it says.
        found: String,
    },
    /// Sizes of other data.
    #[error("{sizes}: its queries have {total} rows together, but {file} has {rows}")]
    QuerySizes {
        /// The file of sizes.
        sizes: String,
        /// Their sum.
        total: u64,
        /// The data.
        file: String,
        /// Its rows.
        rows: usize,
    },
    /// Not a text table, and not Parquet.
    #[error("{file}: looks like {what}; expected CSV, SVMLight or Parquet (plain, gzip, zstd or bzip2)")]
    Foreign {
        /// The file.
        file: String,
        /// What it looks like.
        what: &'static str,
    },
    /// Bytes that are not text.
    #[error("{file}:{line}: byte 0x{byte:02x} is not valid UTF-8; convert the file first (iconv -t UTF-8)")]
    Encoding {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// The offending byte.
        byte: u8,
    },
    /// A row with another number of fields.
    #[error(
        "{file}:{line}: {}, expected {expected} as in line {first}; check the quoting, or give ‹separator{hint}›",
        counted(*found, "field")
    )]
    Ragged {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Fields in this row.
        found: usize,
        /// Fields in the first row.
        expected: usize,
        /// Line of the first row or header.
        first: u64,
        /// Which separator, where another one would do.
        hint: String,
    },
    /// A row without an end.
    #[error(
        "{file}:{line}: the row that starts here does not end within {limit} bytes; is a quote left open?"
    )]
    Endless {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Bytes searched.
        limit: usize,
    },
    /// A quoted field that does not end as it should.
    #[error("{file}:{line}: field {field}: {problem}; write a quote inside quotes twice")]
    Quote {
        /// The file.
        file: String,
        /// Line where the row starts, from 1.
        line: u64,
        /// Field in the row, from 1.
        field: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// A value of a numeric column is not a number.
    #[error(
        "{file}:{line}: column {}: {} is not {}; name missing values with ‹missing›",
        quote(column),
        quote(value),
        expected(*.form)
    )]
    NotANumber {
        /// The file.
        file: String,
        /// Line (Parquet: row), from 1.
        line: u64,
        /// The column.
        column: String,
        /// What was found.
        value: String,
        /// How the column's numbers are written, where not plainly.
        form: Option<Form>,
    },
    /// A column that is mostly numbers, but not all of it, or not all in one form.
    #[error("{file}:{line}: column {column:?}: {} as the rest are; {hint}", not_numbers(.texts))]
    Mixed {
        /// The file.
        file: String,
        /// Line (Parquet: row), from 1.
        line: u64,
        /// The column.
        column: String,
        /// Some of the texts.
        texts: Vec<String>,
        /// What to do.
        hint: &'static str,
    },
    /// A value of the time column is neither a number nor a date.
    #[error(
        "{file}:{line}: column {}: {} is neither a number nor an ISO date (2024-01-31, 2024-01-31T12:00:00Z)",
        quote(column),
        quote(value)
    )]
    NotATime {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// The column.
        column: String,
        /// What was found.
        value: String,
    },
    /// A weight, entity, time or score is missing.
    #[error("{file}: row {row}: column {}: the {role} is missing; fill it or remove the row", quote(column))]
    MissingRole {
        /// The file.
        file: String,
        /// Row of data, from 1.
        row: usize,
        /// The column.
        column: String,
        /// What the column is used as.
        role: &'static str,
    },
    /// A weight is zero, negative or too large.
    #[error(
        "{file}: row {row}: column {}: weight {} is not a positive number", quote(column), number(*value)
    )]
    Weight {
        /// The file.
        file: String,
        /// Row of data, from 1.
        row: usize,
        /// The column.
        column: String,
        /// What was found.
        value: f64,
    },
    /// An entry of an SVMLight row.
    #[error("{file}:{line}: {}: expected {expected}", quote(found))]
    Sparse {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// What was found.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The Parquet reader refused the file.
    #[error("{file}: not a readable Parquet file: {message}")]
    Parquet {
        /// The file.
        file: String,
        /// What the reader said.
        message: String,
    },
    /// A Parquet column that is not a plain value.
    #[error(
        "{file}: column {} is of type {found}; expected numbers, text or booleans (or dates, if it held dates in training); leave it out: ‹drop {}›",
        quote(column),
        clip(column)
    )]
    ColumnType {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// Its type.
        found: String,
    },
    /// More rows than row numbers can hold.
    #[error("{file}: more than {limit} rows do not fit one table")]
    TooManyRows {
        /// The file.
        file: String,
        /// Most rows supported.
        limit: usize,
    },
}

/// What a text should have been.
pub(crate) fn expected(form: Option<Form>) -> &'static str {
    match form {
        None => "a number",
        Some(Form::Date | Form::LocalDate { .. }) => "a date",
        Some(Form::Written { unit: Some('%'), .. }) => "a per cent",
        Some(Form::Written { .. }) => "a number written like the others",
    }
}

/// `"a" is not a number` or `"a", "b" are not numbers`.
fn not_numbers(texts: &[String]) -> String {
    let list: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("{} {}", list.join(", "), if list.len() == 1 { "is not a number" } else { "are not numbers" })
}
