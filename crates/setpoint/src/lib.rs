//! Train classifiers for the operating point they will run at.

#![forbid(unsafe_code)]

mod algebra;
pub mod artifact;
pub mod count;
pub mod engine;
pub mod goal;
pub mod implicit;
pub mod metric;
pub mod model;
pub mod optimizer;
pub mod problem;
pub mod sample;
pub mod surrogate;
pub mod threshold;

pub use goal::Goal;
pub use sample::Sample;
