//! A small Burn network for the letter U at 1% false alarms, from a file to a certified threshold.
//!
//! ```text
//! cargo run -p setpoint-burn --example train
//! ```
//!
//! The epoch is chosen on validation rows, the threshold on calibration rows; the test rows are looked
//! at once, at the end.

use std::error::Error;
use std::fs::File;

use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::prelude::*;
use burn::tensor::Distribution;
use burn::tensor::activation::relu;
use setpoint::goal::Rate;
use setpoint::metric::confusion;
use setpoint_burn::{GoalLoss, GoalLossConfig};

const LETTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../setpoint-cli/data/letter.csv.zst");
const EPOCHS: usize = 30;
const BATCH: usize = 512;

#[derive(Module, Debug)]
struct Mlp {
    hidden: Linear,
    output: Linear,
}

impl Mlp {
    fn new(inputs: usize, width: usize, device: &Device) -> Self {
        Self {
            hidden: LinearConfig::new(inputs, width).init(device),
            output: LinearConfig::new(width, 1).init(device),
        }
    }

    fn forward(&self, features: Tensor<2>) -> Tensor<2> {
        self.output.forward(relu(self.hidden.forward(features)))
    }
}

/// Rows of one part of the data, as a tensor and the truth about them.
struct Part {
    features: Tensor<2>,
    labels: Vec<bool>,
}

fn main() -> Result<(), Box<dyn Error>> {
    // For a GPU: its feature of `burn`, and `Device::cuda(0)` here.
    let plain = Device::flex();
    let device = plain.clone().autodiff();
    device.seed(0);

    let [train, validation, calibration, test] = letters(&[&device, &plain, &plain, &plain])?;
    let [rows, inputs] = train.features.dims();
    let batches = rows / BATCH;
    let warmup = (EPOCHS * batches / 3) as u64;
    let mut loss =
        GoalLoss::new("recall @ fpr<=1%".parse()?, GoalLossConfig { warmup, ..GoalLossConfig::default() })?;
    let mut network = Mlp::new(inputs, 8, &device);
    let mut optimizer = AdamConfig::new().init();
    let mut best = (f64::NEG_INFINITY, 0, network.valid());

    println!("{} on {rows} rows\n\nepoch  training  validation", loss.goal());
    for epoch in 1..=EPOCHS {
        let order = Tensor::<1>::random([rows], Distribution::Default, &plain).argsort(0).into_data();
        let order: Vec<usize> = order.iter::<i64>().map(|row| row as usize).collect();
        for batch in order.chunks_exact(BATCH) {
            let index: Vec<i64> = batch.iter().map(|row| *row as i64).collect();
            let index = Tensor::<1, Int>::from_data(index.as_slice(), &device);
            let labels: Vec<bool> = batch.iter().map(|row| train.labels[*row]).collect();
            let value = loss.forward(network.forward(train.features.clone().select(0, index)), &labels)?;
            let gradients = GradientsParams::from_grads(value.backward(), &network);
            network = optimizer.step(0.01, network, gradients);
        }
        let scorer = network.valid();
        let value = loss.value(&scorer.forward(validation.features.clone()), &validation.labels)?.value;
        println!("{epoch:5}  {:7.1}%  {:9.1}%", 100.0 * loss.pool_value()?.value, 100.0 * value);
        if value > best.0 {
            best = (value, epoch, scorer);
        }
    }

    let (_, epoch, scorer) = best;
    let certificate = loss.certify(&scorer.forward(calibration.features), &calibration.labels, 0.95)?;
    let threshold = certificate.threshold(None).ok_or("a goal without groups has one threshold")?;
    let scores: Vec<f32> = scorer.forward(test.features).into_data().try_to_vec()?;
    let counts = confusion::at(&setpoint::Sample::new(test.labels)?, &scores, threshold)?;
    let percent = |rate: Rate| rate.of(&counts).map_or(f64::NAN, |rate| 100.0 * rate);
    println!("\nepoch {epoch}, {certificate}");
    println!("on test: recall {:.1}%, fpr {:.2}%", percent(Rate::Recall), percent(Rate::FalsePositiveRate));
    Ok(())
}

/// The demo's data: sixteen numbers of a letter and whether it is a U. Rows are in no order, so that they are dealt out
/// in turn: of twenty, ten to train, three each to validate and to calibrate, four to test.
fn letters(parts: &[&Device; 4]) -> Result<[Part; 4], Box<dyn Error>> {
    let text = String::from_utf8(zstd::decode_all(File::open(LETTER)?)?)?;
    let mut values: [Vec<f32>; 4] = Default::default();
    let mut labels: [Vec<bool>; 4] = Default::default();
    for (row, line) in text.lines().skip(1).enumerate() {
        let part = [10, 13, 16, 20].iter().filter(|end| row % 20 >= **end).count();
        let (letter, numbers) = line.split_once(',').ok_or("a row of one field")?;
        labels[part].push(letter == "U");
        for number in numbers.split(',') {
            // Whole numbers from 0 to 15.
            values[part].push((number.trim().parse::<f32>()? - 7.5) / 2.5);
        }
    }
    let mut rows = labels.into_iter().zip(values).zip(parts);
    let mut part = || {
        let ((labels, values), device) = rows.next().ok_or("four parts")?;
        let shape = [labels.len(), values.len() / labels.len()];
        let features = Tensor::from_data(TensorData::new(values, shape), *device);
        Ok::<_, Box<dyn Error>>(Part { features, labels })
    };
    Ok([part()?, part()?, part()?, part()?])
}
