//! What can be wrong with images.

use std::io;

use setpoint::message::quote;
use thiserror::Error;

/// Why images could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImageError {
    /// Neither a layout of folders nor a format of files that is known.
    #[error(
        "{file}: not recognised as images: {found}; expected a folder (a label table beside the images, a folder for each class, CelebA, BigEarthNet), NPZ, NPY, IDX or fixed records as in CIFAR"
    )]
    Unrecognised {
        /// The file or folder.
        file: String,
        /// What was found.
        found: String,
    },
    /// The system refused.
    #[error("{file}: {source}")]
    Io {
        /// The file or folder.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// Nothing to read.
    #[error("{file}: no images; expected {expected}")]
    Empty {
        /// The file or folder.
        file: String,
        /// What was expected.
        expected: &'static str,
    },
    /// The number of bytes does not fit the layout.
    #[error("{file}: {found} bytes; expected {expected}; the file may be cut short")]
    Bytes {
        /// The file.
        file: String,
        /// Bytes found.
        found: u64,
        /// Bytes expected, and why.
        expected: String,
    },
    /// A file of records whose layout its size does not tell.
    #[error(
        "{file}: {bytes} bytes are {found}; name the label bytes of a record, as in ‹record age,gender,race› or ‹record class:64x64x3›"
    )]
    Record {
        /// The file.
        file: String,
        /// Its size.
        bytes: u64,
        /// What the size says.
        found: String,
    },
    /// A header that does not read.
    #[error("{file}: {problem}; expected {expected}")]
    Header {
        /// The file.
        file: String,
        /// What was found.
        problem: String,
        /// What was expected.
        expected: &'static str,
    },
    /// An array of an NPZ or NPY file.
    #[error("{file}: array {}: {problem}", quote(array))]
    Array {
        /// The file.
        file: String,
        /// The array.
        array: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// Labels that are missing or do not fit.
    #[error("{file}: {problem}")]
    Labels {
        /// The file.
        file: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The label table names a file that is not there.
    #[error("{table}: row {row}: {} is not among the {count} images of the folder{more}", quote(name))]
    Missing {
        /// The table.
        table: String,
        /// Row of data, from 1.
        row: usize,
        /// What it names.
        name: String,
        /// Images there are.
        count: usize,
        /// How many more are missing.
        more: String,
    },
    /// Not an image, or a damaged one.
    #[error("{file}: not a readable image: {message}")]
    Decode {
        /// The file.
        file: String,
        /// What the decoder said.
        message: String,
    },
    /// Images of several sizes, and none asked for.
    #[error(
        "{file}: {} x {} pixels, but {first} has {} x {}; give ‹size› to resize them all",
        found.0, found.1, expected.0, expected.1
    )]
    Size {
        /// The image.
        file: String,
        /// Its width and height.
        found: (usize, usize),
        /// The first image.
        first: String,
        /// Its width and height.
        expected: (usize, usize),
    },
    /// An image smaller than what is to be cut from it.
    #[error(
        "{file}: {width} x {height} pixels are too few for a crop of {crop} x {crop}; give a smaller ‹crop›"
    )]
    Crop {
        /// The image.
        file: String,
        /// Its width.
        width: usize,
        /// Its height.
        height: usize,
        /// Side of the crop.
        crop: usize,
    },
    /// A colour image among grey ones.
    #[error(
        "{file}: a colour image, but {first} is grey; read all as colour with ‹channels 3›, or as grey with ‹channels 1›"
    )]
    Colour {
        /// The image.
        file: String,
        /// The first image.
        first: String,
    },
    /// An option that cannot be met.
    #[error("‹{setting} {}›: {expected}", quote(given))]
    Option {
        /// The setting.
        setting: &'static str,
        /// What was given.
        given: String,
        /// What was expected.
        expected: String,
    },
    /// More than fits.
    #[error("{file}: {what} are more than the {limit} that one set of images may have")]
    TooLarge {
        /// The file or folder.
        file: String,
        /// What there is.
        what: String,
        /// The limit.
        limit: String,
    },
    /// The caller asked to stop.
    #[error("{file}: stopped after {done} of {total} images")]
    Cancelled {
        /// The file or folder.
        file: String,
        /// Images read.
        done: usize,
        /// Images in all.
        total: usize,
    },
}
