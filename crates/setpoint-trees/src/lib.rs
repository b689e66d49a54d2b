//! Boosted trees, trained for the operating point they will run at.
//!
//! LightGBM grows the trees: the library that users trust, loaded at run time ([`library`]). What is
//! trained is owned: an [`Ensemble`] of flat arrays, stored as tensors and scored in Rust without
//! LightGBM, with the same scores.
//!
//! ```text
//! search (log loss, positive weights) ─▶ average ─▶ ico head ─▶ retrained on all rows
//!           Session::search                    Session::conclude
//! ```
//!
//! [`fit`] does all of it for one goal. A [`Session`] shares the boosters of one search among several
//! goals. Goals of several classes are trained alike, a score for each class and a tree for each in every round.
//!
//! ```no_run
//! use setpoint::{Goal, Sample, train::Silent};
//! use setpoint_trees::{Data, FeatureView, Settings, fit};
//!
//! # let (train_values, train_sample) = (vec![0.0f32; 6], Sample::new(vec![true, false])?);
//! # let (held_out_values, held_out_sample) = (vec![0.0f32; 6], Sample::new(vec![true, false])?);
//! let goal: Goal = "recall @ fpr<=1%".parse()?;
//! let train = Data { features: FeatureView::dense(&train_values, 3)?, sample: &train_sample, categorical: &[2] };
//! let held_out =
//!     Data { features: FeatureView::dense(&held_out_values, 3)?, sample: &held_out_sample, categorical: &[2] };
//! let fit = fit(&goal, train, held_out, &Settings::default(), &mut Silent, None)?;
//! let mut scores = vec![0.0; 2];
//! fit.ensemble.scores(&held_out.features, &mut scores)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! - [`library`]: LightGBM over its C API; all `unsafe` code.
//! - [`ensemble`]: the trees: read, stored, combined, scored.
//! - `features`, `parameters`, `settings`: what goes in.
//! - `grow`, `ico`: one booster, for log loss or on the goal's own gradient.
//! - `session`, `watched`, `side_by_side`, `retrain`: many boosters, on all processors.
//! - `purpose`, `judge`, `recipe`, `head`, `improve`, `conclude`: from many boosters to one model.
//! - [`store`] keeps checkpoints.

#![deny(unsafe_code)]

mod conclude;
pub mod ensemble;
mod error;
mod features;
mod grow;
pub mod head;
mod ico;
mod improve;
mod judge;
pub mod library;
mod parameters;
mod purpose;
mod rank;
mod recipe;
mod retrain;
mod session;
mod settings;
mod side_by_side;
pub mod store;
mod watched;

pub use conclude::{BoosterCandidate, Step, TreesFit, conclude, fit};
pub use ensemble::Ensemble;
pub use error::TreesError;
pub use features::{Data, FeatureView, Rows};
pub use grow::{Look, looks};
pub use judge::Promise;
pub use library::{Library, LibraryError};
pub use parameters::Parameters;
pub use retrain::Retraining;
pub use session::{Searched, Session};
pub use settings::Settings;
pub use store::{Finished, Store};

#[cfg(test)]
mod tests;
