//! IDX, the format of MNIST and Fashion-MNIST.
//!
//! ```text
//! 0 0 8 D     magic: bytes, in D dimensions
//! 4 bytes     length of each dimension, big-endian
//! the rest    the bytes
//! ```
//!
//! Images have three dimensions, or four with channels last; labels one. The label
//! file is found by name: `x-images-idx3-ubyte.gz` has `x-labels-idx1-ubyte.gz`.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::decode::fit_all;
use super::error::ImageError;
use super::option::{ImageOptions, ImageShape};
use super::picture::Fit;
use super::{ImageSet, MAX_BYTES, check_bytes, column};
use crate::Error;
use crate::read::source::{Source, fill};

/// Whether this is how an IDX file of images starts.
pub(super) fn is_images(head: &[u8]) -> bool {
    matches!(head, [0, 0, 8, 3 | 4, ..])
}

/// Reads a file of images and the labels beside it.
pub(super) fn read(path: &Path, options: &ImageOptions) -> Result<ImageSet, Error> {
    let source = Source::open(path)?;
    let file = source.name();
    let (lengths, pixels) = array(&source, &[3, 4])?;
    let channels = lengths.get(3).copied().unwrap_or(1);
    let shape = ImageShape::checked(lengths[1], lengths[2], channels).ok_or_else(|| ImageError::Header {
        file: file.to_owned(),
        problem: format!("images of {} x {} pixels and {channels} channels", lengths[2], lengths[1]),
        expected: "sides from 1 to 32768",
    })?;
    check_bytes(file, lengths[0], shape)?;
    if lengths[0] == 0 {
        return Err(ImageError::Empty { file: file.to_owned(), expected: "at least one" }.into());
    }
    let labels = match label_file(path, options) {
        Err(_) if options.unlabelled => Vec::new(),
        found => {
            let labels = Source::open(&found?)?;
            let (counts, bytes) = array(&labels, &[1])?;
            if counts[0] != lengths[0] {
                let problem = format!("{} labels, but {file} has {} images", counts[0], lengths[0]);
                return Err(ImageError::Labels { file: labels.name().to_owned(), problem }.into());
            }
            vec![column::of_bytes("class", bytes.iter().copied())]
        }
    };
    let (shape, pixels) = fit_all(file, pixels, shape, Fit::new(options, None, None))?;
    Ok(ImageSet {
        file: file.to_owned(),
        shape,
        pixels,
        labels,
        part_of: None,
        names: None,
        notes: Vec::new(),
    })
}

/// The lengths and bytes of a file of unsigned bytes.
fn array(source: &Source, dimensions: &[u8]) -> Result<(Vec<u64>, Vec<u8>), Error> {
    let file = || source.name().to_owned();
    let mut text = source.text()?;
    let mut magic = [0; 4];
    let found = fill(&mut text, &mut magic).map_err(|error| source.io(error))?;
    let [0, 0, 8, rank] = magic else {
        let problem = format!("starts with {:?}", &magic[..found]);
        let expected = "an IDX file of unsigned bytes: 0, 0, 8 and the number of dimensions";
        return Err(ImageError::Header { file: file(), problem, expected }.into());
    };
    if !dimensions.contains(&rank) {
        let expected =
            if dimensions == [1] { "labels, of 1 dimension" } else { "images, of 3 or 4 dimensions" };
        let problem = format!("an IDX file of {rank} dimensions");
        return Err(ImageError::Header { file: file(), problem, expected }.into());
    }
    let mut lengths = vec![0; 4 * usize::from(rank)];
    let found = fill(&mut text, &mut lengths).map_err(|error| source.io(error))?;
    let expected = lengths.len() + magic.len();
    if found < lengths.len() {
        let (found, expected) = ((found + magic.len()) as u64, format!("{expected} of the header alone"));
        return Err(ImageError::Bytes { file: file(), found, expected }.into());
    }
    let lengths: Vec<u64> =
        lengths.as_chunks().0.iter().map(|bytes| u64::from(u32::from_be_bytes(*bytes))).collect();
    let count = lengths.iter().try_fold(1u64, |count, length| count.checked_mul(*length));
    let Some(count) = count.filter(|count| *count <= MAX_BYTES) else {
        let (what, limit) = (format!("{lengths:?} bytes"), format!("{} GiB", MAX_BYTES >> 30));
        return Err(ImageError::TooLarge { file: file(), what, limit }.into());
    };
    // Grows with what is there: a header that lies allocates nothing.
    let mut bytes = Vec::new();
    text.take(count + 1).read_to_end(&mut bytes).map_err(|error| source.io(error))?;
    if bytes.len() as u64 != count {
        let expected = format!("{count} after the header, whose lengths are {lengths:?}");
        return Err(ImageError::Bytes { file: file(), found: bytes.len() as u64, expected }.into());
    }
    Ok((lengths, bytes))
}

/// The label file given, or found beside the images.
fn label_file(path: &Path, options: &ImageOptions) -> Result<PathBuf, ImageError> {
    if let Some(labels) = &options.labels {
        return Ok(labels.clone());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut tried = Vec::new();
    for (images, labels) in
        [("images-idx3", "labels-idx1"), ("images.idx3", "labels.idx1"), ("images", "labels")]
    {
        if !name.contains(images) {
            continue;
        }
        let found = name.replace(images, labels);
        let bare = found.strip_suffix(".gz").unwrap_or(&found).to_owned();
        for candidate in [found, format!("{bare}.gz"), bare] {
            if path.with_file_name(&candidate).is_file() {
                return Ok(path.with_file_name(candidate));
            }
            tried.push(candidate);
        }
    }
    let looked = tried.first().map_or(String::new(), |name| format!(" (looked for {name})"));
    let problem = format!("no label file beside it{looked}; name it with ‹labels›");
    Err(ImageError::Labels { file: path.display().to_string(), problem })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8], dimensions: &[u8]) -> String {
        array(&Source::from_bytes("t-idx", bytes.to_vec()), dimensions).unwrap_err().to_string()
    }

    #[test]
    fn the_header_must_fit_the_bytes() {
        let good = [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4];
        let (lengths, bytes) = array(&Source::from_bytes("t", good.to_vec()), &[3, 4]).unwrap();
        assert_eq!((lengths, bytes), (vec![2, 1, 2], vec![1, 2, 3, 4]));
        assert!(refused(&good[..19], &[3]).contains("3 bytes; expected 4 after the header"));
        assert!(refused(&[&good[..], &[5]].concat(), &[3]).contains("5 bytes; expected 4"));
        assert!(refused(&good[..9], &[3]).contains("9 bytes; expected 16 of the header alone"));
        assert!(refused(&good, &[1]).contains("an IDX file of 3 dimensions; expected labels"));
        assert!(refused(&[0, 0, 13, 3], &[3]).contains("starts with [0, 0, 13, 3]"));
        assert!(refused(&[], &[3]).contains("starts with []"));
    }

    #[test]
    fn a_header_that_lies_is_refused_before_anything_is_allocated() {
        let mut huge = vec![0, 0, 8, 3];
        huge.extend([0xff; 12]);
        assert!(refused(&huge, &[3]).contains("more than the 64 GiB"), "{}", refused(&huge, &[3]));
        let mut large = vec![0, 0, 8, 3];
        large.extend([0, 0, 0xff, 0xff, 0, 0, 0, 0xff, 0, 0, 0, 0xff, 1]);
        assert!(refused(&large, &[3]).contains("1 bytes; expected 4261413375"), "{}", refused(&large, &[3]));
    }
}
