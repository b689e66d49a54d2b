//! The examples of a network: rows of a matrix, or images of bytes.

use std::sync::Arc;

use super::architecture::{ArchitectureError, InputShape};
use crate::features::Features;
use crate::model::ModelError;

/// The examples of a network.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Inputs {
    /// Rows of features, shared with whatever else uses them; written out when a batch is taken.
    Matrix(Arc<Features>),
    /// Images.
    Images(Images),
}

/// Images of bytes, channels last, standardised when a batch is taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Images {
    shape: [usize; 3],
    rows: usize,
    pixels: Vec<u8>,
    standard: Standard,
    /// What each byte stands for in each channel.
    values: Vec<[f32; 256]>,
}

/// How bytes become numbers: (byte - mean) * scale, by channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard {
    /// Subtracted first.
    pub mean: Vec<f32>,
    /// Multiplied by then.
    pub scale: Vec<f32>,
}

impl Standard {
    /// To mean 0 and variance 1 in each channel of these pixels, channels last; a channel that is the
    /// same everywhere becomes 0.
    #[must_use]
    pub fn of(pixels: &[u8], channels: usize) -> Self {
        let (mut mean, mut scale) = (vec![], vec![]);
        for channel in 0..channels {
            let values = || pixels.iter().skip(channel).step_by(channels).map(|byte| f64::from(*byte));
            let count = values().count().max(1) as f64;
            let average = values().sum::<f64>() / count;
            let variance = values().map(|value| (value - average).powi(2)).sum::<f64>() / count;
            mean.push(average as f32);
            scale.push(if variance > 0.0 { 1.0 / variance.sqrt() } else { 1.0 } as f32);
        }
        Self { mean, scale }
    }
}

impl Images {
    /// Takes over the bytes of images, one after the other, each row by row with channels last.
    ///
    /// # Errors
    /// If there is no image, the bytes do not fill whole images, or `standard` has not one finite
    /// mean and one finite scale other than 0 for each channel.
    pub fn new(
        pixels: Vec<u8>,
        height: usize,
        width: usize,
        channels: usize,
        standard: Standard,
    ) -> Result<Self, ModelError> {
        let size =
            height.checked_mul(width).and_then(|size| size.checked_mul(channels)).unwrap_or(usize::MAX);
        if size == 0 || pixels.is_empty() {
            return Err(ModelError::Empty { rows: pixels.len() / size.max(1), columns: size });
        }
        if !pixels.len().is_multiple_of(size) {
            return Err(ModelError::Ragged { values: pixels.len(), columns: size });
        }
        let rows = pixels.len() / size;
        let limit = u32::MAX as usize;
        if rows > limit {
            return Err(ModelError::TooLarge { what: "rows", got: rows, limit });
        }
        for (what, values) in [("mean", &standard.mean), ("scale", &standard.scale)] {
            let usable = |value: &f32| value.is_finite() && (what == "mean" || *value != 0.0);
            if values.len() != channels || !values.iter().all(usable) {
                return Err(ArchitectureError::Standard { what, channels, got: format!("{values:?}") }.into());
            }
        }
        let values = standard.mean.iter().zip(&standard.scale);
        let values =
            values.map(|(mean, scale)| std::array::from_fn(|byte| (byte as f32 - mean) * scale)).collect();
        Ok(Self { shape: [height, width, channels], rows, pixels, standard, values })
    }

    /// Number of images.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Height, width and channels.
    #[must_use]
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// How bytes become numbers: other images for the same network take the same.
    #[must_use]
    pub fn standard(&self) -> &Standard {
        &self.standard
    }

    /// The bytes of one image.
    ///
    /// # Panics
    /// If `row` is not below [`Images::rows`].
    #[must_use]
    pub fn image(&self, row: usize) -> &[u8] {
        let size = self.shape.iter().product::<usize>();
        &self.pixels[row * size..][..size]
    }
}

impl Inputs {
    /// Number of examples.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Matrix(features) => features.rows(),
            Self::Images(images) => images.rows(),
        }
    }

    /// What an example is.
    #[must_use]
    pub fn shape(&self) -> InputShape {
        match self {
            Self::Matrix(features) => InputShape::Columns(features.columns()),
            Self::Images(Images { shape: [height, width, channels], .. }) => {
                InputShape::Image { height: *height, width: *width, channels: *channels }
            }
        }
    }

    /// Writes one example's values.
    pub(super) fn copy(&self, row: usize, into: &mut [f32]) {
        match self {
            Self::Matrix(features) => features.write_row(row, into),
            Self::Images(images) => {
                let channels = images.shape[2];
                let pixels = images.image(row).chunks_exact(channels);
                for (into, pixel) in into.chunks_exact_mut(channels).zip(pixels) {
                    for ((into, byte), values) in into.iter_mut().zip(pixel).zip(&images.values) {
                        *into = values[usize::from(*byte)];
                    }
                }
            }
        }
    }
}

impl From<Arc<Features>> for Inputs {
    fn from(features: Arc<Features>) -> Self {
        Self::Matrix(features)
    }
}

impl From<Images> for Inputs {
    fn from(images: Images) -> Self {
        Self::Images(images)
    }
}
