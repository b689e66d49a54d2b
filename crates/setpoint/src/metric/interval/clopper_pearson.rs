//! The exact binomial interval of Clopper and Pearson (1934).
//!
//! The lower end for `k` of `n` is the `p` at which `k` or more successes have probability
//! (1 - confidence) / 2, the upper end mirrors it. Both solve
//!
//! ```text
//! ln P[Binomial(n, p) >= k] = ln alpha
//! ```
//!
//! by Newton's method in the log-odds of `p`, where the left side is concave (a truncated
//! binomial varies less than the whole), so that the iteration converges from anywhere.

use super::binomial::{pmf_pq, upper_tail_pq};
use super::{EntityCount, Interval, by_entity, check_confidence, sigmoid};
use crate::goal::{Counts, Rate};
use crate::metric::{MetricError, confusion};
use crate::sample::{Entities, Sample};

/// The two-sided interval for a proportion of which `successes` of `trials` were seen.
///
/// # Errors
/// If there are no trials, more successes than trials, or the confidence is not in (0, 1).
pub fn clopper_pearson(successes: u64, trials: u64, confidence: f64) -> Result<Interval, MetricError> {
    check(successes, trials, confidence)?;
    let alpha = (1.0 - confidence) / 2.0;
    Ok(Interval {
        lower: lower(successes, trials, alpha),
        upper: upper(successes, trials, alpha),
        confidence,
    })
}

/// The one-sided lower bound: the proportion is at least this with the given confidence.
///
/// # Errors
/// As [`clopper_pearson`].
pub fn at_least(successes: u64, trials: u64, confidence: f64) -> Result<f64, MetricError> {
    check(successes, trials, confidence)?;
    Ok(lower(successes, trials, 1.0 - confidence))
}

/// The one-sided upper bound: the proportion is at most this with the given confidence.
///
/// # Errors
/// As [`clopper_pearson`].
pub fn at_most(successes: u64, trials: u64, confidence: f64) -> Result<f64, MetricError> {
    check(successes, trials, confidence)?;
    Ok(upper(successes, trials, 1.0 - confidence))
}

/// The interval for a rate at a threshold that was fixed without looking at this sample.
///
/// For precision and its like the number of predicted positives is taken as given. Examples that come
/// in entities get the interval [`by_entity`](super::by_entity).
///
/// # Errors
/// If the sample has weights or lacks what the rate is a share of, the rate is no share of examples
/// (f-beta, balanced accuracy), the scores do not fit, or the confidence is not in (0, 1).
pub fn of_rate(
    rate: Rate,
    sample: &Sample,
    scores: &[f32],
    threshold: f32,
    confidence: f64,
) -> Result<Interval, MetricError> {
    if sample.weights().is_some() {
        return Err(MetricError::Weighted { method: "a binomial interval" });
    }
    if let Some(entities) = sample.together() {
        return by_entity(&entity_counts(rate, sample, entities, scores, threshold)?, confidence);
    }
    of_counts(rate, &confusion::at(sample, scores, threshold)?, confidence)
}

/// The same from counts of rows without weights that are draws of their own.
///
/// # Errors
/// If the rate is no share of examples, or has none.
pub fn of_counts(rate: Rate, counts: &Counts, confidence: f64) -> Result<Interval, MetricError> {
    let (successes, trials) = share(rate, counts).ok_or(MetricError::NotAProportion { rate })?;
    clopper_pearson(successes as u64, trials as u64, confidence)
}

/// What a rate counts, entity by entity.
fn entity_counts(
    rate: Rate,
    sample: &Sample,
    entities: &Entities,
    scores: &[f32],
    threshold: f32,
) -> Result<Vec<EntityCount>, MetricError> {
    sample.check_scores(scores)?;
    let of = |label, predicted| share(rate, &Counts::decision(label, predicted));
    let table = [of(false, false), of(false, true), of(true, false), of(true, true)];
    let mut counts = vec![EntityCount::default(); entities.len()];
    for ((score, label), entity) in scores.iter().zip(sample.labels()).zip(entities.of()) {
        let decision = 2 * usize::from(*label) + usize::from(*score >= threshold);
        let (counted, examples) = table[decision].ok_or(MetricError::NotAProportion { rate })?;
        let count = &mut counts[*entity as usize];
        count.counted += counted;
        count.examples += examples;
    }
    Ok(counts)
}

/// What a rate counts and out of how many; `None` where it is no share of examples.
pub(crate) fn share(rate: Rate, counts: &Counts) -> Option<(f64, f64)> {
    match (rate, rate.fractions().as_slice()) {
        (Rate::FBeta(_), _) => None,
        (_, [fraction]) => Some((fraction.numerator.dot(counts), fraction.denominator.dot(counts))),
        _ => None,
    }
}

fn check(successes: u64, trials: u64, confidence: f64) -> Result<(), MetricError> {
    if trials == 0 || successes > trials {
        return Err(MetricError::Proportion { successes, trials });
    }
    check_confidence(confidence)
}

fn lower(k: u64, n: u64, alpha: f64) -> f64 {
    if k == 0 { 0.0 } else { sigmoid(log_odds(k, n, alpha)) }
}

fn upper(k: u64, n: u64, alpha: f64) -> f64 {
    // At most k successes are at least n - k failures; the mirrored log-odds keep all digits.
    if k == n { 1.0 } else { sigmoid(-log_odds(n - k, n, alpha)) }
}

/// The log-odds of the p with P\[X >= k\] = alpha, for 1 <= k <= n.
fn log_odds(k: u64, n: u64, alpha: f64) -> f64 {
    let mut low = f64::NEG_INFINITY;
    let mut high = f64::INFINITY;
    let mut u = (k as f64 / ((n - k) as f64 + 1.0)).ln();
    for _ in 0..200 {
        let (p, q) = (sigmoid(u), sigmoid(-u));
        let tail = upper_tail_pq(n, k, p, q);
        if tail >= alpha {
            high = high.min(u)
        } else {
            low = low.max(u)
        }
        let slope = k as f64 * q * pmf_pq(n, k, p, q) / tail;
        let step = (alpha.ln() - tail.ln()) / slope;
        let mut next = u + step;
        if !(low <= next && next <= high) {
            next = match (low.is_finite(), high.is_finite()) {
                (true, true) => f64::midpoint(low, high),
                (true, false) => low + 1.0 + low.abs(),
                (false, _) => high - 1.0 - high.abs(),
            };
        }
        // Newton's last step squares the error: what is left is far below rounding.
        let done = (next - u).abs() <= 1e-13 * (1.0 + u.abs());
        u = next;
        if done {
            break;
        }
    }
    u
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::interval::{lower_tail, upper_tail};

    #[test]
    fn the_ends_have_the_tail_they_promise() {
        for n in [1, 2, 7, 50, 1000, 1_000_000] {
            for k in [0, 1, 2, n / 3, n / 2, n - 1, n].into_iter().filter(|k| *k <= n) {
                for confidence in [0.2, 0.5, 0.95, 0.999_999] {
                    let interval = clopper_pearson(k, n, confidence).unwrap();
                    let alpha = (1.0 - confidence) / 2.0;
                    // Rounding p by half an ulp moves its log-odds by eps / (p q) at most, and with
                    // them the logarithm of the tail by at most the count it starts from.
                    let tolerance =
                        |count: u64, p: f64| 1e-11 + f64::EPSILON * count as f64 / (p * (1.0 - p));
                    if k > 0 {
                        let tail = upper_tail(n, k, interval.lower);
                        let allowed = tolerance(k, interval.lower);
                        assert!((tail / alpha - 1.0).abs() < allowed, "{k} of {n}: {tail} is not {alpha}");
                    } else {
                        assert_eq!(interval.lower, 0.0);
                    }
                    if k < n {
                        let tail = lower_tail(n, k, interval.upper);
                        let allowed = tolerance(n - k, interval.upper);
                        assert!((tail / alpha - 1.0).abs() < allowed, "{k} of {n}: {tail} is not {alpha}");
                    } else {
                        assert_eq!(interval.upper, 1.0);
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_seen_and_everything_seen_have_closed_forms() {
        for n in [1, 10, 2995, 1_000_000_u64] {
            let zero = at_most(0, n, 0.95).unwrap();
            let expected = -(0.05_f64.ln() / n as f64).exp_m1();
            assert!((zero / expected - 1.0).abs() < 1e-12, "{zero} is not {expected}");
            let all = at_least(n, n, 0.95).unwrap();
            assert!((all - (0.05_f64.ln() / n as f64).exp()).abs() < 1e-14);
        }
    }

    #[test]
    fn what_is_no_proportion_is_refused() {
        assert_eq!(
            clopper_pearson(0, 0, 0.95).unwrap_err(),
            MetricError::Proportion { successes: 0, trials: 0 }
        );
        assert!(clopper_pearson(3, 2, 0.95).is_err());
        for confidence in [0.0, 1.0, 95.0, f64::NAN] {
            assert!(matches!(clopper_pearson(1, 2, confidence), Err(MetricError::Confidence { .. })));
        }
    }

    #[test]
    fn rates_at_a_threshold_count_examples_and_refuse_weights() {
        let sample = Sample::new(vec![true, true, true, false, false]).unwrap();
        let scores = [0.9, 0.8, 0.1, 0.7, 0.2];
        let interval = of_rate(Rate::Recall, &sample, &scores, 0.5, 0.9).unwrap();
        assert_eq!(interval, clopper_pearson(2, 3, 0.9).unwrap());
        let interval = of_rate(Rate::Precision, &sample, &scores, 0.5, 0.9).unwrap();
        assert_eq!(interval, clopper_pearson(2, 3, 0.9).unwrap());
        for rate in [Rate::FBeta(1.0), Rate::BalancedAccuracy] {
            let refused = of_rate(rate, &sample, &scores, 0.5, 0.9).unwrap_err();
            assert_eq!(refused, MetricError::NotAProportion { rate });
        }
        assert!(matches!(
            of_rate(Rate::Precision, &sample, &scores, 2.0, 0.9),
            Err(MetricError::Proportion { trials: 0, .. })
        ));
        let weighted = sample.with_weights(vec![2.0; 5]).unwrap();
        let refused = of_rate(Rate::Recall, &weighted, &scores, 0.5, 0.9).unwrap_err();
        assert!(matches!(refused, MetricError::Weighted { .. }));
    }

    #[test]
    fn the_interval_covers_at_least_as_often_as_it_says() {
        // The coverage at p is a sum over all k, so no simulation is needed and no tolerance but rounding.
        for (n, confidence) in [(5_u64, 0.9), (40, 0.95), (200, 0.99)] {
            let intervals: Vec<_> = (0..=n).map(|k| clopper_pearson(k, n, confidence).unwrap()).collect();
            for step in 1..200 {
                let p = f64::from(step) / 200.0;
                let covering =
                    |k: &u64| intervals[*k as usize].lower <= p && p <= intervals[*k as usize].upper;
                let coverage: f64 = (0..=n).filter(covering).map(|k| pmf_pq(n, k, p, 1.0 - p)).sum();
                assert!(coverage >= confidence - 1e-12, "{n}, {p}: {coverage}");
            }
        }
    }
}
