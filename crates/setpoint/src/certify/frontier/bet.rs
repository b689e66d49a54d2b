//! Bets on bounded numbers, against the claim that their mean is at most 0.

/// Stakes are halved from the largest that cannot ruin, down to what suits this many draws; then twice more.
fn halvings(draws: usize) -> i32 {
    2 + (0.5 * (draws.max(1) as f64).log2()).ceil() as i32
}

/// One over what bets on the numbers being above 0 on average came to, at most 1; none is below -`worst`.
pub(super) fn p_value(values: &[f64], worst: f64) -> f64 {
    let stakes = (0..=halvings(values.len())).map(|halvings| 0.5_f64.powi(halvings) / worst);
    mean_wealth(values, stakes)
}

/// The same of numbers that stand for `least` or more, and of which those that may be lost stand for `at_risk` or
/// less, so that the stakes do not depend on how heavy the heaviest is.
pub(super) fn p_value_sampled(values: &[f64], worst: f64, least: f64, at_risk: f64) -> f64 {
    let stakes = (1..=1 + halvings(values.len())).map(|halvings| 0.5_f64.powi(halvings) / (worst * least));
    let sound: Vec<f64> =
        stakes.map(|stake| if stake * worst * at_risk <= 1.0 { stake } else { f64::NAN }).collect();
    mean_wealth(values, sound.into_iter())
}

/// Stakes that are no numbers are lost from the start.
fn mean_wealth(values: &[f64], stakes: impl Iterator<Item = f64>) -> f64 {
    let wealth = |stake: f64| match stake.is_nan() {
        true => f64::NEG_INFINITY,
        false => values.iter().map(|value| (stake * value).max(-1.0).ln_1p()).sum::<f64>(),
    };
    let logs: Vec<f64> = stakes.map(wealth).collect();
    (-super::super::entity::log_mean(&logs)).exp().min(1.0)
}

/// The bound below a mean that holds with probability 1 - delta, of numbers that are `low` or more: the least that bets
/// do not refute.
#[must_use]
pub fn mean_bound(values: &[f64], low: f64, delta: f64) -> f64 {
    if values.is_empty() || !low.is_finite() {
        return low;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    // With stakes in units of m - low each factor falls with m, and so does the wealth.
    let refuted = |m: f64| {
        let away: Vec<f64> = values.iter().map(|value| value - m).collect();
        p_value(&away, m - low) <= delta
    };
    let (mut below, mut above) = (low, mean);
    for _ in 0..60 {
        let middle = 0.5 * (below + above);
        if middle > low && refuted(middle) { below = middle } else { above = middle }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bets_are_won_where_the_mean_is_above_zero() {
        let good: Vec<f64> = (0..400).map(|i| if i % 10 == 0 { -0.5 } else { 0.5 }).collect();
        let even: Vec<f64> = (0..400).map(|i| if i % 2 == 0 { -0.5 } else { 0.5 }).collect();
        assert!(p_value(&good, 0.5) < 1e-6);
        assert_eq!(p_value(&even, 0.5), 1.0);
        assert!(p_value_sampled(&good, 0.5, 1.0, 1.0) < 1e-6);
        assert_eq!(p_value_sampled(&good, 0.5, 1.0, f64::INFINITY), 1.0);
    }

    #[test]
    fn a_bound_is_below_the_mean_and_nears_it_with_more_rows() {
        let values = |n: usize| (0..n).map(|i| (i % 5) as f64).collect::<Vec<f64>>();
        let (few, many) = (mean_bound(&values(200), 0.0, 0.05), mean_bound(&values(20_000), 0.0, 0.05));
        assert!(few > 1.5 && few < many && many < 2.0 && many > 1.95, "{few} {many}");
        assert_eq!(mean_bound(&[], -5.0, 0.05), -5.0);
    }
}
