//! Images: arrays and records in one file, and pictures in folders.

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use setpoint_data::{ImageLayout, ImageOptions, ImageSet};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A folder of this process, in memory where there is such a place.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = base.join(format!("setpoint-fuzz-{}", std::process::id()));
        for class in ["pictures/a", "pictures/b"] {
            fs::create_dir_all(folder.join(class)).expect("a folder for images");
        }
        folder
    })
}

/// Removes what the targets of images have written.
#[cfg(test)]
pub fn clean_up() {
    let _ = fs::remove_dir_all(folder());
}

/// An archive of the pieces between `\0SPLIT\0`, as arrays called `images`, `labels` and so on.
fn archive(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut rest = bytes;
    for name in ["images.npy", "labels.npy", "more.npy"] {
        let mark = b"\0SPLIT\0";
        let end = rest.windows(mark.len()).position(|window| window == mark);
        zip.start_file(name, SimpleFileOptions::default()).ok()?;
        zip.write_all(&rest[..end.unwrap_or(rest.len())]).ok()?;
        match end {
            Some(end) => rest = &rest[end + mark.len()..],
            None => break,
        }
    }
    Some(zip.finish().ok()?.into_inner())
}

/// Arrays, archives of them, IDX files and records: the first byte says which.
///
/// # Panics
/// If the set is not what it says it is.
pub fn array(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let wrapped = if kind % 4 == 1 { archive(bytes) } else { None };
    let (layout, record) = match kind % 4 {
        0 | 1 => (ImageLayout::Array, None),
        2 => (ImageLayout::Idx, None),
        _ => (ImageLayout::Record, "coarse,fine:4x4x3".parse().ok().filter(|_| kind / 4 % 2 == 0)),
    };
    let path = folder().join("images.bin");
    if fs::write(&path, wrapped.as_deref().unwrap_or(bytes)).is_err() {
        return;
    }
    let unlabelled = kind / 8 % 2 == 0;
    let size = (kind / 16 % 2 == 0).then_some(3);
    let options = ImageOptions { layout: Some(layout), record, unlabelled, size, ..ImageOptions::default() };
    if let Ok(set) = ImageSet::read(&path, &options) {
        let bytes = set.shape().bytes();
        assert_eq!(set.pixels().len(), set.rows() * bytes);
        assert!(set.labels().iter().all(|column| column.of.len() == set.rows()));
    }
}

/// A picture (PNG, JPEG, TIFF) beside a sound one.
pub fn picture(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let ending = ["png", "jpg", "tif"][usize::from(*kind) % 3];
    let root = folder().join("pictures");
    let path = root.join("a").join(format!("1.{ending}"));
    if fs::write(&path, bytes).is_err() || fs::write(root.join("b/2.png"), SOUND).is_err() {
        return;
    }
    let size = Some(4);
    let crop = (kind / 3 % 2 == 0).then_some(2);
    let options = ImageOptions { layout: Some(ImageLayout::Classes), size, crop, ..ImageOptions::default() };
    let _ = ImageSet::read(&root, &options);
    let _ = fs::remove_file(path);
}

/// A picture of four grey points.
const SOUND: &[u8] = include_bytes!("sound.png");
