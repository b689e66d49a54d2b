//! Labelled rows with a score each: in memory, or where they are too many for it, in pieces on disk.
//!
//! Counts are added up row by row over one piece after the other, so that they have the bits that they have over all
//! rows at once.

mod stored;

use std::borrow::Cow;

pub use stored::StoredRows;

use super::{Cuts, MetricError};
use crate::sample::Sample;
use crate::scratch::ScratchError;

/// What rows are, but for their labels and scores.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// How many there are.
    pub rows: usize,
    /// How many of them are positive.
    pub positives: usize,
    /// Whether they have weights.
    pub weighted: bool,
    /// The column of their groups, and the groups' names.
    pub groups: Option<(&'a str, &'a [String])>,
    /// Whether several are of one entity.
    pub together: bool,
}

impl About<'_> {
    /// The rows of the class that has fewer.
    #[must_use]
    pub fn fewer(&self) -> usize {
        self.positives.min(self.rows - self.positives)
    }
}

/// Labelled rows with a score each.
pub trait Rows: Sync {
    /// What they are.
    fn about(&self) -> About<'_>;

    /// All of them, one piece after the other.
    fn each(&self, take: &mut dyn FnMut(&Sample, &[f32]));

    /// All of them in memory.
    ///
    /// # Errors
    /// If they cannot be read.
    fn whole(&self) -> Result<(Cow<'_, Sample>, Cow<'_, [f32]>), MetricError>;

    /// The cumulative counts at every cut.
    ///
    /// # Errors
    /// If they cannot be sorted.
    fn cuts(&self) -> Result<Cuts, MetricError> {
        let (sample, scores) = self.whole()?;
        Cuts::new(&sample, &scores)
    }

    /// Whether all could be read.
    ///
    /// # Errors
    /// If some could not.
    fn check(&self) -> Result<(), ScratchError> {
        Ok(())
    }

    /// Some of them, which ascend.
    ///
    /// # Errors
    /// If they cannot be read.
    fn pick(&self, rows: &[u32]) -> Result<(Sample, Vec<f32>), MetricError> {
        let (mut first, mut next, mut picked) = (0, 0, Gathered::default());
        self.each(&mut |sample, scores| {
            let end = next + rows[next..].partition_point(|row| (*row as usize) < first + sample.len());
            let own: Vec<u32> = rows[next..end].iter().map(|row| row - first as u32).collect();
            (first, next) = (first + sample.len(), end);
            picked.add(&sample.select(&own), own.iter().filter_map(|row| scores.get(*row as usize).copied()));
        });
        picked.finish(self.about().groups)
    }
}

impl Rows for (&Sample, &[f32]) {
    fn about(&self) -> About<'_> {
        let (sample, _) = self;
        About {
            rows: sample.len(),
            positives: sample.labels().iter().filter(|label| **label).count(),
            weighted: sample.weights().is_some(),
            groups: sample.groups().map(|groups| (groups.column(), groups.names())),
            together: sample.together().is_some(),
        }
    }

    fn each(&self, take: &mut dyn FnMut(&Sample, &[f32])) {
        take(self.0, self.1);
    }

    fn whole(&self) -> Result<(Cow<'_, Sample>, Cow<'_, [f32]>), MetricError> {
        Ok((Cow::Borrowed(self.0), Cow::Borrowed(self.1)))
    }

    fn pick(&self, rows: &[u32]) -> Result<(Sample, Vec<f32>), MetricError> {
        Ok((self.0.select(rows), rows.iter().filter_map(|row| self.1.get(*row as usize).copied()).collect()))
    }
}

/// Rows of several pieces, put together.
#[derive(Default)]
struct Gathered {
    labels: Vec<bool>,
    weights: Vec<f32>,
    codes: Vec<u32>,
    scores: Vec<f32>,
}

impl Gathered {
    fn add(&mut self, sample: &Sample, scores: impl Iterator<Item = f32>) {
        self.labels.extend_from_slice(sample.labels());
        self.weights.extend_from_slice(sample.weights().unwrap_or_default());
        self.codes.extend_from_slice(sample.groups().map_or(&[], |groups| groups.codes()));
        self.scores.extend(scores);
    }

    fn finish(self, groups: Option<(&str, &[String])>) -> Result<(Sample, Vec<f32>), MetricError> {
        let mut sample = Sample::new(self.labels)?;
        if !self.weights.is_empty() {
            sample = sample.with_weights(self.weights)?;
        }
        if let Some((column, names)) = groups {
            sample = sample.with_some_groups(column, names.to_vec(), self.codes)?;
        }
        Ok((sample, self.scores))
    }
}

/// The rows of one group.
#[derive(Clone, Copy)]
pub struct OfGroup<'a> {
    /// Those of all groups.
    pub rows: &'a dyn Rows,
    /// The place of the group among the names.
    pub group: usize,
}

impl Rows for OfGroup<'_> {
    fn about(&self) -> About<'_> {
        let mut about = About { rows: 0, positives: 0, together: false, ..self.rows.about() };
        self.each(&mut |sample, _| {
            about.rows += sample.len();
            about.positives += sample.labels().iter().filter(|label| **label).count();
            about.together |= sample.together().is_some();
        });
        about
    }

    fn each(&self, take: &mut dyn FnMut(&Sample, &[f32])) {
        self.rows.each(&mut |sample, scores| {
            let own = sample.groups().map_or(&[][..], |groups| groups.rows(self.group));
            let scores: Vec<f32> = own.iter().map(|row| scores[*row as usize]).collect();
            take(&sample.select(own), &scores);
        });
    }

    fn whole(&self) -> Result<(Cow<'_, Sample>, Cow<'_, [f32]>), MetricError> {
        let (sample, scores) = self.rows.whole()?;
        let own = sample.groups().map_or(&[][..], |groups| groups.rows(self.group));
        let scores = own.iter().map(|row| scores[*row as usize]).collect();
        Ok((Cow::Owned(sample.select(own)), Cow::Owned(scores)))
    }
}
