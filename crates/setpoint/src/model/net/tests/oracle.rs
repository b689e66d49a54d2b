//! The forward pass in f64, layer by layer over whole batches, with no thought for speed.

use super::*;
use crate::model::net::dropout::Mask;
use crate::model::net::plan;

/// How to run the oracle.
#[derive(Clone, Copy)]
pub(super) enum Run {
    Learn { seed: u64, step: u64 },
    Score,
}

/// Scores of all rows of `inputs`, in order.
pub(super) fn scores(architecture: &Architecture, parameters: &[f64], inputs: &Inputs, run: Run) -> Vec<f64> {
    let mut shape = match architecture.input {
        InputShape::Columns(columns) => [1, 1, columns],
        InputShape::Image { height, width, channels } => [height, width, channels],
    };
    let size: usize = shape.iter().product();
    let mut rows: Vec<Vec<f64>> = (0..inputs.rows())
        .map(|row| {
            let mut values = vec![0.0f32; size];
            inputs.copy(row, &mut values);
            values.iter().map(|value| f64::from(*value)).collect()
        })
        .collect();
    let mut parameters = parameters.iter().copied();
    let mut take = |count: usize| -> Vec<f64> { parameters.by_ref().take(count).collect() };
    for (at, layer) in architecture.layers.iter().enumerate() {
        match *layer {
            Layer::Flatten => shape = [1, 1, shape.iter().product()],
            Layer::Relu => rows.iter_mut().flatten().for_each(|value| *value = value.max(0.0)),
            Layer::Dense { outputs, bias } => {
                let window = (1, 1, Padding::Valid);
                (rows, shape) = convolve(&rows, shape, outputs, window, bias, &mut take);
            }
            Layer::Conv2d { outputs, kernel, stride, padding, bias } => {
                let window = (kernel, stride, padding);
                (rows, shape) = convolve(&rows, shape, outputs, window, bias, &mut take);
            }
            Layer::Dropout { rate } => {
                let Run::Learn { seed, step } = run else { continue };
                let mask = Mask::new(plan::Dropout { rate, layer: at }, seed, step);
                for (place, row) in rows.iter_mut().enumerate() {
                    let mut kept = vec![1.0; row.len()];
                    mask.apply(place, row.len(), &mut kept);
                    // The scale in f64, so that the oracle is exact.
                    row.iter_mut().zip(kept).for_each(|(value, kept)| {
                        *value *= if kept == 0.0 { 0.0 } else { 1.0 / (1.0 - rate) };
                    });
                }
            }
            Layer::BatchNorm => {
                let channels = shape[2];
                let [scale, shift, mean, variance] = std::array::from_fn(|_| take(channels));
                for c in 0..channels {
                    let values = || rows.iter().flat_map(|row| row.iter().skip(c).step_by(channels));
                    let count = values().count() as f64;
                    let (mean, variance) = match run {
                        Run::Learn { .. } => {
                            let mean = values().sum::<f64>() / count;
                            (mean, values().map(|value| (value - mean).powi(2)).sum::<f64>() / count)
                        }
                        Run::Score => (mean[c], variance[c]),
                    };
                    for row in &mut rows {
                        for value in row.iter_mut().skip(c).step_by(channels) {
                            *value = scale[c] * (*value - mean) / (variance + 1e-5).sqrt() + shift[c];
                        }
                    }
                }
            }
        }
    }
    rows.concat()
}

fn convolve(
    rows: &[Vec<f64>],
    [height, width, channels]: [usize; 3],
    outputs: usize,
    (kernel, stride, padding): (usize, usize, Padding),
    bias: bool,
    take: &mut impl FnMut(usize) -> Vec<f64>,
) -> (Vec<Vec<f64>>, [usize; 3]) {
    let weights = take(outputs * kernel * kernel * channels);
    let bias = if bias { take(outputs) } else { vec![0.0; outputs] };
    let side = |length: usize| match padding {
        Padding::Valid => ((length - kernel) / stride + 1, 0),
        Padding::Same => {
            let out = length.div_ceil(stride);
            (out, (((out - 1) * stride + kernel) as isize - length as isize).max(0) / 2)
        }
    };
    let ((out_height, top), (out_width, left)) = (side(height), side(width));
    let convolve_one = |image: &Vec<f64>| {
        let mut out = vec![];
        for (y, x) in (0..out_height).flat_map(|y| (0..out_width).map(move |x| (y, x))) {
            for o in 0..outputs {
                let mut sum = bias[o];
                for (i, j) in (0..kernel).flat_map(|i| (0..kernel).map(move |j| (i, j))) {
                    let (row, column) = ((y * stride + i) as isize - top, (x * stride + j) as isize - left);
                    if row < 0 || column < 0 || row >= height as isize || column >= width as isize {
                        continue;
                    }
                    for c in 0..channels {
                        sum += weights[((o * kernel + i) * kernel + j) * channels + c]
                            * image[(row as usize * width + column as usize) * channels + c];
                    }
                }
                out.push(sum);
            }
        }
        out
    };
    (rows.iter().map(convolve_one).collect(), [out_height, out_width, outputs])
}
