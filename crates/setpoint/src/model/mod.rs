//! Models, seen from score space: parameters in, scores out; score gradient in, parameter gradient out.
//!
//! ```text
//! parameters ──▶ Model::scores ──▶ s        v ──▶ Model::backward ──▶ gradient_p = sum_i v_i ds_i/dp
//! ```
//!
//! A model here is a function of its parameters on the examples it holds. Three choices follow:
//!
//! - *Parameters are one flat slice, owned by the caller.* Optimizers, averages of several runs
//!   and checkpoints then need to know nothing about layers, and a validation split is another
//!   model over other examples that is handed the same slice.
//! - *A model holds its examples* (shared, where several runs train on the same ones), because
//!   what a row is differs from model to model: a row of a matrix, an image, an index into a
//!   Python data set. The caller only speaks of row numbers.
//! - *The backward pass belongs to the last forward pass.* `scores` keeps what `backward` needs
//!   (which rows; a network: its activations), so the two can never be about different batches.
//!   Hence `&mut self`. The parameters are passed again rather than copied.

use std::any::Any;
use std::ops::Range;

use thiserror::Error;

use crate::examples::Examples;
use crate::sample::Sample;
use crate::scratch::ScratchError;

pub mod linear;
pub mod net;
mod stored;

pub use linear::Linear;
pub use net::{Architecture, Images, Inputs, Network};
pub use stored::StoredLinear;

/// Which of a model's examples to score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows<'a> {
    /// All of them, in order: the full batch.
    All,
    /// These row numbers, in this order, repeats allowed: a mini-batch.
    At(&'a [u32]),
}

/// A batch of examples to learn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    /// Row numbers, repeats allowed.
    pub rows: &'a [u32],
    /// Seed of the run.
    pub seed: u64,
    /// Number of the step, from 0.
    pub step: u64,
}

/// Which examples a model has left, and the model over them.
pub type Thinned = (Vec<u32>, Box<dyn Model>);

/// A differentiable function from parameters to the scores of the examples it holds.
pub trait Model {
    /// Number of examples it holds.
    fn rows(&self) -> usize;

    /// Number of parameters it takes.
    fn parameter_count(&self) -> usize;

    /// Scores it gives for each example, next to each other: one, or one for each class.
    fn outputs(&self) -> usize {
        1
    }

    /// Whether scores are linear in the parameters, the last of which are biases: then the average of
    /// several fits is a fit.
    fn linear(&self) -> bool {
        false
    }

    /// Where training starts: at zero, unless the model has symmetries to break.
    fn initial(&self, seed: u64) -> Vec<f32> {
        let _ = seed;
        vec![0.0; self.parameter_count()]
    }

    /// The parameters that weight decay shrinks: not biases, and not what is only observed.
    fn decayed(&self) -> Vec<Range<usize>> {
        let count = self.parameter_count();
        let weights = if self.linear() { 0..count.saturating_sub(self.outputs()) } else { 0..count };
        vec![weights]
    }

    /// A model over these of its examples alone, in this order; `None` where it cannot be taken apart.
    ///
    /// # Errors
    /// If a row number is not below [`Model::rows`].
    fn select(&self, rows: &[u32]) -> Result<Option<Box<dyn Model>>, ModelError> {
        check_rows(rows, self.rows())?;
        Ok(None)
    }

    /// A model over one of so many of its examples, of each label and group of this sample of them, and which those are;
    /// `None` where it cannot be taken apart.
    ///
    /// # Errors
    /// If the sample has other rows.
    fn thinned(&self, sample: &Sample, share: usize) -> Result<Option<Thinned>, ModelError> {
        let rows = sample.deal(share).swap_remove(0);
        Ok(self.select(&rows)?.map(|model| (rows, model)))
    }

    /// A model over the same examples, but for these features, which example i has of example `order[i]`; `None`
    /// where examples are no rows of features.
    ///
    /// # Errors
    /// If there is not one row number for each example, each below [`Model::rows`].
    fn shuffled(&self, features: &Range<usize>, order: &[u32]) -> Result<Option<Box<dyn Model>>, ModelError> {
        let _ = (features, order);
        Ok(None)
    }

    /// A model over its examples and then those of others; `None` where the parts of such a model could
    /// not learn together, or are not of one kind.
    ///
    /// # Errors
    /// If examples are on disk, and that refuses.
    fn joined(&self, others: &[&dyn Model]) -> Result<Option<Box<dyn Model>>, ModelError> {
        let _ = others;
        Ok(None)
    }

    /// Whoever answers for its examples, where these are elsewhere.
    fn examples(&mut self) -> Option<&mut dyn Examples> {
        None
    }

    /// Itself, for models that look into others of their kind.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }

    /// Writes the scores of `rows` to `scores`, [`outputs`](Self::outputs) for each row asked for, as they are in
    /// use.
    ///
    /// # Errors
    /// If a length does not fit or a row number is not below [`Model::rows`].
    fn scores(&mut self, parameters: &[f32], rows: Rows<'_>, scores: &mut [f32]) -> Result<(), ModelError>;

    /// The scores of a batch to learn from: with what belongs to training alone, such as the
    /// statistics of the batch and dropout, which depends on the seed of the run and the step alone.
    ///
    /// # Errors
    /// As [`Model::scores`].
    fn learn(&mut self, parameters: &[f32], batch: &Batch<'_>, scores: &mut [f32]) -> Result<(), ModelError> {
        self.scores(parameters, Rows::At(batch.rows), scores)
    }

    /// Overwrites `gradient` with sum_i v_i ds_i/dp over the rows of the last [`Model::learn`] (or
    /// [`Model::scores`], for models that learn as they score), which must have been given the same
    /// parameters.
    ///
    /// # Errors
    /// If a length does not fit, or there was no forward pass.
    fn backward(&mut self, parameters: &[f32], v: &[f32], gradient: &mut [f32]) -> Result<(), ModelError>;

    /// The same with thresholds as a function of the head alone (the last layer): the head learns by
    /// `v`, the layers before it by `direct`, the derivative with the thresholds held. A model without
    /// layers is all head.
    ///
    /// # Errors
    /// As [`Model::backward`].
    fn backward_head(
        &mut self,
        parameters: &[f32],
        v: &[f32],
        direct: &[f32],
        gradient: &mut [f32],
    ) -> Result<(), ModelError> {
        check_length("direct score gradient", v.len(), direct.len())?;
        self.backward(parameters, v, gradient)
    }

    /// Brings parameters that are observed rather than learnt (running statistics) up to date with the
    /// last [`Model::learn`]. Called after each step of the optimizer.
    fn observe(&mut self, parameters: &mut [f32]) {
        let _ = parameters;
    }
}

/// Why features or a call to a model were refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ModelError {
    /// No rows or no columns.
    #[error("the features have {rows} rows and {columns} columns: at least one of each is needed")]
    Empty {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
    },
    /// More rows or columns than `u32` can number.
    #[error("{got} {what} are too many: at most {limit} fit one model")]
    TooLarge {
        /// `rows` or `columns`.
        what: &'static str,
        /// How many.
        got: usize,
        /// Largest number supported.
        limit: usize,
    },
    /// The values do not fill whole rows.
    #[error("{values} values do not fill rows of {columns} columns")]
    Ragged {
        /// Number of values given.
        values: usize,
        /// Number of columns.
        columns: usize,
    },
    /// A feature is NaN or infinite.
    #[error("feature {value} in row {row}, column {column} (from 0) is not a finite number")]
    Feature {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// What was found.
        value: f32,
    },
    /// Compressed sparse rows whose row starts are not ascending from 0 to the number of values.
    #[error("row starts must ascend from 0 to {values}, the number of values: entry {entry} is {got}")]
    RowStart {
        /// Position in the row starts, from 0.
        entry: usize,
        /// What was found there.
        got: usize,
        /// Number of values.
        values: usize,
    },
    /// A column number of a sparse row is too large.
    #[error("column {column} of row {row} (from 0) is not below the number of columns, {columns}")]
    Column {
        /// Row, from 0.
        row: usize,
        /// What was found.
        column: u32,
        /// Number of columns.
        columns: usize,
    },
    /// A slice has the wrong length.
    #[error("{what}: expected {expected} values, got {got}")]
    Length {
        /// Which slice.
        what: &'static str,
        /// Length needed.
        expected: usize,
        /// Length given.
        got: usize,
    },
    /// A batch names a row that does not exist.
    #[error("row {row} of the batch is not below the number of rows, {rows}")]
    Row {
        /// What was asked for.
        row: u32,
        /// Number of rows held.
        rows: usize,
    },
    /// A backward pass without a forward pass.
    #[error("there are no scores to differentiate: call scores or learn before backward")]
    NoForward,
    /// Examples elsewhere, which cannot be had.
    #[error("{message}")]
    Elsewhere {
        /// Why.
        message: String,
    },
    /// Examples on disk, which cannot be written or read.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// A network's architecture or inputs do not fit.
    #[error(transparent)]
    Architecture(#[from] net::ArchitectureError),
}

pub(crate) fn check_length(what: &'static str, expected: usize, got: usize) -> Result<(), ModelError> {
    if expected == got { Ok(()) } else { Err(ModelError::Length { what, expected, got }) }
}

pub(crate) fn check_rows(asked: &[u32], rows: usize) -> Result<(), ModelError> {
    match asked.iter().find(|row| **row as usize >= rows) {
        Some(row) => Err(ModelError::Row { row: *row, rows }),
        None => Ok(()),
    }
}
