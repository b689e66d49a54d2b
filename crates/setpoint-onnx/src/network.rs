//! Networks: products, convolutions, batch norm, ReLU, and the weighted sum of several; a score, or one for each class.
//!
//! The first layer of an mlp takes numbers as they are and looks the rest up: a category adds w_c / scale_c to
//! every hidden value, absent ones a constant, so that no one-hot column is written out. Sums are in 32 bits, in
//! whatever order the runtime likes: scores differ from Setpoint's in their last digits (see `decide`).

use setpoint::model::net::{Layer, Padding};
use setpoint::model::{Architecture, net::InputShape};
use setpoint::train::Combined;
use setpoint_data::Input;
use setpoint_run::{Failure, ImageSchema};

use crate::graph::{Builder, int, ints, string};
use crate::input::Columns;
use crate::proto::element;

/// What batch norm adds to the variance.
const EPSILON: f32 = 1e-5;
/// What the images are called.
pub(crate) const IMAGE: &str = "image";

/// What the first layer takes.
pub(crate) enum First<'a> {
    /// The columns of a table.
    Table(&'a Columns, &'a [Input]),
    /// Rows of a matrix, or images with channels first.
    Values(String),
}

/// Images as the first layer takes them: bytes, channels last, become numbers, channels first.
pub(crate) fn image(graph: &mut Builder, schema: &ImageSchema) -> First<'static> {
    let [height, width, channels] = schema.image;
    let bytes = graph.input(IMAGE, element::UINT8, &[None, Some(height), Some(width), Some(channels)]);
    let numbers = graph.cast(&bytes, element::FLOAT);
    let (mean, scale) = (graph.floats(&[channels], &schema.mean), graph.floats(&[channels], &schema.scale));
    let centred = graph.node("Sub", &[&numbers, &mean], Vec::new());
    let scaled = graph.node("Mul", &[&centred, &scale], Vec::new());
    First::Values(graph.node("Transpose", &[&scaled], vec![ints("perm", vec![0, 3, 1, 2])]))
}

/// The score: the members' scores, weighted and added up in 64 bits as Setpoint does.
pub(crate) fn score(
    graph: &mut Builder,
    architecture: &Architecture,
    combined: &Combined,
    first: &First<'_>,
) -> Result<String, Failure> {
    if let Some(parameters) = combined.parameters() {
        return member(graph, architecture, parameters, first);
    }
    let mut sum: Option<String> = None;
    for one in &combined.members {
        let score = member(graph, architecture, &one.parameters, first)?;
        let wide = graph.cast(&score, element::DOUBLE);
        let (weight, shift) = (graph.doubles(&[], &[one.weight]), graph.doubles(&[], &[one.shift]));
        let weighted = graph.node("Mul", &[&wide, &weight], Vec::new());
        let shifted = graph.node("Add", &[&weighted, &shift], Vec::new());
        sum = Some(match sum {
            Some(sum) => graph.node("Add", &[&sum, &shifted], Vec::new()),
            None => shifted,
        });
    }
    let sum = sum.ok_or_else(|| Failure::input("the model averages no networks"))?;
    Ok(graph.cast(&sum, element::FLOAT))
}

fn member(
    graph: &mut Builder,
    architecture: &Architecture,
    parameters: &[f32],
    first: &First<'_>,
) -> Result<String, Failure> {
    let mut rest = parameters;
    let mut take = |count: usize| {
        let (own, later) = rest.split_at(count.min(rest.len()));
        rest = later;
        own
    };
    // Values between layers, and channels of an image or values of a row.
    let (mut value, mut channels) = match (first, architecture.input) {
        (First::Values(value), InputShape::Image { channels, .. }) => (Some(value.clone()), channels),
        (First::Values(value), InputShape::Columns(columns)) => (Some(value.clone()), columns),
        (First::Table(..), InputShape::Columns(columns)) => (None, columns),
        (First::Table(..), InputShape::Image { .. }) => {
            return Err(Failure::input("the network takes images, and the model a table"));
        }
    };
    let mut size = match architecture.input {
        InputShape::Image { height, width, .. } => [height, width],
        InputShape::Columns(_) => [1, 1],
    };
    for layer in &architecture.layers {
        let next = match (*layer, &value) {
            (Layer::Dense { outputs, bias }, _) => {
                let weights = take(outputs * channels);
                let bias = if bias { take(outputs).to_vec() } else { vec![0.0; outputs] };
                let inputs = std::mem::replace(&mut channels, outputs);
                match (&value, first) {
                    (None, First::Table(columns, table)) => look_up(graph, columns, table, weights, &bias),
                    (None, First::Values(_)) => return Err(Failure::input("the network has no input")),
                    (Some(value), _) => dense(graph, value, weights, &bias, inputs),
                }
            }
            (Layer::Conv2d { outputs, kernel, stride, padding, bias }, Some(value)) => {
                let weights = channels_first(take(outputs * kernel * kernel * channels), kernel, channels);
                let dims = [outputs, channels, kernel, kernel];
                let mut taken = vec![value.clone(), graph.floats(&dims, &weights)];
                if bias {
                    let bias = take(outputs).to_vec();
                    taken.push(graph.floats(&[outputs], &bias));
                }
                channels = outputs;
                let side = |length: usize| match padding {
                    Padding::Valid => (length - kernel) / stride + 1,
                    Padding::Same => length.div_ceil(stride),
                };
                size = size.map(side);
                let pad = if padding == Padding::Same { "SAME_UPPER" } else { "VALID" };
                let taken: Vec<&str> = taken.iter().map(String::as_str).collect();
                let settings = vec![
                    string("auto_pad", pad),
                    ints("kernel_shape", vec![kernel as i64; 2]),
                    ints("strides", vec![stride as i64; 2]),
                ];
                graph.node("Conv", &taken, settings)
            }
            (Layer::BatchNorm, Some(value)) => {
                let mut taken = vec![value.clone()];
                for _ in 0..4 {
                    let own = take(channels).to_vec();
                    taken.push(graph.floats(&[channels], &own));
                }
                let taken: Vec<&str> = taken.iter().map(String::as_str).collect();
                graph.node("BatchNormalization", &taken, vec![crate::graph::float("epsilon", EPSILON)])
            }
            (Layer::Relu, Some(value)) => graph.node("Relu", &[value], Vec::new()),
            (Layer::Flatten, Some(value)) => {
                channels *= size[0] * size[1];
                let last = graph.node("Transpose", &[value], vec![ints("perm", vec![0, 2, 3, 1])]);
                graph.node("Flatten", &[&last], vec![int("axis", 1)])
            }
            (Layer::Dropout { .. }, Some(value)) => value.clone(),
            (other, _) => return Err(Failure::input(format!("a layer that cannot be exported: {other:?}"))),
        };
        value = Some(next);
    }
    value.ok_or_else(|| Failure::input("the network has no layers"))
}

fn dense(graph: &mut Builder, value: &str, weights: &[f32], bias: &[f32], inputs: usize) -> String {
    let (weights, bias) = (graph.floats(&[bias.len(), inputs], weights), graph.floats(&[bias.len()], bias));
    graph.node("Gemm", &[value, &weights, &bias], vec![int("transB", 1)])
}

/// The first layer over a table; `weights` have a row for each hidden value.
fn look_up(graph: &mut Builder, columns: &Columns, table: &[Input], weights: &[f32], bias: &[f32]) -> String {
    let (hidden, width) = (bias.len(), weights.len() / bias.len());
    let layout = setpoint_data::layout(table);
    let rows: Vec<&[f32]> = weights.chunks_exact(width).collect();
    let bias: Vec<f32> = rows.iter().zip(bias).map(|(row, bias)| layout.bias(row, *bias)).collect();
    let mut value = match &columns.numbers {
        Some(numbers) => {
            let own = |row: &&[f32]| columns.places.iter().map(|place| row[*place]).collect::<Vec<f32>>();
            let own: Vec<f32> = rows.iter().flat_map(own).collect();
            dense(graph, numbers, &own, &bias, columns.places.len())
        }
        None => graph.floats(&[1, hidden], &bias),
    };
    for looked in columns.look_up(graph, table, &rows) {
        value = graph.node("Add", &[&value, &looked], Vec::new());
    }
    value
}

/// Weights of windows with channels last, as ONNX has them: channels first.
fn channels_first(weights: &[f32], kernel: usize, channels: usize) -> Vec<f32> {
    let places = kernel * kernel;
    let of = |window: &[f32]| -> Vec<f32> {
        (0..channels * places).map(|at| window[at % places * channels + at / places]).collect()
    };
    weights.chunks_exact(places * channels).flat_map(of).collect()
}
