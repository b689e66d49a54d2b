//! A lower bound for the mean of numbers between 0 and 1, such as a metric over queries.
//!
//! Betting (Waudby-Smith and Ramdas), as in [`entity`](super::entity): if the mean were m or less, the wealth
//!
//! ```text
//! W(m) = mean over stakes l of  product over draws of (1 + min(l, 1/m) (x - m))
//! ```
//!
//! would have a mean of at most 1, so that W >= 1 / delta has a chance of at most delta. The stakes are fixed in advance
//! by the number of draws: the best ones for deviations of 1/2 down to 1/32. Each product falls as m rises, so that
//! the means that are refuted are those below a bound, which bisection finds.

use serde::{Deserialize, Serialize};

use super::CertifyError;
use super::entity::{least, log_mean};

/// Deviations that there is a stake for: halved from 1/2.
const STAKES: i32 = 5;

/// What draws prove about a mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeanCertificate {
    /// Draws.
    pub draws: u64,
    /// Their mean.
    pub mean: f64,
    /// The population's mean is at least this.
    pub lower: f64,
    /// With this confidence.
    pub confidence: f64,
}

/// A lower bound for the mean of the population that these values between 0 and 1 are draws of. With a target,
/// the bound must reach it.
///
/// # Errors
/// If there are no values or one is not between 0 and 1, the confidence makes no sense, or the bound does not reach
/// the target: then with the number of draws that would be needed.
pub fn certify_mean(
    values: &[f64],
    confidence: f64,
    target: Option<f64>,
) -> Result<MeanCertificate, CertifyError> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(CertifyError::Confidence { value: confidence });
    }
    let delta = 1.0 - confidence;
    if let Some(value) = values.iter().find(|value| !(0.0..=1.0).contains(*value)) {
        return Err(CertifyError::NotAShare { value: *value });
    }
    let draws = values.len() as u64;
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let lower = if values.is_empty() { 0.0 } else { bound(values, delta) };
    match target {
        Some(target) if lower < target => {
            let enough = |draws: u64| log_wealth(values, draws, target, delta) >= -delta.ln();
            // Values that do not reach the target by themselves never will.
            let needed = if mean > target { least(enough) } else { None };
            Err(CertifyError::TooFewDraws { draws, mean, lower, target, confidence, needed })
        }
        None if values.is_empty() => {
            Err(CertifyError::TooFewDraws { draws, mean, lower, target: 0.0, confidence, needed: Some(1) })
        }
        _ => Ok(MeanCertificate { draws, mean, lower, confidence }),
    }
}

/// The logarithm of the wealth of so many draws like these against a mean.
fn log_wealth(values: &[f64], draws: u64, mean: f64, delta: f64) -> f64 {
    let smallest = (-8.0 * delta.ln() / draws as f64).sqrt();
    let repeats = draws as f64 / values.len() as f64;
    let of_stake = |doublings: i32| {
        let stake = (smallest * 2.0_f64.powi(doublings)).min(1.0 / mean);
        repeats * values.iter().map(|value| (stake * (value - mean)).max(-1.0).ln_1p()).sum::<f64>()
    };
    log_mean(&(0..STAKES).map(of_stake).collect::<Vec<f64>>())
}

fn bound(values: &[f64], delta: f64) -> f64 {
    let refuted = |mean: f64| log_wealth(values, values.len() as u64, mean, delta) >= -delta.ln();
    let (mut below, mut above) = (0.0, 1.0);
    // Halving to the resolution of what is printed and beyond.
    for _ in 0..50 {
        let middle = 0.5 * (below + above);
        if refuted(middle) { below = middle } else { above = middle }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn the_bound_holds_as_often_as_it_says() {
        // Skewed values, of which most are 0 or 1, and few draws.
        for (draws, ones) in [(20, 0.9), (60, 0.3), (300, 0.05)] {
            let mean = ones + (1.0 - ones) * 0.25;
            let mut random = ChaCha8Rng::seed_from_u64(draws as u64);
            let misses = (0..2000)
                .filter(|_| {
                    let mut one = || match random.random::<f64>() < ones {
                        true => 1.0,
                        false => 0.5 * random.random::<f64>(),
                    };
                    let values: Vec<f64> = (0..draws).map(|_| one()).collect();
                    certify_mean(&values, 0.9, None).unwrap().lower > mean
                })
                .count();
            // 10% of 2,000 is 200, and three standard deviations of a binomial are 40.
            assert!(misses <= 240, "{misses} of 2000 with {draws} draws");
        }
    }

    #[test]
    fn more_draws_bring_the_bound_nearer_and_a_target_says_how_many() {
        let values = |draws: usize| -> Vec<f64> { (0..draws).map(|at| (at % 5) as f64 / 4.0).collect() };
        let lower = |draws| certify_mean(&values(draws), 0.95, None).unwrap().lower;
        // The normal approximation would have 0.418, 0.474 and 0.492, and proves nothing.
        assert!(lower(50) > 0.35 && lower(500) > 0.45 && lower(5000) > 0.485 && lower(5000) < 0.492);
        let refused = certify_mean(&values(50), 0.95, Some(0.45)).unwrap_err();
        let CertifyError::TooFewDraws { needed: Some(needed), .. } = refused else { panic!("{refused}") };
        let needed = needed as usize;
        assert!(certify_mean(&values(needed.next_multiple_of(5)), 0.95, Some(0.45)).is_ok());
        assert!(certify_mean(&values(needed * 9 / 10), 0.95, Some(0.45)).is_err());
        assert!(matches!(
            certify_mean(&values(50), 0.95, Some(0.6)),
            Err(CertifyError::TooFewDraws { needed: None, .. })
        ));
        assert!(certify_mean(&[], 0.95, None).is_err());
        assert!(certify_mean(&[1.5], 0.95, None).is_err());
    }

    #[test]
    fn the_order_of_the_draws_does_not_matter() {
        let values = [0.1, 0.9, 0.4, 0.4, 1.0, 0.0, 0.7, 0.6];
        let mut turned = values;
        turned.reverse();
        let [a, b] = [values, turned].map(|values| certify_mean(&values, 0.9, None).unwrap().lower);
        assert!((a - b).abs() < 1e-12);
    }
}
