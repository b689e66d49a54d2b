//! Vector arithmetic, 2^x and ln(1 + x), for whatever vector width the machine has.
//!
//! The functions have no branches, tables or calls. They are within a relative
//! error of 3e-7 of the exact value; the tests
//! measure it.

use pulp::Simd;

/// A vector unit: thin names over `pulp`'s, so that formulas can be read.
#[derive(Clone, Copy)]
pub(crate) struct Vector<S: Simd>(pub(crate) S);

impl<S: Simd> Vector<S> {
    #[inline(always)]
    pub(crate) fn splat(self, x: f32) -> S::f32s {
        self.0.splat_f32s(x)
    }

    #[inline(always)]
    pub(crate) fn add(self, a: S::f32s, b: S::f32s) -> S::f32s {
        self.0.add_f32s(a, b)
    }

    #[inline(always)]
    pub(crate) fn subtract(self, a: S::f32s, b: S::f32s) -> S::f32s {
        self.0.sub_f32s(a, b)
    }

    #[inline(always)]
    pub(crate) fn multiply(self, a: S::f32s, b: S::f32s) -> S::f32s {
        self.0.mul_f32s(a, b)
    }

    /// a, or w a.
    #[inline(always)]
    pub(crate) fn times(self, w: Option<S::f32s>, a: S::f32s) -> S::f32s {
        match w {
            Some(w) => self.multiply(w, a),
            None => a,
        }
    }

    #[inline(always)]
    pub(crate) fn divide(self, a: S::f32s, b: S::f32s) -> S::f32s {
        self.0.div_f32s(a, b)
    }

    /// a b + c, fused where the machine can.
    #[inline(always)]
    pub(crate) fn multiply_add(self, a: S::f32s, b: S::f32s, c: S::f32s) -> S::f32s {
        self.0.mul_add_e_f32s(a, b, c)
    }

    /// Adds a to the sum of its class: where `positive` is 1 to the second, where it is 0 to the first.
    #[inline(always)]
    pub(crate) fn add_by_class(self, positive: S::f32s, a: S::f32s, sums: &mut [S::f32s; 2]) {
        let [negatives, positives] = sums;
        if S::F32_LANES >= 16 {
            // Additions under a mask, which leave the multipliers to others; the bits are the same.
            let is_negative = self.0.less_than_f32s(positive, self.splat(0.5));
            let is_positive = self.0.greater_than_f32s(positive, self.splat(0.5));
            *negatives = self.0.select_f32s(is_negative, self.add(*negatives, a), *negatives);
            *positives = self.0.select_f32s(is_positive, self.add(*positives, a), *positives);
        } else {
            let negative = self.subtract(self.splat(1.0), positive);
            *negatives = self.multiply_add(negative, a, *negatives);
            *positives = self.multiply_add(positive, a, *positives);
        }
    }

    #[inline(always)]
    pub(crate) fn clamp(self, x: S::f32s, limit: f32) -> S::f32s {
        self.0.max_f32s(self.splat(-limit), self.0.min_f32s(self.splat(limit), x))
    }

    /// Sum over the lanes.
    #[inline(always)]
    pub(crate) fn sum(self, a: S::f32s) -> f32 {
        self.0.reduce_sum_f32s(a)
    }

    /// Polynomial with these coefficients, highest power first.
    #[inline(always)]
    fn polynomial<const N: usize>(self, x: S::f32s, coefficients: [f32; N]) -> S::f32s {
        let mut sum = self.splat(coefficients[0]);
        for coefficient in &coefficients[1..] {
            sum = self.multiply_add(sum, x, self.splat(*coefficient));
        }
        sum
    }

    /// 2^x for x in [-126, 127]; callers clamp to that.
    ///
    /// x = n + r with |r| <= 1/2, exactly; 2^r by a polynomial, 2^n by its bits.
    #[inline(always)]
    pub(crate) fn exp2(self, x: S::f32s) -> S::f32s {
        // Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the mantissa.
        const ROUNDER: f32 = 12_582_912.0;
        // Fitted to a relative error of 9.2e-8 in [-1/2, 1/2].
        const LAST: f32 = std::f32::consts::LN_2 - 1.788_139_3e-7;
        const P: [f32; 6] = [1.326_471_3e-3, 9.671_523e-3, 5.550_734e-2, 2.402_224_2e-1, LAST, 1.0];

        let simd = self.0;
        let rounder = self.splat(ROUNDER);
        let shifted = self.add(x, rounder);
        let r = self.subtract(x, self.subtract(shifted, rounder));
        let e = self.polynomial(r, P);
        // Multiply by 2^n: add n to the exponent bits.
        let exponent = simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
        simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(e), exponent))
    }

    /// ln(1 + e) for e in [0, 1].
    ///
    /// With z = e / (2 + e) <= 1/3: ln(1 + e) = 2 artanh z = 2 z (1 + z²/3 + z⁴/5 + ...).
    #[inline(always)]
    pub(crate) fn ln_1p(self, e: S::f32s) -> S::f32s {
        const SERIES: [f32; 7] = [1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0];
        let two = self.splat(2.0);
        let z = self.divide(e, self.add(two, e));
        self.multiply(self.multiply(two, z), self.polynomial(self.multiply(z, z), SERIES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulp::{Arch, Scalar, WithSimd};

    /// Applies one of the functions to every input in place.
    struct Apply<'a> {
        inputs: &'a mut [f32],
        log: bool,
    }

    impl WithSimd for Apply<'_> {
        type Output = ();

        fn with_simd<S: Simd>(self, simd: S) {
            let vector = Vector(simd);
            let (inputs, rest) = S::as_mut_simd_f32s(self.inputs);
            assert!(rest.is_empty(), "tests use whole vectors");
            for x in inputs {
                *x = if self.log { vector.ln_1p(*x) } else { vector.exp2(*x) };
            }
        }
    }

    /// Largest relative error over the inputs, on this machine's vectors and on the scalar fallback.
    fn worst(mut inputs: Vec<f32>, log: bool, exact: fn(f64) -> f64) -> f64 {
        inputs.truncate(inputs.len() / 16 * 16);
        let mut fast = inputs.clone();
        Arch::new().dispatch(Apply { inputs: &mut fast, log });
        let mut plain = inputs.clone();
        Apply { inputs: &mut plain, log }.with_simd(Scalar);
        let error = |(x, fast): (&f32, &f32)| {
            let exact = exact(f64::from(*x));
            (f64::from(*fast) - exact).abs() / exact.abs().max(f64::MIN_POSITIVE)
        };
        inputs.iter().zip(&fast).chain(inputs.iter().zip(&plain)).map(error).fold(0.0, f64::max)
    }

    #[test]
    fn exp2_is_within_2e_7_of_the_exact_value() {
        // 9.2e-8 of the polynomial, and half an ulp of each of its last two sums.
        let inputs = (-12_600_000..=12_700_000).map(|i| i as f32 / 100_000.0).collect();
        let worst = worst(inputs, false, f64::exp2);
        assert!(worst < 2e-7, "{worst:e}");
    }

    #[test]
    fn ln_1p_is_within_3e_7_of_the_exact_value() {
        let inputs =
            (1..=1_000_000).map(|i| i as f32 / 1e6).chain((1..80).map(|i| (-i as f32).exp())).collect();
        let worst = worst(inputs, true, f64::ln_1p);
        assert!(worst < 3e-7, "{worst:e}");
    }
}
