//! What a text stands for: one meaning in every format.
//!
//! ```text
//! number     12, -0.5, 1e3, and true and false (in any case) for 1 and 0
//! written    1,000   1'000.5   1.000,5   12,5   $1,200   12 €   12% (which is 0.12)
//! date       2024-01-31, 2024-01-31T12:00:00Z: seconds since 1970
//! ```
//!
//! A column that holds booleans, numbers or dates throughout is a column of numbers, whether a file
//! writes them as texts or has types for them. How they are written ([`Form`]) is decided once, by all
//! values of the training file, and stored with the model: a column is read alike ever after. What
//! cannot be one thing throughout is a column of categories, unless it is mostly numbers: then it is
//! refused, with the texts that are none.

use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::time::time_key;

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
}

impl Form {
    /// The number that a text stands for in a column of this form.
    pub(crate) fn read(self, text: &str) -> Option<f64> {
        match self {
            Self::Date => date(text),
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
            Self::Date => return f.write_str("dates, in seconds since 1970"),
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
fn date(text: &str) -> Option<f64> {
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
struct Body<'a> {
    negative: bool,
    unit: Option<char>,
    digits: &'a str,
}

fn is_currency(sign: char) -> bool {
    matches!(sign, '$' | '\u{a2}'..='\u{a5}' | '\u{20a0}'..='\u{20cf}')
}

impl<'a> Body<'a> {
    fn of(text: &'a str) -> Option<Self> {
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
    fn value(&self, decimal: char) -> Option<f64> {
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
    fn points(&self) -> (bool, bool) {
        let points = self.digits.bytes().filter(|byte| *byte == b'.').count();
        (points > 1 || (points == 1 && self.digits.contains(',')), points == 1)
    }
}

/// Whether the matrix can hold a number.
pub(crate) fn is_storable(value: f64) -> bool {
    (value as f32).is_finite()
}

/// Whether a text that is no number was meant as one: infinity, too large, hexadecimal, a date in local order.
fn is_odd(text: &str) -> bool {
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

/// So many different numbers may a column of categories have among its texts, and no more.
const FEW: usize = 20;
/// Texts of each sort that are remembered, and shown.
const SHOWN: usize = 3;
/// Characters of a text that are shown.
const LONGEST: usize = 30;

/// What a column held, so far as it was not read as plain numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub numbers: u64,
    truths: u64,
    written: u64,
    odd: u64,
    others: u64,
    /// Texts with their lines: others, truths, odd ones, written ones.
    examples: [Vec<(u64, String)>; 4],
    /// Hashes of different numbers, so far as they are few.
    different: Vec<u64>,
    /// Some plain number is not 0; is neither 0 nor 1.
    nonzero: bool,
    beyond: bool,
    no_point: bool,
    no_comma: bool,
    no_date: bool,
    /// Points between thousands: seen for sure; only possible.
    points: bool,
    perhaps_points: bool,
    unit: Option<char>,
    units_differ: bool,
}

/// What a column is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reading {
    /// Numbers, truths or nothing.
    Plain,
    /// Numbers of this form.
    Form(Form),
    Category,
    /// Mostly numbers, but not all, or not all in one form.
    Mixed,
}

impl Tally {
    /// Counts a text that is not missing.
    pub fn add(&mut self, text: &str, count: u64, line: impl FnOnce() -> u64) {
        let text = text.trim();
        if let Ok(value) = fast_float2::parse::<f64, _>(text)
            && is_storable(value)
        {
            self.numbers += count;
            self.number(value);
            self.fits(text);
            return;
        }
        let class = if truth(text.as_bytes()).is_some() {
            self.truths += count;
            1
        } else if self.fits(text) {
            self.written += count;
            3
        } else if is_odd(text) {
            self.odd += count;
            2
        } else {
            self.others += count;
            0
        };
        if class > 1 {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            self.differs(hasher.finish());
        }
        let examples = &mut self.examples[class];
        if examples.len() < SHOWN {
            let shown = shortened(text);
            if examples.iter().all(|(_, other)| *other != shown) {
                examples.push((line(), shown.into_owned()));
            }
        }
    }

    /// Notes which forms a text fits; whether it fits any.
    fn fits(&mut self, text: &str) -> bool {
        let body = Body::of(text);
        let value = |decimal| body.as_ref().and_then(|body| body.value(decimal));
        let (point, comma, date) = (value('.').is_some(), value(',').is_some(), date(text).is_some());
        if !(point || comma || date) {
            return false;
        }
        self.no_point |= !point;
        self.no_comma |= !comma;
        self.no_date |= !date;
        if let (Some(body), false) = (&body, date) {
            let (sure, perhaps) = body.points();
            self.points |= sure && comma;
            self.perhaps_points |= perhaps && comma;
            if let Some(unit) = body.unit {
                self.units_differ |= self.unit.is_some_and(|other| other != unit);
                self.unit = Some(unit);
            } else if value('.').or(value(',')) != Some(0.0) {
                self.nonzero = true;
            }
        }
        true
    }

    /// Counts numbers that were read as plain ones, and so have decimal points; missing ones are NaN.
    pub fn count(&mut self, values: impl Iterator<Item = f64>) {
        for value in values.filter(|value| !value.is_nan()) {
            self.numbers += 1;
            self.number(value);
            (self.no_comma, self.no_date) = (true, true);
        }
        // Truths were stored as 1 and 0.
        self.numbers -= self.truths.min(self.numbers);
    }

    fn number(&mut self, value: f64) {
        self.nonzero |= value != 0.0;
        self.beyond |= value != 0.0 && value != 1.0;
        self.differs((value + 0.0).to_bits());
    }

    fn differs(&mut self, hash: u64) {
        if self.different.len() <= FEW && !self.different.contains(&hash) {
            self.different.push(hash);
        }
    }

    /// Values that could not be read as plain numbers.
    pub fn surprises(&self) -> u64 {
        self.written + self.odd + self.others
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.numbers + self.truths + self.surprises() == 0
    }

    pub fn merge(&mut self, later: Self) {
        self.numbers += later.numbers;
        self.truths += later.truths;
        self.written += later.written;
        self.odd += later.odd;
        self.others += later.others;
        for (mine, theirs) in self.examples.iter_mut().zip(later.examples) {
            for example in theirs {
                if mine.len() < SHOWN && mine.iter().all(|(_, other)| *other != example.1) {
                    mine.push(example);
                }
            }
        }
        later.different.into_iter().for_each(|hash| self.differs(hash));
        self.nonzero |= later.nonzero;
        self.beyond |= later.beyond;
        self.no_point |= later.no_point;
        self.no_comma |= later.no_comma;
        self.no_date |= later.no_date;
        self.points |= later.points;
        self.perhaps_points |= later.perhaps_points;
        self.units_differ |=
            later.units_differ || matches!((self.unit, later.unit), (Some(one), Some(other)) if one != other);
        self.unit = self.unit.or(later.unit);
    }

    /// What a column with these values is.
    pub fn reading(&self) -> Reading {
        if self.odd + self.others == 0 {
            if self.written == 0 && (self.truths == 0 || !self.beyond) {
                return Reading::Plain;
            }
            if self.truths == 0
                && let Some(form) = self.form()
            {
                return Reading::Form(form);
            }
        }
        let like_numbers = self.numbers + self.written + self.odd;
        let rest = self.others + self.truths;
        let plain_but_few = self.numbers > 0 && self.numbers >= 9 * (self.surprises() + self.truths);
        if plain_but_few || (like_numbers > rest && self.different.len() > FEW) {
            Reading::Mixed
        } else {
            Reading::Category
        }
    }

    /// The form that all values have, where there is one.
    fn form(&self) -> Option<Form> {
        if self.units_differ || (self.unit == Some('%') && self.nonzero) {
            return None;
        }
        if !self.no_date {
            return (self.numbers == 0).then_some(Form::Date);
        }
        let unit = self.unit;
        if !self.no_point {
            return Some(Form::Written { decimal: '.', unit });
        }
        // A lone 1.234 beside 12,5 may be either.
        let doubtful = self.perhaps_points && !self.points;
        (!self.no_comma && !doubtful).then_some(Form::Written { decimal: ',', unit })
    }

    /// The first line with a text that is no number as the others are, and some of the texts.
    pub fn examples(&self) -> (u64, Vec<String>) {
        let found: Vec<_> = self.examples.iter().flatten().take(SHOWN + 1).collect();
        let line = found.iter().map(|(line, _)| *line).min().unwrap_or(0);
        (line, found.into_iter().map(|(_, text)| text.clone()).collect())
    }
}

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

    fn reading(texts: &[&str]) -> Reading {
        let mut tally = Tally::default();
        for text in texts {
            let mut one = Tally::default();
            one.add(text, 1, || 1);
            tally.merge(one);
        }
        tally.reading()
    }

    fn written(decimal: char, unit: Option<char>) -> Reading {
        Reading::Form(Form::Written { decimal, unit })
    }

    #[test]
    fn a_column_is_read_as_what_it_is_throughout() {
        for (texts, expected) in [
            (&["1", "-2.5", "1e3"][..], Reading::Plain),
            (&["True", "false", "TRUE", "0"], Reading::Plain),
            (&["1,000", "999", "-12,345.5"], written('.', None)),
            (&["1,000", "2,500"], written('.', None)),
            (&["12,5", "1.000,5", "1.234", "3"], written(',', None)),
            (&["12,5", "0,123", "1,5e3"], written(',', None)),
            (&["1'000", "1 000", "20"], written('.', None)),
            (&["$12", "-$1,000.50", "$ 3", "7"], written('.', Some('$'))),
            (&["12 €", "1.000,50 €", "12,5"], written(',', Some('€'))),
            (&["12%", "0.5 %", "0"], written('.', Some('%'))),
            (&["2024-01-31", "2024-01-31T12:00:00Z"], Reading::Form(Form::Date)),
        ] {
            assert_eq!(reading(texts), expected, "{texts:?}");
            if let Reading::Form(form) = expected {
                assert!(texts.iter().all(|text| form.read(text).is_some()), "{texts:?}");
            }
        }
    }

    #[test]
    fn what_is_mostly_numbers_is_neither_numbers_nor_categories() {
        let numbers: Vec<String> = (0..30).map(|number| format!("{number}.5")).collect();
        for odd in ["1,5", "-inf", "1e39", "0x10", "12%", "true", "much", "2024-01-31"] {
            let mut texts: Vec<&str> = numbers.iter().map(String::as_str).collect();
            texts.extend([odd; 5]);
            assert_eq!(reading(&texts), Reading::Mixed, "{odd}");
        }
        let days: Vec<String> = (1..29).map(|day| format!("{day}/12/2024")).collect();
        assert_eq!(reading(&days.iter().map(String::as_str).collect::<Vec<_>>()), Reading::Mixed);
        let mixed: Vec<String> = (0..30).flat_map(|n| [format!("{n}%"), format!("${n}")]).collect();
        assert_eq!(reading(&mixed.iter().map(String::as_str).collect::<Vec<_>>()), Reading::Mixed);
    }

    #[test]
    fn categories_may_have_numbers_among_them() {
        for texts in [
            &["2", "3", "4", "5more"][..],
            &["true", "false", "unknown"],
            &["1", "b"],
            &["10-20", "20-30", "90+"],
            &["12:30", "13:15"],
            &["5%", "10%", "$20"],
            &["12,5", "1.5"],
        ] {
            assert_eq!(reading(texts), Reading::Category, "{texts:?}");
        }
        assert_eq!(reading(&["12,5", "1.234"]), Reading::Category, "1.234 may be either");
        let codes: Vec<String> =
            (0..100).map(|n| if n % 3 == 0 { n.to_string() } else { format!("A{n}") }).collect();
        assert_eq!(reading(&codes.iter().map(String::as_str).collect::<Vec<_>>()), Reading::Category);
    }

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
