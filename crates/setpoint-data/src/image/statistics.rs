//! Mean and scale of each channel, and the digest of a set.

use std::fmt::Write as _;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::ImageSet;

/// Mean and scale of each channel over some images, in the units of the pixels (0 to 255).
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelStatistics {
    /// Means.
    pub mean: Vec<f64>,
    /// Standard deviations; 1 where that is 0.
    pub scale: Vec<f64>,
}

impl ImageSet {
    /// Mean and standard deviation of each channel over the rows listed.
    ///
    /// Sums are of whole numbers, so they are the same for any number of threads.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn channel_statistics(&self, rows: &[u32]) -> ChannelStatistics {
        let channels = self.shape.channels;
        let sums = |part: &[u32]| {
            let mut sums = vec![[0u64; 2]; channels];
            for row in part {
                for pixel in self.image(*row as usize).chunks_exact(channels) {
                    for (value, [sum, squares]) in pixel.iter().zip(&mut sums) {
                        let value = u64::from(*value);
                        *sum += value;
                        *squares += value * value;
                    }
                }
            }
            sums
        };
        let add = |mut left: Vec<[u64; 2]>, right: Vec<[u64; 2]>| {
            left.iter_mut().zip(right).for_each(|(left, right)| {
                *left = [left[0] + right[0], left[1] + right[1]];
            });
            left
        };
        let sums = rows.par_chunks(256).map(sums).reduce(|| vec![[0; 2]; channels], add);
        let count = (rows.len() * self.shape.height * self.shape.width).max(1) as f64;
        let mean: Vec<f64> = sums.iter().map(|[sum, _]| *sum as f64 / count).collect();
        let scale = |([_, squares], mean): (&[u64; 2], &f64)| {
            let deviation = (*squares as f64 / count - mean * mean).max(0.0).sqrt();
            // Below what two neighbouring values of one pixel among billions would give.
            if deviation > 1e-6 { deviation } else { 1.0 }
        };
        ChannelStatistics { scale: sums.iter().zip(&mean).map(scale).collect(), mean }
    }

    /// SHA-256, in lower-case hexadecimal, of pixels, labels and parts: what a model is trained on.
    ///
    /// It does not depend on how they are stored.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        let mut text = |text: &str| {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        };
        text("setpoint images 1");
        text(&self.shape.to_string());
        for column in &self.labels {
            text(&column.column);
            column.names.iter().for_each(|name| text(name));
        }
        for code in self.labels.iter().flat_map(|column| &column.of) {
            hasher.update(code.to_le_bytes());
        }
        if let Some(parts) = &self.part_of {
            hasher.update(parts);
        }
        hasher.update(&self.pixels);
        hex(&hasher.finalize())
    }
}

pub(super) fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use crate::image::{ImageSet, ImageShape};

    fn set(pixels: Vec<u8>, channels: usize) -> ImageSet {
        ImageSet {
            file: "t".into(),
            shape: ImageShape { height: 1, width: 2, channels },
            pixels,
            labels: Vec::new(),
            part_of: None,
            names: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn statistics_are_those_of_the_rows_listed() {
        let set = set(vec![1, 7, 3, 7, 200, 9, 250, 9], 2);
        let found = set.channel_statistics(&[0]);
        assert_eq!((found.mean, found.scale), (vec![2.0, 7.0], vec![1.0, 1.0]));
        let found = set.channel_statistics(&[0, 1]);
        assert_eq!(found.mean, [113.5, 8.0]);
        // Population deviations of 1, 3, 200, 250 and of 7, 7, 9, 9.
        let expected = [(12656.25 + 12210.25 + 7482.25 + 18632.25f64) / 4.0, 1.0].map(f64::sqrt);
        assert!(found.scale.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{:?}", found.scale);
    }

    #[test]
    fn statistics_do_not_depend_on_the_threads() {
        let set = set((0..6000u32).map(|at| (at * 37 % 251) as u8).collect(), 3);
        let rows: Vec<u32> = (0..1000).collect();
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| set.channel_statistics(&rows))
        };
        assert_eq!(with(1), with(3));
    }

    #[test]
    fn the_hash_changes_with_a_pixel_and_with_a_part() {
        let first = set(vec![1, 2, 3, 4], 1);
        let mut other = first.clone();
        assert_eq!(first.hash(), other.hash());
        other.pixels[3] = 5;
        assert_ne!(first.hash(), other.hash());
        other = ImageSet { part_of: Some(vec![0, 3]), ..first.clone() };
        assert_ne!(first.hash(), other.hash());
    }
}
