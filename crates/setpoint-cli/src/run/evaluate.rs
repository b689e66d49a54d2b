//! `setpoint evaluate`: a model on labelled data, with intervals.

use std::path::{Path, PathBuf};

use serde::Serialize;
use setpoint::message::{clip, quote};
use setpoint_data::{LabelSchema, Roles, Spill};
use setpoint_report::{EvaluateRecord, LabelsRecord, ReportRecord, Together, to_json};
use setpoint_run::{
    Decision, Examples, Failure, ImageSchema, Opened, PIECE, Reading, Schema, check_volume, hold_images,
    load_scored, open_all,
};

use super::progress::{Display, line};
use super::scores::Judged;
use super::{images, print, report, say_notes, show};
use crate::args::{EvaluateArgs, MeasureArgs, ReportFlags, in_flags};
use crate::interrupt;
use crate::plan::{
    confidence, empty_queries, image_options, labels, positive, query_source, read_options, reports_of, spill,
};

/// What labels and scores may take in memory, where nothing is said.
const MEMORY: usize = 1_000_000_000;

/// Measures a model, or that of each label.
pub fn evaluate(args: &EvaluateArgs, quiet: bool) -> Result<(), Failure> {
    let mut display = Display::new(quiet);
    let measured = measure_all(&args.measure, &args.report, "--report", &mut display)?;
    display.finish();
    let checks: Vec<Result<(), String>> =
        measured.iter().map(|one| if args.check { one.record.check() } else { Ok(()) }).collect();
    if args.json {
        let checked = |(one, checked): (&Measured, &Result<(), String>)| Checked {
            record: one.record.clone(),
            check: args
                .check
                .then(|| Check { passed: checked.is_ok(), reason: checked.as_ref().err().cloned() }),
        };
        let mut runs: Vec<Checked> = measured.iter().zip(&checks).map(checked).collect();
        print(&match runs.len() {
            1 => to_json(&runs.remove(0))?,
            _ => to_json(&LabelsRecord { runs, together: together(&measured) })?,
        })?;
    }
    if !quiet {
        tell_all(&measured, args.json)?;
    }
    for (one, checked) in measured.iter().zip(checks) {
        checked.map_err(|reason| match &one.label {
            Some(label) => Failure::no(format!("label {}: {reason}", quote(label))),
            None => Failure::no(reason),
        })?;
    }
    Ok(())
}

/// What certificates of several labels are worth together.
fn together(measured: &[Measured]) -> Option<Together> {
    let certificates: Vec<_> = measured
        .iter()
        .filter_map(|one| Some((one.label.clone()?, one.record.certificate.as_ref())))
        .collect();
    Together::of(&certificates)
}

/// Shows the records, what they come to together, and which reports were written.
pub fn tell_all(measured: &[Measured], json: bool) -> Result<(), Failure> {
    for one in measured {
        if let Some(label) = &one.label {
            show(&format!("label     {}\n", clip(label)), json)?;
        }
        tell(&one.record, json)?;
        if one.label.is_some() {
            show("\n", json)?;
        }
    }
    if let Some(together) = together(measured) {
        show(&format!("together  {}\n", together.text), json)?;
    }
    measured.iter().for_each(|one| report::say(&one.wanted));
    Ok(())
}

/// Shows a record and what to know besides.
fn tell(record: &EvaluateRecord, json: bool) -> Result<(), Failure> {
    show(&record.to_string(), json)?;
    say_notes(&record.notes);
    if let Some(said) = record.uncertified() {
        line(&format!("warning: {said}"));
    }
    Ok(())
}

/// The record, and what `--check` came to.
#[derive(Serialize)]
struct Checked {
    #[serde(flatten)]
    record: EvaluateRecord,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Check>,
}

#[derive(Serialize)]
struct Check {
    passed: bool,
    /// Why not.
    reason: Option<String>,
}

/// What was measured on which rows, and what it came to.
pub struct Measured {
    /// The label, of a file of several.
    label: Option<String>,
    /// The reports that are wanted of it.
    wanted: ReportFlags,
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
    fn report(&mut self, args: &MeasureArgs) -> Result<ReportRecord, Failure> {
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

/// Measures what is asked for, for each label, and writes the reports that are wanted; `flag` names their page.
pub fn measure_all(
    args: &MeasureArgs,
    wanted: &ReportFlags,
    flag: &'static str,
    display: &mut Display,
) -> Result<Vec<Measured>, Failure> {
    let confidence = confidence(&args.confidence)?;
    let (path, data) = match (&args.of_scores.scores, &args.model, &args.data) {
        (Some(path), ..) => {
            check_volume(wanted.volume, false)?;
            report::files(args.files(), wanted, flag).check()?;
            display.show(&format!("reading {}", path.display()));
            let judged = Judged::new(args, path)?;
            interrupt::check()?;
            display.show("measuring");
            let record = judged.measure(path, confidence)?;
            let (subject, wanted) = (Subject::Scores(Box::new(judged)), wanted.clone());
            let measured = Measured { label: None, wanted, subject, confidence, record };
            return Ok(vec![reported(measured, args, display)?]);
        }
        (None, Some(model), Some(data)) => (model, data),
        _ => return Err(Failure::input("no model and data, and no --scores")),
    };
    let mut models = open_all(path)?;
    if let (Some(chosen), Some((Some(_), _))) = (&args.label, models.first()) {
        models = chosen_of(models, chosen)?;
    }
    let named = models.iter().map(|(label, _)| reports_of(wanted, label.as_deref()));
    named.fold(args.files(), |files, wanted| report::files(files, &wanted, flag)).check()?;
    let mut all = Vec::new();
    for (label, mut model) in models {
        check_volume(wanted.volume, matches!(model.decision, Decision::Band(_)))?;
        if let (Decision::Place(order), Some(empty)) = (&mut model.decision, empty_queries(&args.queries)) {
            order.empty = empty;
        }
        let wanted = reports_of(wanted, label.as_deref());
        let args = MeasureArgs { label: label.clone().or_else(|| args.label.clone()), ..args.clone() };
        let compared = report::any(&wanted);
        let limit = spill(args.memory.unwrap_or(MEMORY), args.scratch.as_ref(), data);
        let (mut examples, hash, notes) =
            labelled_rows(&args, data, &model, compared, Some(&limit), display)?;
        interrupt::check()?;
        display.show("measuring");
        let mut record = setpoint_run::evaluate(&model, &mut examples, args.importance, confidence)?;
        if let (Some(band), Some(volume)) = (&mut record.band, wanted.volume) {
            band.volume = volume;
        }
        record.artifact = path.display().to_string();
        record.data_hash = hash;
        record.notes.splice(0..0, notes);
        record.sentences().for_each(|text| *text = in_flags(text));
        let subject = Subject::Model(Box::new((model, examples)));
        all.push(reported(Measured { label, wanted, subject, confidence, record }, &args, display)?);
    }
    Ok(all)
}

/// The models of the labels that are named.
fn chosen_of(
    models: Vec<(Option<String>, Opened)>,
    chosen: &str,
) -> Result<Vec<(Option<String>, Opened)>, Failure> {
    let chosen = labels(chosen)?;
    let there: Vec<String> = models.iter().filter_map(|(label, _)| label.clone()).collect();
    if let Some(other) = chosen.iter().find(|label| !there.contains(label)) {
        let (other, there) = (quote(other), setpoint::message::list(&there));
        return Err(Failure::input(format!(
            "--label {other}: the model file has no such label, but {there}"
        )));
    }
    Ok(models
        .into_iter()
        .filter(|(label, _)| label.as_ref().is_some_and(|own| chosen.contains(own)))
        .collect())
}

/// Writes the reports that are wanted.
fn reported(mut measured: Measured, args: &MeasureArgs, display: &mut Display) -> Result<Measured, Failure> {
    if report::any(&measured.wanted) {
        display.show("writing the report");
        let page = measured.report(args)?;
        report::write(&measured.wanted, page)?;
    }
    Ok(measured)
}

/// Labelled rows or images as the model takes them, the digest of their file, and notes on them; whether the model is
/// to be compared with its baseline on them. Labels and scores may go to disk where a place for them is given.
pub fn labelled_rows(
    args: &MeasureArgs,
    data: &Path,
    model: &Opened,
    compared: bool,
    spill: Option<&Spill>,
    display: &mut Display,
) -> Result<(Examples, Option<String>, Vec<String>), Failure> {
    display.show(&format!("reading {}", data.display()));
    let roles = roles(args, model)?;
    let (examples, hash, mut notes) = match &model.schema {
        Schema::Table(_) => {
            let options = read_options(&args.read)?;
            let strict = args.memory.is_some();
            let (options, roles) = (&options, &roles);
            let reading = Reading { options, roles, piece: PIECE, baseline: compared, spill, strict };
            load_scored(data, &reading, model)?
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
    let of = &args.queries.of;
    let flags = [
        ("query", of.query.is_some()),
        ("query-sizes", of.query_sizes.is_some()),
        ("empty-queries", args.queries.empty_queries.is_some()),
    ];
    match (flags.into_iter().find(|(_, given)| *given), model.query_column()) {
        (Some((flag, _)), None) => {
            return Err(Failure::input(format!(
                "--{flag}: the model is not for a goal per query; leave it out"
            )));
        }
        (_, Some(_)) if args.weight.is_some() || args.group.is_some() || args.split_by.is_some() => {
            return Err(Failure::input(
                "--weight, --group and --split-by: the model is for a goal per query, of which every query counts the \
                 same; leave them out",
            ));
        }
        _ => {}
    }
    Ok(Roles {
        queries: model.query_column().map(|column| query_source(of, column)),
        label: args.label.clone().or_else(|| model.label_column()),
        positive: positive(args.positive.as_ref())?,
        weight: args.weight.clone().or_else(|| trained("weight").filter(|_| !args.unweighted)),
        money: model.money().cloned(),
        group: args.group.clone().or(groups),
        split_by: args.split_by.clone(),
        split_by_if_there: model.entity_column().map(str::to_owned),
        group_if_there: certified,
        missing: args.read.missing.as_deref().map(setpoint_data::list),
        ..Roles::default()
    })
}
