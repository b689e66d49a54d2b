//! Both passes against the f64 oracle: scores directly, gradients by its finite differences.

use super::oracle::{Run, scores};
use super::*;

const LEARN: Run = Run::Learn { seed: 5, step: 6 };

/// Compares both passes, training and use, of one architecture.
fn check(architecture: Architecture, inputs: Inputs) {
    let (mut network, parameters) = network(architecture.clone(), inputs);
    let inputs = Arc::clone(network.inputs());
    let rows = inputs.rows();
    let exact: Vec<f64> = parameters.iter().map(|p| f64::from(*p)).collect();

    let mut got = vec![0.0; rows * architecture.outputs()];
    network.scores(&parameters, Rows::All, &mut got).unwrap();
    close("scores", &got, &scores(&architecture, &exact, &inputs, Run::Score));

    let all: Vec<u32> = (0..rows as u32).collect();
    network.learn(&parameters, &Batch { rows: &all, seed: 5, step: 6 }, &mut got).unwrap();
    close("learn", &got, &scores(&architecture, &exact, &inputs, LEARN));

    let v = random(7, got.len());
    let mut gradient = vec![f32::NAN; parameters.len()];
    network.backward(&parameters, &v, &mut gradient).unwrap();
    let loss = |p: &[f64]| -> f64 {
        scores(&architecture, p, &inputs, LEARN).iter().zip(&v).map(|(s, v)| s * f64::from(*v)).sum()
    };
    let mut moved = exact.clone();
    // Of a large network only some: the oracle is slow.
    let every = exact.len().div_ceil(150);
    let differences: Vec<f64> = (0..exact.len())
        .step_by(every)
        .map(|k| {
            // Small enough to cross no kink, large enough for f64: errors about 1e-9.
            let mut at = |step: f64| {
                moved[k] = exact[k] + step;
                loss(&moved)
            };
            let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
            moved[k] = exact[k];
            slope
        })
        .collect();
    let some: Vec<f32> = gradient.iter().copied().step_by(every).collect();
    close("gradient", &some, &differences);
}

/// Within 1e-5 of the largest.
fn close(what: &str, got: &[f32], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let size = expected.iter().fold(0.0f64, |size, value| size.max(value.abs()));
    for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
        let error = (f64::from(*got) - expected).abs();
        assert!(error <= 1e-5 * size, "{what} {at}: {got} for {expected}, largest {size}");
    }
}

fn columns(layers: Vec<Layer>) -> Architecture {
    Architecture { input: InputShape::Columns(5), layers }
}

fn image(layer: Layer) -> Architecture {
    let dense = Layer::Dense { outputs: 1, bias: true };
    Architecture {
        input: InputShape::Image { height: 6, width: 7, channels: 3 },
        layers: vec![layer, Layer::Flatten, dense],
    }
}

#[test]
fn a_dense_layer_matches_finite_differences_with_and_without_bias() {
    for bias in [true, false] {
        let first = Layer::Dense { outputs: 4, bias };
        check(columns(vec![first, Layer::Dense { outputs: 1, bias }]), matrix(9, 5));
        check(columns(vec![first, Layer::Relu, Layer::Dense { outputs: 3, bias }]), matrix(9, 5));
    }
}

#[test]
fn relu_matches_finite_differences() {
    check(Architecture::mlp(5, &[19, 7], 0.0), matrix(40, 5));
}

#[test]
fn dropout_matches_finite_differences() {
    check(Architecture::mlp(5, &[19, 7], 0.4), matrix(40, 5));
}

#[test]
fn a_convolution_matches_finite_differences_for_every_stride_and_padding() {
    for padding in [Padding::Valid, Padding::Same] {
        for (kernel, stride) in [(1, 1), (1, 2), (2, 1), (3, 1), (3, 2), (4, 3), (5, 2)] {
            let layer = Layer::Conv2d { outputs: 3, kernel, stride, padding, bias: true };
            check(image(layer), images(4, [6, 7, 3]));
        }
    }
}

#[test]
fn batch_norm_matches_finite_differences_after_a_dense_layer() {
    let layers = vec![
        Layer::Dense { outputs: 18, bias: true },
        Layer::BatchNorm,
        Layer::Relu,
        Layer::Dropout { rate: 0.25 },
        Layer::Dense { outputs: 3, bias: false },
        Layer::BatchNorm,
        Layer::Dense { outputs: 1, bias: true },
    ];
    check(columns(layers), matrix(37, 5));
}

#[test]
fn a_network_with_every_layer_matches_finite_differences_over_several_groups() {
    check(everything(), images(140, [9, 8, 2]));
}

#[test]
fn the_small_network_matches_finite_differences_on_the_smallest_images() {
    check(Architecture::cnn_small(8, 8, 1), images(20, [8, 8, 1]));
}

#[test]
fn the_head_learns_by_v_and_the_body_by_the_direct_derivative() {
    let (mut network, parameters) = network(everything(), images(20, [9, 8, 2]));
    let rows: Vec<u32> = (0..20).collect();
    let (v, direct) = (random(8, 20), random(9, 20));
    let mut scores = vec![0.0; 20];
    network.learn(&parameters, &Batch { rows: &rows, seed: 0, step: 0 }, &mut scores).unwrap();
    let [mut by_v, mut by_direct, mut both] = std::array::from_fn(|_| vec![0.0; parameters.len()]);
    network.backward(&parameters, &v, &mut by_v).unwrap();
    network.backward(&parameters, &direct, &mut by_direct).unwrap();
    network.backward_head(&parameters, &v, &direct, &mut both).unwrap();
    let body = parameters.len() - 11;
    assert_eq!(both[..body], by_direct[..body]);
    assert_eq!(both[body..], by_v[body..]);
    assert_ne!(by_v, by_direct);
}
