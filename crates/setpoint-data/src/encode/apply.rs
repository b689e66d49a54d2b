//! A table turned into a matrix.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{EncodeError, Encoder, Encoding, Input, Inputs, Notes};
use crate::Error;
use crate::chunk::{Chunk, MISSING, Texts};
use crate::dataset::{Dataset, checked_sample, fits_memory};
use crate::features::{Dense, Features, Sparse};
use crate::form::Key;
use crate::table::{Body, FeatureColumn, Table};

/// Rows encoded at a time: few enough that they stay in cache from column to column.
const ROWS: usize = 4096;

/// An input, where its values are, and where it goes.
struct Column<'a> {
    input: &'a Input,
    slot: usize,
    /// For each code of the table, the category's place among the input's.
    places: Vec<Option<usize>>,
    /// First column in the matrix.
    at: usize,
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
        self.check()?;
        let mut notes = table.notes;
        notes.constant_columns.clone_from(&self.constant);
        let features = match (table.body, &self.inputs) {
            (Body::Dense { columns, chunks, texts }, Inputs::Table(inputs)) => {
                let columns = place(&table.file, inputs, &columns, &texts)?;
                let too_large = || EncodeError::TooLarge {
                    file: table.file.clone(),
                    rows: table.rows,
                    columns: self.columns(),
                };
                let bytes =
                    table.rows.checked_mul(self.columns()).and_then(|n| n.checked_mul(size_of::<f32>()));
                bytes.filter(|bytes| fits_memory(*bytes)).ok_or_else(too_large)?;
                Features::Dense(encode_dense(&columns, chunks, table.rows, self.columns(), &mut notes))
            }
            (
                Body::Sparse { matrix, numbering, offsets },
                Inputs::Sparse { base, columns, scales, offsets: own },
            ) if (numbering.base, &numbering.listed[..], &offsets) == (*base, columns, own)
                && matrix.columns == scales.len() =>
            {
                Features::Sparse(scale_sparse(matrix, scales))
            }
            _ => {
                let (file, column, expected) = (table.file, "all".to_owned(), "laid out as in training");
                return Err(EncodeError::Column { file, column, expected }.into());
            }
        };
        let sample = match (table.labels, &table.entities) {
            (Some(labels), None) => Some(checked_sample(labels, table.weights, table.groups)?),
            (Some(labels), Some(entities)) => {
                let sample = checked_sample(labels, table.weights, table.groups)?;
                Some(sample.with_entities(&entities.column, &entities.of)?)
            }
            (None, _) => None,
        };
        Ok(Dataset {
            features,
            feature_names: self.feature_names(),
            sample,
            entities: table.entities,
            times: table.times,
            queries: table.queries,
            hash: table.hash,
            notes,
        })
    }
}

fn place<'a>(
    file: &str,
    inputs: &'a [Input],
    columns: &[FeatureColumn],
    texts: &[Texts],
) -> Result<Vec<Column<'a>>, EncodeError> {
    let mut at = 0;
    let named: HashMap<&str, &FeatureColumn> =
        columns.iter().rev().map(|column| (column.name.as_str(), column)).collect();
    let mut placed = Vec::with_capacity(inputs.len());
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
            Encoding::Number { .. } | Encoding::Plain => Vec::new(),
            Encoding::Category { values, .. } => {
                let known: Vec<&str> = values.iter().map(|category| category.value.as_str()).collect();
                places(&known, &texts[column.slot].values)
            }
            Encoding::Code { values } => {
                let known: Vec<&str> = values.iter().map(String::as_str).collect();
                places(&known, &texts[column.slot].values)
            }
        };
        placed.push(Column { input, slot: column.slot, places, at });
        at += input.width();
    }
    Ok(placed)
}

/// For each text the category that it names: the one spelled so, else one that says the same (`1` for `1.0`).
fn places(known: &[&str], texts: &[String]) -> Vec<Option<usize>> {
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

fn encode_dense(
    columns: &[Column<'_>],
    chunks: Vec<Chunk>,
    rows: usize,
    width: usize,
    notes: &mut Notes,
) -> Dense {
    let mut values = vec![0.0; rows * width];
    let mut unseen = vec![Unseen::default(); columns.len()];
    let mut rest = values.as_mut_slice();
    // Each chunk is freed as soon as it is encoded: two whole copies never exist.
    for chunk in chunks {
        let (piece, later) = rest.split_at_mut(chunk.rows * width);
        let found: Vec<Vec<Unseen>> = piece
            .par_chunks_mut(ROWS * width)
            .enumerate()
            .map(|(part, out)| {
                columns.iter().map(|column| encode_column(column, &chunk, part * ROWS, out, width)).collect()
            })
            .collect();
        for part in found {
            for (sum, more) in unseen.iter_mut().zip(part) {
                sum.categories += more.categories;
                sum.missing += more.missing;
            }
        }
        rest = later;
    }
    for (column, total) in columns.iter().zip(unseen) {
        let mut note = |count: u64, list: fn(&mut Notes) -> &mut Vec<(String, u64)>| {
            if count > 0 {
                list(notes).push((column.input.name.clone(), count));
            }
        };
        note(total.categories, |notes| &mut notes.unseen_categories);
        note(total.missing, |notes| &mut notes.unseen_missing);
    }
    Dense { rows, columns: width, values }
}

/// Writes a column of some rows of a chunk, from `start` on, to their place in the matrix.
fn encode_column(column: &Column<'_>, chunk: &Chunk, start: usize, out: &mut [f32], width: usize) -> Unseen {
    let mut unseen = Unseen::default();
    let rows = out.chunks_exact_mut(width);
    match &column.input.encoding {
        Encoding::Number { scaling, missing } => {
            let flags = missing.map(|scaling| (scaling.apply(0.0), scaling.apply(1.0)));
            for (row, value) in rows.zip(&chunk.number(column.slot)[start..]) {
                let is_missing = value.is_nan();
                row[column.at] = if is_missing { 0.0 } else { scaling.apply(*value) };
                match flags {
                    Some((absent, present)) => row[column.at + 1] = if is_missing { present } else { absent },
                    None => unseen.missing += u64::from(is_missing),
                }
            }
        }
        Encoding::Category { values, missing } => {
            let scalings: Vec<_> = values.iter().map(|category| category.scaling).chain(*missing).collect();
            let absent: Vec<f32> = scalings.iter().map(|scaling| scaling.apply(0.0)).collect();
            let present: Vec<f32> = scalings.iter().map(|scaling| scaling.apply(1.0)).collect();
            for (row, code) in rows.zip(&chunk.code(column.slot)[start..]) {
                let row = &mut row[column.at..][..absent.len()];
                row.copy_from_slice(&absent);
                let place = if *code == MISSING {
                    let place = missing.map(|_| values.len());
                    unseen.missing += u64::from(place.is_none());
                    place
                } else {
                    let place = column.places[*code as usize];
                    unseen.categories += u64::from(place.is_none());
                    place
                };
                if let Some(place) = place {
                    row[place] = present[place];
                }
            }
        }
        Encoding::Plain => {
            for (row, value) in rows.zip(&chunk.number(column.slot)[start..]) {
                row[column.at] = *value;
                unseen.missing += u64::from(column.input.complete && value.is_nan());
            }
        }
        Encoding::Code { .. } => {
            for (row, code) in rows.zip(&chunk.code(column.slot)[start..]) {
                let place = if *code == MISSING { None } else { column.places[*code as usize] };
                unseen.categories += u64::from(*code != MISSING && place.is_none());
                unseen.missing += u64::from(*code == MISSING && column.input.complete);
                row[column.at] = place.map_or(f32::NAN, |place| place as f32);
            }
        }
    }
    unseen
}

fn scale_sparse(mut matrix: Sparse, scales: &[f32]) -> Sparse {
    for (value, index) in matrix.values.iter_mut().zip(&matrix.indices) {
        *value /= scales[*index as usize];
    }
    matrix
}
