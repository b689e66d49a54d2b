//! `setpoint predict`: scores and a decision for each row.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{PrimitiveTypeBuilder, Type};
use setpoint::artifact::{AtomicFile, write_atomically};
use setpoint::message::clip;
use setpoint_data::{Codes, Encoder, ImageOptions, Roles, Table};
use setpoint_run::{Decisions, Failure, Opened, Predicted, Schema, hold_images, notes, open_all};

use super::progress::{Display, line};
use super::{images, say_notes};
use crate::args::PredictArgs;
use crate::interrupt;
use crate::plan::{Files, image_options, query_source, read_options};

/// The column that holds the decision.
const DECISION: &str = "decision";

/// The column that holds the place within a query.
const PLACE: &str = "place";

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
        .read_any("the sizes of queries", args.queries.query_sizes.as_ref())
        .read_any("the label table", args.images.labels.as_ref());
    match output {
        Output::Stdout => files,
        Output::Csv(path) | Output::Parquet(path) => files.write("-o", path),
    }
    .check()?;
    let models = open_all(&args.model)?;
    let mut display = Display::new(quiet);
    let (mut columns, mut summaries, mut said) = (Vec::new(), Vec::new(), Vec::new());
    let mut beside: Option<(Option<Vec<String>>, Vec<Codes>)> = None;
    for (label, model) in &models {
        // What is written beside is the same for every label.
        let keep = args.keep.clone().filter(|_| beside.is_none());
        let rows = scored_rows(&PredictArgs { keep, ..args.clone() }, model, &mut display)?;
        let predicted = model.predict(&rows.scores, rows.groups.as_ref())?;
        for note in rows.notes.into_iter().chain(predicted.notes.iter().cloned()) {
            if !said.contains(&note) {
                said.push(note);
            }
        }
        let summary = summary(&predicted.decisions);
        summaries.push(match label {
            Some(label) => format!("{}: {summary}", clip(label)),
            None => summary,
        });
        columns.extend(columns_of(label.as_deref(), predicted));
        beside.get_or_insert((rows.files, rows.kept));
    }
    let (files, kept) = beside.unwrap_or_default();
    refuse_clash(&kept, &columns)?;
    interrupt::check()?;
    display.finish();
    let undecided = args.abstain.as_deref().unwrap_or_default();
    let decided = Decided { files: files.as_deref(), kept: &kept, columns: &columns, undecided };
    if args.abstain.is_some() && matches!(output, Output::Parquet(_)) {
        return Err(Failure::input("--abstain: rows left undecided are null in Parquet files; leave it out"));
    }
    match output {
        Output::Stdout => decided.to_stdout()?,
        Output::Csv(path) => write_atomically(path, |out| decided.write_csv(out))?,
        Output::Parquet(path) => decided.write_parquet(path)?,
    }
    if !quiet {
        say_notes(&said);
        summaries.iter().for_each(|summary| line(summary));
    }
    Ok(())
}

/// What is written of a label, the only one without its name: scores, probabilities, the decision.
fn columns_of(label: Option<&str>, predicted: Predicted) -> Vec<Column> {
    let named = |name: &str| match (label, name.split_once('(')) {
        (None, _) => name.to_owned(),
        (Some(label), None) => format!("{name}({label})"),
        // A score or probability of a class.
        (Some(label), Some((what, class))) => format!("{what}({label}: {class}"),
    };
    let numbers = predicted.scores.into_iter().chain(predicted.probabilities);
    let column = |name: &str, values| Column { name: named(name), values };
    let decided = match predicted.decisions {
        Decisions::Positive(of) => vec![column(DECISION, Values::yes_or_no(&of))],
        Decisions::Some(of) => vec![column(DECISION, Values::Decided(of))],
        Decisions::Class { names, of } => vec![column(DECISION, Values::Texts { names, of })],
        Decisions::Place { places, first } => {
            let places = column(PLACE, Values::Whole(places.into_iter().map(|place| place as i32).collect()));
            let first = first.map(|first| column(DECISION, Values::yes_or_no(&first)));
            [places].into_iter().chain(first).collect()
        }
    };
    numbers.map(|(name, values)| column(&name, Values::Numbers(values))).chain(decided).collect()
}

/// What the decisions come to, in a line.
fn summary(decisions: &Decisions) -> String {
    match decisions {
        Decisions::Positive(positive) => {
            let some = positive.iter().filter(|positive| **positive).count();
            format!("{} rows, {some} of them positive", positive.len())
        }
        Decisions::Place { places, first } => {
            let queries = places.iter().filter(|place| **place == 1).count();
            let first = first.as_ref().map(|first| first.iter().filter(|first| **first).count());
            let first =
                first.map_or_else(String::new, |some| format!(", {some} of them in the first places"));
            format!("{} rows of {queries} queries{first}", places.len())
        }
        Decisions::Some(of) => {
            let count = |decision| of.iter().filter(|one| **one == decision).count();
            let (positive, undecided) = (count(Some(true)), count(None));
            format!("{} rows, {positive} of them positive, {undecided} left undecided", of.len())
        }
        Decisions::Class { names, of } => {
            let mut counts = vec![0; names.len()];
            of.iter().for_each(|class| counts[*class as usize] += 1);
            let decided = names.iter().zip(counts).filter(|(_, count)| *count > 0);
            let decided: Vec<String> =
                decided.map(|(name, count)| format!("{count} {}", clip(name))).collect();
            format!("{} rows: {}", of.len(), decided.join(", "))
        }
    }
}

/// Scores every row, without its label.
pub fn scored_rows(args: &PredictArgs, model: &Opened, display: &mut Display) -> Result<Rows, Failure> {
    display.show(&format!("reading {}", args.data.display()));
    let rows = match &model.schema {
        Schema::Table(encoder) => table_rows(args, model, encoder)?,
        Schema::Images(_) if args.keep.is_some() => {
            return Err(Failure::input(
                "--keep: images have no columns; the name of each file is written beside it anyway",
            ));
        }
        Schema::Images(schema) => {
            if let Some(column) = model.group_column() {
                return Err(Failure::input(format!(
                    "the model has a threshold for each group of {column:?}, and images come without: score them in \
                     Python, or train with --shared-threshold"
                )));
            }
            let options = ImageOptions { unlabelled: true, ..image_options(&args.images)? };
            let set = images::read_for(model, &args.data, &options, display)?;
            let all: Vec<u32> = (0..set.rows() as u32).collect();
            let mut held = hold_images(schema, &model.blueprint, &set, &all)?;
            let scores = model.scorer.scores(&mut held)?;
            let files = set.names().map(<[String]>::to_vec);
            Rows { files, kept: Vec::new(), scores, groups: None, notes: set.notes().to_vec() }
        }
    };
    interrupt::check()?;
    Ok(rows)
}

/// Rows that were scored.
pub struct Rows {
    /// The names of their files, where each is a file of its own.
    pub files: Option<Vec<String>>,
    /// Columns of the file that are written beside, each with a code for each row.
    pub kept: Vec<Codes>,
    pub scores: Vec<f32>,
    /// Their groups, where the model has thresholds for some, or their queries, where it puts these in order.
    pub groups: Option<Codes>,
    pub notes: Vec<String>,
}

impl Rows {
    /// Notes what is to be said of their groups.
    pub fn note_groups(&mut self, model: &Opened) {
        let groups = self.groups.as_ref();
        self.notes.extend(groups.and_then(|groups| model.unknown_groups(&groups.names, &groups.of)));
    }
}

/// Scores the rows of a table.
fn table_rows(args: &PredictArgs, model: &Opened, encoder: &Encoder) -> Result<Rows, Failure> {
    if model.query_column().is_none() && (args.queries.query.is_some() || args.queries.query_sizes.is_some())
    {
        return Err(Failure::input("--query: the model is not for a goal per query; leave it out"));
    }
    let roles = Roles {
        group: model.group_column().map(str::to_owned),
        queries: model.query_column().map(|column| query_source(&args.queries, column)),
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
    let queries = table.queries().filter(|_| roles.queries.is_some()).cloned();
    let mut kept = kept(args, &table)?;
    if let Some(queries) = &queries {
        let mut beside = queries.clone();
        if beside.column.is_empty() {
            "query".clone_into(&mut beside.column);
        }
        // A place says little without its query.
        if !kept.iter().any(|codes| codes.column == beside.column) {
            kept.insert(0, beside);
        }
    }
    let groups = queries.or_else(|| table.groups().cloned());
    let data = encoder.encode(table)?;
    interrupt::check()?;
    let notes = notes(&data.notes, Some(&args.data));
    Ok(Rows { files: None, kept, scores: model.scores(data.features)?, groups, notes })
}

/// The columns to write beside, as the file has them.
fn kept(args: &PredictArgs, table: &Table) -> Result<Vec<Codes>, Failure> {
    let Some(wanted) = &args.keep else { return Ok(Vec::new()) };
    let all = wanted.eq_ignore_ascii_case("all") && !table.names().contains(wanted);
    let keep = if all { table.names().to_vec() } else { setpoint_data::list(wanted) };
    let roles = Roles { keep, missing: Some(Vec::new()), ..Roles::default() };
    Ok(Table::read(&args.data, &read_options(&args.read)?, &roles)?.kept().to_vec())
}

/// Refuses columns that are called as those that are written anyway.
fn refuse_clash(kept: &[Codes], columns: &[Column]) -> Result<(), Failure> {
    let own = |codes: &&Codes| {
        codes.column == "probability" || columns.iter().any(|column| column.name == codes.column)
    };
    match kept.iter().find(own) {
        Some(codes) => Err(Failure::input(format!(
            "--keep: column {:?} is called as one that predict writes; name the others, or rename it",
            codes.column
        ))),
        None => Ok(()),
    }
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

/// A column of what a model makes of the rows.
struct Column {
    name: String,
    values: Values,
}

enum Values {
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
    fn yes_or_no(of: &[bool]) -> Self {
        Self::Whole(of.iter().map(|yes| i32::from(*yes)).collect())
    }
}

/// What is written.
struct Decided<'a> {
    files: Option<&'a [String]>,
    kept: &'a [Codes],
    columns: &'a [Column],
    /// What is written where nothing is decided.
    undecided: &'a str,
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
        let file = self.files.map(|_| "file").into_iter();
        let kept = self.kept.iter().map(|codes| codes.column.as_str());
        let own = self.columns.iter().map(|column| column.name.as_str());
        for (place, name) in file.chain(kept).chain(own).enumerate() {
            write!(out, "{}{}", if place == 0 { "" } else { "," }, quoted(name))?;
        }
        writeln!(out)?;
        for row in 0..self.rows() {
            if let Some(file) = self.files.and_then(|files| files.get(row)) {
                write!(out, "{},", quoted(file))?;
            }
            for codes in self.kept {
                write!(out, "{},", quoted(text_of(codes, row).unwrap_or_default()))?;
            }
            for (place, column) in self.columns.iter().enumerate() {
                out.write_all(if place == 0 { b"" } else { b"," })?;
                match &column.values {
                    Values::Numbers(of) => write!(out, "{}", of[row])?,
                    Values::Whole(of) => write!(out, "{}", of[row])?,
                    Values::Decided(of) => match of[row] {
                        Some(positive) => write!(out, "{}", u8::from(positive))?,
                        None => write!(out, "{}", quoted(self.undecided))?,
                    },
                    Values::Texts { names, of } => write!(out, "{}", quoted(&names[of[row] as usize]))?,
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// Kept columns of whole numbers stay numbers, others are texts; names may hold anything.
    fn parquet_schema(&self) -> Result<Type, ParquetError> {
        let mut fields = Vec::new();
        if self.files.is_some() {
            let text = plain("file", Physical::BYTE_ARRAY).with_logical_type(Some(LogicalType::String));
            fields.push(text.build()?);
        }
        for codes in self.kept {
            let (kind, logical) = match whole_numbers(codes) {
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

    fn write_parquet(&self, path: &Path) -> Result<(), Failure> {
        let failed =
            |error: ParquetError| Failure::input(format!("cannot write {}: {error}", path.display()));
        let schema = Arc::new(self.parquet_schema().map_err(failed)?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut file = AtomicFile::create(path)?;
        // The shell hands bytes on and leaves the commit to us.
        let mut writer =
            SerializedFileWriter::new(Shell(&mut file), schema, Arc::new(properties)).map_err(failed)?;
        for first in (0..self.rows()).step_by(ROW_GROUP) {
            let rows = first..self.rows().min(first + ROW_GROUP);
            let mut group = writer.next_row_group().map_err(failed)?;
            if let Some(files) = self.files
                && let Some(mut column) = group.next_column().map_err(failed)?
            {
                let names: Vec<ByteArray> =
                    files[rows.clone()].iter().map(|name| name.as_str().into()).collect();
                column.typed::<ByteArrayType>().write_batch(&names, None, None).map_err(failed)?;
                column.close().map_err(failed)?;
            }
            for codes in self.kept {
                let Some(mut column) = group.next_column().map_err(failed)? else { break };
                let texts = || rows.clone().map(|row| text_of(codes, row));
                let there: Vec<i16> = texts().map(|text| i16::from(text.is_some())).collect();
                if whole_numbers(codes) {
                    let numbers: Vec<i64> = texts().flatten().filter_map(|text| text.parse().ok()).collect();
                    column.typed::<Int64Type>().write_batch(&numbers, Some(&there), None).map_err(failed)?;
                } else {
                    let texts: Vec<ByteArray> = texts().flatten().map(ByteArray::from).collect();
                    column
                        .typed::<ByteArrayType>()
                        .write_batch(&texts, Some(&there), None)
                        .map_err(failed)?;
                }
                column.close().map_err(failed)?;
            }
            for Column { values, .. } in self.columns {
                let Some(mut column) = group.next_column().map_err(failed)? else { break };
                let rows = rows.clone();
                match values {
                    Values::Numbers(of) => {
                        column.typed::<FloatType>().write_batch(&of[rows], None, None).map_err(failed)?;
                    }
                    Values::Whole(of) => {
                        column.typed::<Int32Type>().write_batch(&of[rows], None, None).map_err(failed)?;
                    }
                    Values::Decided(of) => {
                        let of = &of[rows];
                        let there: Vec<i16> = of.iter().map(|one| i16::from(one.is_some())).collect();
                        let known: Vec<i32> = of.iter().flatten().map(|one| i32::from(*one)).collect();
                        column
                            .typed::<Int32Type>()
                            .write_batch(&known, Some(&there), None)
                            .map_err(failed)?;
                    }
                    Values::Texts { names, of } => {
                        let texts: Vec<ByteArray> =
                            of[rows].iter().map(|class| names[*class as usize].as_str().into()).collect();
                        column.typed::<ByteArrayType>().write_batch(&texts, None, None).map_err(failed)?;
                    }
                }
                column.close().map_err(failed)?;
            }
            group.close().map_err(failed)?;
        }
        writer.close().map_err(failed)?;
        Ok(file.commit()?)
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

struct Shell<'a>(&'a mut AtomicFile);

impl Write for Shell<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
