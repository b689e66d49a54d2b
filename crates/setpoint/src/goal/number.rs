//! Numbers as goals write them: fractions and percentages, without loss either way.
//!
//! A percentage is read and printed by moving the decimal point of its digits,
//! never by a division, so `0.3%` is the same number as `0.003` and every
//! number prints as text that reads back as itself.

pub(super) use crate::message::number as fraction;

/// Most significant digits that still look like a percentage a person would write.
const NATURAL_DIGITS: usize = 4;

/// The value of a decimal number, or of a percentage when `percent` is set (text without its `%`).
pub(super) fn read(text: &str, percent: bool) -> Option<f64> {
    if !percent {
        return text.parse().ok();
    }
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) => format!("{digits}e{}", exponent.saturating_sub(2)).parse().ok(),
        // An exponent past i32 is zero or infinity whatever the percent sign does.
        Err(_) => text.parse().ok(),
    }
}

/// The target of a rate: `1%` below one half, `0.95` above, where percentages read as shortfalls.
pub(super) fn target(value: f64) -> String {
    if value < 0.5 { short_percent(value).unwrap_or_else(|| fraction(value)) } else { fraction(value) }
}

/// Two ends of a range, written alike: `1%..5%`, `0..5%`, `0.2..0.8`.
pub(super) fn range(from: f64, to: f64) -> String {
    let ends = (to < 0.5).then(|| Some((short_percent(from)?, short_percent(to)?))).flatten();
    let (from, to) = ends.unwrap_or_else(|| (fraction(from), fraction(to)));
    format!("{from}..{to}")
}

/// The value in words for reports: a percentage where that is short (`95%`), else the fraction.
pub(super) fn words(value: f64) -> String {
    match value {
        0.0 => "0%".to_owned(),
        1.0 => "100%".to_owned(),
        _ => short_percent(value).unwrap_or_else(|| fraction(value)),
    }
}

/// `value` as a percentage, if it is zero or has few digits and is neither tiny nor above 1.
fn short_percent(value: f64) -> Option<String> {
    if value == 0.0 {
        return Some("0".to_owned());
    }
    if !(1e-5..1.0).contains(&value) {
        return None;
    }
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e')?;
    let digits = mantissa.replace('.', "");
    if digits.len() > NATURAL_DIGITS {
        return None;
    }
    // The decimal point of a percentage stands two places further right.
    let point = exponent.parse::<i32>().ok()? + 3;
    Some(match usize::try_from(point) {
        Ok(0) => format!("0.{digits}%"),
        Ok(point) if digits.len() <= point => format!("{digits:0<point$}%"),
        Ok(point) => format!("{}.{}%", &digits[..point], &digits[point..]),
        Err(_) => format!("0.{}{digits}%", "0".repeat(point.unsigned_abs() as usize)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn targets_print_the_way_people_write_them() {
        let cases = [
            (0.01, "1%"),
            (0.1, "10%"),
            (0.05, "5%"),
            (0.015, "1.5%"),
            (0.001, "0.1%"),
            (0.0001, "0.01%"),
            (0.000_015, "0.0015%"),
            (0.333, "33.3%"),
            (0.5, "0.5"),
            (0.95, "0.95"),
            (0.0, "0"),
            (1e-7, "1e-7"),
            (0.1 + 0.2, "0.30000000000000004"),
        ];
        for (value, expected) in cases {
            assert_eq!(target(value), expected);
        }
    }

    #[test]
    fn both_ends_of_a_range_are_written_alike() {
        assert_eq!(range(0.0, 0.05), "0..5%");
        assert_eq!(range(0.01, 0.05), "1%..5%");
        assert_eq!(range(0.2, 0.8), "0.2..0.8");
        assert_eq!(range(1e-7, 0.05), "1e-7..0.05");
    }

    #[test]
    fn a_percentage_is_the_number_its_digits_say() {
        for (text, value) in [("0.3", 0.003), ("1e-3", 1e-5), ("7", 0.07), ("99.99", 0.9999), ("1e2", 1.0)] {
            assert_eq!(read(text, true), Some(value), "{text}%");
        }
        assert_eq!(read("1e-99999999999", true), Some(0.0));
        assert_eq!(read("1e-2147483648", true), Some(0.0));
        assert_eq!(read("1e99999999999", true), Some(f64::INFINITY));
    }

    proptest! {
        #[test]
        fn every_number_reads_back_as_itself(value in 0.0..=1.0f64, digits in 0u32..10_000, scale in 4i32..9) {
            let short: f64 = format!("{digits}e-{scale}").parse().unwrap();
            for value in [value, value * 1e-5, short] {
                let ends = range(value, 0.49);
                for text in [target(value), fraction(value), words(value), ends[..ends.find("..").unwrap()].to_owned()] {
                    let read = match text.strip_suffix('%') {
                        Some(digits) => read(digits, true),
                        None => read(&text, false),
                    };
                    prop_assert_eq!(read, Some(value), "{}", text);
                }
            }
        }
    }
}
