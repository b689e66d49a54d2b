//! One pass over the scores of all classes: softmax of each row, and the sums that rates and their slopes need.
//!
//! ```text
//! matrix[y, c] = Σ_{i of y} w p_ic            own[y, j] = Σ_{i of y} w p_iy p_ij
//! gram[c, j]   = Σ_i w p_ic p_ij              cost[j]   = Σ_i w p_ij (k[y_i, j] - Σ_c k[y_i, c] p_ic)
//! ```
//!
//! A row's classes are the lanes of its vectors. The probabilities are kept where the gradient will be: the
//! second pass turns them into it in place, without an exponential. Rows are cut into fixed chunks whose sums
//! are added up in order: the same bits for any number of threads. Sums are `f32` within a block, `f64` beyond.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::Classes;
use crate::count::Vector;

/// Rows handled as one unit of work.
const CHUNK: usize = 2_048;
/// Rows whose sums are `f32`, and whose probabilities are kept at hand for their products.
const BLOCK: usize = 128;
/// Rows of a table are padded to this many: the widest vector there is.
const LANES: usize = 16;
/// Classes whose products are added up at once.
const MANY: usize = 8;
/// Exponents below this are cut off: e^-80 is still a number.
const CLAMP: f32 = 80.0;

/// What a pass is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ask<'a> {
    /// a
    pub sharpness: f64,
    /// λ
    pub shifts: &'a [f64],
    /// The classes whose row of `gram` is wanted.
    pub gram: &'a [usize],
    /// Costs by true and decided class, or none.
    pub costs: &'a [f64],
    /// Weights of the classes in the sum of -w ln p of the true class, which is then all that is added up; what is
    /// written is its gradient by the scores.
    pub loss: Option<&'a [f64]>,
}

/// The sums of a pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub matrix: Vec<f64>,
    pub own: Vec<f64>,
    pub gram: Vec<f64>,
    pub cost: Vec<f64>,
    /// Σ -w ln p of the true class.
    pub loss: f64,
}

impl Tally {
    /// Rows of class c that are decided as c.
    pub(super) fn right(&self, class: usize, classes: usize) -> f64 {
        self.matrix[class * classes + class]
    }

    /// Rows that are decided as c.
    pub(super) fn decided(&self, class: usize, classes: usize) -> f64 {
        self.matrix.iter().skip(class).step_by(classes).sum()
    }
}

/// Passes over rows, with what they keep from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Softmax {
    chunks: Vec<Chunk>,
    /// Padded tables: -a λ, and costs or the gradient's coefficients.
    bias: Vec<f32>,
    table: Vec<f32>,
}

/// One chunk's sums.
#[derive(Debug, Default)]
struct Chunk {
    /// Of a block: matrix, own, gram, cost, one padded row after another.
    block: Vec<f32>,
    /// The probabilities of a block, padded.
    lines: Vec<f32>,
    sums: Vec<f64>,
    loss: f64,
    finite: bool,
}

impl Softmax {
    /// Writes the probabilities, or the gradient of cross-entropy, and adds up what is asked for; false where a score
    /// is not finite, or too large to be multiplied by the sharpness.
    pub(crate) fn count(
        &mut self,
        classes: &Classes<'_>,
        scores: &[f32],
        ask: Ask<'_>,
        p: &mut [f32],
        out: &mut Tally,
    ) -> bool {
        let count = classes.count();
        let width = count.next_multiple_of(LANES);
        self.bias.clear();
        self.bias.extend(ask.shifts.iter().map(|shift| (-ask.sharpness * shift) as f32));
        self.bias.resize(width, f32::MIN);
        fill(&mut self.table, ask.costs, count, width);
        let rows_of_sums = match ask.loss {
            Some(_) => 0,
            None => 2 * count + ask.gram.len() + usize::from(!ask.costs.is_empty()),
        };
        self.chunks.resize_with(classes.codes.len().div_ceil(CHUNK), Chunk::default);
        let (bias, costs) = (&self.bias, &self.table);
        let work = |index: usize, chunk: &mut Chunk, scores: &[f32], p: &mut [f32]| {
            let first = index * CHUNK;
            let rows = scores.len() / count;
            chunk.block.clear();
            chunk.block.resize(rows_of_sums * width, 0.0);
            chunk.lines.resize(BLOCK * width, 0.0);
            chunk.sums.clear();
            chunk.sums.resize(rows_of_sums * count, 0.0);
            (chunk.loss, chunk.finite) = (0.0, true);
            Arch::new().dispatch(CountOp {
                codes: &classes.codes[first..first + rows],
                weights: classes.weights.map(|weights| &weights[first..first + rows]),
                scores,
                p,
                count,
                width,
                ask,
                bias,
                costs,
                chunk,
            });
        };
        let chunks = self.chunks.par_iter_mut().zip(scores.par_chunks(CHUNK * count));
        chunks
            .zip(p.par_chunks_mut(CHUNK * count))
            .enumerate()
            .for_each(|(index, ((chunk, scores), p))| work(index, chunk, scores, p));
        let square = count * count;
        for (sums, len) in [
            (&mut out.matrix, square),
            (&mut out.own, square),
            (&mut out.gram, ask.gram.len() * count),
            (&mut out.cost, count),
        ] {
            sums.clear();
            sums.resize(len, 0.0);
        }
        out.loss = 0.0;
        for chunk in &self.chunks {
            let mut at = 0;
            for sums in [&mut out.matrix, &mut out.own, &mut out.gram, &mut out.cost] {
                let from = chunk.sums.get(at..at + sums.len()).unwrap_or_default();
                sums.iter_mut().zip(from).for_each(|(sum, more)| *sum += more);
                at += sums.len();
            }
            out.loss += chunk.loss;
        }
        self.chunks.iter().all(|chunk| chunk.finite)
    }

    /// Turns probabilities into the gradient by the scores of Σ_yc coefficients[y, c] matrix[y, c].
    pub(crate) fn spread(
        &mut self,
        classes: &Classes<'_>,
        sharpness: f64,
        coefficients: &[f64],
        p: &mut [f32],
    ) {
        let count = classes.count();
        let width = count.next_multiple_of(LANES);
        fill(&mut self.table, coefficients, count, width);
        let table = &self.table;
        p.par_chunks_mut(CHUNK * count).enumerate().for_each(|(index, p)| {
            Arch::new().dispatch(SpreadOp {
                classes,
                first: index * CHUNK,
                sharpness: sharpness as f32,
                table,
                width,
                p,
            });
        });
    }
}

/// A table with padded rows; empty where there is none.
fn fill(table: &mut Vec<f32>, values: &[f64], count: usize, width: usize) {
    table.clear();
    for row in values.chunks(count) {
        table.extend(row.iter().map(|value| *value as f32));
        table.resize(table.len() + width - count, 0.0);
    }
}

struct CountOp<'a> {
    codes: &'a [u32],
    weights: Option<&'a [f32]>,
    scores: &'a [f32],
    p: &'a mut [f32],
    count: usize,
    width: usize,
    ask: Ask<'a>,
    bias: &'a [f32],
    costs: &'a [f32],
    chunk: &'a mut Chunk,
}

impl WithSimd for CountOp<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { codes, weights, scores, p, count, width, ask, bias, costs, chunk } = self;
        let vector = Vector(simd);
        let (bias, _) = S::as_simd_f32s(bias);
        let sharpness = vector.splat(ask.sharpness as f32);
        let gram_at = 2 * count * width;
        let cost_at = gram_at + ask.gram.len() * width;
        for (row, (scores, p)) in scores.chunks_exact(count).zip(p.chunks_exact_mut(count)).enumerate() {
            let (block, place) = (&mut chunk.block, row % BLOCK);
            let line = &mut chunk.lines[place * width..][..width];
            // Margins, and the largest.
            let (full, rest) = S::as_simd_f32s(scores);
            let mut largest = vector.splat(f32::MIN);
            // Zero times a finite margin is zero; times any other it is NaN, and stays so.
            let (zero, mut zeros) = (vector.splat(0.0), vector.splat(0.0));
            {
                let (line, _) = S::as_mut_simd_f32s(line);
                for ((slot, bias), lane) in line.iter_mut().zip(bias).zip(0..) {
                    let score = match full.get(lane) {
                        Some(full) => *full,
                        None if lane == full.len() => simd.partial_load_f32s(rest),
                        None => vector.splat(0.0),
                    };
                    *slot = vector.multiply_add(sharpness, score, *bias);
                    largest = simd.max_f32s(largest, *slot);
                    zeros = vector.multiply_add(zero, *slot, zeros);
                }
            }
            let largest = simd.reduce_max_f32s(largest);
            let y = codes[row] as usize;
            let margin = line[y] - largest;
            let mut sum = vector.splat(0.0);
            {
                let (line, _) = S::as_mut_simd_f32s(line);
                let (down, least) = (vector.splat(-largest), vector.splat(-CLAMP));
                let log2_e = vector.splat(std::f32::consts::LOG2_E);
                for slot in line.iter_mut() {
                    let margin = simd.max_f32s(least, vector.add(*slot, down));
                    *slot = vector.exp2(vector.multiply(margin, log2_e));
                    sum = vector.add(sum, *slot);
                }
            }
            let padding = (width - count) as f32 * line[width - 1] * f32::from(u8::from(width > count));
            let sum = vector.sum(sum) - padding;
            chunk.finite &= vector.sum(zeros) == 0.0;
            let weight = weights.map_or(1.0, |weights| weights[row]);
            // Of cross-entropy: w (p - 1 at the true class).
            let factor = ask.loss.map_or(1.0, |weights| weights[y] as f32 * weight);
            if ask.loss.is_some() {
                chunk.loss += f64::from(factor) * f64::from(sum.ln() - margin);
            }
            let scale = vector.splat(factor / sum);
            S::as_mut_simd_f32s(line).0.iter_mut().for_each(|slot| *slot = vector.multiply(*slot, scale));
            // Single probabilities are read from here: what was stored under a mask is slow to come back.
            let single = &*line;
            let (line, _) = S::as_simd_f32s(single);
            {
                let (full, rest) = S::as_mut_simd_f32s(p);
                let whole = full.len();
                full.iter_mut().zip(line).for_each(|(p, slot)| *p = *slot);
                if let Some(last) = line.get(whole) {
                    simd.partial_store_f32s(rest, *last);
                }
            }
            if ask.loss.is_some() {
                p[y] -= factor;
                continue;
            }
            let add = |into: &mut [f32], factor: f32| {
                let (into, _) = S::as_mut_simd_f32s(into);
                let factor = vector.splat(factor);
                for (sum, slot) in into.iter_mut().zip(line) {
                    *sum = vector.multiply_add(factor, *slot, *sum);
                }
            };
            add(&mut block[y * width..][..width], weight);
            add(&mut block[(count + y) * width..][..width], weight * single[y]);
            if !costs.is_empty() {
                let (costs, _) = S::as_simd_f32s(&costs[y * width..][..width]);
                let (into, _) = S::as_mut_simd_f32s(&mut block[cost_at..][..width]);
                let mut mean = vector.splat(0.0);
                line.iter().zip(costs).for_each(|(p, cost)| mean = vector.multiply_add(*p, *cost, mean));
                let (mean, weight) = (vector.splat(vector.sum(mean)), vector.splat(weight));
                for ((sum, p), cost) in into.iter_mut().zip(line).zip(costs) {
                    let away = vector.multiply(*p, vector.subtract(*cost, mean));
                    *sum = vector.multiply_add(weight, away, *sum);
                }
            }
            if place + 1 == BLOCK || row + 1 == codes.len() {
                let lines = &chunk.lines[..(place + 1) * width];
                let weights = weights.map(|weights| &weights[row - place..]);
                let into = block[gram_at..cost_at].chunks_mut(MANY * width);
                for (classes, into) in ask.gram.chunks(MANY).zip(into) {
                    match classes.len() {
                        1 => products::<S, 1>(vector, lines, weights, classes, into),
                        _ => products::<S, MANY>(vector, lines, weights, classes, into),
                    }
                }
                let rows = chunk.sums.chunks_exact_mut(count).zip(block.chunks_exact(width));
                for (sums, row) in rows {
                    sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
                }
                block.fill(0.0);
            }
        }
    }
}

/// Adds Σ w p_c p_j of the rows of a block, for up to `N` classes c at once and all j; sums are kept in registers.
#[inline(always)]
fn products<S: Simd, const N: usize>(
    vector: Vector<S>,
    lines: &[f32],
    weights: Option<&[f32]>,
    classes: &[usize],
    into: &mut [f32],
) {
    let width = into.len() / classes.len();
    // Where there are fewer, the last is taken again and again.
    let classes: [usize; N] = std::array::from_fn(|place| classes[place.min(classes.len() - 1)]);
    let lanes = S::F32_LANES;
    for first in (0..width).step_by(lanes) {
        let mut sums = [vector.splat(0.0); N];
        for (row, line) in lines.chunks_exact(width).enumerate() {
            let (vectors, _) = S::as_simd_f32s(&line[first..first + lanes]);
            let p = match weights {
                Some(weights) => vector.multiply(vector.splat(weights[row]), vectors[0]),
                None => vectors[0],
            };
            for (sum, class) in sums.iter_mut().zip(classes) {
                *sum = vector.multiply_add(vector.splat(line[class]), p, *sum);
            }
        }
        for (sum, into) in sums.iter().zip(into.chunks_exact_mut(width)) {
            let (into, _) = S::as_mut_simd_f32s(&mut into[first..first + lanes]);
            into[0] = vector.add(into[0], *sum);
        }
    }
}

struct SpreadOp<'a> {
    classes: &'a Classes<'a>,
    first: usize,
    sharpness: f32,
    table: &'a [f32],
    width: usize,
    p: &'a mut [f32],
}

impl WithSimd for SpreadOp<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { classes, first, sharpness, table, width, p } = self;
        let vector = Vector(simd);
        for (row, p) in (first..).zip(p.chunks_exact_mut(classes.count())) {
            let (table, _) = S::as_simd_f32s(&table[classes.codes[row] as usize * width..][..width]);
            let weight = classes.weights.map_or(1.0, |weights| weights[row]);
            let factor = vector.splat(sharpness * weight);
            let (full, rest) = S::as_mut_simd_f32s(p);
            let last = simd.partial_load_f32s(rest);
            let mut mean = vector.splat(0.0);
            full.iter().zip(table).for_each(|(p, a)| mean = vector.multiply_add(*p, *a, mean));
            if let (false, Some(a)) = (rest.is_empty(), table.get(full.len())) {
                mean = vector.multiply_add(last, *a, mean);
            }
            let mean = vector.splat(vector.sum(mean));
            let slope = |p, a| vector.multiply(vector.multiply(factor, p), vector.subtract(a, mean));
            full.iter_mut().zip(table).for_each(|(p, a)| *p = slope(*p, *a));
            if let (false, Some(a)) = (rest.is_empty(), table.get(full.len())) {
                simd.partial_store_f32s(rest, slope(last, *a));
            }
        }
    }
}
