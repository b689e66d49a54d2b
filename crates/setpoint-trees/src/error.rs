//! Why trees could not be trained, read or used.

use setpoint::train::TrainError;
use thiserror::Error;

use crate::library::LibraryError;

/// Why trees could not be trained, read or used.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum TreesError {
    /// LightGBM is not there, or refused.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The goal does not fit, the observer stopped the run, or a setting makes no sense.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Rows, columns or labels that do not fit together.
    #[error("{found}: expected {expected}")]
    Shape {
        /// What was found.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A value of a categorical column is not a code.
    #[error(
        "row {row}, column {column}: {value} is not a category; expected a code from 0 on, or a missing value"
    )]
    Category {
        /// Position, from 0.
        row: usize,
        /// Column, from 0.
        column: u32,
        /// What was found.
        value: f32,
    },
    /// Trees in LightGBM's text form that cannot be read.
    #[error("tree {tree}: {field}: {reason}")]
    Text {
        /// Which tree, from 0.
        tree: usize,
        /// Which line of it.
        field: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Tensors of a model file that are not those of sound trees.
    #[error("tensor {name:?}: {reason}")]
    Tensor {
        /// Which tensor.
        name: String,
        /// What is wrong.
        reason: String,
    },
}
