//! `setpoint evaluate`: a model on labelled data, with intervals.

use setpoint_data::Roles;
use setpoint_report::{EvaluateRecord, ReportRecord, to_json};
use setpoint_run::{Examples, Failure, Opened, load_more};

use super::progress::{Display, line};
use super::{print, report};
use crate::args::{EvaluateArgs, MeasureArgs};
use crate::interrupt;
use crate::plan::{confidence, positive, read_options};

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
    let options = read_options(&args.read)?;
    let (mut examples, hash, notes) = load_more(&args.data, &options, &roles, &model.encoder)?;
    interrupt::check()?;
    display.show("measuring");
    let mut record = setpoint_run::evaluate(&model, &mut examples, confidence)?;
    record.artifact = args.model.display().to_string();
    record.data_hash = hash;
    record.notes = notes;
    Ok(Measured { model, examples, confidence, record })
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
        missing: args.read.missing.as_deref().map(setpoint_data::list),
        ..Roles::default()
    })
}
