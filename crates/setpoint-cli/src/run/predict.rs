//! `setpoint predict`: a score and a decision for each row.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{FloatType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use setpoint::artifact::{AtomicFile, write_atomically};
use setpoint_data::{Codes, Encoder, Roles, Table};
use setpoint_run::{Failure, Opened, Schema, hold_images, margins, notes, open};

use super::images;
use super::progress::{Display, line};
use crate::args::PredictArgs;

use crate::interrupt;
use crate::plan::{image_options, read_options};

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
    let model = open(&args.model)?;
    let mut display = Display::new(quiet);
    display.show(&format!("reading {}", args.data.display()));
    let Rows { scores, groups, notes } = match &model.schema {
        Schema::Table(encoder) => table_rows(args, &model, encoder)?,
        Schema::Images(schema) => {
            if let Some(groups) = &model.shipped.groups {
                return Err(Failure::input(format!(
                    "the model has a threshold for each group of {:?}, and images come without: score them in Python, \
                     or train with --shared-threshold",
                    groups.column
                )));
            }
            let set = images::read_for(&model, &args.data, &image_options(&args.images)?, &mut display)?;
            let all: Vec<u32> = (0..set.rows() as u32).collect();
            let mut held = hold_images(schema, &model.blueprint, &set, &all)?;
            Rows { scores: model.scorer.scores(&mut held)?, groups: None, notes: set.notes().to_vec() }
        }
    };
    interrupt::check()?;
    let margins = match (&model.shipped.groups, groups) {
        (Some(_), Some(codes)) => {
            let of_group = |name: &String| model.shipped.of_group(&codes.column, name);
            let by_code: Vec<f32> = codes.names.iter().map(of_group).collect::<Result<_, _>>()?;
            margins(&scores, &model.shipped.thresholds, Some((&by_code, &codes.of)))
        }
        _ => margins(&scores, &model.shipped.thresholds, None),
    };
    interrupt::check()?;
    display.finish();
    match output {
        Output::Stdout => to_stdout(&scores, &margins)?,
        Output::Csv(path) => write_atomically(path, |out| write_csv(out, &scores, &margins))?,
        Output::Parquet(path) => write_parquet(path, &scores, &margins)?,
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
            Failure { message: failure.message.replace("(--group)", why), ..failure }
        })?;
    let groups = table.groups().cloned();
    let data = encoder.encode(table)?;
    interrupt::check()?;
    let notes = notes(&data.notes, Some(&args.data));
    Ok(Rows { scores: model.scores(data.features)?, groups, notes })
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

fn to_stdout(scores: &[f32], margins: &[f32]) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write_csv(&mut out, scores, margins).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::input(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// The shortest digits that read back as the same score.
fn write_csv(out: &mut dyn Write, scores: &[f32], margins: &[f32]) -> io::Result<()> {
    writeln!(out, "score,decision")?;
    for (score, margin) in scores.iter().zip(margins) {
        writeln!(out, "{score},{}", u8::from(*margin >= 0.0))?;
    }
    Ok(())
}

fn write_parquet(path: &Path, scores: &[f32], margins: &[f32]) -> Result<(), Failure> {
    let failed = |error: ParquetError| Failure::input(format!("cannot write {}: {error}", path.display()));
    let schema = parse_message_type("message predictions { REQUIRED FLOAT score; REQUIRED INT32 decision; }");
    let schema = Arc::new(schema.map_err(failed)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = AtomicFile::create(path)?;
    // The shell hands bytes on and leaves the commit to us.
    let mut writer =
        SerializedFileWriter::new(Shell(&mut file), schema, Arc::new(properties)).map_err(failed)?;
    for (scores, margins) in scores.chunks(ROW_GROUP).zip(margins.chunks(ROW_GROUP)) {
        let decisions: Vec<i32> = margins.iter().map(|margin| i32::from(*margin >= 0.0)).collect();
        let mut group = writer.next_row_group().map_err(failed)?;
        if let Some(mut column) = group.next_column().map_err(failed)? {
            column.typed::<FloatType>().write_batch(scores, None, None).map_err(failed)?;
            column.close().map_err(failed)?;
        }
        if let Some(mut column) = group.next_column().map_err(failed)? {
            column.typed::<Int32Type>().write_batch(&decisions, None, None).map_err(failed)?;
            column.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
    }
    writer.close().map_err(failed)?;
    Ok(file.commit()?)
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
