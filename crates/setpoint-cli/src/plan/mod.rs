//! What the user typed, checked and built: ready to run.

mod read;
mod train;

pub use read::{confidence, positive, read_options};
pub use train::TrainPlan;
