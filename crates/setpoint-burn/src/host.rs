//! Scores and labels, from wherever they are to the host.

use burn_tensor::{Bool, DType, Int, Tensor};

use crate::LossError;

/// The truth about each example: a slice of `bool`, or a tensor of 0 and 1 of any shape.
pub trait Labels {
    /// The labels in the order of the scores.
    ///
    /// # Errors
    /// If they cannot be read, or one is neither 0 nor 1.
    fn read(&self) -> Result<Vec<bool>, LossError>;
}

impl Labels for [bool] {
    fn read(&self) -> Result<Vec<bool>, LossError> {
        Ok(self.to_vec())
    }
}

impl Labels for Vec<bool> {
    fn read(&self) -> Result<Vec<bool>, LossError> {
        Ok(self.clone())
    }
}

impl<const D: usize> Labels for Tensor<D> {
    fn read(&self) -> Result<Vec<bool>, LossError> {
        let values = numbers("labels", self.clone())?;
        let label = |(index, value): (usize, &f32)| match *value {
            0.0 => Ok(false),
            1.0 => Ok(true),
            value => Err(LossError::Label { index, value }),
        };
        values.iter().enumerate().map(label).collect()
    }
}

impl<const D: usize> Labels for Tensor<D, Int> {
    fn read(&self) -> Result<Vec<bool>, LossError> {
        self.clone().float().read()
    }
}

impl<const D: usize> Labels for Tensor<D, Bool> {
    fn read(&self) -> Result<Vec<bool>, LossError> {
        self.clone().float().read()
    }
}

/// One batch on the host, checked: finite scores, a label for each.
pub(crate) fn batch<const D: usize, L: Labels + ?Sized>(
    scores: &Tensor<D>,
    labels: &L,
) -> Result<(Vec<f32>, Vec<bool>), LossError> {
    let values = numbers("scores", scores.clone())?;
    let labels = labels.read()?;
    if values.len() != labels.len() {
        return Err(LossError::Length { shape: scores.dims().to_vec(), labels: labels.len() });
    }
    if let Some(index) = values.iter().position(|value| !value.is_finite()) {
        return Err(LossError::Score { index, value: values[index] });
    }
    Ok((values, labels))
}

fn numbers<const D: usize>(what: &'static str, tensor: Tensor<D>) -> Result<Vec<f32>, LossError> {
    let unread = |error: &dyn std::fmt::Display| LossError::Read { what, message: error.to_string() };
    let data = tensor.try_into_data_dtype(DType::F32).map_err(|error| unread(&error))?;
    data.try_into_vec().map_err(|error| unread(&error))
}
