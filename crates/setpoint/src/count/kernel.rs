//! The two hot loops, on blocks that fit the first-level cache.
//!
//! One exponential per score serves every nearby threshold: with a centre c,
//!
//! ```text
//! e^{k (s - t)} = e^{k (s - c)} e^{-k (t - c)}
//! ```
//!
//! The first factor is computed once per block, the second once per threshold.
//! A threshold further than [`SPREAD`] from the centre moves the centre; the
//! margin is clamped far enough out that what is cut off is below 1e-17.
//!
//! The code is generic over the vector unit, which `pulp` chooses at run time.
//! Sums are `f32` within a block and `f64` beyond it.

use pulp::{Arch, Simd, WithSimd};

use super::phi::{Phi, Sigmoid, Softplus};
use super::vector::Vector;
use super::{Cell, CellPartial};
use crate::surrogate::Surrogate;

/// Rows per block.
pub(super) const BLOCK: usize = 1_024;
/// Rows are padded to this multiple: the widest vector there is.
pub(super) const LANES: usize = 16;
/// Largest scaled distance of a threshold from the centre of its exponentials.
const SPREAD: f64 = 16.0;

/// Up to [`BLOCK`] rows, a whole number of vectors: what the kernels read.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) scores: &'a [f32],
    pub(super) labels: &'a [bool],
    /// Weights, where they are not all 1.
    pub(super) weights: Option<&'a [f32]>,
}

/// Room for rows that must be gathered or padded before the kernels can read them.
pub(super) struct Gathered {
    scores: [f32; BLOCK],
    labels: [bool; BLOCK],
    weights: [f32; BLOCK],
}

impl Gathered {
    pub(super) fn new() -> Self {
        Self { scores: [0.0; BLOCK], labels: [false; BLOCK], weights: [0.0; BLOCK] }
    }

    /// Copies these rows, at most [`BLOCK`]; padding has weight 0.
    pub(super) fn gather(
        &mut self,
        rows: impl Iterator<Item = usize>,
        row: impl Fn(usize) -> (f32, bool, f32),
    ) -> Rows<'_> {
        let mut len = 0;
        for (slot, index) in rows.enumerate() {
            (self.scores[slot], self.labels[slot], self.weights[slot]) = row(index);
            len = slot + 1;
        }
        let padded = len.next_multiple_of(LANES);
        self.scores[len..padded].fill(0.0);
        self.labels[len..padded].fill(false);
        self.weights[len..padded].fill(0.0);
        Rows {
            scores: &self.scores[..padded],
            labels: &self.labels[..padded],
            weights: Some(&self.weights[..padded]),
        }
    }
}

/// What the kernels keep per row while they go through the thresholds.
///
/// Aligned to cache lines: a wide store across two of them costs twice.
#[repr(align(64))]
pub(crate) struct Workspace {
    /// What the surrogate keeps of each score's margin from the centre.
    prepared: [f32; BLOCK],
    /// 1 for positives, 0 for negatives.
    positive: [f32; BLOCK],
}

impl Workspace {
    pub(crate) fn new() -> Self {
        Self { prepared: [0.0; BLOCK], positive: [0.0; BLOCK] }
    }

    /// Fills in the labels.
    #[inline(always)]
    fn load(&mut self, rows: Rows<'_>) {
        for (positive, label) in self.positive.iter_mut().zip(rows.labels) {
            *positive = f32::from(u8::from(*label));
        }
    }
}

/// Thresholds of one group, scaled: how to get from a score to k (s - t).
pub(super) struct Margins<'a> {
    sharpness: f64,
    thresholds: &'a [f64],
}

impl<'a> Margins<'a> {
    pub(super) fn new(sharpness: f64, thresholds: &'a [f64]) -> Self {
        Self { sharpness, thresholds }
    }

    /// Visits each threshold with its margin from the centre; before the first at a new centre, with (k, centre).
    ///
    /// Margins and k are in the surrogate's unit.
    #[inline(always)]
    fn visit<P: Phi>(&self, mut visit: impl FnMut(usize, f32, Option<(f32, f32)>)) {
        let sharpness = P::UNIT * self.sharpness;
        let mut centre = f32::NAN;
        for (column, threshold) in self.thresholds.iter().enumerate() {
            let margin_from = |c: f32| sharpness * (threshold - f64::from(c));
            let near = margin_from(centre).abs() <= P::UNIT * SPREAD;
            if !near {
                centre = *threshold as f32;
            }
            visit(column, margin_from(centre) as f32, (!near).then_some((sharpness as f32, centre)));
        }
    }
}

/// Sums of w φ(x), w φ(-x), w φ'(x), w φ'(-x), w φ''(x) over one block, by label, before the powers of k.
#[derive(Default)]
pub(super) struct Sums {
    class: [[f64; 5]; 2],
}

impl Sums {
    /// Adds these sums to the cells of the negatives and of the positives.
    pub(super) fn add_to(&self, cells: &mut [Cell], surrogate: Surrogate, k: f64) {
        for (cell, [positive, negative, slope, back_slope, curvature]) in cells.iter_mut().zip(self.class) {
            // φ' is even for the sigmoid, and φ'' odd; for the softplus φ'' is even.
            let (back_slope, back_curvature) = match surrogate {
                Surrogate::Sigmoid => (slope, -curvature),
                Surrogate::Softplus => (back_slope, curvature),
            };
            cell.merge(&Cell {
                positive,
                negative,
                positive_slope: k * slope,
                negative_slope: -k * back_slope,
                positive_curvature: k * k * curvature,
                negative_curvature: k * k * back_curvature,
            });
        }
    }
}

/// Factors on φ'(x), φ'(-x) and φ''(x) for each label, with the powers of k worked in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coefficients {
    slope: [f32; 2],
    back_slope: [f32; 2],
    curvature: [f32; 2],
}

impl Coefficients {
    pub(super) fn new(
        negatives: &CellPartial,
        positives: &CellPartial,
        surrogate: Surrogate,
        k: f64,
    ) -> Self {
        let pair = |of: &dyn Fn(&CellPartial) -> f64| [of(negatives) as f32, of(positives) as f32];
        match surrogate {
            Surrogate::Sigmoid => Self {
                slope: pair(&|p| k * (p.positive - p.negative)),
                back_slope: [0.0; 2],
                curvature: pair(&|p| k * k * (p.positive_slope - p.negative_slope)),
            },
            Surrogate::Softplus => Self {
                slope: pair(&|p| k * p.positive),
                back_slope: pair(&|p| -k * p.negative),
                curvature: pair(&|p| k * k * (p.positive_slope + p.negative_slope)),
            },
        }
    }
}

/// Counts the rows at every threshold and hands each threshold's sums to `take`.
///
/// Returns false where a score is NaN or infinite; the sums are then worthless.
pub(super) fn count(
    rows: Rows<'_>,
    work: &mut Workspace,
    margins: &Margins<'_>,
    surrogate: Surrogate,
    curvature: bool,
    take: impl FnMut(usize, &Sums),
) -> bool {
    Arch::new().dispatch(CountOp { rows, work, margins, surrogate, curvature, take })
}

struct CountOp<'a, F> {
    rows: Rows<'a>,
    work: &'a mut Workspace,
    margins: &'a Margins<'a>,
    surrogate: Surrogate,
    curvature: bool,
    take: F,
}

impl<F: FnMut(usize, &Sums)> WithSimd for CountOp<'_, F> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        match (self.surrogate, self.curvature) {
            (Surrogate::Sigmoid, false) => self.run::<S, Sigmoid, false>(simd),
            (Surrogate::Sigmoid, true) => self.run::<S, Sigmoid, true>(simd),
            (Surrogate::Softplus, false) => self.run::<S, Softplus, false>(simd),
            (Surrogate::Softplus, true) => self.run::<S, Softplus, true>(simd),
        }
    }
}

impl<F: FnMut(usize, &Sums)> CountOp<'_, F> {
    #[inline(always)]
    fn run<S: Simd, P: Phi, const CURVATURE: bool>(self, simd: S) -> bool {
        let Self { rows, work, margins, mut take, .. } = self;
        let vector = Vector(simd);
        work.load(rows);
        let mut finite = true;
        margins.visit::<P>(|column, margin, recentred| {
            if let Some((k, centre)) = recentred {
                finite &= prepare::<S, P>(vector, rows, work, k, centre);
            }
            let shift = P::shift(vector, vector.splat(margin));
            let sums = if rows.weights.is_some() {
                sum_rows::<S, P, CURVATURE, true>(vector, rows, work, shift)
            } else {
                sum_rows::<S, P, CURVATURE, false>(vector, rows, work, shift)
            };
            take(column, &sums);
        });
        finite
    }
}

/// Fills the workspace's `prepared` for this centre; returns whether all scores are finite.
#[inline(always)]
fn prepare<S: Simd, P: Phi>(
    vector: Vector<S>,
    rows: Rows<'_>,
    work: &mut Workspace,
    k: f32,
    centre: f32,
) -> bool {
    let (scores, _) = S::as_simd_f32s(rows.scores);
    let (prepared, _) = S::as_mut_simd_f32s(&mut work.prepared[..rows.scores.len()]);
    let (k, centre, zero) = (vector.splat(k), vector.splat(centre), vector.splat(0.0));
    // Zero times a finite score is zero; times any other it is NaN, and stays so.
    let mut zeros = zero;
    for (prepared, score) in prepared.iter_mut().zip(scores) {
        *prepared = P::prepare(vector, vector.multiply(k, vector.subtract(*score, centre)));
        zeros = vector.multiply_add(zero, *score, zeros);
    }
    vector.sum(zeros) == 0.0
}

#[inline(always)]
fn sum_rows<S: Simd, P: Phi, const CURVATURE: bool, const WEIGHTED: bool>(
    vector: Vector<S>,
    rows: Rows<'_>,
    work: &Workspace,
    shift: S::f32s,
) -> Sums {
    let len = rows.scores.len();
    let (prepared, _) = S::as_simd_f32s(&work.prepared[..len]);
    let (positive, _) = S::as_simd_f32s(&work.positive[..len]);
    let mut by_class = [[vector.splat(0.0); 2]; 5];
    let weights = match rows.weights {
        None => prepared,
        Some(weights) => S::as_simd_f32s(weights).0,
    };
    for ((prepared, positive), weight) in prepared.iter().zip(positive).zip(weights) {
        let at = P::at(vector, *prepared, shift, WEIGHTED.then_some(*weight));
        let terms = [at.positive, at.negative, at.slope, at.back_slope, at.curvature];
        for field in 0..5 {
            if has::<P, CURVATURE>(field) {
                vector.add_by_class(*positive, terms[field], &mut by_class[field]);
            }
        }
    }
    let mut sums = Sums::default();
    for (field, [negatives, positives]) in by_class.into_iter().enumerate() {
        if has::<P, CURVATURE>(field) {
            sums.class[0][field] = f64::from(vector.sum(negatives));
            sums.class[1][field] = f64::from(vector.sum(positives));
        }
    }
    sums
}

/// Whether a field of [`Sums`] is asked for, and not the same as another.
#[inline(always)]
fn has<P: Phi, const CURVATURE: bool>(field: usize) -> bool {
    (field != 3 || P::TWO_SLOPES) && (field != 4 || CURVATURE)
}

/// Writes the gradient of the rows: coefficients times slopes, summed over the thresholds, times weights.
pub(super) fn spread(
    rows: Rows<'_>,
    work: &mut Workspace,
    margins: &Margins<'_>,
    surrogate: Surrogate,
    second_order: bool,
    coefficients: &[Coefficients],
    gradient: &mut [f32],
) {
    Arch::new().dispatch(SpreadOp { rows, work, margins, surrogate, second_order, coefficients, gradient });
}

struct SpreadOp<'a> {
    rows: Rows<'a>,
    work: &'a mut Workspace,
    margins: &'a Margins<'a>,
    surrogate: Surrogate,
    second_order: bool,
    coefficients: &'a [Coefficients],
    gradient: &'a mut [f32],
}

impl WithSimd for SpreadOp<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match (self.surrogate, self.second_order) {
            (Surrogate::Sigmoid, false) => self.run::<S, Sigmoid, false>(simd),
            (Surrogate::Sigmoid, true) => self.run::<S, Sigmoid, true>(simd),
            (Surrogate::Softplus, false) => self.run::<S, Softplus, false>(simd),
            (Surrogate::Softplus, true) => self.run::<S, Softplus, true>(simd),
        }
    }
}

impl SpreadOp<'_> {
    #[inline(always)]
    fn run<S: Simd, P: Phi, const CURVATURE: bool>(self, simd: S) {
        let Self { rows, work, margins, coefficients, gradient, .. } = self;
        let vector = Vector(simd);
        work.load(rows);
        margins.visit::<P>(|column, margin, recentred| {
            if let Some((k, centre)) = recentred {
                prepare::<S, P>(vector, rows, work, k, centre);
            }
            let shift = P::shift(vector, vector.splat(margin));
            if column == 0 {
                spread_rows::<S, P, CURVATURE, true>(vector, work, shift, &coefficients[column], gradient);
            } else {
                spread_rows::<S, P, CURVATURE, false>(vector, work, shift, &coefficients[column], gradient);
            }
        });
        if let Some(weights) = rows.weights {
            let (gradient, _) = S::as_mut_simd_f32s(gradient);
            for (gradient, weight) in gradient.iter_mut().zip(S::as_simd_f32s(weights).0) {
                *gradient = vector.multiply(*gradient, *weight);
            }
        }
    }
}

#[inline(always)]
fn spread_rows<S: Simd, P: Phi, const CURVATURE: bool, const FIRST: bool>(
    vector: Vector<S>,
    work: &Workspace,
    shift: S::f32s,
    factors: &Coefficients,
    gradient: &mut [f32],
) {
    let len = gradient.len();
    let (prepared, _) = S::as_simd_f32s(&work.prepared[..len]);
    let (positive, _) = S::as_simd_f32s(&work.positive[..len]);
    let (gradient, _) = S::as_mut_simd_f32s(gradient);
    let pair = |[negative, positive]: [f32; 2]| [vector.splat(negative), vector.splat(positive)];
    let (slope, back_slope) = (pair(factors.slope), pair(factors.back_slope));
    let curvature = pair(factors.curvature);
    for ((prepared, positive), gradient) in prepared.iter().zip(positive).zip(gradient) {
        let is_positive = vector.0.greater_than_f32s(*positive, vector.splat(0.0));
        let by_class = |pair: [S::f32s; 2]| vector.0.select_f32s(is_positive, pair[1], pair[0]);
        let at = P::at(vector, *prepared, shift, None);
        let so_far = if FIRST { vector.splat(0.0) } else { *gradient };
        let mut v = vector.multiply_add(by_class(slope), at.slope, so_far);
        if P::TWO_SLOPES {
            v = vector.multiply_add(by_class(back_slope), at.back_slope, v);
        }
        if CURVATURE {
            v = vector.multiply_add(by_class(curvature), at.curvature, v);
        }
        *gradient = v;
    }
}
