//! Dense features in tiles of 64 rows, columns first within a tile.
//!
//! ```text
//! row-major, rows 0..64:  x00 x01 .. x0d  x10 x11 ..        tile:  x00 x10 .. x63,0  x01 x11 ..
//! ```
//!
//! Both passes then read the matrix straight through, in whole vectors (see `kernel`). A tile takes
//! the same room as its rows did, which lets the matrix be converted in place; only the last rows,
//! fewer than 64, move to a padded tile of their own.

use pulp::Arch;
use rayon::prelude::*;

use super::kernel::{Backward, Forward, TILE};
use super::{add_in_order, check_shape};
use crate::model::ModelError;

/// A chunk is about this large: far more work than handing it to a thread.
const CHUNK_BYTES: usize = 64 << 10;
/// A running sum adds at most this many tiles before it goes on in f64.
const CHUNK_TILES: usize = 16;

/// A dense feature matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    rows: usize,
    columns: usize,
    /// Whole tiles.
    body: Vec<f32>,
    /// The remaining rows as one tile padded with zeros, or empty.
    tail: Vec<f32>,
}

impl Dense {
    /// Takes over a row-major matrix and rearranges it in place.
    ///
    /// # Errors
    /// If there are no values, they do not fill whole rows, or one is NaN or infinite.
    pub fn from_row_major(mut values: Vec<f32>, columns: usize) -> Result<Self, ModelError> {
        if columns != 0 && !values.len().is_multiple_of(columns) {
            return Err(ModelError::Ragged { values: values.len(), columns });
        }
        let rows = values.len() / columns.max(1);
        check_shape(rows, columns)?;
        check_finite(&values, columns)?;

        let tail = tile_of(&values[rows / TILE * TILE * columns..], columns);
        values.truncate(rows / TILE * TILE * columns);
        values.par_chunks_exact_mut(TILE * columns).for_each_init(Vec::new, |scratch, tile| {
            scratch.clear();
            scratch.extend_from_slice(tile);
            transpose(scratch, columns, tile);
        });
        Ok(Self { rows, columns, body: values, tail })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// One row's values, in column order.
    ///
    /// # Panics
    /// If `row` is not below [`Dense::rows`].
    pub fn row(&self, row: usize) -> impl Iterator<Item = f32> + '_ {
        assert!(row < self.rows, "row {row} of a matrix of {} rows", self.rows);
        let start = row / TILE * TILE * self.columns;
        let tile = if start < self.body.len() { &self.body[start..] } else { &self.tail };
        tile.iter().skip(row % TILE).step_by(TILE).take(self.columns).copied()
    }

    pub(super) fn no_rows(&self) -> Self {
        Self { rows: 0, columns: self.columns, body: Vec::new(), tail: Vec::new() }
    }

    pub(super) fn gather(&self, rows: &[u32], into: &mut Self) {
        let whole = rows.len() / TILE * TILE;
        into.rows = rows.len();
        into.body.resize(whole * self.columns, 0.0);
        into.tail.clear();
        if whole < rows.len() {
            into.tail.resize(TILE * self.columns, 0.0);
        }
        let (body, rest) = rows.split_at(whole);
        // A row's values lie in as many cache lines: threads help to wait for them.
        let tiles = into.body.par_chunks_exact_mut(TILE * self.columns).zip(body.par_chunks_exact(TILE));
        tiles.for_each(|(tile, rows)| self.gather_tile(rows, tile));
        self.gather_tile(rest, &mut into.tail);
    }

    fn gather_tile(&self, rows: &[u32], tile: &mut [f32]) {
        for (lane, row) in rows.iter().enumerate() {
            let slots = tile.iter_mut().skip(lane).step_by(TILE);
            slots.zip(self.row(*row as usize)).for_each(|(slot, value)| *slot = value);
        }
    }

    /// Tiles of a chunk: a function of the shape alone, so that sums do not depend on threads.
    fn chunk_tiles(&self) -> usize {
        (CHUNK_BYTES / (TILE * self.columns * size_of::<f32>())).clamp(1, CHUNK_TILES)
    }

    pub(super) fn scores(&self, weights: &[f32], bias: f32, scores: &mut [f32]) {
        let (body, _) = self.body.as_chunks::<TILE>();
        let (scores, rest) = scores.as_chunks_mut::<TILE>();
        let arch = Arch::new();
        let chunk = self.chunk_tiles();
        body.par_chunks(chunk * self.columns)
            .zip(scores.par_chunks_mut(chunk))
            .for_each(|(tiles, scores)| arch.dispatch(Forward { tiles, weights, bias, scores }));
        if !rest.is_empty() {
            let mut scores = [[0.0; TILE]];
            let (tiles, _) = self.tail.as_chunks::<TILE>();
            arch.dispatch(Forward { tiles, weights, bias, scores: &mut scores });
            rest.copy_from_slice(&scores[0][..rest.len()]);
        }
    }

    /// `gradient` = X^T v, then the sum of v.
    pub(super) fn backward(&self, v: &[f32], partials: &mut Vec<f64>, gradient: &mut [f32]) {
        let (body, _) = self.body.as_chunks::<TILE>();
        let (v, rest) = v.as_chunks::<TILE>();
        let arch = Arch::new();
        let chunk = self.chunk_tiles();
        let width = self.columns + 1;
        let chunks = v.len().div_ceil(chunk);
        partials.resize((chunks + 1) * width, 0.0);
        let (partials_body, partial_tail) = partials.split_at_mut(chunks * width);

        partials_body
            .par_chunks_mut(width)
            .zip(body.par_chunks(chunk * self.columns))
            .zip(v.par_chunks(chunk))
            .for_each(|((sums, tiles), v)| arch.dispatch(Backward { tiles, v, sums }));
        if rest.is_empty() {
            partial_tail.fill(0.0);
        } else {
            let mut padded = [[0.0; TILE]];
            padded[0][..rest.len()].copy_from_slice(rest);
            let (tiles, _) = self.tail.as_chunks::<TILE>();
            arch.dispatch(Backward { tiles, v: &padded, sums: partial_tail });
        }
        add_in_order(partials, gradient);
    }
}

fn check_finite(values: &[f32], columns: usize) -> Result<(), ModelError> {
    const BLOCK: usize = 1 << 14;
    // Without an early exit, so that it compiles to vectors.
    let bad = |block: &[f32]| !block.iter().fold(true, |finite, value| finite & value.is_finite());
    let Some(block) = values.par_chunks(BLOCK).position_first(bad) else { return Ok(()) };
    let at = values[block * BLOCK..].iter().position(|value| !value.is_finite());
    let at = block * BLOCK + at.unwrap_or_default();
    Err(ModelError::Feature { row: at / columns, column: at % columns, value: values[at] })
}

/// Up to 64 rows as one tile, padded with zeros; no rows give no tile.
fn tile_of(rows: &[f32], columns: usize) -> Vec<f32> {
    let mut tile = vec![0.0; if rows.is_empty() { 0 } else { TILE * columns }];
    transpose(rows, columns, &mut tile);
    tile
}

fn transpose(rows: &[f32], columns: usize, tile: &mut [f32]) {
    for (lane, row) in rows.chunks_exact(columns).enumerate() {
        for (column, value) in row.iter().enumerate() {
            tile[column * TILE + lane] = *value;
        }
    }
}

#[cfg(test)]
impl Dense {
    /// Scores and gradient by the kernels as compiled for a processor without vectors.
    pub(super) fn without_vectors(&self, parameters: &[f32], v: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let (weights, bias) = parameters.split_at(self.columns);
        let (body, _) = self.body.as_chunks::<TILE>();
        let mut scores = vec![[0.0; TILE]; v.len() / TILE];
        let forward = Forward { tiles: body, weights, bias: bias[0], scores: &mut scores };
        pulp::WithSimd::with_simd(forward, pulp::Scalar::new());

        let chunk = self.chunk_tiles();
        let mut partials = vec![];
        for (tiles, v) in body.chunks(chunk * self.columns).zip(v.as_chunks::<TILE>().0.chunks(chunk)) {
            let mut sums = vec![0.0; self.columns + 1];
            let backward = Backward { tiles, v, sums: &mut sums };
            pulp::WithSimd::with_simd(backward, pulp::Scalar::new());
            partials.extend(sums);
        }
        let mut gradient = vec![0.0; self.columns + 1];
        add_in_order(&partials, &mut gradient);
        (scores.concat(), gradient)
    }

    pub(super) fn is_at(&self, place: *const f32) -> bool {
        self.body.as_ptr() == place
    }
}
