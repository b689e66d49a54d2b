//! What a column holds, told by all its values.
//!
//! Texts are counted by what they could be ([`Form`]) as they are read. At the end a column is numbers
//! throughout, written in one way; or categories; or mostly numbers, which is a mistake that someone
//! should look at.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::form::{Body, Form, date, is_odd, is_storable, shortened, truth};
use crate::time::written_date;

/// So many different numbers may a column of categories have among its texts, and no more.
const FEW: usize = 20;
/// Texts of each sort that are remembered, and shown.
const SHOWN: usize = 3;

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
    /// Not all are dates with the day first; with the month first; and some of these have slashes.
    no_day_first: bool,
    no_month_first: bool,
    slashes: bool,
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
        let [day_first, month_first] = [true, false].map(|first| written_date(text, first));
        let local = day_first.or(month_first);
        if !(point || comma || local.is_some()) {
            return false;
        }
        self.no_day_first |= day_first.is_none();
        self.no_month_first |= month_first.is_none();
        self.slashes |= local.is_some_and(|date| date.ordered) && text.contains('/');
        self.no_point |= !point;
        self.no_comma |= !comma;
        self.no_date |= !date;
        if let (Some(body), None) = (&body, local) {
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
            (self.no_day_first, self.no_month_first) = (true, true);
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
        self.no_day_first |= later.no_day_first;
        self.no_month_first |= later.no_month_first;
        self.slashes |= later.slashes;
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
        if !(self.no_day_first && self.no_month_first) {
            // Where both are possible throughout, slashes are as in the United States.
            let day_first = !self.no_day_first && (self.no_month_first || !self.slashes);
            return (self.numbers == 0).then_some(Form::LocalDate { day_first });
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
            (&["31/1/2024", "1/2/2024 10:30"], Reading::Form(Form::LocalDate { day_first: true })),
            (&["1/2/2024", "1/31/2024", "2024-01-31"], Reading::Form(Form::LocalDate { day_first: false })),
            (&["1/2/2024", "3/4/2024"], Reading::Form(Form::LocalDate { day_first: false })),
            (&["1.2.2024", "3.4.2024", "5 May 2024"], Reading::Form(Form::LocalDate { day_first: true })),
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
        let days: Vec<String> =
            (1..29).map(|day| format!("{day}/{}/2024", if day == 3 { 13 } else { 12 })).collect();
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
}
