//! Train classifiers for the operating point they will run at.

pub mod count;
pub mod goal;
pub mod sample;
pub mod surrogate;

pub use goal::Goal;
pub use sample::Sample;
