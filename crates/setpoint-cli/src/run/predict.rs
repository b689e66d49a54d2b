//! `setpoint predict`: a score and a decision for each row.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use setpoint::artifact::{AtomicFile, write_atomically};
use setpoint_data::{Codes, Encoder, ImageOptions, Roles, Table};
use setpoint_run::{Failure, Opened, Schema, hold_images, margins, notes, open};

use super::images;
use super::progress::{Display, line};
use crate::args::PredictArgs;
use crate::interrupt;
use crate::plan::{Files, image_options, read_options};

/// Rows of a Parquet row group.
const ROW_GROUP: usize = 1 << 20;

/// Where predictions go.
enum Output<'a> {
    Stdout,
    Csv(&'a Path),
    Parquet(&'a Path),
}

/// Scores and decides every row.
pub fn predict(args: &PredictArgs, quiet: bool) -> Result<(), Failure> {
    let output = output(&args.output)?;
    let files = Files::default()
        .read("the model", &args.model)
        .read("the data", &args.data)
        .read_any("the label table", args.images.labels.as_ref());
    match output {
        Output::Stdout => files,
        Output::Csv(path) | Output::Parquet(path) => files.write("-o", path),
    }
    .check()?;
    let model = open(&args.model)?;
    let mut display = Display::new(quiet);
    display.show(&format!("reading {}", args.data.display()));
    let Rows { files, scores, groups, mut notes } = match &model.schema {
        Schema::Table(encoder) => table_rows(args, &model, encoder)?,
        Schema::Images(schema) => {
            if let Some(groups) = &model.shipped.groups {
                return Err(Failure::input(format!(
                    "the model has a threshold for each group of {:?}, and images come without: score them in Python, \
                     or train with --shared-threshold",
                    groups.column
                )));
            }
            let options = ImageOptions { unlabelled: true, ..image_options(&args.images)? };
            let set = images::read_for(&model, &args.data, &options, &mut display)?;
            let all: Vec<u32> = (0..set.rows() as u32).collect();
            let mut held = hold_images(schema, &model.blueprint, &set, &all)?;
            let scores = model.scorer.scores(&mut held)?;
            let files = set.names().map(<[String]>::to_vec);
            Rows { files, scores, groups: None, notes: set.notes().to_vec() }
        }
    };
    interrupt::check()?;
    let margins = match (&model.shipped.groups, groups) {
        (Some(_), Some(codes)) => {
            let of_group = |name: &String| model.shipped.of_group(&codes.column, name);
            notes.extend(model.unknown_groups(&codes.names, &codes.of));
            let by_code: Vec<f32> = codes.names.iter().map(of_group).collect::<Result<_, _>>()?;
            margins(&scores, &model.shipped.thresholds, Some((&by_code, &codes.of)))
        }
        _ => margins(&scores, &model.shipped.thresholds, None),
    };
    interrupt::check()?;
    display.finish();
    let decided = Decided { files: files.as_deref(), scores: &scores, margins: &margins };
    match output {
        Output::Stdout => decided.to_stdout()?,
        Output::Csv(path) => write_atomically(path, |out| decided.write_csv(out))?,
        Output::Parquet(path) => decided.write_parquet(path)?,
    }
    if !quiet {
        notes.iter().for_each(|note| line(&format!("note: {note}")));
        let positive = margins.iter().filter(|margin| **margin >= 0.0).count();
        line(&format!("{} rows, {positive} of them positive", scores.len()));
    }
    Ok(())
}

/// Rows that were scored.
struct Rows {
    /// The names of their files, where each is a file of its own.
    files: Option<Vec<String>>,
    scores: Vec<f32>,
    /// Their groups, where the model has thresholds for some.
    groups: Option<Codes>,
    notes: Vec<String>,
}

/// Scores the rows of a table.
fn table_rows(args: &PredictArgs, model: &Opened, encoder: &Encoder) -> Result<Rows, Failure> {
    let roles = Roles {
        group: model.shipped.groups.as_ref().map(|groups| groups.column.clone()),
        missing: args.read.missing.as_deref().map(setpoint_data::list),
        ..Roles::default()
    };
    let table =
        Table::read_for(&args.data, &read_options(&args.read)?, &roles, encoder).map_err(|error| {
            // There is no flag to give here: the model itself asks for the column.
            let failure = Failure::from(error);
            let why = "(the model has a threshold for each of its groups)";
            Failure { message: failure.message.replace("(‹group›)", why), ..failure }
        })?;
    let groups = table.groups().cloned();
    let data = encoder.encode(table)?;
    interrupt::check()?;
    let notes = notes(&data.notes, Some(&args.data));
    Ok(Rows { files: None, scores: model.scores(data.features)?, groups, notes })
}

fn output(path: &Path) -> Result<Output<'_>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Output::Stdout);
    }
    match path.extension().and_then(|extension| extension.to_str()).map(str::to_lowercase).as_deref() {
        Some("parquet") => Ok(Output::Parquet(path)),
        Some("csv") => Ok(Output::Csv(path)),
        _ => Err(Failure::input(format!(
            "-o {}: expected a name that ends in .csv or .parquet, or - for stdout",
            path.display()
        ))),
    }
}

/// What is written.
struct Decided<'a> {
    files: Option<&'a [String]>,
    scores: &'a [f32],
    margins: &'a [f32],
}

impl Decided<'_> {
    fn to_stdout(&self) -> Result<(), Failure> {
        let mut out = BufWriter::new(io::stdout().lock());
        match self.write_csv(&mut out).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::input(format!("cannot write to stdout: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// The shortest digits that read back as the same score.
    fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}score,decision", if self.files.is_some() { "file," } else { "" })?;
        for (row, (score, margin)) in self.scores.iter().zip(self.margins).enumerate() {
            if let Some(file) = self.files.and_then(|files| files.get(row)) {
                write!(out, "{},", quoted(file))?;
            }
            writeln!(out, "{score},{}", u8::from(*margin >= 0.0))?;
        }
        Ok(())
    }

    fn write_parquet(&self, path: &Path) -> Result<(), Failure> {
        let failed =
            |error: ParquetError| Failure::input(format!("cannot write {}: {error}", path.display()));
        let file = if self.files.is_some() { "REQUIRED BYTE_ARRAY file (UTF8); " } else { "" };
        let schema =
            format!("message predictions {{ {file}REQUIRED FLOAT score; REQUIRED INT32 decision; }}");
        let schema = Arc::new(parse_message_type(&schema).map_err(failed)?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut file = AtomicFile::create(path)?;
        // The shell hands bytes on and leaves the commit to us.
        let mut writer =
            SerializedFileWriter::new(Shell(&mut file), schema, Arc::new(properties)).map_err(failed)?;
        for first in (0..self.scores.len()).step_by(ROW_GROUP) {
            let rows = first..self.scores.len().min(first + ROW_GROUP);
            let mut group = writer.next_row_group().map_err(failed)?;
            if let Some(files) = self.files
                && let Some(mut column) = group.next_column().map_err(failed)?
            {
                let names: Vec<ByteArray> =
                    files[rows.clone()].iter().map(|name| name.as_str().into()).collect();
                column.typed::<ByteArrayType>().write_batch(&names, None, None).map_err(failed)?;
                column.close().map_err(failed)?;
            }
            if let Some(mut column) = group.next_column().map_err(failed)? {
                let scores = &self.scores[rows.clone()];
                column.typed::<FloatType>().write_batch(scores, None, None).map_err(failed)?;
                column.close().map_err(failed)?;
            }
            if let Some(mut column) = group.next_column().map_err(failed)? {
                let decisions: Vec<i32> =
                    self.margins[rows].iter().map(|margin| i32::from(*margin >= 0.0)).collect();
                column.typed::<Int32Type>().write_batch(&decisions, None, None).map_err(failed)?;
                column.close().map_err(failed)?;
            }
            group.close().map_err(failed)?;
        }
        writer.close().map_err(failed)?;
        Ok(file.commit()?)
    }
}

/// A file's name as CSV takes it.
fn quoted(name: &str) -> Cow<'_, str> {
    if name.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", name.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(name)
    }
}

struct Shell<'a>(&'a mut AtomicFile);

impl Write for Shell<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
