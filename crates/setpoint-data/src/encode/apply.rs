//! A table turned into rows of features.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use setpoint::features::{Features, Layout, Sparse};
use setpoint::model::ModelError;

use super::text::Entries;
use super::{EncodeError, Encoder, Encoding, Input, Inputs, Notes, layout};
use crate::Error;
use crate::chunk::{Chunk, MISSING, Texts};
use crate::dataset::{Dataset, fits_memory};
use crate::form::{Form, Key};
use crate::layout::ColumnKind;
use crate::table::{Body, FeatureColumn, Table};
use crate::time::DatePart;

/// An input and where its values are.
struct Column<'a> {
    input: &'a Input,
    slot: usize,
    /// The first of its columns of the matrix.
    first: usize,
    /// For each code of the table, the category's place among the input's.
    places: Vec<Option<usize>>,
    /// For each code of the table, the terms of the text.
    terms: Option<Sparse>,
    /// For each code of the table, the number that labels gave.
    numbers: Vec<f32>,
}

/// Times as a table keeps them: less an offset, in 32 bits.
pub(super) struct Dates {
    pub(super) offset: f64,
}

impl Dates {
    /// The part that a time has; `None` where it is missing.
    ///
    /// 32 bits may have rounded it, by two minutes at most in this century: a time that much before an hour or a
    /// midnight is taken for it, which most such times are.
    pub(super) fn part(&self, part: DatePart, kept: f32) -> Option<u32> {
        part.of(f64::from(kept) + self.offset + f64::from(kept.abs()) * f64::from(f32::EPSILON) / 2.0)
    }
}

/// Values of a column that the training rows had no like of.
#[derive(Clone, Copy, Default)]
struct Unseen {
    categories: u64,
    missing: u64,
}

impl Encoder {
    /// Encodes a table and frees it piece by piece on the way.
    ///
    /// # Errors
    /// If the table was read without regard to this encoder and lacks its columns.
    pub fn encode(&self, table: Table) -> Result<Dataset, Error> {
        let all: Vec<u32> = (0..table.rows as u32).collect();
        Ok(self.encode_parts(table, &[&all])?.map(|mut features| features.swap_remove(0)))
    }

    /// The same with features apart for each of these lists of rows, which must ascend.
    ///
    /// # Errors
    /// As [`Encoder::encode`].
    ///
    /// # Panics
    /// If a list does not ascend.
    pub fn encode_parts(&self, table: Table, parts: &[&[u32]]) -> Result<Dataset<Vec<Features>>, Error> {
        let mut features: Vec<Option<Features>> = parts.iter().map(|_| None).collect();
        let mut put = |part: usize, all| {
            features[part] = Some(all);
            Ok(())
        };
        let data = self.encode_blocks(table, parts, usize::MAX, &mut put)?;
        Ok(data.map(|()| features.into_iter().flatten().collect()))
    }

    /// The same, some rows at a time: `take` gets one block after another of each part, of so many rows at most.
    ///
    /// # Errors
    /// As [`Encoder::encode`], and if `take` fails.
    ///
    /// # Panics
    /// If a list does not ascend.
    pub fn encode_blocks(
        &self,
        mut table: Table,
        parts: &[&[u32]],
        most: usize,
        take: &mut dyn FnMut(usize, Features) -> Result<(), ModelError>,
    ) -> Result<Dataset<()>, Error> {
        assert!(parts.iter().all(|rows| rows.is_sorted()), "rows must ascend");
        self.check()?;
        let mut notes = std::mem::take(&mut table.notes);
        notes.constant_columns.clone_from(&self.constant);
        notes.identifier_columns.clone_from(&self.identifiers);
        match (std::mem::replace(&mut table.body, Body::none()), &self.inputs) {
            (Body::Dense { columns, chunks, texts }, Inputs::Table(inputs)) => {
                // What was read before, for statistics.
                chunks.iter().try_for_each(Chunk::check).map_err(ModelError::from)?;
                let columns = place(&table.file, self.readings(), &columns, &texts)?;
                let stored = Stored::new(&columns);
                let too_large = || EncodeError::TooLarge {
                    file: table.file.clone(),
                    rows: table.rows,
                    columns: self.columns(),
                };
                let bytes = stored.layout.bytes(table.rows.min(most));
                bytes.filter(|bytes| fits_memory(*bytes)).ok_or_else(too_large)?;
                // What trees read beside was counted as it was read first.
                let counted = &columns[..inputs.len()];
                encode_table(counted, &stored, chunks, parts, most, take, &mut notes)?;
            }
            (
                Body::Sparse { matrix, numbering, offsets },
                Inputs::Sparse { base, columns, scales, offsets: own },
            ) if (numbering.base, &numbering.listed[..], &offsets) == (*base, columns, own)
                && matrix.columns == scales.len() =>
            {
                let mut first = 0;
                for rows in matrix.into_parts() {
                    let features = Features::from_csr(scale_sparse(rows.map_err(ModelError::from)?, scales))?;
                    let end = first + features.rows();
                    let below = |all: &[u32], end: usize| all.partition_point(|row| (*row as usize) < end);
                    let own = |all: &[u32]| -> Vec<u32> {
                        let own = &all[below(all, first)..below(all, end)];
                        own.iter().map(|row| row - first as u32).collect()
                    };
                    match parts {
                        [all] if own(all).len() == features.rows() => take(0, features)?,
                        parts => parts
                            .iter()
                            .enumerate()
                            .try_for_each(|(part, all)| take(part, features.select(&own(all))?))?,
                    }
                    first = end;
                }
            }
            _ => {
                let (file, column, expected) = (table.file, "all".to_owned(), "laid out as in training");
                return Err(EncodeError::Column { file, column, expected }.into());
            }
        }
        let (queries, hash) = (table.queries.clone(), table.hash.take());
        // Times of graded rows mean nothing: a split of them goes by their queries.
        let times = table.times.take().filter(|_| table.grades.is_none());
        Ok(Dataset { features: (), sample: table.into_sample()?, times, queries, hash, notes })
    }
}

fn place<'a>(
    file: &str,
    inputs: impl Iterator<Item = &'a Input>,
    columns: &[FeatureColumn],
    texts: &[Texts],
) -> Result<Vec<Column<'a>>, EncodeError> {
    let named: HashMap<&str, &FeatureColumn> =
        columns.iter().rev().map(|column| (column.name.as_str(), column)).collect();
    let mut placed = Vec::new();
    let mut first = 0;
    for input in inputs {
        let found = named.get(input.name.as_str()).filter(|column| column.kind == input.kind());
        let column = found.ok_or_else(|| EncodeError::Column {
            file: file.to_owned(),
            column: input.name.clone(),
            expected: "there with the kind it had in training",
        })?;
        if column.offset != input.offset {
            return Err(EncodeError::Column {
                file: file.to_owned(),
                column: input.name.clone(),
                expected: "less the offset it had in training",
            });
        }
        let places = match &input.encoding {
            Encoding::Category { values, .. } if input.part.is_some() => {
                let known: Vec<&str> = values.iter().map(|category| category.value.as_str()).collect();
                places(&known, &input.part.map(DatePart::values).unwrap_or_default())
            }
            Encoding::Number { .. } | Encoding::Text(_) | Encoding::Plain | Encoding::Learnt(_) => Vec::new(),
            Encoding::Category { values, .. } => {
                let known: Vec<&str> = values.iter().map(|category| category.value.as_str()).collect();
                places(&known, &texts[column.slot].values)
            }
            Encoding::Code { values, .. } => {
                let known: Vec<&str> = values.iter().map(String::as_str).collect();
                places(&known, &texts[column.slot].values)
            }
        };
        let terms = match &input.encoding {
            Encoding::Text(words) => Some(words.encode(&texts[column.slot].values)),
            _ => None,
        };
        let numbers = match &input.encoding {
            Encoding::Learnt(learnt) => learnt.of(&texts[column.slot].values),
            _ => Vec::new(),
        };
        placed.push(Column { input, slot: column.slot, first, places, terms, numbers });
        first += input.width();
    }
    Ok(placed)
}

/// For each text the category that it names: the one spelled so, else one that says the same (`1` for `1.0`).
pub(super) fn places(known: &[&str], texts: &[String]) -> Vec<Option<usize>> {
    let mut places: Vec<Option<usize>> =
        texts.iter().map(|text| known.binary_search(&text.as_str()).ok()).collect();
    if places.contains(&None) {
        let mut by_key = HashMap::new();
        known.iter().enumerate().for_each(|(place, value)| {
            by_key.entry(Key::of(value)).or_insert(place);
        });
        for (place, text) in places.iter_mut().zip(texts).filter(|(place, _)| place.is_none()) {
            *place = by_key.get(&Key::of(text)).copied();
        }
    }
    places
}

/// Columns by how they are stored: a column of numbers may have an indicator among the fields.
struct Stored<'a> {
    layout: Arc<Layout>,
    numbers: Vec<&'a Column<'a>>,
    fields: Vec<&'a Column<'a>>,
    texts: Vec<&'a Column<'a>>,
}

impl<'a> Stored<'a> {
    fn new(columns: &'a [Column<'a>]) -> Self {
        let numbers = columns.iter().filter(|column| column.input.is_stored_as_number()).collect();
        let fields = columns.iter().filter(|column| !column.input.scalings().is_empty()).collect();
        let texts = columns.iter().filter(|column| column.terms.is_some()).collect();
        let layout = layout(columns.iter().map(|column| column.input));
        Self { layout: Arc::new(layout), numbers, fields, texts }
    }
}

fn encode_table(
    counted: &[Column<'_>],
    Stored { layout, numbers, fields, texts }: &Stored<'_>,
    chunks: Vec<Chunk>,
    parts: &[&[u32]],
    most: usize,
    take: &mut dyn FnMut(usize, Features) -> Result<(), ModelError>,
    notes: &mut Notes,
) -> Result<(), ModelError> {
    let block = |left: usize| {
        let features = Features::zeros(Arc::clone(layout), left.min(most));
        (features, Entries::new(layout.columns()), 0)
    };
    let whole = |(features, entries, _): (Features, Entries, usize)| match texts.is_empty() {
        true => Ok(features),
        false => features.with_entries(entries.finish()),
    };
    let mut blocks: Vec<_> = parts.iter().map(|rows| block(rows.len())).collect();
    let mut unseen = vec![Unseen::default(); counted.len()];
    let mut start = 0;
    // Each chunk is freed as soon as it is encoded: two whole copies never exist.
    for chunk in chunks {
        let chunk = chunk.load()?;
        for (part, (current, all)) in blocks.iter_mut().zip(parts).enumerate() {
            let below = |end: usize| all.partition_point(|row| (*row as usize) < end);
            let mut own = below(start)..below(start + chunk.rows);
            while !own.is_empty() {
                let (features, entries, filled) = &mut *current;
                let count = own.len().min(features.rows() - *filled);
                let rows = &all[own.start..own.start + count];
                let at = |range: Range<usize>| rows[range].iter().map(|row| *row as usize - start);
                features.fill(
                    *filled..*filled + count,
                    |number, range, into| numbers[number].write_numbers(&chunk, at(range), into),
                    |field, range, into| fields[field].write_places(&chunk, at(range), into),
                );
                if !texts.is_empty() {
                    at(0..count).for_each(|row| {
                        entries.push(texts.iter().filter_map(|text| text.of_row(&chunk, row)));
                    });
                }
                *filled += count;
                own.start += count;
                if *filled == features.rows() && own.start < all.len() {
                    take(part, whole(std::mem::replace(current, block(all.len() - own.start)))?)?;
                }
            }
        }
        unseen.par_iter_mut().zip(counted).for_each(|(unseen, column)| column.count_unseen(&chunk, unseen));
        start += chunk.rows;
    }
    for (column, total) in counted.iter().zip(unseen) {
        let mut note = |count: u64, list: fn(&mut Notes) -> &mut Vec<(String, u64)>| {
            if count > 0 {
                list(notes).push((column.input.label(), count));
            }
        };
        note(total.categories, |notes| &mut notes.unseen_categories);
        note(total.missing, |notes| &mut notes.unseen_missing);
    }
    blocks.into_iter().enumerate().try_for_each(|(part, last)| take(part, whole(last)?))
}

impl Column<'_> {
    /// The text of a row, all terms of texts, and where those begin; `None` if the column is not of texts.
    fn of_row(&self, chunk: &Chunk, row: usize) -> Option<(u32, &Sparse, usize)> {
        Some((chunk.code(self.slot)[row], self.terms.as_ref()?, self.first))
    }

    fn write_numbers(&self, chunk: &Chunk, rows: impl Iterator<Item = usize>, into: &mut [f32]) {
        let into = into.iter_mut().zip(rows);
        match &self.input.encoding {
            Encoding::Number { scaling, .. } => {
                let values = chunk.number(self.slot);
                into.for_each(|(into, row)| {
                    *into = if values[row].is_nan() { 0.0 } else { scaling.apply(values[row]) };
                });
            }
            Encoding::Plain if self.input.part.is_some() => {
                let codes = self.codes(chunk);
                into.for_each(|(into, row)| {
                    *into = if codes(row) == MISSING { f32::NAN } else { codes(row) as f32 };
                });
            }
            Encoding::Plain => {
                let values = chunk.number(self.slot);
                into.for_each(|(into, row)| *into = values[row]);
            }
            Encoding::Code { values, rare } => {
                let codes = self.codes(chunk);
                let other = if *rare { values.len() as f32 } else { f32::NAN };
                into.for_each(|(into, row)| {
                    let absent = if codes(row) == MISSING { f32::NAN } else { other };
                    *into = self.place(codes(row)).map_or(absent, |place| place as f32);
                });
            }
            Encoding::Learnt(_) => {
                let codes = chunk.code(self.slot);
                into.for_each(|(into, row)| {
                    *into = self.numbers.get(codes[row] as usize).copied().unwrap_or(f32::NAN);
                });
            }
            Encoding::Category { .. } | Encoding::Text(_) => {}
        }
    }

    /// Writes categories from 1 on, then that of missing values, then that of rare ones; 0 is none of them.
    fn write_places(&self, chunk: &Chunk, rows: impl Iterator<Item = usize>, into: &mut [u32]) {
        let into = into.iter_mut().zip(rows);
        match &self.input.encoding {
            Encoding::Category { values, missing, rare } => {
                let codes = self.codes(chunk);
                let place = |there: bool, place: usize| if there { values.len() + place } else { 0 };
                let other = place(rare.is_some(), 1 + usize::from(missing.is_some()));
                let missing = place(missing.is_some(), 1);
                into.for_each(|(into, row)| {
                    let absent = if codes(row) == MISSING { missing } else { other };
                    *into = self.place(codes(row)).map_or(absent, |place| place + 1) as u32;
                });
            }
            _ => {
                let values = chunk.number(self.slot);
                into.for_each(|(into, row)| *into = u32::from(values[row].is_nan()));
            }
        }
    }

    /// What each row has: the code of a text, or the part of a date.
    fn codes<'c>(&self, chunk: &'c Chunk) -> impl Fn(usize) -> u32 + 'c {
        let (part, dates) = (self.input.part, Dates { offset: self.input.offset });
        let (codes, values) = match part {
            Some(_) => (Cow::default(), chunk.number(self.slot)),
            None => (chunk.code(self.slot), Cow::default()),
        };
        move |row| part.map_or_else(|| codes[row], |part| dates.part(part, values[row]).unwrap_or(MISSING))
    }

    fn place(&self, code: u32) -> Option<usize> {
        if code == MISSING { None } else { self.places[code as usize] }
    }

    fn count_unseen(&self, chunk: &Chunk, unseen: &mut Unseen) {
        let (is_complete, has_rare) = match &self.input.encoding {
            Encoding::Number { missing, .. } => (missing.is_none(), false),
            Encoding::Category { missing, rare, .. } => (missing.is_none(), rare.is_some()),
            Encoding::Code { rare, .. } => (self.input.complete, *rare),
            Encoding::Plain => (self.input.complete, false),
            Encoding::Learnt(_) => (self.input.complete, true),
            Encoding::Text(_) => return,
        };
        if self.input.part.is_none() && self.input.kind() == ColumnKind::Number {
            let missing = || chunk.number(self.slot).iter().filter(|value| value.is_nan()).count() as u64;
            // Dates that cannot be read are missing: where all are, the file writes them in another way.
            let unread = self.input.form.is_some_and(Form::is_date) && missing() == chunk.rows as u64;
            unseen.missing += if is_complete || unread { missing() } else { 0 };
            return;
        }
        let codes = self.codes(chunk);
        let count = |is: &dyn Fn(u32) -> bool| (0..chunk.rows).filter(|row| is(codes(*row))).count() as u64;
        // Dates that are missing are counted once, as dates.
        if is_complete && self.input.part.is_none() {
            unseen.missing += count(&|code| code == MISSING);
        }
        if !has_rare && self.places.contains(&None) {
            unseen.categories += count(&|code| code != MISSING && self.place(code).is_none());
        }
    }
}

fn scale_sparse(mut matrix: Sparse, scales: &[f32]) -> Sparse {
    for (value, index) in matrix.values.iter_mut().zip(&matrix.indices) {
        *value /= scales[*index as usize];
    }
    matrix
}
