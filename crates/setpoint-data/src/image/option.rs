//! How to read images, as a person says it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use super::error::ImageError;
use crate::role::list;

/// Largest side of an image to resize to.
const MAX_SIDE: usize = 4096;

/// How to read images. By default everything is found out from the files.
#[derive(Clone, Debug, Default)]
pub struct ImageOptions {
    /// The layout, if not to be guessed.
    pub layout: Option<ImageLayout>,
    /// Images are resized to squares of this side (Lanczos). `None`: 32 for CelebA, 40 for
    /// BigEarthNet, else as they are, and then all must have one size.
    pub size: Option<usize>,
    /// Side of the square cut from the centre before resizing. `None`: 160 for CelebA, else the
    /// whole image, stretched to a square if it is none.
    pub crop: Option<usize>,
    /// 1 for grey, 3 for colour, in folders. `None`: as the first image.
    pub channels: Option<usize>,
    /// The label table of a folder, or the label file of an IDX file. `None`: found beside the images.
    pub labels: Option<PathBuf>,
    /// The table's column of file names. `None`: `file`, `filename`, `image`, `image_id` or `path`.
    pub file_column: Option<String>,
    /// The table's column that says which part each image belongs to, if it has one.
    pub part_column: Option<String>,
    /// The layout of fixed records. `None`: told by the size of the file.
    pub record: Option<RecordLayout>,
    /// The array of images of an NPZ file. `None`: told by names and shapes.
    pub images_key: Option<String>,
    /// The arrays of labels of an NPZ file. `None`: all of one or two dimensions with as many rows.
    pub labels_keys: Option<Vec<String>>,
    /// Whether arrays are [n, channels, height, width]. `None`: told by the shape.
    pub channels_first: Option<bool>,
    /// Texts of a label table that mean a missing value. `None`: [`DEFAULT_MISSING`](crate::DEFAULT_MISSING).
    pub missing: Option<Vec<String>>,
    /// Whether images without labels will do, as they do to be scored.
    pub unlabelled: bool,
    /// Where to keep the decoded images of a folder for the next time. `None`: nowhere.
    pub cache: Option<PathBuf>,
}

/// How images and labels are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageLayout {
    /// A folder of images and a label table.
    Table,
    /// A folder for each class.
    Classes,
    /// A folder of images and nothing else.
    Plain,
    /// CelebA: `img_align_celeba`, `list_attr_celeba.txt` and perhaps `list_eval_partition.txt`.
    CelebA,
    /// BigEarthNet: a folder for each patch, with its bands and its labels.
    BigEarthNet,
    /// NumPy arrays: NPZ or NPY.
    Array,
    /// IDX, as of MNIST.
    Idx,
    /// Records of one size, as of CIFAR.
    Record,
}

impl ImageLayout {
    const ALL: [(&'static str, Self); 8] = [
        ("table", Self::Table),
        ("classes", Self::Classes),
        ("plain", Self::Plain),
        ("celeba", Self::CelebA),
        ("bigearthnet", Self::BigEarthNet),
        ("array", Self::Array),
        ("idx", Self::Idx),
        ("record", Self::Record),
    ];
}

impl FromStr for ImageLayout {
    type Err = ImageError;

    fn from_str(text: &str) -> Result<Self, ImageError> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text.trim());
        found.map(|(_, layout)| *layout).ok_or_else(|| ImageError::Option {
            setting: "images",
            given: text.to_owned(),
            expected: format!("expected one of {}", Self::ALL.map(|(name, _)| name).join(", ")),
        })
    }
}

impl fmt::Display for ImageLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, layout)| layout == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

/// Records of one size: a byte for each label, then the image, plane after plane.
///
/// Written `age,gender,race`, or `class:64x48x3` where images are not 32x32x3
/// (height, width, channels).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordLayout {
    /// Names of the label bytes.
    pub labels: Vec<String>,
    /// The image in a record.
    pub shape: ImageShape,
}

/// Size of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageShape {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// Numbers in a pixel: 1 for grey, 3 for colour.
    pub channels: usize,
}

impl ImageShape {
    /// Bytes of an image.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// The shape, if it is that of an image which a sane file holds.
    pub(super) fn checked(height: u64, width: u64, channels: u64) -> Option<Self> {
        let small = |length: u64, limit: u64| {
            if (1..=limit).contains(&length) { usize::try_from(length).ok() } else { None }
        };
        let side = 1 << 15;
        Some(Self {
            height: small(height, side)?,
            width: small(width, side)?,
            channels: small(channels, 1024)?,
        })
    }
}

impl fmt::Display for ImageShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.height, self.width, self.channels)
    }
}

impl RecordLayout {
    /// Labels of these names before an image of 32x32x3.
    #[must_use]
    pub fn colour32(labels: &[&str]) -> Self {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Self { labels, shape: ImageShape { height: 32, width: 32, channels: 3 } }
    }

    /// Bytes of a record.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.labels.len() + self.shape.bytes()
    }
}

impl FromStr for RecordLayout {
    type Err = ImageError;

    fn from_str(text: &str) -> Result<Self, ImageError> {
        let refuse = || {
            ImageError::Option {
            setting: "record",
            given: text.to_owned(),
            expected: "expected the names of the label bytes, as in age,gender,race, and after a colon height, width and channels where they are not 32x32x3".to_owned(),
        }
        };
        let (names, shape) = match text.rsplit_once(':') {
            Some((names, shape)) => (names, Some(shape)),
            None => (text, None),
        };
        let mut layout = Self::colour32(&[]);
        layout.labels = list(names);
        if let Some(shape) = shape {
            let lengths: Option<Vec<u64>> = shape.split('x').map(|side| side.trim().parse().ok()).collect();
            let [height, width, channels] = lengths.ok_or_else(refuse)?[..] else { return Err(refuse()) };
            layout.shape = ImageShape::checked(height, width, channels).ok_or_else(refuse)?;
        }
        let twice = |(index, name): (usize, &String)| layout.labels[..index].contains(name);
        if layout.labels.is_empty() || layout.labels.iter().enumerate().any(twice) {
            return Err(refuse());
        }
        Ok(layout)
    }
}

impl ImageOptions {
    /// Refuses what no image can be.
    pub(super) fn check(&self) -> Result<(), ImageError> {
        for (setting, side) in [("size", self.size), ("crop", self.crop)] {
            if let Some(side) = side.filter(|side| !(1..=MAX_SIDE).contains(side)) {
                let expected = format!("expected a number of pixels from 1 to {MAX_SIDE}");
                return Err(ImageError::Option { setting, given: side.to_string(), expected });
            }
        }
        if let Some(channels) = self.channels.filter(|channels| ![1, 3].contains(channels)) {
            let expected = "expected 1 (grey) or 3 (colour)".to_owned();
            return Err(ImageError::Option { setting: "channels", given: channels.to_string(), expected });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_named_and_sized() {
        let record: RecordLayout = "age, gender,race".parse().unwrap();
        assert_eq!((record.bytes(), record.labels.len()), (3075, 3));
        let record: RecordLayout = "class:4x6x1".parse().unwrap();
        assert_eq!((record.bytes(), record.shape.width), (25, 6));
        for text in ["", ":2x2x1", "a,a", "a:2x2", "a:0x2x1", "a:99999999x2x1"] {
            assert!(text.parse::<RecordLayout>().is_err(), "{text}");
        }
    }

    #[test]
    fn layouts_read_as_they_are_written() {
        for (name, layout) in ImageLayout::ALL {
            assert_eq!(name.parse::<ImageLayout>().unwrap(), layout);
            assert_eq!(layout.to_string(), name);
        }
        let error = "mnist".parse::<ImageLayout>().unwrap_err().to_string();
        assert!(error.starts_with("‹images \"mnist\"›: expected one of table, classes"), "{error}");
    }

    #[test]
    fn sides_and_channels_are_checked() {
        let refused = |options: ImageOptions| options.check().unwrap_err().to_string();
        assert!(refused(ImageOptions { size: Some(0), ..Default::default() }).starts_with("‹size \"0\"›"));
        assert!(refused(ImageOptions { crop: Some(5000), ..Default::default() }).contains("1 to 4096"));
        assert!(refused(ImageOptions { channels: Some(2), ..Default::default() }).contains("3 (colour)"));
    }
}
