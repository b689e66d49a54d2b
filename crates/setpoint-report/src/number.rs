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

/// Whether a goal's value is an amount in the user's units, and no share.
#[must_use]
pub fn is_money(goal: &str) -> bool {
    goal.starts_with("cost(") || goal.starts_with("profit(")
}

/// An amount in the user's units: `12,430`, `1.24`, `0.0312`.
#[must_use]
pub fn amount(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if value.fract() == 0.0 || size >= 1000.0 => 0,
        1.0.. => 2,
        _ => 4,
    };
    let text = format!("{size:.digits$}");
    let (whole, part) =
        text.split_once('.').map_or((text.as_str(), None), |(whole, part)| (whole, Some(part)));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    part.map_or(format!("{sign}{grouped}"), |part| format!("{sign}{grouped}.{part}"))
}

/// The value of a goal: a share, or an amount.
#[must_use]
pub fn value_by(goal: &str, value: f64) -> String {
    if is_money(goal) { amount(value) } else { percent(value) }
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
    fn amounts_have_the_digits_that_matter() {
        for (value, text) in [
            (0.0, "0"),
            (-12_430.2, "-12,430"),
            (1.243, "1.24"),
            (0.03119, "0.0312"),
            (999.5, "999.50"),
            (1_234_567.0, "1,234,567"),
        ] {
            assert_eq!(amount(value), text);
        }
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        assert_eq!(mean_and_deviation(&[0.5, 0.6, 0.7]), "60.00 ± 10.00");
        assert_eq!(mean_and_deviation(&[0.5]), "50.00");
    }
}
