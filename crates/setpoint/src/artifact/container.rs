//! The file format: safetensors, with one JSON text in its metadata.
//!
//! ```text
//! 8 bytes      length of the header
//! header       {"__metadata__": {KEY: "{\"sha256\": HEX, \"document\": {...}}"}, TENSOR: {...}, ...}
//! the rest     the tensors' bytes
//! ```
//!
//! All our metadata is one text under one key, so that a hash map's order cannot change the bytes
//! of a file. The digest covers the document and every tensor's name, type, shape and bytes: a
//! flipped bit anywhere in them is found. It guards against damage, not against an enemy, who can
//! compute it too; a hostile file is met by the checks of every size before anything is allocated.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::ops::RangeInclusive;
use std::path::Path;

use safetensors::Dtype;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::error::{ArtifactError, ArtifactErrorKind};
use super::header::{Header, MAX_HEADER, MAX_RANK, MAX_TENSORS, METADATA, Place};
use super::tensor::{Encoded, Tensor, TensorData};

/// What a file is for; each purpose has its metadata key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Model,
    Checkpoint,
}

impl Purpose {
    const KEYS: [&'static str; 2] = [Self::Model.key(), Self::Checkpoint.key()];

    const fn key(self) -> &'static str {
        match self {
            Self::Model => "setpoint",
            Self::Checkpoint => "setpoint-checkpoint",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Checkpoint => "training checkpoint",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::Model => Self::Checkpoint,
            Self::Checkpoint => Self::Model,
        }
    }
}

/// What a file holds: the text of its document, and the tensors.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) document: String,
    pub(super) tensors: BTreeMap<String, Tensor>,
}

/// The text under the metadata key.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    sha256: String,
    #[serde(borrow)]
    document: &'a RawValue,
}

/// What every document says first, in this format and any later one.
#[derive(Deserialize)]
struct Stamp {
    format: u64,
    setpoint: Option<String>,
}

/// Bytes read and decoded at a time; a multiple of every width.
const CHUNK: usize = 1 << 16;

/// The bytes of a file.
pub(super) fn write(
    purpose: Purpose,
    document: &str,
    tensors: &BTreeMap<String, Tensor>,
) -> Result<Vec<u8>, ArtifactErrorKind> {
    if let Some(name) = tensors.keys().nth(MAX_TENSORS) {
        return Err(ArtifactErrorKind::tensor(name, format!("a file holds at most {MAX_TENSORS} tensors")));
    }
    let mut digest = ContentDigest::new(document);
    let mut encoded = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        tensor.check_shape(name)?;
        if name == METADATA {
            return Err(ArtifactErrorKind::tensor(name, "the name is taken by the format"));
        }
        if tensor.shape.len() > MAX_RANK {
            return Err(ArtifactErrorKind::tensor(name, format!("more than {MAX_RANK} dimensions")));
        }
        let tensor = Encoded::from(tensor);
        digest.tensor(name, tensor.dtype, tensor.shape, &Sha256::digest(&tensor.bytes));
        encoded.push((name, tensor));
    }
    let document = RawValue::from_string(document.to_owned()).map_err(ArtifactErrorKind::document)?;
    let envelope = Envelope { sha256: digest.hex(), document: &document };
    let text = serde_json::to_string(&envelope).map_err(ArtifactErrorKind::document)?;
    let metadata = [(purpose.key().to_owned(), text)].into_iter().collect();
    let bytes = safetensors::serialize(encoded, Some(metadata)).map_err(ArtifactErrorKind::header)?;
    match bytes.first_chunk().map(|length| u64::from_le_bytes(*length)) {
        Some(size) if size > MAX_HEADER => Err(ArtifactErrorKind::HeaderSize { size, limit: MAX_HEADER }),
        _ => Ok(bytes),
    }
}

/// Opens a file and reads it.
pub(super) fn load<T>(
    path: &Path,
    read: impl FnOnce(&mut dyn Read, u64) -> Result<T, ArtifactErrorKind>,
) -> Result<T, ArtifactError> {
    let open = || {
        // Looked at before it is opened: to open a pipe is to wait for its writer.
        if !fs::metadata(path).map_err(refused)?.is_file() {
            return Err(ArtifactErrorKind::NotAFile);
        }
        let mut file = File::open(path).map_err(refused)?;
        let size = file.metadata().map_err(refused)?.len();
        read(&mut file, size)
    };
    open().map_err(|kind| ArtifactError { path: Some(path.to_owned()), kind })
}

/// Reads a file of so many bytes that was written in a format for this purpose.
pub(super) fn read(
    source: &mut dyn Read,
    size: u64,
    purpose: Purpose,
    format: RangeInclusive<u32>,
) -> Result<Content, ArtifactErrorKind> {
    let mut start = Vec::with_capacity(16);
    source.take(16).read_to_end(&mut start).map_err(refused)?;
    let Some((length, [b'{', ..])) = start.split_first_chunk() else {
        return Err(ArtifactErrorKind::NotSafetensors { looks_like: looks_like(&start) });
    };
    let length = u64::from_le_bytes(*length);
    if length > MAX_HEADER {
        return Err(ArtifactErrorKind::HeaderSize { size: length, limit: MAX_HEADER });
    }
    let data_start = length + 8;
    if data_start > size {
        return Err(ArtifactErrorKind::Truncated { expected: data_start, got: size });
    }

    let mut source = start[8..].chain(source);
    let mut text = vec![0; usize::try_from(length).map_err(ArtifactErrorKind::header)?];
    source.read_exact(&mut text).map_err(refused)?;
    let mut header = Header::parse(&text, &Purpose::KEYS)?;
    drop(text);
    let envelope = match header.metadata.remove(purpose.key()) {
        Some(envelope) => envelope,
        None if header.metadata.contains_key(purpose.other().key()) => {
            let (expected, found) = (purpose.name(), purpose.other().name());
            return Err(ArtifactErrorKind::OtherKind { expected, found });
        }
        None => return Err(ArtifactErrorKind::Foreign { key: purpose.key() }),
    };
    let Envelope { sha256, document } =
        serde_json::from_str(&envelope).map_err(ArtifactErrorKind::document)?;
    check_format(document.get(), format)?;

    let (places, data_bytes) = header.places()?;
    let expected = data_start.saturating_add(data_bytes);
    if expected > size {
        return Err(ArtifactErrorKind::Truncated { expected, got: size });
    }
    if expected < size {
        return Err(ArtifactErrorKind::TrailingBytes { expected, got: size });
    }
    let mut digests = BTreeMap::new();
    let mut tensors = BTreeMap::new();
    for Place { name, shape, mut data, count } in places {
        let digest = read_numbers(&mut source, &mut data, count)?;
        digests.insert(name.clone(), digest);
        tensors.insert(name, Tensor { shape, data });
    }

    let mut digest = ContentDigest::new(document.get());
    for ((name, tensor), bytes) in tensors.iter().zip(digests.values()) {
        digest.tensor(name, tensor.data.dtype(), &tensor.shape, bytes);
    }
    if digest.hex() != sha256 {
        return Err(ArtifactErrorKind::Checksum);
    }
    Ok(Content { document: document.get().to_owned(), tensors })
}

/// Reads so many numbers, and digests their bytes. The caller knows that the file is long enough.
fn read_numbers(
    source: &mut impl Read,
    data: &mut TensorData,
    count: usize,
) -> Result<Sha256Bytes, ArtifactErrorKind> {
    data.reserve(count);
    let mut digest = Sha256::new();
    let mut left = count * data.dtype().bitsize() / 8;
    let mut chunk = vec![0; CHUNK.min(left)];
    while left > 0 {
        let chunk = &mut chunk[..CHUNK.min(left)];
        source.read_exact(chunk).map_err(refused)?;
        digest.update(&*chunk);
        data.extend_from_bytes(chunk);
        left -= chunk.len();
    }
    Ok(digest.finalize())
}

/// Checks the format before anything else of a document, which another format may have changed.
fn check_format(document: &str, supported: RangeInclusive<u32>) -> Result<(), ArtifactErrorKind> {
    let Stamp { format, setpoint } = serde_json::from_str(document).map_err(ArtifactErrorKind::document)?;
    if u32::try_from(format).is_ok_and(|format| supported.contains(&format)) {
        return Ok(());
    }
    let supported = *supported.end();
    Err(ArtifactErrorKind::Version { found: format, supported, written_by: setpoint })
}

fn refused(error: io::Error) -> ArtifactErrorKind {
    match error.kind() {
        // The file was longer when we asked.
        ErrorKind::UnexpectedEof => ArtifactErrorKind::Read {
            error: io::Error::new(error.kind(), "the file was cut while it was read"),
        },
        _ => ArtifactErrorKind::Read { error },
    }
}

/// What a file that is not safetensors may be, for those who took the wrong one.
fn looks_like(start: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 8] = [
        (b"PK\x03\x04", "a zip archive (PyTorch saves those), which is never loaded here"),
        (b"\x80", "a Python pickle, which is never loaded here"),
        (b"\x89HDF", "an HDF5 file"),
        (b"PAR1", "a Parquet file"),
        (b"\x1f\x8b", "a gzip file; decompress it first"),
        (b"version https://", "a Git LFS pointer; fetch the file itself with git lfs pull"),
        (b"<", "an HTML or XML page"),
        (b"{", "JSON"),
    ];
    if start.is_empty() {
        return Some("an empty file");
    }
    known.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, name)| *name)
}

type Sha256Bytes = sha2::digest::Output<Sha256>;

/// The digest of a file's content, whatever the order of the tensors in it.
///
/// ```text
/// SHA-256 of: document, then for each tensor by name: name, type, rank, shape, SHA-256 of its bytes
/// ```
///
/// Each text follows its length, each length and number is 8 bytes, little-endian.
struct ContentDigest(Sha256);

impl ContentDigest {
    fn new(document: &str) -> Self {
        let mut digest = Self(Sha256::new());
        digest.text(document);
        digest
    }

    fn tensor(&mut self, name: &str, dtype: Dtype, shape: &[usize], bytes: &Sha256Bytes) {
        self.text(name);
        self.text(&dtype.to_string());
        self.number(shape.len());
        shape.iter().for_each(|&length| self.number(length));
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.0.update(text);
    }

    fn number(&mut self, number: usize) {
        self.0.update((number as u64).to_le_bytes());
    }

    fn hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
