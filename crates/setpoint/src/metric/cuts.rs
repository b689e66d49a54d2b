//! Cumulative counts at every place where a threshold can cut the scores.
//!
//! With `d` distinct scores there are `d + 1` different sets of decisions. Cut `i` predicts the
//! `i` highest distinct scores positive: cut 0 nobody, cut `d` everybody. As `i` grows the
//! threshold falls, and true and false positives can only grow.
//!
//! Of rows that all count alike, four bytes each are kept: the sorted scores of each class, whose places are the counts. They
//! are gone through one after the other ([`Cuts::walk`]), or found from the nearest of some known cuts. So are rows that are
//! sorted on disk ([`Stored`]).

mod alike;
mod stored;

use std::ops::Range;
use std::sync::Arc;

use super::sort::descending;
use super::{MetricError, Rows, Sorted};
use crate::goal::{Counts, Rate};
use crate::sample::{Sample, SampleError};
use crate::scratch::Scratch;
use alike::{Alike, EVERY};
use stored::{Steps, Stored};

/// Weighted true and false positives at every cut of a sample.
///
/// Every exact metric is a function of this.
#[derive(Clone, Debug, PartialEq)]
pub struct Cuts {
    columns: Columns,
    rows: usize,
}

#[derive(Clone, Debug, PartialEq)]
enum Columns {
    Alike(Alike),
    Sums(Sums),
    Stored(Stored),
}

/// Counts written out.
#[derive(Clone, Debug, PartialEq)]
struct Sums {
    /// Distinct scores, descending.
    scores: Arc<[f32]>,
    /// By cut; one more than there are distinct scores.
    true_positives: Vec<f64>,
    false_positives: Vec<f64>,
    /// What decisions pay, by cut; empty where that is not known.
    money: Vec<f64>,
}

/// One set of decisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// How many distinct scores are predicted positive.
    pub place: usize,
    /// All thresholds that make these decisions.
    pub range: ThresholdRange,
    /// Weight of the positives predicted positive.
    pub true_positives: f64,
    /// Weight of the negatives predicted positive.
    pub false_positives: f64,
    /// What the decisions pay; 0 where that is not known.
    pub money: f64,
}

impl Cut {
    /// Weight predicted positive.
    #[must_use]
    pub fn predicted(&self) -> f64 {
        self.true_positives + self.false_positives
    }

    /// A threshold that makes these decisions with `score >= threshold`.
    ///
    /// Midway between the neighbouring distinct scores, or on the upper one where no float lies
    /// between. Cut 0 (nobody) gets the float after the largest score: finite, unless that score
    /// is `f32::MAX`. The last cut (everybody) gets the smallest score.
    #[must_use]
    pub fn threshold(&self) -> f32 {
        let ThresholdRange { above, up_to } = self.range;
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
        Ok(Self { columns: Columns::Alike(Alike::new(sample, scores)), rows: sample.len() })
    }

    /// Sorts rows on disk, in so many bytes of memory.
    pub(super) fn on_disk(
        rows: &dyn Rows,
        scratch: &Arc<Scratch>,
        memory: usize,
    ) -> Result<Self, MetricError> {
        let stored = Stored::sort(rows, scratch, memory)?;
        Ok(Self { columns: Columns::Stored(stored), rows: rows.about().rows })
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
        let (true_positives, false_positives) = (Vec::with_capacity(room), Vec::with_capacity(room));
        let sums = Sums { scores, true_positives, false_positives, money: Vec::new() };
        Self { columns: Columns::Sums(sums), rows }
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
        let Columns::Sums(Sums { true_positives, false_positives, .. }) = &mut self.columns else { return };
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
        let Columns::Sums(Sums { money, .. }) = &mut self.columns else { return };
        money.clear();
        money.push(paid);
        let mut start = 0;
        for end in ends {
            for i in start..*end as usize {
                let [negative, positive] = pays(i);
                paid += positive - negative;
            }
            money.push(paid);
            start = *end as usize;
        }
    }

    /// Whether it is known what decisions pay.
    #[must_use]
    pub fn knows_money(&self) -> bool {
        matches!(&self.columns, Columns::Sums(sums) if !sums.money.is_empty())
    }

    /// Number of cuts: one more than there are distinct scores.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "there are at least two cuts")]
    pub fn len(&self) -> usize {
        match &self.columns {
            Columns::Alike(alike) => alike.cuts,
            Columns::Sums(sums) => sums.true_positives.len(),
            Columns::Stored(stored) => stored.cuts,
        }
    }

    /// Some cuts one after the other, which is faster than one by one.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn walk(&self, places: Range<usize>) -> Walk<'_> {
        assert!(places.end <= self.len(), "cut {} of {}", places.end, self.len());
        let (at, up_to) = match &self.columns {
            Columns::Alike(alike) if !places.is_empty() => alike.from(places.start),
            _ => ([0; 2], f32::INFINITY),
        };
        let steps = match &self.columns {
            Columns::Stored(stored) if !places.is_empty() => Some(stored.walk(places.start)),
            _ => None,
        };
        Walk { cuts: self, places, at, up_to, steps }
    }

    /// All of them, each with the one before it.
    pub fn steps(&self, places: Range<usize>) -> impl Iterator<Item = [Cut; 2]> {
        let mut walk = self.walk(places);
        let mut before = walk.next();
        walk.filter_map(move |cut| Some([before.replace(cut)?, cut]))
    }

    /// All of them, from the last to the first.
    pub fn backwards(&self) -> impl Iterator<Item = Cut> {
        let (known, place): (usize, Box<dyn Fn(usize) -> usize>) = match &self.columns {
            Columns::Stored(stored) => (stored.known(), Box::new(|known| stored.place(known))),
            _ => (self.len().div_ceil(EVERY), Box::new(|known| self.len().min(known * EVERY))),
        };
        let block = move |known: usize| place(known)..place(known + 1);
        (0..known).rev().flat_map(move |own| self.walk(block(own)).collect::<Vec<_>>().into_iter().rev())
    }

    /// The first of these cuts of which this no longer holds; it must hold first and then not.
    pub fn partition_point(&self, places: Range<usize>, holds: impl Fn(&Cut) -> bool) -> usize {
        let Range { mut start, mut end } = places;
        while end.saturating_sub(start) > 2 * EVERY {
            // A cut that is known.
            let middle = (start + (end - start) / 2) / EVERY * EVERY;
            if holds(&self.at(middle)) { start = middle + 1 } else { end = middle }
        }
        self.walk(start..end.max(start)).find(|cut| !holds(cut)).map_or(end.max(start), |cut| cut.place)
    }

    /// Cut `i`.
    ///
    /// # Panics
    /// If `i` is not below [`len`](Self::len).
    #[must_use]
    pub fn at(&self, i: usize) -> Cut {
        assert!(i < self.len(), "cut {i} of {}", self.len());
        match &self.columns {
            Columns::Alike(alike) => {
                let (at, up_to) = alike.from(i);
                Alike::cut(i, at, up_to, alike.after(at))
            }
            Columns::Sums(sums) => sums.cut(i),
            Columns::Stored(stored) => stored.walk(i).next(),
        }
    }

    /// Weight of all positives.
    #[must_use]
    pub fn positives(&self) -> f64 {
        match &self.columns {
            Columns::Alike(alike) => alike.keys[0].len() as f64,
            Columns::Sums(sums) => sums.true_positives[self.len() - 1],
            Columns::Stored(stored) => stored.totals[0],
        }
    }

    /// Weight of all negatives.
    #[must_use]
    pub fn negatives(&self) -> f64 {
        match &self.columns {
            Columns::Alike(alike) => alike.keys[1].len() as f64,
            Columns::Sums(sums) => sums.false_positives[self.len() - 1],
            Columns::Stored(stored) => stored.totals[1],
        }
    }

    /// All counts at cut `i`.
    ///
    /// # Panics
    /// If `i` is not below [`len`](Self::len).
    #[must_use]
    pub fn counts_at(&self, i: usize) -> Counts {
        self.counts_of(&self.at(i))
    }

    /// All counts at a cut.
    #[must_use]
    pub fn counts_of(&self, cut: &Cut) -> Counts {
        self.counts(cut.true_positives, cut.false_positives, cut.money)
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

    /// A threshold that makes the decisions of cut `i`; see [`Cut::threshold`].
    ///
    /// # Panics
    /// If `i` is not below [`len`](Self::len).
    #[must_use]
    pub fn threshold(&self, i: usize) -> f32 {
        self.at(i).threshold()
    }

    /// All thresholds that make the decisions of cut `i`.
    ///
    /// # Panics
    /// If `i` is not below [`len`](Self::len).
    #[must_use]
    pub fn range(&self, i: usize) -> ThresholdRange {
        self.at(i).range
    }

    /// The cut that a threshold makes.
    #[must_use]
    pub fn cut_of(&self, threshold: f32) -> usize {
        match &self.columns {
            _ if threshold.is_nan() => 0,
            Columns::Alike(alike) => {
                let key = descending(threshold);
                alike.place([0, 1].map(|class| alike.keys[class].partition_point(|other| *other <= key)))
            }
            Columns::Sums(sums) => sums.scores.partition_point(|score| *score >= threshold),
            Columns::Stored(stored) => stored.cut_of(threshold),
        }
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
        if matches!(rate, Rate::Cost | Rate::Profit) && !self.knows_money() {
            return Err(SampleError::NoAmounts { rate: rate.to_string() }.into());
        }
        let (positives, negatives) = rate.needs();
        self.require(|| rate.to_string(), positives, negatives)
    }
}

impl Sums {
    fn cut(&self, place: usize) -> Cut {
        let up_to = place.checked_sub(1).map_or(f32::INFINITY, |last| self.scores[last]);
        let above = self.scores.get(place).copied().unwrap_or(f32::NEG_INFINITY);
        Cut {
            place,
            range: ThresholdRange { above, up_to },
            true_positives: self.true_positives[place],
            false_positives: self.false_positives[place],
            money: self.money.get(place).copied().unwrap_or(0.0),
        }
    }
}

/// Cuts one after the other.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    cuts: &'a Cuts,
    places: Range<usize>,
    /// How many of each class the next one predicts positive, of rows that count alike.
    at: [usize; 2],
    up_to: f32,
    /// Of rows on disk.
    steps: Option<Steps>,
}

impl Iterator for Walk<'_> {
    type Item = Cut;

    fn next(&mut self) -> Option<Cut> {
        let place = self.places.next()?;
        if let Some(steps) = &mut self.steps {
            return Some(steps.next());
        }
        Some(match &self.cuts.columns {
            Columns::Alike(alike) => {
                let after = alike.after(self.at);
                let cut = Alike::cut(place, self.at, self.up_to, after);
                (self.up_to, self.at) = (cut.range.above, after.map_or(self.at, |(_, at)| at));
                cut
            }
            Columns::Sums(sums) => sums.cut(place),
            Columns::Stored(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::data::{random_case, unweighted};

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

    #[test]
    fn rows_that_count_alike_have_the_cuts_that_are_written_out() {
        for seed in 0..16 {
            let (sample, mut scores) = random_case(seed, 3000);
            scores.iter_mut().skip(1).step_by(3).for_each(|score| *score = -0.0);
            let sample = unweighted(&sample);
            let alike = Cuts::new(&sample, &scores).unwrap();
            let sums = Sorted::new(&sample, &scores).unwrap().cuts();
            assert!(matches!((&alike.columns, &sums.columns), (Columns::Alike(_), Columns::Sums(_))));
            let count = sums.len();
            let written: Vec<Cut> = sums.walk(0..count).collect();
            assert_eq!(alike.walk(0..alike.len()).collect::<Vec<Cut>>(), written);
            assert_eq!((alike.positives(), alike.negatives()), (sums.positives(), sums.negatives()));
            assert!(alike.backwards().eq(written.iter().rev().copied()));
            assert!(alike.steps(0..count).eq(written.windows(2).map(|pair| [pair[0], pair[1]])));
            for place in (0..count).step_by(1 + count / 200) {
                assert_eq!((alike.at(place), sums.at(place)), (written[place], written[place]));
                let ThresholdRange { above, up_to } = written[place].range;
                for threshold in [above, above.next_up(), up_to, up_to.next_up()] {
                    assert_eq!(alike.cut_of(threshold), sums.cut_of(threshold));
                }
                let holds = |cut: &Cut| cut.predicted() < written[place].predicted();
                for (range, found) in [
                    (0..count, place),
                    (place..count, place),
                    (place / 2..count, place),
                    (0..place, place),
                    (count..count, count),
                ] {
                    assert_eq!(alike.partition_point(range.clone(), holds), found, "{range:?}");
                    assert_eq!(sums.partition_point(range, holds), found);
                }
            }
        }
    }
}
