//! A model on labelled data: rates with intervals, and whether its certificate still holds.

use setpoint::Sample;
use setpoint::certify::{Drift, Verdict, drift};
use setpoint::goal::{Constraint, Goal, parse_conditions};
use setpoint::metric::confusion;
use setpoint_report::{CertificateRecord, DriftRecord, EvaluateRecord, widened};

use crate::examples::Examples;
use crate::failure::Failure;
use crate::group::{POOL, pool_others, spell_as};
use crate::interval::{Measurer, RATES};
use crate::measure;
use crate::model::Opened;
use crate::threshold::Shipped;

/// Measures a model; the file's name, the data's hash and notes on reading it are for the caller to add.
///
/// # Errors
/// If the data lacks the model's groups, or a rate cannot be measured on it.
pub fn evaluate(model: &Opened, examples: &mut Examples, confidence: f64) -> Result<EvaluateRecord, Failure> {
    let (sample, unknown) = known_groups(model, &examples.sample)?;
    examples.sample = sample;
    let scores = examples.scores(&model.scorer)?;
    let mut record = measured(model.subject(), &examples.sample, &scores, confidence)?;
    record.label = model.schema.label_record();
    let caution =
        model.certificate_caution().map(|caution| format!("the certificate has a caution: {caution}"));
    record.notes = unknown.into_iter().chain(caution).chain(record.decided_alike()).collect();
    Ok(record)
}

/// The sample with groups called and pooled as the model knows them, and what to say of those it does not know.
pub(crate) fn known_groups(model: &Opened, sample: &Sample) -> Result<(Sample, Option<String>), Failure> {
    let known = match (&model.shipped.groups, &model.shipped.certificate) {
        (Some(groups), _) => &groups.names[..],
        (None, Some(certificate)) => &certificate.groups,
        (None, None) => &[],
    };
    let spelled = spell_as(sample, known)?;
    let found = spelled.groups();
    let unknown = found.and_then(|found| model.unknown_groups(found.names(), found.codes()));
    match &model.shipped.groups {
        Some(groups) if groups.names.iter().any(|name| name == POOL) => {
            Ok((pool_others(&spelled, &groups.names)?, unknown))
        }
        _ => Ok((spelled, unknown)),
    }
}

/// What is measured: a goal, and the thresholds that ship for it.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// The goal as it was written.
    pub(crate) text: &'a str,
    /// The goal, `k=` as a fraction.
    pub(crate) goal: &'a Goal,
    /// The thresholds.
    pub(crate) shipped: &'a Shipped,
    /// Whether its groups share one threshold.
    pub(crate) shared_threshold: bool,
}

/// Measures scores and the decisions on them.
pub(crate) fn measured(
    subject: Subject<'_>,
    sample: &Sample,
    scores: &[f32],
    confidence: f64,
) -> Result<EvaluateRecord, Failure> {
    let Subject { text, goal, shipped, .. } = subject;
    let margins = shipped.margins(sample, scores)?;
    let measurer = Measurer { confidence };
    let counts = confusion::at(sample, &margins, 0.0)?;
    let operating = goal.operating();
    let found = sample.groups().filter(|groups| operating.column() == Some(groups.column()));
    let names = found.map_or_else(Vec::new, |groups| groups.names().to_vec());
    let (at_condition, at_condition_refused) = match measurer.at_condition(subject, sample, scores) {
        Ok(at) => (Some(at), None),
        Err(failure) => (None, Some(failure.message)),
    };
    let certificate = shipped.certificate.clone();
    let (drifts, drift_refused) = match certificate.as_ref().map(|one| drift(one, sample, scores)) {
        None => (Vec::new(), None),
        Some(Ok(drifts)) => (drifts, None),
        Some(Err(error)) => (Vec::new(), Some(error.to_string())),
    };
    Ok(EvaluateRecord {
        artifact: String::new(),
        goal: text.to_owned(),
        operating: operating.to_string(),
        label: None,
        rows: sample.len() as u64,
        positives: sample.labels().iter().filter(|label| **label).count() as u64,
        at_condition,
        at_condition_refused,
        at_threshold: measurer.rates(sample, &margins, &RATES)?,
        unmet: measure::unmet(&operating, &names, sample, &margins)?,
        thresholds: shipped.thresholds.iter().copied().map(widened).collect(),
        confusion: measure::counted(&counts),
        ranking: measurer.ranking(sample, scores),
        groups: measurer.groups(shipped, sample, &margins, &RATES)?,
        certificate: certificate.map(CertificateRecord::new),
        approximate: shipped.approximate.clone().map(CertificateRecord::new),
        certificate_refused: shipped.refused.clone(),
        drift: drifts.iter().map(drift_record).collect(),
        drift_refused,
        data_hash: None,
        notes: Vec::new(),
    })
}

fn drift_record(drift: &Drift) -> DriftRecord {
    DriftRecord {
        condition: drift.condition.clone(),
        group: drift.group.clone(),
        verdict: match drift.verdict {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            _ => "inconclusive",
        },
        observed: drift.observed,
        examples: drift.examples,
        p_value: drift.p_value,
        level: drift.level,
        survives_mix: parse_conditions(&drift.condition)
            .is_ok_and(|parsed| parsed.iter().all(Constraint::survives_mix)),
        text: drift.to_string(),
    }
}
