//! The files of a folder and of the folders in it, in order.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::image::error::ImageError;

/// Folders within folders that are looked into.
const MAX_DEPTH: usize = 6;
/// Bands of a satellite image that are not red, green or blue.
const OTHER_BANDS: [&str; 9] = ["B01", "B05", "B06", "B07", "B08", "B8A", "B09", "B11", "B12"];

/// A file of the folder.
#[derive(Clone, Debug)]
pub(in crate::image) struct Found {
    /// Its path within the folder, with `/` between.
    pub path: String,
    pub bytes: u64,
    /// When it was last changed, in nanoseconds.
    pub changed: u128,
}

/// The files of a folder that matter: images, tables, texts and JSON. Hidden ones are left out.
#[derive(Clone, Debug)]
pub(in crate::image) struct Walk {
    pub root: PathBuf,
    /// Sorted by path.
    pub files: Vec<Found>,
}

impl Walk {
    pub fn new(root: &Path) -> Result<Self, ImageError> {
        let mut walk = Self { root: root.to_owned(), files: Vec::new() };
        walk.visit(root, "", 0)?;
        walk.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(walk)
    }

    fn visit(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), ImageError> {
        let io = |source| ImageError::Io { file: folder.display().to_string(), source };
        for entry in fs::read_dir(folder).map_err(io)? {
            let entry = entry.map_err(io)?;
            let name = entry.file_name();
            // A name that is not text cannot be in a label table.
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            let path = format!("{prefix}{name}");
            let kind = entry.file_type().map_err(io)?;
            let is_folder = kind.is_dir() || (kind.is_symlink() && entry.path().is_dir());
            if is_folder {
                if depth < MAX_DEPTH {
                    self.visit(&entry.path(), &format!("{path}/"), depth + 1)?;
                }
            } else if matters(name) {
                // Follows links: what counts is the file they lead to.
                let about = fs::metadata(entry.path())
                    .map_err(|source| ImageError::Io { file: entry.path().display().to_string(), source })?;
                let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                let changed = changed.map_or(0, |time| time.as_nanos());
                self.files.push(Found { path, bytes: about.len(), changed });
            }
        }
        Ok(())
    }

    /// What errors call the folder.
    pub fn name(&self) -> String {
        self.root.display().to_string()
    }

    /// The image files.
    pub fn images(&self) -> impl Iterator<Item = &Found> {
        self.files.iter().filter(|file| is_image(&file.path))
    }

    /// The file of this path within the folder, if it is there.
    pub fn find(&self, path: &str) -> Option<PathBuf> {
        self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().map(|_| self.root.join(path))
    }
}

fn ends_with(name: &str, ends: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    ends.iter().any(|end| name.ends_with(end))
}

fn is_image(name: &str) -> bool {
    ends_with(name, &[".png", ".jpg", ".jpeg", ".tif", ".tiff"])
}

/// Whether a name is that of a table.
pub(super) fn is_table(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let bare = [".gz", ".zst", ".bz2"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    ends_with(bare, &[".csv", ".tsv", ".parquet"])
}

/// Whether a file of this name counts among those of a folder of images: an image, a table, a text or JSON.
#[must_use]
pub fn belongs_to_folder(name: &str) -> bool {
    !name.starts_with('.') && matters(name)
}

fn matters(name: &str) -> bool {
    let other_band = name.strip_suffix(".tif").is_some_and(|stem| {
        OTHER_BANDS.iter().any(|band| stem.strip_suffix(band).is_some_and(|rest| rest.ends_with('_')))
    });
    !other_band && (is_image(name) || is_table(name) || ends_with(name, &[".txt", ".json"]))
}
