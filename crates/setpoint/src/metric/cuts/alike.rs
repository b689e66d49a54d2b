//! Cuts of rows that all count alike: the sorted scores of each class, whose places are the counts.

use super::{Cut, ThresholdRange};
use crate::metric::sort::{descending, score_of, sort_keys};
use crate::sample::Sample;

/// Every so many cuts one is known.
pub(super) const EVERY: usize = 128;

/// Rows that count alike.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Alike {
    /// Keys of the positives' and of the negatives' scores, ascending, so that the scores descend.
    pub keys: [Vec<u32>; 2],
    /// How many of each the cuts `0, EVERY, 2 EVERY, ...` predict positive.
    marks: Vec<[u32; 2]>,
    pub cuts: usize,
}

impl Alike {
    pub fn new(sample: &Sample, scores: &[f32]) -> Self {
        let positives = sample.labels().iter().filter(|label| **label).count();
        let labelled = |label: bool, count: usize| {
            let own = sample.labels().iter().zip(scores).filter(|(own, _)| **own == label);
            let mut keys = Vec::with_capacity(count);
            keys.extend(own.map(|(_, score)| descending(*score)));
            sort_keys(keys)
        };
        let (positives, negatives) =
            rayon::join(|| labelled(true, positives), || labelled(false, sample.len() - positives));
        let mut alike = Self { keys: [positives, negatives], marks: Vec::new(), cuts: 0 };
        let mut next = Some([0; 2]);
        while let Some(at) = next {
            if alike.cuts.is_multiple_of(EVERY) {
                alike.marks.push(at.map(|count| count as u32));
            }
            alike.cuts += 1;
            next = alike.after(at).map(|(_, at)| at);
        }
        alike
    }

    /// The next lower score, and how many of each class are predicted positive with it.
    pub fn after(&self, at: [usize; 2]) -> Option<(u32, [usize; 2])> {
        let [positives, negatives] = [0, 1].map(|class| self.keys[class].get(at[class]));
        let key = *positives.into_iter().chain(negatives).min()?;
        Some((key, [0, 1].map(|class| at[class] + ties(&self.keys[class][at[class]..], key))))
    }

    /// How many of each class a cut predicts positive, and the smallest score of them.
    pub fn from(&self, place: usize) -> ([usize; 2], f32) {
        let mark = self.marks[place / EVERY].map(|count| count as usize);
        let at = (0..place % EVERY).fold(mark, |at, _| self.after(at).map_or(at, |(_, at)| at));
        let last = [0, 1].map(|class| at[class].checked_sub(1).map(|last| self.keys[class][last]));
        (at, last.into_iter().flatten().max().map_or(f32::INFINITY, score_of))
    }

    pub fn cut(place: usize, at: [usize; 2], up_to: f32, after: Option<(u32, [usize; 2])>) -> Cut {
        let above = after.map_or(f32::NEG_INFINITY, |(key, _)| score_of(key));
        let [true_positives, false_positives] = at.map(|count| count as f64);
        let range = ThresholdRange { above, up_to };
        Cut { place, range, true_positives, false_positives, money: 0.0 }
    }

    /// The cut that predicts so many positive.
    pub fn place(&self, at: [usize; 2]) -> usize {
        let before = |mark: &[u32; 2]| mark[0] as usize + mark[1] as usize <= at[0] + at[1];
        let block = self.marks.partition_point(before) - 1;
        let (mut place, mut found) = (block * EVERY, self.marks[block].map(|count| count as usize));
        while found != at {
            let Some((_, next)) = self.after(found) else { break };
            (place, found) = (place + 1, next);
        }
        place
    }
}

/// How many keys at the start are this one.
fn ties(keys: &[u32], key: u32) -> usize {
    let (mut known, mut step) = (0, 1);
    while keys.get(known + step - 1).is_some_and(|other| *other == key) {
        known += step;
        step *= 2;
    }
    let end = keys.len().min(known + step - 1);
    known + keys[known..end].partition_point(|other| *other == key)
}
