//! `setpoint evaluate`: a model on labelled data, with intervals.

use std::path::{Path, PathBuf};

use serde::Serialize;
use setpoint::message::quote;
use setpoint_data::{LabelSchema, Roles};
use setpoint_report::{EvaluateRecord, ReportRecord, to_json, uncertified};
use setpoint_run::{Examples, Failure, ImageSchema, Opened, Schema, hold_images, load_more};

use super::progress::{Display, line};
use super::scores::Judged;
use super::{images, print, report, say_notes, show};
use crate::args::{EvaluateArgs, MeasureArgs, in_flags};
use crate::interrupt;
use crate::plan::{confidence, image_options, positive, read_options};

/// Measures a model.
pub fn evaluate(args: &EvaluateArgs, quiet: bool) -> Result<(), Failure> {
    report::files(args.measure.files(), &args.report).check()?;
    let mut display = Display::new(quiet);
    let mut measured = measure(&args.measure, &mut display)?;
    if report::any(&args.report) {
        display.show("writing the report");
        report::write(&args.report, measured.report(&args.measure)?)?;
    }
    let record = measured.record;
    let checked = if args.check { record.check() } else { Ok(()) };
    display.finish();
    if args.json {
        let check = args.check.then(|| Check { passed: checked.is_ok(), reason: checked.as_ref().err() });
        print(&to_json(&Checked { record: &record, check })?)?;
    }
    if !quiet {
        tell(&record, args.json)?;
        report::say(&args.report);
    }
    checked.map_err(Failure::no)
}

/// Shows a record and what to know besides.
pub fn tell(record: &EvaluateRecord, json: bool) -> Result<(), Failure> {
    show(&record.to_string(), json)?;
    say_notes(&record.notes);
    if let Some(reason) = &record.certificate_refused {
        line(&format!("warning: {}", uncertified(reason)));
    }
    Ok(())
}

/// The record, and what `--check` came to.
#[derive(Serialize)]
struct Checked<'a> {
    #[serde(flatten)]
    record: &'a EvaluateRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Check<'a>>,
}

#[derive(Serialize)]
struct Check<'a> {
    passed: bool,
    /// Why not.
    reason: Option<&'a String>,
}

/// What was measured on which rows, and what it came to.
pub struct Measured {
    subject: Subject,
    confidence: f64,
    /// The record.
    pub record: EvaluateRecord,
}

/// A model file, or any model's scores.
enum Subject {
    Model(Box<(Opened, Examples)>),
    Scores(Box<Judged>),
}

impl Measured {
    /// All that a report shows.
    pub fn report(&mut self, args: &MeasureArgs) -> Result<ReportRecord, Failure> {
        let data = args.data.as_ref().or(args.of_scores.scores.as_ref());
        let described = report::described(data.map_or(Path::new(""), PathBuf::as_path), self.confidence);
        match &mut self.subject {
            Subject::Model(measured) => {
                let (model, examples) = &mut **measured;
                setpoint_run::report_model(model, examples, &self.record, &described)
            }
            Subject::Scores(judged) => judged.report(&self.record, &described),
        }
    }
}

/// Measures what is asked for.
pub fn measure(args: &MeasureArgs, display: &mut Display) -> Result<Measured, Failure> {
    let confidence = confidence(&args.confidence)?;
    match (&args.of_scores.scores, &args.model, &args.data) {
        (Some(path), ..) => {
            display.show(&format!("reading {}", path.display()));
            let judged = Judged::new(args, path)?;
            interrupt::check()?;
            display.show("measuring");
            let record = judged.measure(path, confidence)?;
            Ok(Measured { subject: Subject::Scores(Box::new(judged)), confidence, record })
        }
        (None, Some(model), Some(data)) => measure_model(args, model, data, confidence, display),
        _ => Err(Failure::input("no model and data, and no --scores")),
    }
}

/// Opens the model, reads the data and measures.
fn measure_model(
    args: &MeasureArgs,
    path: &Path,
    data: &Path,
    confidence: f64,
    display: &mut Display,
) -> Result<Measured, Failure> {
    let model = setpoint_run::open(path)?;
    let (mut examples, hash, notes) = labelled_rows(args, data, &model, display)?;
    interrupt::check()?;
    display.show("measuring");
    let mut record = setpoint_run::evaluate(&model, &mut examples, confidence)?;
    record.artifact = path.display().to_string();
    record.data_hash = hash;
    record.notes.splice(0..0, notes);
    record.sentences().for_each(|text| *text = in_flags(text));
    Ok(Measured { subject: Subject::Model(Box::new((model, examples))), confidence, record })
}

/// Labelled rows or images as the model takes them, the digest of their file, and notes on them.
pub fn labelled_rows(
    args: &MeasureArgs,
    data: &Path,
    model: &Opened,
    display: &mut Display,
) -> Result<(Examples, Option<String>, Vec<String>), Failure> {
    display.show(&format!("reading {}", data.display()));
    let roles = roles(args, model)?;
    let (examples, hash, mut notes) = match &model.schema {
        Schema::Table(encoder) => {
            let options = read_options(&args.read)?;
            load_more(data, &options, &roles, encoder, &model.blueprint)?
        }
        Schema::Images(schema) => labelled_images(args, data, model, schema, &roles, display)?,
    };
    if let (Some(column), None) = (model.entity_column(), examples.sample.entities()) {
        notes.push(format!(
            "no column {column:?}, which said in training which rows belong together: intervals take every row for a draw of its own"
        ));
    }
    Ok((examples, hash, notes))
}

/// Labelled images, as the model takes them.
fn labelled_images(
    args: &MeasureArgs,
    data: &Path,
    model: &Opened,
    schema: &ImageSchema,
    roles: &Roles,
    display: &mut Display,
) -> Result<(Examples, Option<String>, Vec<String>), Failure> {
    let set = images::read_for(model, data, &image_options(&args.images)?, display)?;
    let there = roles.group_if_there.as_ref().filter(|group| set.label_names().contains(group));
    let group = roles.group.as_ref().or(there).map(String::as_str);
    let task = match (&args.positive, &roles.label) {
        (Some(_), Some(label)) => set.task(label, &roles.positive, group)?,
        (_, label) => {
            let column = label.clone().unwrap_or_else(|| schema.label.column.clone());
            set.task_for(&LabelSchema { column, ..schema.label.clone() }, group)?
        }
    };
    let held = hold_images(schema, &model.blueprint, &set, &task.rows)?;
    let examples = Examples { held, sample: task.sample(&task.rows)? };
    Ok((examples, Some(set.hash()), set.notes().to_vec()))
}

/// The roles of the training file's columns, unless told otherwise.
fn roles(args: &MeasureArgs, model: &Opened) -> Result<Roles, Failure> {
    let trained =
        |key: &str| model.document.settings.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
    let groups = model.group_column().map(str::to_owned);
    // Groups that share a threshold are wanted by the certificate alone, which says so where they lack.
    let certified = model.certified_column().map(str::to_owned);
    if model.schema.classes().is_some() {
        let idle = [("positive", args.positive.is_some()), ("group", args.group.is_some())];
        if let Some((flag, _)) = idle.into_iter().find(|(_, given)| *given) {
            return Err(Failure::input(format!(
                "--{flag}: the model decides among several classes; leave it out"
            )));
        }
    }
    if let (Some(given), Some(needed)) = (&args.group, &groups)
        && given != needed
    {
        return Err(Failure::input(format!(
            "--group {}: the model has thresholds by {}; leave --group out",
            quote(given),
            quote(needed)
        )));
    }
    Ok(Roles {
        label: args.label.clone().or_else(|| model.label_column()),
        positive: positive(args.positive.as_ref())?,
        weight: args.weight.clone().or_else(|| trained("weight").filter(|_| !args.unweighted)),
        group: args.group.clone().or(groups),
        split_by: args.split_by.clone(),
        split_by_if_there: model.entity_column().map(str::to_owned),
        group_if_there: certified,
        missing: args.read.missing.as_deref().map(setpoint_data::list),
        ..Roles::default()
    })
}
