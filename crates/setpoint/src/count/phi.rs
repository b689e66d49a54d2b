//! The surrogates in vector form: one exponential per score, whatever the number of thresholds.

use pulp::Simd;

use super::vector::Vector;

/// log2 e: exponentials are powers of two.
const LOG2_E: f32 = std::f32::consts::LOG2_E;
/// Scaled margins from the centre are clamped to this: e^(64 + 16) still fits an f32.
const CLAMP: f32 = 64.0;

/// φ(x), φ(-x), φ'(x), φ'(-x) and φ''(x) at one margin, times a weight.
pub(super) struct PhiAt<V> {
    pub(super) positive: V,
    pub(super) negative: V,
    pub(super) slope: V,
    pub(super) back_slope: V,
    pub(super) curvature: V,
}

/// A surrogate in vector form: what it keeps per score, and its values from that.
pub(super) trait Phi {
    /// Whether φ'(x) and φ'(-x) differ.
    const TWO_SLOPES: bool;
    /// Margins are kept in this unit.
    const UNIT: f64;
    /// What to keep of a margin from the centre.
    fn prepare<S: Simd>(vector: Vector<S>, margin: S::f32s) -> S::f32s;
    /// What to keep of a threshold's margin from the centre.
    fn shift<S: Simd>(vector: Vector<S>, margin: S::f32s) -> S::f32s;
    /// The values of a score at a threshold, from what is kept of both, times the weight if there is one.
    fn at<S: Simd>(
        vector: Vector<S>,
        prepared: S::f32s,
        shift: S::f32s,
        weight: Option<S::f32s>,
    ) -> PhiAt<S::f32s>;
}

pub(super) struct Sigmoid;

impl Phi for Sigmoid {
    const TWO_SLOPES: bool = false;
    const UNIT: f64 = std::f64::consts::LOG2_E;

    #[inline(always)]
    fn prepare<S: Simd>(vector: Vector<S>, margin: S::f32s) -> S::f32s {
        vector.exp2(vector.clamp(margin, CLAMP * LOG2_E))
    }

    #[inline(always)]
    fn shift<S: Simd>(vector: Vector<S>, margin: S::f32s) -> S::f32s {
        vector.exp2(vector.subtract(vector.splat(0.0), margin))
    }

    #[inline(always)]
    fn at<S: Simd>(
        vector: Vector<S>,
        exponential: S::f32s,
        factor: S::f32s,
        weight: Option<S::f32s>,
    ) -> PhiAt<S::f32s> {
        let one = vector.splat(1.0);
        let u = vector.multiply(exponential, factor);
        let away = vector.divide(one, vector.add(one, u));
        let negative = vector.times(weight, away);
        let positive = vector.multiply(u, negative);
        let slope = vector.multiply(positive, away);
        // 1 - 2 φ = φ(-x) - φ(x)
        let curvature = vector.multiply(slope, vector.subtract(away, vector.multiply(u, away)));
        PhiAt { positive, negative, slope, back_slope: slope, curvature }
    }
}

pub(super) struct Softplus;

impl Phi for Softplus {
    const TWO_SLOPES: bool = true;
    const UNIT: f64 = 1.0;

    /// The margin itself: the softplus grows with it without bound.
    #[inline(always)]
    fn prepare<S: Simd>(_: Vector<S>, margin: S::f32s) -> S::f32s {
        margin
    }

    #[inline(always)]
    fn shift<S: Simd>(_: Vector<S>, margin: S::f32s) -> S::f32s {
        margin
    }

    #[inline(always)]
    fn at<S: Simd>(
        vector: Vector<S>,
        margin: S::f32s,
        shift: S::f32s,
        weight: Option<S::f32s>,
    ) -> PhiAt<S::f32s> {
        let (zero, one) = (vector.splat(0.0), vector.splat(1.0));
        let x = vector.subtract(margin, shift);
        let back = vector.subtract(zero, x);
        // With e = e^-|x|: φ(±x) = max(±x, 0) + ln(1 + e), φ' is 1 / (1 + e) on the near side, e / (1 + e) beyond.
        let distance = vector.0.min_f32s(vector.0.max_f32s(x, back), vector.splat(CLAMP));
        let e = vector.exp2(vector.multiply(distance, vector.splat(-LOG2_E)));
        let log = vector.ln_1p(e);
        let near = vector.divide(one, vector.add(one, e));
        let far = vector.multiply(e, near);
        let right = vector.0.greater_than_or_equal_f32s(x, zero);
        PhiAt {
            positive: vector.times(weight, vector.add(vector.0.max_f32s(x, zero), log)),
            negative: vector.times(weight, vector.add(vector.0.max_f32s(back, zero), log)),
            slope: vector.times(weight, vector.0.select_f32s(right, near, far)),
            back_slope: vector.times(weight, vector.0.select_f32s(right, far, near)),
            curvature: vector.times(weight, vector.multiply(near, far)),
        }
    }
}
