//! Decoded images of a folder, kept for the next time.
//!
//! One file for each folder and way of reading it: a line of JSON, then the codes
//! of the labels, the parts and the pixels. It is used only while the folder's
//! files have the names, sizes and times they had, and only if its digest fits; it
//! is written whole or not at all. Whatever is wrong with it, the images are there.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use setpoint::artifact::write_atomically;
use sha2::{Digest, Sha256};

use super::folder::Walk;
use super::option::{ImageLayout, ImageOptions, ImageShape};
use super::statistics::hex;
use super::{ImageSet, check_bytes};
use crate::dataset::Codes;

/// Changes with the format, and with whatever changes the decoded pixels.
const VERSION: u32 = 1;
/// Longest first line: names of millions of images.
const MAX_HEAD: u64 = 1 << 30;

/// Where decoded images are kept unless said otherwise: `SETPOINT_CACHE`, else `setpoint` in the
/// user's cache directory (`XDG_CACHE_HOME`, `~/.cache`).
#[must_use]
pub fn default_cache() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("SETPOINT_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("setpoint")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache").join("setpoint")))
}

/// The file of a folder, and what must hold for it to be used.
pub(super) struct Place {
    path: PathBuf,
    /// Digest of the folder's files: names, sizes and times.
    state: String,
}

#[derive(Serialize, Deserialize)]
struct Head {
    version: u32,
    state: String,
    /// Digest of the set.
    hash: String,
    rows: usize,
    shape: [usize; 3],
    labels: Vec<(String, Vec<String>)>,
    parts: bool,
    names: Vec<String>,
    notes: Vec<String>,
}

impl Place {
    pub fn new(directory: &Path, walk: &Walk, layout: ImageLayout, options: &ImageOptions) -> Self {
        let root = fs::canonicalize(&walk.root).unwrap_or_else(|_| walk.root.clone());
        let ImageOptions { size, crop, channels, labels, file_column, part_column, missing, .. } = options;
        let options = (layout, size, crop, channels, labels, file_column, part_column, missing);
        let key = hex(&Sha256::digest(format!("{root:?} {options:?}")));
        let mut state = Sha256::new();
        for file in &walk.files {
            state.update(format!("{:?} {} {}\n", file.path, file.bytes, file.changed));
        }
        // A label table may lie outside the folder.
        if let Some(about) = labels.as_ref().and_then(|path| fs::metadata(path).ok()) {
            state.update(format!("{} {:?}", about.len(), about.modified().ok()));
        }
        Self { path: directory.join(format!("images-{}.cache", &key[..32])), state: hex(&state.finalize()) }
    }

    /// The cached set: none if there is none, an error that says why it is of no use.
    pub fn load(&self, file: &str) -> Result<Option<ImageSet>, String> {
        let Ok(stored) = File::open(&self.path) else { return Ok(None) };
        let bytes = stored.metadata().map_err(|error| error.to_string())?.len();
        let damaged = || "they are damaged".to_owned();
        let mut reader = BufReader::with_capacity(1 << 20, stored);
        let mut line = Vec::new();
        reader.by_ref().take(MAX_HEAD).read_until(b'\n', &mut line).map_err(|_| damaged())?;
        let head: Head = serde_json::from_slice(&line).map_err(|_| damaged())?;
        if head.version != VERSION || head.state != self.state {
            return Err("the files have changed since".to_owned());
        }
        let [height, width, channels] = head.shape.map(|length| length as u64);
        let shape = ImageShape::checked(height, width, channels).ok_or_else(damaged)?;
        let pixel_bytes = check_bytes(file, head.rows as u64, shape).map_err(|_| damaged())?;
        let code_bytes = head.rows.checked_mul(4 * head.labels.len()).ok_or_else(damaged)?;
        let part_bytes = if head.parts { head.rows } else { 0 };
        let expected = line.len() as u64 + code_bytes as u64 + part_bytes as u64 + pixel_bytes as u64;
        if expected != bytes || head.names.len() != head.rows {
            return Err(damaged());
        }
        let mut read = |count: usize| {
            let mut bytes = vec![0; count];
            reader.read_exact(&mut bytes).map(|()| bytes).map_err(|_| damaged())
        };
        let mut labels = Vec::new();
        for (column, names) in head.labels {
            let of =
                read(4 * head.rows)?.as_chunks().0.iter().map(|code| u32::from_le_bytes(*code)).collect();
            labels.push(Codes { column, names, of });
        }
        let part_of = if head.parts { Some(read(head.rows)?) } else { None };
        let pixels = read(pixel_bytes)?;
        let (names, notes) = (Some(head.names), head.notes);
        let set = ImageSet { file: file.to_owned(), shape, pixels, labels, part_of, names, notes };
        if set.hash() == head.hash { Ok(Some(set)) } else { Err(damaged()) }
    }

    /// Keeps a set for the next time.
    pub fn store(&self, set: &ImageSet) -> Result<(), String> {
        let head = Head {
            version: VERSION,
            state: self.state.clone(),
            hash: set.hash(),
            rows: set.rows(),
            shape: [set.shape.height, set.shape.width, set.shape.channels],
            labels: set.labels.iter().map(|column| (column.column.clone(), column.names.clone())).collect(),
            parts: set.part_of.is_some(),
            names: set.names.clone().unwrap_or_default(),
            notes: set.notes.clone(),
        };
        if let Some(directory) = self.path.parent() {
            fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        }
        write_atomically(&self.path, |out| {
            serde_json::to_writer(&mut *out, &head)?;
            out.write_all(b"\n")?;
            for code in set.labels.iter().flat_map(|column| &column.of) {
                out.write_all(&code.to_le_bytes())?;
            }
            out.write_all(set.part_of.as_deref().unwrap_or_default())?;
            out.write_all(&set.pixels)
        })
        .map_err(|error| error.to_string())
    }
}
