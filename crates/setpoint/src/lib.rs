//! Train classifiers for the operating point they will run at.

pub mod goal;
pub mod metric;
pub mod sample;

pub use goal::Goal;
pub use sample::Sample;
