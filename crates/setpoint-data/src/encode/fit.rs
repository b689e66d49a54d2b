//! Means, scales and categories of the training rows.

use std::collections::HashSet;

use rayon::prelude::*;
use setpoint::features::{Scaling, Sparse};

use super::apply::Dates;
use super::text::{Unit, Words};
use super::{Category, EncodeError, Encoder, Encoding, Input, Inputs};
use crate::chunk::{Chunk, MISSING};
use crate::form::Form;
use crate::layout::ColumnKind;
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
enum Column {
    Encoded(Encoding),
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
                scales: scales(matrix, &chosen),
                offsets: offsets.clone(),
            },
            Body::Dense { columns, chunks, texts } => {
                // Each column is summed in the order of its rows, however many threads there are.
                let encodings: Vec<Column> = columns
                    .par_iter()
                    .map(|column| match column.kind {
                        ColumnKind::Number => {
                            number(chunks, column.slot, &chosen).map_or(Column::Constant, Column::Encoded)
                        }
                        ColumnKind::Category => {
                            let texts = &texts[column.slot].values;
                            category(chunks, column.slot, texts, &chosen, column.text)
                        }
                    })
                    .collect();
                let mut inputs = Vec::new();
                for (column, encoding) in columns.iter().zip(encodings) {
                    match encoding {
                        Column::Encoded(encoding) => {
                            let (name, form, offset) = (column.name.clone(), column.form, column.offset);
                            let own = Input { name, encoding, form, part: None, offset, complete: false };
                            let parts = if form.is_some_and(Form::is_date) {
                                date_parts(chunks, column, &chosen)
                            } else {
                                Vec::new()
                            };
                            let parts = parts.into_iter().map(|(part, encoding)| Input {
                                part: Some(part),
                                encoding,
                                ..own.clone()
                            });
                            let parts: Vec<Input> = parts.collect();
                            inputs.push(own);
                            inputs.extend(parts);
                        }
                        Column::Constant => constant.push(column.name.clone()),
                        Column::Identifier => identifiers.push(column.name.clone()),
                    }
                }
                if inputs.is_empty() {
                    return Err(EncodeError::AllConstant { file: file() });
                }
                Inputs::Table(inputs)
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
}

/// The values of the chosen rows of one column.
fn chosen_values<'a, T: Copy + 'a>(
    chunks: &'a [Chunk],
    column: impl Fn(&'a Chunk) -> &'a [T] + 'a,
    chosen: &'a [bool],
) -> impl Iterator<Item = T> + 'a {
    let values = chunks.iter().flat_map(column).copied();
    values.zip(chosen).filter_map(|(value, chosen)| chosen.then_some(value))
}

fn number(chunks: &[Chunk], slot: usize, chosen: &[bool]) -> Option<Encoding> {
    let values = || chosen_values(chunks, |chunk| chunk.number(slot), chosen);
    let (mut sum, mut count, mut missing) = (0.0, 0u64, 0u64);
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    for value in values() {
        if value.is_nan() {
            missing += 1;
        } else {
            sum += f64::from(value);
            count += 1;
            low = low.min(value);
            high = high.max(value);
        }
    }
    if count == 0 || (low == high && missing == 0) {
        return None;
    }
    let mean = sum / count as f64;
    let squares: f64 =
        values().filter(|value| !value.is_nan()).map(|value| (f64::from(value) - mean).powi(2)).sum();
    // Filled values add nothing to the squares, but they are rows of the column.
    let deviation = (squares / (count + missing) as f64).sqrt();
    Some(Encoding::Number {
        scaling: Scaling { mean: mean as f32, scale: positive(deviation) },
        missing: indicator(missing, count + missing),
    })
}

/// The parts that the dates of a column have, where they differ.
fn date_parts(chunks: &[Chunk], column: &FeatureColumn, chosen: &[bool]) -> Vec<(DatePart, Encoding)> {
    let dates = Dates { offset: column.offset };
    let of = |part: DatePart| {
        let mut counts = vec![0u64; part.values().len()];
        let mut total = 0;
        for value in chosen_values(chunks, |chunk| chunk.number(column.slot), chosen) {
            total += 1;
            if let Some(place) = dates.part(part, value) {
                counts[place as usize] += 1;
            }
        }
        let values = part.values().into_iter().zip(counts);
        let values: Vec<Category> = values
            .filter_map(|(value, count)| Some(Category { value, scaling: indicator(count, total)? }))
            .collect();
        let encoding = Encoding::Category { values: values.clone(), missing: None, rare: None };
        (values.len() > 1).then_some((part, encoding))
    };
    DatePart::ALL.into_iter().filter_map(of).collect()
}

fn category(chunks: &[Chunk], slot: usize, texts: &[String], chosen: &[bool], told: bool) -> Column {
    let mut counts = vec![0u64; texts.len()];
    let (mut missing, mut total) = (0, 0);
    for code in chosen_values(chunks, |chunk| chunk.code(slot), chosen) {
        total += 1;
        if code == MISSING {
            missing += 1;
        } else {
            counts[code as usize] += 1;
        }
    }
    if let Some(words) = Unit::of(texts, &counts, told).and_then(|unit| Words::fit(unit, texts, &counts)) {
        return Column::Encoded(Encoding::Text(words));
    }
    let mut there: Vec<usize> = (0..texts.len()).filter(|code| counts[*code] > 0).collect();
    let (different, rows) = (there.len() as u64, total - missing);
    if rows >= IDENTIFIER_ROWS && 20 * different >= 19 * rows {
        return Column::Identifier;
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
        return Column::Constant;
    }
    Column::Encoded(Encoding::Category { values, missing, rare })
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
fn scales(matrix: &Sparse, chosen: &[bool]) -> Vec<f32> {
    let mut squares = vec![0.0; matrix.columns];
    let (mut rows, mut entries) = (0, 0);
    for row in (0..matrix.rows()).filter(|row| chosen[*row]) {
        rows += 1;
        entries += matrix.range(row).len();
        for entry in matrix.range(row) {
            squares[matrix.indices[entry] as usize] += f64::from(matrix.values[entry]).powi(2);
        }
    }
    if rows < WIDE * matrix.columns as u64 {
        let scale = positive((squares.iter().sum::<f64>() / entries.max(1) as f64).sqrt());
        return vec![scale; matrix.columns];
    }
    squares.iter().map(|sum: &f64| positive((sum / rows as f64).sqrt())).collect()
}

/// A scale to divide by: 1 where there is no spread, or none that `f32` can hold.
fn positive(scale: f64) -> f32 {
    let scale = scale as f32;
    if scale.is_normal() { scale } else { 1.0 }
}
