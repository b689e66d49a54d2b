//! Train classifiers for the operating point they will run at.
//!
//! State a [`Goal`] ("the most recall at 1% false alarms"), and follow its exact gradient: the
//! threshold is not a parameter but a function of the scores, given by the goal's conditions, and
//! the gradient goes through it (Kumar, Narasimhan and Cotter, ICML 2021).
//!
//! A model's parameters touch the goal only through its scores, so nothing here needs to know the
//! model:
//!
//! ```text
//!            scores s                                score gradient v
//!  Model ───────────────▶  counts ─▶ rates ─▶ solve ───────────────────▶ Model::backward ─▶ Optimizer
//! ```
//!
//! One pass out, one vector back, for any number of thresholds and conditions.
//!
//! ```
//! use setpoint::engine::{Engine, EngineOptions};
//! use setpoint::{Goal, Sample, metric};
//!
//! // One feature that helps, one that helps only far from the operating point.
//! let rows = 2000;
//! let labels: Vec<bool> = (0..rows).map(|i| i % 10 == 0).collect();
//! let noise = |i: usize, k: f32| ((i as f32 * k).sin() * 43758.547).fract();
//! let features: Vec<[f32; 2]> = (0..rows)
//!     .map(|i| {
//!         let y = f32::from(u8::from(labels[i]));
//!         [noise(i, 12.9) + 0.6 * y, noise(i, 78.2) * (2.0 - y) + 0.3 * y]
//!     })
//!     .collect();
//!
//! let goal: Goal = "recall @ fpr<=2%".parse()?;
//! let sample = Sample::new(labels)?;
//! let mut engine = Engine::new(&goal, &sample, EngineOptions { sharpness: 8.0, ..Default::default() })?;
//!
//! let mut weights = [1.0f32, 1.0];
//! let score = |w: &[f32; 2]| -> Vec<f32> { features.iter().map(|x| x[0] * w[0] + x[1] * w[1]).collect() };
//! let before = metric::value_at(&goal, &sample, &score(&weights))?.value;
//! let mut v = vec![0.0; rows];
//! for _ in 0..50 {
//!     engine.step(&sample, &score(&weights), &mut v)?;
//!     for k in 0..2 {
//!         weights[k] -= 0.5 * features.iter().zip(&v).map(|(x, v)| x[k] * v).sum::<f32>();
//!     }
//! }
//! let after = metric::value_at(&goal, &sample, &score(&weights))?.value;
//! assert!(after > before + 0.1, "recall at 2% fpr went from {before} to {after}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! - [`goal`]: what is wanted, as plain data and as text.
//! - [`sample`]: labels, weights and groups, checked at the door.
//! - [`surrogate`], [`count`]: smooth counts of decisions and their slopes; the hot loops.
//! - [`problem`]: a goal tied to a sample, as functions of counts.
//! - [`threshold`]: thresholds that meet the conditions: exact, smooth, tracked.
//! - [`implicit`]: the gradient through the thresholds.
//! - [`engine`]: all of that as one step of a training loop.
//! - [`metric`]: exact metrics and their confidence intervals.
//! - [`certify`]: thresholds that hold on new data, with a proof.
//! - [`class`]: several classes: smooth and counted decisions by score minus shift.
//! - [`rank`]: queries: smooth and exact metrics of the first results of each.
//! - [`artifact`]: the model file.
//! - [`features`]: rows of numbers and categories, each as it is; in memory, or in a file of [`scratch`].
//! - [`model`], [`optimizer`], [`train`]: what is trained, and how.
//! - [`message`]: values as messages show them.

#![deny(unsafe_code)]

mod algebra;
pub mod artifact;
pub mod certify;
pub mod class;
pub mod count;
pub mod engine;
pub mod examples;
pub mod features;
pub mod goal;
pub mod implicit;
pub mod message;
pub mod metric;
pub mod mix;
pub mod model;
pub mod optimizer;
pub mod problem;
pub mod rank;
pub mod ranks;
pub mod sample;
pub mod scratch;
pub mod shard;
pub mod surrogate;
pub mod threshold;
pub mod train;

pub use goal::Goal;
pub use sample::Sample;

/// The README's examples, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExamples;
