//! Records of one size: some label bytes, then the planes of an image, as in CIFAR's binary version.
//!
//! The size of the file tells the layout where it can: 3,073 bytes a record are
//! CIFAR-10 (class), 3,074 CIFAR-100 (coarse, fine), 3,075 UTKFace at 32x32 (age,
//! gender, race). Where more than one divides it, or none, the layout must be given.

use std::io::Read;

use super::decode::{fit_all, interleave};
use super::error::ImageError;
use super::option::{ImageOptions, RecordLayout};
use super::picture::Fit;
use super::{ImageSet, MAX_BYTES, check_bytes, column};
use crate::Error;
use crate::read::source::Source;

/// Reads a file of records, compressed or not.
pub(super) fn read(source: &Source, options: &ImageOptions) -> Result<ImageSet, Error> {
    let file = source.name();
    let mut bytes = Vec::new();
    source.text()?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| source.io(error))?;
    if bytes.is_empty() {
        return Err(ImageError::Empty { file: file.to_owned(), expected: "records" }.into());
    }
    let layout = match &options.record {
        Some(layout) => layout.clone(),
        None => guess(file, bytes.len())?,
    };
    let size = layout.bytes();
    if !bytes.len().is_multiple_of(size) {
        let (found, records) = (bytes.len() as u64, bytes.len() / size);
        let expected = format!(
            "a multiple of {size}, the bytes of a record ({} labels and an image of {}): {records} records are {}",
            layout.labels.len(),
            layout.shape,
            records * size
        );
        return Err(ImageError::Bytes { file: file.to_owned(), found, expected }.into());
    }
    check_bytes(file, (bytes.len() / size) as u64, layout.shape)?;
    let label =
        |(at, name): (usize, &String)| column::of_bytes(name, bytes.iter().skip(at).step_by(size).copied());
    let labels = layout.labels.iter().enumerate().map(label).collect();
    let pixels = interleave(&bytes, layout.labels.len(), layout.shape);
    drop(bytes);
    let (shape, pixels) = fit_all(file, pixels, layout.shape, Fit::new(options, None, None))?;
    let notes = Vec::new();
    Ok(ImageSet { file: file.to_owned(), shape, pixels, labels, part_of: None, names: None, notes })
}

/// The layout that the size tells.
fn guess(file: &str, bytes: usize) -> Result<RecordLayout, ImageError> {
    let known = [
        ("CIFAR-10", RecordLayout::colour32(&["class"])),
        ("CIFAR-100", RecordLayout::colour32(&["coarse", "fine"])),
        ("UTKFace", RecordLayout::colour32(&["age", "gender", "race"])),
    ];
    let mut fitting: Vec<&(&str, RecordLayout)> =
        known.iter().filter(|(_, layout)| bytes.is_multiple_of(layout.bytes())).collect();
    match (fitting.pop(), fitting.pop()) {
        (Some((_, layout)), None) => Ok(layout.clone()),
        (Some((last, _)), Some((other, _))) => Err(ImageError::Record {
            file: file.to_owned(),
            bytes: bytes as u64,
            found: format!("whole records of {other} and of {last}"),
        }),
        (None, _) => Err(ImageError::Record {
            file: file.to_owned(),
            bytes: bytes as u64,
            found: "not whole records of 3073, 3074 or 3075 bytes (CIFAR-10, CIFAR-100, UTKFace)".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(record: &str) -> ImageOptions {
        ImageOptions { record: Some(record.parse().unwrap()), ..ImageOptions::default() }
    }

    #[test]
    fn planes_become_pixels() {
        // One label byte; red 1 2, green 11 12, blue 21 22.
        let bytes = vec![9, 1, 2, 11, 12, 21, 22, 8, 3, 4, 13, 14, 23, 24];
        let set = read(&Source::from_bytes("t.bin", bytes), &options("class:1x2x3")).unwrap();
        assert_eq!(set.pixels(), [1, 11, 21, 2, 12, 22, 3, 13, 23, 4, 14, 24]);
        assert_eq!(set.labels()[0].of, [1, 0]);
        assert_eq!(set.labels()[0].names, ["8", "9"]);
    }

    #[test]
    fn records_cut_short_and_ambiguous_sizes_are_refused() {
        let refused = |bytes: usize, options: &ImageOptions| {
            read(&Source::from_bytes("t.bin", vec![0; bytes]), options).unwrap_err().to_string()
        };
        let given = refused(3073 * 2 - 1, &options("class"));
        assert!(
            given.contains("6145 bytes; expected a multiple of 3073") && given.contains("cut short"),
            "{given}"
        );
        let guessed = refused(3073 * 2 - 1, &ImageOptions::default());
        assert!(guessed.contains("not whole records of 3073") && guessed.contains("‹record "), "{guessed}");
        let both = refused(3073 * 3074, &ImageOptions::default());
        assert!(both.contains("whole records of CIFAR-10 and of CIFAR-100"), "{both}");
        assert!(refused(0, &ImageOptions::default()).contains("no images"));
    }

    #[test]
    fn the_size_tells_the_known_layouts() {
        for (bytes, names) in
            [(3073, vec!["class"]), (3074 * 2, vec!["coarse", "fine"]), (3075, vec!["age", "gender", "race"])]
        {
            let set = read(&Source::from_bytes("t", vec![1; bytes]), &ImageOptions::default()).unwrap();
            assert_eq!(set.label_names(), names);
        }
    }
}
