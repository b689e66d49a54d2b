//! What a network is made of, as plain data: it is written to the model file.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::plan::Plan;

/// The layers of a network from its inputs to its scores: one, or one for each class.
///
/// The first layer is dense or a convolution and the last is dense; batch norm comes
/// directly after a dense layer or a convolution.
///
/// ```
/// use setpoint::model::Architecture;
///
/// let network = Architecture::mlp(57, &[256, 128], 0.0);
/// network.check()?;
/// assert_eq!(network.parameter_count()?, 57 * 256 + 256 + 256 * 128 + 128 + 128 + 1);
/// # Ok::<(), setpoint::model::net::ArchitectureError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Architecture {
    /// What an example is.
    pub input: InputShape,
    /// The layers, in order.
    pub layers: Vec<Layer>,
}

/// What an example is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum InputShape {
    /// A row of a matrix.
    Columns(usize),
    /// An image, channels last.
    Image {
        /// Rows of pixels.
        height: usize,
        /// Pixels of a row.
        width: usize,
        /// Values of a pixel.
        channels: usize,
    },
}

/// One layer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Layer {
    /// Every output is a weighted sum of all inputs.
    Dense {
        /// Number of outputs.
        outputs: usize,
        /// Whether each output has a constant of its own.
        bias: bool,
    },
    /// Every output pixel is weighted sums over a square window.
    Conv2d {
        /// Channels of the output.
        outputs: usize,
        /// Side of the window.
        kernel: usize,
        /// Distance between windows.
        stride: usize,
        /// What happens at the border.
        padding: Padding,
        /// Whether each channel has a constant of its own; of no use before batch norm.
        bias: bool,
    },
    /// Each channel to mean 0 and variance 1 over the batch, then scaled and shifted.
    BatchNorm,
    /// Negative values become 0.
    Relu,
    /// An image becomes a row, channels last.
    Flatten,
    /// While learning, sets values to 0 at random and scales up the others.
    Dropout {
        /// Share of values set to 0.
        rate: f64,
    },
}

/// What a convolution does at the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Padding {
    /// Windows lie inside the image.
    Valid,
    /// As many windows as the image has pixels in each direction, divided by the stride and rounded
    /// up; zeros outside the image, an odd one at the bottom and right (TensorFlow's `same`, ONNX's
    /// `SAME_UPPER`).
    Same,
}

/// Why an architecture was refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ArchitectureError {
    /// A layer cannot stand where it stands.
    #[error("layer {layer} (from 0), {kind}: {problem}")]
    Layer {
        /// Position, from 0.
        layer: usize,
        /// Which kind of layer.
        kind: &'static str,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// The network does not end in scores.
    #[error("a network ends with a dense layer; this one ends with {found}")]
    End {
        /// What it ends with.
        found: String,
    },
    /// A size is zero or beyond what one network may have.
    #[error("{what} {got} is outside 1..={limit}")]
    Size {
        /// Which size.
        what: &'static str,
        /// What was found.
        got: usize,
        /// Largest value allowed.
        limit: usize,
    },
    /// Inputs of another shape than the architecture's.
    #[error("the network takes {expected}, but the examples are {got}")]
    Inputs {
        /// What the architecture says.
        expected: String,
        /// What was given.
        got: String,
    },
    /// Constants of another number than channels, or not finite, or a scale of 0.
    #[error("{what} of channels: expected {channels} finite numbers (and a scale other than 0), got {got}")]
    Standard {
        /// `mean` or `scale`.
        what: &'static str,
        /// Number of channels.
        channels: usize,
        /// What was given.
        got: String,
    },
}

impl Architecture {
    /// A dense layer, ReLU and dropout for each number of hidden values, then one score.
    #[must_use]
    pub fn mlp(columns: usize, hidden: &[usize], dropout: f64) -> Self {
        let mut layers = vec![];
        for outputs in hidden {
            layers.extend([Layer::Dense { outputs: *outputs, bias: true }, Layer::Relu]);
            if dropout != 0.0 {
                layers.push(Layer::Dropout { rate: dropout });
            }
        }
        layers.push(Layer::Dense { outputs: 1, bias: true });
        Self { input: InputShape::Columns(columns), layers }
    }

    /// The network of the reference code of Kumar, Narasimhan and Cotter (2021): 3 x 3 convolutions
    /// with 128, 128, 256 and 256 channels, all but the first with stride 2, then 1 x 1 with 512,
    /// batch norm and ReLU after each, and an output without bias. For images from 17 x 17.
    #[must_use]
    pub fn cnn(height: usize, width: usize, channels: usize) -> Self {
        let convolutions = [(128, 3, 1), (128, 3, 2), (256, 3, 2), (256, 3, 2), (512, 1, 1)];
        Self::convolutional([height, width, channels], &convolutions, Padding::Valid, false)
    }

    /// About a sixtieth of the work of [`Architecture::cnn`]: 3 x 3 convolutions of stride 2 with 16, 32
    /// and 64 channels, batch norm and ReLU after each. For images from 8 x 8 (and smaller).
    #[must_use]
    pub fn cnn_small(height: usize, width: usize, channels: usize) -> Self {
        let convolutions = [(16, 3, 2), (32, 3, 2), (64, 3, 2)];
        Self::convolutional([height, width, channels], &convolutions, Padding::Same, true)
    }

    fn convolutional(
        [height, width, channels]: [usize; 3],
        convolutions: &[(usize, usize, usize)],
        padding: Padding,
        bias: bool,
    ) -> Self {
        let mut layers = vec![];
        for (outputs, kernel, stride) in convolutions.iter().copied() {
            let convolution = Layer::Conv2d { outputs, kernel, stride, padding, bias: false };
            layers.extend([convolution, Layer::BatchNorm, Layer::Relu]);
        }
        layers.extend([Layer::Flatten, Layer::Dense { outputs: 1, bias }]);
        Self { input: InputShape::Image { height, width, channels }, layers }
    }

    /// The same with so many scores: one for each class.
    #[must_use]
    pub fn with_outputs(mut self, scores: usize) -> Self {
        if let Some(Layer::Dense { outputs, .. }) = self.layers.last_mut() {
            *outputs = scores;
        }
        self
    }

    /// How many scores an example gets.
    #[must_use]
    pub fn outputs(&self) -> usize {
        match self.layers.last() {
            Some(Layer::Dense { outputs, .. }) => *outputs,
            _ => 0,
        }
    }

    /// Whether the layers fit together and stay within limits that a computer can hold.
    ///
    /// # Errors
    /// If they do not: it says which layer, and why.
    pub fn check(&self) -> Result<(), ArchitectureError> {
        Plan::new(self).map(|_| ())
    }

    /// Number of parameters, running statistics of batch norm included.
    ///
    /// # Errors
    /// As [`Architecture::check`].
    pub fn parameter_count(&self) -> Result<usize, ArchitectureError> {
        Plan::new(self).map(|plan| plan.parameter_count)
    }
}

impl Layer {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Dense { .. } => "dense",
            Self::Conv2d { .. } => "conv2d",
            Self::BatchNorm => "batch-norm",
            Self::Relu => "relu",
            Self::Flatten => "flatten",
            Self::Dropout { .. } => "dropout",
        }
    }
}

impl InputShape {
    /// Values of an example, or `None` past what a machine word counts.
    pub(super) fn size(&self) -> Option<usize> {
        match *self {
            Self::Columns(columns) => Some(columns),
            Self::Image { height, width, channels } => height.checked_mul(width)?.checked_mul(channels),
        }
    }
}

impl std::fmt::Display for InputShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Columns(columns) => write!(f, "rows of {columns} columns"),
            Self::Image { height, width, channels } => {
                write!(f, "images of {height} x {width} x {channels} (height x width x channels)")
            }
        }
    }
}
