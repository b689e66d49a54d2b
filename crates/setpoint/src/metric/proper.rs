//! Proper scores: how good the probabilities are, with no threshold at all.
//!
//! From probabilities, or from scores read as log-odds (probability 1 / (1 + exp(-score))), which
//! keeps all digits where a probability would round to 0 or 1.

use super::MetricError;
use crate::sample::{Sample, SampleError};

/// The weighted mean of -ln(probability of what happened).
///
/// # Errors
/// If the lengths differ, a probability is outside [0, 1], or one of exactly 0 or 1 is wrong: the
/// loss is infinite then, and clipping it silently would hide that.
pub fn log_loss(sample: &Sample, probabilities: &[f32]) -> Result<f64, MetricError> {
    check(sample, probabilities)?;
    let surprise = |row: usize, probability: f64| {
        if sample.labels()[row] { -probability.ln() } else { -(-probability).ln_1p() }
    };
    let certain =
        probabilities.iter().enumerate().position(|(row, p)| surprise(row, f64::from(*p)).is_infinite());
    if let Some(index) = certain {
        let label = if sample.labels()[index] { "positive" } else { "negative" };
        return Err(MetricError::CertainAndWrong { index, value: probabilities[index], label });
    }
    Ok(mean(sample, probabilities, surprise))
}

/// The log loss of the probabilities 1 / (1 + exp(-score)).
///
/// # Errors
/// If there is not one finite score for each example.
pub fn log_loss_of_scores(sample: &Sample, scores: &[f32]) -> Result<f64, MetricError> {
    sample.check_scores(scores)?;
    Ok(mean(sample, scores, |row, score| softplus(if sample.labels()[row] { -score } else { score })))
}

/// The Brier score: the weighted mean of (probability - label)².
///
/// # Errors
/// If the lengths differ or a probability is outside [0, 1].
pub fn brier(sample: &Sample, probabilities: &[f32]) -> Result<f64, MetricError> {
    check(sample, probabilities)?;
    Ok(mean(sample, probabilities, |row, probability| {
        (probability - f64::from(u8::from(sample.labels()[row]))).powi(2)
    }))
}

/// The Brier score of the probabilities 1 / (1 + exp(-score)).
///
/// # Errors
/// If there is not one finite score for each example.
pub fn brier_of_scores(sample: &Sample, scores: &[f32]) -> Result<f64, MetricError> {
    sample.check_scores(scores)?;
    // The distance from the label is the probability of the other label.
    Ok(mean(sample, scores, |row, score| sigmoid(if sample.labels()[row] { -score } else { score }).powi(2)))
}

fn mean(sample: &Sample, values: &[f32], loss: impl Fn(usize, f64) -> f64) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (row, value) in values.iter().enumerate() {
        let weight = sample.weight(row);
        sum += weight * loss(row, f64::from(*value));
        total += weight;
    }
    sum / total
}

/// ln(1 + exp(x)) without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn sigmoid(x: f64) -> f64 {
    let small = (-x.abs()).exp();
    if x >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) }
}

fn check(sample: &Sample, probabilities: &[f32]) -> Result<(), MetricError> {
    let (expected, got) = (sample.len(), probabilities.len());
    if got != expected {
        return Err(SampleError::Length { what: "probabilities", expected, got }.into());
    }
    match probabilities.iter().position(|p| !(0.0..=1.0).contains(p)) {
        Some(index) => Err(MetricError::Probability { index, value: probabilities[index] }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::data::random_case;

    #[test]
    fn scores_and_their_probabilities_agree() {
        for seed in 0..20 {
            let (sample, scores) = random_case(seed, 50);
            let probabilities: Vec<f32> = scores.iter().map(|s| sigmoid(f64::from(*s)) as f32).collect();
            // The probabilities are rounded to 24 bits.
            let (a, b) = (log_loss(&sample, &probabilities), log_loss_of_scores(&sample, &scores));
            assert!((a.unwrap() - b.unwrap()).abs() < 2e-7);
            let (a, b) = (brier(&sample, &probabilities), brier_of_scores(&sample, &scores));
            assert!((a.unwrap() - b.unwrap()).abs() < 2e-7);
        }
    }

    #[test]
    fn huge_scores_keep_their_loss() {
        let sample = Sample::new(vec![true, false]).unwrap();
        assert_eq!(log_loss_of_scores(&sample, &[-1.0e4, -1.0e4]).unwrap(), 5000.0);
        assert_eq!(brier_of_scores(&sample, &[-1.0e30, 1.0e30]).unwrap(), 1.0);
        let right = log_loss_of_scores(&sample, &[40.0, -40.0]).unwrap();
        assert!((right / (-40.0_f64).exp() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        let sample = Sample::new(vec![true, false]).unwrap();
        for bad in [-0.1, 1.1, f32::NAN, f32::INFINITY] {
            for metric in [log_loss, brier] {
                let error = metric(&sample, &[0.5, bad]).unwrap_err();
                assert!(matches!(error, MetricError::Probability { index: 1, .. }), "{bad}: {error}");
            }
        }
        assert!(matches!(
            brier(&sample, &[0.5]),
            Err(MetricError::Sample(SampleError::Length { expected: 2, got: 1, .. }))
        ));
    }

    #[test]
    fn certainty_that_is_wrong_is_an_error_and_that_is_right_costs_nothing() {
        let sample = Sample::new(vec![true, false]).unwrap();
        assert_eq!(log_loss(&sample, &[1.0, 0.0]).unwrap(), 0.0);
        let error = log_loss(&sample, &[1.0, 1.0]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "probability 1 of example 1, a negative, makes the log loss infinite; compute it from scores, or clip"
        );
        assert_eq!(brier(&sample, &[0.0, 1.0]).unwrap(), 1.0);
    }
}
