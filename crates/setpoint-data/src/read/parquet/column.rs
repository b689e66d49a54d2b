//! One column of one row group.

use std::sync::Arc;

use parquet::column::page::PageReader;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{AsBytes, DataType, FloatType, Int96};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::serialized_reader::SerializedPageReader;

use super::super::{Missing, ReadError, text_of};
use super::Meaning;
use super::file::SharedFile;
use crate::chunk::LocalTexts;
use crate::form::{Form, number, shortened};
use crate::offset::narrow;
use crate::time::{time_key, time_text};

/// So many whole numbers of a text column are remembered with their codes.
const FEW: usize = 8;

/// Where a column's values go.
pub(super) enum Target<'a> {
    /// Less the offset; with whether a number was rounded to fit.
    Number(&'a mut [f32], f64, &'a mut bool),
    Text(&'a mut [u32], &'a mut LocalTexts),
    Real(&'a mut [f64]),
}

/// How the values of a column are to be taken.
#[derive(Clone, Copy)]
pub(super) struct How {
    pub meaning: Meaning,
    /// How its texts write numbers, where not plainly.
    pub form: Option<Form>,
    pub is_label: bool,
}

/// A column being read.
pub(super) struct Column {
    name: String,
    reader: ColumnReader,
    how: How,
    optional: bool,
    /// Kept from slice to slice: fresh memory costs more than decoding.
    floats: Vec<f32>,
}

/// A value in the widest form of its kind.
enum Value<'a> {
    Number(f64),
    /// A number of 32 bits, with the digits that those have.
    Short(f32),
    /// Seconds since 1970.
    Time(f64),
    Whole(i128),
    Truth(bool),
    Text(&'a [u8]),
}

/// Where a value stands, for errors.
struct Place<'a> {
    file: &'a str,
    column: &'a str,
    row: u64,
    form: Option<Form>,
}

impl Column {
    pub fn open(
        file: &Arc<SharedFile>,
        group: &RowGroupMetaData,
        index: usize,
        how: How,
        name: &str,
    ) -> ParquetResult<Self> {
        let metadata = group.column(index);
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        let places = [
            metadata.data_page_offset(),
            metadata.dictionary_page_offset().unwrap_or(0),
            metadata.compressed_size(),
        ];
        if places.iter().any(|place| *place < 0) {
            return Err(ParquetError::General(format!("column {name:?} is stored at a negative place")));
        }
        let pages: Box<dyn PageReader> =
            Box::new(SerializedPageReader::new(Arc::clone(file), metadata, rows, None)?);
        let descriptor = metadata.column_descr_ptr();
        let optional = descriptor.max_def_level() > 0;
        Ok(Self {
            name: name.to_owned(),
            reader: get_column_reader(descriptor, pages),
            how,
            optional,
            floats: Vec::new(),
        })
    }

    /// Reads the next `rows` values to their place; the first of them is row `first` of the file.
    pub fn read(
        &mut self,
        file: &str,
        rows: usize,
        first: u64,
        missing: &Missing,
        target: Target<'_>,
    ) -> Result<(), ReadError> {
        let (how, meaning) = (self.how, self.how.meaning);
        let place = |row: usize| Place { file, column: &self.name, row: first + row as u64, form: how.form };
        let args = (file, rows, self.optional);
        match &mut self.reader {
            ColumnReader::FloatColumnReader(reader) => {
                if let Target::Number(numbers, 0.0, _) = target {
                    return read_floats(reader, args, place, missing, &mut self.floats, numbers);
                }
                fill(reader, args, place, missing, how, target, |value| Value::Short(*value))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                fill(reader, args, place, missing, how, target, |value| Value::Number(*value))
            }
            ColumnReader::BoolColumnReader(reader) => {
                fill(reader, args, place, missing, how, target, |value| Value::Truth(*value))
            }
            ColumnReader::Int32ColumnReader(reader) => {
                fill(reader, args, place, missing, how, target, |value| match meaning {
                    Meaning::Unsigned => Value::Whole((*value as u32).into()),
                    _ => whole(meaning, (*value).into()),
                })
            }
            ColumnReader::Int64ColumnReader(reader) => {
                fill(reader, args, place, missing, how, target, |value| match meaning {
                    Meaning::Unsigned => Value::Whole((*value as u64).into()),
                    _ => whole(meaning, (*value).into()),
                })
            }
            ColumnReader::Int96ColumnReader(reader) => {
                fill(reader, args, place, missing, how, target, |value: &Int96| {
                    // Nanoseconds of the day, then the Julian day.
                    let [low, high, day] = *value.data() else { return Value::Time(f64::NAN) };
                    let nanos = (u64::from(high) << 32 | u64::from(low)) as f64;
                    Value::Time((f64::from(day) - 2_440_588.0) * 86_400.0 + nanos * 1e-9)
                })
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                fill(reader, args, place, missing, how, target, |value| match meaning {
                    Meaning::Decimal(_) => decimal(meaning, value.as_bytes()),
                    _ => Value::Text(value.as_bytes()),
                })
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                fill(reader, args, place, missing, how, target, |value| decimal(meaning, value.as_bytes()))
            }
        }
    }
}

fn whole(meaning: Meaning, value: i128) -> Value<'static> {
    match meaning {
        Meaning::Decimal(scale) => Value::Number(value as f64 / scale),
        Meaning::Time(seconds) => Value::Time(value as f64 * seconds),
        _ => Value::Whole(value),
    }
}

/// A big-endian two's complement number.
fn decimal(meaning: Meaning, bytes: &[u8]) -> Value<'static> {
    let sign = if bytes.first().is_some_and(|byte| *byte >= 0x80) { -1.0 } else { 0.0 };
    let number = bytes.iter().fold(sign, |number: f64, byte| number * 256.0 + f64::from(*byte));
    match meaning {
        Meaning::Decimal(scale) => Value::Number(number / scale),
        _ => Value::Number(f64::NAN),
    }
}

/// Appends the next `rows` values that are there; returns which are (nothing if all are).
fn decode<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    (file, rows, optional): (&str, usize, bool),
    values: &mut Vec<T::T>,
) -> Result<Vec<i16>, ReadError> {
    let damaged = |message: String| ReadError::Parquet { file: file.to_owned(), message };
    let mut levels = Vec::new();
    let found = reader.read_records(rows, optional.then_some(&mut levels), None, values);
    let (records, ..) = found.map_err(|error| damaged(error.to_string()))?;
    if records < rows {
        return Err(damaged(format!("a column ends {} rows early", rows - records)));
    }
    if values.len() == rows {
        levels.clear();
    }
    Ok(levels)
}

/// The common case, kept to plain copies.
fn read_floats<'p>(
    reader: &mut ColumnReaderImpl<FloatType>,
    args: (&str, usize, bool),
    place: impl Fn(usize) -> Place<'p>,
    missing: &Missing,
    values: &mut Vec<f32>,
    numbers: &mut [f32],
) -> Result<(), ReadError> {
    values.clear();
    let levels = decode(reader, args, values)?;
    if values.len() == numbers.len() {
        numbers.copy_from_slice(values);
    } else {
        let mut present = values.iter();
        for (number, level) in numbers.iter_mut().zip(&levels) {
            let value = if *level > 0 { present.next() } else { None };
            *number = value.copied().unwrap_or(f32::NAN);
        }
    }
    if let Some(row) = numbers.iter().position(|number| number.is_infinite()) {
        return Err(place(row).not_a_number(&numbers[row]));
    }
    if missing.has_numbers() {
        numbers.iter_mut().filter(|number| missing.single(**number)).for_each(|number| *number = f32::NAN);
    }
    Ok(())
}

/// Calls `take` with each of the next `rows` values; `None` is null.
fn read_values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    args: (&str, usize, bool),
    mut take: impl FnMut(usize, Option<&T::T>) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let mut values = Vec::with_capacity(args.1);
    let levels = decode(reader, args, &mut values)?;
    if values.len() == args.1 {
        return values.iter().enumerate().try_for_each(|(row, value)| take(row, Some(value)));
    }
    let mut present = values.iter();
    for (row, level) in levels.iter().enumerate().take(args.1) {
        take(row, if *level > 0 { present.next() } else { None })?;
    }
    Ok(())
}

/// Reads values of any type to any target.
fn fill<'p, T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    args: (&str, usize, bool),
    place: impl Fn(usize) -> Place<'p>,
    missing: &Missing,
    how: How,
    target: Target<'_>,
    convert: impl Fn(&T::T) -> Value<'_>,
) -> Result<(), ReadError> {
    match target {
        Target::Number(numbers, offset, rounded) => read_values(reader, args, |row, value| {
            let real = match value {
                Some(value) => convert(value).real(&place(row), missing, false)?,
                None => f64::NAN,
            };
            if (real as f32).is_infinite() {
                return Err(place(row).not_a_number(&real));
            }
            let (kept, lost) = narrow(real, offset);
            numbers[row] = if missing.number(real) { f32::NAN } else { kept };
            *rounded |= lost;
            Ok(())
        }),
        Target::Real(reals) => read_values(reader, args, |row, value| {
            reals[row] = match value {
                Some(value) => convert(value).real(&place(row), missing, true)?,
                None => f64::NAN,
            };
            Ok(())
        }),
        Target::Text(codes, texts) => {
            // Whole numbers used as texts are mostly labels: spell each only once.
            let mut spelled: Vec<(i128, u32)> = Vec::new();
            read_values(reader, args, |row, value| {
                let Some(value) = value else { return Ok(()) };
                let line = || place(row).row;
                let is_missing = |text: &[u8]| missing.role(text, how.is_label);
                codes[row] = match convert(value) {
                    Value::Text(text) => texts.code(text.trim_ascii(), line, is_missing),
                    Value::Whole(value) => match spelled.iter().find(|(known, _)| *known == value) {
                        Some((_, code)) => {
                            texts.again(*code);
                            *code
                        }
                        None => {
                            let code = texts.code(value.to_string().as_bytes(), line, is_missing);
                            if spelled.len() < FEW {
                                spelled.push((value, code));
                            }
                            code
                        }
                    },
                    Value::Number(value) => texts.code(value.to_string().as_bytes(), line, is_missing),
                    Value::Short(value) => texts.code(value.to_string().as_bytes(), line, is_missing),
                    Value::Time(value) => texts.code(time_text(value).as_bytes(), line, is_missing),
                    Value::Truth(value) => {
                        texts.code(if value { b"true" } else { b"false" }, line, is_missing)
                    }
                };
                Ok(())
            })
        }
    }
}

impl Value<'_> {
    fn real(self, place: &Place<'_>, missing: &Missing, time: bool) -> Result<f64, ReadError> {
        match self {
            Self::Number(value) if value.is_infinite() => Err(place.not_a_number(&value)),
            Self::Number(value) | Self::Time(value) => Ok(value),
            Self::Short(value) => Self::Number(value.into()).real(place, missing, time),
            Self::Whole(value) => Ok(value as f64),
            Self::Truth(value) => Ok(f64::from(u8::from(value))),
            Self::Text(text) if missing.text(text.trim_ascii()) => Ok(f64::NAN),
            Self::Text(text) => {
                let text = text_of(text.trim_ascii());
                let number = match place.form {
                    None => number(text.as_bytes()),
                    Some(form) => form.read(&text),
                };
                let number = if time { number.or_else(|| time_key(&text)) } else { number };
                // Only a file for a model can have others: training has seen all of its own.
                let number = number.or(place.form.filter(|form| form.is_date()).map(|_| f64::NAN));
                number.ok_or_else(|| place.not_a_number(&text))
            }
        }
    }
}

impl Place<'_> {
    fn not_a_number(&self, value: &impl ToString) -> ReadError {
        ReadError::NotANumber {
            file: self.file.to_owned(),
            line: self.row,
            column: self.column.to_owned(),
            value: shortened(&value.to_string()).into_owned(),
            form: self.form,
        }
    }
}
