//! Means over a few trials, and what is known of them.

/// The mean.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The deviation of a sample (over n - 1); 0 for a single value.
pub fn deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

/// The mean of paired differences and its standard error.
pub fn paired(ours: &[f64], theirs: &[f64]) -> (f64, f64) {
    let differences: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours - theirs).collect();
    (mean(&differences), deviation(&differences) / (differences.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_take_out_what_they_share() {
        assert_eq!(paired(&[1.0, 11.0, 21.0], &[0.0, 10.0, 20.0]), (1.0, 0.0));
        let (mean, error) = paired(&[1.0, 3.0], &[0.0, 0.0]);
        // Deviation of 1 and 3 is the root of 2; over two pairs that makes 1.
        assert!((mean - 2.0).abs() < 1e-12 && (error - 1.0).abs() < 1e-12);
    }

    #[test]
    fn one_trial_has_no_deviation() {
        assert_eq!(deviation(&[0.7]), 0.0);
    }
}
