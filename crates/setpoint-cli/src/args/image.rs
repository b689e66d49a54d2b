//! How images are read.

use std::path::PathBuf;

use clap::Args;

/// How images are read; everything is found out from the files unless told.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct ImageArgs {
    /// The layout: table, classes, plain, celeba, bigearthnet, array, idx or record
    #[arg(long, value_name = "LAYOUT", help_heading = "Images")]
    pub images: Option<String>,
    /// Resize to squares of this side [default: 32 for CelebA, 40 for BigEarthNet, else as they are]
    #[arg(long, value_name = "N", help_heading = "Images")]
    pub size: Option<usize>,
    /// Cut a square of this side from the centre first [default: 160 for CelebA, else none]
    #[arg(long, value_name = "N", help_heading = "Images")]
    pub crop: Option<usize>,
    /// 1 for grey, 3 for colour, in folders [default: as the first image]
    #[arg(long, value_name = "N", help_heading = "Images")]
    pub channels: Option<usize>,
    /// The label table of a folder, or the label file of an IDX file [default: found beside the images]
    #[arg(long, value_name = "FILE", help_heading = "Images")]
    pub labels: Option<PathBuf>,
    /// The table's column of file names
    #[arg(long, value_name = "COL", help_heading = "Images")]
    pub file_column: Option<String>,
    /// The table's column that says which part an image belongs to
    #[arg(long, value_name = "COL", help_heading = "Images")]
    pub part_column: Option<String>,
    /// Names of the label bytes of fixed records: age,gender,race or class:64x48x3
    #[arg(long, value_name = "NAMES", help_heading = "Images")]
    pub record: Option<String>,
    /// The array of images of an NPZ file
    #[arg(long, value_name = "NAME", help_heading = "Images")]
    pub images_key: Option<String>,
    /// The arrays of labels of an NPZ file, with commas between
    #[arg(long, value_name = "NAMES", help_heading = "Images")]
    pub labels_keys: Option<String>,
    /// Where the decoded images of a folder are kept for the next time; none: nowhere
    /// [default: SETPOINT_CACHE, or setpoint in the user's cache directory]
    #[arg(long, value_name = "DIR", help_heading = "Images")]
    pub cache: Option<PathBuf>,
}
