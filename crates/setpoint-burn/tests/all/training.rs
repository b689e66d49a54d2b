//! A module, an optimizer and the loss together.

use burn::module::Param;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::prelude::*;
use burn::tensor::activation::relu;
use setpoint_burn::{GoalLoss, GoalLossConfig};

use crate::{Noise, device};

#[derive(Module, Debug)]
struct Mlp {
    hidden: Linear,
    output: Linear,
}

impl Mlp {
    /// Weights of our own: Burn's seed is shared by all threads, so by all tests.
    fn new(width: usize) -> Self {
        let mut noise = Noise(11);
        let mut layer = |inputs: usize, outputs: usize| {
            let weight: Vec<f32> = (0..inputs * outputs).map(|_| noise.next()).collect();
            let mut layer = LinearConfig::new(inputs, outputs).init(&device());
            layer.weight = Param::from_data(TensorData::new(weight, [inputs, outputs]), &device());
            layer.bias = Some(Param::from_data(TensorData::zeros::<f32, _>([outputs]), &device()));
            layer
        };
        Self { hidden: layer(2, width), output: layer(width, 1) }
    }

    fn forward(&self, features: Tensor<2>) -> Tensor<2> {
        self.output.forward(relu(self.hidden.forward(features)))
    }
}

/// Two features of each row: negatives all over a square, one example in ten in a small square within.
fn squares(rows: usize, seed: u64) -> (Tensor<2>, Vec<bool>) {
    let mut noise = Noise(seed);
    let labels: Vec<bool> = (0..rows).map(|row| row % 10 == 0).collect();
    let point = |label: &bool| {
        let [x, y] = [noise.next(), noise.next()];
        if *label { [0.5 + 0.2 * x, 0.2 * y - 0.5] } else { [2.0 * x, 2.0 * y] }
    };
    let features: Vec<f32> = labels.iter().flat_map(point).collect();
    (Tensor::from_data(TensorData::new(features, [rows, 2]), &device()), labels)
}

#[test]
fn training_raises_the_goal_on_rows_it_has_not_seen() {
    let config = GoalLossConfig { warmup: 60, ..GoalLossConfig::default() };
    let mut loss = GoalLoss::new("recall @ fpr<=1%".parse().unwrap(), config).unwrap();
    let mut network = Mlp::new(16);
    let mut optimizer = AdamConfig::new().init();
    let (unseen, truth) = squares(2000, 12);
    let value =
        |network: &Mlp, loss: &GoalLoss| loss.value(&network.forward(unseen.clone()), &truth).unwrap().value;
    let before = value(&network, &loss);
    for step in 0..300 {
        let (features, labels) = squares(256, 100 + step);
        let found = loss.forward(network.forward(features), &labels).unwrap();
        let gradients = GradientsParams::from_grads(found.backward(), &network);
        network = optimizer.step(0.02, network, gradients);
    }
    let after = value(&network, &loss);
    assert_eq!(loss.alone(), 0);
    assert!(after > before + 0.5, "recall at 1% fpr went from {before} to {after}");
}
