//! The paper's tables on real data, with the rivals beside.
//!
//! One folder for each experiment of the paper: [`uci`] is its section 4.3. The paper's own figures are
//! kept as data, next to the code that regenerates them.

#![forbid(unsafe_code)]

mod date;
mod document;
mod error;
mod journal;
mod pool;
mod statistic;
pub mod uci;
mod watch;

pub use document::{FileRecord, Picture};
pub use error::ExperimentError;
pub use journal::Journal;
pub use watch::Watch;
