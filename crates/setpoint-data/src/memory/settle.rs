//! What a column in memory is: numbers, or texts that may stand for numbers.

use std::collections::HashMap;

use super::{Numbers, Values};
use crate::chunk::MISSING;
use crate::encode::{EncodeError, Input};
use crate::form::{Form, number, shortened};
use crate::layout::ColumnKind;
use crate::offset::narrow;
use crate::read::error::expected;
use crate::read::kind::mixed;
use crate::read::{Missing, ReadError};
use crate::tally::{Reading, Tally};

/// A column as it is stored.
pub(super) struct Settled<'a> {
    pub(super) values: Values<'a>,
    pub(super) form: Option<Form>,
    /// What its texts were read as.
    pub(super) read_as: Option<String>,
}

impl<'a> Settled<'a> {
    fn new(values: Values<'a>) -> Self {
        Self { values, form: None, read_as: None }
    }

    /// What a column of training data is, told by its values.
    pub(super) fn train(
        file: &str,
        name: &str,
        values: Values<'a>,
        missing: &Missing,
    ) -> Result<Self, ReadError> {
        let (texts, of, categories) = match values {
            Values::Numbers(_) => return Ok(Self::new(values)),
            Values::Times(times) => return Ok(Self::read(times, Some(Form::Date))),
            Values::Texts { texts, of, categories } => (texts, of, categories),
        };
        let (texts, of) = tidy(texts, of, |text| missing.text(text.as_bytes()));
        let mut tally = Tally::default();
        if !categories {
            let mut first = vec![None; texts.len()];
            let mut counts = vec![0; texts.len()];
            for (row, code) in of.iter().enumerate().filter(|(_, code)| **code != MISSING) {
                first[*code as usize].get_or_insert(row as u64 + 1);
                counts[*code as usize] += 1;
            }
            for (code, text) in texts.iter().enumerate().filter(|(code, _)| counts[*code] > 0) {
                tally.add(text, counts[code], || first[code].unwrap_or(0));
            }
        }
        let form = match tally.reading() {
            Reading::Plain if !categories => None,
            Reading::Form(form) => Some(form),
            Reading::Mixed => {
                let hint = "make them numbers or NaN, or give the column a category type";
                return Err(mixed(file, name, &tally, hint));
            }
            _ => return Ok(Self::new(Values::Texts { texts, of, categories })),
        };
        let values = texts.iter().map(|text| read(text, form).unwrap_or(f64::NAN)).collect();
        Ok(Self::read(Box::new(Coded { values, of }), form))
    }

    pub(super) fn read(numbers: Box<dyn Numbers + 'a>, form: Option<Form>) -> Self {
        let read_as =
            form.map_or_else(|| "numbers, which all its texts are".to_owned(), |form| form.to_string());
        Self { values: Values::Numbers(numbers), form, read_as: Some(read_as) }
    }

    /// A column as a trained encoder takes it.
    pub(super) fn like(
        file: &str,
        input: &Input,
        values: Values<'a>,
        missing: &Missing,
    ) -> Result<Self, EncodeError> {
        let column = || input.name.clone();
        let wrong = |expected| EncodeError::ColumnKind { file: file.to_owned(), column: column(), expected };
        let is_number = input.kind() == ColumnKind::Number;
        let (texts, of) = match values {
            Values::Numbers(_) if is_number => return Ok(Self::new(values)),
            Values::Times(times) if input.form.is_some_and(Form::is_date) => {
                return Ok(Self::new(Values::Numbers(times)));
            }
            Values::Texts { texts, of, .. } => (texts, of),
            _ => return Err(wrong(if is_number { "numbers" } else { "texts" })),
        };
        if !is_number {
            // What was a category in training stays one, even if it reads like a missing value.
            let (texts, of) =
                tidy(texts, of, |text| missing.text(text.as_bytes()) && !input.has_category(text));
            return Ok(Self::new(Values::Texts { texts, of, categories: true }));
        }
        let (texts, of) = tidy(texts, of, |text| missing.text(text.as_bytes()));
        let values: Vec<f64> = texts.iter().map(|text| read(text, input.form).unwrap_or(f64::NAN)).collect();
        let is_date = input.form.is_some_and(Form::is_date);
        if let (false, Some(row)) =
            (is_date, of.iter().position(|code| values.get(*code as usize).is_some_and(|v| v.is_nan())))
        {
            let value = shortened(&texts[of[row] as usize]).into_owned();
            let (file, row, expected) = (file.to_owned(), row + 1, expected(input.form));
            return Err(EncodeError::Value { file, row, column: column(), value, expected });
        }
        Ok(Self::new(Values::Numbers(Box::new(Coded { values, of }))))
    }
}

/// The number that a text in memory stands for.
fn read(text: &str, form: Option<Form>) -> Option<f64> {
    match form {
        None => number(text.as_bytes()),
        Some(form) => form.read(text),
    }
}

/// Texts as a file would have them: without blanks around them, each once, missing ones left out.
fn tidy(texts: Vec<String>, mut of: Vec<u32>, is_missing: impl Fn(&str) -> bool) -> (Vec<String>, Vec<u32>) {
    let mut known: HashMap<String, u32> = HashMap::new();
    let mut tidied = Vec::with_capacity(texts.len());
    let place: Vec<u32> = texts
        .into_iter()
        .map(|text| {
            if is_missing(text.trim()) {
                return MISSING;
            }
            *known.entry(text.trim().to_owned()).or_insert_with_key(|text| {
                tidied.push(text.clone());
                tidied.len() as u32 - 1
            })
        })
        .collect();
    of.iter_mut().for_each(|code| *code = place.get(*code as usize).copied().unwrap_or(MISSING));
    (tidied, of)
}

/// Numbers that were texts.
struct Coded {
    /// What each text stands for.
    values: Vec<f64>,
    of: Vec<u32>,
}

impl Numbers for Coded {
    fn copy(&self, start: usize, offset: f64, out: &mut [f32]) -> bool {
        let mut rounded = false;
        for (out, code) in out.iter_mut().zip(&self.of[start..]) {
            let (kept, lost) = narrow(self.values.get(*code as usize).copied().unwrap_or(f64::NAN), offset);
            *out = kept;
            rounded |= lost;
        }
        rounded
    }
}
