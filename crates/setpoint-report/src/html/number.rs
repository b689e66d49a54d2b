//! Numbers on the page: written for people, with the exact value of the record beside.

use maud::{Markup, html};

use crate::evaluate::{Bounds, Measured};

/// A number as JSON writes it, so that the page and `--json` can be compared to the last digit.
pub(super) fn exact(value: f64) -> String {
    serde_json::to_string(&value).unwrap_or_default()
}

/// A rate, as a percentage.
pub(super) fn rate(value: f64) -> Markup {
    html! { data value=(exact(value)) { (crate::number::percent(value)) } }
}

/// A rate that may not be there.
pub(super) fn maybe_rate(value: Option<f64>) -> Markup {
    html! { @match value { Some(value) => (rate(value)), None => "\u{2013}" } }
}

/// The ends of an interval.
pub(super) fn interval(bounds: &Bounds) -> Markup {
    html! { (rate(bounds.lower)) " to " (rate(bounds.upper)) }
}

/// A rate, with its interval below.
pub(super) fn measured(measured: &Measured) -> Markup {
    with_interval(measured.told(), measured.interval.as_ref())
}

/// A rate that may not be there, with its interval below.
pub(super) fn with_interval(told: Option<f64>, bounds: Option<&Bounds>) -> Markup {
    html! {
        (maybe_rate(told))
        @if let Some(bounds) = bounds { span class="interval" { (interval(bounds)) } }
    }
}

/// A count, by weight where there are weights.
pub(super) fn count(value: f64) -> Markup {
    let text = if value.fract() == 0.0 { grouped(value) } else { crate::number::number(value) };
    html! { data value=(exact(value)) { (text) } }
}

/// A number of rows.
pub(super) fn rows(value: u64) -> Markup {
    html! { data value=(value) { (grouped(value as f64)) } }
}

/// A threshold, to the last digit.
pub(super) fn threshold(value: f64) -> Markup {
    let exact = serde_json::to_string(&value).unwrap_or_default();
    html! { data value=(exact) { (exact) } }
}

/// A whole number with commas.
pub(super) fn grouped(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = if value < 0.0 { "\u{2212}".to_owned() } else { String::new() };
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A difference of rates in points, with its sign.
pub(super) fn points(value: f64) -> Markup {
    let text = format!("{:+.2}", 100.0 * value).replace('-', "\u{2212}");
    html! { data value=(exact(value)) { (text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_have_commas() {
        for (value, text) in [(0.0, "0"), (999.0, "999"), (1000.0, "1,000"), (-1234567.0, "−1,234,567")] {
            assert_eq!(grouped(value), text);
        }
    }

    #[test]
    fn the_exact_value_is_that_of_json() {
        assert_eq!(rate(0.1 + 0.2).into_string(), "<data value=\"0.30000000000000004\">30.00%</data>");
        assert_eq!(threshold(1.656_403_3).into_string(), "<data value=\"1.6564033\">1.6564033</data>");
    }
}
