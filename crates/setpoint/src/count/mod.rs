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
//! they merge: over chunks, threads, batches and machines. A [`Counter`] walks
//! the scores in fixed chunks and adds the chunks up in order, so its results
//! are the same bits for any number of threads.

mod exact;
mod kernel;
mod phi;
#[cfg(test)]
pub(crate) mod reference;
#[cfg(test)]
mod tests;
mod vector;

pub use exact::count_exact;

use std::ops::Range;

use rayon::prelude::*;

use crate::sample::{Sample, SampleError};
use crate::surrogate::Surrogate;
use kernel::{Coefficients, Gathered, Margins, Rows, Workspace};

/// Rows handled as one unit of work. Fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 8_192;

/// Margins below which waking other threads costs more than they save. The chunks, and so the sums,
/// are the same either way.
const WORTH_SHARING: usize = 1 << 16;

/// Smooth counts of one slice at one threshold, and their derivatives in the scores.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    /// P: smooth count of predicted positives.
    pub positive: f64,
    /// N: smooth count of predicted negatives.
    pub negative: f64,
    /// dP/ds, summed: k Σ w φ'(k (s - t)).
    pub positive_slope: f64,
    /// dN/ds, summed: -k Σ w φ'(-k (s - t)).
    pub negative_slope: f64,
    /// d²P/ds², summed.
    pub positive_curvature: f64,
    /// d²N/ds², summed.
    pub negative_curvature: f64,
}

impl Cell {
    /// Adds the counts of other examples of the same slice.
    pub fn merge(&mut self, other: &Self) {
        self.positive += other.positive;
        self.negative += other.negative;
        self.positive_slope += other.positive_slope;
        self.negative_slope += other.negative_slope;
        self.positive_curvature += other.positive_curvature;
        self.negative_curvature += other.negative_curvature;
    }
}

/// Which thresholds the examples of each group are compared with.
///
/// Every group has a row of `columns` thresholds; the cell of group g, column j
/// and label y has index `(g * columns + j) * 2 + y`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of groups, at least 1.
    pub groups: usize,
    /// Thresholds per group, at least 1.
    pub columns: usize,
}

impl Shape {
    /// Number of cells.
    #[must_use]
    pub fn cells(self) -> usize {
        self.groups * self.columns * 2
    }

    /// Index of a cell.
    #[must_use]
    pub fn cell(self, group: usize, column: usize, label: bool) -> usize {
        (group * self.columns + column) * 2 + usize::from(label)
    }
}

/// What to multiply each example's slopes with: the score gradient is
///
/// ```text
/// v_i = w_i Σ_j  positive[c] k φ'(x_ij) - negative[c] k φ'(-x_ij)
///              + positive_slope[c] k² φ''(x_ij) + negative_slope[c] k² φ''(-x_ij)
/// ```
///
/// where c is the cell of example i's slice at threshold j. These are the
/// partial derivatives of a function of the counts (and, for the regulariser,
/// of the slopes) by each cell's fields.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CellPartial {
    /// By the cell's `positive`.
    pub positive: f64,
    /// By the cell's `negative`.
    pub negative: f64,
    /// By the cell's `positive_slope`.
    pub positive_slope: f64,
    /// By the cell's `negative_slope`.
    pub negative_slope: f64,
}

/// Where smooth counts come from: the fast kernels here, a plain reference in
/// tests, or a sum over machines.
pub trait Count {
    /// Counts at these thresholds (one row of `columns` per group), written to `cells`.
    ///
    /// # Errors
    /// If a score is not finite.
    fn count(&mut self, thresholds: &[f64], cells: &mut [Cell]) -> Result<(), SampleError>;
}

/// Counts smooth decisions over a sample, and spreads gradients back over its scores.
#[derive(Debug)]
pub struct Counter<'s> {
    sample: &'s Sample,
    surrogate: Surrogate,
    sharpness: f64,
    /// For more than one group: the rows of each chunk sorted by group, as offsets into the chunk.
    order: Vec<u16>,
    /// Where each group starts in its chunk's part of `order`: `groups + 1` entries per chunk.
    starts: Vec<u16>,
    groups: usize,
    /// One set of cells per chunk, kept between calls.
    partials: Vec<Cell>,
    finite: Vec<bool>,
    coefficients: Vec<Coefficients>,
}

impl<'s> Counter<'s> {
    /// A counter over this sample. With `by_group`, slices are split by the sample's groups.
    #[must_use]
    pub fn new(sample: &'s Sample, by_group: bool, surrogate: Surrogate, sharpness: f64) -> Self {
        let mut counter = Self {
            sample,
            surrogate,
            sharpness,
            order: Vec::new(),
            starts: Vec::new(),
            groups: 1,
            partials: Vec::new(),
            finite: Vec::new(),
            coefficients: Vec::new(),
        };
        if let Some(groups) = sample.groups().filter(|groups| by_group && groups.names().len() > 1) {
            counter.groups = groups.names().len();
            for codes in groups.codes().chunks(CHUNK) {
                let mut starts = vec![0u16; counter.groups + 1];
                for code in codes {
                    starts[*code as usize + 1] += 1;
                }
                for group in 0..counter.groups {
                    starts[group + 1] += starts[group];
                }
                let mut offsets: Vec<u16> = (0..codes.len() as u16).collect();
                offsets.sort_by_key(|offset| codes[*offset as usize]);
                counter.order.append(&mut offsets);
                counter.starts.append(&mut starts);
            }
        }
        counter
    }

    /// The sharpness k.
    #[must_use]
    pub fn sharpness(&self) -> f64 {
        self.sharpness
    }

    /// Changes the sharpness k.
    pub fn set_sharpness(&mut self, sharpness: f64) {
        self.sharpness = sharpness;
    }

    /// The surrogate φ.
    #[must_use]
    pub fn surrogate(&self) -> Surrogate {
        self.surrogate
    }

    /// Number of groups that slices are split by.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Counts at these thresholds (one row per group); with curvatures only where asked, else zero.
    ///
    /// # Errors
    /// If there are not as many scores as examples, or one is not finite.
    pub fn count(
        &mut self,
        scores: &[f32],
        thresholds: &[f64],
        curvature: bool,
        cells: &mut [Cell],
    ) -> Result<(), SampleError> {
        self.reduce(scores, None, thresholds, curvature, cells)
    }

    /// First-order change of the counts when the scores move: Σ w φ' ds in each cell.
    ///
    /// Written to `positive` and `negative` of the cells; other fields are zero.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn count_motion(
        &mut self,
        scores: &[f32],
        motion: &[f32],
        thresholds: &[f64],
        cells: &mut [Cell],
    ) -> Result<(), SampleError> {
        self.reduce(scores, Some(motion), thresholds, false, cells)?;
        for cell in cells {
            *cell = Cell { positive: cell.positive_slope, negative: cell.negative_slope, ..Cell::default() };
        }
        Ok(())
    }

    fn reduce(
        &mut self,
        scores: &[f32],
        motion: Option<&[f32]>,
        thresholds: &[f64],
        curvature: bool,
        cells: &mut [Cell],
    ) -> Result<(), SampleError> {
        self.check(scores, motion)?;
        let chunks = scores.len().div_ceil(CHUNK);
        let mut partials = std::mem::take(&mut self.partials);
        let mut finite = std::mem::take(&mut self.finite);
        partials.clear();
        partials.resize(chunks * cells.len(), Cell::default());
        finite.clear();
        finite.resize(chunks, true);
        let this = &*self;
        let work = |(chunk, (partial, finite)): (usize, (&mut [Cell], &mut bool))| {
            *finite = this.count_chunk(chunk, scores, motion, thresholds, curvature, partial);
        };
        if scores.len() * thresholds.len() <= WORTH_SHARING {
            partials.chunks_mut(cells.len()).zip(&mut finite).enumerate().for_each(work);
        } else {
            partials.par_chunks_mut(cells.len()).zip(finite.par_iter_mut()).enumerate().for_each(work);
        }
        cells.fill(Cell::default());
        for partial in partials.chunks(cells.len()) {
            for (cell, part) in cells.iter_mut().zip(partial) {
                cell.merge(part);
            }
        }
        let all_finite = !finite.contains(&false);
        self.partials = partials;
        self.finite = finite;
        if !all_finite {
            self.sample.check_scores(scores)?;
        }
        Ok(())
    }

    fn check(&self, scores: &[f32], other: Option<&[f32]>) -> Result<(), SampleError> {
        for (what, got) in
            [("scores", scores.len()), ("score motions", other.map_or(scores.len(), <[f32]>::len))]
        {
            if got != self.sample.len() {
                return Err(SampleError::Length { what, expected: self.sample.len(), got });
            }
        }
        Ok(())
    }

    /// Counts one chunk; returns whether all its scores are finite.
    fn count_chunk(
        &self,
        chunk: usize,
        scores: &[f32],
        motion: Option<&[f32]>,
        thresholds: &[f64],
        curvature: bool,
        partial: &mut [Cell],
    ) -> bool {
        let columns = thresholds.len() / self.groups;
        let mut work = Workspace::new();
        let mut finite = true;
        for group in 0..self.groups {
            let margins = Margins::new(self.sharpness, &thresholds[group * columns..][..columns]);
            let cells = &mut partial[group * columns * 2..][..columns * 2];
            self.for_each_block(chunk, group, scores, motion, |rows, _| {
                finite &=
                    kernel::count(rows, &mut work, &margins, self.surrogate, curvature, |column, sums| {
                        sums.add_to(&mut cells[column * 2..][..2], self.surrogate, self.sharpness);
                    });
            });
        }
        finite
    }

    /// Writes v, the derivative by each score of a function with these partials.
    ///
    /// `second_order` says whether the slope partials matter (the regulariser).
    ///
    /// # Errors
    /// If the lengths differ from the sample's.
    pub fn gradient(
        &mut self,
        scores: &[f32],
        thresholds: &[f64],
        partials: &[CellPartial],
        second_order: bool,
        gradient: &mut [f32],
    ) -> Result<(), SampleError> {
        self.check(scores, Some(gradient))?;
        let (surrogate, sharpness) = (self.surrogate, self.sharpness);
        let pairs = partials.chunks_exact(2);
        self.coefficients.clear();
        self.coefficients
            .extend(pairs.map(|pair| Coefficients::new(&pair[0], &pair[1], surrogate, sharpness)));
        let this = &*self;
        let work = |(chunk, gradient): (usize, &mut [f32])| {
            this.gradient_chunk(chunk, scores, thresholds, second_order, gradient);
        };
        if scores.len() * thresholds.len() <= WORTH_SHARING {
            gradient.chunks_mut(CHUNK).enumerate().for_each(work);
        } else {
            gradient.par_chunks_mut(CHUNK).enumerate().for_each(work);
        }
        Ok(())
    }

    fn gradient_chunk(
        &self,
        chunk: usize,
        scores: &[f32],
        thresholds: &[f64],
        second_order: bool,
        gradient: &mut [f32],
    ) {
        let columns = thresholds.len() / self.groups;
        let mut work = Workspace::new();
        for group in 0..self.groups {
            let margins = Margins::new(self.sharpness, &thresholds[group * columns..][..columns]);
            let coefficients = &self.coefficients[group * columns..][..columns];
            self.for_each_block(chunk, group, scores, None, |rows, place| {
                let mut spread = |gradient: &mut [f32]| {
                    kernel::spread(
                        rows,
                        &mut work,
                        &margins,
                        self.surrogate,
                        second_order,
                        coefficients,
                        gradient,
                    );
                };
                match place {
                    Place::Direct(range) => spread(&mut gradient[range]),
                    Place::Offsets(offsets) => {
                        let mut gathered = [0.0; kernel::BLOCK];
                        spread(&mut gathered[..rows.scores.len()]);
                        for (offset, v) in offsets.iter().zip(gathered) {
                            gradient[usize::from(*offset)] = v;
                        }
                    }
                    Place::Tail(range) => {
                        let mut gathered = [0.0; kernel::BLOCK];
                        spread(&mut gathered[..rows.scores.len()]);
                        gradient[range.clone()].copy_from_slice(&gathered[..range.len()]);
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
        chunk: usize,
        group: usize,
        scores: &[f32],
        motion: Option<&[f32]>,
        mut visit: impl FnMut(Rows<'_>, Place<'_>),
    ) {
        let (labels, weights) = (self.sample.labels(), self.sample.weights());
        let row = |row: usize| {
            let weight = weights.map_or(1.0, |weights| weights[row]);
            (scores[row], labels[row], weight * motion.map_or(1.0, |motion| motion[row]))
        };
        let first = chunk * CHUNK;
        let end = (first + CHUNK).min(self.sample.len());
        if self.groups > 1 {
            let starts = &self.starts[chunk * (self.groups + 1)..];
            let (from, to) = (usize::from(starts[group]), usize::from(starts[group + 1]));
            for offsets in self.order[first + from..first + to].chunks(kernel::BLOCK) {
                let mut gathered = Gathered::new();
                let rows = gathered.gather(offsets.iter().map(|offset| first + usize::from(*offset)), row);
                visit(rows, Place::Offsets(offsets));
            }
            return;
        }
        for start in (first..end).step_by(kernel::BLOCK) {
            let range = start..end.min(start + kernel::BLOCK);
            let place = start - first..range.end - first;
            if range.len().is_multiple_of(kernel::LANES) && motion.is_none() {
                let rows = Rows {
                    scores: &scores[range.clone()],
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

/// Where in its chunk a block of rows lies.
enum Place<'a> {
    /// Consecutive rows, whole vectors.
    Direct(Range<usize>),
    /// Consecutive rows, padded.
    Tail(Range<usize>),
    /// Rows at these offsets, padded.
    Offsets(&'a [u16]),
}
