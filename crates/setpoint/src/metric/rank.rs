//! Scores of 64 bits, ranked without rounding.
//!
//! Exact metrics and certificates depend on the order of the scores alone, and the rest of the
//! library has scores of 32 bits. So a score is replaced by its rank among the different scores,
//! and a threshold on ranks is turned back into the score that makes the same decisions.
//!
//! Rounding to 32 bits never turns the order of two scores around, it can only make them equal. So
//! rows are sorted by their rounded scores, as [`Sorted`](super::Sorted) does, and the few that rounding has made
//! equal are sorted again among themselves.

use super::sort::{pack, sort_by_score};
use super::{Cuts, MetricError};
use crate::sample::SampleError;

/// Ranks below this are told apart by a 32-bit float.
const LIMIT: usize = 1 << 24;

/// Rows by descending score, equal scores in blocks.
#[derive(Clone, Debug)]
pub struct Ranked<'a> {
    scores: &'a [f64],
    rows: Vec<u32>,
    /// Where each block of equal scores ends in `rows`.
    ends: Vec<u32>,
}

impl<'a> Ranked<'a> {
    /// Ranks the scores.
    ///
    /// # Errors
    /// If there are none, more than row numbers can hold, or one is not finite.
    pub fn new(scores: &'a [f64]) -> Result<Self, MetricError> {
        let limit = u32::MAX as usize;
        if scores.is_empty() {
            return Err(SampleError::Empty.into());
        }
        if scores.len() > limit {
            return Err(SampleError::TooLarge { rows: scores.len(), limit }.into());
        }
        if let Some(index) = scores.iter().position(|score| !score.is_finite()) {
            return Err(SampleError::Score { index, value: scores[index] as f32 }.into());
        }
        let key = |(row, score): (usize, &f64)| pack(*score as f32, row as u32);
        let keys = sort_by_score(scores.iter().enumerate().map(key).collect());
        let mut rows: Vec<u32> = keys.iter().map(|key| *key as u32).collect();
        let mut ends = Vec::with_capacity(rows.len());
        let mut start = 0;
        while start < keys.len() {
            let rounded = keys[start] >> 32;
            let length = keys[start..].iter().take_while(|key| *key >> 32 == rounded).count();
            separate(scores, &mut rows[start..start + length], start, &mut ends);
            start += length;
        }
        Ok(Self { scores, rows, ends })
    }

    /// The number of different scores.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.ends.len()
    }

    /// The rows of each different score, from the highest.
    pub fn ties(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.rows[start as usize..*end as usize])
    }

    /// The different score of a rank, from 0 for the lowest.
    fn at(&self, rank: usize) -> Option<f64> {
        let block = self.ends.len().checked_sub(rank.checked_add(1)?)?;
        Some(self.scores[self.rows[self.ends[block] as usize - 1] as usize])
    }

    /// The rank of each score, in the order given.
    ///
    /// # Errors
    /// If there are more different scores than a 32-bit float has ranks for.
    pub fn ranks(&self) -> Result<Vec<f32>, MetricError> {
        if self.ends.len() > LIMIT {
            return Err(MetricError::TooManyScores { found: self.ends.len(), limit: LIMIT });
        }
        let mut ranks = vec![0.0; self.rows.len()];
        let mut start = 0;
        for (block, end) in self.ends.iter().enumerate() {
            let rank = (self.ends.len() - 1 - block) as f32;
            self.rows[start..*end as usize].iter().for_each(|row| ranks[*row as usize] = rank);
            start = *end as usize;
        }
        Ok(ranks)
    }

    /// The counts at every cut.
    ///
    /// # Errors
    /// If there is not one label, and one weight where there are weights, for each score.
    pub fn cuts(&self, labels: &[bool], weights: Option<&[f64]>) -> Result<Cuts, MetricError> {
        let expected = self.scores.len();
        for (what, got) in [("labels", labels.len()), ("weights", weights.map_or(expected, <[f64]>::len))] {
            if got != expected {
                return Err(SampleError::Length { what, expected, got }.into());
            }
        }
        let ranks = (0..self.ends.len()).rev().map(|rank| rank as f32).collect();
        let mut cuts = Cuts::start(ranks, expected);
        let row = |i: usize| self.rows[i] as usize;
        let weight = |i| weights.map_or(1.0, |weights| weights[row(i)]);
        cuts.count(&self.ends, |i| labels[row(i)], weight, |sum| sum);
        Ok(cuts)
    }

    /// A score that makes the decisions of a cut: midway between its neighbours where a number lies
    /// between; the next number after the largest score for nobody, the smallest score for everybody.
    ///
    /// # Panics
    /// If there are fewer cuts.
    #[must_use]
    pub fn threshold(&self, cut: usize) -> f64 {
        let different = self.ends.len();
        assert!(cut <= different, "cut {cut} of {}", different + 1);
        let above = if cut < different { self.at(different - 1 - cut) } else { None };
        let up_to = if cut > 0 { self.at(different - cut) } else { None };
        match (above, up_to) {
            (Some(above), Some(up_to)) => {
                let middle = above + (up_to - above) / 2.0;
                if middle > above && middle <= up_to { middle } else { up_to }
            }
            (Some(largest), None) => largest.next_up(),
            (None, smallest) => smallest.unwrap_or_default(),
        }
    }

    /// The smallest score that a cut predicts positive; infinity for nobody.
    ///
    /// # Panics
    /// If there are fewer cuts.
    #[must_use]
    pub fn up_to(&self, cut: usize) -> f64 {
        assert!(cut <= self.ends.len(), "cut {cut} of {}", self.ends.len() + 1);
        if cut == 0 { f64::INFINITY } else { self.at(self.ends.len() - cut).unwrap_or(f64::INFINITY) }
    }

    /// The threshold on ranks that makes the decisions of a threshold on scores.
    #[must_use]
    pub fn rank(&self, threshold: f64) -> f32 {
        let lowest = |end: &u32| self.scores[self.rows[*end as usize - 1] as usize];
        (self.ends.len() - self.ends.partition_point(|end| lowest(end) >= threshold)) as f32
    }

    /// The score that makes the decisions of a threshold on ranks: the smallest at or above it. Above
    /// all of them it is the next number after the largest.
    #[must_use]
    pub fn score(&self, threshold: f32) -> f64 {
        let rank = threshold.ceil().max(0.0) as usize;
        self.at(rank).unwrap_or_else(|| self.threshold(0))
    }
}

/// Sorts rows whose scores round to the same number, and notes where blocks of equal scores end.
fn separate(scores: &[f64], rows: &mut [u32], start: usize, ends: &mut Vec<u32>) {
    let of = |row: u32| scores[row as usize];
    if rows.len() > 1 {
        let first = of(rows[0]);
        if rows.iter().any(|row| of(*row) != first) {
            // Adding zero makes -0.0 and 0.0 the same score.
            rows.sort_unstable_by(|a, b| (of(*b) + 0.0).total_cmp(&(of(*a) + 0.0)).then(a.cmp(b)));
            for place in 1..rows.len() {
                if of(rows[place]) != of(rows[place - 1]) {
                    ends.push((start + place) as u32);
                }
            }
        }
    }
    ends.push((start + rows.len()) as u32);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_tell_scores_apart_that_single_precision_cannot() {
        let scores = [0.1, 0.1 + 1e-12, 0.3, 0.1, -0.0, 0.0];
        let ranked = Ranked::new(&scores).unwrap();
        let ranks = ranked.ranks().unwrap();
        assert_eq!(ranks, [1.0, 2.0, 3.0, 1.0, 0.0, 0.0]);
        for threshold in [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 3.1] {
            let by_rank = ranks.iter().filter(|rank| **rank >= threshold).count();
            let by_score = scores.iter().filter(|score| **score >= ranked.score(threshold)).count();
            assert_eq!(by_rank, by_score, "{threshold}");
            assert_eq!(ranked.rank(ranked.score(threshold)), threshold.ceil());
        }
    }

    #[test]
    fn cuts_of_ranks_are_those_of_a_plain_sort() {
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / (1u64 << 31) as f64
        };
        // Steps far below what 32 bits hold, beside large ones and ties.
        let scores: Vec<f64> = (0..500)
            .map(|_| (random() * 4.0).floor() + (random() * 8.0).floor() * 1e-13 - 1e300 * random().round())
            .collect();
        let labels: Vec<bool> = (0..500).map(|_| random() < 0.3).collect();
        let weights: Vec<f64> = (0..500).map(|_| 0.1 + random()).collect();
        let ranked = Ranked::new(&scores).unwrap();
        let cuts = ranked.cuts(&labels, Some(&weights)).unwrap();
        assert_eq!(cuts.len(), ranked.distinct() + 1);
        for cut in 0..cuts.len() {
            let threshold = ranked.threshold(cut);
            let above = |class: bool| -> f64 {
                (0..500).filter(|i| scores[*i] >= threshold && labels[*i] == class).map(|i| weights[i]).sum()
            };
            // Sums of 500 weights in another order.
            assert!((cuts.at(cut).true_positives - above(true)).abs() < 1e-11, "{cut}");
            assert!((cuts.at(cut).false_positives - above(false)).abs() < 1e-11, "{cut}");
        }
    }

    #[test]
    fn bad_scores_are_refused() {
        assert!(Ranked::new(&[]).is_err());
        assert!(Ranked::new(&[0.0, f64::NAN]).is_err());
        assert!(Ranked::new(&[1.0, 2.0]).unwrap().cuts(&[true], None).is_err());
    }
}
