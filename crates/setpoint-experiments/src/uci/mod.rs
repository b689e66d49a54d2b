//! The five tabular sets of the paper's section 4.3: linear models, 50/25/25 splits.
//!
//! ```text
//! Set ──read, split by seed──▶ Split ──a method's grid──▶ Cell ──over seeds──▶ tables, pictures
//! ```
//!
//! Settings are chosen on validation, the test part is looked at once ([`cell`]). The protocol and the
//! grids are in [`protocol`], the paper's figures in [`expected`].

pub mod cell;
mod centred;
pub mod expected;
pub mod goals;
mod picture;
pub mod protocol;
pub mod record;
mod run;
mod set;
mod split;
mod table;
mod trace;

pub use centred::Centred;
pub use run::{Plan, Results, Splits};
pub use set::Set;
#[cfg(test)]
pub(crate) use set::made;
pub use split::{Features, Part, Split, export};
pub(crate) use split::{Matrix, PARTS, matrices};
pub use table::text;
