//! What the user typed, checked and built: ready to run.

mod image;
mod read;
mod train;

pub use image::image_options;
pub use read::{confidence, positive, read_options};
pub use train::TrainPlan;
