//! What the backward pass hands to the network.

use burn::prelude::*;
use burn::tensor::DType;
use setpoint::engine::{Engine, EngineOptions};
use setpoint::train::Bandwidth;
use setpoint::train::method::{CrossEntropy, Loss};
use setpoint::{Goal, Sample};
use setpoint_burn::{GoalLoss, GoalLossConfig};

use crate::{Noise, device, leaf, scored};

const WIDTH: f64 = 0.25;
const GOALS: [&str; 4] = [
    "recall @ fpr<=5%",
    "precision @ recall>=0.8",
    "roc-auc @ fpr in 0..20%",
    "recall @ precision>=0.4, fpr<=20%",
];

/// The goal's loss alone, with a width that does not follow the scores.
fn alone() -> GoalLossConfig {
    GoalLossConfig { mix: 0.0, bandwidth: Bandwidth::Score(WIDTH), ..GoalLossConfig::default() }
}

/// Loss and v by the engine itself.
fn engine(goal: &Goal, labels: &[bool], scores: &[f32]) -> (f64, Vec<f32>) {
    let sample = Sample::new(labels.to_vec()).unwrap();
    let options = EngineOptions { sharpness: 1.0 / WIDTH, ..EngineOptions::default() };
    let mut v = vec![0.0; scores.len()];
    let loss = Engine::new(goal, &sample, options).unwrap().step(&sample, scores, &mut v).unwrap().loss;
    (loss, v)
}

fn backward(loss: &mut GoalLoss, scores: &[f32], labels: &[bool]) -> (f32, Vec<f32>) {
    let scores = leaf(scores);
    let value = loss.forward(scores.clone(), labels).unwrap();
    let gradient = scores.grad(&value.backward()).unwrap();
    (value.into_scalar(), gradient.into_data().try_to_vec().unwrap())
}

#[test]
fn the_gradient_by_the_scores_is_the_engines_to_the_last_bit() {
    let (scores, labels) = scored(400, 5, 1);
    for text in GOALS {
        let goal: Goal = text.parse().unwrap();
        let (expected, v) = engine(&goal, &labels, &scores);
        let mut loss = GoalLoss::new(goal, alone()).unwrap();
        let (value, gradient) = backward(&mut loss, &scores, &labels);
        assert_eq!(value, expected as f32, "{text}");
        assert_eq!(gradient, v, "{text}");
    }
}

#[test]
fn a_batch_stands_for_the_whole_pool() {
    let (scores, labels) = scored(300, 5, 2);
    let goal: Goal = "recall @ fpr=5%".parse().unwrap();
    let config = GoalLossConfig { pool_batches: 2, ..alone() };
    let mut loss = GoalLoss::new(goal.clone(), config).unwrap();
    for batch in [0..100, 100..200] {
        loss.forward(leaf(&scores[batch.clone()]), &labels[batch]).unwrap();
    }
    // The third batch pushes the first out.
    let (value, gradient) = backward(&mut loss, &scores[200..], &labels[200..]);
    let (expected, v) = engine(&goal, &labels[100..], &scores[100..]);
    // The last thresholds serve while they are within a tenth of the condition's rate.
    assert!((f64::from(value) - expected).abs() < 0.05 * expected.abs(), "{value} is not {expected}");
    let pairs = || gradient.iter().zip(v[100..].iter().map(|v| 2.0 * v));
    let (apart, size) =
        pairs().fold((0.0, 0.0), |(apart, size), (found, v)| (apart + (found - v).abs(), size + v.abs()));
    assert!(size > 0.0 && apart < 0.15 * size, "{apart} of {size}");
}

#[test]
fn mixing_brings_both_gradients_to_the_same_size() {
    let (scores, labels) = scored(400, 5, 3);
    let goal: Goal = "recall @ fpr<=5%".parse().unwrap();
    let sample = Sample::new(labels.clone()).unwrap();
    let mut entropy = vec![0.0; 400];
    CrossEntropy::new(3.0).evaluate(&sample, &scores, &mut entropy).unwrap();
    let (_, v) = engine(&goal, &labels, &scores);
    let size = |v: &[f32]| v.iter().map(|v| v.abs()).sum::<f32>();
    let balance = size(&entropy) / size(&v);
    let config = GoalLossConfig { mix: 0.75, positive_weight: 3.0, ..alone() };
    let (_, gradient) = backward(&mut GoalLoss::new(goal, config).unwrap(), &scores, &labels);
    for ((found, entropy), v) in gradient.iter().zip(&entropy).zip(&v) {
        // Sums of 400 numbers in 32 bits, relative to gradients of about 1/400.
        assert!((found - (0.75 * entropy + 0.25 * balance * v)).abs() < 1e-7);
    }
}

#[test]
fn shape_and_precision_of_the_scores_are_the_networks_own() {
    let (scores, labels) = scored(400, 5, 4);
    let goal: Goal = "recall @ fpr<=5%".parse().unwrap();
    let column = leaf(&scores);
    let halves = column.clone().reshape([400, 1]).cast(DType::F16);
    let rounded: Vec<f32> = halves.clone().cast(DType::F32).into_data().try_to_vec().unwrap();
    let mut loss = GoalLoss::new(goal.clone(), alone()).unwrap();
    let truth = Tensor::<2, Int>::from_data(
        TensorData::new(labels.iter().map(|label| i64::from(*label)).collect(), [400, 1]),
        &device(),
    );
    let value = loss.forward(halves, &truth).unwrap();
    let gradient: Vec<f32> = column.grad(&value.backward()).unwrap().into_data().try_to_vec().unwrap();
    let (_, v) = engine(&goal, &labels, &rounded);
    for (found, v) in gradient.iter().zip(&v) {
        // Half precision: 11 bits, and steps of 6e-8 below 6e-5.
        assert!((found - v).abs() <= v.abs() / 2048.0 + 6e-8, "{found} is not {v}");
    }
}

/// An MLP 3-4-1 with all its parameters in one vector.
fn mlp(parameters: Tensor<1>, features: Tensor<2>) -> Tensor<2> {
    let part = |from: usize, to: usize| parameters.clone().slice(s![from..to]);
    let hidden = features.matmul(part(0, 12).reshape([3, 4])) + part(12, 16).reshape([1, 4]);
    hidden.tanh().matmul(part(16, 20).reshape([4, 1])) + part(20, 21).reshape([1, 1])
}

#[test]
fn parameter_gradients_match_finite_differences_through_the_resolved_thresholds() {
    let rows = 240;
    let mut noise = Noise(5);
    let labels: Vec<bool> = (0..rows).map(|row| row % 4 == 0).collect();
    let features: Vec<f32> = labels
        .iter()
        .flat_map(|label| [0.0; 3].map(|_| noise.next() + 0.5 * f32::from(u8::from(*label))))
        .collect();
    let features = Tensor::<2>::from_data(TensorData::new(features, [rows, 3]), &device());
    let parameters: Vec<f32> = (0..21).map(|_| noise.next()).collect();
    for text in GOALS {
        // Each evaluation solves the thresholds afresh.
        let evaluate = |parameters: &[f32]| {
            let parameters = leaf(parameters);
            let mut loss = GoalLoss::new(text.parse().unwrap(), alone()).unwrap();
            let value = loss.forward(mlp(parameters.clone(), features.clone()), &labels).unwrap();
            (value, parameters)
        };
        let (value, point) = evaluate(&parameters);
        let gradient: Vec<f32> = point.grad(&value.backward()).unwrap().into_data().try_to_vec().unwrap();
        let largest = gradient.iter().fold(0.0f32, |most, g| most.max(g.abs()));
        assert!(largest > 0.01, "{text}: the gradient says nothing");
        for index in 0..parameters.len() {
            let at = |step: f32| {
                let mut moved = parameters.clone();
                moved[index] += step;
                f64::from(evaluate(&moved).0.into_scalar::<f32>())
            };
            let h = 1.0 / 64.0;
            // Differences of fourth order: what is left is the rounding of the loss, 6e-8 / h = 4e-6, and
            // of the scores that it is a function of, about as much again.
            let numeric = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * f64::from(h));
            let found = f64::from(gradient[index]);
            assert!((found - numeric).abs() < 1e-5, "{text}, parameter {index}: {found} is not {numeric}");
        }
    }
}
