//! Train classifiers for the operating point they will run at.

pub mod goal;
pub mod model;
pub mod optimizer;
pub mod sample;

pub use goal::Goal;
pub use sample::Sample;
