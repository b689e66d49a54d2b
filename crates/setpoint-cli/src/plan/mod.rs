//! What the user typed, checked and built: ready to run.

mod files;
mod image;
mod label;
mod read;
mod train;

pub use files::Files;
pub use image::image_options;
pub use label::{joined, labels, reports_of};
pub use read::{confidence, positive, read_options, share};
pub use train::TrainPlan;
