//! Hostile bytes and numbers for everything of Setpoint that reads them.
//!
//! A target takes any bytes. It may refuse them, with an error; it may not panic, run without end, or take memory out of
//! proportion; and numbers that come out are finite. Each has a corpus in `corpus`, a zip file of inputs that between them
//! reach what is known to be reachable, and all inputs that ever were a finding.
//!
//! - `cargo test -p setpoint-fuzz` gives every target its corpus and 150 inputs made of it, `SETPOINT_FUZZ=100000` as many.
//! - `./task fuzz MINUTES` searches with libFuzzer, guided by coverage, on the stable compiler.
//!
//! Checksums would stop blind changes at the door, so files that have one are put together around the input
//! (`artifact::composed`), arrays are put into archives, and the engine's input is a goal and rows.

#![forbid(unsafe_code)]

mod artifact;
mod engine;
mod foreign;
mod image;
mod rows;
mod table;

pub use artifact::{checkpoint, model, monitor};
pub use engine::{classes, engine, queries};
pub use foreign::{goal, onnx, run_file};
#[cfg(test)]
use image::clean_up;
pub use image::{array, picture};
pub use table::{delimited, parquet, svmlight};

/// What takes any bytes.
pub type Target = fn(&[u8]);

/// Makes this thread the only one that works: another would be woken for each piece of work.
///
/// # Panics
/// If there are threads already.
pub fn alone() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("no threads yet");
}

/// Every target, by name.
pub const TARGETS: [(&str, Target); 14] = [
    ("goal", goal),
    ("delimited", delimited),
    ("svmlight", svmlight),
    ("parquet", parquet),
    ("array", array),
    ("picture", picture),
    ("model", model),
    ("checkpoint", checkpoint),
    ("monitor", monitor),
    ("run_file", run_file),
    ("onnx", onnx),
    ("engine", engine),
    ("classes", classes),
    ("queries", queries),
];

#[cfg(test)]
mod tests;
