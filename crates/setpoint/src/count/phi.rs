//! The surrogates in vector form: one exponential per score, whatever the number of thresholds.

use pulp::Simd;

use super::vector::Vector;

/// Scaled margins from the centre are clamped to this: e^(64 + 16) still fits an f32.
const CLAMP: f32 = 64.0;

/// One threshold relative to the centre of the block's exponentials.
#[derive(Clone, Copy)]
pub(super) struct Offset {
    /// k (t - c), as far as it is used to shift a margin.
    pub(super) shift: f32,
    /// e^{-k (t - c)}.
    pub(super) factor: f32,
}

/// φ(x), φ(-x), φ'(x), φ'(-x) and φ''(x) at one margin.
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
    /// What to keep of a margin from the centre.
    fn prepare<S: Simd>(vector: Vector<S>, margin: S::f32s) -> S::f32s;
    /// The values at the threshold with this offset from the centre.
    fn at<S: Simd>(vector: Vector<S>, prepared: S::f32s, offset: Offset) -> PhiAt<S::f32s>;
}

pub(super) struct Sigmoid;

impl Phi for Sigmoid {
    const TWO_SLOPES: bool = false;

    #[inline(always)]
    fn prepare<S: Simd>(vector: Vector<S>, margin: S::f32s) -> S::f32s {
        vector.exp(vector.clamp(margin, CLAMP))
    }

    #[inline(always)]
    fn at<S: Simd>(vector: Vector<S>, exponential: S::f32s, offset: Offset) -> PhiAt<S::f32s> {
        let one = vector.splat(1.0);
        let u = vector.multiply(exponential, vector.splat(offset.factor));
        let negative = vector.divide(one, vector.add(one, u));
        let positive = vector.multiply(u, negative);
        let slope = vector.multiply(positive, negative);
        let curvature = vector.multiply(slope, vector.subtract(negative, positive));
        PhiAt { positive, negative, slope, back_slope: slope, curvature }
    }
}

pub(super) struct Softplus;

impl Phi for Softplus {
    const TWO_SLOPES: bool = true;

    /// The margin itself: the softplus grows with it without bound.
    #[inline(always)]
    fn prepare<S: Simd>(_: Vector<S>, margin: S::f32s) -> S::f32s {
        margin
    }

    #[inline(always)]
    fn at<S: Simd>(vector: Vector<S>, margin: S::f32s, offset: Offset) -> PhiAt<S::f32s> {
        let (zero, one) = (vector.splat(0.0), vector.splat(1.0));
        let x = vector.subtract(margin, vector.splat(offset.shift));
        let back = vector.subtract(zero, x);
        // With e = e^-|x|: φ(±x) = max(±x, 0) + ln(1 + e), φ' is 1 / (1 + e) on the near side, e / (1 + e) beyond.
        let distance = vector.0.max_f32s(x, back);
        let e = vector.exp(vector.clamp(vector.subtract(zero, distance), CLAMP));
        let log = vector.ln_1p(e);
        let near = vector.divide(one, vector.add(one, e));
        let far = vector.multiply(e, near);
        let right = vector.0.greater_than_or_equal_f32s(x, zero);
        PhiAt {
            positive: vector.add(vector.0.max_f32s(x, zero), log),
            negative: vector.add(vector.0.max_f32s(back, zero), log),
            slope: vector.0.select_f32s(right, near, far),
            back_slope: vector.0.select_f32s(right, far, near),
            curvature: vector.multiply(near, far),
        }
    }
}
