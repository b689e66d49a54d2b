//! Parquet, column by column, straight into the table's own layout.
//!
//! Only the crate's column readers are used, not Arrow: values go from decoded
//! pages to their place with one conversion in between. Rows are read in slices
//! that grow the table only as data is really there, whatever the file's
//! metadata promises.

mod column;
mod file;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parquet::basic::{LogicalType, TimeUnit, Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, Length};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescriptor;
use rayon::prelude::*;

use self::column::{Column, How, Target};
use self::file::SharedFile;
use super::kind::{Columns, NUMBERS};
use super::source::{Source, most_expanded};
use super::{Missing, Pieces, Raw, ReadError, Request};
use crate::Error;
use crate::chunk::Chunk;
use crate::form::Form;
use crate::layout::{ColumnKind, Layout, Use};
use crate::offset;

/// Rows decoded at a time.
const SLICE: usize = 1 << 15;

/// What the numbers of a column stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning {
    Plain,
    Unsigned,
    /// Divide by this.
    Decimal(f64),
    /// Multiply by this to get seconds since 1970.
    Time(f64),
    Text,
    /// Neither number nor text.
    Other,
}

/// Reads a Parquet file.
pub(crate) fn read(source: &Source, request: Request<'_, '_>) -> Result<Raw, Error> {
    // The crate panics on some damaged files (a dictionary page that is missing, for one).
    catch_unwind(AssertUnwindSafe(|| read_checked(source, request))).unwrap_or_else(|_| {
        let message = "the file is damaged".to_owned();
        Err(ReadError::Parquet { file: source.name().to_owned(), message }.into())
    })
}

fn read_checked(source: &Source, request: Request<'_, '_>) -> Result<Raw, Error> {
    let Request { options, roles, expected, pieces } = request;
    let name = source.name();
    let damaged =
        |error: ParquetError| ReadError::Parquet { file: name.to_owned(), message: error.to_string() };
    let file = Arc::new(SharedFile::open(source)?);
    let reader = SerializedFileReader::new(SharedFile::clone(&file)).map_err(damaged)?;
    let metadata = reader.metadata();
    let schema = metadata.file_metadata().schema_descr();
    let names: Vec<String> = schema.columns().iter().map(|column| column.path().parts().join(".")).collect();
    let meanings: Vec<Meaning> = schema.columns().iter().map(|column| meaning(column)).collect();
    let kind =
        |meaning: &Meaning| if *meaning == Meaning::Text { ColumnKind::Category } else { ColumnKind::Number };
    let mut columns = Columns::new(meanings.iter().map(kind).collect());
    for (form, meaning) in columns.forms.iter_mut().zip(&meanings) {
        *form = matches!(meaning, Meaning::Time(_)).then_some(Form::Date);
    }
    let missing = Missing::new(&roles.missing_texts());
    let rows = metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0));
    let rows = rows.fold(0, u64::saturating_add);
    // The first rows tell which columns need offsets, and all rows whether that was right.
    let mut look = expected.is_none();
    loop {
        let layout = match expected {
            Some(expected) => Layout::plan_like(name, &names, roles, expected)?,
            None => columns.plan(name, &names, roles)?,
        };
        for (index, use_) in layout.uses.iter().enumerate() {
            let refused = match meanings[index] {
                Meaning::Other => *use_ != Use::Skip,
                Meaning::Time(_) => {
                    matches!(use_, Use::Number(_)) && !layout.forms[index].is_some_and(Form::is_date)
                }
                _ => false,
            };
            if refused {
                let (file, column) = (name.to_owned(), names[index].clone());
                let found = type_name(schema.column(index).as_ref());
                return Err(ReadError::ColumnType { file, column, found }.into());
            }
        }
        if pieces.is_none() {
            check_rows(name, rows, &layout, file.len())?;
        }
        let mut raw = Raw::new(layout.clone(), true, options.spill.as_ref());
        let mut whole = true;
        for group in 0..metadata.num_row_groups() {
            whole = read_group(
                name, &file, metadata, group, &layout, &meanings, &missing, &mut raw, look, pieces,
            )?;
            if !whole {
                break;
            }
        }
        if !whole {
            columns.shift(&layout, &raw.chunks, &raw.rounded);
            continue;
        }
        look = false;
        if raw.rows() == 0 {
            return Err(ReadError::HeaderOnly { file: name.to_owned(), columns: names.len() }.into());
        }
        // Texts may turn out to be numbers; numbers stay what they are, so the next pass is the last.
        if expected.is_none() && columns.revise(name, &raw, &mut [], roles)? {
            continue;
        }
        for (index, use_) in layout.uses.iter().enumerate() {
            let plain = matches!(use_, Use::Number(_)) && layout.forms[index].is_none();
            if plain && meanings[index] == Meaning::Text && expected.is_none() {
                raw.read_as.push((names[index].clone(), NUMBERS.to_owned()));
            }
        }
        return Ok(raw);
    }
}

/// Refuses rows that take up far more memory than the file has bytes: a run of equal values has any length.
fn check_rows(name: &str, rows: u64, layout: &Layout, bytes: u64) -> Result<(), ReadError> {
    if rows.saturating_mul(layout.width() as u64) <= most_expanded(bytes) {
        return Ok(());
    }
    let columns = layout.uses.len();
    let message =
        format!("{rows} rows of {columns} columns in {bytes} bytes; read fewer columns, or rewrite it");
    Err(ReadError::Parquet { file: name.to_owned(), message })
}

/// Reads the rows of a group; false if `look` and the first rows tell that a column needs an offset.
#[allow(clippy::too_many_arguments, reason = "one call, one place")]
fn read_group(
    name: &str,
    file: &Arc<SharedFile>,
    metadata: &ParquetMetaData,
    group: usize,
    layout: &Layout,
    meanings: &[Meaning],
    missing: &Missing,
    raw: &mut Raw,
    look: bool,
    pieces: Option<&Pieces<'_>>,
) -> Result<bool, ReadError> {
    let group = metadata.row_group(group);
    let mut left = usize::try_from(group.num_rows()).unwrap_or(0);
    let mut columns = Vec::new();
    for (index, use_) in layout.uses.iter().enumerate().filter(|(_, use_)| **use_ != Use::Skip) {
        let how = How {
            meaning: meanings[index],
            form: layout.forms[index],
            is_label: layout.label == Some(index),
        };
        let column = Column::open(file, group, index, how, &layout.names[index]);
        let damaged =
            |error: ParquetError| ReadError::Parquet { file: name.to_owned(), message: error.to_string() };
        columns.push((column.map_err(damaged)?, *use_));
    }
    while left > 0 {
        let rows = left.min(SLICE);
        let first = raw.rows() as u64 + 1;
        let mut chunk = Chunk::new(rows, layout.numbers, layout.texts, layout.reals);
        chunk.rows = rows;
        let mut targets = targets(&mut chunk, rows, &layout.offsets);
        let mut jobs = Vec::with_capacity(columns.len());
        for (column, use_) in &mut columns {
            let place = match *use_ {
                Use::Skip => None,
                Use::Number(slot) => Some(slot),
                Use::Text(slot) => Some(layout.numbers + slot),
                Use::Real(slot, _) => Some(layout.numbers + layout.texts + slot),
            };
            if let Some(target) = place.and_then(|place| targets[place].take()) {
                jobs.push((column, target));
            }
        }
        let results: Vec<Result<(), ReadError>> = jobs
            .into_par_iter()
            .map(|(column, target)| column.read(name, rows, first, missing, target))
            .collect();
        results.into_iter().collect::<Result<(), ReadError>>()?;
        chunk.number_tallies.clear();
        raw.push(name, chunk, pieces)?;
        left -= rows;
        let needed = || offset::of_columns(&raw.chunks, &raw.rounded, &layout.offsets);
        if look && raw.chunks.len() == 1 && !needed().is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The columns of a chunk, each to be filled by its own reader: numbers, texts, then reals.
fn targets<'a>(chunk: &'a mut Chunk, rows: usize, offsets: &[f64]) -> Vec<Option<Target<'a>>> {
    let numbers = chunk.numbers.chunks_mut(rows).zip(&mut chunk.rounded).zip(offsets);
    let numbers = numbers.map(|((values, rounded), offset)| Target::Number(values, *offset, rounded));
    let texts = chunk.codes.chunks_mut(rows).zip(&mut chunk.texts);
    let texts = texts.map(|(codes, texts)| Target::Text(codes, texts));
    let reals = chunk.reals.chunks_mut(rows).map(Target::Real);
    numbers.chain(texts).chain(reals).map(Some).collect()
}

fn meaning(column: &ColumnDescriptor) -> Meaning {
    if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
        return Meaning::Other;
    }
    let scale = |scale: i32| 10f64.powi(scale);
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::MILLIS => 1e-3,
        TimeUnit::MICROS => 1e-6,
        _ => 1e-9,
    };
    use parquet::basic::ConvertedType as Converted;
    match (column.physical_type(), column.logical_type_ref(), column.converted_type()) {
        (Type::BYTE_ARRAY, Some(LogicalType::Decimal(_)), _) | (Type::BYTE_ARRAY, _, Converted::DECIMAL) => {
            Meaning::Decimal(scale(column.type_scale()))
        }
        (Type::BYTE_ARRAY, ..) => Meaning::Text,
        (Type::INT96, ..) => Meaning::Time(1.0),
        (Type::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Decimal(_)), _)
        | (Type::FIXED_LEN_BYTE_ARRAY, _, Converted::DECIMAL) => Meaning::Decimal(scale(column.type_scale())),
        (Type::FIXED_LEN_BYTE_ARRAY, ..) => Meaning::Other,
        (_, Some(LogicalType::Timestamp(time)), _) => Meaning::Time(unit(&time.unit)),
        (_, Some(LogicalType::Date), _) | (_, _, Converted::DATE) => Meaning::Time(86_400.0),
        (_, _, Converted::TIMESTAMP_MILLIS) => Meaning::Time(1e-3),
        (_, _, Converted::TIMESTAMP_MICROS) => Meaning::Time(1e-6),
        (_, Some(LogicalType::Decimal(_)), _) | (_, _, Converted::DECIMAL) => {
            Meaning::Decimal(scale(column.type_scale()))
        }
        (_, Some(LogicalType::Integer(int)), _) if !int.is_signed => Meaning::Unsigned,
        (_, _, Converted::UINT_8 | Converted::UINT_16 | Converted::UINT_32 | Converted::UINT_64) => {
            Meaning::Unsigned
        }
        _ => Meaning::Plain,
    }
}

fn type_name(column: &ColumnDescriptor) -> String {
    if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
        return "a list or structure".to_owned();
    }
    match column.logical_type_ref() {
        Some(LogicalType::Date) => "date".to_owned(),
        Some(LogicalType::Timestamp(_)) => "timestamp".to_owned(),
        Some(other) => format!("{other:?}").to_lowercase(),
        None => column.physical_type().to_string().to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::Roles;

    #[test]
    fn a_few_bytes_do_not_stand_for_billions_of_rows() {
        let layout = Layout::plan("t", &["x".to_owned()], &Roles::default(), &[ColumnKind::Number]).unwrap();
        assert!(check_rows("t", 1 << 28, &layout, 1000).is_ok());
        let error = check_rows("t", 4_000_000_000, &layout, 1000).unwrap_err().to_string();
        assert!(error.contains("4000000000 rows of 1 columns in 1000 bytes"), "{error}");
        assert!(check_rows("t", 4_000_000_000, &layout, 100_000_000).is_ok());
    }
}
