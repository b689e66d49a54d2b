//! The linear model, s = X w + b, with one score for each row or one for each class.
//!
//! Parameters: the weights in column order, output after output, then a bias for each. Gradient: X^T v, then
//! sum_i v_i.
//!
//! Rows are cut into chunks whose size depends only on the shape of the matrix. Chunks are
//! shared out over rayon's threads, each chunk writes its own scores or its own partial sums,
//! and partial sums are added in the order of the chunks, so every result is the same to the
//! last bit for any number of threads. Nor does it depend on the processor: the kernels multiply
//! and add in a fixed order and never fuse the two (fusing gains nothing on a pass that waits
//! for memory), so narrower vectors give the same bits.

use std::any::Any;
use std::ops::Range;
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
    outputs: usize,
    /// Scores or gradients of one output, where there are several, and its gradient.
    column: Vec<f32>,
    sums: Vec<f64>,
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
        Self {
            features: features.into(),
            outputs: 1,
            column: Vec::new(),
            sums: Vec::new(),
            batch: None,
            last: Last::Nothing,
            work: Work::default(),
        }
    }

    /// The same with so many scores for each row: one for each class.
    #[must_use]
    pub fn with_outputs(self, outputs: usize) -> Self {
        Self { outputs: outputs.max(1), ..self }
    }

    /// A linear model over its rows and then those of others, copied; `None` if they have other columns.
    #[must_use]
    pub fn with(&self, others: &[&Self]) -> Option<Self> {
        let mut features = Features::clone(&self.features);
        others.iter().try_for_each(|other| features.append(&other.features))?;
        Some(Self::new(features).with_outputs(self.outputs))
    }

    /// The features it scores.
    #[must_use]
    pub fn features(&self) -> &Arc<Features> {
        &self.features
    }
}

impl Clone for Linear {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.features)).with_outputs(self.outputs)
    }
}

impl Model for Linear {
    fn rows(&self) -> usize {
        self.features.rows()
    }

    fn parameter_count(&self) -> usize {
        self.outputs * (self.features.columns() + 1)
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn linear(&self) -> bool {
        true
    }

    fn select(&self, rows: &[u32]) -> Result<Option<Box<dyn Model>>, ModelError> {
        Ok(Some(Box::new(Self::new(self.features.select(rows)?).with_outputs(self.outputs))))
    }

    fn shuffled(&self, features: &Range<usize>, order: &[u32]) -> Result<Option<Box<dyn Model>>, ModelError> {
        let shuffled = self.features.shuffled(features, order)?;
        Ok(Some(Box::new(Self::new(shuffled).with_outputs(self.outputs))))
    }

    fn joined(&self, others: &[&dyn Model]) -> Result<Option<Box<dyn Model>>, ModelError> {
        let others: Option<Vec<&Self>> = others.iter().map(|other| other.as_any()?.downcast_ref()).collect();
        let joined = others.and_then(|others| self.with(&others));
        Ok(joined.map(|joined| Box::new(joined) as Box<dyn Model>))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn scores(&mut self, parameters: &[f32], rows: Rows<'_>, scores: &mut [f32]) -> Result<(), ModelError> {
        check_length("parameters", self.parameter_count(), parameters.len())?;
        let asked = match rows {
            Rows::All => self.rows(),
            Rows::At(rows) => rows.len(),
        };
        check_length("scores", asked * self.outputs, scores.len())?;
        let Self { features, outputs, column, batch, work, .. } = self;
        let (features, last): (&Features, _) = match rows {
            Rows::All => (features, Last::Full),
            Rows::At(rows) => {
                check_rows(rows, features.rows())?;
                let batch = batch.get_or_insert_with(|| features.no_rows());
                features.gather(rows, batch);
                (batch, Last::Batch)
            }
        };
        let (weights, biases) = parameters.split_at(parameters.len() - *outputs);
        if *outputs == 1 {
            features.scores(weights, biases[0], work, scores);
        } else {
            column.resize(asked, 0.0);
            for (output, weights) in weights.chunks_exact(features.columns()).enumerate() {
                features.scores(weights, biases[output], work, column);
                scores[output..]
                    .iter_mut()
                    .step_by(*outputs)
                    .zip(&*column)
                    .for_each(|(to, from)| *to = *from);
            }
        }
        self.last = last;
        Ok(())
    }

    fn backward(&mut self, parameters: &[f32], v: &[f32], gradient: &mut [f32]) -> Result<(), ModelError> {
        check_length("parameters", self.parameter_count(), parameters.len())?;
        check_length("gradient", self.parameter_count(), gradient.len())?;
        let Self { features, outputs, column, sums, batch, work, .. } = self;
        let features = match (self.last, batch) {
            (Last::Full, _) => &**features,
            (Last::Batch, Some(batch)) => &*batch,
            _ => return Err(ModelError::NoForward),
        };
        check_length("score gradient", features.rows() * *outputs, v.len())?;
        sums.resize(features.columns() + 1, 0.0);
        let (weights, biases) = gradient.split_at_mut(parameters.len() - *outputs);
        column.resize(features.rows(), 0.0);
        for (output, weights) in weights.chunks_exact_mut(features.columns()).enumerate() {
            if *outputs == 1 {
                features.backward(v, work, sums);
            } else {
                let of_output = v[output..].iter().step_by(*outputs);
                column.iter_mut().zip(of_output).for_each(|(to, from)| *to = *from);
                features.backward(column, work, sums);
            }
            weights.iter_mut().zip(&*sums).for_each(|(to, from)| *to = *from as f32);
            biases[output] = sums[features.columns()] as f32;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    #[test]
    fn several_outputs_are_as_many_models_side_by_side() {
        let features =
            Features::from_row_major((0..30).map(|i| (i as f32 * 0.7).sin()).collect(), 3).unwrap();
        let mut several = Linear::new(features).with_outputs(2);
        let mut one = Linear::new(Arc::clone(several.features()));
        let parameters: Vec<f32> = (0..8).map(|i| (i as f32).cos()).collect();
        let v: Vec<f32> = (0..8).map(|i| i as f32 - 3.0).collect();
        let rows = [3, 1, 4, 1];
        let (mut scores, mut gradient) = ([0.0; 8], [0.0; 8]);
        several.scores(&parameters, Rows::At(&rows), &mut scores).unwrap();
        several.backward(&parameters, &v, &mut gradient).unwrap();
        for output in 0..2 {
            let own = [&parameters[3 * output..][..3], &parameters[6 + output..][..1]].concat();
            let (mut own_scores, mut own_gradient) = ([0.0; 4], [0.0; 4]);
            one.scores(&own, Rows::At(&rows), &mut own_scores).unwrap();
            let own_v: Vec<f32> = v.iter().skip(output).step_by(2).copied().collect();
            one.backward(&own, &own_v, &mut own_gradient).unwrap();
            assert!(scores.iter().skip(output).step_by(2).eq(&own_scores));
            assert_eq!(gradient[3 * output..][..3], own_gradient[..3]);
            assert_eq!(gradient[6 + output], own_gradient[3]);
        }
        assert_eq!(several.decayed(), vec![Range { start: 0, end: 6 }]);
        assert!(several.scores(&parameters, Rows::All, &mut scores).is_err());
    }
}
