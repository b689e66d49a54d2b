//! Splits as files, so that other tools see the very same numbers.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use setpoint::artifact::write_atomically;

use crate::ExperimentError;
use crate::split::{Matrix, PARTS};

/// Writes `train.x` (rows by columns) and `train.y` (0 or 1), and the same for validation and test, all
/// `f32`, with notes in the file's metadata.
pub fn write(
    path: &Path,
    parts: &[Matrix; 3],
    notes: BTreeMap<String, String>,
) -> Result<(), ExperimentError> {
    let bytes =
        |values: &mut dyn Iterator<Item = f32>| values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
    let mut tensors = Vec::new();
    for (part, Matrix { values, columns, sample, .. }) in PARTS.iter().zip(parts) {
        let labels = sample.labels().iter().map(|label| f32::from(u8::from(*label)));
        tensors.push((format!("{part}.x"), vec![sample.len(), *columns], bytes(&mut values.iter().copied())));
        tensors.push((format!("{part}.y"), vec![sample.len()], bytes(&mut { labels })));
    }
    if let Some(folder) = path.parent() {
        let made = fs::create_dir_all(folder);
        made.map_err(|error| ExperimentError::Output {
            what: "cannot make the directory",
            path: folder.to_owned(),
            error,
        })?;
    }
    let notes = (!notes.is_empty()).then(|| notes.into_iter().collect());
    Ok(write_atomically(path, |out: &mut dyn Write| {
        let views = tensors.iter().map(|(name, shape, bytes)| {
            TensorView::new(Dtype::F32, shape.clone(), bytes).map(|view| (name, view))
        });
        let views: Result<Vec<_>, _> = views.collect();
        let file = views.and_then(|views| safetensors::serialize(views, notes)).map_err(io::Error::other)?;
        out.write_all(&file)
    })?)
}
