//! The record of a report: what a model comes to, pictured, and how to run it again.

use serde_json::Value;
use setpoint::Sample;
use setpoint::artifact::Document;
use setpoint::certify::{Certificate, Method};
use setpoint::goal::{Constraint, Curve, Direction, Goal, Objective, Rate, Relation, parse_conditions};
use setpoint::metric::Cuts;
use setpoint::train::selection::as_fraction;
use setpoint_report::picture::{Pictures, Scene, Subject as Pictured};
use setpoint_report::{
    AtCondition, Bounds, Circumstances, ComparisonRecord, ConditionRecord, EvaluateRecord, Measured,
    NaturalCount, PartRecord, ReportRecord, RunRecord, StageRecord, TrainRecord,
};

use crate::evaluate::{Subject, measured};
use crate::examples::{Examples, Loaded};
use crate::failure::Failure;
use crate::interval::{Measurer, SHARES};
use crate::model::Opened;
use crate::train::{Job, Trained, choose, score};

/// The model's name in pictures, beside cross-entropy's.
const OURS: &str = "Setpoint";
const BASELINE: &str = "cross-entropy";

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
    let goal = as_fraction(&job.goal, Job::rows_scored(loaded));
    let text = job.goal.to_string();
    let subject = Subject {
        text: &text,
        goal: &goal,
        shipped: &trained.shipped,
        shared_threshold: job.settings.shared_threshold,
    };
    let mut parts = Vec::new();
    for ((name, part), (_, scores)) in loaded.parts.iter().zip(trained.scores.iter()) {
        let (Some(part), Some(scores)) = (part, scores) else { continue };
        let mut evaluation = measured(subject, &part.sample, scores, described.confidence)?;
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
            evaluation.at_condition = held_out.map(|value| AtCondition { value, interval: None });
        }
        // Parts that chose the threshold cannot test it.
        if name != "test" {
            (evaluation.drift, evaluation.drift_refused) = (Vec::new(), None);
        }
        parts.push(PartRecord { name: name.to_owned(), evaluation });
    }
    let shown = parts.last().map_or_else(String::new, |part| part.name.clone());
    let scores = trained.scores.get(&shown).and_then(Option::as_deref);
    let examples = loaded.parts.get_mut(&shown).and_then(Option::as_mut);
    let (Some(examples), Some(scores)) = (examples, scores) else {
        return Err(Failure::input("a report needs rows to show"));
    };
    let base = examples.scores(&trained.fitted.baseline)?;
    let shown = Shown { name: shown, sample: &examples.sample, scores, base: Some(&base) };
    let run = run_record(&trained.file.document, described, None);
    let source = Source {
        called: OURS,
        training: Some((record, &trained.history)),
        caution: record.certificate_caution(),
        thresholds_from: Some(&record.thresholds_from),
        positive_share: None,
    };
    let mut report = assemble(subject, shown, parts, described, source, run)?;
    if let Some(comparison) = &mut report.comparison {
        comparison.baseline_ships = baseline_ships(job, &goal, loaded, trained, &report.shown, described)?;
    }
    Ok(report)
}

/// The rates of cross-entropy at a threshold of its own, chosen as the model's was.
fn baseline_ships(
    job: &Job,
    goal: &Goal,
    loaded: &mut Loaded,
    trained: &Trained,
    shown: &str,
    described: &Described,
) -> Result<Vec<Measured>, Failure> {
    let scores = score(&mut loaded.parts, &trained.fitted.baseline)?;
    let Ok(shipped) = choose(job, &goal.operating(), &loaded.parts, &scores) else {
        return Ok(Vec::new());
    };
    let part = loaded.parts.get(shown).and_then(Option::as_ref);
    let (Some(part), Some(scores)) = (part, scores.get(shown).and_then(Option::as_deref)) else {
        return Ok(Vec::new());
    };
    let margins = shipped.margins(&part.sample, scores)?;
    Measurer { confidence: described.confidence }.rates(&part.sample, &margins, &SHARES)
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
    let subject = model.subject();
    let name = described.title.clone();
    let shown =
        Shown { name: name.clone(), sample: &examples.sample, scores: &scores, base: base.as_deref() };
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
    assemble(subject, shown, parts, described, source, run)
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

pub(crate) fn assemble(
    subject: Subject<'_>,
    shown: Shown<'_>,
    parts: Vec<PartRecord>,
    described: &Described,
    source: Source<'_>,
    run: RunRecord,
) -> Result<ReportRecord, Failure> {
    let training = source.training;
    let Subject { text, goal, shipped, .. } = subject;
    let operating = goal.operating();
    let pictures = pictures(subject, &shown, source.called, described.confidence)?;
    let evaluation = parts.iter().find(|part| part.name == shown.name).map(|part| &part.evaluation);
    let at_condition = evaluation.and_then(|evaluation| evaluation.at_condition.clone());
    let known = training.and_then(|(record, _)| record.gain.as_ref());
    let known = known.filter(|gain| gain.part == shown.name).map(|gain| gain.interval.clone());
    let comparison = comparison(subject, &shown, at_condition, known, described.confidence);
    let circumstances = Circumstances {
        parts: &parts,
        shown: &shown.name,
        refused: shipped.refused.as_deref(),
        population: source.caution.as_deref(),
        thresholds_from: source.thresholds_from,
        tied: pictures.tied,
        trained: source.positive_share,
        comparison: comparison.as_ref(),
    };
    let written: Option<Goal> = text.parse().ok();
    Ok(ReportRecord {
        title: described.title.clone(),
        goal: text.to_owned(),
        goal_words: written.as_ref().unwrap_or(goal).describe(),
        operating: operating.to_string(),
        operating_words: operating.describe(),
        conditions: operating.constraints.iter().map(condition).collect(),
        cautions: circumstances.cautions(),
        shown: shown.name,
        parts,
        comparison,
        repeats: None,
        pictures,
        training: training.map(|(record, _)| record.clone()),
        history: training.map(|(_, history)| history.to_vec()).unwrap_or_default(),
        run,
    })
}

fn condition(constraint: &Constraint) -> ConditionRecord {
    let (rate, target) = match constraint {
        Constraint::Rate { rate, target, .. } | Constraint::PerGroup { rate, target, .. } => {
            (Some(rate.to_string()), *target)
        }
        Constraint::Gap { target, .. } | Constraint::Ratio { target, .. } => (None, *target),
        Constraint::Top(setpoint::goal::Top::Fraction(share)) => {
            (Some(Rate::PositiveRate.to_string()), *share)
        }
        Constraint::Top(setpoint::goal::Top::Count { k, of }) => {
            let share = of.map(|of| *k as f64 / of as f64);
            (share.map(|_| Rate::PositiveRate.to_string()), share.unwrap_or_default())
        }
    };
    ConditionRecord { condition: constraint.to_string(), words: constraint.describe(), rate, target }
}

fn pictures(
    Subject { goal, shipped, .. }: Subject<'_>,
    shown: &Shown<'_>,
    called: &'static str,
    confidence: f64,
) -> Result<Pictures, Failure> {
    let margins = shipped.groups.is_some();
    let cuts = if margins {
        Cuts::new(shown.sample, &shipped.margins(shown.sample, shown.scores)?)?
    } else {
        Cuts::new(shown.sample, shown.scores)?
    };
    let base = shown.base.map(|scores| Cuts::new(shown.sample, scores)).transpose()?;
    Ok(Pictures::of(&Scene {
        goal,
        model: Pictured { name: called, cuts: &cuts },
        baseline: base.as_ref().map(|cuts| Pictured { name: BASELINE, cuts }),
        threshold: if margins { 0.0 } else { shipped.thresholds[0] },
        margins,
        certified: shipped.certificate.as_ref().and_then(covered),
        weighted: shown.sample.weights().is_some(),
        confidence,
    }))
}

/// The thresholds for which a certificate's proof holds as well: those on the safe side of an order
/// statistic. `None` where a condition was proved at the threshold alone, or there are groups.
fn covered(certificate: &Certificate) -> Option<(f32, f32)> {
    let (mut low, mut high) = (f32::MIN, f32::MAX);
    if certificate.column.is_some() || certificate.conditions.is_empty() {
        return None;
    }
    for certified in &certificate.conditions {
        let Method::OrderStatistic { limit, .. } = certified.method else { return None };
        let parsed = parse_conditions(&certified.condition).ok()?;
        let Some(Constraint::Rate { rate, relation, .. }) = parsed.first() else { return None };
        let upwards = match rate {
            Rate::FalsePositiveRate | Rate::TrueNegativeRate => true,
            Rate::Recall | Rate::FalseNegativeRate => false,
            _ => *relation != Relation::AtLeast,
        };
        (low, high) = if upwards { (low.max(limit), high) } else { (low, high.min(limit)) };
    }
    (low < high).then_some((low, high))
}

fn comparison(
    subject: Subject<'_>,
    shown: &Shown<'_>,
    model: Option<AtCondition>,
    known: Option<Option<Bounds>>,
    confidence: f64,
) -> Option<ComparisonRecord> {
    let goal = subject.goal;
    let (model, base) = (model?, shown.base?);
    let measurer = Measurer { confidence };
    let baseline = measurer.at_condition(subject, shown.sample, base).ok()?;
    let (first, second) = match goal.objective.direction() {
        Direction::Down => (base, shown.scores),
        _ => (shown.scores, base),
    };
    let gain = match goal.objective.direction() {
        Direction::Down => baseline.value - model.value,
        _ => model.value - baseline.value,
    };
    let interval = known
        .unwrap_or_else(|| measurer.difference(goal, subject.shared_threshold, shown.sample, first, second));
    let counts = natural(goal).map(|(noun, of)| NaturalCount {
        more: 1000.0 * gain,
        noun: noun.to_owned(),
        of: of.to_owned(),
    });
    Some(ComparisonRecord {
        name: BASELINE.to_owned(),
        model,
        baseline,
        gain,
        interval,
        counts,
        baseline_ships: Vec::new(),
    })
}

/// The examples that a gain in the objective is counted in, and of which.
fn natural(goal: &Goal) -> Option<(&'static str, &'static str)> {
    let rate = match &goal.objective {
        Objective::Rate(rate) => *rate,
        Objective::Area(area) if area.curve == Curve::PrecisionRecall => area.height()?,
        Objective::Area(_) => return None,
    };
    match rate {
        Rate::Recall | Rate::FalseNegativeRate => Some(("positives caught", "positives")),
        Rate::Precision | Rate::FalseDiscoveryRate => Some(("alarms that are right", "alarms")),
        Rate::FalsePositiveRate | Rate::TrueNegativeRate => Some(("negatives left alone", "negatives")),
        Rate::Accuracy | Rate::Error => Some(("rows decided rightly", "rows")),
        _ => None,
    }
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
