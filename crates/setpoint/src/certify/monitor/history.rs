//! The batches so far, for pictures: at most a few hundred, neighbours joined where there were more.

use serde::{Deserialize, Serialize};

/// Most moments that are kept.
const MOST: usize = 256;

/// The state of all conditions after a batch of labelled rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// Labelled rows so far.
    pub rows: u64,
    /// For each condition.
    pub points: Vec<Point>,
}

/// The state of one condition after a batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// What the rate counts in the batch.
    pub counted: f64,
    /// Out of how many.
    pub examples: f64,
    /// The logarithm of the evidence.
    pub log_evidence: f64,
    /// Ends of the interval for the rate over all batches so far.
    pub lower: f64,
    /// Its upper end.
    pub upper: f64,
}

/// The state of the hints after a batch without labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HintMoment {
    /// Rows without a label so far.
    pub rows: u64,
    /// Rows of the batch.
    pub batch: u64,
    /// How many of them were decided positive, or as each class.
    pub decided: Vec<u64>,
    /// The logarithm of the evidence of each hint.
    pub log_evidence: Vec<f64>,
}

/// Something that happened after something else.
pub(super) trait Joined {
    /// Takes in what happened just before.
    fn join(&mut self, before: &Self);
}

impl Joined for Moment {
    fn join(&mut self, before: &Self) {
        for (point, earlier) in self.points.iter_mut().zip(&before.points) {
            point.counted += earlier.counted;
            point.examples += earlier.examples;
        }
    }
}

impl Joined for HintMoment {
    fn join(&mut self, before: &Self) {
        self.batch += before.batch;
        self.decided.iter_mut().zip(&before.decided).for_each(|(own, before)| *own += before);
    }
}

/// Adds a moment, and joins each two where there are too many.
pub(super) fn push<M: Joined + Clone>(history: &mut Vec<M>, moment: M) {
    history.push(moment);
    if history.len() > MOST {
        let joined = history.chunks(2).map(|pair| {
            let mut last = pair[pair.len() - 1].clone();
            if let [first, _] = pair {
                last.join(first);
            }
            last
        });
        *history = joined.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_histories_are_joined_and_lose_no_row() {
        let mut history = Vec::new();
        for batch in 1..=5000_u64 {
            push(
                &mut history,
                HintMoment {
                    rows: 10 * batch,
                    batch: 10,
                    decided: vec![batch % 3],
                    log_evidence: Vec::new(),
                },
            );
        }
        assert!(history.len() <= MOST && history.len() > MOST / 2, "{}", history.len());
        assert_eq!(history.iter().map(|moment| moment.batch).sum::<u64>(), 50_000);
        assert_eq!(
            history.iter().map(|moment| moment.decided[0]).sum::<u64>(),
            (1..=5000_u64).map(|b| b % 3).sum::<u64>()
        );
        assert_eq!(history[history.len() - 1].rows, 50_000);
        assert!(history.is_sorted_by(|a, b| a.rows < b.rows));
    }
}
