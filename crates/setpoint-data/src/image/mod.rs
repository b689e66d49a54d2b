//! Images in: pixels, label columns and, where the data gives one, a partition.
//!
//! ```text
//! folder or file ──ImageSet::read──▶ ImageSet ──task("gender", "1")──▶ ImageTask ──split──▶ Parts
//!                                       │                               │
//!                                       └─ pixels, channel_statistics   └─ sample(rows)
//! ```
//!
//! Labels stay as they are in the file, column by column, and become binary when
//! a [`ImageTask`] is made of one: the images are read once for any number of tasks.
//! Rows are numbered as in the set, everywhere.
//!
//! ```
//! use setpoint_data::{ImageOptions, ImageSet};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Two records of one label byte and a grey image of 2 x 2.
//! let path = std::env::temp_dir().join("setpoint-doc-digits.bin");
//! std::fs::write(&path, [7, 0, 10, 20, 30, 3, 200, 210, 220, 230])?;
//! let options = ImageOptions { record: Some("digit:2x2x1".parse()?), ..Default::default() };
//! let set = ImageSet::read(&path, &options)?;
//! assert_eq!((set.rows(), set.image(1)), (2, [200, 210, 220, 230].as_slice()));
//!
//! let task = set.task("digit", &">=5".parse()?, None)?;
//! assert_eq!(task.sample(&task.rows)?.labels(), [true, false]);
//! assert_eq!(set.channel_statistics(&[0]).mean, [15.0]);
//! # std::fs::remove_file(&path)?;
//! # Ok(())
//! # }
//! ```

mod array;
mod cache;
mod column;
mod decode;
mod error;
mod folder;
mod idx;
mod option;
mod picture;
mod recognise;
mod record;
mod statistics;
mod task;

use std::ops::ControlFlow;
use std::path::Path;

pub use cache::default_cache;
pub use error::ImageError;
pub use folder::belongs_to_folder;
pub use option::{ImageLayout, ImageOptions, ImageShape, RecordLayout};
pub use recognise::recognise_images;
pub use statistics::ChannelStatistics;
pub use task::ImageTask;

use crate::Error;
use crate::dataset::{Codes, fits_memory};

/// Most bytes of pixels in one set.
const MAX_BYTES: u64 = 64 << 30;

/// Called with the images read and the images in all; [`ControlFlow::Break`] stops the reading.
pub type Progress<'a> = &'a dyn Fn(usize, usize) -> ControlFlow<()>;

/// Images with their labels.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageSet {
    /// What errors call it.
    file: String,
    shape: ImageShape,
    /// Images one after the other, each row by row, the channels of a pixel together.
    pixels: Vec<u8>,
    /// Columns of labels; `u32::MAX` where one is missing.
    labels: Vec<Codes>,
    /// For each row an index into [`PARTS`](crate::PARTS), where the data says it.
    part_of: Option<Vec<u8>>,
    /// Names of the images, where they have any.
    names: Option<Vec<String>>,
    notes: Vec<String>,
}

impl ImageSet {
    /// Reads a folder or a file; see [`ImageLayout`] for what is recognised.
    ///
    /// # Errors
    /// If it is not recognised, an image or label cannot be read, or an option cannot be met.
    pub fn read(path: &Path, options: &ImageOptions) -> Result<Self, Error> {
        Self::read_with(path, options, &|_, _| ControlFlow::Continue(()))
    }

    /// Reads as [`ImageSet::read`] does, and tells how far it got.
    ///
    /// # Errors
    /// As [`ImageSet::read`], and [`ImageError::Cancelled`] once `progress` says so.
    pub fn read_with(path: &Path, options: &ImageOptions, progress: Progress<'_>) -> Result<Self, Error> {
        options.check()?;
        recognise::read(path, options, progress)
    }

    /// What errors call the set: the path it was read from.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Number of images.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.pixels.len() / self.shape.bytes()
    }

    /// Size of each image.
    #[must_use]
    pub fn shape(&self) -> ImageShape {
        self.shape
    }

    /// All pixels: `[rows][height][width][channels]`.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The pixels of one image: `[height][width][channels]`.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn image(&self, row: usize) -> &[u8] {
        &self.pixels[row * self.shape.bytes()..][..self.shape.bytes()]
    }

    /// A copy of the pixels of the rows listed, in that order.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn select_pixels(&self, rows: &[u32]) -> Vec<u8> {
        let mut pixels = Vec::with_capacity(rows.len() * self.shape.bytes());
        rows.iter().for_each(|row| pixels.extend_from_slice(self.image(*row as usize)));
        pixels
    }

    /// The pixels, without a copy, once the set has served its labels.
    #[must_use]
    pub fn into_pixels(self) -> Vec<u8> {
        self.pixels
    }

    /// Columns of labels; a code of `u32::MAX` is a missing label.
    #[must_use]
    pub fn labels(&self) -> &[Codes] {
        &self.labels
    }

    /// Names of the label columns.
    #[must_use]
    pub fn label_names(&self) -> Vec<String> {
        self.labels.iter().map(|column| column.column.clone()).collect()
    }

    /// Whether the data says which rows train, validate and test.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        self.part_of.is_some()
    }

    /// Names of the images' files, where they have any.
    #[must_use]
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// What was left out or done on the way, in sentences.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// Refuses what would not fit, before anything is allocated; returns the bytes.
fn check_bytes(file: &str, rows: u64, shape: ImageShape) -> Result<usize, ImageError> {
    let bytes = rows.checked_mul(shape.bytes() as u64);
    let refuse = |limit: String| ImageError::TooLarge {
        file: file.to_owned(),
        what: format!("{rows} images of {shape}"),
        limit,
    };
    match bytes.filter(|bytes| *bytes <= MAX_BYTES).and_then(|bytes| usize::try_from(bytes).ok()) {
        Some(_) if rows >= u64::from(u32::MAX) => Err(refuse(format!("{} rows", u32::MAX - 1))),
        Some(bytes) if !fits_memory(bytes) => Err(refuse("memory".to_owned())),
        Some(bytes) => Ok(bytes),
        None => Err(refuse(format!("{} GiB", MAX_BYTES >> 30))),
    }
}
