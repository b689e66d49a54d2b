//! Where predictions go: some rows at a time, so that nothing grows with their number.

use std::borrow::Cow;
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, PrimitiveTypeBuilder, Type};
use setpoint::artifact::AtomicFile;
use setpoint_data::Codes;
use setpoint_run::Failure;

/// Most rows of a Parquet row group.
const ROW_GROUP: usize = 1 << 20;

/// Where predictions go.
pub enum Output<'a> {
    Stdout,
    Csv(&'a Path),
    Parquet(&'a Path),
}

/// A column of what a model makes of the rows.
pub struct Column {
    pub name: String,
    pub values: Values,
}

impl Column {
    fn is_number(&self) -> bool {
        matches!(self.values, Values::Numbers(_))
    }
}

pub enum Values {
    Numbers(Vec<f32>),
    Whole(Vec<i32>),
    /// Nothing where a row is left undecided.
    Decided(Vec<Option<bool>>),
    /// For each row the place of its text.
    Texts {
        names: Vec<String>,
        of: Vec<u32>,
    },
}

impl Values {
    pub fn yes_or_no(of: &[bool]) -> Self {
        Self::Whole(of.iter().map(|yes| i32::from(*yes)).collect())
    }
}

/// Some rows to write.
pub struct Decided<'a> {
    pub files: Option<&'a [String]>,
    /// Columns of all rows, also those written before.
    pub kept: &'a [Codes],
    pub columns: &'a [Column],
}

impl Decided<'_> {
    fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| match &column.values {
            Values::Numbers(of) => of.len(),
            Values::Whole(of) => of.len(),
            Values::Decided(of) => of.len(),
            Values::Texts { of, .. } => of.len(),
        })
    }

    /// Names of the columns.
    fn write_names(&self, out: &mut dyn Write) -> io::Result<()> {
        let file = self.files.map(|_| "file").into_iter();
        let kept = self.kept.iter().map(|codes| codes.column.as_str());
        let own = self.columns.iter().map(|column| column.name.as_str());
        for (place, name) in file.chain(kept).chain(own).enumerate() {
            write!(out, "{}{}", if place == 0 { "" } else { "," }, quoted(name))?;
        }
        writeln!(out)
    }

    /// The shortest digits that read back as the same score. `first` is how many rows were written before,
    /// `undecided` what is written where nothing is decided.
    fn write_csv(&self, first: usize, undecided: &str, out: &mut dyn Write) -> io::Result<()> {
        for row in 0..self.rows() {
            if let Some(file) = self.files.and_then(|files| files.get(row)) {
                write!(out, "{},", quoted(file))?;
            }
            for codes in self.kept {
                write!(out, "{},", quoted(text_of(codes, first + row).unwrap_or_default()))?;
            }
            for (place, column) in self.columns.iter().enumerate() {
                out.write_all(if place == 0 { b"" } else { b"," })?;
                match &column.values {
                    Values::Numbers(of) => write!(out, "{}", of[row])?,
                    Values::Whole(of) => write!(out, "{}", of[row])?,
                    Values::Decided(of) => match of[row] {
                        Some(positive) => write!(out, "{}", u8::from(positive))?,
                        None => write!(out, "{}", quoted(undecided))?,
                    },
                    Values::Texts { names, of } => write!(out, "{}", quoted(&names[of[row] as usize]))?,
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// Kept columns of whole numbers stay numbers, others are texts; names may hold anything.
    fn parquet_schema(&self, whole: &[bool]) -> Result<Type, ParquetError> {
        let mut fields = Vec::new();
        if self.files.is_some() {
            let text = plain("file", Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String));
            fields.push(text.build()?);
        }
        for (codes, whole) in self.kept.iter().zip(whole) {
            let (kind, logical) = match whole {
                true => (Physical::INT64, None),
                false => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let field = plain(&codes.column, kind).with_repetition(Repetition::OPTIONAL);
            fields.push(field.with_logical_type(logical).build()?);
        }
        for Column { name, values } in self.columns {
            fields.push(match values {
                Values::Numbers(_) => plain(name, Physical::FLOAT).build()?,
                Values::Whole(_) => plain(name, Physical::INT32).build()?,
                Values::Decided(_) => {
                    plain(name, Physical::INT32).with_repetition(Repetition::OPTIONAL).build()?
                }
                Values::Texts { .. } => {
                    plain(name, Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String)).build()?
                }
            });
        }
        Type::group_type_builder("predictions")
            .with_fields(fields.into_iter().map(Arc::new).collect())
            .build()
    }

    fn write_parquet(
        &self,
        before: usize,
        whole: &[bool],
        writer: &mut SerializedFileWriter<AtomicFile>,
    ) -> Result<(), ParquetError> {
        for first in (0..self.rows()).step_by(ROW_GROUP) {
            let rows = first..self.rows().min(first + ROW_GROUP);
            let mut group = writer.next_row_group()?;
            if let Some(files) = self.files
                && let Some(mut column) = group.next_column()?
            {
                let names: Vec<ByteArray> =
                    files[rows.clone()].iter().map(|name| name.as_str().into()).collect();
                column.typed::<ByteArrayType>().write_batch(&names, None, None)?;
                column.close()?;
            }
            for (codes, whole) in self.kept.iter().zip(whole) {
                let Some(mut column) = group.next_column()? else { break };
                let texts = || rows.clone().map(|row| text_of(codes, before + row));
                let there: Vec<i16> = texts().map(|text| i16::from(text.is_some())).collect();
                if *whole {
                    let numbers: Vec<i64> = texts().flatten().filter_map(|text| text.parse().ok()).collect();
                    column.typed::<Int64Type>().write_batch(&numbers, Some(&there), None)?;
                } else {
                    let texts: Vec<ByteArray> = texts().flatten().map(ByteArray::from).collect();
                    column.typed::<ByteArrayType>().write_batch(&texts, Some(&there), None)?;
                }
                column.close()?;
            }
            for Column { values, .. } in self.columns {
                let Some(mut column) = group.next_column()? else { break };
                let rows = rows.clone();
                match values {
                    Values::Numbers(of) => {
                        column.typed::<FloatType>().write_batch(&of[rows], None, None)?;
                    }
                    Values::Whole(of) => {
                        column.typed::<Int32Type>().write_batch(&of[rows], None, None)?;
                    }
                    Values::Decided(of) => {
                        let of = &of[rows];
                        let there: Vec<i16> = of.iter().map(|one| i16::from(one.is_some())).collect();
                        let known: Vec<i32> = of.iter().flatten().map(|one| i32::from(*one)).collect();
                        column.typed::<Int32Type>().write_batch(&known, Some(&there), None)?;
                    }
                    Values::Texts { names, of } => {
                        let texts: Vec<ByteArray> =
                            of[rows].iter().map(|class| names[*class as usize].as_str().into()).collect();
                        column.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
                    }
                }
                column.close()?;
            }
            group.close()?;
        }
        Ok(())
    }
}

/// A file, or stdout, that rows are written to.
pub struct Writer {
    kind: Kind,
    path: PathBuf,
    /// What is written where nothing is decided.
    undecided: String,
    /// Rows written.
    rows: usize,
}

enum Kind {
    /// Whether there is still someone who reads.
    Stdout(BufWriter<Stdout>, bool),
    Csv(AtomicFile),
    /// Begun with the first rows; and which of the columns kept are whole numbers.
    Parquet(Option<Box<(SerializedFileWriter<AtomicFile>, Vec<bool>)>>),
}

impl Writer {
    /// Begins; a file takes its name once all is written.
    pub fn new(output: &Output<'_>, undecided: &str) -> Result<Self, Failure> {
        let (kind, path) = match output {
            Output::Stdout => (Kind::Stdout(BufWriter::new(io::stdout()), true), PathBuf::from("stdout")),
            Output::Csv(path) => (Kind::Csv(AtomicFile::create(path)?), path.to_path_buf()),
            Output::Parquet(path) => (Kind::Parquet(None), path.to_path_buf()),
        };
        Ok(Self { kind, path, undecided: undecided.to_owned(), rows: 0 })
    }

    /// Writes the next rows.
    pub fn write(&mut self, decided: &Decided<'_>) -> Result<(), Failure> {
        let Self { kind, path, undecided, rows } = self;
        let csv = |out: &mut dyn Write| {
            if *rows == 0 {
                decided.write_names(out)?;
            }
            decided.write_csv(*rows, undecided, out)
        };
        match kind {
            Kind::Stdout(_, false) => {}
            Kind::Stdout(out, read) => match csv(out) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => *read = false,
                written => written.map_err(|error| failed(path, &error))?,
            },
            Kind::Csv(out) => csv(out).map_err(|error| failed(path, &error))?,
            Kind::Parquet(begun) => {
                let damaged = |error: ParquetError| failed(path, &error);
                let (writer, whole) = &mut **match begun {
                    Some(begun) => begun,
                    None => {
                        let whole: Vec<bool> = decided.kept.iter().map(whole_numbers).collect();
                        let schema = Arc::new(decided.parquet_schema(&whole).map_err(damaged)?);
                        let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
                        // Scores hardly repeat.
                        for Column { name, .. } in decided.columns.iter().filter(|column| column.is_number())
                        {
                            let path = ColumnPath::new(vec![name.clone()]);
                            properties = properties.set_column_dictionary_enabled(path, false);
                        }
                        let file = AtomicFile::create(&*path)?;
                        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build()));
                        begun.insert(Box::new((writer.map_err(damaged)?, whole)))
                    }
                };
                decided.write_parquet(*rows, whole, writer).map_err(damaged)?;
            }
        }
        self.rows += decided.rows();
        Ok(())
    }

    /// Ends: all rows are there, under their name.
    pub fn finish(self) -> Result<(), Failure> {
        let Self { kind, path, .. } = self;
        match kind {
            Kind::Stdout(mut out, true) => match out.flush() {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failed(&path, &error)),
                _ => Ok(()),
            },
            Kind::Csv(file) => Ok(file.commit()?),
            Kind::Parquet(Some(begun)) => {
                let file = begun.0.into_inner().map_err(|error| failed(&path, &error))?;
                Ok(file.commit()?)
            }
            Kind::Stdout(_, false) | Kind::Parquet(None) => Ok(()),
        }
    }
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    match path.to_str() {
        Some("stdout") => Failure::input(format!("cannot write to stdout: {error}")),
        _ => Failure::input(format!("cannot write {}: {error}; nothing was changed there", path.display())),
    }
}

/// A column that every row has.
fn plain(name: &str, kind: Physical) -> PrimitiveTypeBuilder<'_> {
    Type::primitive_type_builder(name, kind).with_repetition(Repetition::REQUIRED)
}

/// The text of a row; `None` where it is missing.
pub fn text_of(codes: &Codes, row: usize) -> Option<&str> {
    codes.names.get(codes.of[row] as usize).map(String::as_str)
}

/// Whether a column's texts are whole numbers, written as numbers are.
fn whole_numbers(codes: &Codes) -> bool {
    let whole = |name: &String| name.parse::<i64>().is_ok_and(|number| number.to_string() == *name);
    !codes.names.is_empty() && codes.names.iter().all(whole)
}

/// A text as CSV takes it.
pub fn quoted(name: &str) -> Cow<'_, str> {
    if name.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(name)
    }
}
