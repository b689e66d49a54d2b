//! Tables that are in memory already, as a front end hands them over.
//!
//! Numbers are copied once, column by column into the chunks that the encoder frees as it goes: two
//! whole copies never exist.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;
use setpoint::features::Sparse;

use crate::Error;
use crate::chunk::{Chunk, Texts};
use crate::dataset::Codes;
use crate::encode::{EncodeError, Encoder, Input, Inputs, LabelSchema, Notes};
use crate::layout::ColumnKind;
use crate::matrix::Matrix;
use crate::offset::{self, narrow};
use crate::read::Missing;
use crate::role::{DEFAULT_MISSING, RoleError, Roles, hint};
use crate::sparse::{Numbering, fill, needed_offsets, offset_of};
use crate::table::{Body, FeatureColumn, Table};

mod settle;

use settle::Settled;

/// Numbers of a chunk, and so bytes freed at a time.
const NUMBERS: usize = 10 << 20;
/// Columns and rows copied together, so that rows of a row-major matrix stay in cache.
const TILE: (usize, usize) = (16, 512);

/// A column of numbers somewhere in memory.
pub trait Numbers: Sync {
    /// Copies the numbers of the rows from `start` on, less `offset`, as [`narrow`](crate::narrow)
    /// has them; a missing one is NaN. Returns whether one had to be rounded.
    fn copy(&self, start: usize, offset: f64, out: &mut [f32]) -> bool;
}

/// The values of a column.
pub enum Values<'a> {
    /// Numbers.
    Numbers(Box<dyn Numbers + 'a>),
    /// Times, in seconds since 1970.
    Times(Box<dyn Numbers + 'a>),
    /// Texts: for each row an index into `texts`, `u32::MAX` where it is missing. As in a file, they may
    /// all be numbers.
    Texts {
        /// The different texts.
        texts: Vec<String>,
        /// One for each row.
        of: Vec<u32>,
        /// Whether they are categories, whatever they say.
        categories: bool,
    },
}

/// What is known of the rows besides their features.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// What errors call the data.
    pub name: String,
    /// The label's column, and what makes a row positive.
    pub label: Option<LabelSchema>,
    /// True for positives.
    pub labels: Option<Vec<bool>>,
    /// How relevant rows are, of ranking data; the entities are its queries.
    pub grades: Option<Vec<f32>>,
    /// Weights, all positive.
    pub weights: Option<Vec<f32>>,
    /// What decisions pay: whether more is better, and the amounts of each row.
    pub stakes: Option<(bool, Vec<[f64; 2]>)>,
    /// Groups, in alphabetical order.
    pub groups: Option<Codes>,
    /// Rows that belong together, and stay so in a split.
    pub entities: Option<Codes>,
    /// Columns to read as texts, word by word, even if they do not look like it.
    pub texts: Vec<String>,
}

impl Table {
    /// A table of columns in memory; with an encoder, for it: all its columns must be there.
    ///
    /// # Errors
    /// If a column has too many texts for categories, a number is beyond 32 bits, or a column of the
    /// encoder is not there with its kind.
    pub fn from_memory(
        about: About,
        rows: usize,
        columns: Vec<(String, Values<'_>)>,
        encoder: Option<&Encoder>,
    ) -> Result<Self, Error> {
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        let mut notes = Notes::default();
        let mut settled: Vec<(String, Settled<'_>)> = Vec::with_capacity(columns.len());
        let known: &[Input] = match encoder.map(|encoder| &encoder.inputs) {
            Some(Inputs::Table(inputs)) => inputs,
            _ => &[],
        };
        let known: HashMap<&str, &Input> = known.iter().map(|input| (input.name.as_str(), input)).collect();
        match encoder {
            Some(encoder) => {
                let missing = Missing::new(&encoder.missing);
                let needed = encoder.expected().map_or(Vec::new(), |expected| expected.columns);
                let found: HashSet<&String> = names.iter().collect();
                if let Some((name, ..)) = needed.iter().find(|(name, ..)| !found.contains(name)) {
                    let (file, hint) = (about.name.clone(), hint(&names, name));
                    return Err(RoleError::Lacking { file, column: name.clone(), hint }.into());
                }
                let unused: HashSet<&String> = encoder.unused.iter().collect();
                for (name, values) in columns {
                    match known.get(name.as_str()) {
                        Some(input) => {
                            settled.push((name, Settled::like(&about.name, input, values, &missing)?));
                        }
                        None if unused.contains(&name) => {}
                        None => notes.extra_columns.push(name),
                    }
                }
            }
            None => {
                let missing = Missing::new(&Roles::default().missing_texts());
                for (name, values) in columns {
                    let column = Settled::train(&about.name, &name, values, &missing)?;
                    notes.read_as.extend(column.read_as.clone().map(|what| (name.clone(), what)));
                    settled.push((name, column));
                }
            }
        }
        let (mut features, mut numbers, mut codes, mut texts) = (vec![], vec![], vec![], vec![]);
        let mut offsets = Vec::new();
        for (name, Settled { values, form, .. }) in settled {
            let (kind, slot) = match values {
                Values::Numbers(column) | Values::Times(column) => {
                    numbers.push(column);
                    offsets.push(known.get(name.as_str()).map_or(0.0, |input| input.offset));
                    (ColumnKind::Number, numbers.len() - 1)
                }
                Values::Texts { texts: values, of, .. } => {
                    codes.push(of);
                    let mut different = Texts::default();
                    different.values = values;
                    texts.push(different);
                    (ColumnKind::Category, codes.len() - 1)
                }
            };
            let text = about.texts.contains(&name);
            features.push(FeatureColumn { name, kind, slot, form, offset: 0.0, text });
        }
        let (mut chunks, rounded) = copy(rows, &numbers, &offsets, &codes);
        if encoder.is_none() {
            shift(&mut chunks, &numbers, rounded, &mut offsets);
        }
        for column in features.iter_mut().filter(|column| column.kind == ColumnKind::Number) {
            column.offset = offsets[column.slot];
        }
        refuse_infinite(&about.name, &features, &chunks)?;
        let body = Body::Dense { columns: features, chunks, texts };
        Ok(assembled(about, rows, names, body, notes))
    }

    /// Labels, weights and groups alone: what a split goes by.
    #[must_use]
    pub fn without_features(about: About, rows: usize) -> Self {
        let body = Body::none();
        assembled(about, rows, Vec::new(), body, Notes::default())
    }

    /// A table of a sparse matrix in memory, in compressed rows, of so many columns numbered from 0;
    /// with an encoder, for it.
    ///
    /// # Errors
    /// If the rows are not within the entries, or the entries of a row not in ascending columns.
    pub fn from_sparse<T: Copy + Into<f64>>(
        about: About,
        indptr: Vec<usize>,
        mut indices: Vec<u32>,
        values: &[T],
        columns: usize,
        encoder: Option<&Encoder>,
    ) -> Result<Self, EncodeError> {
        check_sparse(&about.name, &indptr, &indices, values.len(), columns)?;
        let known = encoder.and_then(Encoder::sparse_columns);
        let numbering = match &known {
            Some((numbering, _)) => numbering.clone().into_owned(),
            None => Numbering::occurring(&indices, 0, columns),
        };
        indices.iter_mut().for_each(|index| *index = index.saturating_add(numbering.base));
        let mut offsets = known.as_ref().map_or(Vec::new(), |(_, offsets)| offsets.to_vec());
        let by_index = numbering.by_index(&offsets);
        let kept = |(index, value): (&u32, &T)| narrow((*value).into(), offset_of(&by_index, *index)).0;
        let kept = indices.iter().zip(values).map(kept).collect();
        let rows = indptr.len() - 1;
        let mut all = Sparse { columns, starts: indptr, indices, values: kept };
        let notes = Notes { unknown_entries: numbering.keep(&mut all), ..Notes::default() };
        let mut matrix = Matrix::from(all);
        if known.is_none() {
            // Nothing was left out: the entries are still those of `values`.
            let mut rounded = vec![false; matrix.columns];
            matrix.each(|_, rows| {
                for (column, value) in rows.indices.iter().zip(values) {
                    rounded[*column as usize] |= narrow((*value).into(), 0.0).1;
                }
            })?;
            offsets = needed_offsets(&matrix, |column| rounded[column as usize])?;
            matrix.change(|_, rows| {
                for ((kept, column), value) in rows.values.iter_mut().zip(&rows.indices).zip(values) {
                    *kept = narrow((*value).into(), offset_of(&offsets, *column)).0;
                }
            })?;
        }
        matrix.change(|_, rows| fill(rows, &offsets))?;
        Ok(assembled(about, rows, Vec::new(), Body::Sparse { matrix, numbering, offsets }, notes))
    }
}

fn assembled(about: About, rows: usize, mut names: Vec<String>, body: Body, notes: Notes) -> Table {
    // As in a file: the label is a column among the others.
    if let (Some(label), Body::Dense { .. }) = (&about.label, &body) {
        names.push(label.column.clone());
    }
    Table {
        file: about.name,
        rows,
        body,
        header: true,
        names,
        missing: DEFAULT_MISSING.map(str::to_owned).to_vec(),
        label: about.label,
        labels: about.labels,
        queries: about.entities.clone().filter(|_| about.grades.is_some()),
        grades: about.grades,
        weights: about.weights,
        stakes: about.stakes,
        groups: about.groups,
        entities: about.entities,
        times: None,
        scores: None,
        kept: Vec::new(),
        hash: None,
        notes,
    }
}

/// The columns in chunks, and whether a number of each was rounded.
fn copy(
    rows: usize,
    numbers: &[Box<dyn Numbers + '_>],
    offsets: &[f64],
    codes: &[Vec<u32>],
) -> (Vec<Chunk>, Vec<bool>) {
    let mut rounded = vec![false; numbers.len()];
    let stride = (NUMBERS / numbers.len().max(1)).clamp(TILE.1, rows.max(TILE.1));
    let mut chunks = Vec::new();
    for start in (0..rows).step_by(stride) {
        let count = stride.min(rows - start);
        let mut chunk = Chunk::new(count, numbers.len(), 0, 0);
        chunk.rows = count;
        chunk.codes = codes.iter().flat_map(|of| &of[start..start + count]).copied().collect();
        let groups = chunk.numbers.par_chunks_mut(count * TILE.0).zip(numbers.par_chunks(TILE.0));
        let groups = groups.zip(offsets.par_chunks(TILE.0)).zip(rounded.par_chunks_mut(TILE.0));
        groups.for_each(|(((out, columns), offsets), rounded)| {
            for from in (0..count).step_by(TILE.1) {
                let to = count.min(from + TILE.1);
                let columns = out.chunks_mut(count).zip(columns).zip(offsets);
                for (((out, column), offset), rounded) in columns.zip(&mut *rounded) {
                    *rounded |= column.copy(start + from, *offset, &mut out[from..to]);
                }
            }
        });
        chunks.push(chunk);
    }
    (chunks, rounded)
}

/// Copies the columns that need an offset again, less it; a second time if one is not enough.
fn shift(
    chunks: &mut [Chunk],
    numbers: &[Box<dyn Numbers + '_>],
    mut rounded: Vec<bool>,
    offsets: &mut [f64],
) {
    for _ in 0..2 {
        let more = offset::of_columns(chunks, &rounded, offsets);
        rounded.fill(false);
        for (slot, more) in more {
            offsets[slot] += more;
            let mut start = 0;
            for chunk in &mut *chunks {
                let out = &mut chunk.numbers[slot * chunk.stride..][..chunk.rows];
                rounded[slot] |= numbers[slot].copy(start, offsets[slot], out);
                start += chunk.rows;
            }
        }
    }
}

fn check_sparse(
    file: &str,
    indptr: &[usize],
    indices: &[u32],
    values: usize,
    columns: usize,
) -> Result<(), EncodeError> {
    let ascend = |pair: &[usize]| {
        let row = indices.get(pair[0]..pair[1]);
        row.is_some_and(|row| {
            row.is_sorted_by(|a, b| a < b) && row.last().is_none_or(|last| (*last as usize) < columns)
        })
    };
    let whole = indptr.first() == Some(&0) && indptr.last() == Some(&values) && indices.len() == values;
    if whole && indptr.windows(2).all(ascend) {
        return Ok(());
    }
    Err(EncodeError::Entries { file: file.to_owned() })
}

fn refuse_infinite(file: &str, columns: &[FeatureColumn], chunks: &[Chunk]) -> Result<(), EncodeError> {
    let mut start = 0;
    for chunk in chunks {
        for column in columns.iter().filter(|column| column.kind == ColumnKind::Number) {
            if let Some(row) = chunk.number(column.slot).iter().position(|value| value.is_infinite()) {
                let (file, column) = (file.to_owned(), column.name.clone());
                return Err(EncodeError::Infinite { file, row: start + row + 1, column });
            }
        }
        start += chunk.rows;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LabelRule, Positive, ReadOptions, SplitPlan};

    struct Column(Vec<f64>);

    impl Numbers for Column {
        fn copy(&self, start: usize, offset: f64, out: &mut [f32]) -> bool {
            let mut rounded = false;
            for (out, value) in out.iter_mut().zip(&self.0[start..]) {
                let (kept, lost) = narrow(*value, offset);
                *out = kept;
                rounded |= lost;
            }
            rounded
        }
    }

    fn numbers(values: impl Iterator<Item = f64>) -> Values<'static> {
        Values::Numbers(Box::new(Column(values.collect())))
    }

    /// The rows of the file below.
    fn columns(rows: usize) -> Vec<(String, Values<'static>)> {
        let texts = ["Leeds", "York"].map(str::to_owned).to_vec();
        let towns = (0..rows).map(|row| if row % 7 == 3 { u32::MAX } else { row as u32 % 2 }).collect();
        vec![
            ("age".to_owned(), numbers((0..rows).map(|row| (row * row % 91) as f64))),
            ("town".to_owned(), Values::Texts { texts, of: towns, categories: false }),
        ]
    }

    fn about(rows: usize) -> About {
        let rule = LabelRule::Pair { positive: "1".to_owned(), negative: "0".to_owned() };
        let label = LabelSchema { column: "y".to_owned(), position: 2, rule };
        let labels = (0..rows).map(|row| row % 3 == 0).collect();
        About { name: "X".to_owned(), label: Some(label), labels: Some(labels), ..About::default() }
    }

    #[test]
    fn a_table_in_memory_is_that_of_the_file() {
        let rows = 1500;
        let mut text = "age,town,y\n".to_owned();
        for row in 0..rows {
            let town = if row % 7 == 3 { "?" } else { ["Leeds", "York"][row % 2] };
            text += &format!("{},{town},{}\n", row * row % 91, u8::from(row % 3 == 0));
        }
        let roles = Roles { label: Some("y".into()), positive: Positive::Auto, ..Roles::default() };
        let read =
            Table::from_bytes("f.csv", text.into_bytes(), &ReadOptions::default(), &roles, None).unwrap();
        let made = Table::from_memory(about(rows), rows, columns(rows), None).unwrap();
        let parts = SplitPlan::default().split(&made, 3).unwrap();
        assert_eq!(parts, SplitPlan::default().split(&read, 3).unwrap());
        let encoder = Encoder::fit(&made, parts.rows("train")).unwrap();
        let from_file = Encoder::fit(&read, parts.rows("train")).unwrap();
        assert_eq!(encoder.inputs, from_file.inputs);
        assert!(matches!(&encoder.inputs, Inputs::Table(inputs) if inputs.len() == 2));
        assert_eq!(encoder.encode(made).unwrap().features, from_file.encode(read).unwrap().features);
        let labels_only = Table::without_features(about(rows), rows);
        assert_eq!(SplitPlan::default().split(&labels_only, 3).unwrap(), parts);
        let more = Table::from_memory(About::default(), 9, columns(9), Some(&encoder)).unwrap();
        assert_eq!(encoder.encode(more).unwrap().features.rows(), 9);
    }

    #[test]
    fn what_the_encoder_does_not_find_is_named() {
        let made = Table::from_memory(about(60), 60, columns(60), None).unwrap();
        let encoder = Encoder::fit(&made, &(0..60).collect::<Vec<u32>>()).unwrap();
        let refused = |columns| {
            let name = About { name: "X".to_owned(), ..About::default() };
            Table::from_memory(name, 60, columns, Some(&encoder)).unwrap_err().to_string()
        };
        let mut short = columns(60);
        short.remove(0);
        assert!(refused(short).starts_with("X: the model needs column \"age\", which is not there"));
        let mut wrong = columns(60);
        wrong[1].1 = numbers((0..60).map(|row| row as f64));
        assert_eq!(refused(wrong), "X: column \"town\" does not hold texts, as it did in training");
        let mut infinite = columns(60);
        infinite[0].1 = numbers((0..60).map(|row| if row == 7 { f64::INFINITY } else { 0.0 }));
        let message = refused(infinite);
        assert!(message.starts_with("X: row 8: column \"age\": infinity, or too large"), "{message}");
    }
}
