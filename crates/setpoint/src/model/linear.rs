//! The linear model, s = X w + b, on dense or sparse features.
//!
//! Parameters: the weights in column order, then the bias. Gradient: X^T v, then sum_i v_i.
//!
//! Rows are cut into chunks whose size depends only on the shape of the matrix. Chunks are
//! shared out over rayon's threads, each chunk writes its own scores or its own partial sums,
//! and partial sums are added in the order of the chunks, so every result is the same to the
//! last bit for any number of threads. Nor does it depend on the processor: the kernels multiply
//! and add in a fixed order and never fuse the two (fusing gains nothing on a pass that waits
//! for memory), so narrower vectors give the same bits.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Model, ModelError, Rows, check_length, check_rows};

mod dense;
mod kernel;
mod sparse;

pub use dense::Dense;
pub use sparse::Sparse;

/// Scores s = X w + b of the rows of a feature matrix.
///
/// A clone shares the features, not the state of the last forward pass.
///
/// ```
/// use setpoint::model::{Linear, Model, Rows, linear::Dense};
///
/// let features = Dense::from_row_major(vec![1.0, 2.0, 3.0, 4.0], 2)?;
/// let mut model = Linear::new(features);
/// let parameters = [0.5, -1.0, 2.0]; // two weights and the bias
/// let mut scores = [0.0; 2];
/// model.scores(&parameters, Rows::All, &mut scores)?;
/// assert_eq!(scores, [0.5, -0.5]);
///
/// let mut gradient = [0.0; 3];
/// model.backward(&parameters, &[1.0, -1.0], &mut gradient)?;
/// assert_eq!(gradient, [-2.0, -2.0, 0.0]);
/// # Ok::<(), setpoint::model::ModelError>(())
/// ```
#[derive(Debug)]
pub struct Linear {
    features: Arc<Features>,
    /// The rows of the last mini-batch, copied out so that the full-batch passes apply to them.
    batch: Option<Features>,
    last: Last,
    /// Partial sums of the backward pass, one row for each chunk.
    partials: Vec<f64>,
}

/// A feature matrix, dense or sparse.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Features {
    /// Every value stored.
    Dense(Dense),
    /// Only values other than zero stored.
    Sparse(Sparse),
}

/// What the last forward pass scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    Full,
    Batch,
}

impl Linear {
    /// A linear model over these features; an `Arc` shares them with other models.
    pub fn new(features: impl Into<Arc<Features>>) -> Self {
        Self { features: features.into(), batch: None, last: Last::Nothing, partials: Vec::new() }
    }

    /// A linear model over these rows alone, copied out in this order.
    ///
    /// # Errors
    /// If a row number is too large.
    pub fn over(&self, rows: &[u32]) -> Result<Self, ModelError> {
        check_rows(rows, self.rows())?;
        let mut features = self.features.no_rows();
        self.features.gather(rows, &mut features);
        Ok(Self::new(features))
    }

    /// The features it scores.
    #[must_use]
    pub fn features(&self) -> &Arc<Features> {
        &self.features
    }
}

impl Clone for Linear {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.features))
    }
}

impl Model for Linear {
    fn rows(&self) -> usize {
        self.features.rows()
    }

    fn parameter_count(&self) -> usize {
        self.features.columns() + 1
    }

    fn linear(&self) -> bool {
        true
    }

    fn select(&self, rows: &[u32]) -> Result<Option<Box<dyn Model>>, ModelError> {
        Ok(Some(Box::new(self.over(rows)?)))
    }

    fn scores(&mut self, parameters: &[f32], rows: Rows<'_>, scores: &mut [f32]) -> Result<(), ModelError> {
        let (weights, bias) = self.split(parameters)?;
        match rows {
            Rows::All => {
                check_length("scores", self.rows(), scores.len())?;
                self.features.scores(weights, bias, scores);
                self.last = Last::Full;
            }
            Rows::At(rows) => {
                check_length("scores", rows.len(), scores.len())?;
                check_rows(rows, self.rows())?;
                let batch = self.batch.get_or_insert_with(|| self.features.no_rows());
                self.features.gather(rows, batch);
                batch.scores(weights, bias, scores);
                self.last = Last::Batch;
            }
        }
        Ok(())
    }

    fn backward(&mut self, parameters: &[f32], v: &[f32], gradient: &mut [f32]) -> Result<(), ModelError> {
        self.split(parameters)?;
        check_length("gradient", self.parameter_count(), gradient.len())?;
        let features = match (self.last, &self.batch) {
            (Last::Full, _) => &*self.features,
            (Last::Batch, Some(batch)) => batch,
            _ => return Err(ModelError::NoForward),
        };
        check_length("score gradient", features.rows(), v.len())?;
        features.backward(v, &mut self.partials, gradient);
        Ok(())
    }
}

impl Linear {
    fn split<'a>(&self, parameters: &'a [f32]) -> Result<(&'a [f32], f32), ModelError> {
        check_length("parameters", self.parameter_count(), parameters.len())?;
        let (weights, bias) = parameters.split_at(self.features.columns());
        Ok((weights, bias[0]))
    }
}

impl Features {
    /// Number of examples.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Dense(matrix) => matrix.rows(),
            Self::Sparse(matrix) => matrix.rows(),
        }
    }

    /// Number of features of each example.
    #[must_use]
    pub fn columns(&self) -> usize {
        match self {
            Self::Dense(matrix) => matrix.columns(),
            Self::Sparse(matrix) => matrix.columns(),
        }
    }

    fn scores(&self, weights: &[f32], bias: f32, scores: &mut [f32]) {
        match self {
            Self::Dense(matrix) => matrix.scores(weights, bias, scores),
            Self::Sparse(matrix) => matrix.scores(weights, bias, scores),
        }
    }

    fn backward(&self, v: &[f32], partials: &mut Vec<f64>, gradient: &mut [f32]) {
        match self {
            Self::Dense(matrix) => matrix.backward(v, partials, gradient),
            Self::Sparse(matrix) => matrix.backward(v, partials, gradient),
        }
    }

    /// A matrix of the same kind and columns to gather rows into.
    fn no_rows(&self) -> Self {
        match self {
            Self::Dense(matrix) => Self::Dense(matrix.no_rows()),
            Self::Sparse(matrix) => Self::Sparse(matrix.no_rows()),
        }
    }

    fn gather(&self, rows: &[u32], into: &mut Self) {
        match (self, into) {
            (Self::Dense(matrix), Self::Dense(into)) => matrix.gather(rows, into),
            (Self::Sparse(matrix), Self::Sparse(into)) => matrix.gather(rows, into),
            _ => unreachable!("a batch is made by no_rows of the same features"),
        }
    }
}

impl From<Dense> for Features {
    fn from(matrix: Dense) -> Self {
        Self::Dense(matrix)
    }
}

impl From<Sparse> for Features {
    fn from(matrix: Sparse) -> Self {
        Self::Sparse(matrix)
    }
}

impl From<Dense> for Arc<Features> {
    fn from(matrix: Dense) -> Self {
        Self::new(matrix.into())
    }
}

impl From<Sparse> for Arc<Features> {
    fn from(matrix: Sparse) -> Self {
        Self::new(matrix.into())
    }
}

/// Adds rows of partial sums, in order, and writes the totals.
fn add_in_order(partials: &[f64], gradient: &mut [f32]) {
    const BLOCK: usize = 256;
    let width = gradient.len();
    let add = |(block, gradient): (usize, &mut [f32])| {
        let mut totals = [0.0; BLOCK];
        for partial in partials.chunks_exact(width) {
            for (total, partial) in totals.iter_mut().zip(&partial[block * BLOCK..][..gradient.len()]) {
                *total += partial;
            }
        }
        for (gradient, total) in gradient.iter_mut().zip(totals) {
            *gradient = total as f32;
        }
    };
    if width <= BLOCK {
        add((0, gradient));
    } else {
        gradient.par_chunks_mut(BLOCK).enumerate().for_each(add);
    }
}

fn check_shape(rows: usize, columns: usize) -> Result<(), ModelError> {
    let limit = u32::MAX as usize;
    if rows == 0 || columns == 0 {
        return Err(ModelError::Empty { rows, columns });
    }
    for (what, got) in [("rows", rows), ("columns", columns)] {
        if got > limit {
            return Err(ModelError::TooLarge { what, got, limit });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
