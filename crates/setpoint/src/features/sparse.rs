//! Sparse features in compressed rows (CSR).
//!
//! Forward: each row's dot product. Backward: each chunk of rows scatters into sums of its own,
//! and the sums are added in the order of the chunks. Sums are as wide as the matrix, so a chunk
//! holds several times as many values as there are columns, which keeps zeroing and adding them
//! a small part of the pass. A second copy by columns (CSC) would do without sums, for twice the
//! memory; measured on one thread, it gained 25% at most, and nothing at 200,000 x 10,000.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use rayon::prelude::*;

use super::{Work, add_in_order, check_shape};
use crate::model::{ModelError, check_length};

/// A forward chunk has this many rows.
const ROWS: usize = 256;
/// At most this many backward chunks, and so copies of the column sums.
const CHUNKS: usize = 32;
/// A backward chunk holds at least this many values, and this many for each column.
const CHUNK_VALUES: usize = 1 << 14;
const VALUES_PER_COLUMN: usize = 4;

/// Compressed rows: row i has `values[starts[i]..starts[i + 1]]` in the columns
/// `indices[starts[i]..starts[i + 1]]`, in any order; repeated columns add up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sparse {
    /// Number of columns.
    pub columns: usize,
    /// Where each row starts in `indices` and `values`; one more entry than rows.
    pub starts: Vec<usize>,
    /// Column of each entry.
    pub indices: Vec<u32>,
    /// The entries.
    pub values: Vec<f32>,
}

impl Sparse {
    pub(super) fn check(&self) -> Result<(), ModelError> {
        let Self { columns, starts, indices, values } = self;
        let columns = *columns;
        check_shape(starts.len().saturating_sub(1), columns)?;
        check_length("column numbers", values.len(), indices.len())?;
        let row_start =
            |entry: usize| ModelError::RowStart { entry, got: starts[entry], values: values.len() };
        if starts[0] != 0 {
            return Err(row_start(0));
        }
        if let Some(entry) =
            (1..starts.len()).find(|i| starts[*i] < starts[i - 1] || starts[*i] > values.len())
        {
            return Err(row_start(entry));
        }
        if starts[starts.len() - 1] != values.len() {
            return Err(row_start(starts.len() - 1));
        }
        let row_of = |at: usize| starts.partition_point(|start| *start <= at) - 1;
        if let Some(at) = indices.par_iter().position_first(|column| *column as usize >= columns) {
            return Err(ModelError::Column { row: row_of(at), column: indices[at], columns });
        }
        if let Some(at) = values.par_iter().position_first(|value| !value.is_finite()) {
            let column = indices[at] as usize;
            return Err(ModelError::Feature { row: row_of(at), column, value: values[at] });
        }
        Ok(())
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Where the entries of one row are.
    ///
    /// # Panics
    /// If `row` is not below [`Sparse::rows`].
    #[must_use]
    pub fn range(&self, row: usize) -> Range<usize> {
        self.starts[row]..self.starts[row + 1]
    }

    /// Columns and values of a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn entries(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.range(row);
        (&self.indices[range.clone()], &self.values[range])
    }

    pub(super) fn no_rows(&self) -> Self {
        Self { columns: self.columns, starts: vec![0], indices: Vec::new(), values: Vec::new() }
    }

    pub(super) fn gather(&self, rows: &[u32], into: &mut Self) {
        into.starts.truncate(1);
        into.indices.clear();
        into.values.clear();
        for row in rows {
            let (indices, values) = self.entries(*row as usize);
            into.indices.extend_from_slice(indices);
            into.values.extend_from_slice(values);
            into.starts.push(into.values.len());
        }
    }

    /// The same rows, but for these columns, which row i has of row `order[i]`. Columns that ascend still do.
    ///
    /// # Panics
    /// If there is a row for which there is no number, or no row of that number.
    #[must_use]
    pub fn shuffled(&self, columns: &Range<usize>, order: &[u32]) -> Self {
        let mut shuffled = self.no_rows();
        let (first, end) = (columns.start as u32, columns.end as u32);
        for (row, other) in order.iter().enumerate() {
            let mut take = |row: usize, is_taken: &dyn Fn(u32) -> bool| {
                let (indices, values) = self.entries(row);
                let taken = indices.iter().zip(values).filter(|(column, _)| is_taken(**column));
                taken.for_each(|(column, value)| {
                    shuffled.indices.push(*column);
                    shuffled.values.push(*value);
                });
            };
            take(row, &|column| column < first);
            take(*other as usize, &|column| (first..end).contains(&column));
            take(row, &|column| column >= end);
            shuffled.starts.push(shuffled.values.len());
        }
        shuffled
    }

    pub(super) fn append(&mut self, other: &Self) {
        let before = self.values.len();
        self.starts.extend(other.starts.iter().skip(1).map(|start| before + start));
        self.indices.extend_from_slice(&other.indices);
        self.values.extend_from_slice(&other.values);
    }

    /// Adds what the entries give to scores.
    pub(super) fn add_scores(&self, weights: &[f32], scores: &mut [f32]) {
        scores.par_chunks_mut(ROWS).enumerate().for_each(|(chunk, scores)| {
            for (row, score) in (chunk * ROWS..).zip(scores) {
                let (indices, values) = self.entries(row);
                *score = (f64::from(*score) + dot(indices, values, weights)) as f32;
            }
        });
    }

    /// Adds X^T v of some rows, then the sum of v.
    pub(super) fn add_gradient(&self, rows: Range<usize>, v: &[f32], sums: &mut [f64]) {
        for (row, slope) in rows.zip(v) {
            let slope = f64::from(*slope);
            let (indices, values) = self.entries(row);
            for (index, value) in indices.iter().zip(values) {
                sums[*index as usize] += slope * f64::from(*value);
            }
            sums[self.columns] += slope;
        }
    }

    /// `gradient` = X^T v, then the sum of v.
    pub(super) fn backward(&self, v: &[f32], work: &mut Work, gradient: &mut [f64]) {
        let Work { partials, totals, .. } = work;
        let width = self.columns + 1;
        let cuts = cuts(self.values.len(), self.columns);
        let chunks = cuts.len() + 1;
        let cut = |chunk: usize| match chunk {
            0 => 0,
            last if last == chunks => self.rows(),
            _ => self.starts.partition_point(|start| *start < cuts[chunk - 1]),
        };
        partials.resize(chunks * width, 0.0);
        partials.par_chunks_mut(width).enumerate().for_each(|(chunk, sums)| {
            sums.fill(0.0);
            let rows = cut(chunk)..cut(chunk + 1);
            self.add_gradient(rows.clone(), &v[rows], sums);
        });
        add_in_order(partials, totals, width);
        gradient.copy_from_slice(totals);
    }
}

/// After how many values a backward chunk ends, all but the last: chunks of equal numbers of values, cut at the rows where
/// these are reached. A function of the shape alone, so that sums do not depend on threads.
pub(super) fn cuts(values: usize, columns: usize) -> Vec<usize> {
    let chunks = (values / CHUNK_VALUES.max(VALUES_PER_COLUMN * columns)).clamp(1, CHUNKS);
    (1..chunks).map(|chunk| values / chunks * chunk).collect()
}

/// The stored values times their columns' weights, in four sums that need not wait for each other.
fn dot(indices: &[u32], values: &[f32], weights: &[f32]) -> f64 {
    let product = |index: u32, value: f32| f64::from(weights[index as usize]) * f64::from(value);
    let (index_fours, index_rest) = indices.as_chunks::<4>();
    let (value_fours, value_rest) = values.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (indices, values) in index_fours.iter().zip(value_fours) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += product(indices[lane], values[lane]);
        }
    }
    let rest: f64 = index_rest.iter().zip(value_rest).map(|(index, value)| product(*index, *value)).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
