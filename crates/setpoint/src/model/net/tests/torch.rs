//! Two training steps against PyTorch in f64; `bench/peers/net_case.py` made the case.

use serde::Deserialize;

use super::*;

#[derive(Deserialize)]
struct Cases {
    cnn: Case,
    mlp: Case,
}

#[derive(Deserialize)]
struct Case {
    architecture: Architecture,
    rate: f32,
    rows: usize,
    examples: Vec<f32>,
    start: Vec<f64>,
    steps: Vec<Step>,
    end: Vec<f64>,
    scores: Vec<f64>,
}

#[derive(Deserialize)]
struct Step {
    v: Vec<f32>,
    scores: Vec<f64>,
    gradient: Vec<f64>,
}

fn cases() -> Cases {
    serde_json::from_str(include_str!("torch.json")).unwrap()
}

/// Within 3e-6 of the largest: f32 against f64, through up to five layers.
fn close(what: &str, got: &[f32], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    let size = expected.iter().fold(0.0f64, |size, value| size.max(value.abs()));
    let error = got.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
    assert!(error <= 3e-6 * size, "{what}: off by {:.1e} of the largest", error / size);
}

fn check(case: &Case, inputs: Inputs) {
    let mut network = Network::new(case.architecture.clone(), inputs).unwrap();
    let rows: Vec<u32> = (0..case.rows as u32).collect();
    let mut parameters: Vec<f32> = case.start.iter().map(|p| *p as f32).collect();
    let (mut scores, mut gradient) = (vec![0.0; case.rows], vec![f32::NAN; parameters.len()]);
    for (step, expected) in case.steps.iter().enumerate() {
        let batch = Batch { rows: &rows, seed: 0, step: step as u64 };
        network.learn(&parameters, &batch, &mut scores).unwrap();
        close("scores", &scores, &expected.scores);
        network.backward(&parameters, &expected.v, &mut gradient).unwrap();
        close("gradient", &gradient, &expected.gradient);
        for (parameter, slope) in parameters.iter_mut().zip(&gradient) {
            *parameter -= case.rate * slope;
        }
        network.observe(&mut parameters);
    }
    close("parameters and running statistics", &parameters, &case.end);
    network.scores(&parameters, Rows::All, &mut scores).unwrap();
    close("scores in use", &scores, &case.scores);
}

#[test]
fn two_steps_of_a_convolutional_network_are_those_of_pytorch() {
    let case = cases().cnn;
    let pixels = case.examples.iter().map(|byte| *byte as u8).collect();
    let standard = Standard { mean: vec![128.0; 3], scale: vec![1.0 / 64.0; 3] };
    check(&case, Images::new(pixels, 9, 8, 3, standard).unwrap().into());
}

#[test]
fn two_steps_of_a_multilayer_perceptron_are_those_of_pytorch() {
    let case = cases().mlp;
    let features: Arc<Features> = Features::from_row_major(case.examples.clone(), 7).unwrap().into();
    check(&case, features.into());
}
