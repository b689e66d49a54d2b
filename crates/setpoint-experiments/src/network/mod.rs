//! Networks on images and tables: the paper's image protocol, and a comparison at equal compute.
//!
//! ```text
//! Task ──read, split by seed──▶ Problem ──a method's grid──▶ trials ──choose on validation──▶ Fitted
//! ```
//!
//! Two studies share all of it ([`protocol`]): `images` is the paper's section 4.1 and 4.2, `networks`
//! asks whether Setpoint's defaults are worth their epochs when every rival is given as many.
//!
//! A fit of cross-entropy does not depend on the goal, only the epoch to stop at does. So one fit serves
//! all goals of a table, and is where `auto` goes on from (`shared`).

mod cell;
pub mod grid;
pub mod protocol;
mod shared;
mod study;
mod table;
mod tape;

pub use cell::{Average, ClaimedGain, Fitted};
pub use study::Networks;
pub use table::Compared;
