//! One sort of the scores, from which every exact metric follows.
//!
//! Each score becomes a `u32` whose order is the order of the floats, packed
//! with its row number into a `u64`. All keys differ, so the order does not
//! depend on the number of threads. Equal scores (`-0.0` equals `0.0`) form one *block*: no threshold
//! separates them.

use std::sync::Arc;

use rayon::prelude::*;

use super::{Cuts, MetricError};
use crate::sample::{Sample, SampleError};

/// The rows of a sample by descending score, ready to be counted, and counted again with other
/// multiplicities as the bootstrap does.
#[derive(Clone, Debug)]
pub struct Sorted {
    /// Row numbers by descending score; ties by ascending row.
    rows: Vec<u32>,
    labels: Vec<bool>,
    weights: Option<Vec<f32>>,
    /// What each row pays, times its weight.
    pays: Option<Vec<[f64; 2]>>,
    /// Distinct scores, descending.
    scores: Arc<[f32]>,
    /// Where each block of equal scores ends in `rows`.
    ends: Vec<u32>,
}

impl Sorted {
    /// Sorts the rows of a sample by these scores.
    ///
    /// # Errors
    /// If there is not one finite score for each example.
    pub fn new(sample: &Sample, scores: &[f32]) -> Result<Self, MetricError> {
        sample.check_scores(scores)?;
        let keys = scores.iter().enumerate().map(|(row, score)| pack(*score, row as u32)).collect();
        Ok(Self::from_sorted(sample, &sort_by_score(keys)))
    }

    /// Sorts some rows of a sample, such as those of one group
    /// ([`Groups::rows`](crate::sample::Groups::rows)).
    ///
    /// # Errors
    /// If there is not one finite score for each example of the sample, or no row is named.
    ///
    /// # Panics
    /// If a row number is not below the length of the sample.
    pub fn of_rows(sample: &Sample, scores: &[f32], rows: &[u32]) -> Result<Self, MetricError> {
        sample.check_scores(scores)?;
        if rows.is_empty() {
            return Err(SampleError::Empty.into());
        }
        let mut keys: Vec<u64> = rows.iter().map(|row| pack(scores[*row as usize], *row)).collect();
        keys.par_sort_unstable();
        Ok(Self::from_sorted(sample, &keys))
    }

    fn from_sorted(sample: &Sample, keys: &[u64]) -> Self {
        let rows: Vec<u32> = keys.iter().map(|key| *key as u32).collect();
        let labels = rows.iter().map(|row| sample.labels()[*row as usize]).collect();
        let of_rows = |weights: &[f32]| rows.iter().map(|row| weights[*row as usize]).collect();
        let weights = sample.weights().map(of_rows);
        let paid = |row: &u32, pays: &[[f64; 2]]| {
            pays[*row as usize].map(|pays| pays * sample.weight(*row as usize))
        };
        let pays = sample.stakes().map(|stakes| rows.iter().map(|row| paid(row, stakes.pays())).collect());
        let mut scores = Vec::with_capacity(keys.len());
        let mut ends = Vec::with_capacity(keys.len());
        for (position, key) in keys.iter().enumerate() {
            let last_of_block = keys.get(position + 1).is_none_or(|next| next >> 32 != key >> 32);
            if last_of_block {
                scores.push(unpack(*key));
                ends.push(position as u32 + 1);
            }
        }
        Self { rows, labels, weights, pays, scores: scores.into(), ends }
    }

    /// Number of rows.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a sample is never empty")]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The cumulative counts at every cut.
    #[must_use]
    pub fn cuts(&self) -> Cuts {
        let mut cuts = Cuts::start(Arc::clone(&self.scores), self.len());
        match &self.weights {
            None => cuts.count(&self.ends, |i| self.labels[i], |_| 1_u64, |count| count as f64),
            Some(weights) => {
                cuts.count(&self.ends, |i| self.labels[i], |i| f64::from(weights[i]), |sum| sum);
            }
        }
        if let Some(pays) = &self.pays {
            cuts.pay(&self.ends, |i| pays[i]);
        }
        cuts
    }

    /// The cumulative counts when row `r` of the sample is there `times[r]` times, written over
    /// `cuts`, which came from [`cuts`](Self::cuts).
    pub(super) fn recount(&self, times: &[u32], cuts: &mut Cuts) {
        let times = |i: usize| times[self.rows[i] as usize];
        match &self.weights {
            None => cuts.count(&self.ends, |i| self.labels[i], |i| u64::from(times(i)), |count| count as f64),
            Some(weights) => {
                let weight = |i| f64::from(times(i)) * f64::from(weights[i]);
                cuts.count(&self.ends, |i| self.labels[i], weight, |sum| sum);
            }
        }
        if let Some(pays) = &self.pays {
            cuts.pay(&self.ends, |i| pays[i].map(|pays| pays * f64::from(times(i))));
        }
    }
}

/// Sorts keys whose rows ascend. Past what the caches hold, threads do better than digits.
pub(super) fn sort_by_score(mut keys: Vec<u64>) -> Vec<u64> {
    if keys.len() > 1 << 18 {
        keys.par_sort_unstable();
        return keys;
    }
    sort_digits(keys, [32, 43, 54])
}

/// Sorts keys that are nothing but scores. Many are sorted where they are.
pub(super) fn sort_keys(mut keys: Vec<u32>) -> Vec<u32> {
    if keys.len() > 1 << 23 {
        keys.par_sort_unstable();
        return keys;
    }
    sort_digits(keys, [0, 11, 22])
}

/// Sorts by the digits of 11 bits at these places, the least first, each pass keeping the order of the one before.
fn sort_digits<K: Copy + Default + Into<u64>>(mut keys: Vec<K>, digits: [u32; 3]) -> Vec<K> {
    const SIZE: usize = 1 << 11;
    let digit = |key: K, shift: u32| (key.into() >> shift) as usize % SIZE;
    let mut next = [[0_u32; SIZE]; 3];
    for key in &keys {
        digits.iter().zip(&mut next).for_each(|(shift, next)| next[digit(*key, *shift)] += 1);
    }
    let mut sorted = vec![K::default(); keys.len()];
    for (shift, next) in digits.into_iter().zip(&mut next) {
        let mut before = 0;
        for place in next.iter_mut() {
            before += std::mem::replace(place, before);
        }
        for key in &keys {
            let place = &mut next[digit(*key, shift)];
            sorted[*place as usize] = *key;
            *place += 1;
        }
        std::mem::swap(&mut keys, &mut sorted);
    }
    keys
}

/// A key that sorts by descending score, then by ascending row.
pub(super) fn pack(score: f32, row: u32) -> u64 {
    u64::from(descending(score)) << 32 | u64::from(row)
}

/// A key that sorts by descending score.
pub(super) fn descending(score: f32) -> u32 {
    // Adding zero turns -0.0 into 0.0 and changes nothing else.
    let bits = (score + 0.0).to_bits();
    !if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The score of a key.
pub(super) fn score_of(key: u32) -> f32 {
    let ascending = !key;
    f32::from_bits(if ascending >> 31 == 1 { ascending & !(1 << 31) } else { !ascending })
}

fn unpack(key: u64) -> f32 {
    score_of((key >> 32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_the_floats_do_and_come_back() {
        let descending = [
            f32::MAX,
            3.0e8,
            1.0 + f32::EPSILON,
            1.0,
            f32::MIN_POSITIVE,
            1.0e-45,
            0.0,
            -1.0e-45,
            -1.0,
            f32::MIN,
        ];
        for pair in descending.windows(2) {
            assert!(pack(pair[0], 7) < pack(pair[1], 3), "{pair:?}");
        }
        for score in descending {
            assert_eq!(unpack(pack(score, 9)).to_bits(), score.to_bits());
        }
    }

    #[test]
    fn digits_sort_as_comparisons_do() {
        let score = |row: u32| ((row.wrapping_mul(2_654_435_761) >> 18) as f32 - 8000.0) * 1e-3;
        for rows in [0, 1, 2, 3000] {
            let keys: Vec<u64> = (0..rows).map(|row| pack(score(row), row)).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            assert_eq!(sort_by_score(keys), expected);
        }
    }

    #[test]
    fn negative_zero_ties_with_zero() {
        let sample = Sample::new(vec![true, false, true]).unwrap();
        let sorted = Sorted::new(&sample, &[0.0, -0.0, -1.0]).unwrap();
        assert_eq!(&*sorted.scores, [0.0, -1.0]);
        assert_eq!(sorted.rows, [0, 1, 2]);
        assert_eq!(sorted.ends, [2, 3]);
    }

    #[test]
    fn the_order_does_not_depend_on_the_number_of_threads() {
        let scores: Vec<f32> =
            (0..20_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 20) as f32).collect();
        let sample = Sample::new(scores.iter().map(|s| *s > 2000.0).collect()).unwrap();
        let rows_with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Sorted::new(&sample, &scores).unwrap().rows)
        };
        assert_eq!(rows_with(1), rows_with(3));
    }

    #[test]
    fn the_rows_of_a_group_are_sorted_alone() {
        let sample = Sample::new(vec![true, false, true, false]).unwrap();
        let sorted = Sorted::of_rows(&sample, &[1.0, 2.0, 3.0, 4.0], &[0, 3]).unwrap();
        assert_eq!(sorted.rows, [3, 0]);
        assert_eq!(sorted.cuts().counts_at(1).false_positives, 1.0);
        assert!(Sorted::of_rows(&sample, &[1.0; 4], &[]).is_err());
    }
}
