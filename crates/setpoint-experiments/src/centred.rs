//! A linear model over centred columns that are mostly one value, without storing that value.
//!
//! ```text
//! x = z + d,  d = 0 almost everywhere:    s = D w + (b + z.w),    gradient by w: D^T v + z sum(v)
//! ```
//!
//! Standardised, a sparse column is z (what 0 became) in most rows. Adult has 14 other values among 123
//! in a row: four times as many steps a second.

use std::any::Any;
use std::sync::Arc;

use setpoint::features::{Features, Sparse};
use setpoint::model::{Linear, Model, ModelError, Rows};

/// A linear model over d, which knows z; a clone shares the features.
#[derive(Clone, Debug)]
pub struct Centred {
    linear: Linear,
    zero: Arc<[f32]>,
}

impl Centred {
    /// Takes the columns' most frequent values, z, out of a row-major matrix.
    pub fn new(values: &[f32], zero: &[f32]) -> Result<Self, ModelError> {
        let (mut starts, mut indices, mut apart) = (vec![0], Vec::new(), Vec::new());
        for row in values.chunks(zero.len()) {
            for (column, (value, zero)) in row.iter().zip(zero).enumerate() {
                if value != zero {
                    indices.push(column as u32);
                    apart.push(value - zero);
                }
            }
            starts.push(apart.len());
        }
        let sparse = Sparse { columns: zero.len(), starts, indices, values: apart };
        Ok(Self { linear: Linear::new(Features::from_csr(sparse)?), zero: zero.into() })
    }
}

impl Model for Centred {
    fn rows(&self) -> usize {
        self.linear.rows()
    }

    fn parameter_count(&self) -> usize {
        self.linear.parameter_count()
    }

    fn linear(&self) -> bool {
        true
    }

    fn select(&self, rows: &[u32]) -> Result<Option<Box<dyn Model>>, ModelError> {
        let linear = Linear::new(self.linear.features().select(rows)?);
        Ok(Some(Box::new(Self { linear, zero: Arc::clone(&self.zero) })))
    }

    fn joined(&self, others: &[&dyn Model]) -> Result<Option<Box<dyn Model>>, ModelError> {
        let others: Option<Vec<&Linear>> =
            others.iter().map(|other| Some(&other.as_any()?.downcast_ref::<Self>()?.linear)).collect();
        let joined = others.and_then(|others| self.linear.with(&others));
        let centred = |linear| Box::new(Self { linear, zero: Arc::clone(&self.zero) }) as Box<dyn Model>;
        Ok(joined.map(centred))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn scores(&mut self, parameters: &[f32], rows: Rows<'_>, scores: &mut [f32]) -> Result<(), ModelError> {
        let mut moved = parameters.to_vec();
        if let Some(bias) = moved.get_mut(self.zero.len()) {
            let shift: f64 =
                self.zero.iter().zip(parameters).map(|(z, w)| f64::from(*z) * f64::from(*w)).sum();
            *bias = (f64::from(*bias) + shift) as f32;
        }
        self.linear.scores(&moved, rows, scores)
    }

    fn backward(&mut self, parameters: &[f32], v: &[f32], gradient: &mut [f32]) -> Result<(), ModelError> {
        self.linear.backward(parameters, v, gradient)?;
        let sum: f64 = v.iter().map(|v| f64::from(*v)).sum();
        for (gradient, zero) in gradient.iter_mut().zip(&*self.zero) {
            *gradient += (f64::from(*zero) * sum) as f32;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_dense_model_over_the_same_numbers() {
        let zero = [-0.25f32, 0.5, -1.5];
        let values: Vec<f32> =
            (0..120).map(|i| if i % 5 == 0 { (i as f32 * 0.7).sin() } else { zero[i % 3] }).collect();
        let mut dense = Linear::new(Features::from_row_major(values.clone(), 3).unwrap());
        let mut centred = Centred::new(&values, &zero).unwrap();
        let parameters = [0.5f32, -2.0, 0.75, 0.1];
        let v: Vec<f32> = (0..40).map(|i| (i as f32).cos()).collect();
        let run = |model: &mut dyn Model| {
            let (mut scores, mut gradient) = (vec![0.0; 40], vec![0.0; 4]);
            model.scores(&parameters, Rows::All, &mut scores).unwrap();
            model.backward(&parameters, &v, &mut gradient).unwrap();
            scores.extend(gradient);
            scores
        };
        let (one, other) = (run(&mut dense), run(&mut centred));
        // Rounding of sums of a few dozen numbers of size 1.
        assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-5), "{one:?} {other:?}");
    }
}
