//! Why LightGBM could not be had, or what it refused.

use std::path::PathBuf;

use thiserror::Error;

/// Why LightGBM could not be had, or what it refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LibraryError {
    /// No file was found anywhere.
    #[error(
        "LightGBM is not installed: looked at {}; get it with `pip install lightgbm`, or name its file in SETPOINT_LIGHTGBM",
        looked.join(", ")
    )]
    Missing {
        /// Where it was looked for.
        looked: Vec<String>,
    },
    /// A file could not be loaded.
    #[error(
        "cannot load {}: {reason}; expected LightGBM's shared library, as `pip install lightgbm` brings it",
        file.display()
    )]
    Load {
        /// The file.
        file: PathBuf,
        /// What the loader said.
        reason: String,
    },
    /// A file is a library, but not LightGBM, or not one of version 4.
    #[error(
        "{} has no function {symbol}: it is not LightGBM of version 4 or later; get that with `pip install lightgbm`",
        file.display()
    )]
    Symbol {
        /// The file.
        file: PathBuf,
        /// The function that is not there.
        symbol: &'static str,
    },
    /// LightGBM refused a call.
    #[error("LightGBM refused {call}: {message}")]
    Refused {
        /// The function of its C API.
        call: &'static str,
        /// Its own words.
        message: String,
    },
    /// More rows, columns or values than LightGBM's C API can count.
    #[error("{found} {what} are more than LightGBM takes: at most {limit}")]
    TooLarge {
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A vector does not have one value for each row.
    #[error("{what}: expected {expected} values, one for each row, got {got}")]
    Length {
        /// Which vector.
        what: &'static str,
        /// Number of rows.
        expected: usize,
        /// Number of values.
        got: usize,
    },
}
