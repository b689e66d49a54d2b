//! What the user typed, checked and built: ready to run.

mod files;
mod image;
mod label;
mod query;
mod read;
mod train;

pub use files::Files;
pub use image::image_options;
pub use label::{joined, labels, reports_of};
pub use query::{empty_queries, query_source, test_source};
pub use read::{confidence, positive, read_options, share, spill};
pub use train::TrainPlan;
