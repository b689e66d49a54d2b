//! The paper's tables on real data, with the rivals beside.
//!
//! One folder for each kind of experiment: [`uci`] is the paper's section 4.3, with its own figures kept
//! as data next to the code that regenerates them; [`network`] is its image experiments, and a comparison
//! of networks at equal compute; [`trees`] is a comparison of boosted trees.

#![forbid(unsafe_code)]

mod date;
mod document;
mod error;
mod export;
mod journal;
pub mod network;
mod pool;
mod statistic;
pub mod trees;
pub mod uci;
mod watch;

pub use document::{FileRecord, Picture};
pub use error::ExperimentError;
pub use journal::{JOURNAL, Journal};
pub use watch::Watch;
