//! Random samples for the tests: heavy ties, optional weights, both classes.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::sample::Sample;

/// A sample of up to `most` rows and its scores. The seed also chooses how heavy the ties are
/// (3 levels to none) and whether there are weights.
pub fn random_case(seed: u64, most: usize) -> (Sample, Vec<f32>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let rows = rng.random_range(4..=most);
    let levels = [3.0, 8.0, 30.0, 1.0e6][(seed % 4) as usize];
    let share = rng.random_range(0.15..0.7);
    let mut labels: Vec<bool> = (0..rows).map(|_| rng.random_bool(share)).collect();
    (labels[0], labels[1]) = (true, false);
    let scores = labels.iter().map(|label| score(&mut rng, *label, levels)).collect();
    let sample = Sample::new(labels).unwrap();
    let weighted = !seed.is_multiple_of(3);
    let weights = (0..rows).map(|_| rng.random_range(1..=16) as f32 / 8.0).collect();
    (if weighted { sample.with_weights(weights).unwrap() } else { sample }, scores)
}

fn score(rng: &mut impl Rng, label: bool, levels: f32) -> f32 {
    let raw = rng.random::<f32>() + rng.random::<f32>() + if label { 0.5 } else { 0.0 };
    (raw * levels / 2.0).floor() / levels - 0.5
}

/// The same sample without its weights.
pub fn unweighted(sample: &Sample) -> Sample {
    Sample::new(sample.labels().to_vec()).unwrap()
}
