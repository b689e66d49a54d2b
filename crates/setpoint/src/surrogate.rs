//! Smooth stand-ins for the step function: value, slope and curvature.
//!
//! A decision is the step `s >= t`. A surrogate φ of the scaled margin
//! x = k (s - t) replaces it, so that counts become differentiable:
//!
//! ```text
//! sigmoid   φ(x) = 1 / (1 + e^-x)      φ' = φ (1 - φ)     φ'' = φ' (1 - 2 φ)
//! softplus  φ(x) = ln(1 + e^x)         φ' = sigmoid       φ'' = sigmoid'
//! ```
//!
//! The sigmoid tends to the step as the sharpness k grows. The softplus is
//! convex and an upper bound of the step (up to ln 2), which is what the
//! convexity of the paper's proposition 1 and the Lagrangian methods rest on.

use crate::train::settings::choices;

choices! {
    /// Which smooth function stands for the step.
    Surrogate {
        /// Bounded
        Sigmoid,
        /// Convex
        Softplus,
    }
}

impl Surrogate {
    /// φ(x).
    #[must_use]
    pub fn value(self, x: f64) -> f64 {
        match self {
            Self::Sigmoid => sigmoid(x),
            Self::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
        }
    }

    /// φ'(x).
    #[must_use]
    pub fn slope(self, x: f64) -> f64 {
        match self {
            Self::Sigmoid => sigmoid(x) * sigmoid(-x),
            Self::Softplus => sigmoid(x),
        }
    }

    /// φ''(x).
    #[must_use]
    pub fn curvature(self, x: f64) -> f64 {
        match self {
            Self::Sigmoid => sigmoid(x) * sigmoid(-x) * (sigmoid(-x) - sigmoid(x)),
            Self::Softplus => sigmoid(x) * sigmoid(-x),
        }
    }

    /// The x with φ(x) = `value`, for values the surrogate attains.
    ///
    /// ```text
    /// sigmoid   ln(b / (1 - b))      0 < b < 1
    /// softplus  ln(e^b - 1)          0 < b
    /// ```
    #[must_use]
    pub fn inverse(self, value: f64) -> f64 {
        match self {
            Self::Sigmoid => (value / (1.0 - value)).ln(),
            Self::Softplus => value.exp_m1().ln(),
        }
    }
}

/// 1 / (1 + e^-x), without overflow for any x.
#[must_use]
pub fn sigmoid(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    if x >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Surrogate; 2] = [Surrogate::Sigmoid, Surrogate::Softplus];

    #[test]
    fn slope_and_curvature_are_the_derivatives() {
        // Central differences with h = 1e-5 err by h²/6 and by the rounding of values up to 15, 3e-15 / h.
        let h = 1e-5;
        for surrogate in BOTH {
            for step in -60..=60 {
                let x = f64::from(step) / 4.0;
                let slope = (surrogate.value(x + h) - surrogate.value(x - h)) / (2.0 * h);
                let curvature = (surrogate.slope(x + h) - surrogate.slope(x - h)) / (2.0 * h);
                assert!((surrogate.slope(x) - slope).abs() < 1e-9, "{surrogate:?} at {x}");
                assert!((surrogate.curvature(x) - curvature).abs() < 1e-9, "{surrogate:?} at {x}");
            }
        }
    }

    #[test]
    fn extreme_margins_stay_finite() {
        for surrogate in BOTH {
            for x in [-1e4, -800.0, 800.0, 1e4] {
                for value in [surrogate.value(x), surrogate.slope(x), surrogate.curvature(x)] {
                    assert!(value.is_finite(), "{surrogate:?} at {x}");
                }
            }
        }
        assert_eq!(Surrogate::Softplus.value(1e4), 1e4);
        assert_eq!(Surrogate::Sigmoid.value(1e4), 1.0);
    }

    #[test]
    fn inverse_undoes_the_value() {
        for surrogate in BOTH {
            for value in [1e-6, 0.01, 0.3, 0.5, 0.9] {
                let back = surrogate.value(surrogate.inverse(value));
                assert!((back - value).abs() < 1e-12 * value.max(1e-3), "{surrogate:?} {value} {back}");
            }
        }
    }
}
