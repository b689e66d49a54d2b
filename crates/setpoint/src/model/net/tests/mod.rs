//! The network against slow and obvious versions of itself.

use std::ops::Range;
use std::sync::Arc;

use super::*;
use crate::features::{Features, Sparse};
use crate::model::{Batch, Model, ModelError, Rows};

mod architecture;
mod gradient;
mod model;
mod oracle;
mod torch;

/// Numbers in [-1, 1), the same for the same seed.
fn random(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    std::iter::repeat_with(next).skip(8).take(count).collect()
}

fn matrix(rows: usize, columns: usize) -> Inputs {
    let features: Arc<Features> =
        Features::from_row_major(random(1, rows * columns), columns).unwrap().into();
    features.into()
}

fn images(rows: usize, [height, width, channels]: [usize; 3]) -> Inputs {
    let pixels: Vec<u8> =
        random(2, rows * height * width * channels).iter().map(|x| (127.0 * (x + 1.0)) as u8).collect();
    let standard = Standard::of(&pixels, channels);
    Images::new(pixels, height, width, channels, standard).unwrap().into()
}

/// A network whose parameters are all away from zero, batch norm's too.
fn network(architecture: Architecture, inputs: Inputs) -> (Network, Vec<f32>) {
    let network = Network::new(architecture, inputs).unwrap();
    let mut parameters = network.initial(3);
    for (parameter, noise) in parameters.iter_mut().zip(random(4, network.parameter_count())) {
        *parameter += 0.1 * noise;
    }
    (network, parameters)
}

/// Every kind of layer: strides, both paddings, a 1 x 1 convolution, dropout, outputs with and
/// without bias.
fn everything() -> Architecture {
    use Layer::{BatchNorm, Conv2d, Dense, Dropout, Flatten, Relu};
    let conv = |outputs, kernel, stride, padding, bias| Conv2d { outputs, kernel, stride, padding, bias };
    Architecture {
        input: InputShape::Image { height: 9, width: 8, channels: 2 },
        layers: vec![
            conv(5, 3, 1, Padding::Same, false),
            BatchNorm,
            Relu,
            Dropout { rate: 0.2 },
            conv(18, 3, 2, Padding::Same, true),
            Relu,
            conv(6, 2, 1, Padding::Valid, false),
            BatchNorm,
            conv(7, 1, 1, Padding::Valid, true),
            BatchNorm,
            Relu,
            Flatten,
            Dense { outputs: 11, bias: true },
            Relu,
            Dropout { rate: 0.3 },
            Dense { outputs: 1, bias: false },
        ],
    }
}
