//! The examples that share a threshold: all of them, or one group.

use super::claim::Slice;
use super::error::CertifyError;
use crate::sample::{Sample, SampleError};

/// Examples with one threshold, their labels and scores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cohort<'a> {
    pub sample: &'a Sample,
    pub scores: &'a [f32],
    /// The group's code; all examples without one.
    pub group: Option<usize>,
}

/// Decisions counted, each example once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub true_positives: u64,
    pub false_negatives: u64,
    pub false_positives: u64,
    pub true_negatives: u64,
}

impl<'a> Cohort<'a> {
    /// The cohorts of a sample: its groups if a column is asked for, else the whole.
    pub fn all(
        sample: &'a Sample,
        scores: &'a [f32],
        column: Option<&str>,
    ) -> Result<Vec<Self>, CertifyError> {
        let Some(column) = column else {
            return Ok(vec![Self { sample, scores, group: None }]);
        };
        let groups = sample.groups().ok_or_else(|| CertifyError::NoGroups { column: column.to_owned() })?;
        if groups.column() != column {
            let found = groups.column().to_owned();
            return Err(CertifyError::OtherColumn { expected: column.to_owned(), found });
        }
        Ok((0..groups.names().len()).map(|group| Self { sample, scores, group: Some(group) }).collect())
    }

    /// The group's name.
    pub fn name(&self) -> Option<&'a str> {
        Some(self.sample.groups()?.names()[self.group?].as_str())
    }

    /// Row numbers of the group; all rows where there is none.
    pub fn rows(&self) -> Option<&'a [u32]> {
        Some(self.sample.groups()?.rows(self.group?))
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.rows().map_or(self.scores.len(), <[u32]>::len)
    }

    /// Every row with its score and label. Adding zero makes -0.0 and 0.0 the same number.
    pub fn visit_rows(&self, mut visit: impl FnMut(usize, f32, bool)) {
        let labels = self.sample.labels();
        let mut at = |row: usize| visit(row, self.scores[row] + 0.0, labels[row]);
        match self.rows() {
            Some(rows) => rows.iter().for_each(|row| at(*row as usize)),
            None => (0..self.scores.len()).for_each(at),
        }
    }

    /// Every score with its label.
    pub fn visit(&self, mut visit: impl FnMut(f32, bool)) {
        self.visit_rows(|_, score, label| visit(score, label));
    }

    /// The scores of one label, or all.
    pub fn scores_of(&self, slice: Slice) -> Vec<f32> {
        let mut scores = Vec::with_capacity(self.len());
        self.visit(|score, label| {
            let inside = match slice {
                Slice::Positives => label,
                Slice::Negatives => !label,
                _ => true,
            };
            if inside {
                scores.push(score);
            }
        });
        scores
    }

    /// The decisions of a threshold.
    pub fn tally(&self, threshold: f32) -> Tally {
        let mut counts = [0_u64; 4];
        self.visit(|score, label| counts[usize::from(label) * 2 + usize::from(score >= threshold)] += 1);
        let [true_negatives, false_positives, false_negatives, true_positives] = counts;
        Tally { true_positives, false_negatives, false_positives, true_negatives }
    }

    /// The error for a slice without examples.
    pub fn without(&self, missing: &'static str, rate: String) -> SampleError {
        match (self.sample.groups(), self.name()) {
            (Some(groups), Some(group)) => SampleError::GroupWithoutClass {
                column: groups.column().to_owned(),
                group: group.to_owned(),
                missing,
                rate,
            },
            _ => SampleError::OneClass { missing, rows: self.scores.len(), rate },
        }
    }
}

/// Refuses weights that differ: a binomial test counts examples, each once.
pub(super) fn check_weights(sample: &Sample) -> Result<(), CertifyError> {
    Weights::default().add(sample)
}

/// Weights that must not differ.
#[derive(Default)]
pub(super) struct Weights {
    first: Option<f32>,
    rows: usize,
}

impl Weights {
    /// Refuses those of more rows where they differ.
    pub fn add(&mut self, sample: &Sample) -> Result<(), CertifyError> {
        let weights = sample.weights().unwrap_or_default();
        let first = *self.first.get_or_insert(weights.first().copied().unwrap_or(1.0));
        if let Some(place) = weights.iter().position(|weight| *weight != first) {
            return Err(CertifyError::Weighted { first, index: self.rows + place, other: weights[place] });
        }
        self.rows += sample.len();
        Ok(())
    }
}
