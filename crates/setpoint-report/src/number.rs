//! Numbers as people read them.

/// A rate as a percentage with two decimals.
#[must_use]
pub fn percent(value: f64) -> String {
    format!("{:.2}%", 100.0 * value)
}

/// A rate that may not be there.
#[must_use]
pub fn value_of(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), percent)
}

pub(crate) use setpoint::message::percent as level;

/// With a capital letter, as sentences start.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The 64-bit number with the digits that a 32-bit one is written with.
#[must_use]
pub fn widened(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// A number with four decimals.
#[must_use]
pub fn number(value: f64) -> String {
    format!("{value:.4}")
}

/// Mean and standard deviation (over n - 1) of some rates, as `71.2 ± 1.3` in percent.
#[must_use]
pub fn mean_and_deviation(values: &[f64]) -> String {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    if values.len() < 2 {
        return format!("{:.2}", 100.0 * mean);
    }
    format!("{:.2} ± {:.2}", 100.0 * mean, 100.0 * variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_no_noise_of_rounding() {
        for (confidence, text) in [(0.95, "95%"), (0.995, "99.5%"), (0.57, "57%"), (0.9, "90%")] {
            assert_eq!(level(confidence), text);
        }
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        assert_eq!(mean_and_deviation(&[0.5, 0.6, 0.7]), "60.00 ± 10.00");
        assert_eq!(mean_and_deviation(&[0.5]), "50.00");
    }
}
