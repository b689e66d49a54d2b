//! What a text stands for: one meaning in every format.
//!
//! ```text
//! number     12, -0.5, 1e3, and true and false (in any case) for 1 and 0
//! written    1,000   1'000.5   1.000,5   12,5   $1,200   12 €   12% (which is 0.12)
//! date       2024-01-31, 2024-01-31T12:00:00Z, 31/12/2024, 12/31/2024 10:30 pm, 31 Dec 2024: seconds since 1970
//! ```
//!
//! A column that holds booleans, numbers or dates throughout is a column of numbers, whether a file
//! writes them as texts or has types for them. How they are written ([`Form`]) is decided once, by all
//! values of the training file, and stored with the model: a column is read alike ever after. What
//! cannot be one thing throughout is a column of categories, unless it is mostly numbers: then it is
//! refused, with the texts that are none.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::{time_key, written_date};

/// How the numbers of a column are written, where not plainly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// With thousands apart, a decimal comma or a unit: `1,000`, `12,5`, `$12`, `12%`.
    Written {
        /// `.` or `,`; the other, an apostrophe or a blank may stand between thousands.
        decimal: char,
        /// A currency sign, which numbers may lack, or `%`, which only 0 may lack.
        unit: Option<char>,
    },
    /// Dates of ISO 8601, with or without a time of day.
    Date,
    /// Dates as people write them, or any of these.
    LocalDate {
        /// Whether `1/2/2024` is in February.
        day_first: bool,
    },
}

impl Form {
    /// Whether its numbers are times.
    #[must_use]
    pub fn is_date(self) -> bool {
        matches!(self, Self::Date | Self::LocalDate { .. })
    }

    /// The number that a text stands for in a column of this form.
    pub(crate) fn read(self, text: &str) -> Option<f64> {
        match self {
            Self::Date => date(text),
            Self::LocalDate { day_first } => written_date(text, day_first).map(|date| date.seconds),
            Self::Written { decimal, unit } => {
                let body = Body::of(text)?;
                let value = body.value(decimal)?;
                let fits = body.unit == unit || (body.unit.is_none() && (unit != Some('%') || value == 0.0));
                fits.then_some(value)
            }
        }
    }
}

impl fmt::Display for Form {
    /// In words, after "read as".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (decimal, unit) = match self {
            Self::Date => return f.write_str("dates, with their parts"),
            Self::LocalDate { day_first: true } => {
                return f.write_str("dates, with their parts, the day before the month (31/12/2024)");
            }
            Self::LocalDate { day_first: false } => {
                return f.write_str("dates, with their parts, the month before the day (12/31/2024)");
            }
            Self::Written { decimal, unit } => (decimal, unit),
        };
        match unit {
            None => f.write_str("numbers")?,
            Some('%') => f.write_str("per cent, 12% as 0.12,")?,
            Some(sign) => write!(f, "amounts in {sign}")?,
        }
        let (decimal, thousands) = if *decimal == ',' { ("comma", "1.000,5") } else { ("point", "1,000.5") };
        write!(f, " with a decimal {decimal} ({thousands})")
    }
}

/// The number that a text stands for where no form is known: a finite number, true or false.
pub(crate) fn number(text: &[u8]) -> Option<f64> {
    match fast_float2::parse::<f64, _>(text) {
        Ok(value) => value.is_finite().then_some(value),
        Err(_) => truth(text).map(|truth| f64::from(u8::from(truth))),
    }
}

pub(crate) fn truth(text: &[u8]) -> Option<bool> {
    match text.len() {
        4 if text.eq_ignore_ascii_case(b"true") => Some(true),
        5 if text.eq_ignore_ascii_case(b"false") => Some(false),
        _ => None,
    }
}

/// A date, but no plain number and no month.
pub(crate) fn date(text: &str) -> Option<f64> {
    if text.len() < 10 || text.as_bytes()[4] != b'-' { None } else { time_key(text) }
}

/// What decides whether two texts say the same: their number if they have one, else themselves.
#[derive(PartialEq, Eq, Hash)]
pub(crate) enum Key<'a> {
    Number(u64),
    Text(&'a str),
}

impl<'a> Key<'a> {
    pub fn of(text: &'a str) -> Self {
        let text = text.trim();
        match number(text.as_bytes()).or_else(|| date(text)) {
            // The two zeros are one.
            Some(value) => Self::Number((value + 0.0).to_bits()),
            None => Self::Text(text),
        }
    }
}

/// Whether two texts say the same in any format: `1`, `1.0`, `+1` and `true` do.
#[must_use]
pub fn same_value(left: &str, right: &str) -> bool {
    left == right || Key::of(left) == Key::of(right)
}

/// The name of a group in every format: `true` for `True`, `1` for `1.0`.
pub(crate) fn canonical_name(text: &str) -> &str {
    match truth(text.as_bytes()) {
        Some(true) => "true",
        Some(false) => "false",
        None => match text.split_once('.') {
            Some((whole, zeros))
                if !zeros.is_empty()
                    && zeros.bytes().all(|byte| byte == b'0')
                    && whole.strip_prefix('-').unwrap_or(whole).bytes().all(|byte| byte.is_ascii_digit())
                    && whole.ends_with(|last: char| last.is_ascii_digit()) =>
            {
                whole
            }
            _ => text,
        },
    }
}

/// A number with what stands around it.
pub(crate) struct Body<'a> {
    negative: bool,
    pub unit: Option<char>,
    digits: &'a str,
}

fn is_currency(sign: char) -> bool {
    matches!(sign, '$' | '\u{a2}'..='\u{a5}' | '\u{20a0}'..='\u{20cf}')
}

impl<'a> Body<'a> {
    pub fn of(text: &'a str) -> Option<Self> {
        let mut rest = text.trim();
        let (mut negative, mut unit) = (None, None);
        while let Some(first) = rest.chars().next().filter(|first| !first.is_ascii_digit()) {
            match first {
                '-' | '+' | '\u{2212}' if negative.is_none() => negative = Some(first != '+'),
                sign if unit.is_none() && is_currency(sign) => unit = Some(sign),
                '.' | ',' => break,
                _ => return None,
            }
            rest = rest[first.len_utf8()..].trim_start();
        }
        if let Some(last) = rest.chars().last()
            && unit.is_none()
            && (last == '%' || is_currency(last))
        {
            unit = Some(last);
            rest = rest[..rest.len() - last.len_utf8()].trim_end();
        }
        Some(Self { negative: negative == Some(true), unit, digits: rest })
    }

    /// Its value where this character stands before decimals; per cents are hundredths.
    pub fn value(&self, decimal: char) -> Option<f64> {
        let (digits, exponent) = match self.digits.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
            None => (self.digits, 0),
        };
        let (whole, decimals) = digits.split_once(decimal).unwrap_or((digits, ""));
        let between = whole.chars().find(|character| !character.is_ascii_digit());
        let mut plain = String::with_capacity(digits.len() + 6);
        if self.negative {
            plain.push('-');
        }
        match between {
            None => plain.push_str(whole),
            Some(apart) => {
                let is_apart = apart != decimal && ",.' \u{2019}\u{a0}\u{202f}".contains(apart);
                for (place, group) in whole.split(apart).enumerate() {
                    let fits = match place {
                        0 => (1..=3).contains(&group.len()) && !group.starts_with('0'),
                        _ => group.len() == 3,
                    };
                    if !is_apart || !fits || !group.bytes().all(|byte| byte.is_ascii_digit()) {
                        return None;
                    }
                    plain.push_str(group);
                }
            }
        }
        if !decimals.bytes().all(|byte| byte.is_ascii_digit()) || whole.len() + decimals.len() == 0 {
            return None;
        }
        // With the exponent in the text, per cents are rounded once.
        let exponent = exponent.checked_sub(if self.unit == Some('%') { 2 } else { 0 })?;
        plain.push_str(&format!(".{decimals}e{exponent}"));
        let value = fast_float2::parse::<f64, _>(&plain).ok()?;
        is_storable(value).then_some(value)
    }

    /// Whether points stand between its thousands: for sure, or as far as one can tell.
    pub fn points(&self) -> (bool, bool) {
        let points = self.digits.bytes().filter(|byte| *byte == b'.').count();
        (points > 1 || (points == 1 && self.digits.contains(',')), points == 1)
    }
}

/// Whether the matrix can hold a number.
pub(crate) fn is_storable(value: f64) -> bool {
    (value as f32).is_finite()
}

/// Whether a text that is no number was meant as one: infinity, too large, hexadecimal, a date in local order.
pub(crate) fn is_odd(text: &str) -> bool {
    if fast_float2::parse::<f64, _>(text).is_ok() {
        return true;
    }
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    if Body::of(text).is_some_and(|body| body.value('.').or(body.value(',')).is_some()) {
        return true;
    }
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return false;
    }
    let day = text.split([' ', 'T']).next().unwrap_or_default();
    let parts: Vec<&str> = day.split(['/', '.', '-']).collect();
    let is_part =
        |part: &&str| matches!(part.len(), 1 | 2 | 4) && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(is_part)
}

/// Characters of a text that are shown.
const LONGEST: usize = 30;

/// The start of a text, for messages.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]).into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_numbers_have_their_value() {
        let read = |text, decimal, unit| Form::Written { decimal, unit }.read(text);
        assert_eq!(read("-1,234,567.25", '.', None), Some(-1_234_567.25));
        assert_eq!(read("1.234,5", ',', None), Some(1234.5));
        assert_eq!(read("0.7%", '.', Some('%')), Some(0.007));
        assert_eq!(read("$-3", '.', Some('$')), Some(-3.0));
        assert_eq!(read("3", '.', Some('$')), Some(3.0));
        for (text, decimal, unit) in [
            ("1,5", '.', None),
            ("1.5", ',', None),
            ("12", '.', Some('%')),
            ("€3", '.', Some('$')),
            ("", '.', None),
            ("%", '.', Some('%')),
            ("1,0000", '.', None),
            ("1e", '.', None),
            ("1,234 567", '.', None),
        ] {
            assert_eq!(read(text, decimal, unit), None, "{text}");
        }
        assert_eq!(Form::Date.read("1970-01-02"), Some(86_400.0));
        assert_eq!(Form::Date.read("1970"), None);
    }

    #[test]
    fn texts_that_say_the_same_are_the_same() {
        for (left, right) in
            [("1", "1.0"), ("True", "true"), ("true", "1"), ("-0", "0"), (" a", "a"), ("007", "7")]
        {
            assert!(same_value(left, right), "{left} {right}");
        }
        assert!(!same_value("a", "A") && !same_value("1", "l"));
        for (text, name) in
            [("True", "true"), ("1.0", "1"), ("-2.00", "-2"), ("1.5", "1.5"), (".0", ".0"), ("a.0", "a.0")]
        {
            assert_eq!(canonical_name(text), name);
        }
    }
}
