//! A training run between two steps, to be resumed as if it had never stopped.
//!
//! Numbers that must come back to the last bit belong in tensors and states, which store bits:
//! negative zero, subnormals and infinities included. The document holds the rest, such as the
//! plan of the run; JSON has no infinities.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::atomic::write_atomically;
use super::container::{self, Content, Purpose};
use super::error::{ArtifactError, ArtifactErrorKind};
use super::tensor::{Tensor, TensorData};
use crate::optimizer::{State, Values};

/// The format of checkpoints that this version writes and reads.
const FORMAT: u32 = 1;

/// Everything that the next step of a training run depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// What the run is, and how far it got.
    pub document: Value,
    /// States of optimizers, by a name without `/`.
    pub states: BTreeMap<String, State>,
    /// Parameters, scores and the like.
    pub tensors: BTreeMap<String, Tensor>,
}

/// The stored document around the caller's. Fields are read as strictly as those of a model.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapper {
    format: u32,
    setpoint: String,
    /// Names of the states, as one may be empty and then leaves no tensor.
    states: Vec<String>,
    document: Value,
}

/// Stored tensors are called `tensor/NAME`, or `state/STATE/ENTRY`.
const TENSOR: &str = "tensor/";
const STATE: &str = "state/";

impl Checkpoint {
    /// Writes the checkpoint: whole, or not at all.
    ///
    /// # Errors
    /// If a state's name holds a `/`, the document nests too deep, or the file cannot be written.
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
    /// If a state's name holds a `/`, or the document nests too deep.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ArtifactError> {
        let mut wrapper = Wrapper {
            format: FORMAT,
            setpoint: env!("CARGO_PKG_VERSION").to_owned(),
            states: self.states.keys().cloned().collect(),
            document: self.document.clone(),
        };
        wrapper.document.sort_all_objects();
        let text = serde_json::to_string(&wrapper).map_err(ArtifactErrorKind::document)?;
        // What nests too deep to be read is found now rather than when it is needed.
        serde_json::from_str::<Wrapper>(&text).map_err(ArtifactErrorKind::document)?;
        Ok(container::write(Purpose::Checkpoint, &text, &self.stored_tensors()?)?)
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
        let Content { document, tensors } = container::read(source, size, Purpose::Checkpoint, FORMAT)?;
        let wrapper: Wrapper = serde_json::from_str(&document).map_err(ArtifactErrorKind::document)?;
        let states = wrapper.states.into_iter().map(|name| (name, State::default())).collect();
        let mut checkpoint = Self { document: wrapper.document, states, tensors: BTreeMap::new() };
        for (name, tensor) in tensors {
            checkpoint.take(&name, tensor)?;
        }
        Ok(checkpoint)
    }

    /// The tensors under the names they have in the file, the states' among them.
    fn stored_tensors(&self) -> Result<BTreeMap<String, Tensor>, ArtifactErrorKind> {
        let mut stored = BTreeMap::new();
        for (name, tensor) in &self.tensors {
            stored.insert(format!("{TENSOR}{name}"), tensor.clone());
        }
        for (state, State { entries }) in &self.states {
            if state.contains('/') {
                return Err(ArtifactErrorKind::document(format!(
                    "a state cannot be called \"{state}\": no /"
                )));
            }
            for (entry, values) in entries {
                let data = match values.clone() {
                    Values::F32(values) => TensorData::F32(values),
                    Values::F64(values) => TensorData::F64(values),
                    Values::U64(values) => TensorData::U64(values),
                };
                stored.insert(format!("{STATE}{state}/{entry}"), Tensor::vector(data));
            }
        }
        Ok(stored)
    }

    /// Puts a stored tensor where its name says.
    fn take(&mut self, name: &str, tensor: Tensor) -> Result<(), ArtifactErrorKind> {
        if let Some(name) = name.strip_prefix(TENSOR) {
            self.tensors.insert(name.to_owned(), tensor);
            return Ok(());
        }
        let wrong = |reason| Err(ArtifactErrorKind::tensor(name, reason));
        let Some((state, entry)) = name.strip_prefix(STATE).and_then(|name| name.split_once('/')) else {
            return wrong("a checkpoint has no place for it");
        };
        let Some(State { entries }) = self.states.get_mut(state) else {
            return wrong("it belongs to a state that the document does not name");
        };
        if tensor.shape.len() != 1 {
            return wrong("an entry of a state has one dimension");
        }
        let values = match tensor.data {
            TensorData::F32(values) => Values::F32(values),
            TensorData::F64(values) => Values::F64(values),
            TensorData::U64(values) => Values::U64(values),
            TensorData::U32(_) => return wrong("an entry of a state is of type F32, F64 or U64"),
        };
        entries.insert(entry.to_owned(), values);
        Ok(())
    }
}
