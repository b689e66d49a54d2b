//! The model file: weights, and everything that is needed to use and to judge them.
//!
//! One safetensors file holds the weights as tensors and, in its metadata, one JSON [`Document`]:
//! goal, features, thresholds, certificate, metrics. Nothing is executed on load. Every size is
//! checked against the file's own before anything is allocated, and a digest of the whole content
//! finds a flipped bit wherever it is. The same content gives the same bytes.
//!
//! ```
//! use setpoint::artifact::{Document, ModelFile, Tensor, TensorData};
//!
//! let goal: setpoint::Goal = "recall @ fpr<=1%".parse()?;
//! let mut file = ModelFile::new(Document::new(&goal, "linear", "ico", vec![0.25]));
//! file.tensors.insert("weights".to_owned(), Tensor::vector(TensorData::F32(vec![1.5, -2.0])));
//!
//! let path = std::env::temp_dir().join("setpoint-doc-model.safetensors");
//! file.save(&path)?;
//! let loaded = ModelFile::load(&path)?;
//! assert_eq!(loaded, file);
//! assert_eq!(loaded.tensor::<f32>("weights", &[2])?, [1.5, -2.0]);
//! # std::fs::remove_file(&path).ok();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A file may hold a model for each of several labels: [`Models`]. A training run's [`Checkpoint`] is a file of the same format under another key. Files of any
//! kind are written whole or not at all with [`write_atomically`].

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

pub(crate) mod atomic;
mod checkpoint;
mod container;
mod document;
mod error;
mod header;
mod models;
mod tensor;

pub use atomic::{AtomicFile, WriteError, remove_left_over, write_atomically};
pub use checkpoint::Checkpoint;
pub use document::{Decision, Document, FORMAT, Groups};
pub use error::{ArtifactError, ArtifactErrorKind};
pub use models::Models;
pub use tensor::{Element, Tensor, TensorData};

use container::Purpose;

/// A model as it is shipped: its weights and its [`Document`].
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// What is known about the weights.
    pub document: Document,
    /// The weights, by name.
    pub tensors: BTreeMap<String, Tensor>,
}

impl ModelFile {
    /// A file without weights.
    #[must_use]
    pub fn new(document: Document) -> Self {
        Self { document, tensors: BTreeMap::new() }
    }

    /// Writes the file: whole, or not at all.
    ///
    /// # Errors
    /// If the content is not one that [`load`](Self::load) would take, or the file cannot be
    /// written. What was at the path before is then untouched.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ArtifactError> {
        let bytes = self.to_bytes()?;
        Ok(write_atomically(path, |out| out.write_all(&bytes))?)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it is not a whole and sound model file of a format up to [`FORMAT`], or is one of several labels ([`Models`]).
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ArtifactError> {
        container::load(path.as_ref(), Self::read)
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// If the content is not one that [`from_bytes`](Self::from_bytes) would take.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ArtifactError> {
        self.check_finite()?;
        Ok(container::write(Purpose::Model, &self.document.to_text()?, &self.tensors)?)
    }

    /// SHA-256 of the file's bytes: what tells a model from any other.
    ///
    /// # Errors
    /// As [`to_bytes`](Self::to_bytes).
    pub fn digest(&self) -> Result<String, ArtifactError> {
        let digest = Sha256::digest(self.to_bytes()?);
        Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Reads a file from its bytes.
    ///
    /// # Errors
    /// If they are not those of a whole and sound model file of a format up to [`FORMAT`].
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, ArtifactError> {
        let size = bytes.len() as u64;
        Ok(Self::read(&mut bytes, size)?)
    }

    /// The numbers of a tensor.
    ///
    /// # Errors
    /// If it is not there, or not `f32` of this shape. So for the others.
    pub fn tensor<T: Element>(&self, name: &str, shape: &[usize]) -> Result<&[T], ArtifactError> {
        Ok(tensor::find(&self.tensors, name, shape)?)
    }

    fn read(source: &mut dyn Read, size: u64) -> Result<Self, ArtifactErrorKind> {
        Models::read(source, size)?.of_label(None)
    }

    fn check_finite(&self) -> Result<(), ArtifactErrorKind> {
        self.tensors.iter().try_for_each(|(name, tensor)| tensor.check_finite(name))
    }
}

#[cfg(test)]
mod tests;
