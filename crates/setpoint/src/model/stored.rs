//! The linear model over rows in a scratch file: to the last bit what it is over rows in memory.

use std::any::Any;
use std::sync::Arc;

use super::{Linear, Model, ModelError, Rows, check_length, check_rows};
use crate::features::{Features, Kept, Stored, Turn};

/// So many bytes of rows are taken into memory where a model over some of them is wanted.
const FEW_BYTES: usize = 16 << 20;

/// Scores s = X w + b of the rows of a scratch file.
#[derive(Clone, Debug)]
pub struct StoredLinear {
    features: Arc<Stored>,
    scored: bool,
}

impl StoredLinear {
    /// A linear model over these rows.
    pub fn new(features: impl Into<Arc<Stored>>) -> Self {
        Self { features: features.into(), scored: false }
    }

    /// The features it scores.
    #[must_use]
    pub fn features(&self) -> &Arc<Stored> {
        &self.features
    }

    /// A file of the same columns, without rows, beside this one.
    fn like(&self) -> Result<Stored, ModelError> {
        Stored::create(Arc::clone(self.features.layout()), self.features.directory())
    }
}

impl Model for StoredLinear {
    fn rows(&self) -> usize {
        self.features.rows()
    }

    fn parameter_count(&self) -> usize {
        self.features.columns() + 1
    }

    fn linear(&self) -> bool {
        true
    }

    /// In memory, where they are few; else in a file of their own, and they must ascend.
    fn select(&self, rows: &[u32]) -> Result<Option<Box<dyn Model>>, ModelError> {
        check_rows(rows, self.rows())?;
        let layout = self.features.layout();
        let few = self.features.bytes(rows.len()) <= FEW_BYTES;
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        order.sort_by_key(|place| rows[*place as usize]);
        if !few && !rows.is_sorted() {
            return Err(ModelError::Elsewhere {
                message: "rows on disk are taken in their order".to_owned(),
            });
        }
        let (mut here, mut there, mut next) = (Features::none(Arc::clone(layout)), None, 0);
        if !few {
            there = Some(self.like()?);
        }
        self.features.each(|first, block| {
            let row = |place: &u32| rows[*place as usize] as usize;
            let own = order[next..].iter().take_while(|place| row(place) < first + block.rows());
            let own: Vec<u32> = own.map(|place| (row(place) - first) as u32).collect();
            next += own.len();
            let own = block.select(&own)?;
            match &mut there {
                Some(there) => there.push(&own),
                None => {
                    here.append(&own).unwrap_or_default();
                    Ok(())
                }
            }
        })?;
        if let Some(there) = there {
            return Ok(Some(Box::new(Self::new(there.finish()?))));
        }
        let mut place = vec![0; rows.len()];
        (0..).zip(&order).for_each(|(at, row)| place[*row as usize] = at);
        Ok(Some(Box::new(Linear::new(here.select(&place)?))))
    }

    fn joined(&self, others: &[&dyn Model]) -> Result<Option<Box<dyn Model>>, ModelError> {
        let mut joined = self.like()?;
        let own: [&dyn Model; 1] = [self];
        for model in own.iter().chain(others).map(|model| model.as_any()) {
            let stored = model.and_then(|model| model.downcast_ref::<Self>());
            let linear = model.and_then(|model| model.downcast_ref::<Linear>());
            match (stored, linear) {
                (Some(stored), _) => stored.features.each(|_, block| joined.push(block))?,
                // A few rows that were taken into memory.
                (None, Some(linear)) => joined.push(linear.features())?,
                (None, None) => return Ok(None),
            }
        }
        Ok(Some(Box::new(Self::new(joined.finish()?))))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn scores(&mut self, parameters: &[f32], rows: Rows<'_>, scores: &mut [f32]) -> Result<(), ModelError> {
        check_length("parameters", self.parameter_count(), parameters.len())?;
        if rows != Rows::All {
            return Err(ModelError::Elsewhere {
                message: "rows on disk are not learnt from in batches".to_owned(),
            });
        }
        check_length("scores", self.rows(), scores.len())?;
        let kept = Some(Kept::Here(scores));
        let turn = Turn { parameters: Some(parameters), kept, slopes: None, gradient: Vec::new() };
        self.features.pass(&mut [turn])?;
        self.scored = true;
        Ok(())
    }

    fn backward(&mut self, parameters: &[f32], v: &[f32], gradient: &mut [f32]) -> Result<(), ModelError> {
        check_length("parameters", self.parameter_count(), parameters.len())?;
        check_length("gradient", self.parameter_count(), gradient.len())?;
        check_length("score gradient", self.rows(), v.len())?;
        if !self.scored {
            return Err(ModelError::NoForward);
        }
        let slopes = Box::new(|first: usize, _: &[f32], into: &mut [f32]| {
            into.copy_from_slice(&v[first..][..into.len()]);
        });
        let mut turn = [Turn { parameters: None, kept: None, slopes: Some(slopes), gradient: Vec::new() }];
        self.features.pass(&mut turn)?;
        gradient.iter_mut().zip(&turn[0].gradient).for_each(|(to, from)| *to = *from as f32);
        Ok(())
    }
}
