//! Binomial probabilities to nearly full precision, for any number of trials.
//!
//! The textbook formula with log-gammas loses a digit for each power of ten in
//! `n`. Loader's (2000) does not: it measures each count against its expectation,
//!
//! ```text
//! ln pmf = s(n) - s(k) - s(n - k) - D(k, np) - D(n - k, nq) + ln sqrt(n / (2 pi k (n - k)))
//! D(x, m) = x ln(x / m) + m - x,       s(n) = ln n! - ln(sqrt(2 pi n) (n / e)^n)
//! ```
//!
//! Tails are sums of positive terms from there, at most a few standard deviations of them.

/// P\[X >= k\] for X ~ Binomial(n, p).
///
/// `p` is clamped to [0, 1]; a NaN counts as 0.
#[must_use]
pub fn upper_tail(n: u64, k: u64, p: f64) -> f64 {
    let p = if p > 0.0 { p.min(1.0) } else { 0.0 };
    upper_tail_pq(n, k, p, 1.0 - p)
}

/// P\[X <= k\] for X ~ Binomial(n, p).
///
/// `p` is clamped to [0, 1]; a NaN counts as 0.
#[must_use]
pub fn lower_tail(n: u64, k: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    let p = if p > 0.0 { p.min(1.0) } else { 0.0 };
    upper_tail_pq(n, n - k, 1.0 - p, p)
}

/// The upper tail for p and q = 1 - p, each with all its digits.
pub(super) fn upper_tail_pq(n: u64, k: u64, p: f64, q: f64) -> f64 {
    if k == 0 {
        return 1.0;
    }
    if k > n || p == 0.0 {
        return 0.0;
    }
    if q == 0.0 {
        return 1.0;
    }
    if k as f64 > n as f64 * p { sum_from(n, k, p, q) } else { 1.0 - sum_from(n, n - k + 1, q, p) }
}

/// P\[X >= k\] for k above the mean: the terms fall from the first on.
fn sum_from(n: u64, k: u64, p: f64, q: f64) -> f64 {
    let odds = p / q;
    let (mut term, mut sum) = (1.0, 1.0);
    for j in k..n {
        let ratio = (n - j) as f64 / (j + 1) as f64 * odds;
        term *= ratio;
        sum += term;
        // The terms left are below a geometric series.
        if term * ratio <= f64::EPSILON * 0.01 * sum * (1.0 - ratio) {
            break;
        }
    }
    pmf_pq(n, k, p, q) * sum
}

/// P\[X = k\] for X ~ Binomial(n, p), with 0 < p < 1 and q = 1 - p.
pub(in crate::metric) fn pmf_pq(n: u64, k: u64, p: f64, q: f64) -> f64 {
    let (x, y, n) = (k as f64, (n - k) as f64, n as f64);
    if x == 0.0 {
        return (n * ln_complement(q, p)).exp();
    }
    if y == 0.0 {
        return (n * ln_complement(p, q)).exp();
    }
    let exponent =
        stirling_error(n) - stirling_error(x) - stirling_error(y) - deviance(x, n * p) - deviance(y, n * q);
    exponent.exp() * (n / (std::f64::consts::TAU * x * y)).sqrt()
}

/// ln(a) where a = 1 - b, from whichever has the digits.
fn ln_complement(a: f64, b: f64) -> f64 {
    if b < 0.5 { (-b).ln_1p() } else { a.ln() }
}

/// ln n! minus Stirling's formula.
fn stirling_error(n: f64) -> f64 {
    if n <= 15.0 {
        // 15! is exact in f64.
        let factorial: f64 = (2..=n as u64).map(|i| i as f64).product();
        return factorial.ln() - (n + 0.5) * n.ln() + n - 0.5 * std::f64::consts::TAU.ln();
    }
    let n2 = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / n2) / n2) / n2) / n2) / n
}

/// x ln(x / m) + m - x, without cancellation where x is near m.
fn deviance(x: f64, m: f64) -> f64 {
    let gap = x - m;
    if gap.abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() + m - x;
    }
    let v = gap / (x + m);
    let mut sum = gap * v;
    let mut power = 2.0 * x * v;
    for j in 1..1000 {
        power *= v * v;
        let next = sum + power / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_are_the_sums_of_products() {
        for n in 0..30_u64 {
            for p in [1e-9, 0.01, 0.3, 0.5, 0.9, 0.999] {
                let choose = |k: u64| (0..k).map(|i| (n - i) as f64 / (k - i) as f64).product::<f64>();
                let term = |k: u64| choose(k) * p_to(p, k) * p_to(1.0 - p, n - k);
                for k in 0..=n {
                    let expected: f64 = (k..=n).map(term).sum();
                    // The exponent is rounded: a probability of 1e-169 keeps 13 digits.
                    let allowed = |x: f64| 8.0 * f64::EPSILON * (10.0 + x.ln().abs()) * x;
                    let got = upper_tail(n, k, p);
                    assert!((got - expected).abs() <= allowed(expected), "{n} {k} {p}: {got} {expected}");
                    let expected: f64 = (0..=k).map(term).sum();
                    assert!((lower_tail(n, k, p) - expected).abs() <= allowed(expected));
                }
            }
        }
    }

    fn p_to(p: f64, k: u64) -> f64 {
        p.powi(k as i32)
    }

    #[test]
    fn the_ends_are_exact() {
        assert_eq!(upper_tail(10, 0, 0.3), 1.0);
        assert_eq!(upper_tail(10, 11, 0.3), 0.0);
        assert_eq!(upper_tail(10, 3, 0.0), 0.0);
        assert_eq!(upper_tail(10, 3, 1.0), 1.0);
        assert_eq!(lower_tail(10, 10, 0.3), 1.0);
        assert_eq!(lower_tail(10, 9, 1.0), 0.0);
    }
}
