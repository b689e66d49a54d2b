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
pub mod record;
mod rival;
mod run;
mod table;
mod task;

pub use cell::{Outcome, StepRecord, Trial};
pub use run::{GOALS, Plan};
pub use table::{save, text};
pub use task::{Task, export};
