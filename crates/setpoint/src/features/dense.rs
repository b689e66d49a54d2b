//! Numbers in tiles of 64 rows, columns first within a tile.
//!
//! ```text
//! row-major, rows 0..64:  x00 x01 .. x0d  x10 x11 ..        tile:  x00 x10 .. x63,0  x01 x11 ..
//! ```
//!
//! Both passes then read the matrix straight through, in whole vectors (see `kernel`). The last tile is
//! padded with zeros.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use pulp::Arch;
use rayon::prelude::*;

use super::add_in_order;
use super::kernel::{Backward, Forward, TILE};

/// Rows scored at a time: their scores stay in the first cache until all columns are added.
pub(super) const ROWS: usize = 16 * TILE;
/// A task has at least so many values: far more work than handing it to a thread.
const TASK_VALUES: usize = 1 << 17;
/// At most this many backward chunks, and so copies of the column sums.
const CHUNKS: usize = 64;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tiles {
    rows: usize,
    columns: usize,
    /// Tile after tile.
    pub(super) values: Vec<f32>,
}

impl Tiles {
    pub(super) fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, values: vec![0.0; rows.next_multiple_of(TILE) * columns] }
    }

    /// Makes room for so many rows, to be written over.
    pub(super) fn resize(&mut self, rows: usize) {
        self.rows = rows;
        self.values.resize(rows.next_multiple_of(TILE) * self.columns, 0.0);
    }

    /// Takes over a row-major matrix.
    pub(super) fn from_row_major(mut values: Vec<f32>, columns: usize) -> Self {
        let rows = values.len() / columns;
        values.resize(rows.next_multiple_of(TILE) * columns, 0.0);
        transpose(&mut values, columns, TILE);
        Self { rows, columns, values }
    }

    pub(super) fn into_row_major(mut self) -> Vec<f32> {
        transpose(&mut self.values, TILE, self.columns);
        self.values.truncate(self.rows * self.columns);
        self.values
    }

    /// The columns before this one, and those from it on.
    pub(super) fn split_off(self, first: usize) -> (Self, Self) {
        let (mut before, mut rest) =
            (Self::zeros(self.rows, first), Self::zeros(self.rows, self.columns - first));
        let tiles = self.values.chunks_exact((TILE * self.columns).max(1));
        let own = before.values.chunks_mut((TILE * first).max(1));
        let others = rest.values.chunks_mut((TILE * (self.columns - first)).max(1));
        for (tile, into) in tiles.clone().zip(own) {
            into.copy_from_slice(&tile[..into.len()]);
        }
        for (tile, into) in tiles.zip(others) {
            into.copy_from_slice(&tile[TILE * first..]);
        }
        (before, rest)
    }

    /// One row's values, in column order.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = f32> + '_ {
        assert!(row < self.rows || self.columns == 0, "row {row} of a matrix of {} rows", self.rows);
        let tile = &self.values[row / TILE * TILE * self.columns..];
        tile.iter().skip(row % TILE).step_by(TILE).take(self.columns).copied()
    }

    /// Writes some rows, 64 of a column at a time.
    pub(super) fn fill(
        &mut self,
        rows: Range<usize>,
        number: impl Fn(usize, Range<usize>, &mut [f32]) + Sync,
    ) {
        let first = rows.start / TILE;
        let tiles = self.values.par_chunks_exact_mut((TILE * self.columns).max(1)).enumerate();
        tiles.skip(first).take(rows.end.div_ceil(TILE) - first).for_each(|(tile, values)| {
            let own = (tile * TILE).max(rows.start)..((tile + 1) * TILE).min(rows.end);
            for (column, values) in values.chunks_exact_mut(TILE).enumerate() {
                let into = &mut values[own.start - tile * TILE..own.end - tile * TILE];
                number(column, own.start - rows.start..own.end - rows.start, into);
            }
        });
    }

    pub(super) fn append(&mut self, other: &Self) {
        let start = self.rows;
        self.resize(start + other.rows);
        self.fill(start..start + other.rows, |column, rows, into| {
            for (into, row) in into.iter_mut().zip(rows) {
                *into = other.values[(row / TILE * other.columns + column) * TILE + row % TILE];
            }
        });
    }

    pub(super) fn set(&mut self, column: usize, values: &[f32]) {
        for (row, value) in values.iter().enumerate() {
            self.values[(row / TILE * self.columns + column) * TILE + row % TILE] = *value;
        }
    }

    /// Writes one column of another of the same shape, row i as row `order[i]` here.
    pub(super) fn reorder(&self, column: usize, order: &[u32], into: &mut Self) {
        let place = |row: usize| (row / TILE * self.columns + column) * TILE + row % TILE;
        for (row, other) in order.iter().enumerate() {
            into.values[place(row)] = self.values[place(*other as usize)];
        }
    }

    /// Row, column and value of the first number that is NaN or infinite.
    pub(super) fn not_finite(&self) -> Option<(usize, usize, f32)> {
        // Without an early exit, so that it compiles to vectors.
        let bad = |tile: &[f32]| !tile.iter().fold(true, |finite, value| finite & value.is_finite());
        let size = (TILE * self.columns).max(1);
        let tile = self.values.par_chunks_exact(size).position_first(bad)?;
        let values = &self.values[tile * size..][..size];
        let at = (0..size).find(|at| !values[at % self.columns * TILE + at / self.columns].is_finite())?;
        let (lane, column) = (at / self.columns, at % self.columns);
        Some((tile * TILE + lane, column, values[column * TILE + lane]))
    }

    pub(super) fn gather(&self, rows: &[u32], into: &mut Self) {
        into.resize(rows.len());
        // A row's values lie in as many cache lines: threads help to wait for them.
        let tiles = into.values.par_chunks_exact_mut((TILE * self.columns).max(1));
        tiles.zip(rows.par_chunks(TILE)).for_each(|(tile, rows)| {
            for (lane, row) in rows.iter().enumerate() {
                let slots = tile.iter_mut().skip(lane).step_by(TILE);
                slots.zip(self.row(*row as usize)).for_each(|(slot, value)| *slot = value);
            }
        });
    }

    /// Scores of the numbers, to which `more` adds, given the first of some rows and their scores. `cost` is
    /// that of a row in `more`, in numbers.
    pub(super) fn scores(
        &self,
        weights: &[f32],
        bias: f32,
        scores: &mut [f32],
        cost: usize,
        more: impl Fn(usize, &mut [f32]) + Sync,
    ) {
        let arch = Arch::new();
        let least = TASK_VALUES / (ROWS * (self.columns + cost).max(1));
        let pieces = scores.par_chunks_mut(ROWS).enumerate().with_min_len(least.max(1));
        pieces.for_each(|(piece, scores)| {
            self.write_scores(arch, piece * ROWS, weights, bias, scores);
            more(piece * ROWS, scores);
        });
    }

    /// Scores of the numbers of some rows, from the first of a tile on.
    pub(super) fn write_scores(
        &self,
        arch: Arch,
        first: usize,
        weights: &[f32],
        bias: f32,
        scores: &mut [f32],
    ) {
        if weights.is_empty() {
            return scores.fill(bias);
        }
        let (tiles, _) = self.values.as_chunks::<TILE>();
        let tiles = &tiles[first / TILE * weights.len()..];
        let (whole, rest) = scores.as_chunks_mut::<TILE>();
        let (tiles, last) = tiles.split_at(whole.len() * weights.len());
        arch.dispatch(Forward { tiles, weights, bias, scores: whole });
        if !rest.is_empty() {
            let mut scores = [[0.0; TILE]];
            arch.dispatch(Forward { tiles: last, weights, bias, scores: &mut scores });
            rest.copy_from_slice(&scores[0][..rest.len()]);
        }
    }

    /// Adds X^T v of some rows, from the first of a tile on, then the sum of v.
    pub(super) fn add_gradient(&self, arch: Arch, first: usize, v: &[f32], sums: &mut [f64]) {
        let (tiles, _) = self.values.as_chunks::<TILE>();
        let tiles = &tiles[first / TILE * self.columns..];
        let (v, rest) = v.as_chunks::<TILE>();
        let (tiles, last) = tiles.split_at(v.len() * self.columns);
        arch.dispatch(Backward { tiles, v, sums });
        if !rest.is_empty() {
            let mut padded = [[0.0; TILE]];
            padded[0][..rest.len()].copy_from_slice(rest);
            let tiles = &last[..self.columns];
            arch.dispatch(Backward { tiles, v: &padded, sums });
        }
    }

    /// `totals` = X^T v, then the sum of v, in chunks of so many rows.
    pub(super) fn backward(&self, chunk: usize, v: &[f32], partials: &mut Vec<f64>, totals: &mut Vec<f64>) {
        let arch = Arch::new();
        let width = self.columns + 1;
        partials.resize(v.len().div_ceil(chunk) * width, 0.0);
        partials.par_chunks_mut(width).zip(v.par_chunks(chunk)).enumerate().for_each(
            |(number, (sums, v))| {
                sums.fill(0.0);
                self.add_gradient(arch, number * chunk, v, sums);
            },
        );
        add_in_order(partials, totals, width);
    }
}

/// Rows of a chunk: a function of the shape alone, so that sums do not depend on threads.
pub(super) fn chunk_rows(columns: usize, rows: usize) -> usize {
    let least = TASK_VALUES / (TILE * (columns + 1));
    TILE * least.max(rows.div_ceil(TILE * CHUNKS)).max(1)
}

/// Turns each tile's rows into columns, or back: `wide` values stood side by side, then `tall` do.
fn transpose(values: &mut [f32], wide: usize, tall: usize) {
    values.par_chunks_exact_mut((wide * tall).max(1)).for_each_init(Vec::new, |scratch, tile| {
        scratch.clear();
        scratch.extend_from_slice(tile);
        for (at, into) in scratch.chunks_exact(wide).enumerate() {
            for (place, value) in into.iter().enumerate() {
                tile[place * tall + at] = *value;
            }
        }
    });
}

#[cfg(test)]
impl Tiles {
    /// Scores and gradient by the kernels as compiled for a processor without vectors.
    pub(super) fn without_vectors(&self, parameters: &[f32], v: &[f32]) -> (Vec<f32>, Vec<f32>) {
        let (weights, bias) = parameters.split_at(self.columns);
        let (tiles, _) = self.values.as_chunks::<TILE>();
        let mut scores = vec![[0.0; TILE]; v.len() / TILE];
        let forward = Forward { tiles, weights, bias: bias[0], scores: &mut scores };
        pulp::WithSimd::with_simd(forward, pulp::Scalar::new());

        let chunk = chunk_rows(self.columns, self.rows) / TILE;
        let (mut partials, mut totals) = (vec![], vec![]);
        for (tiles, v) in tiles.chunks(chunk * self.columns).zip(v.as_chunks::<TILE>().0.chunks(chunk)) {
            let mut sums = vec![0.0; self.columns + 1];
            let backward = Backward { tiles, v, sums: &mut sums };
            pulp::WithSimd::with_simd(backward, pulp::Scalar::new());
            partials.extend(sums);
        }
        add_in_order(&partials, &mut totals, self.columns + 1);
        (scores.concat(), totals.iter().map(|total| *total as f32).collect())
    }
}
