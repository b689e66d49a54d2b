//! An architecture made ready to run: checked, its shapes inferred, cut into blocks.
//!
//! A block is one matrix product (a dense layer, or a convolution over its windows) with what follows
//! it up to the next. Within a block, batch norm comes first if at all, and ReLU and dropout commute,
//! so a block says everything with one option each.

use std::ops::Range;

use super::architecture::{Architecture, ArchitectureError, InputShape, Layer, Padding};
use super::window::Window;
use crate::message::number;

/// Largest number of layers, of values of an example at any point, and of parameters.
const LAYERS: usize = 1000;
const VALUES: usize = 1 << 26;
const PARAMETERS: usize = 1 << 28;

/// Windows copied out at a time take about this many bytes.
const CHUNK_BYTES: usize = 1 << 20;
/// A group of rows has at least this much work (multiplications), within these numbers of rows.
const GROUP_WORK: usize = 1 << 24;
const GROUP_ROWS: (usize, usize) = (16, 128);
/// At most this many groups of rows in a batch, and so copies of the gradient.
const GROUPS: usize = 16;
/// Values stored at a time to score many rows.
const EVALUATION_VALUES: usize = 1 << 24;
const EVALUATION_ROWS: (usize, usize) = (16, 4096);

/// A checked architecture.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub input: InputShape,
    /// Values of an example.
    pub inputs: usize,
    pub blocks: Vec<Block>,
    /// Runs of blocks that a group of rows goes through without waiting for the others in training.
    pub stages: Vec<Range<usize>>,
    pub parameter_count: usize,
    group_rows: usize,
    /// Rows to score at a time.
    pub evaluation_rows: usize,
}

/// A matrix product and what follows it.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// How a convolution reads its input; `None` where input rows are multiplied as they are.
    pub window: Option<Window>,
    /// Rows of the product for each example: pixels of the output, 1 for a dense layer.
    pub positions: usize,
    /// Inputs of each output.
    pub depth: usize,
    /// Outputs (channels).
    pub channels: usize,
    /// Values of an example before and after.
    pub inputs: usize,
    pub outputs: usize,
    /// Where the parameters are.
    pub weights: Range<usize>,
    pub bias: Option<Range<usize>>,
    /// Scale, shift, running mean and running variance, each as long as there are channels.
    pub norm: Option<Range<usize>>,
    pub relu: bool,
    pub dropout: Option<Dropout>,
    /// Examples worked on at a time.
    pub chunk: usize,
}

/// A dropout layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dropout {
    pub rate: f64,
    /// Its number among the layers, which tells its masks from those of others.
    pub layer: usize,
}

/// The shape of an example between layers.
#[derive(Clone, Copy)]
enum Shape {
    Row(usize),
    Image([usize; 3]),
}

impl Plan {
    pub(super) fn new(architecture: &Architecture) -> Result<Self, ArchitectureError> {
        let input = architecture.input;
        let (sizes, mut shape) = match input {
            InputShape::Columns(columns) => (vec![("number of columns", columns)], Shape::Row(columns)),
            InputShape::Image { height, width, channels } => (
                vec![("image height", height), ("image width", width), ("number of channels", channels)],
                Shape::Image([height, width, channels]),
            ),
        };
        for (what, got) in sizes {
            within(what, got, VALUES)?;
        }
        let inputs = within("number of values of an example", input.size().unwrap_or(usize::MAX), VALUES)?;
        within("number of layers", architecture.layers.len(), LAYERS)?;

        let mut builder = Builder { blocks: vec![], parameter_count: 0, values: inputs };
        let mut previous = "the input";
        for (at, layer) in architecture.layers.iter().enumerate() {
            shape = builder.add(*layer, shape, previous, at).map_err(|problem| match problem {
                Problem::Here(problem) => ArchitectureError::Layer { layer: at, kind: layer.kind(), problem },
                Problem::Size(error) => error,
            })?;
            previous = layer.kind();
        }
        match architecture.layers.last() {
            Some(Layer::Dense { .. }) => builder.finish(input, inputs),
            _ => Err(ArchitectureError::End { found: previous.to_owned() }),
        }
    }

    /// Scores of an example.
    pub(super) fn scores(&self) -> usize {
        self.blocks.last().map_or(0, |last| last.outputs)
    }

    /// Rows of each group of a batch of this many: a function of shapes alone.
    pub(super) fn group_rows(&self, batch: usize) -> usize {
        batch.div_ceil(GROUPS).max(self.group_rows)
    }
}

/// Why a layer was refused.
enum Problem {
    Here(String),
    Size(ArchitectureError),
}

impl From<ArchitectureError> for Problem {
    fn from(error: ArchitectureError) -> Self {
        Self::Size(error)
    }
}

struct Builder {
    blocks: Vec<Block>,
    parameter_count: usize,
    /// Values of an example stored in all.
    values: usize,
}

impl Builder {
    fn add(&mut self, layer: Layer, shape: Shape, previous: &str, at: usize) -> Result<Shape, Problem> {
        let here = |problem: &str| Problem::Here(problem.to_owned());
        match (layer, shape) {
            (Layer::Flatten, shape) => return Ok(Shape::Row(shape.size())),
            (Layer::Dense { outputs, bias }, Shape::Row(columns)) => {
                within("number of outputs of a dense layer", outputs, VALUES)?;
                self.product(None, [1, columns, outputs], [columns, outputs], bias)?;
                return Ok(Shape::Row(outputs));
            }
            (Layer::Dense { .. }, Shape::Image(_)) => {
                return Err(here("takes a row, not an image; put a flatten layer before it"));
            }
            (Layer::Conv2d { outputs, kernel, stride, padding, bias }, Shape::Image(image)) => {
                within("number of outputs of a convolution", outputs, VALUES)?;
                let window = fit(image, kernel, stride, padding).map_err(Problem::Here)?;
                let [height, width] = window.out;
                // Bounded by the image, which is within limits.
                let depth = within("number of values of a window", kernel * kernel * image[2], VALUES)?;
                let size = (height * width).saturating_mul(outputs);
                within("number of values of a convolution", size, VALUES)?;
                within("number of values of all windows of an image", height * width * depth, VALUES)?;
                let direct = kernel == 1 && stride == 1;
                let window = (!direct).then_some(window);
                let from = Shape::Image(image).size();
                self.product(window, [height * width, depth, outputs], [from, size], bias)?;
                return Ok(Shape::Image([height, width, outputs]));
            }
            (Layer::Conv2d { .. }, Shape::Row(_)) => {
                return Err(here("takes an image, and these are rows: a convolution comes before flatten"));
            }
            _ => {}
        }
        let Some(block) = self.blocks.last_mut() else {
            return Err(here("the first layer must be dense or conv2d"));
        };
        match layer {
            Layer::BatchNorm if matches!(previous, "dense" | "conv2d") => {
                let start = self.parameter_count;
                self.parameter_count += 4 * block.channels;
                block.norm = Some(start..self.parameter_count);
                within("number of parameters", self.parameter_count, PARAMETERS)?;
            }
            Layer::BatchNorm => {
                return Err(Problem::Here(format!("must follow a dense or conv2d layer, not {previous}")));
            }
            Layer::Relu => block.relu = true,
            Layer::Dropout { rate } if (0.0..1.0).contains(&rate) && block.dropout.is_none() => {
                block.dropout = (rate > 0.0).then_some(Dropout { rate, layer: at });
            }
            Layer::Dropout { rate } if block.dropout.is_none() => {
                return Err(Problem::Here(format!("rate {} is outside [0, 1)", number(rate))));
            }
            Layer::Dropout { .. } => return Err(here("only one is allowed between two products")),
            Layer::Dense { .. } | Layer::Conv2d { .. } | Layer::Flatten => unreachable!("added above"),
        }
        Ok(shape)
    }

    /// A new block; sizes are within `VALUES`, so no product of two of them overflows.
    fn product(
        &mut self,
        window: Option<Window>,
        [positions, depth, channels]: [usize; 3],
        [inputs, outputs]: [usize; 2],
        bias: bool,
    ) -> Result<(), Problem> {
        let start = self.parameter_count;
        let end = start + within("number of weights of a layer", depth * channels, PARAMETERS)?;
        self.parameter_count = end + if bias { channels } else { 0 };
        within("number of parameters", self.parameter_count, PARAMETERS)?;
        self.values += outputs;
        within("number of values of an example in all layers", self.values, VALUES)?;
        self.blocks.push(Block {
            window,
            positions,
            depth,
            channels,
            inputs,
            outputs,
            weights: start..end,
            bias: bias.then_some(end..self.parameter_count),
            norm: None,
            relu: false,
            dropout: None,
            chunk: (CHUNK_BYTES / (positions * depth * size_of::<f32>())).max(1),
        });
        Ok(())
    }

    fn finish(mut self, input: InputShape, inputs: usize) -> Result<Plan, ArchitectureError> {
        if self.blocks.last().is_some_and(|last| last.norm.is_some()) {
            return Err(ArchitectureError::End { found: "batch-norm".to_owned() });
        }
        let work =
            self.blocks.iter().map(|b| b.positions * b.depth * b.channels).fold(0, usize::saturating_add);
        let group_rows = (GROUP_WORK / work).clamp(GROUP_ROWS.0, GROUP_ROWS.1);
        for block in &mut self.blocks {
            // A product of rows as they are needs no copy, unless batch norm makes one.
            if block.window.is_none() {
                block.chunk = block.chunk.max(GROUP_ROWS.1);
            }
        }
        let mut stages = vec![];
        let mut start = 0;
        for (at, block) in self.blocks.iter().enumerate() {
            if block.norm.is_some() || at + 1 == self.blocks.len() {
                stages.push(start..at + 1);
                start = at + 1;
            }
        }
        let evaluation_rows = (EVALUATION_VALUES / self.values).clamp(EVALUATION_ROWS.0, EVALUATION_ROWS.1);
        let Self { blocks, parameter_count, .. } = self;
        Ok(Plan { input, inputs, blocks, stages, parameter_count, group_rows, evaluation_rows })
    }
}

impl Shape {
    fn size(self) -> usize {
        match self {
            Self::Row(columns) => columns,
            Self::Image([height, width, channels]) => height * width * channels,
        }
    }
}

fn fit(image: [usize; 3], kernel: usize, stride: usize, padding: Padding) -> Result<Window, String> {
    let [height, width, channels] = image;
    if kernel == 0 || stride == 0 {
        return Err(format!("kernel {kernel} and stride {stride} must be at least 1"));
    }
    // Zeros reach as far as the image at most.
    let limit = match padding {
        Padding::Valid => height.min(width),
        Padding::Same => 2 * height.min(width) + 1,
    };
    if kernel > limit {
        return Err(format!(
            "a kernel of {kernel} is larger than the image of {height} x {width} allows, {limit}"
        ));
    }
    // The windows along one side, and the zeros before the first.
    let side = |length: usize| match padding {
        Padding::Valid => ((length - kernel) / stride + 1, 0),
        Padding::Same => {
            let windows = length.div_ceil(stride);
            (windows, ((windows - 1) * stride + kernel).saturating_sub(length) / 2)
        }
    };
    let ((out_height, top), (out_width, left)) = (side(height), side(width));
    Ok(Window {
        image: [height, width, channels],
        kernel,
        stride,
        before: [top, left],
        out: [out_height, out_width],
    })
}

fn within(what: &'static str, got: usize, limit: usize) -> Result<usize, ArchitectureError> {
    if (1..=limit).contains(&got) { Ok(got) } else { Err(ArchitectureError::Size { what, got, limit }) }
}
