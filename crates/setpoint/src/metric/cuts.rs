//! Cumulative counts at every place where a threshold can cut the scores.
//!
//! With `d` distinct scores there are `d + 1` different sets of decisions. Cut `i` predicts the
//! `i` highest distinct scores positive: cut 0 nobody, cut `d` everybody. As `i` grows the
//! threshold falls, and true and false positives can only grow.

use std::sync::Arc;

use super::sort::{descending, score_of, sort_digits};
use super::{MetricError, Sorted};
use crate::goal::{Counts, Rate};
use crate::sample::{Sample, SampleError};

/// Weighted true and false positives at every cut of a sample.
///
/// Every exact metric is a function of this.
#[derive(Clone, Debug, PartialEq)]
pub struct Cuts {
    /// Distinct scores, descending.
    scores: Arc<[f32]>,
    /// By cut; one more than there are distinct scores.
    true_positives: Vec<f64>,
    false_positives: Vec<f64>,
    /// What decisions pay, by cut; empty where that is not known.
    money: Vec<f64>,
    rows: usize,
}

/// The thresholds `above < t <= up_to`, which all make the same decisions on a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdRange {
    /// Largest score predicted negative; minus infinity where there is none.
    pub above: f32,
    /// Smallest score predicted positive; infinity where there is none.
    pub up_to: f32,
}

impl Cuts {
    /// Sorts the scores and counts.
    ///
    /// # Errors
    /// If there is not one finite score for each example.
    pub fn new(sample: &Sample, scores: &[f32]) -> Result<Self, MetricError> {
        if sample.weights().is_some() || sample.stakes().is_some() {
            return Ok(Sorted::new(sample, scores)?.cuts());
        }
        sample.check_scores(scores)?;
        Ok(Self::of_equals(sample, scores))
    }

    /// The same of rows that count alike: each class is sorted by itself, and nothing but scores.
    fn of_equals(sample: &Sample, scores: &[f32]) -> Self {
        let positives = sample.labels().iter().filter(|label| **label).count();
        let labelled = |label: bool, count: usize| {
            let own = sample.labels().iter().zip(scores).filter(|(own, _)| **own == label);
            let mut keys = Vec::with_capacity(count);
            keys.extend(own.map(|(_, score)| descending(*score)));
            sort_digits(keys, [0, 11, 22])
        };
        let (positives, negatives) =
            rayon::join(|| labelled(true, positives), || labelled(false, sample.len() - positives));
        let room = || Vec::with_capacity(scores.len() + 1);
        let (mut true_positives, mut false_positives) = (room(), room());
        let mut distinct = Vec::with_capacity(scores.len());
        let (mut above, mut others) = (0, 0);
        loop {
            true_positives.push(above as f64);
            false_positives.push(others as f64);
            let heads = positives.get(above).into_iter().chain(negatives.get(others));
            let Some(head) = heads.min() else { break };
            let ties = |keys: &[u32]| keys.iter().take_while(|key| *key == head).count();
            above += ties(&positives[above..]);
            others += ties(&negatives[others..]);
            distinct.push(score_of(*head));
        }
        drop((positives, negatives));
        let rows = sample.len();
        Self { scores: distinct.into(), true_positives, false_positives, money: Vec::new(), rows }
    }

    /// Sorts and counts some rows only, such as those of one group.
    ///
    /// # Errors
    /// If there is not one finite score for each example of the sample, or no row is named.
    ///
    /// # Panics
    /// If a row number is not below the length of the sample.
    pub fn of_rows(sample: &Sample, scores: &[f32], rows: &[u32]) -> Result<Self, MetricError> {
        Ok(Sorted::of_rows(sample, scores, rows)?.cuts())
    }

    pub(super) fn start(scores: Arc<[f32]>, rows: usize) -> Self {
        let room = scores.len() + 1;
        Self {
            scores,
            true_positives: Vec::with_capacity(room),
            false_positives: Vec::with_capacity(room),
            money: Vec::new(),
            rows,
        }
    }

    /// Counts anew the rows in their order, block by block of equal scores: as integers where weights are
    /// integers, which is faster.
    pub(super) fn count<T: Copy + Default + std::ops::AddAssign>(
        &mut self,
        ends: &[u32],
        label: impl Fn(usize) -> bool,
        weight: impl Fn(usize) -> T,
        number: impl Fn(T) -> f64,
    ) {
        let zero = T::default();
        let (mut positives, mut negatives) = (zero, zero);
        let Self { true_positives, false_positives, .. } = self;
        // The first is before all blocks: nobody is predicted positive.
        true_positives.resize(ends.len() + 1, 0.0);
        false_positives.resize(ends.len() + 1, 0.0);
        let mut start = 0;
        let counts = true_positives[1..].iter_mut().zip(&mut false_positives[1..]);
        for (end, (true_positives, false_positives)) in ends.iter().zip(counts) {
            for i in start..*end as usize {
                // Both sums take a value, one of them zero: no branch for the processor to guess.
                let (weight, label) = (weight(i), label(i));
                positives += if label { weight } else { zero };
                negatives += if label { zero } else { weight };
            }
            *true_positives = number(positives);
            *false_positives = number(negatives);
            start = *end as usize;
        }
    }

    /// Adds up what is paid at each cut: by row what is paid if it is decided negative, and positive.
    pub(super) fn pay(&mut self, ends: &[u32], pays: impl Fn(usize) -> [f64; 2]) {
        let rows = ends.last().map_or(0, |end| *end as usize);
        let mut paid: f64 = (0..rows).map(|i| pays(i)[0]).sum();
        self.money.clear();
        self.money.push(paid);
        let mut start = 0;
        for end in ends {
            for i in start..*end as usize {
                let [negative, positive] = pays(i);
                paid += positive - negative;
            }
            self.money.push(paid);
            start = *end as usize;
        }
    }

    /// What decisions pay, by cut, if that is known.
    #[must_use]
    pub fn money(&self) -> Option<&[f64]> {
        (!self.money.is_empty()).then_some(&self.money[..])
    }

    /// Number of cuts: one more than there are distinct scores.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "there are at least two cuts")]
    pub fn len(&self) -> usize {
        self.true_positives.len()
    }

    /// The distinct scores, descending. Cut `i` predicts the first `i` of them positive.
    #[must_use]
    pub fn scores(&self) -> &[f32] {
        &self.scores
    }

    /// Weight of the positives predicted positive, by cut.
    #[must_use]
    pub fn true_positives(&self) -> &[f64] {
        &self.true_positives
    }

    /// Weight of the negatives predicted positive, by cut.
    #[must_use]
    pub fn false_positives(&self) -> &[f64] {
        &self.false_positives
    }

    /// Weight of all positives.
    #[must_use]
    pub fn positives(&self) -> f64 {
        self.true_positives[self.len() - 1]
    }

    /// Weight of all negatives.
    #[must_use]
    pub fn negatives(&self) -> f64 {
        self.false_positives[self.len() - 1]
    }

    /// All counts at cut `i`.
    ///
    /// # Panics
    /// If `i` is not below [`len`](Self::len).
    #[must_use]
    pub fn counts_at(&self, i: usize) -> Counts {
        self.counts(
            self.true_positives[i],
            self.false_positives[i],
            self.money.get(i).copied().unwrap_or(0.0),
        )
    }

    /// All counts where this much of each class is predicted positive.
    pub(super) fn counts(&self, true_positives: f64, false_positives: f64, money: f64) -> Counts {
        let (positives, negatives) = (self.positives(), self.negatives());
        Counts {
            true_positives,
            false_negatives: positives - true_positives,
            false_positives,
            true_negatives: negatives - false_positives,
            positives,
            negatives,
            money,
        }
    }

    /// A threshold that makes the decisions of cut `i` with `score >= threshold`.
    ///
    /// Midway between the neighbouring distinct scores, or on the upper one where no float lies
    /// between. Cut 0 (nobody) gets the float after the largest score: finite, unless that score
    /// is `f32::MAX`. The last cut (everybody) gets the smallest score.
    ///
    /// # Panics
    /// If `i` is not below [`len`](Self::len).
    #[must_use]
    pub fn threshold(&self, i: usize) -> f32 {
        let ThresholdRange { above, up_to } = self.range(i);
        if up_to == f32::INFINITY {
            return above.next_up();
        }
        if above == f32::NEG_INFINITY {
            return up_to;
        }
        // In f64 the sum neither overflows nor rounds; only the way back can land on `above`.
        let middle = ((f64::from(above) + f64::from(up_to)) / 2.0) as f32;
        if middle > above { middle } else { up_to }
    }

    /// All thresholds that make the decisions of cut `i`.
    ///
    /// # Panics
    /// If `i` is not below [`len`](Self::len).
    #[must_use]
    pub fn range(&self, i: usize) -> ThresholdRange {
        assert!(i < self.len(), "cut {i} of {}", self.len());
        ThresholdRange {
            above: self.scores.get(i).copied().unwrap_or(f32::NEG_INFINITY),
            up_to: if i == 0 { f32::INFINITY } else { self.scores[i - 1] },
        }
    }

    /// The cut that a threshold makes.
    #[must_use]
    pub fn cut_of(&self, threshold: f32) -> usize {
        self.scores.partition_point(|score| *score >= threshold)
    }

    /// Checks that the sample holds the classes without which `metric` is undefined.
    pub(super) fn require(
        &self,
        metric: impl Fn() -> String,
        positives: bool,
        negatives: bool,
    ) -> Result<(), MetricError> {
        let missing = if positives && self.positives() <= 0.0 {
            "positives"
        } else if negatives && self.negatives() <= 0.0 {
            "negatives"
        } else {
            return Ok(());
        };
        Err(SampleError::OneClass { missing, rows: self.rows, rate: metric() }.into())
    }

    pub(super) fn require_for(&self, rate: Rate) -> Result<(), MetricError> {
        if matches!(rate, Rate::Cost | Rate::Profit) && self.money.is_empty() {
            return Err(SampleError::NoAmounts { rate: rate.to_string() }.into());
        }
        let (positives, negatives) = rate.needs();
        self.require(|| rate.to_string(), positives, negatives)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::data::random_case;

    #[test]
    fn counts_at_every_cut_are_those_of_its_threshold() {
        for seed in 0..40 {
            let (sample, scores) = random_case(seed, 60);
            let cuts = Cuts::new(&sample, &scores).unwrap();
            for i in 0..cuts.len() {
                let threshold = cuts.threshold(i);
                assert!(threshold.is_finite());
                assert_eq!(cuts.cut_of(threshold), i);
                let (mut tp, mut fp) = (0.0, 0.0);
                for (row, score) in scores.iter().enumerate().filter(|(_, score)| **score >= threshold) {
                    assert!(*score >= cuts.range(i).up_to);
                    let class = if sample.labels()[row] { &mut tp } else { &mut fp };
                    *class += sample.weight(row);
                }
                let counts = cuts.counts_at(i);
                // Sums of 60 weights in another order.
                assert!((counts.true_positives - tp).abs() < 1e-12);
                assert!((counts.false_positives - fp).abs() < 1e-12);
                let all = counts.true_positives + counts.false_negatives;
                assert!((all - sample.totals().positives).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn thresholds_hold_between_adjacent_and_between_huge_floats() {
        let scores = [
            f32::MAX,
            f32::MAX.next_down(),
            1.0_f32.next_up().next_up(),
            1.0_f32.next_up(),
            1.0,
            1.0e-45,
            0.0,
            -1.0e-45,
            -1.0,
            -1.0_f32.next_up(),
            f32::MIN,
        ];
        let sample = Sample::new(vec![true; scores.len()]).unwrap();
        let cuts = Cuts::new(&sample, &scores).unwrap();
        for i in 1..cuts.len() {
            let threshold = cuts.threshold(i);
            assert_eq!(scores.iter().filter(|score| **score >= threshold).count(), i, "{threshold:e}");
        }
        // No finite float lies above f32::MAX.
        assert_eq!(cuts.threshold(0), f32::INFINITY);
        assert_eq!(cuts.cut_of(f32::INFINITY), 0);
    }

    #[test]
    fn equal_scores_share_one_cut() {
        let sample = Sample::new(vec![true, false, true]).unwrap();
        let cuts = Cuts::new(&sample, &[2.0; 3]).unwrap();
        assert_eq!(cuts.len(), 2);
        assert_eq!(cuts.threshold(0), 2.0_f32.next_up());
        assert_eq!(cuts.threshold(1), 2.0);
        assert_eq!(cuts.range(1), ThresholdRange { above: f32::NEG_INFINITY, up_to: 2.0 });
    }
}
