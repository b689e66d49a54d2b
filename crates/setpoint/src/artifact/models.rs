//! What a file holds: one model, or one for each of several labels.
//!
//! A file of several labels has a document that lists them, each with the [`Document`](super::Document) of its model; the
//! tensors of a model have the number of its label in front, as in `0/weights`. The rest is as in a file of one model.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::container::{self, Content, Purpose};
use super::error::{ArtifactError, ArtifactErrorKind};
use super::{Document, FORMAT, ModelFile, Tensor, write_atomically};

/// The format of files of several labels.
const SEVERAL: u32 = FORMAT + 1;
/// Most labels of a file.
const MAX_LABELS: usize = 1 << 10;

/// The models of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Models {
    /// The only one.
    One(Box<ModelFile>),
    /// One for each label, by its name; two or more.
    Labels(Vec<(String, ModelFile)>),
}

/// The document of a file of several labels.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    format: u32,
    setpoint: String,
    labels: Vec<Labelled>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Labelled {
    label: String,
    document: Box<RawValue>,
}

#[derive(Deserialize)]
struct Stamp {
    format: u32,
}

impl Models {
    /// Reads a file.
    ///
    /// # Errors
    /// As [`ModelFile::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ArtifactError> {
        container::load(path.as_ref(), Self::read)
    }

    /// Reads a file from its bytes.
    ///
    /// # Errors
    /// As [`ModelFile::from_bytes`].
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, ArtifactError> {
        let size = bytes.len() as u64;
        Ok(Self::read(&mut bytes, size)?)
    }

    /// Writes the file: whole, or not at all.
    ///
    /// # Errors
    /// As [`ModelFile::save`].
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ArtifactError> {
        let bytes = self.to_bytes()?;
        Ok(write_atomically(path, |out| out.write_all(&bytes))?)
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// As [`ModelFile::to_bytes`], and if labels are fewer than two or not all different.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ArtifactError> {
        let models = match self {
            Self::One(model) => return model.to_bytes(),
            Self::Labels(models) => models,
        };
        let mut tensors: BTreeMap<String, Tensor> = BTreeMap::new();
        let mut labels = Vec::new();
        for (place, (label, model)) in models.iter().enumerate() {
            model.check_finite()?;
            let own = model.tensors.iter().map(|(name, tensor)| (format!("{place}/{name}"), tensor.clone()));
            tensors.extend(own);
            let document = model.document.to_text()?;
            let document = RawValue::from_string(document).map_err(ArtifactErrorKind::document)?;
            labels.push(Labelled { label: label.clone(), document });
        }
        check(&labels)?;
        let contents = Contents { format: SEVERAL, setpoint: env!("CARGO_PKG_VERSION").to_owned(), labels };
        let text = serde_json::to_string(&contents).map_err(ArtifactErrorKind::document)?;
        Ok(container::write(Purpose::Model, &text, &tensors)?)
    }

    /// The only model, or that of a label.
    ///
    /// # Errors
    /// If the file is of several labels, and none or another one is named.
    pub fn of_label(self, label: Option<&str>) -> Result<ModelFile, ArtifactErrorKind> {
        let models = match self {
            Self::One(model) => return Ok(*model),
            Self::Labels(models) => models,
        };
        let labels: Vec<String> = models.iter().map(|(label, _)| label.clone()).collect();
        let found = models.into_iter().find(|(own, _)| Some(own.as_str()) == label);
        found
            .map(|(_, model)| model)
            .ok_or_else(|| ArtifactErrorKind::SeveralLabels { labels, asked: label.map(str::to_owned) })
    }

    pub(super) fn read(source: &mut dyn Read, size: u64) -> Result<Self, ArtifactErrorKind> {
        let Content { document, tensors } = container::read(source, size, Purpose::Model, 1..=SEVERAL)?;
        let Stamp { format } = serde_json::from_str(&document).map_err(ArtifactErrorKind::document)?;
        if format != SEVERAL {
            let model = ModelFile { document: Document::from_text(&document)?, tensors };
            model.check_finite()?;
            return Ok(Self::One(Box::new(model)));
        }
        let Contents { labels, .. } = serde_json::from_str(&document).map_err(ArtifactErrorKind::document)?;
        check(&labels)?;
        let mut models = Vec::new();
        for Labelled { label, document } in labels {
            let document = Document::from_text(document.get())
                .map_err(|kind| ArtifactErrorKind::document(format!("label {label:?}: {kind}")))?;
            models.push((label, ModelFile::new(document)));
        }
        for (name, tensor) in tensors {
            let place =
                name.split_once('/').and_then(|(place, own)| Some((place.parse::<usize>().ok()?, own)));
            match place.and_then(|(place, own)| Some((&mut models.get_mut(place)?.1, own))) {
                Some((model, own)) => model.tensors.insert(own.to_owned(), tensor),
                None => return Err(ArtifactErrorKind::tensor(&name, "is of none of the labels")),
            };
        }
        models.iter().try_for_each(|(_, model)| model.check_finite())?;
        Ok(Self::Labels(models))
    }
}

impl From<ModelFile> for Models {
    fn from(model: ModelFile) -> Self {
        Self::One(Box::new(model))
    }
}

fn check(labels: &[Labelled]) -> Result<(), ArtifactErrorKind> {
    let mut seen = BTreeSet::new();
    if let Some(twice) = labels.iter().find(|one| !seen.insert(&one.label)) {
        return Err(ArtifactErrorKind::document(format!("label {:?} is there twice", twice.label)));
    }
    if !(2..=MAX_LABELS).contains(&labels.len()) {
        let count = labels.len();
        return Err(ArtifactErrorKind::document(format!("{count} labels; expected 2 to {MAX_LABELS}")));
    }
    Ok(())
}
