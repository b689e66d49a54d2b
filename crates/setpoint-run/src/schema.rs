//! How a model's inputs are read from files: what a model file keeps of the training data's layout.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use setpoint::model::{Images, ModelError, net::Standard};
use setpoint_data::{Encoder, ImageShape, LabelSchema};
use setpoint_report::LabelRecord;

use crate::failure::Failure;

/// How rows become numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Schema {
    /// A table, by its encoder.
    Table(Encoder),
    /// Images.
    Images(ImageSchema),
}

/// How images become numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageSchema {
    /// Height, width and channels.
    pub image: [usize; 3],
    /// Side of the square cut from the centre before resizing, where one was asked for.
    pub crop: Option<usize>,
    /// Mean of each channel over the training images.
    pub mean: Vec<f32>,
    /// What each channel is multiplied with then.
    pub scale: Vec<f32>,
    /// The label.
    pub label: LabelSchema,
}

impl Schema {
    /// What a model file keeps.
    ///
    /// # Errors
    /// If a number cannot be written as JSON.
    pub fn to_json(&self) -> Result<Value, Failure> {
        Ok(match self {
            Self::Table(encoder) => serde_json::to_value(encoder)?,
            Self::Images(images) => serde_json::to_value(images)?,
        })
    }

    /// What a model file kept, checked.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn from_json(value: &Value) -> Result<Self, Failure> {
        let unread =
            |error: serde_json::Error| Failure::input(format!("its features cannot be read: {error}"));
        if value.get("image").is_some() {
            return Ok(Self::Images(serde_json::from_value(value.clone()).map_err(unread)?));
        }
        let encoder: Encoder = serde_json::from_value(value.clone()).map_err(unread)?;
        encoder.check().map_err(|error| Failure::input(error.to_string()))?;
        Ok(Self::Table(encoder))
    }

    /// The encoder of a table.
    ///
    /// # Errors
    /// If the model is for images.
    pub fn encoder(&self) -> Result<&Encoder, Failure> {
        match self {
            Self::Table(encoder) => Ok(encoder),
            Self::Images(_) => Err(Failure::input("the model scores images, not rows of a table")),
        }
    }

    /// The label of the training data.
    #[must_use]
    pub fn label(&self) -> Option<&LabelSchema> {
        match self {
            Self::Table(encoder) => encoder.label.as_ref(),
            Self::Images(images) => Some(&images.label),
        }
    }

    /// The classes of the label, where there are several.
    #[must_use]
    pub fn classes(&self) -> Option<&[String]> {
        Some(&self.label()?.rule.classes()?.names)
    }

    /// Scores of an example: one, or one for each class.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.classes().map_or(1, <[String]>::len)
    }

    /// What counts as positive, or which classes there are, for records.
    pub(crate) fn label_record(&self) -> Option<LabelRecord> {
        let LabelSchema { column, rule, .. } = self.label()?;
        Some(LabelRecord {
            column: column.clone(),
            positive: rule.positive().map(|positive| positive.to_string()),
            classes: self.classes().map(<[String]>::to_vec).unwrap_or_default(),
        })
    }

    /// Values of an example.
    #[must_use]
    pub fn columns(&self) -> usize {
        match self {
            Self::Table(encoder) => encoder.columns(),
            Self::Images(images) => images.image.iter().fold(1, |size, side| size.saturating_mul(*side)),
        }
    }
}

impl ImageSchema {
    /// Pixels as a network takes them.
    ///
    /// # Errors
    /// If they are of another size than in training.
    pub fn images(&self, pixels: Vec<u8>, shape: ImageShape) -> Result<Images, Failure> {
        let [height, width, channels] = self.image;
        if [shape.height, shape.width, shape.channels] != self.image {
            return Err(Failure::input(format!(
                "the images are {shape}, and the model was trained on {height}x{width}x{channels}: give ‹size {height}›"
            )));
        }
        let standard = Standard { mean: self.mean.clone(), scale: self.scale.clone() };
        let images: Result<Images, ModelError> = Images::new(pixels, height, width, channels, standard);
        Ok(images?)
    }
}
