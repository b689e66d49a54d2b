//! The five tabular sets of the paper's section 4.3: linear models, 50/25/25 splits.
//!
//! ```text
//! Task ──read, split by seed──▶ Problem ──a method's grid──▶ Outcome ──over seeds──▶ tables, pictures
//! ```
//!
//! Settings are chosen on validation, the test part is looked at once (`cell`). The protocol and the
//! grids are in [`protocol`], the paper's figures in `expected`.

mod cell;
mod expected;
mod picture;
pub mod protocol;
mod study;
mod table;
mod trace;

pub use study::{Uci, export};
