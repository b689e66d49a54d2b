//! Smooth counts and slopes: the plain sums that everything else is computed from.
//!
//! For examples i with score s_i and weight w_i, a threshold t, a slice S (a
//! label within a group), surrogate φ and sharpness k:
//!
//! ```text
//! P[t,S] = sum_{i in S} w_i φ( k (s_i - t))      smooth count of predicted positives
//! N[t,S] = sum_{i in S} w_i φ(-k (s_i - t))      smooth count of predicted negatives
//! ```
//!
//! with their first and second derivatives in the scores. Counts are sums, so
//! they merge: over chunks, threads, batches and machines. Goals in money have a second layer of the same cells,
//! whose labels and weights are the rows' [stakes](crate::sample::Stakes). A [`Counter`] asks
//! rows, wherever they are ([`Shard`]); a sample walks its scores in fixed chunks
//! and adds the chunks up in order, so that results are the same bits for any
//! number of threads.

mod cell;
mod exact;
mod kernel;
mod phi;
#[cfg(test)]
pub(crate) mod reference;
#[cfg(test)]
mod tests;
mod vector;

pub use cell::{Cell, CellPartial, Shape};
pub use exact::count_exact;
pub(crate) use kernel::Workspace;
pub(crate) use vector::Vector;

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::sample::{Sample, SampleError};
use crate::shard::Shard;
use crate::surrogate::Surrogate;
use kernel::{Coefficients, Gathered, Margins, Rows};

/// Rows handled as one unit of work. Fixed, so that sums do not depend on the number of threads.
pub(crate) const CHUNK: usize = 4_096;

/// Margins below which waking other threads costs more than they save. The chunks, and so the sums,
/// are the same either way.
const WORTH_SHARING: usize = 1 << 14;

/// Where smooth counts come from: the fast kernels here, a plain reference in
/// tests, or a sum over machines.
pub trait Count {
    /// Counts at these thresholds (one row of `columns` per group), written to `cells`.
    ///
    /// # Errors
    /// If a score is not finite.
    fn count(&mut self, thresholds: &[f64], cells: &mut [Cell]) -> Result<(), SampleError>;
}

impl<C: Count> Count for &mut C {
    fn count(&mut self, thresholds: &[f64], cells: &mut [Cell]) -> Result<(), SampleError> {
        (**self).count(thresholds, cells)
    }
}

/// How smooth decisions are counted, with room for the work.
#[derive(Debug)]
pub struct Counter {
    surrogate: Surrogate,
    sharpness: f64,
    groups: usize,
    /// One set of cells per chunk, kept between calls.
    partials: Vec<Cell>,
    finite: Vec<bool>,
    coefficients: Vec<Coefficients>,
}

/// What is counted, and how, by whoever holds the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// How decisions are smoothed.
    pub surrogate: Surrogate,
    /// The sharpness k.
    pub sharpness: f64,
    /// Groups counted apart.
    pub groups: usize,
    /// One row of thresholds for each group.
    pub thresholds: Vec<f64>,
    /// Whether second derivatives are asked for as well.
    pub curvature: bool,
    /// How many cells there are, see [`Shape::cells`].
    pub cells: usize,
}

impl Counts {
    pub(crate) fn counter(&self) -> Counter {
        Counter::new(self.groups, self.surrogate, self.sharpness)
    }

    pub(crate) fn ask<'a>(&'a self, scores: &'a [f32], start: usize) -> Ask<'a> {
        Ask { scores, start, motion: None, thresholds: &self.thresholds, curvature: self.curvature }
    }
}

/// What is counted over the rows of one shard.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// A score for each row.
    pub scores: &'a [f32],
    /// The row that the first of them is of: 0, unless they are those of some chunks.
    pub start: usize,
    /// What each score is about to move by: then slopes are of that motion.
    pub motion: Option<&'a [f32]>,
    /// One row of thresholds for each group.
    pub thresholds: &'a [f64],
    /// Whether second derivatives are asked for as well.
    pub curvature: bool,
}

impl<'a> Ask<'a> {
    /// The same of some of the rows.
    #[must_use]
    pub fn of(self, rows: Range<usize>) -> Self {
        let motion: Option<&'a [f32]> = self.motion.map(|motion| &motion[rows.clone()]);
        Self { scores: &self.scores[rows], motion, ..self }
    }
}

impl Counter {
    /// Counts decisions of this surrogate, apart for as many groups.
    #[must_use]
    pub fn new(groups: usize, surrogate: Surrogate, sharpness: f64) -> Self {
        Self {
            surrogate,
            sharpness,
            groups,
            partials: Vec::new(),
            finite: Vec::new(),
            coefficients: Vec::new(),
        }
    }

    /// Changes the sharpness k.
    pub fn set_sharpness(&mut self, sharpness: f64) {
        self.sharpness = sharpness;
    }

    /// Counts at these thresholds (one row per group); with curvatures only where asked, else zero.
    ///
    /// # Errors
    /// If there are not as many scores as examples, or one is not finite.
    pub fn count(
        &mut self,
        rows: &dyn Shard,
        scores: &[f32],
        thresholds: &[f64],
        curvature: bool,
        cells: &mut [Cell],
    ) -> Result<(), SampleError> {
        check(rows, &[("scores", scores)])?;
        cells.fill(Cell::default());
        rows.add_counts(self, Ask { scores, start: 0, motion: None, thresholds, curvature }, cells)
    }

    /// First-order change of the counts when the scores move: Σ w φ' ds in each cell.
    ///
    /// Written to `positive` and `negative` of the cells; other fields are zero.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn count_motion(
        &mut self,
        rows: &dyn Shard,
        scores: &[f32],
        motion: &[f32],
        thresholds: &[f64],
        cells: &mut [Cell],
    ) -> Result<(), SampleError> {
        check(rows, &[("scores", scores), ("score motions", motion)])?;
        cells.fill(Cell::default());
        let ask = Ask { scores, start: 0, motion: Some(motion), thresholds, curvature: false };
        rows.add_counts(self, ask, cells)?;
        for cell in cells {
            *cell = Cell { positive: cell.positive_slope, negative: cell.negative_slope, ..Cell::default() };
        }
        Ok(())
    }

    /// Writes v, the derivative by each score of a function with these partials.
    ///
    /// `second_order` says whether the slope partials matter (the regulariser).
    ///
    /// # Errors
    /// If the lengths differ from the rows'.
    pub fn gradient(
        &mut self,
        rows: &dyn Shard,
        scores: &[f32],
        thresholds: &[f64],
        partials: &[CellPartial],
        second_order: bool,
        gradient: &mut [f32],
    ) -> Result<(), SampleError> {
        check(rows, &[("scores", scores), ("score gradient", gradient)])?;
        self.set_partials(partials);
        rows.spread(
            self,
            Ask { scores, start: 0, motion: None, thresholds, curvature: second_order },
            gradient,
        );
        Ok(())
    }

    /// Sets what [`spread`](Self::spread) multiplies slopes with.
    pub(crate) fn set_partials(&mut self, partials: &[CellPartial]) {
        let (surrogate, sharpness) = (self.surrogate, self.sharpness);
        let pairs = partials.chunks_exact(2);
        self.coefficients.clear();
        self.coefficients
            .extend(pairs.map(|pair| Coefficients::new(&pair[0], &pair[1], surrogate, sharpness)));
    }

    /// What it counts by, to be asked elsewhere.
    pub(crate) fn counts(&self, thresholds: &[f64], curvature: bool, cells: usize) -> Counts {
        let Self { surrogate, sharpness, groups, .. } = *self;
        Counts { surrogate, sharpness, groups, thresholds: thresholds.to_vec(), curvature, cells }
    }

    /// Adds the counts of a sample's rows to the cells.
    pub(crate) fn add(
        &mut self,
        sample: &Sample,
        ask: Ask<'_>,
        cells: &mut [Cell],
    ) -> Result<(), SampleError> {
        let chunks = ask.scores.len().div_ceil(CHUNK);
        let mut partials = std::mem::take(&mut self.partials);
        let mut finite = std::mem::take(&mut self.finite);
        partials.clear();
        partials.resize(chunks * cells.len(), Cell::default());
        finite.clear();
        finite.resize(chunks, true);
        let this = &*self;
        let count = |work: &mut Workspace, (chunk, (partial, finite)): (usize, (&mut [Cell], &mut bool))| {
            *finite = this.count_chunk(sample, chunk, ask, work, partial);
        };
        if ask.scores.len() * ask.thresholds.len() <= WORTH_SHARING {
            let mut work = Workspace::new();
            let chunks = partials.chunks_mut(cells.len()).zip(&mut finite).enumerate();
            chunks.for_each(|chunk| count(&mut work, chunk));
        } else {
            let chunks = partials.par_chunks_mut(cells.len()).zip(finite.par_iter_mut()).enumerate();
            chunks.for_each_init(Workspace::new, count);
        }
        for partial in partials.chunks(cells.len()) {
            for (cell, part) in cells.iter_mut().zip(partial) {
                cell.merge(part);
            }
        }
        let all_finite = !finite.contains(&false);
        self.partials = partials;
        self.finite = finite;
        if !all_finite {
            sample.check_scores(ask.scores)?;
        }
        Ok(())
    }

    /// Writes the gradient of a sample's rows, by the coefficients of [`gradient`](Self::gradient).
    pub(crate) fn spread(&self, sample: &Sample, ask: Ask<'_>, gradient: &mut [f32]) {
        let spread = |work: &mut Workspace, (chunk, gradient): (usize, &mut [f32])| {
            self.gradient_chunk(sample, chunk, ask, work, gradient);
        };
        if ask.scores.len() * ask.thresholds.len() <= WORTH_SHARING {
            let mut work = Workspace::new();
            gradient.chunks_mut(CHUNK).enumerate().for_each(|chunk| spread(&mut work, chunk));
        } else {
            gradient.par_chunks_mut(CHUNK).enumerate().for_each_init(Workspace::new, spread);
        }
    }

    /// Every group of every layer.
    fn slices(&self, layers: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let groups = self.groups;
        (0..layers).flat_map(move |layer| (0..groups).map(move |group| (layer, group)))
    }

    /// Counts one chunk; returns whether all its scores are finite.
    pub(crate) fn count_chunk(
        &self,
        sample: &Sample,
        chunk: usize,
        ask: Ask<'_>,
        work: &mut Workspace,
        partial: &mut [Cell],
    ) -> bool {
        let layer_cells = 2 * ask.thresholds.len();
        let columns = ask.thresholds.len() / self.groups;
        let mut finite = true;
        for (layer, group) in self.slices(partial.len() / layer_cells) {
            let margins = Margins::new(self.sharpness, &ask.thresholds[group * columns..][..columns]);
            let cells = &mut partial[layer * layer_cells + group * columns * 2..][..columns * 2];
            self.for_each_block(sample, layer, chunk, group, ask, |rows, _| {
                finite &=
                    kernel::count(rows, work, &margins, self.surrogate, ask.curvature, |column, sums| {
                        sums.add_to(&mut cells[column * 2..][..2], self.surrogate, self.sharpness);
                    });
            });
        }
        finite
    }

    /// Writes the gradient of one chunk.
    pub(crate) fn gradient_chunk(
        &self,
        sample: &Sample,
        chunk: usize,
        ask: Ask<'_>,
        work: &mut Workspace,
        gradient: &mut [f32],
    ) {
        let columns = ask.thresholds.len() / self.groups;
        for (layer, group) in self.slices(self.coefficients.len() / ask.thresholds.len()) {
            let margins = Margins::new(self.sharpness, &ask.thresholds[group * columns..][..columns]);
            let coefficients =
                &self.coefficients[layer * ask.thresholds.len() + group * columns..][..columns];
            self.for_each_block(sample, layer, chunk, group, ask, |rows, place| {
                let mut spread = |gradient: &mut [f32]| {
                    kernel::spread(
                        rows,
                        work,
                        &margins,
                        self.surrogate,
                        ask.curvature,
                        coefficients,
                        gradient,
                    );
                };
                match place {
                    Place::Direct(range) if layer == 0 => spread(&mut gradient[range]),
                    Place::Rows(rows_of) => {
                        let mut gathered = [0.0; kernel::BLOCK];
                        spread(&mut gathered[..rows.scores.len()]);
                        for (row, v) in rows_of.iter().zip(gathered) {
                            let place = &mut gradient[*row as usize - chunk * CHUNK];
                            *place = if layer == 0 { v } else { *place + v };
                        }
                    }
                    Place::Tail(range) | Place::Direct(range) => {
                        let mut gathered = [0.0; kernel::BLOCK];
                        spread(&mut gathered[..rows.scores.len()]);
                        for (place, v) in gradient[range].iter_mut().zip(gathered) {
                            *place = if layer == 0 { v } else { *place + v };
                        }
                    }
                }
            });
        }
    }

    /// Calls `visit` with the rows of one group within one chunk, a block at a time.
    ///
    /// Consecutive rows are read where they are; rows of one group among several,
    /// an uneven tail, and weights scaled by a motion are gathered first.
    fn for_each_block(
        &self,
        sample: &Sample,
        layer: usize,
        chunk: usize,
        group: usize,
        ask: Ask<'_>,
        mut visit: impl FnMut(Rows<'_>, Place<'_>),
    ) {
        let Ask { scores, start: offset, motion, .. } = ask;
        let (labels, weights) = match sample.stakes().filter(|_| layer > 0) {
            Some(stakes) => (stakes.better(), Some(stakes.weights())),
            None => (sample.labels(), sample.weights()),
        };
        let row = |row: usize| {
            let weight = weights.map_or(1.0, |weights| weights[row]);
            (scores[row - offset], labels[row], weight * motion.map_or(1.0, |motion| motion[row]))
        };
        let first = chunk * CHUNK;
        let end = (first + CHUNK).min(sample.len());
        if let Some(groups) = sample.groups().filter(|_| self.groups > 1) {
            let rows = groups.rows(group);
            let place = |bound: usize| rows.partition_point(|row| (*row as usize) < bound);
            for rows_of in rows[place(first)..place(end)].chunks(kernel::BLOCK) {
                let mut gathered = Gathered::new();
                let rows = gathered.gather(rows_of.iter().map(|row| *row as usize), row);
                visit(rows, Place::Rows(rows_of));
            }
            return;
        }
        for start in (first..end).step_by(kernel::BLOCK) {
            let range = start..end.min(start + kernel::BLOCK);
            let place = start - first..range.end - first;
            if range.len().is_multiple_of(kernel::LANES) && motion.is_none() {
                let rows = Rows {
                    scores: &scores[range.start - offset..range.end - offset],
                    labels: &labels[range.clone()],
                    weights: weights.map(|weights| &weights[range]),
                };
                visit(rows, Place::Direct(place));
            } else {
                let mut gathered = Gathered::new();
                visit(gathered.gather(range, row), Place::Tail(place));
            }
        }
    }
}

fn check(rows: &dyn Shard, columns: &[(&'static str, &[f32])]) -> Result<(), SampleError> {
    let expected = rows.rows();
    match columns.iter().find(|(_, column)| column.len() != expected) {
        Some((what, column)) => Err(SampleError::Length { what, expected, got: column.len() }),
        None => Ok(()),
    }
}

/// Where in its chunk a block of rows lies.
enum Place<'a> {
    /// Consecutive rows, whole vectors.
    Direct(Range<usize>),
    /// Consecutive rows, padded.
    Tail(Range<usize>),
    /// These rows of the sample, padded.
    Rows(&'a [u32]),
}
