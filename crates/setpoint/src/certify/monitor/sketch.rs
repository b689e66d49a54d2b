//! The scores of the calibration part in few numbers, to hold later scores against.

use super::hint::Known;
use crate::sample::Sample;

/// Quantiles of all scores, and of those of the positives, at which scores are counted.
const QUANTILES: [usize; 2] = [16, 8];

/// How many scores of each class lie between some quantiles, and how many rows were decided positive.
#[derive(Clone, Debug, PartialEq)]
pub struct Sketch {
    /// Ascending, at least one.
    pub edges: Vec<f32>,
    /// Negatives and positives below the first edge, then from each edge to the next.
    pub counts: Vec<[u64; 2]>,
    /// Rows decided positive; left undecided, where some are.
    pub decided: u64,
}

impl Sketch {
    /// The sketch of labelled scores, of which `decided` were decided positive; `None` where rows come in
    /// entities, which it could not tell from draws.
    #[must_use]
    pub fn of(sample: &Sample, scores: &[f32], decided: u64) -> Option<Self> {
        if sample.together().is_some() || scores.is_empty() {
            return None;
        }
        let edges = edges(sample.labels(), scores);
        let counts = count(&edges, sample.labels(), scores);
        Some(Self { edges, counts, decided })
    }

    /// One that a file held; `None` where it makes no sense.
    #[must_use]
    pub fn checked(edges: Vec<f32>, counts: Vec<[u64; 2]>, decided: u64) -> Option<Self> {
        let sketch = Self { edges, counts, decided };
        let rows = sketch.counts.iter().flatten().try_fold(0_u64, |sum, count| sum.checked_add(*count))?;
        let sound = sketch.edges.iter().all(|edge| edge.is_finite())
            && sketch.edges.is_sorted_by(|a, b| a < b)
            && !sketch.edges.is_empty()
            && sketch.counts.len() == sketch.edges.len() + 1
            && rows > 0
            && decided <= rows;
        sound.then_some(sketch)
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }

    /// What rows without labels are held against: the share decided positive, and those at or above each edge.
    #[must_use]
    pub fn known(&self) -> Vec<Known> {
        let total = self.rows();
        [vec![self.decided], self.above(None)].map(|counts| Known { counts, total }).to_vec()
    }

    /// The same of other rows, of which `decided` were decided positive.
    #[must_use]
    pub fn seen(&self, scores: &[f32], decided: u64) -> Vec<Vec<u64>> {
        let mut cells = vec![0; self.edges.len() + 1];
        for score in scores {
            cells[self.edges.partition_point(|edge| edge <= score)] += 1;
        }
        for place in (1..cells.len()).rev() {
            cells[place - 1] += cells[place];
        }
        vec![vec![decided], cells.split_off(1)]
    }

    /// How many scores of a class, or of both, are at or above each edge.
    #[must_use]
    pub fn above(&self, class: Option<bool>) -> Vec<u64> {
        let of = |[negatives, positives]: &[u64; 2]| match class {
            Some(true) => *positives,
            Some(false) => *negatives,
            None => negatives + positives,
        };
        let mut above: Vec<u64> = self.counts[1..].iter().map(of).collect();
        for place in (1..above.len()).rev() {
            above[place - 1] += above[place];
        }
        above
    }
}

/// Quantiles of the scores and of those of the positives, different ones.
pub(crate) fn edges(labels: &[bool], scores: &[f32]) -> Vec<f32> {
    let mut edges = Vec::new();
    for (parts, positives) in QUANTILES.into_iter().zip([false, true]) {
        let of = scores.iter().zip(labels).filter(|(_, label)| !positives || **label);
        let mut sorted: Vec<f32> = of.map(|(score, _)| score + 0.0).collect();
        sorted.sort_unstable_by(f32::total_cmp);
        if !sorted.is_empty() {
            edges.extend((1..parts).map(|part| sorted[part * sorted.len() / parts]));
        }
    }
    edges.sort_unstable_by(f32::total_cmp);
    edges.dedup();
    edges
}

/// Negatives and positives between edges.
pub(crate) fn count(edges: &[f32], labels: &[bool], scores: &[f32]) -> Vec<[u64; 2]> {
    let mut counts = vec![[0; 2]; edges.len() + 1];
    for (score, label) in scores.iter().zip(labels) {
        counts[edges.partition_point(|edge| edge <= score)][usize::from(*label)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_at_or_above_each_edge_are_counted() {
        let scores: Vec<f32> = (0..1000).map(|row| ((row * 7) % 500) as f32).collect();
        let labels: Vec<bool> = (0..1000).map(|row| row % 13 == 0).collect();
        let sample = Sample::new(labels.clone()).unwrap();
        let sketch = Sketch::of(&sample, &scores, 10).unwrap();
        assert!(sketch.edges.len() <= 22 && sketch.rows() == 1000);
        for class in [None, Some(false), Some(true)] {
            let slow = sketch.edges.iter().map(|edge| {
                let of =
                    |row: &usize| class.is_none_or(|class| labels[*row] == class) && scores[*row] >= *edge;
                (0..1000).filter(of).count() as u64
            });
            assert_eq!(sketch.above(class), slow.collect::<Vec<_>>());
        }
        let same = Sketch::checked(sketch.edges.clone(), sketch.counts.clone(), 10);
        assert_eq!(same.as_ref(), Some(&sketch));
        assert_eq!(Sketch::checked(vec![1.0, 1.0], sketch.counts.clone(), 10), None);
        assert_eq!(Sketch::checked(sketch.edges.clone(), sketch.counts, 1001), None);
    }
}
