//! The record of a report: what a model comes to, pictured, and how to run it again.

use serde_json::Value;
use setpoint::Sample;
use setpoint::artifact::Document;
use setpoint_report::{
    AtCondition, Bounds, CautionRecord, Circumstances, EvaluateRecord, Measured, PartRecord, ReportRecord,
    RunRecord, StageRecord, TrainRecord,
};

use crate::evaluate::COLUMNS;
use crate::examples::{Examples, Loaded};
use crate::failure::Failure;
use crate::importance::Subject;
use crate::kind::{Rule, kind_of};
use crate::model::Opened;
use crate::train::{Job, Trained, choose_by, score};

/// The model's name in pictures, beside cross-entropy's.
const OURS: &str = "Setpoint";
pub(crate) const BASELINE: &str = "cross-entropy";

/// What a report says about itself, and the confidence of its intervals.
#[derive(Clone, Debug)]
pub struct Described {
    /// What the report is of, such as the name of the data file.
    pub title: String,
    /// The command that made it, quoted for a shell.
    pub command: Option<String>,
    /// Confidence of the intervals.
    pub confidence: f64,
}

/// Checks the rows a day that a report is to count by; `abstains` says whether rows are left to people.
///
/// # Errors
/// If that is no number of rows, or no rows are left to people.
pub fn check_volume(volume: Option<f64>, abstains: bool) -> Result<(), Failure> {
    match volume {
        Some(volume) if !(volume > 0.0 && volume.is_finite()) => {
            Err(Failure::input(format!("‹volume {volume}›: expected a number of rows a day, such as 25000")))
        }
        Some(_) if !abstains => Err(Failure::input(
            "‹volume›: is for goals of coverage, by which rows are left to people; leave it out",
        )),
        _ => Ok(()),
    }
}

/// The report of a training run, on its test part or else the last part there is.
///
/// The record goes in as the caller completed it.
///
/// # Errors
/// If a part cannot be measured.
pub fn report_training(
    job: &Job,
    loaded: &mut Loaded,
    trained: &Trained,
    record: &TrainRecord,
    described: &Described,
) -> Result<ReportRecord, Failure> {
    let rule = trained.decision.rule();
    let base = score(&mut loaded.parts, &trained.fitted.baseline)?;
    let mut parts = Vec::new();
    for ((name, part), (_, scores)) in loaded.parts.iter().zip(trained.scores.iter()) {
        let (Some(part), Some(scores)) = (part, scores) else { continue };
        let beside = base.get(name).and_then(Option::as_deref);
        let mut evaluation =
            rule.measure(&record.goal, &(&part.sample, &scores[..]), beside, described.confidence)?;
        evaluation.artifact.clone_from(&record.artifact);
        evaluation.label.clone_from(&record.label);
        evaluation.data_hash.clone_from(if name == "test" && loaded.test_hash.is_some() {
            &loaded.test_hash
        } else {
            &loaded.hash
        });
        // The model may have seen the validation rows; what it was chosen by was held out.
        if name == "validation" && record.used_validation {
            let held_out = record.objective.validation;
            let examples = record.examples.validation;
            evaluation.at_condition = held_out.map(|value| AtCondition { value, interval: None, examples });
        }
        if let (Some(band), Some(Some(told))) = (&mut evaluation.band, record.band.get(name)) {
            band.volume = told.volume;
        }
        if let (Some(queries), Some(rows)) = (&mut evaluation.queries, loaded.rows.get(name)) {
            queries.number_rows(rows);
        }
        // Parts that chose the threshold cannot test it.
        if name != "test" {
            (evaluation.drift, evaluation.drift_refused) = (Vec::new(), None);
        }
        parts.push(PartRecord { name: name.to_owned(), evaluation });
    }
    let name = parts.last().map_or_else(String::new, |part| part.name.clone());
    let found = |scores: &'_ setpoint_report::ByPart<Option<Vec<f32>>>| scores.get(&name).cloned().flatten();
    let (Some(Some(examples)), Some(scores)) = (loaded.parts.get(&name), found(&trained.scores)) else {
        return Err(Failure::input("a report needs rows to show"));
    };
    let beside = found(&base);
    if let Some(part) = parts.last_mut().filter(|part| part.evaluation.at_condition.is_some()) {
        let (kind, schema) = (trained.decision.kind(), &loaded.schema);
        let subject = Subject { kind: &*kind, scorer: &trained.fitted.scorer, schema, goal: &record.goal };
        part.evaluation.importance = subject.importance(examples, COLUMNS, described.confidence)?;
    }
    let shown = Shown { name, sample: &examples.sample, scores: &scores, base: beside.as_deref() };
    let run = run_record(&trained.file.document, described, None);
    let source = Source {
        called: OURS,
        training: Some((record, &trained.history)),
        caution: record.certificate_caution(),
        thresholds_from: Some(&record.thresholds_from),
        positive_share: None,
    };
    let mut report = assemble(rule, &record.goal, &shown, parts, described, source, run)?;
    if let Some(comparison) = &mut report.comparison {
        comparison.baseline_ships = baseline_ships(job, loaded, &base, &report.shown, described)?;
    }
    Ok(report)
}

/// The rates of cross-entropy's decisions, chosen as the model's were.
fn baseline_ships(
    job: &Job,
    loaded: &Loaded,
    scores: &setpoint_report::ByPart<Option<Vec<f32>>>,
    shown: &str,
    described: &Described,
) -> Result<Vec<Measured>, Failure> {
    let Ok(decision) = choose_by(&*kind_of(job, loaded)?, job, &loaded.parts, scores) else {
        return Ok(Vec::new());
    };
    let part = loaded.parts.get(shown).and_then(Option::as_ref);
    let (Some(part), Some(scores)) = (part, scores.get(shown).and_then(Option::as_deref)) else {
        return Ok(Vec::new());
    };
    decision.rule().rates(&part.sample, scores, described.confidence)
}

/// The report of a model on a data file that was evaluated.
///
/// # Errors
/// If the model does not fit the examples.
pub fn report_model(
    model: &Opened,
    examples: &mut Examples,
    evaluation: &EvaluateRecord,
    described: &Described,
) -> Result<ReportRecord, Failure> {
    let scores = examples.scores(&model.scorer)?;
    let base = model.baseline.as_ref().map(|baseline| examples.scores(baseline)).transpose()?;
    let name = described.title.clone();
    let base = base.as_deref().map(Vec::as_slice);
    let shown = Shown { name: name.clone(), sample: &examples.sample, scores: &scores, base };
    let run = run_record(&model.document, described, evaluation.data_hash.clone());
    let parts = vec![PartRecord { name, evaluation: evaluation.clone() }];
    let trained = model.document.metrics.get("train");
    let source = Source {
        called: OURS,
        training: None,
        caution: model.certificate_caution().map(str::to_owned),
        thresholds_from: None,
        positive_share: trained.and_then(|metrics| metrics.get("positive-share")).copied(),
    };
    assemble(model.decision.rule(), &model.document.goal, &shown, parts, described, source, run)
}

/// The rows that the pictures are of.
pub(crate) struct Shown<'a> {
    pub(crate) name: String,
    pub(crate) sample: &'a Sample,
    pub(crate) scores: &'a [f32],
    pub(crate) base: Option<&'a [f32]>,
}

/// Where a report's scores are from.
pub(crate) struct Source<'a> {
    /// Their name in pictures.
    pub(crate) called: &'static str,
    /// The training run, in a report of one.
    pub(crate) training: Option<(&'a TrainRecord, &'a [StageRecord])>,
    /// What is to be known of the rows that the certificate is from.
    pub(crate) caution: Option<String>,
    /// The part that the thresholds were chosen on, where that is known.
    pub(crate) thresholds_from: Option<&'a str>,
    /// The share of positives in training, where no part says it.
    pub(crate) positive_share: Option<f64>,
}

/// What a kind of decision completes a report by.
pub(crate) struct Scene<'a> {
    pub(crate) shown: &'a Shown<'a>,
    pub(crate) source: &'a Source<'a>,
    pub(crate) confidence: f64,
    /// The interval of the gain, where training has measured it on the rows shown.
    pub(crate) known: Option<Option<Bounds>>,
}

impl Scene<'_> {
    /// What to be careful about where no threshold decides.
    pub(crate) fn cautions(&self, record: &ReportRecord, refused: Option<&str>) -> Vec<CautionRecord> {
        let Source { caution, thresholds_from, .. } = self.source;
        let circumstances = Circumstances {
            parts: &record.parts,
            shown: &self.shown.name,
            refused,
            population: caution.as_deref(),
            thresholds_from: *thresholds_from,
            tied: 0.0,
            trained: None,
            comparison: record.comparison.as_ref(),
        };
        circumstances.cautions()
    }
}

/// A report of a decision for a goal, as that was written.
pub(crate) fn assemble(
    rule: &dyn Rule,
    text: &str,
    shown: &Shown<'_>,
    parts: Vec<PartRecord>,
    described: &Described,
    source: Source<'_>,
    run: RunRecord,
) -> Result<ReportRecord, Failure> {
    let training = source.training;
    let known = training.and_then(|(record, _)| record.gain.as_ref());
    let known = known.filter(|gain| gain.part == shown.name).map(|gain| gain.interval.clone());
    let mut record = ReportRecord {
        title: described.title.clone(),
        goal: text.to_owned(),
        shown: shown.name.clone(),
        parts,
        training: training.map(|(record, _)| record.clone()),
        history: training.map(|(_, history)| history.to_vec()).unwrap_or_default(),
        run,
        ..ReportRecord::default()
    };
    let scene = Scene { shown, source: &source, confidence: described.confidence, known };
    rule.show(&scene, &mut record)?;
    Ok(record)
}

fn run_record(document: &Document, described: &Described, measured_on: Option<String>) -> RunRecord {
    let text = |value: &Value| match value {
        Value::Null | Value::Bool(false) => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let own = ["goal", "data", "seed", "method", "model"];
    RunRecord {
        command: described.command.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        trained_with: Some(document.setpoint.clone()),
        model: Some(document.model.clone()),
        method: Some(document.method.clone()),
        seed: Some(document.seed),
        trained_on: document.data_hash.clone(),
        measured_on,
        settings: document
            .settings
            .iter()
            .filter(|(name, _)| !own.contains(&name.as_str()))
            .filter_map(|(name, value)| Some((name.clone(), text(value)?)))
            .collect(),
    }
}
