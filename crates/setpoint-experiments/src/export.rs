//! Splits as files, so that other tools see the very same numbers.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use safetensors::{Dtype, View};
use setpoint::artifact::write_atomically;

use crate::ExperimentError;
use crate::split::{Matrix, PARTS};

/// Writes `train.x` (rows by columns) and `train.y` (0 or 1), and the same for validation and test, all
/// `f32`, with notes in the file's metadata.
///
/// # Errors
/// If the file cannot be written.
pub fn write(
    path: &Path,
    parts: &[Matrix; 3],
    notes: BTreeMap<String, String>,
) -> Result<(), ExperimentError> {
    let named = PARTS.iter().zip(parts);
    let tensors = named.flat_map(|(part, matrix)| {
        [(format!("{part}.x"), Tensor::features(matrix)), (format!("{part}.y"), Tensor::labels(matrix))]
    });
    if let Some(folder) = path.parent() {
        let made = fs::create_dir_all(folder);
        made.map_err(|error| ExperimentError::Directory { path: folder.to_owned(), error })?;
    }
    let notes = (!notes.is_empty()).then(|| notes.into_iter().collect());
    Ok(write_atomically(path, |out: &mut dyn Write| {
        let bytes = safetensors::serialize(tensors, notes).map_err(std::io::Error::other)?;
        out.write_all(&bytes)
    })?)
}

/// `f32` numbers of some shape.
struct Tensor<'m> {
    shape: Vec<usize>,
    values: Cow<'m, [f32]>,
}

impl<'m> Tensor<'m> {
    fn features(matrix: &'m Matrix) -> Self {
        Self { shape: vec![matrix.sample.len(), matrix.columns], values: Cow::Borrowed(&matrix.values) }
    }

    fn labels(matrix: &Matrix) -> Self {
        let labels: Vec<f32> =
            matrix.sample.labels().iter().map(|label| f32::from(u8::from(*label))).collect();
        Self { shape: vec![labels.len()], values: Cow::Owned(labels) }
    }
}

impl View for Tensor<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn data_len(&self) -> usize {
        4 * self.values.len()
    }
}
