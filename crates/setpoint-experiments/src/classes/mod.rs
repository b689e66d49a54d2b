//! Several classes: conditions by class, beside cross-entropy with shifts found afterwards.
//!
//! ```text
//! Task ──read, split by seed──▶ Problem ──linear: a fit for each goal────▶ shifts on validation ──▶ test
//!                                  └─────trees: one search for all goals──┘         └──▶ certified on calibration
//! ```

mod cell;
mod study;
mod table;
mod trees;

pub use cell::{Certified, Outcome, Point};
pub use study::{Class, Classes, Family, GOALS};
pub use table::Decided;
