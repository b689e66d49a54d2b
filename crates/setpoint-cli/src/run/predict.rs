//! `setpoint predict`: scores and a decision for each row.

mod write;

use std::path::Path;
use std::sync::mpsc::sync_channel;

use setpoint::message::clip;
use setpoint_data::{Codes, Encoder, ImageOptions, Notes, Roles, Table};
use setpoint_run::{
    Decision, Decisions, Failure, Opened, PIECE, Predicted, Schema, hold_images, notes, open_all,
};

use super::progress::{Display, line};
use super::{images, say_notes};
use crate::args::PredictArgs;
use crate::interrupt;
use crate::plan::{Files, image_options, query_source, read_options};
use write::{Column, Decided, Output, Values, Writer};
pub use write::{quoted, text_of};

/// The column that holds the decision.
const DECISION: &str = "decision";

/// The column that holds the place within a query.
const PLACE: &str = "place";

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
    if args.abstain.is_some() && matches!(output, Output::Parquet(_)) {
        return Err(Failure::input("--abstain: rows left undecided are null in Parquet files; leave it out"));
    }
    let band = |(_, model): &(Option<String>, Opened)| matches!(model.decision, Decision::Band(_));
    if args.abstain.is_some() && !models.iter().any(band) {
        return Err(Failure::input("--abstain: the model leaves no rows undecided; leave it out"));
    }
    let mut display = Display::new(quiet);
    let mut writer = Writer::new(&output, args.abstain.as_deref().unwrap_or_default())?;
    let mut said = Said::default();
    if let [(None, model)] = &models[..] {
        // One model: rows come, are decided and go, some at a time; while some are written, the next are read.
        let (ready, written) = sync_channel::<(Rows, Vec<Column>)>(1);
        let write = || -> Result<(), Failure> {
            let mut all_kept: Option<Vec<Codes>> = None;
            for (Rows { files, kept, .. }, columns) in written {
                let kept = all_kept.get_or_insert(kept);
                refuse_clash(kept, &columns)?;
                writer.write(&Decided { files: files.as_deref(), kept, columns: &columns })?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let writing = scope.spawn(write);
            let mut take = |rows: Rows| {
                let predicted = model.predict(&rows.scores, rows.groups.as_ref())?;
                said.add(&predicted);
                interrupt::check()?;
                // Nobody is there once writing has failed, which is said below.
                ready.send((rows, columns_of(None, predicted))).map_err(|_| Failure::input("cannot write"))
            };
            let read = scored_pieces(args, model, &mut display, &mut take);
            drop(ready);
            writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            said.notes.splice(0..0, read?);
            Ok::<_, Failure>(())
        })?;
    } else {
        let mut columns = Vec::new();
        let mut beside: Option<(Option<Vec<String>>, Vec<Codes>)> = None;
        for (label, model) in &models {
            // What is written beside is the same for every label.
            let keep = args.keep.clone().filter(|_| beside.is_none());
            let rows = scored_rows(&PredictArgs { keep, ..args.clone() }, model, &mut display)?;
            let predicted = model.predict(&rows.scores, rows.groups.as_ref())?;
            rows.notes.into_iter().for_each(|note| said.note(note));
            said.label(label.as_deref());
            said.add(&predicted);
            columns.extend(columns_of(label.as_deref(), predicted));
            beside.get_or_insert((rows.files, rows.kept));
        }
        let (files, kept) = beside.unwrap_or_default();
        refuse_clash(&kept, &columns)?;
        interrupt::check()?;
        writer.write(&Decided { files: files.as_deref(), kept: &kept, columns: &columns })?;
    }
    display.finish();
    writer.finish()?;
    if !quiet {
        say_notes(&said.notes);
        said.labels.iter().for_each(|(label, tally)| {
            let summary = tally.to_string();
            line(&label.as_ref().map_or(summary.clone(), |label| format!("{}: {summary}", clip(label))));
        });
    }
    Ok(())
}

/// What is to be said at the end.
#[derive(Default)]
struct Said {
    notes: Vec<String>,
    /// What the decisions of each label come to.
    labels: Vec<(Option<String>, Summary)>,
}

impl Said {
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Decisions from here on are of this label.
    fn label(&mut self, label: Option<&str>) {
        self.labels.push((label.map(str::to_owned), Summary::default()));
    }

    /// Counts the decisions of some rows.
    fn add(&mut self, predicted: &Predicted) {
        predicted.notes.iter().cloned().for_each(|note| self.note(note));
        if self.labels.is_empty() {
            self.label(None);
        }
        if let Some((_, summary)) = self.labels.last_mut() {
            summary.add(&predicted.decisions);
        }
    }
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
#[derive(Default)]
struct Summary {
    rows: usize,
    positive: usize,
    /// Rows left undecided, where they may be.
    undecided: Option<usize>,
    /// Rows decided as each class.
    classes: Option<(Vec<String>, Vec<usize>)>,
    /// Queries, and rows in their first places, if those are decided.
    places: Option<(usize, Option<usize>)>,
}

impl Summary {
    fn add(&mut self, decisions: &Decisions) {
        match decisions {
            Decisions::Positive(of) => {
                self.rows += of.len();
                self.positive += of.iter().filter(|positive| **positive).count();
            }
            Decisions::Some(of) => {
                self.rows += of.len();
                self.positive += of.iter().filter(|one| **one == Some(true)).count();
                *self.undecided.get_or_insert(0) += of.iter().filter(|one| one.is_none()).count();
            }
            Decisions::Class { names, of } => {
                self.rows += of.len();
                let (_, counts) = self.classes.get_or_insert_with(|| (names.clone(), vec![0; names.len()]));
                of.iter().for_each(|class| counts[*class as usize] += 1);
            }
            Decisions::Place { places, first } => {
                self.rows += places.len();
                let queries = places.iter().filter(|place| **place == 1).count();
                let first = first.as_ref().map(|first| first.iter().filter(|first| **first).count());
                self.places = Some((queries, first));
            }
        }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rows", self.rows)?;
        if let Some((queries, first)) = self.places {
            write!(f, " of {queries} queries")?;
            return first.map_or(Ok(()), |some| write!(f, ", {some} of them in the first places"));
        }
        if let Some((names, counts)) = &self.classes {
            let decided = names.iter().zip(counts).filter(|(_, count)| **count > 0);
            let decided: Vec<String> =
                decided.map(|(name, count)| format!("{count} {}", clip(name))).collect();
            return write!(f, ": {}", decided.join(", "));
        }
        write!(f, ", {} of them positive", self.positive)?;
        self.undecided.map_or(Ok(()), |rows| write!(f, ", {rows} left undecided"))
    }
}

/// Scores every row, without its label.
pub fn scored_rows(args: &PredictArgs, model: &Opened, display: &mut Display) -> Result<Rows, Failure> {
    let mut all: Option<Rows> = None;
    let mut take = |rows: Rows| {
        match &mut all {
            None => all = Some(rows),
            Some(all) => all.append(rows),
        }
        Ok(())
    };
    let notes = scored_pieces(args, model, display, &mut take)?;
    Ok(Rows { notes, ..all.unwrap_or_default() })
}

/// Scores rows without their label, some at a time, and hands them over; columns that are kept come whole with the
/// first. Returns what is to be said of them.
fn scored_pieces(
    args: &PredictArgs,
    model: &Opened,
    display: &mut Display,
    take: &mut dyn FnMut(Rows) -> Result<(), Failure>,
) -> Result<Vec<String>, Failure> {
    display.show(&format!("reading {}", args.data.display()));
    let notes = match &model.schema {
        Schema::Table(encoder) => table_rows(args, model, encoder, take)?,
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
            take(Rows { files, scores, ..Rows::default() })?;
            set.notes().to_vec()
        }
    };
    interrupt::check()?;
    Ok(notes)
}

/// Rows that were scored.
#[derive(Default)]
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
    /// Adds the rows that come next.
    fn append(&mut self, next: Self) {
        self.scores.extend(next.scores);
        if let (Some(groups), Some(next)) = (&mut self.groups, next.groups) {
            groups.append(next);
        }
    }

    /// Notes what is to be said of their groups.
    pub fn note_groups(&mut self, model: &Opened) {
        let groups = self.groups.as_ref();
        self.notes.extend(groups.and_then(|groups| model.unknown_groups(&groups.names, &groups.of)));
    }
}

/// Scores the rows of a table.
fn table_rows(
    args: &PredictArgs,
    model: &Opened,
    encoder: &Encoder,
    take: &mut dyn FnMut(Rows) -> Result<(), Failure>,
) -> Result<Vec<String>, Failure> {
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
    let (mut all_notes, mut ended) = (None::<Notes>, Ok(()));
    let mut first = true;
    let mut next = |table: Table| -> Result<(), Failure> {
        interrupt::check()?;
        let queries = table.queries().filter(|_| roles.queries.is_some()).cloned();
        let mut kept = if std::mem::take(&mut first) { kept(args, &table)? } else { Vec::new() };
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
        match &mut all_notes {
            None => all_notes = Some(data.notes),
            Some(all) => all.merge(data.notes),
        }
        take(Rows { kept, scores: model.scores(data.features)?, groups, ..Rows::default() })
    };
    let mut piece = |table: Table| {
        ended = next(table);
        ended.is_ok()
    };
    Table::read_pieces(&args.data, &read_options(&args.read)?, &roles, encoder, PIECE, &mut piece).map_err(
        |error| {
            // There is no flag to give here: the model itself asks for the column.
            let failure = Failure::from(error);
            let why = "(the model has a threshold for each of its groups)";
            Failure { message: failure.message.replace("(‹group›)", why), ..failure }
        },
    )?;
    ended?;
    Ok(all_notes.map_or_else(Vec::new, |all| notes(&all, Some(&args.data))))
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
