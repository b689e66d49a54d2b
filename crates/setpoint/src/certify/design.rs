//! Which rows to have labelled, so that a given number of labels certifies as much as possible.
//!
//! With chances c of being labelled, a row that has one stands for 1/c rows, and what a condition's proof sums up
//! has the variance sum E\[X^2 | row\] / c, where X = bad - a inside. For a given number of labels that is least for
//!
//! ```text
//! c proportional to sqrt(E[X^2 | row])                                     (Neyman, 1934)
//! ```
//!
//! For `fpr<=a` that is (1 - a) at and above the threshold and a below it, times the root of the chance to be negative:
//! all rows near and above the threshold, few elsewhere. The next threshold is not known, so rows that would be
//! decided otherwise at a threshold which decides half as many rows again positive, or two thirds of them, get the
//! larger of both. Probabilities are the model's; what they are wrong by costs labels and never the proof. Several
//! conditions get equal shares, and one label in twenty goes to rows whatever they are.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::claim::Claim;
use super::error::CertifyError;
use crate::goal::Constraint;

/// By how much the share decided positive may change.
const ROOM: f64 = 1.5;
/// Probabilities nearer to 0 or 1 than this count as this, so that no row that could be a mistake stands for too many.
const LEAST_DOUBT: f64 = 0.1;
/// The part of the labels that goes to rows whatever they are.
const EVENLY: f64 = 0.05;

/// The chance with which each row should be labelled, about `labels` in all.
///
/// `margins` are scores less their thresholds, `probabilities` the chance of each row to be positive.
///
/// # Errors
/// If a condition cannot be certified.
pub fn chances(
    conditions: &[Constraint],
    margins: &[f32],
    probabilities: &[f64],
    labels: f64,
) -> Result<Vec<f64>, CertifyError> {
    if conditions.is_empty() {
        return Err(CertifyError::NoCondition);
    }
    let rows = margins.len();
    if labels >= rows as f64 {
        return Ok(vec![1.0; rows]);
    }
    let mut sorted = margins.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let positive = sorted.partition_point(|margin| *margin >= 0.0) as f64;
    let at = |rank: f64| sorted[(rank.round() as usize).min(rows - 1)];
    let (high, low) = (at(positive / ROOM), at(positive * ROOM));
    let mut total = vec![0.0; rows];
    for condition in conditions {
        let claim = Claim::of(condition)?;
        let square = |label: bool, predicted: bool| {
            let (bad, inside) = claim.of_decision(label, predicted);
            (f64::from(u8::from(bad)) - claim.allowed_share() * f64::from(u8::from(inside))).powi(2)
        };
        let of = |margin: f32, probability: f64| {
            let positive = probability.clamp(LEAST_DOUBT, 1.0 - LEAST_DOUBT);
            let decided =
                |predicted| positive * square(true, predicted) + (1.0 - positive) * square(false, predicted);
            let (as_positive, as_negative) = (margin >= low, margin < high);
            f64::max(
                if as_positive { decided(true) } else { 0.0 },
                if as_negative { decided(false) } else { 0.0 },
            )
        };
        let own: Vec<f64> = margins.iter().zip(probabilities).map(|(margin, p)| of(*margin, *p)).collect();
        let mean = own.iter().sum::<f64>() / rows as f64;
        total.iter_mut().zip(own).for_each(|(total, own)| *total += own / mean);
    }
    let roots: Vec<f64> = total.into_iter().map(f64::sqrt).collect();
    let sum: f64 = roots.iter().sum();
    let wanted: Vec<f64> =
        roots.iter().map(|root| EVENLY / rows as f64 + (1.0 - EVENLY) * root / sum).collect();
    // Where some chances are 1, the others grow until the labels are used up.
    let expected = |factor: f64| wanted.iter().map(|wanted| (factor * wanted).min(1.0)).sum::<f64>();
    let (mut few, mut many) = (labels, labels);
    while expected(many) < labels {
        many *= 2.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (few + many);
        if expected(middle) < labels { few = middle } else { many = middle }
    }
    Ok(wanted.into_iter().map(|wanted| (many * wanted).min(1.0)).collect())
}

/// The rows that are drawn, each with its chance and independently of the others.
#[must_use]
pub fn draw(chances: &[f64], seed: u64) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let drawn: Vec<bool> = chances.iter().map(|chance| rng.random::<f64>() < *chance).collect();
    (0..chances.len()).filter(|row| drawn[*row]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::parse_conditions;

    /// Rows of which a hundredth is at or above the threshold.
    fn pool() -> (Vec<f32>, Vec<f64>) {
        let margins: Vec<f32> =
            (0..10_000).map(|row| (row % 100) as f32 - 99.0 + row as f32 / 20_000.0).collect();
        let probabilities = margins.iter().map(|margin| 1.0 / (1.0 + f64::from(-margin).exp())).collect();
        (margins, probabilities)
    }

    #[test]
    fn rows_near_the_threshold_are_labelled_and_few_others() {
        let (margins, probabilities) = pool();
        for (condition, near_low) in [("fpr<=1%", false), ("precision>=0.8", false), ("recall>=0.9", true)] {
            let conditions = parse_conditions(condition).unwrap();
            let chances = chances(&conditions, &margins, &probabilities, 500.0).unwrap();
            assert!((chances.iter().sum::<f64>() - 500.0).abs() < 1e-6, "{condition}");
            assert!(chances.iter().all(|chance| *chance > 0.0 && *chance <= 1.0));
            let top = (0..10_000).find(|row| margins[*row] >= 0.0).unwrap();
            let bottom = (0..10_000).find(|row| margins[*row] < -90.0).unwrap();
            assert!(
                chances[top] > 3.0 * chances[bottom] || near_low,
                "{condition} {} {}",
                chances[top],
                chances[bottom]
            );
        }
        let all = chances(&parse_conditions("fpr<=1%").unwrap(), &margins, &probabilities, 20_000.0).unwrap();
        assert!(all.iter().all(|chance| *chance == 1.0));
        assert!(chances(&parse_conditions("top=1%").unwrap(), &margins, &probabilities, 10.0).is_err());
    }

    #[test]
    fn as_many_rows_are_drawn_as_the_chances_say_and_the_same_ones_again() {
        let chances: Vec<f64> = (0..20_000).map(|row| if row < 100 { 1.0 } else { 0.05 }).collect();
        let drawn = draw(&chances, 3);
        assert_eq!(drawn, draw(&chances, 3));
        assert_ne!(drawn, draw(&chances, 4));
        assert_eq!(drawn[..100], (0..100).collect::<Vec<_>>());
        // 1,095 expected, with a standard deviation of 31.
        assert!((drawn.len() as f64 - 1095.0).abs() < 130.0, "{}", drawn.len());
    }
}
