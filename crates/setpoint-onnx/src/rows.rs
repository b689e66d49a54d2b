//! Rows as a graph takes them: each input fed by the column of its name, or one input by all columns.

use std::ops::Range;

use setpoint::features::Sparse;
use setpoint::message::quote;
use setpoint_data::{Codes, RawColumn, RawValues, Table};
use setpoint_run::Failure;

use crate::proto::{Value, element};
use crate::runtime::{Data, Fed};

/// The category that no list has, for what is no whole number.
const NONE: i64 = i64::MIN;

/// Rows as they were read.
pub struct Rows<'a> {
    count: usize,
    columns: Vec<RawColumn>,
    /// The groups, where they are no feature.
    groups: Option<RawColumn>,
    /// Rows of an SVMLight file and the offsets of its columns.
    entries: Option<(Sparse, Vec<f64>)>,
    /// Images: height, width and channels, and their bytes.
    pixels: Option<([usize; 3], &'a [u8])>,
}

impl<'a> Rows<'a> {
    /// Those of a table.
    #[must_use]
    pub fn of_table(table: &Table) -> Self {
        let groups = table.groups().cloned().map(|Codes { column, names, of }| RawColumn {
            name: column,
            values: RawValues::Texts { texts: names, of },
        });
        let entries = table.raw_entries().map(|(entries, offsets)| (entries.clone(), offsets));
        let columns = table.raw_columns().unwrap_or_default();
        Self { count: table.rows(), columns, groups, entries, pixels: None }
    }

    /// Images of this height, width and number of channels.
    #[must_use]
    pub fn of_images(shape: [usize; 3], pixels: &'a [u8]) -> Self {
        let count = pixels.len() / shape.iter().product::<usize>().max(1);
        Self { count, columns: Vec::new(), groups: None, entries: None, pixels: Some((shape, pixels)) }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Some rows for these inputs.
    ///
    /// # Errors
    /// If an input has no column, or one of another type.
    pub fn feed(&self, inputs: &[&Value], rows: Range<usize>) -> Result<Vec<Fed>, Failure> {
        let one = |input: &&Value| {
            let (element, sizes) = input.as_tensor().ok_or_else(|| {
                Failure::input(format!("input {}: no tensor, which is what can be fed", quote(&input.name)))
            })?;
            let of_name = self.columns.iter().chain(&self.groups).find(|column| column.name == input.name);
            match (of_name, self.pixels, inputs) {
                (Some(column), ..) => {
                    let flat = sizes.is_some_and(|sizes| sizes.len() == 1);
                    self.column(column, element, flat, rows.clone())
                }
                (None, Some((shape, pixels)), [_]) => {
                    let bytes = shape.iter().product::<usize>();
                    let data = Data::Bytes(pixels[rows.start * bytes..rows.end * bytes].to_vec());
                    let sizes = [rows.len(), shape[0], shape[1], shape[2]].map(|size| size as i64).to_vec();
                    Ok(Fed { name: input.name.clone(), sizes, data })
                }
                (None, None, inputs) if inputs.iter().filter(|other| !self.is_group(other)).count() == 1 => {
                    self.matrix(input, element, sizes, rows.clone())
                }
                _ => Err(Failure::input(format!(
                    "the model takes a column {}, which the data has not; it has {}",
                    quote(&input.name),
                    setpoint::message::list(&self.columns.iter().map(|c| c.name.clone()).collect::<Vec<_>>())
                ))),
            }
        };
        inputs.iter().map(one).collect()
    }

    fn is_group(&self, input: &Value) -> bool {
        self.groups.as_ref().is_some_and(|groups| groups.name == input.name)
    }

    fn column(
        &self,
        column: &RawColumn,
        element: i32,
        flat: bool,
        rows: Range<usize>,
    ) -> Result<Fed, Failure> {
        let mut sizes = vec![rows.len() as i64];
        sizes.extend((!flat).then_some(1));
        let data = match (&column.values, element) {
            (_, element::FLOAT) => {
                Data::Floats(numbers(column, rows)?.into_iter().map(|value| value as f32).collect())
            }
            (_, element::DOUBLE) => Data::Doubles(numbers(column, rows)?),
            (RawValues::Numbers(values), element::INT64) => {
                let numbers: Option<Vec<i64>> = values[rows].iter().map(|value| whole(*value)).collect();
                Data::Ints(numbers.ok_or_else(|| wrong(column, "whole numbers, none of them missing"))?)
            }
            (texts @ RawValues::Texts { .. }, element::STRING) => {
                Data::Texts(rows.map(|row| texts.text(row).unwrap_or_default().to_owned()).collect())
            }
            (texts @ RawValues::Texts { .. }, element::INT64) => {
                let read = |text: &str| text.parse().ok().or_else(|| whole(text.parse().ok()?));
                Data::Ints(rows.map(|row| texts.text(row).and_then(read).unwrap_or(NONE)).collect())
            }
            (RawValues::Numbers(_), element::STRING) => return Err(wrong(column, "texts")),
            (_, other) => return Err(wrong(column, &format!("elements of ONNX's type {other}"))),
        };
        Ok(Fed { name: column.name.clone(), sizes, data })
    }

    /// All columns in one matrix.
    fn matrix(
        &self,
        input: &Value,
        element: i32,
        sizes: Option<Vec<Option<i64>>>,
        rows: Range<usize>,
    ) -> Result<Fed, Failure> {
        let width = self.entries.as_ref().map_or(self.columns.len(), |(entries, _)| entries.columns);
        let expected = sizes.and_then(|sizes| *sizes.get(1)?);
        if expected.is_some_and(|expected| expected != width as i64) {
            return Err(Failure::input(format!(
                "the model takes {} columns at once ({}), and the data has {width} besides the label and other roles: \
                 leave the others out with ‹drop›",
                expected.unwrap_or_default(),
                quote(&input.name)
            )));
        }
        let mut values = vec![0.0; rows.len() * width];
        if let Some((entries, offsets)) = &self.entries {
            for (row, into) in rows.clone().zip(values.chunks_exact_mut(width)) {
                for at in entries.range(row) {
                    let column = entries.indices[at] as usize;
                    into[column] += f64::from(entries.values[at]) + offsets[column];
                }
            }
        }
        for (place, column) in self.columns.iter().enumerate() {
            let RawValues::Numbers(numbers) = &column.values else { return Err(wrong(column, "numbers")) };
            for (row, into) in rows.clone().zip(values.chunks_exact_mut(width)) {
                into[place] = numbers[row];
            }
        }
        let data = match element {
            element::FLOAT => Data::Floats(values.into_iter().map(|value| value as f32).collect()),
            element::DOUBLE => Data::Doubles(values),
            other => {
                let name = quote(&input.name);
                return Err(Failure::input(format!(
                    "input {name}: elements of ONNX's type {other} cannot be fed"
                )));
            }
        };
        Ok(Fed { name: input.name.clone(), sizes: vec![rows.len() as i64, width as i64], data })
    }
}

/// The numbers of a column; also of groups, which are kept as texts.
fn numbers(column: &RawColumn, rows: Range<usize>) -> Result<Vec<f64>, Failure> {
    if let RawValues::Numbers(values) = &column.values {
        return Ok(values[rows].to_vec());
    }
    let read = |text: &str| text.parse().map_err(|_| wrong(column, "numbers"));
    rows.map(|row| column.values.text(row).map_or(Ok(f64::NAN), read)).collect()
}

/// A number that is whole.
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0).then_some(number as i64)
}

fn wrong(column: &RawColumn, expected: &str) -> Failure {
    let found = match column.values {
        RawValues::Numbers(_) => "numbers",
        RawValues::Texts { .. } => "texts",
    };
    let name = quote(&column.name);
    Failure::input(format!("column {name} holds {found}, and the model takes {expected} under this name"))
}
