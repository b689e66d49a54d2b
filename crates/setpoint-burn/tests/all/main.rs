//! The loss on Burn's CPU backend.

mod gradient;
mod refusal;
mod resume;
mod training;

use burn::prelude::*;

/// A device whose tensors keep gradients.
fn device() -> Device {
    Device::flex().autodiff()
}

/// Uniform numbers in -1..1, the same on every machine.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// Scores that tell one example in `every` from the rest, but not well.
fn scored(rows: usize, every: usize, seed: u64) -> (Vec<f32>, Vec<bool>) {
    let mut noise = Noise(seed);
    let labels: Vec<bool> = (0..rows).map(|row| row % every == 0).collect();
    let score = |label: &bool| noise.next() + noise.next() + f32::from(u8::from(*label));
    (labels.iter().map(score).collect(), labels)
}

/// Scores as a tensor that retains its gradient.
fn leaf(scores: &[f32]) -> Tensor<1> {
    Tensor::from_floats(scores, &device()).require_grad()
}
