//! `setpoint evaluate`: a model on labelled data, with intervals.

use setpoint_data::{LabelSchema, Roles};
use setpoint_report::{EvaluateRecord, ReportRecord, to_json};
use setpoint_run::{Examples, Failure, ImageSchema, Opened, Schema, hold_images, load_more};

use super::progress::{Display, line};
use super::{images, print, report};
use crate::args::{EvaluateArgs, MeasureArgs};
use crate::interrupt;
use crate::plan::{confidence, image_options, positive, read_options};

/// Measures a model.
pub fn evaluate(args: &EvaluateArgs, quiet: bool) -> Result<(), Failure> {
    report::check(&args.report, &[&args.measure.model, &args.measure.data])?;
    let mut display = Display::new(quiet);
    let mut measured = measure(&args.measure, &mut display)?;
    if report::any(&args.report) {
        display.show("writing the report");
        report::write(&args.report, &measured.report(&args.measure)?)?;
    }
    let record = measured.record;
    display.finish();
    if args.json {
        print(&to_json(&record)?)?;
    }
    if !quiet {
        line(record.to_string().trim_end());
        report::say(&args.report);
    }
    match record.drift.iter().find(|drift| drift.verdict == "violated") {
        Some(drift) if args.check => Err(Failure::no(&drift.text)),
        _ => Ok(()),
    }
}

/// A model, the rows it was measured on, and what it came to.
pub struct Measured {
    model: Opened,
    examples: Examples,
    confidence: f64,
    /// The record.
    pub record: EvaluateRecord,
}

impl Measured {
    /// All that a report shows.
    pub fn report(&mut self, args: &MeasureArgs) -> Result<ReportRecord, Failure> {
        let described = report::described(&args.data, self.confidence);
        setpoint_run::report_model(&self.model, &mut self.examples, &self.record, &described)
    }
}

/// Opens the model, reads the data and measures.
pub fn measure(args: &MeasureArgs, display: &mut Display) -> Result<Measured, Failure> {
    let confidence = confidence(&args.confidence)?;
    let model = setpoint_run::open(&args.model)?;
    display.show(&format!("reading {}", args.data.display()));
    let roles = roles(args, &model)?;
    let (mut examples, hash, mut notes) = match &model.schema {
        Schema::Table(encoder) => {
            let options = read_options(&args.read)?;
            load_more(&args.data, &options, &roles, encoder, &model.blueprint)?
        }
        Schema::Images(schema) => labelled_images(args, &model, schema, &roles, display)?,
    };
    if let (Some(column), None) = (model.entity_column(), examples.sample.entities()) {
        notes.push(format!(
            "no column {column:?}, which said in training which rows belong together: intervals take every row for a draw of its own"
        ));
    }
    interrupt::check()?;
    display.show("measuring");
    let mut record = setpoint_run::evaluate(&model, &mut examples, confidence)?;
    record.artifact = args.model.display().to_string();
    record.data_hash = hash;
    record.notes.splice(0..0, notes);
    Ok(Measured { model, examples, confidence, record })
}

/// Labelled images, as the model takes them.
fn labelled_images(
    args: &MeasureArgs,
    model: &Opened,
    schema: &ImageSchema,
    roles: &Roles,
    display: &mut Display,
) -> Result<(Examples, Option<String>, Vec<String>), Failure> {
    let set = images::read_for(model, &args.data, &image_options(&args.images)?, display)?;
    let group = roles.group.as_deref();
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
    let groups = model.shipped.groups.as_ref().map(|groups| groups.column.clone());
    if let (Some(given), Some(needed)) = (&args.group, &groups)
        && given != needed
    {
        return Err(Failure::input(format!(
            "--group {given:?}: the model has thresholds by {needed:?}; leave --group out"
        )));
    }
    Ok(Roles {
        label: args.label.clone().or_else(|| model.label_column()),
        positive: positive(args.positive.as_ref())?,
        weight: args.weight.clone().or_else(|| trained("weight").filter(|_| !args.unweighted)),
        group: args.group.clone().or(groups),
        split_by: args.split_by.clone(),
        split_by_if_there: model.entity_column().map(str::to_owned),
        missing: args.read.missing.as_deref().map(setpoint_data::list),
        ..Roles::default()
    })
}
