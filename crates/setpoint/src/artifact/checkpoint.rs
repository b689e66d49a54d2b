//! A training run between two steps, to be resumed as if it had never stopped.
//!
//! Numbers that must come back to the last bit belong in the state, which stores bits:
//! negative zero, subnormals and infinities included. The document holds the rest, such as the
//! plan of the run; JSON has no infinities.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::atomic::write_atomically;
use super::container::{self, Content, Purpose};
use super::error::{ArtifactError, ArtifactErrorKind};
use super::tensor::Tensor;
use crate::optimizer::State;

/// The format of checkpoints that this version writes and reads.
const FORMAT: u32 = 2;

/// Everything that the next step of a training run depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// What the run is, and how far it got.
    pub document: Value,
    /// Parameters, and whatever losses and optimizers carry along.
    pub state: State,
}

/// The stored document around the caller's. Fields are read as strictly as those of a model.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapper {
    format: u32,
    setpoint: String,
    document: Value,
}

impl Checkpoint {
    /// Writes the checkpoint: whole, or not at all.
    ///
    /// # Errors
    /// If the document nests too deep, or the file cannot be written.
    /// What was at the path before is then untouched.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ArtifactError> {
        let bytes = self.to_bytes()?;
        Ok(write_atomically(path, |out| out.write_all(&bytes))?)
    }

    /// Reads a checkpoint.
    ///
    /// # Errors
    /// If the file is not a whole and sound checkpoint.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ArtifactError> {
        container::load(path.as_ref(), Self::read)
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// If the document nests too deep.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ArtifactError> {
        let mut wrapper = Wrapper {
            format: FORMAT,
            setpoint: env!("CARGO_PKG_VERSION").to_owned(),
            document: self.document.clone(),
        };
        wrapper.document.sort_all_objects();
        let text = serde_json::to_string(&wrapper).map_err(ArtifactErrorKind::document)?;
        // What nests too deep to be read is found now rather than when it is needed.
        serde_json::from_str::<Wrapper>(&text).map_err(ArtifactErrorKind::document)?;
        let entries = self.state.entries.iter();
        let tensors = entries.map(|(name, values)| (name.clone(), Tensor::vector(values.clone()))).collect();
        Ok(container::write(Purpose::Checkpoint, &text, &tensors)?)
    }

    /// Reads a checkpoint from its bytes.
    ///
    /// # Errors
    /// If they are not those of a whole and sound checkpoint.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, ArtifactError> {
        let size = bytes.len() as u64;
        Ok(Self::read(&mut bytes, size)?)
    }

    fn read(source: &mut dyn Read, size: u64) -> Result<Self, ArtifactErrorKind> {
        let Content { document, tensors } =
            container::read(source, size, Purpose::Checkpoint, FORMAT..=FORMAT)?;
        let wrapper: Wrapper = serde_json::from_str(&document).map_err(ArtifactErrorKind::document)?;
        if let Some((name, _)) = tensors.iter().find(|(_, tensor)| tensor.shape.len() != 1) {
            return Err(ArtifactErrorKind::tensor(name, "an entry of a checkpoint has one dimension"));
        }
        let entries = tensors.into_iter().map(|(name, tensor)| (name, tensor.data)).collect();
        Ok(Self { document: wrapper.document, state: State { entries } })
    }
}
