//! Boosted trees for an operating point, beside LightGBM and XGBoost as people tune them.
//!
//! ```text
//! Task ──read, split by seed──▶ Problem ──one search for all goals──▶ Setpoint, LightGBM ──▶ table
//!                                  └──export──▶ bench/peers/trees.py ──▶ XGBoost ──────────────┘
//! ```
//!
//! The boosters of a search do not depend on the goal, only the rounds to stop at and the choice do. So
//! one search serves all goals, Setpoint's as well as LightGBM's.

mod cell;
mod rival;
mod study;
mod table;

pub use cell::{Outcome, StepRecord, Trial};
pub use study::{GOALS, Rows, TaskSplit, Trees};
pub use table::{Grown, PeerRecord, peers};
