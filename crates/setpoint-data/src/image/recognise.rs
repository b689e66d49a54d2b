//! What a path holds, told by its content.

use std::path::Path;

use super::error::ImageError;
use super::option::{ImageLayout, ImageOptions};
use super::{ImageSet, Progress, array, folder, idx, record};
use crate::Error;
use crate::read::source::Source;

/// Bytes that tell a file's format.
const HEAD: usize = 8;

/// Reads whatever the path holds.
pub(super) fn read(path: &Path, options: &ImageOptions, progress: Progress<'_>) -> Result<ImageSet, Error> {
    if path.is_dir() {
        return folder::read(path, options, progress);
    }
    let source = Source::open(path)?;
    let layout = match options.layout {
        Some(layout) => Some(layout),
        None if options.record.is_some() => Some(ImageLayout::Record),
        None => of_file(path, &source)?,
    };
    match layout {
        Some(ImageLayout::Array) => array::read(path, options),
        Some(ImageLayout::Idx) => idx::read(path, options),
        Some(ImageLayout::Record) => record::read(&source, options),
        Some(layout) => Err(ImageError::Unrecognised {
            file: path.display().to_string(),
            found: format!("a file, where {layout} is a layout of folders"),
        }
        .into()),
        None => Err(ImageError::Unrecognised {
            file: path.display().to_string(),
            found: "a file that starts otherwise; name the label bytes with ‹record› if it holds records"
                .to_owned(),
        }
        .into()),
    }
}

/// The layout of images that a path holds; `None` where it is a file of something else, such as a table.
///
/// A folder always counts as images. Records, which have no mark of their own, are told by the
/// name: `.bin`, perhaps compressed.
///
/// # Errors
/// If the path cannot be opened.
pub fn recognise_images(path: &Path) -> Result<Option<ImageLayout>, Error> {
    if path.is_dir() {
        return Ok(Some(folder::layout(path)?));
    }
    of_file(path, &Source::open(path)?)
}

fn of_file(path: &Path, source: &Source) -> Result<Option<ImageLayout>, Error> {
    let (head, _) = source.head(HEAD)?;
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"\x93NUMPY") {
        return Ok(Some(ImageLayout::Array));
    }
    if idx::is_images(&head) {
        return Ok(Some(ImageLayout::Idx));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let bare = [".gz", ".zst", ".bz2"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    Ok(bare.ends_with(".bin").then_some(ImageLayout::Record))
}
