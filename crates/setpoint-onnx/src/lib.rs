//! Models as ONNX graphs with the decision inside, and certified decisions for anyone's ONNX classifier.
//!
//! ```text
//! model file ──export──▶ raw columns ─▶ preprocessing ─▶ score ─▶ probability, decision      one .onnx file
//!                                                                     │
//!                        check: every row through onnxruntime ◀───────┘
//!
//! anyone's .onnx ──Classifier──▶ scores ─▶ setpoint_run::certify ─▶ the same file, `decision` as its last node
//! ```
//!
//! Decisions are Setpoint's own. Linear models and trees score the same to the last bit (`linear`, `trees`);
//! networks do not, and what decides keeps a distance from the rows it was chosen on (`decide`, `class`).
//!
//! # Where things are
//!
//! - `proto`, `graph`: the messages of ONNX, and a graph that grows operator by operator.
//! - `input`, `linear`, `network`, `trees`, `decide`, `class`: the parts of a graph.
//! - `export`, `check`, `certify`: what is done with it.
//! - `rows`, `runtime`: rows fed to onnxruntime, which is loaded at run time; all `unsafe` code.

#![deny(unsafe_code)]

mod certify;
mod check;
mod class;
mod decide;
mod export;
mod graph;
mod input;
mod linear;
mod network;
pub mod proto;
mod rows;
mod runtime;
mod trees;

pub use certify::{Classifier, Decision};
pub use check::{Checked, Decided, check};
pub use decide::{DISTANCE, Observed};
pub use export::export;
pub use rows::Rows;
pub use runtime::{Data, Fed, Given, Session, library_file};
