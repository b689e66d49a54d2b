//! The five tabular sets of the paper's section 4.3: linear models, 50/25/25 splits.
//!
//! ```text
//! Set ──read, split by seed──▶ Split (train, validation, test; standardised on train)
//! ```

mod export;
mod set;
mod split;

pub use export::export;
pub use set::Set;
pub use split::{Part, Split};
