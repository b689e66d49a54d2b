//! Why a model file or a checkpoint was not written or read.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::message::clip_to;

use super::atomic::WriteError;
use crate::goal::ParseError;

/// A model file or checkpoint that cannot be written or read, with the reason.
///
/// Prints the path, if there is one, and the reason.
#[derive(Debug, Error)]
#[error("{}{kind}", path.as_ref().map(|path| format!("{}: ", path.display())).unwrap_or_default())]
#[non_exhaustive]
pub struct ArtifactError {
    /// The file that was read; none if it was bytes, or if the reason names the path.
    pub path: Option<PathBuf>,
    /// The reason.
    pub kind: ArtifactErrorKind,
}

/// The reason why a model file or checkpoint cannot be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ArtifactErrorKind {
    /// The file could not be put in place.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The system refused to read.
    #[error("cannot read: {error}")]
    Read {
        /// What the system said.
        error: io::Error,
    },
    /// A directory, a device or a pipe.
    #[error("not a regular file")]
    NotAFile,
    /// The first bytes are not those of a safetensors file.
    #[error("not a safetensors file{}", looks(*looks_like))]
    NotSafetensors {
        /// What the first bytes are like.
        looks_like: Option<&'static str>,
    },
    /// The file ends early.
    #[error("the file is damaged or incomplete: its header asks for {expected} bytes, it has {got}")]
    Truncated {
        /// Bytes needed.
        expected: u64,
        /// Bytes found.
        got: u64,
    },
    /// The file goes on after its last tensor.
    #[error("the file is damaged: its header asks for {expected} bytes, it has {got}")]
    TrailingBytes {
        /// Bytes needed.
        expected: u64,
        /// Bytes found.
        got: u64,
    },
    /// The header is over the limit.
    #[error("a header of {size} bytes is over the limit of {limit}; long lists of numbers belong in tensors")]
    HeaderSize {
        /// Length of the header, in bytes.
        size: u64,
        /// The most allowed.
        limit: u64,
    },
    /// The header breaks the rules of the format.
    #[error("the file is damaged: header: {reason}")]
    Header {
        /// Which rule.
        reason: String,
    },
    /// A tensor's entry in the header makes no sense, or the tensor cannot be stored.
    #[error("tensor {}: {reason}", quote(name))]
    Tensor {
        /// Which tensor.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A safetensors file of another program.
    #[error("a safetensors file, but not one that Setpoint wrote: it has no \"{key}\" metadata")]
    Foreign {
        /// The metadata key that was looked for.
        key: &'static str,
    },
    /// A checkpoint where a model is needed, or the other way round.
    #[error("this is a {found}, not a {expected}")]
    OtherKind {
        /// What was needed.
        expected: &'static str,
        /// What was found.
        found: &'static str,
    },
    /// The format is not the one that this version reads.
    #[error(
        "format {found}{} cannot be read by this version, which reads format {supported}; use the version that wrote it",
        writer(written_by)
    )]
    Version {
        /// The file's format.
        found: u64,
        /// The format this version reads.
        supported: u32,
        /// The version of Setpoint that wrote the file, if it says.
        written_by: Option<String>,
    },
    /// The stored digest is not that of the content.
    #[error("the file is damaged: its checksum does not match")]
    Checksum,
    /// The JSON document is not one.
    #[error("document: {reason}")]
    Document {
        /// What is wrong with it.
        reason: String,
    },
    /// The goal does not parse.
    #[error("{error}")]
    Goal {
        /// Where it does not.
        error: Box<ParseError>,
    },
    /// One model is needed of a file that has one for each of several labels.
    #[error(
        "{}it holds a model for each of the labels {}; name one of them (‹label›)",
        asked.as_ref().map(|asked| format!("no label {}: ", quote(asked))).unwrap_or_default(),
        list(labels)
    )]
    SeveralLabels {
        /// The labels.
        labels: Vec<String>,
        /// The one that was asked for.
        asked: Option<String>,
    },
    /// A number is NaN or infinite.
    #[error("{} holds {value} at position {index}; only finite numbers can be stored", clip(what))]
    NotFinite {
        /// Of what: a tensor, a metric, the thresholds.
        what: String,
        /// Position, from 0.
        index: usize,
        /// What was found.
        value: f64,
    },
    /// A model without a threshold decides nothing.
    #[error("there are no thresholds; a model has at least one")]
    NoThresholds,
    /// Groups need one threshold each.
    #[error("{thresholds} thresholds for {groups} groups; there must be one for each")]
    GroupThresholds {
        /// How many thresholds there are.
        thresholds: usize,
        /// How many groups there are.
        groups: usize,
    },
    /// A group is named twice.
    #[error("group {} is named twice", quote(name))]
    GroupTwice {
        /// Which group.
        name: String,
    },
    /// A tensor that is needed is not there.
    #[error("there is no tensor {}; there are: {}", quote(name), list(present))]
    Missing {
        /// Which tensor.
        name: String,
        /// The tensors that are there.
        present: Vec<String>,
    },
    /// A tensor is of another type or shape than needed.
    #[error("tensor {}: expected {expected}, found {found}", quote(name))]
    Mismatch {
        /// Which tensor.
        name: String,
        /// Type and shape needed.
        expected: String,
        /// Type and shape found.
        found: String,
    },
}

impl From<ArtifactErrorKind> for ArtifactError {
    fn from(kind: ArtifactErrorKind) -> Self {
        Self { path: None, kind }
    }
}

impl From<WriteError> for ArtifactError {
    fn from(error: WriteError) -> Self {
        ArtifactErrorKind::from(error).into()
    }
}

impl ArtifactErrorKind {
    pub(super) fn tensor(name: &str, reason: impl fmt::Display) -> Self {
        Self::Tensor { name: name.to_owned(), reason: clip(&reason.to_string()) }
    }

    /// JSON's own errors repeat names from the file, which may be long and hold anything.
    pub(super) fn header(reason: impl fmt::Display) -> Self {
        Self::Header { reason: clip(&reason.to_string()) }
    }

    pub(super) fn document(reason: impl fmt::Display) -> Self {
        Self::Document { reason: clip(&reason.to_string()) }
    }
}

/// Most characters of a text from a file that a message repeats.
const WIDTH: usize = 160;

fn clip(text: &str) -> String {
    clip_to(text, WIDTH)
}

fn quote(name: &str) -> String {
    format!("\"{}\"", clip(name))
}

fn looks(like: Option<&str>) -> String {
    like.map(|like| format!("; it looks like {like}")).unwrap_or_default()
}

fn writer(version: &Option<String>) -> String {
    version.as_deref().map(|version| format!(", written by Setpoint {},", clip(version))).unwrap_or_default()
}

fn list(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        _ => names.iter().take(10).map(|name| quote(name)).collect::<Vec<_>>().join(", "),
    }
}
