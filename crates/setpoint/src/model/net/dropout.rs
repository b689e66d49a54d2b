//! Dropout masks that depend on the seed, the step, the layer, the row's place in the batch and the
//! value's place in the row, and on nothing else: the same on any number of threads, in the backward
//! pass, and after a resume.

use super::elementwise::vectorised;
use super::plan::Dropout;

/// The masks of one layer in one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mask {
    key: u64,
    /// A value is dropped when its 32 random bits are below this.
    limit: u32,
    /// What the others are multiplied by, so that the mean stays.
    scale: f32,
}

impl Mask {
    pub(super) fn new(dropout: Dropout, seed: u64, step: u64) -> Self {
        let key = [step, dropout.layer as u64]
            .iter()
            .fold(scramble(seed), |key, part| scramble(key ^ scramble(*part)));
        let limit = (dropout.rate * 2f64.powi(32)) as u32;
        Self { key, limit, scale: (1.0 / (1.0 - dropout.rate)) as f32 }
    }

    /// Applies the masks of rows `first`, `first + 1`, ... of the batch, each of `width` values.
    pub(super) fn apply(&self, first: usize, width: usize, values: &mut [f32]) {
        for (row, values) in values.chunks_exact_mut(width).enumerate() {
            drop_values(values, scramble(self.key ^ scramble((first + row) as u64)), self.limit, self.scale);
        }
    }
}

vectorised! {
    fn drop_values(values: &'a mut [f32], key: u64, limit: u32, scale: f32) {
        for (at, value) in values.iter_mut().enumerate() {
            let bits = (scramble(key.wrapping_add(at as u64)) >> 32) as u32;
            *value = if bits < limit { 0.0 } else { *value * scale };
        }
    }
}

/// SplitMix64's step: every bit of the result depends on every bit of `x`.
#[inline(always)]
fn scramble(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(rate: f64, seed: u64, step: u64, layer: usize, first: usize) -> Vec<f32> {
        let mut values = vec![1.0; 64 * 100];
        Mask::new(Dropout { rate, layer }, seed, step).apply(first, 100, &mut values);
        values
    }

    #[test]
    fn the_share_of_zeros_is_the_rate_and_the_mean_stays() {
        let values = masked(0.3, 1, 2, 3, 0);
        let zeros = values.iter().filter(|value| **value == 0.0).count() as f64 / 6400.0;
        // Four standard deviations of a share of 6400.
        assert!((zeros - 0.3).abs() < 4.0 * (0.21f64 / 6400.0).sqrt(), "{zeros}");
        assert!(values.iter().all(|value| *value == 0.0 || (*value - 1.0 / 0.7).abs() < 1e-6));
    }

    #[test]
    fn masks_differ_by_seed_step_layer_and_row_and_by_nothing_else() {
        let one = masked(0.5, 1, 2, 3, 0);
        assert_eq!(one, masked(0.5, 1, 2, 3, 0));
        for other in [masked(0.5, 2, 2, 3, 0), masked(0.5, 1, 3, 3, 0), masked(0.5, 1, 2, 4, 0)] {
            let same = one.iter().zip(&other).filter(|(a, b)| a == b).count();
            assert!((3000..3400).contains(&same), "{same} of 6400 alike");
        }
        // Row 10 is the same whether the chunk starts there or before.
        assert_eq!(one[1000..1100], masked(0.5, 1, 2, 3, 10)[..100]);
    }
}
