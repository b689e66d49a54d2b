//! The two passes over tiles of 64 rows stored column by column.
//!
//! A tile's column is 64 neighbouring values, so there are whole vectors to work on and no sums
//! across a vector: forward adds w_j times the column to 64 scores held in registers; backward
//! multiplies the column with 64 values of v held in registers and adds the products to 16 lanes
//! kept for that column.

use pulp::{Simd, WithSimd};

/// Rows of a tile.
pub(super) const TILE: usize = 64;
/// Running sums kept for each column in the backward pass.
const LANES: usize = 16;
/// Columns whose running sums are kept at a time, on the stack.
const COLUMNS: usize = 64;
/// A running sum adds at most this many tiles before it goes on in f64.
const TILES: usize = 16;

type Column = [f32; TILE];
type Sums = [f32; LANES];

/// Scores of a run of tiles.
///
/// The kernels are structs and not closures because a closure that could be called twice reaches
/// the dispatched function through a call that is not inlined, and is then compiled without AVX2.
pub(super) struct Forward<'a> {
    pub tiles: &'a [Column],
    pub weights: &'a [f32],
    pub bias: f32,
    pub scores: &'a mut [Column],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // A tile's column fills 4 of the widest vectors; narrower ones go 8 at a time.
        if S::F32_LANES * 8 > TILE { self.run::<S, 4>(simd) } else { self.run::<S, 8>(simd) }
    }
}

impl Forward<'_> {
    #[inline(always)]
    fn run<S: Simd, const VECTORS: usize>(self, simd: S) {
        let bias = simd.splat_f32s(self.bias);
        for (tile, scores) in self.tiles.chunks_exact(self.weights.len()).zip(self.scores) {
            let (scores, _) = S::as_mut_simd_f32s(scores);
            for (block, scores) in scores.chunks_exact_mut(VECTORS).enumerate() {
                let mut sums = [bias; VECTORS];
                for (column, weight) in tile.iter().zip(self.weights) {
                    let (column, _) = S::as_simd_f32s(column);
                    let weight = simd.splat_f32s(*weight);
                    for (sum, x) in sums.iter_mut().zip(&column[block * VECTORS..][..VECTORS]) {
                        *sum = simd.add_f32s(*sum, simd.mul_f32s(*x, weight));
                    }
                }
                scores.copy_from_slice(&sums);
            }
        }
    }
}

/// Adds up a run of tiles: each column times v, then v itself.
pub(super) struct Backward<'a> {
    pub tiles: &'a [Column],
    pub v: &'a [Column],
    pub sums: &'a mut [f64],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Some((bias, sums)) = self.sums.split_last_mut() else { return };
        let columns = sums.len();
        let mut lanes = [[0.0; LANES]; COLUMNS];
        for (run, v) in self.v.chunks(TILES).enumerate() {
            let tiles = &self.tiles[run * TILES * columns..][..v.len() * columns];
            for (block, sums) in sums.chunks_mut(COLUMNS).enumerate() {
                let lanes = &mut lanes[..sums.len()];
                lanes.fill([0.0; LANES]);
                for (tile, v) in tiles.chunks_exact(columns).zip(v) {
                    let tile = &tile[block * COLUMNS..][..sums.len()];
                    add_products(simd, tile, v, lanes);
                }
                for (sum, lanes) in sums.iter_mut().zip(lanes) {
                    *sum += add_lanes(lanes);
                }
            }
            let mut lanes = [[0.0; LANES]];
            for v in v {
                add_products(simd, &[[1.0; TILE]], v, &mut lanes);
            }
            *bias += add_lanes(&lanes[0]);
        }
    }
}

/// Adds each column of a tile times v to the column's lanes. Row i of the tile goes to lane i mod 16,
/// whatever the width of the vectors.
#[inline(always)]
fn add_products<S: Simd>(simd: S, tile: &[Column], v: &Column, lanes: &mut [Sums]) {
    let (v, _) = S::as_simd_f32s(v);
    for (column, sums) in tile.iter().zip(lanes) {
        let (column, _) = S::as_simd_f32s(column);
        let (sums, _) = S::as_mut_simd_f32s(sums);
        let parts = LANES / S::F32_LANES;
        for (part, sum) in sums.iter_mut().enumerate() {
            for k in 0..TILE / LANES {
                let at = k * parts + part;
                *sum = simd.add_f32s(*sum, simd.mul_f32s(column[at], v[at]));
            }
        }
    }
}

/// Folds the lanes twice, then adds in f64. A sequential sum would wait for each of its additions.
#[inline(always)]
fn add_lanes(lanes: &Sums) -> f64 {
    let eight: [f32; 8] = std::array::from_fn(|i| lanes[i] + lanes[i + 8]);
    let four: [f64; 4] = std::array::from_fn(|i| f64::from(eight[i] + eight[i + 4]));
    (four[0] + four[2]) + (four[1] + four[3])
}
