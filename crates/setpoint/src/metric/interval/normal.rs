//! Quantiles of the normal distribution.

/// The `p` quantile of the standard normal distribution; infinite at 0 and 1, NaN outside.
///
/// Wichura's AS 241 (1988), about 16 digits.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(&CENTRE.0, r) / polynomial(&CENTRE.1, r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail == 0.0 {
        return f64::INFINITY.copysign(q);
    }
    let r = (-tail.ln()).sqrt();
    let size = if r <= 5.0 {
        polynomial(&TAIL.0, r - 1.6) / polynomial(&TAIL.1, r - 1.6)
    } else {
        polynomial(&FAR_TAIL.0, r - 5.0) / polynomial(&FAR_TAIL.1, r - 5.0)
    };
    size.copysign(q)
}

/// Coefficients from the highest power down.
fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

type Quotient = ([f64; 8], [f64; 8]);

/// Within 0.425 of the median.
const CENTRE: Quotient = (
    [
        2509.0809287301227,
        33430.57558358813,
        67265.7709270087,
        45921.95393154987,
        13731.69376550946,
        1971.5909503065513,
        133.14166789178438,
        3.3871328727963665,
    ],
    [
        5226.495278852854,
        28729.085735721943,
        39307.89580009271,
        21213.794301586597,
        5394.196021424751,
        687.1870074920579,
        42.31333070160091,
        1.0,
    ],
);

/// Down to tails of about 1e-11.
const TAIL: Quotient = (
    [
        0.0007745450142783414,
        0.022723844989269184,
        0.2417807251774506,
        1.2704582524523684,
        3.6478483247632045,
        5.769497221460691,
        4.630337846156546,
        1.4234371107496835,
    ],
    [
        1.0507500716444169e-09,
        0.0005475938084995345,
        0.015198666563616457,
        0.14810397642748008,
        0.6897673349851,
        1.6763848301838038,
        2.053191626637759,
        1.0,
    ],
);

/// Beyond.
const FAR_TAIL: Quotient = (
    [
        2.0103343992922881e-07,
        2.7115555687434876e-05,
        0.0012426609473880784,
        0.026532189526576124,
        0.29656057182850487,
        1.7848265399172913,
        5.463784911164114,
        6.657904643501103,
    ],
    [
        2.0442631033899397e-15,
        1.421511758316446e-07,
        1.8463183175100548e-05,
        0.0007868691311456133,
        0.014875361290850615,
        0.1369298809227358,
        0.599832206555888,
        1.0,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;

    // scipy.stats.norm.ppf
    #[test]
    fn quantiles_are_those_of_scipy() {
        for (p, expected) in [
            (0.5, 0.0),
            (0.6, 0.2533471031357997),
            (0.975, 1.959963984540054),
            (0.95, 1.6448536269514722),
            (0.005, -2.575829303548901),
            (1e-6, -4.753424308822899),
            (1e-20, -9.262340089798407),
        ] {
            let got = normal_quantile(p);
            assert!(
                (got - expected).abs() <= 1e-15 * (1.0 + 5.0 * expected.abs()),
                "{p}: {got} is not {expected}"
            );
        }
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert!(normal_quantile(1.5).is_nan());
    }
}
