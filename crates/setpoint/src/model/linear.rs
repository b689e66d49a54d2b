//! The linear model, s = X w + b.
//!
//! Parameters: the weights in column order, then the bias. Gradient: X^T v, then sum_i v_i.
//!
//! Rows are cut into chunks whose size depends only on the shape of the matrix. Chunks are
//! shared out over rayon's threads, each chunk writes its own scores or its own partial sums,
//! and partial sums are added in the order of the chunks, so every result is the same to the
//! last bit for any number of threads. Nor does it depend on the processor: the kernels multiply
//! and add in a fixed order and never fuse the two (fusing gains nothing on a pass that waits
//! for memory), so narrower vectors give the same bits.

use std::any::Any;
use std::sync::Arc;

use super::{Model, ModelError, Rows, check_length, check_rows};
use crate::features::{Features, Work};

/// Scores s = X w + b of the rows of a feature matrix.
///
/// A clone shares the features, not the state of the last forward pass.
///
/// ```
/// use setpoint::features::Features;
/// use setpoint::model::{Linear, Model, Rows};
///
/// let features = Features::from_row_major(vec![1.0, 2.0, 3.0, 4.0], 2)?;
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
    work: Work,
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
        Self { features: features.into(), batch: None, last: Last::Nothing, work: Work::default() }
    }

    /// A linear model over its rows and then those of others, copied; `None` if they have other columns.
    #[must_use]
    pub fn with(&self, others: &[&Self]) -> Option<Self> {
        let mut features = Features::clone(&self.features);
        others.iter().try_for_each(|other| features.append(&other.features))?;
        Some(Self::new(features))
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
        Ok(Some(Box::new(Self::new(self.features.select(rows)?))))
    }

    fn joined(&self, others: &[&dyn Model]) -> Option<Box<dyn Model>> {
        let others: Option<Vec<&Self>> = others.iter().map(|other| other.as_any()?.downcast_ref()).collect();
        Some(Box::new(self.with(&others?)?))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn scores(&mut self, parameters: &[f32], rows: Rows<'_>, scores: &mut [f32]) -> Result<(), ModelError> {
        let (weights, bias) = self.split(parameters)?;
        match rows {
            Rows::All => {
                check_length("scores", self.rows(), scores.len())?;
                self.features.scores(weights, bias, &mut self.work, scores);
                self.last = Last::Full;
            }
            Rows::At(rows) => {
                check_length("scores", rows.len(), scores.len())?;
                check_rows(rows, self.rows())?;
                let batch = self.batch.get_or_insert_with(|| self.features.no_rows());
                self.features.gather(rows, batch);
                batch.scores(weights, bias, &mut self.work, scores);
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
        features.backward(v, &mut self.work, gradient);
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
