//! Scores by class, in bars.

use serde::Serialize;
use setpoint::metric::Cuts;

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
        let above = |cut: usize| (cuts.true_positives()[cut] + cuts.false_positives()[cut]) / all;
        let scores = cuts.scores();
        let first = |share: f64| {
            let (mut from, mut to) = (0, scores.len());
            while from < to {
                let middle = (from + to) / 2;
                (from, to) = if above(middle + 1) < share { (middle + 1, to) } else { (from, middle) };
            }
            scores.get(from).or(scores.last()).copied().map_or(0.0, f64::from)
        };
        let (mut sum, mut squares, mut before) = (0.0, 0.0, 0.0);
        for (cut, score) in scores.iter().enumerate() {
            let (score, now) = (f64::from(*score), above(cut + 1));
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

impl Histogram {
    pub(super) fn of(cuts: &Cuts, (from, to): (f64, f64)) -> Self {
        let mut counts = [vec![0.0; BARS], vec![0.0; BARS]];
        let mut beyond = [[0.0; 2]; 2];
        let by_class = [cuts.true_positives(), cuts.false_positives()];
        for (cut, score) in cuts.scores().iter().enumerate() {
            let place = (f64::from(*score) - from) / (to - from) * BARS as f64;
            for (class, found) in by_class.iter().enumerate() {
                let here = found[cut + 1] - found[cut];
                if place < 0.0 {
                    beyond[class][0] += here;
                } else if place > BARS as f64 {
                    beyond[class][1] += here;
                } else {
                    counts[class][(place as usize).min(BARS - 1)] += here;
                }
            }
        }
        let share = |count: f64, all: f64| if all > 0.0 { count / all } else { 0.0 };
        let [positives, negatives] = counts;
        let (of_positives, of_negatives) = (cuts.positives(), cuts.negatives());
        Self {
            from,
            to,
            positives: positives.into_iter().map(|count| share(count, of_positives)).collect(),
            negatives: negatives.into_iter().map(|count| share(count, of_negatives)).collect(),
            positives_beyond: beyond[0].map(|count| share(count, of_positives)),
            negatives_beyond: beyond[1].map(|count| share(count, of_negatives)),
        }
    }

    /// The bars of a class: from, to, share.
    pub(crate) fn bars(&self, shares: &[f64]) -> Vec<(f64, f64, f64)> {
        let width = (self.to - self.from) / shares.len().max(1) as f64;
        let bar = |place: usize| self.from + place as f64 * width;
        shares.iter().enumerate().map(|(place, share)| (bar(place), bar(place + 1), *share)).collect()
    }
}
