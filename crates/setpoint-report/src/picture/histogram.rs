//! Scores by class, in bars.

use serde::Serialize;
use setpoint::metric::{Cut, Cuts};

/// Bars of a histogram.
const BARS: usize = 48;
/// Share of the rows beyond each end of the whole picture, at most.
const TAIL: f64 = 0.0005;

/// The shares of each class by score, in equal bars.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Histogram {
    /// Where the first bar starts.
    pub from: f64,
    /// Where the last one ends.
    pub to: f64,
    /// The share of the positives in each bar.
    pub positives: Vec<f64>,
    /// The share of the negatives in each bar.
    pub negatives: Vec<f64>,
    /// The share of the positives below and above.
    pub positives_beyond: [f64; 2],
    /// The share of the negatives below and above.
    pub negatives_beyond: [f64; 2],
}

/// Where the scores lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    low: f64,
    high: f64,
    deviation: f64,
}

impl Spread {
    pub(super) fn of(cuts: &Cuts) -> Self {
        let all = cuts.positives() + cuts.negatives();
        let first = |share: f64| {
            let cut = cuts.partition_point(1..cuts.len(), |cut| cut.predicted() / all < share);
            f64::from(cuts.at(cut.min(cuts.len() - 1)).range.up_to)
        };
        let (mut sum, mut squares, mut before) = (0.0, 0.0, 0.0);
        for cut in cuts.walk(1..cuts.len()) {
            let (score, now) = (f64::from(cut.range.up_to), cut.predicted() / all);
            sum += score * (now - before);
            squares += score * score * (now - before);
            before = now;
        }
        let deviation = (squares - sum * sum).max(0.0).sqrt();
        Self { low: first(1.0 - TAIL), high: first(TAIL), deviation }
    }

    /// Nearly all scores, and the threshold.
    pub(super) fn whole(&self, threshold: f32) -> (f64, f64) {
        let threshold = f64::from(threshold);
        widened(self.low.min(threshold), self.high.max(threshold))
    }

    /// Those within a standard deviation of the threshold, as far as there are any.
    pub(super) fn near(&self, threshold: f32) -> (f64, f64) {
        let threshold = f64::from(threshold);
        let (from, to) = (threshold - self.deviation, threshold + self.deviation);
        let room = 0.02 * self.deviation;
        widened(from.max(self.low.min(threshold) - room), to.min(self.high.max(threshold) + room))
    }
}

/// A range that can be cut into bars.
fn widened(from: f64, to: f64) -> (f64, f64) {
    let least = 1e-4 * from.abs().max(to.abs()).max(1e-3);
    if to - from > least { (from, to) } else { (from - least, to + least) }
}

/// The lowest score at or above an edge.
fn lowest(edge: f64) -> f32 {
    let near = edge as f32;
    if f64::from(near) < edge { near.next_up() } else { near }
}

impl Histogram {
    pub(super) fn of(cuts: &Cuts, (from, to): (f64, f64)) -> Self {
        // Counts above the edges of the bars, from the first: the counts are cumulative already.
        let edge = |bar: usize| from + (to - from) * bar as f64 / BARS as f64;
        let cut_above = |edge: f64| cuts.at(cuts.cut_of(lowest(edge)));
        let mut at: Vec<Cut> = (0..=BARS).map(|bar| cut_above(edge(bar))).collect();
        // The last bar holds its upper end too.
        at[BARS] = cut_above(to.next_up());
        let ends = [cuts.at(0), cuts.at(cuts.len() - 1)];
        let shares = |found: fn(&Cut) -> f64| {
            let all = found(&ends[1]);
            let share = |from: &Cut, to: &Cut| if all > 0.0 { (found(from) - found(to)) / all } else { 0.0 };
            let bars: Vec<f64> = at.windows(2).map(|pair| share(&pair[0], &pair[1])).collect();
            (bars, [share(&ends[1], &at[0]), share(&at[BARS], &ends[0])])
        };
        let (positives, positives_beyond) = shares(|cut| cut.true_positives);
        let (negatives, negatives_beyond) = shares(|cut| cut.false_positives);
        Self { from, to, positives, negatives, positives_beyond, negatives_beyond }
    }

    /// The bars of a class: from, to, share.
    pub(crate) fn bars(&self, shares: &[f64]) -> Vec<(f64, f64, f64)> {
        let width = (self.to - self.from) / shares.len().max(1) as f64;
        let bar = |place: usize| self.from + place as f64 * width;
        shares.iter().enumerate().map(|(place, share)| (bar(place), bar(place + 1), *share)).collect()
    }
}
