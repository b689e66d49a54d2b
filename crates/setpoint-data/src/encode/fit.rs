//! Means, scales and categories of the training rows.

use std::borrow::Cow;
use std::collections::HashSet;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use setpoint::features::Scaling;
use setpoint::scratch::ScratchError;

use super::apply::Dates;
use super::text::{Unit, Words};
use super::{Category, EncodeError, Encoder, Encoding, Input, Inputs};
use crate::chunk::{Chunk, MISSING, Texts};
use crate::form::Form;
use crate::layout::ColumnKind;
use crate::matrix::Matrix;
use crate::table::{Body, FeatureColumn, Table};
use crate::time::DatePart;

/// Most categories that have a column of their own; beyond them, each needs so many rows.
const CATEGORIES: usize = 1000;
const LEAST_ROWS: u64 = 2;
/// Rows for each column below which a sparse matrix is wide.
const WIDE: u64 = 4;
/// Rows from which a column with another text in nearly each is an identifier.
const IDENTIFIER_ROWS: u64 = 20;

/// What becomes of a column.
pub(super) enum Fitted {
    /// Its encoding, and those of the parts of its dates.
    Encoded(Encoding, Vec<(DatePart, Encoding)>),
    Constant,
    Identifier,
}

impl Encoder {
    /// Learns the encoding from the training rows of a table.
    ///
    /// # Errors
    /// If there are no training rows, or nothing varies in them.
    pub fn fit(table: &Table, rows: &[u32]) -> Result<Self, EncodeError> {
        let file = || table.file.clone();
        if rows.is_empty() {
            return Err(EncodeError::NoRows { file: file() });
        }
        let mut chosen = vec![false; table.rows];
        for row in rows {
            *chosen.get_mut(*row as usize).ok_or(EncodeError::Row {
                file: file(),
                row: *row,
                rows: table.rows,
            })? = true;
        }
        let (mut constant, mut identifiers) = (Vec::new(), Vec::new());
        let inputs = match &table.body {
            Body::Sparse { matrix, numbering, offsets } => Inputs::Sparse {
                base: numbering.base,
                columns: numbering.listed.to_vec(),
                scales: scales(matrix, &chosen)?,
                offsets: offsets.clone(),
            },
            Body::Dense { columns, chunks, texts } => {
                // Each column is summed in the order of its rows, however many threads there are.
                let fitted = columns.par_iter().map(|column| {
                    let fitted = match column.kind {
                        ColumnKind::Number => {
                            let sums = NumberSums::of(chunks, column, &chosen);
                            Fitted::of_number(sums.encoding(), sums.date_parts())
                        }
                        ColumnKind::Category => {
                            let (counts, missing) = counts(chunks, column.slot, texts, &chosen);
                            Fitted::of_category(&texts[column.slot].values, &counts, missing, column.text)
                        }
                    };
                    (column.name.clone(), column.form, column.offset, fitted)
                });
                let fitted: Vec<_> = fitted.collect();
                Self::inputs(&table.file, fitted, &mut constant, &mut identifiers)?
            }
        };
        let used: HashSet<&str> = match &inputs {
            Inputs::Table(inputs) => inputs.iter().map(|input| input.name.as_str()).collect(),
            Inputs::Sparse { .. } => HashSet::new(),
        };
        let width = match &table.body {
            Body::Sparse { numbering, .. } if !numbering.listed.is_empty() => numbering.width,
            _ => table.names.len(),
        };
        Ok(Self {
            beside: Vec::new(),
            header: table.header,
            width,
            unused: table.names.iter().filter(|name| !used.contains(name.as_str())).cloned().collect(),
            label: table.label.clone(),
            missing: table.missing.clone(),
            constant,
            identifiers,
            inputs,
        })
    }

    /// The inputs of columns by name, form, offset and what was made of them; those left out are listed.
    pub(super) fn inputs(
        file: &str,
        columns: Vec<(String, Option<Form>, f64, Fitted)>,
        constant: &mut Vec<String>,
        identifiers: &mut Vec<String>,
    ) -> Result<Inputs, EncodeError> {
        let mut inputs = Vec::new();
        for (name, form, offset, fitted) in columns {
            match fitted {
                Fitted::Encoded(encoding, parts) => {
                    let own = Input { name, encoding, form, part: None, offset, complete: false };
                    let is_date = form.is_some_and(Form::is_date);
                    let parts = parts.into_iter().filter(|_| is_date).map(|(part, encoding)| Input {
                        part: Some(part),
                        encoding,
                        ..own.clone()
                    });
                    let parts: Vec<Input> = parts.collect();
                    inputs.push(own);
                    inputs.extend(parts);
                }
                Fitted::Constant => constant.push(name),
                Fitted::Identifier => identifiers.push(name),
            }
        }
        if inputs.is_empty() {
            return Err(EncodeError::AllConstant { file: file.to_owned() });
        }
        Ok(Inputs::Table(inputs))
    }
}

/// The values of one column in order, chunk by chunk, each with which of its rows are chosen.
fn each_chunk<'a, T: Copy + 'a>(
    chunks: &'a [Chunk],
    column: impl Fn(&'a Chunk) -> Cow<'a, [T]>,
    mut chosen: &[bool],
    mut take: impl FnMut(&[T], &[bool]),
) {
    for chunk in chunks {
        let values = column(chunk);
        let (of_chunk, rest) = chosen.split_at(values.len());
        take(&values, of_chunk);
        chosen = rest;
    }
}

/// The numbers of the chosen rows of a column that have one, some at a time, and of how many rows they are.
fn each_known(chunks: &[Chunk], slot: usize, chosen: &[bool], mut take: impl FnMut(&[f32], usize)) {
    const SOME: usize = 1024;
    let mut known = [0.0; SOME];
    each_chunk(
        chunks,
        |chunk| chunk.number(slot),
        chosen,
        |values, chosen| {
            for (values, chosen) in values.chunks(SOME).zip(chosen.chunks(SOME)) {
                let (mut there, mut rows) = (0, 0);
                for (value, chosen) in values.iter().zip(chosen) {
                    // Written in any case, and over where it is not wanted: no branch for the processor to guess.
                    known[there] = *value;
                    there += usize::from(*chosen & !value.is_nan());
                    rows += usize::from(*chosen);
                }
                take(&known[..there], rows);
            }
        },
    );
}

/// Sums over the training rows of a column of numbers, less its offset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct NumberSums {
    pub(super) count: u64,
    pub(super) missing: u64,
    pub(super) mean: f64,
    /// Squares of what numbers differ from the mean.
    pub(super) squares: f64,
    /// The least and the greatest; nothing where there are none.
    pub(super) ends: Option<[f64; 2]>,
    /// Rows by the parts of their dates.
    pub(super) parts: Vec<Vec<u64>>,
}

impl NumberSums {
    pub(super) fn of(chunks: &[Chunk], column: &FeatureColumn, chosen: &[bool]) -> Self {
        let (mut sum, mut count, mut missing) = (0.0, 0u64, 0u64);
        let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
        each_known(chunks, column.slot, chosen, |known, rows| {
            count += known.len() as u64;
            missing += (rows - known.len()) as u64;
            known.iter().for_each(|value| sum += f64::from(*value));
            low = known.iter().fold(low, |low, value| if *value < low { *value } else { low });
            high = known.iter().fold(high, |high, value| if *value > high { *value } else { high });
        });
        let mean = if count > 0 { sum / count as f64 } else { 0.0 };
        let mut squares = 0.0;
        each_known(chunks, column.slot, chosen, |known, _| {
            known.iter().for_each(|value| squares += (f64::from(*value) - mean).powi(2));
        });
        let mut parts = Vec::new();
        if column.form.is_some_and(Form::is_date) {
            let dates = Dates { offset: column.offset };
            parts.extend(DatePart::ALL.map(|part| {
                let mut counts = vec![0u64; part.values().len()];
                each_known(chunks, column.slot, chosen, |known, _| {
                    let places = known.iter().filter_map(|value| dates.part(part, *value));
                    places.for_each(|place| counts[place as usize] += 1);
                });
                counts
            }));
        }
        let ends = (count > 0).then_some([low.into(), high.into()]);
        Self { count, missing, mean, squares, ends, parts }
    }

    pub(super) fn encoding(&self) -> Option<Encoding> {
        let Self { count, missing, mean, squares, ends, .. } = self;
        let [low, high] = (*ends)?;
        if low == high && *missing == 0 {
            return None;
        }
        // Filled values add nothing to the squares, but they are rows of the column.
        let deviation = (squares / (count + missing) as f64).sqrt();
        Some(Encoding::Number {
            scaling: Scaling { mean: *mean as f32, scale: positive(deviation) },
            missing: indicator(*missing, count + missing),
        })
    }

    /// The parts that dates have, where they differ.
    pub(super) fn date_parts(&self) -> Vec<(DatePart, Encoding)> {
        let total = self.count + self.missing;
        let of = |(part, counts): (DatePart, &Vec<u64>)| {
            let values = part.values().into_iter().zip(counts);
            let values: Vec<Category> = values
                .filter_map(|(value, count)| Some(Category { value, scaling: indicator(*count, total)? }))
                .collect();
            let encoding = Encoding::Category { values: values.clone(), missing: None, rare: None };
            (values.len() > 1).then_some((part, encoding))
        };
        DatePart::ALL.into_iter().zip(&self.parts).filter_map(of).collect()
    }
}

/// Training rows with each text of a column, and without one.
pub(super) fn counts(chunks: &[Chunk], slot: usize, texts: &[Texts], chosen: &[bool]) -> (Vec<u64>, u64) {
    let mut counts = vec![0u64; texts[slot].values.len()];
    let mut missing = 0;
    each_chunk(
        chunks,
        |chunk| chunk.code(slot),
        chosen,
        |codes, chosen| {
            for (code, _) in codes.iter().zip(chosen).filter(|(_, chosen)| **chosen) {
                match *code {
                    MISSING => missing += 1,
                    code => counts[code as usize] += 1,
                }
            }
        },
    );
    (counts, missing)
}

impl Fitted {
    pub(super) fn of_number(encoding: Option<Encoding>, parts: Vec<(DatePart, Encoding)>) -> Self {
        encoding.map_or(Self::Constant, |encoding| Self::Encoded(encoding, parts))
    }

    /// A column with these texts, of so many training rows each; `told` where a person says that they are texts.
    pub(super) fn of_category(texts: &[String], counts: &[u64], missing: u64, told: bool) -> Self {
        let total = counts.iter().sum::<u64>() + missing;
        if let Some(words) = Unit::of(texts, counts, told).and_then(|unit| Words::fit(unit, texts, counts)) {
            return Self::Encoded(Encoding::Text(words), Vec::new());
        }
        let mut there: Vec<usize> = (0..texts.len()).filter(|code| counts[*code] > 0).collect();
        let (different, rows) = (there.len() as u64, total - missing);
        if rows >= IDENTIFIER_ROWS && 20 * different >= 19 * rows {
            return Self::Identifier;
        }
        let mut rare = 0;
        if there.len() > CATEGORIES {
            there.sort_by(|one, other| {
                counts[*other].cmp(&counts[*one]).then_with(|| texts[*one].cmp(&texts[*other]))
            });
            let kept = there.partition_point(|code| counts[*code] >= LEAST_ROWS).min(CATEGORIES);
            rare = there.drain(kept..).map(|code| counts[code]).sum();
        }
        let mut values: Vec<Category> = there
            .into_iter()
            .filter_map(|code| {
                Some(Category { value: texts[code].clone(), scaling: indicator(counts[code], total)? })
            })
            .collect();
        values.sort_by(|a, b| a.value.cmp(&b.value));
        let (missing, rare) = (indicator(missing, total), indicator(rare, total));
        if values.len() + missing.iter().chain(&rare).count() <= 1 {
            return Self::Constant;
        }
        Self::Encoded(Encoding::Category { values, missing, rare }, Vec::new())
    }
}

/// Scaling of a column that is 1 in `count` of `total` rows and 0 in the rest; `None` if it never is.
fn indicator(count: u64, total: u64) -> Option<Scaling> {
    if count == 0 {
        return None;
    }
    let share = count as f64 / total as f64;
    Some(Scaling { mean: share as f32, scale: positive((share * (1.0 - share)).sqrt()) })
}

/// The root mean square of each column; in a wide matrix, of all entries that there are: scaled one by one, the
/// rarest would weigh most.
fn scales(matrix: &Matrix, chosen: &[bool]) -> Result<Vec<f32>, ScratchError> {
    let mut squares = vec![0.0; matrix.columns];
    let (mut rows, mut entries) = (0, 0);
    matrix.each(|first, some| {
        for row in (0..some.rows()).filter(|row| chosen[first + row]) {
            rows += 1;
            entries += some.range(row).len();
            for entry in some.range(row) {
                squares[some.indices[entry] as usize] += f64::from(some.values[entry]).powi(2);
            }
        }
    })?;
    if rows < WIDE * matrix.columns as u64 {
        let scale = positive((squares.iter().sum::<f64>() / entries.max(1) as f64).sqrt());
        return Ok(vec![scale; matrix.columns]);
    }
    Ok(squares.iter().map(|sum: &f64| positive((sum / rows as f64).sqrt())).collect())
}

/// A scale to divide by: 1 where there is no spread, or none that `f32` can hold.
fn positive(scale: f64) -> f32 {
    let scale = scale as f32;
    if scale.is_normal() { scale } else { 1.0 }
}
