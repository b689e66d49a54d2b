//! Texts as weighted terms (tf-idf).
//!
//! ```text
//! words      runs of letters and digits, in lower case, of two characters or more; and pairs of neighbours
//! letters    runs of two, three and four characters, where words are not written apart, or most of them are in one
//!            row alone
//! weight     (1 + ln count) (1 + ln((1 + rows) / (1 + rows with the term)))
//! row        its weights over their length, times a scale
//! ```
//!
//! Terms are those of at least two training rows, the most frequent of them where there are too many. They are
//! kept as they are written, so that a report can name them; others are ignored. One scale for all leaves rare terms
//! small, which standardising each would not, and gives rows the length that so many standardised columns as they
//! have terms would give them.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use setpoint::features::Sparse;

use crate::chunk::MISSING;

/// Most terms of a column.
const TERMS: usize = 50_000;
/// Training rows that a term needs.
const LEAST_ROWS: u64 = 2;
/// Texts counted as one unit of work.
const CHUNK: usize = 512;
/// Texts looked at to tell what a column is.
const LOOKED_AT: usize = 2_000;
/// Words that a text has in the mean, at least, and different texts.
const WORDS: f64 = 3.0;
const DIFFERENT: usize = 50;
/// One in so many rows has a text of its own, at least.
const REPEATED: u64 = 5;
/// The share of words that other rows have too, below which letters tell more.
const SHARED: f64 = 0.5;
/// Characters of scripts without blanks that a text has in the mean, at least.
const IDEOGRAPHS: f64 = 4.0;

/// The terms of a column of texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Words {
    /// What a term is.
    pub unit: Unit,
    /// The terms, in alphabetical order.
    pub terms: Vec<Term>,
    /// The length of a row.
    pub scale: f32,
}

/// What a term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A word, or two.
    Words,
    /// Two to four letters.
    Letters,
}

/// A term and its weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// As it is written, in lower case.
    pub text: String,
    /// By how few rows have it.
    pub weight: f32,
}

impl Unit {
    /// Whether a column with these different texts, of so many rows each, is one of texts, and of which terms;
    /// `told` where a person says it is.
    pub(super) fn of(texts: &[String], counts: &[u64], told: bool) -> Option<Self> {
        let rows: u64 = counts.iter().sum();
        let there = || texts.iter().zip(counts).filter(|(_, count)| **count > 0);
        let different = there().count();
        let looked_at = different.min(LOOKED_AT) as f64;
        let mean = |of: fn(&str) -> usize| -> f64 {
            there().take(LOOKED_AT).map(|(text, _)| of(text)).sum::<usize>() as f64 / looked_at.max(1.0)
        };
        let words = mean(|text| text.split_whitespace().count());
        let ideographs = mean(|text| text.chars().filter(|character| *character >= '\u{2e80}').count());
        let many = different >= DIFFERENT && different as u64 * REPEATED >= rows;
        match () {
            () if !told && !many => None,
            () if ideographs >= IDEOGRAPHS && words < WORDS => Some(Self::Letters),
            () if words >= WORDS || (told && words >= 1.5) => Some(Self::Words),
            () => told.then_some(Self::Letters),
        }
    }

    /// Calls `take` with every term of a text.
    fn each(self, text: &str, mut take: impl FnMut(&str)) {
        let text = text.to_lowercase();
        let mut joined = String::new();
        match self {
            Self::Words => {
                let words = text.split(|character: char| !character.is_alphanumeric() && character != '_');
                let mut before = None;
                for word in words.filter(|word| word.chars().nth(1).is_some()) {
                    take(word);
                    if let Some(before) = before.replace(word) {
                        joined.clear();
                        joined.extend([before, " ", word]);
                        take(&joined);
                    }
                }
            }
            Self::Letters => {
                let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
                for length in 2..=4 {
                    starts.windows(length + 1).for_each(|ends| take(&text[ends[0]..ends[length]]));
                }
            }
        }
    }
}

impl Words {
    /// The terms of the training rows: so many of them have each text. `None` if two rows have none in common.
    pub(super) fn fit(unit: Unit, texts: &[String], counts: &[u64]) -> Option<Self> {
        let there: Vec<(&String, u64)> = texts
            .iter()
            .zip(counts)
            .filter(|(_, count)| **count > 0)
            .map(|(text, count)| (text, *count))
            .collect();
        let count = |texts: &[(&String, u64)]| {
            let mut rows: HashMap<String, (u64, usize)> = HashMap::new();
            for (number, (text, count)) in texts.iter().enumerate() {
                unit.each(text, |term| match rows.get_mut(term) {
                    Some((rows, last)) if *last != number => (*rows, *last) = (*rows + count, number),
                    Some(_) => {}
                    None => drop(rows.insert(term.to_owned(), (*count, number))),
                });
            }
            rows
        };
        let mut rows: HashMap<String, u64> = HashMap::new();
        for part in there.par_chunks(CHUNK).map(count).collect::<Vec<_>>() {
            part.into_iter().for_each(|(term, (more, _))| *rows.entry(term).or_default() += more);
        }
        let mut frequent: Vec<(String, u64)> =
            rows.into_iter().filter(|(_, rows)| *rows >= LEAST_ROWS).collect();
        frequent.sort_by(|(one, rows), (other, others)| others.cmp(rows).then_with(|| one.cmp(other)));
        frequent.truncate(TERMS);
        frequent.sort();
        let total = 1.0 + counts.iter().sum::<u64>() as f64;
        let weight = |rows: u64| (1.0 + (total / (1.0 + rows as f64)).ln()) as f32;
        let terms: Vec<Term> =
            frequent.into_iter().map(|(text, rows)| Term { text, weight: weight(rows) }).collect();
        if terms.is_empty() {
            return None;
        }
        let fitted = Self { unit, terms, scale: 1.0 };
        if unit == Unit::Words && fitted.known(&there) < SHARED {
            return Self::fit(Unit::Letters, texts, counts);
        }
        let entries = fitted.encode(texts);
        let (mut sum, mut of) = (0.0, 0);
        for (text, count) in counts.iter().enumerate() {
            sum += (entries.range(text).len() as u64 * count) as f64;
            of += count;
        }
        Some(Self { scale: (sum / of.max(1) as f64).sqrt().max(1.0) as f32, ..fitted })
    }

    /// The share of the single words of these texts that are terms.
    fn known(&self, texts: &[(&String, u64)]) -> f64 {
        let is_term = |word: &str| self.terms.binary_search_by(|term| term.text.as_str().cmp(word)).is_ok();
        let (mut words, mut known) = (0.0, 0.0);
        for (text, count) in texts.iter().take(LOOKED_AT) {
            self.unit.each(text, |term| {
                if !term.contains(' ') {
                    words += *count as f64;
                    known += if is_term(term) { *count as f64 } else { 0.0 };
                }
            });
        }
        known / words
    }

    /// Each of these texts as a row of entries, terms counted from 0.
    pub(super) fn encode(&self, texts: &[String]) -> Sparse {
        let places: HashMap<&str, u32> = (0..).zip(&self.terms).map(|(at, term)| (&*term.text, at)).collect();
        let encode = |texts: &[String]| {
            let (mut lengths, mut indices, mut values) = (Vec::new(), Vec::new(), Vec::new());
            for text in texts {
                let mut found: Vec<u32> = Vec::new();
                self.unit.each(text, |term| found.extend(places.get(term)));
                found.sort_unstable();
                let start = values.len();
                for same in found.chunk_by(|one, other| one == other) {
                    indices.push(same[0]);
                    values.push((1.0 + (same.len() as f32).ln()) * self.terms[same[0] as usize].weight);
                }
                let row: &mut [f32] = &mut values[start..];
                let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
                row.iter_mut().for_each(|value| *value *= self.scale / length);
                lengths.push(row.len());
            }
            (lengths, indices, values)
        };
        let mut all = Sparse { columns: self.terms.len(), starts: vec![0], ..Sparse::default() };
        for (lengths, indices, values) in texts.par_chunks(CHUNK).map(encode).collect::<Vec<_>>() {
            for length in lengths {
                all.starts.push(all.starts[all.starts.len() - 1] + length);
            }
            all.indices.extend(indices);
            all.values.extend(values);
        }
        all
    }

    /// What cannot be right in what was stored.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let is_weight = |weight: f32| weight.is_finite() && weight > 0.0;
        if !self.terms.is_sorted_by(|one, other| one.text < other.text) {
            return Some("terms must be in alphabetical order");
        }
        let sound = is_weight(self.scale) && self.terms.iter().all(|term| is_weight(term.weight));
        (!sound || self.terms.is_empty()).then_some("there must be terms, and weights be positive")
    }
}

/// Rows of entries that columns of texts add to, one column after the other.
pub(super) struct Entries(Sparse);

impl Entries {
    pub(super) fn new(columns: usize) -> Self {
        Self(Sparse { columns, starts: vec![0], ..Sparse::default() })
    }

    /// Adds a row that has these texts, each a row of the terms that begin at a column.
    pub(super) fn push<'a>(&mut self, texts: impl Iterator<Item = (u32, &'a Sparse, usize)>) {
        let Self(all) = self;
        for (code, terms, first) in texts.filter(|(code, ..)| *code != MISSING) {
            let range = terms.range(code as usize);
            all.indices.extend(terms.indices[range.clone()].iter().map(|term| term + first as u32));
            all.values.extend_from_slice(&terms.values[range]);
        }
        all.starts.push(all.values.len());
    }

    pub(super) fn finish(self) -> Sparse {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn words_and_pairs_are_weighted_by_how_few_rows_have_them() {
        let texts = texts(&["Great fit, great colour", "a great fit", "bad colour", "great"]);
        let words = Words::fit(Unit::Words, &texts, &[1, 2, 1, 0]).unwrap();
        let terms: Vec<&str> = words.terms.iter().map(|term| &*term.text).collect();
        assert_eq!(terms, ["colour", "fit", "great", "great fit"]);
        let weight = |rows: f32| 1.0 + (5.0 / (1.0 + rows)).ln();
        assert_eq!(words.terms[0].weight, weight(2.0));
        assert_eq!(words.terms[1].weight, weight(3.0));
        let rows = words.encode(&texts);
        let expected = [weight(2.0), weight(3.0), (1.0 + 2.0f32.ln()) * weight(3.0), weight(3.0)];
        let length = expected.iter().map(|value| value * value).sum::<f32>().sqrt();
        assert_eq!(rows.indices[rows.range(0)], [0, 1, 2, 3]);
        for (value, expected) in rows.values[rows.range(0)].iter().zip(expected) {
            assert!((value - words.scale * expected / length).abs() < 1e-6);
        }
        // Rows have 4, 3, 3 and 1 terms.
        assert!((words.scale - (11.0f32 / 4.0).sqrt()).abs() < 1e-6);
        assert_eq!(words.encode(&[String::new()]).starts, [0, 0]);
    }

    #[test]
    fn a_column_is_told_by_what_its_texts_look_like() {
        let of = |text: &dyn Fn(usize) -> String, told| {
            let texts: Vec<String> = (0..100).map(text).collect();
            Unit::of(&texts, &[1; 100], told)
        };
        assert_eq!(of(&|row| format!("the {row} th of its kind"), false), Some(Unit::Words));
        assert_eq!(of(&|row| format!("John Smith {}", row % 7), false), Some(Unit::Words));
        assert_eq!(of(&|row| format!("name-{row}"), false), None);
        assert_eq!(of(&|row| format!("name-{row}"), true), Some(Unit::Letters));
        assert_eq!(of(&|row| format!("第{row}条新闻的内容很长"), false), Some(Unit::Letters));
        let few = texts(&["not at all good", "all in all good"]);
        assert_eq!(Unit::of(&few, &[40, 60], false), None);
    }

    #[test]
    fn letters_stand_for_words_that_no_other_row_has() {
        let words: Vec<String> =
            (0..60).map(|row| format!("the part ax{row} of bq{row} and cz{row}")).collect();
        assert_eq!(Words::fit(Unit::Words, &words, &[1; 60]).unwrap().unit, Unit::Words);
        let codes: Vec<String> = (0..60).map(|row| format!("ax{row} bq{row} cz{row} part")).collect();
        let letters = Words::fit(Unit::Words, &codes, &[1; 60]).unwrap();
        assert_eq!(letters.unit, Unit::Letters);
        assert!(letters.terms.iter().any(|term| term.text == "bq"));
    }

    #[test]
    fn letters_may_be_of_any_script() {
        let mut found = Vec::new();
        Unit::Letters.each("Äb新", |term| found.push(term.to_owned()));
        assert_eq!(found, ["äb", "b新", "äb新"]);
    }
}
