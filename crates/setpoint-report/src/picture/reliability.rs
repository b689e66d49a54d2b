//! What a score is worth: the share of positives among rows of about that score.

use serde::Serialize;
use setpoint::metric::Cuts;
use setpoint::metric::interval::clopper_pearson;

/// Bins of the curve.
const BINS: usize = 16;

/// Rows of neighbouring scores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReliabilityBin {
    /// Their mean score.
    pub score: f64,
    /// How many they are, by weight.
    pub rows: f64,
    /// Positives among them.
    pub positives: f64,
    /// The share of positives.
    pub share: f64,
    /// Lower end of its exact interval.
    pub lower: Option<f64>,
    /// Upper end.
    pub upper: Option<f64>,
}

/// Bins from the lowest scores to the highest.
///
/// Each holds the same part of the rows when both classes weigh the same: where positives are rare,
/// bins of equal rows would all but one hold none.
pub(super) fn bins(cuts: &Cuts, weighted: bool, confidence: f64) -> Vec<ReliabilityBin> {
    let (positives, negatives) = (cuts.positives(), cuts.negatives());
    let share = |count: f64, all: f64| if all > 0.0 { count / all } else { 0.0 };
    let classes = f64::from(u8::from(positives > 0.0)) + f64::from(u8::from(negatives > 0.0));
    let mut bins = Vec::with_capacity(BINS);
    let (mut start, mut scores, mut full) = (cuts.at(0), 0.0, 1.0 / BINS as f64);
    for [before, cut] in cuts.steps(0..cuts.len()) {
        scores += f64::from(cut.range.up_to)
            * (cut.true_positives - before.true_positives + cut.false_positives - before.false_positives);
        let balanced =
            (share(cut.true_positives, positives) + share(cut.false_positives, negatives)) / classes;
        if balanced < full - 1e-12 && cut.place < cuts.len() - 1 {
            continue;
        }
        let of_bin = cut.true_positives - start.true_positives;
        let rows = of_bin + (cut.false_positives - start.false_positives);
        let interval =
            if weighted { None } else { clopper_pearson(of_bin as u64, rows as u64, confidence).ok() };
        bins.push(ReliabilityBin {
            score: scores / rows,
            rows,
            positives: of_bin,
            share: of_bin / rows,
            lower: interval.map(|interval| interval.lower),
            upper: interval.map(|interval| interval.upper),
        });
        // A score that many rows share may fill more than one.
        (start, scores, full) = (cut, 0.0, ((balanced * BINS as f64 + 1e-9).floor() + 1.0) / BINS as f64);
    }
    bins.reverse();
    bins
}
