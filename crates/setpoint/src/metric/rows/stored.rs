//! Rows that are too many for memory, column by column of each piece in a scratch file.

use std::borrow::Cow;
use std::sync::Arc;

use super::{About, Gathered, Rows};
use crate::metric::{Cuts, MetricError};
use crate::sample::{Sample, SampleError};
use crate::scratch::{Scratch, ScratchError};

/// Rows in a scratch file: labels, weights, groups, scores.
#[derive(Debug)]
pub struct StoredRows {
    scratch: Arc<Scratch>,
    /// Bytes that sorting them may take.
    memory: usize,
    pieces: Vec<Piece>,
    rows: usize,
    positives: usize,
    weighted: bool,
    column: Option<String>,
    /// Names of groups, in their order once all rows are there, and for each as it was found its place among them.
    names: Vec<String>,
    place: Vec<u32>,
}

/// Where the columns of some rows are.
#[derive(Debug)]
struct Piece {
    rows: usize,
    labels: u64,
    weights: u64,
    codes: u64,
    scores: u64,
}

impl StoredRows {
    /// No rows yet, in this file; to sort them takes so many bytes of memory.
    #[must_use]
    pub fn new(scratch: Scratch, memory: usize) -> Self {
        Self {
            scratch: Arc::new(scratch),
            memory,
            pieces: Vec::new(),
            rows: 0,
            positives: 0,
            weighted: false,
            column: None,
            names: Vec::new(),
            place: Vec::new(),
        }
    }

    /// Adds rows, which have weights and groups if those before have.
    ///
    /// # Errors
    /// If they do not fit their scores, are too many, or the disk is full.
    pub fn push(&mut self, sample: &Sample, scores: &[f32]) -> Result<(), MetricError> {
        sample.check_scores(scores)?;
        let (rows, limit) = (self.rows + sample.len(), u32::MAX as usize);
        if rows > limit {
            return Err(SampleError::TooLarge { rows, limit }.into());
        }
        self.rows = rows;
        let labels: Vec<u8> = sample.labels().iter().map(|label| u8::from(*label)).collect();
        self.positives += labels.iter().filter(|label| **label == 1).count();
        self.weighted = sample.weights().is_some();
        let mut codes = Vec::new();
        if let Some(groups) = sample.groups() {
            self.column = Some(groups.column().to_owned());
            let place = |name: &String| {
                self.names.iter().position(|found| found == name).unwrap_or_else(|| {
                    self.names.push(name.clone());
                    self.names.len() - 1
                })
            };
            let places: Vec<usize> = groups.names().iter().map(place).collect();
            codes.extend(groups.codes().iter().map(|code| places[*code as usize] as u32));
        }
        self.pieces.push(Piece {
            rows: sample.len(),
            labels: write(&self.scratch, &labels)?,
            weights: write(&self.scratch, sample.weights().unwrap_or_default())?,
            codes: write(&self.scratch, &codes)?,
            scores: write(&self.scratch, scores)?,
        });
        Ok(())
    }

    /// The same, complete.
    #[must_use]
    pub fn finish(mut self) -> Self {
        let found = std::mem::take(&mut self.names);
        self.names.clone_from(&found);
        self.names.sort_unstable();
        self.place =
            found.iter().map(|name| self.names.partition_point(|other| other < name) as u32).collect();
        self
    }

    fn read(&self, piece: &Piece) -> Result<(Sample, Vec<f32>), MetricError> {
        fn column<T: Clone + Default + crate::scratch::Pod>(
            scratch: &Scratch,
            at: u64,
            rows: usize,
        ) -> Vec<T> {
            let mut values = vec![T::default(); rows];
            scratch.read_or_note(at, &mut values);
            values
        }
        let Piece { rows, labels, weights, codes, scores } = *piece;
        let labels: Vec<u8> = column(&self.scratch, labels, rows);
        let mut sample = Sample::new(labels.into_iter().map(|label| label == 1).collect())?;
        if self.weighted {
            sample = sample.with_weights(column(&self.scratch, weights, rows))?;
        }
        if let Some(name) = &self.column {
            let codes: Vec<u32> = column(&self.scratch, codes, rows);
            let place = |code: u32| self.place.get(code as usize).copied().unwrap_or(u32::MAX);
            let codes = codes.into_iter().map(place).collect();
            sample = sample.with_some_groups(name, self.names.clone(), codes)?;
        }
        Ok((sample, column(&self.scratch, scores, rows)))
    }
}

fn write<T: crate::scratch::Pod>(scratch: &Scratch, values: &[T]) -> Result<u64, ScratchError> {
    let at = scratch.reserve(size_of_val(values));
    scratch.write(at, values)?;
    Ok(at)
}

impl Rows for StoredRows {
    fn about(&self) -> About<'_> {
        About {
            rows: self.rows,
            positives: self.positives,
            weighted: self.weighted,
            groups: self.column.as_deref().map(|column| (column, &self.names[..])),
            together: false,
        }
    }

    fn each(&self, take: &mut dyn FnMut(&Sample, &[f32])) {
        // What could not be read makes no sample, or a wrong one; `check` says so.
        for (sample, scores) in self.pieces.iter().filter_map(|piece| self.read(piece).ok()) {
            take(&sample, &scores);
        }
    }

    fn whole(&self) -> Result<(Cow<'_, Sample>, Cow<'_, [f32]>), MetricError> {
        let mut all = Gathered::default();
        self.each(&mut |sample, scores| all.add(sample, scores.iter().copied()));
        let (sample, scores) = all.finish(self.about().groups)?;
        Ok((Cow::Owned(sample), Cow::Owned(scores)))
    }

    fn cuts(&self) -> Result<Cuts, MetricError> {
        Cuts::on_disk(self, &self.scratch, self.memory)
    }

    fn check(&self) -> Result<(), ScratchError> {
        self.scratch.check()
    }
}
