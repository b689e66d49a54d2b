//! New thresholds or shifts and a new certificate from new rows, the model as it is.

use serde_json::{Value, json};
use setpoint::Sample;
use setpoint::artifact::ModelFile;
use setpoint::certify::monitor::Sketch;
use setpoint::certify::{
    CertifyError, CertifyOptions, FrontierOptions, certify, certify_apart, needs_frontier,
};
use setpoint::goal::{Constraint, Goal};
use setpoint::message::list;
use setpoint::mix::{estimate, same_classes};
use setpoint_report::{CertificateRecord, MixRecord, RecertifyRecord, widened};

use crate::failure::Failure;
use crate::kind::{ByThreshold, positive};
use crate::model::{CAUTION, EARLIER, Opened};
use crate::probability::Probability;
use crate::threshold::{Scored, Shipped, solve};

/// The chance of a false word against label shift.
const LEVEL: f64 = 0.01;

/// Which rows the labelled ones are meant to stand for.
#[derive(Clone, Debug, PartialEq)]
pub enum Meant {
    /// Themselves: they are draws of what the model will score.
    Themselves,
    /// Those they were sampled from, each with the chance given.
    Sampled(Vec<f64>),
    /// Rows with another share of positives, each class scoring as in these.
    Prevalence(f64),
    /// Rows with these scores and no labels, whose share of positives is estimated; so.
    Unlabelled(Vec<f32>),
}

/// A model certified anew.
pub struct Recertified {
    /// The new model file.
    pub file: ModelFile,
    /// What changed; names and notes on reading are for the caller to add.
    pub record: RecertifyRecord,
}

/// Certifies a model anew on labelled rows with its scores.
///
/// Where the goal has conditions that no certificate exists for, the thresholds are exact on the rows.
///
/// # Errors
/// If the rows cannot certify the conditions, lack a group of the model, or do not fit it.
pub fn recertify(
    file: &ModelFile,
    model: &Opened,
    sample: &Sample,
    scores: &[f32],
    meant: &Meant,
    confidence: f64,
    data_hash: Option<&str>,
) -> Result<Recertified, Failure> {
    let rule = model.decision.rule();
    let (sample, unknown) = rule.as_trained(model.pooled().as_deref(), sample)?;
    let (now, record) = rule.recertify(&sample, scores, meant, confidence)?;
    let mut new = file.clone();
    remember(&mut new, model, data_hash);
    now.rule().store(&mut new)?;
    let record = RecertifyRecord {
        goal: model.document.goal.clone(),
        notes: unknown.into_iter().chain(record.notes).collect(),
        ..record
    };
    Ok(Recertified { file: new, record })
}

/// New thresholds.
pub(crate) fn by_threshold(
    decision: &ByThreshold,
    sample: &Sample,
    scores: &[f32],
    meant: &Meant,
    confidence: f64,
) -> Result<(ByThreshold, RecertifyRecord), Failure> {
    check_groups(decision, sample)?;
    let goal = decision.goal.operating();
    let mix = mix(decision, sample, scores, meant, confidence)?;
    let prevalence = mix.as_ref().map(|mix| (mix.lower, mix.upper));
    let inclusion = match meant {
        Meant::Sampled(chances) => Some(chances.clone()),
        _ => None,
    };
    let options = CertifyOptions {
        objective: Some(goal.objective.clone()),
        shared_threshold: decision.shared_threshold,
        inclusion,
        prevalence,
        ..CertifyOptions::new(confidence)
    };
    let weighed = options.weighed(sample)?;
    let rows = weighed.as_ref().unwrap_or(sample);
    let shipped = shipped(decision, &goal, sample, rows, scores, &options)?;
    let sketch = match meant {
        Meant::Themselves => {
            let margins = shipped.margins(sample, scores)?;
            Sketch::of(sample, scores, positive(&margins))
        }
        _ => None,
    };
    let (survive, depend): (Vec<_>, Vec<_>) = goal.constraints.iter().partition(|one| one.survives_mix());
    let names = |some: Vec<&Constraint>| some.into_iter().map(ToString::to_string).collect();
    let record = RecertifyRecord {
        rows: sample.len() as u64,
        positives: Some(sample.labels().iter().filter(|label| **label).count() as u64),
        thresholds_before: decision.shipped.thresholds.iter().copied().map(widened).collect(),
        thresholds: shipped.thresholds.iter().copied().map(widened).collect(),
        groups: shipped.groups.as_ref().map(|groups| groups.names.clone()).unwrap_or_default(),
        certificate: shipped.certificate.clone().map(CertificateRecord::new),
        certificate_refused: shipped.refused.clone(),
        mix,
        survives_mix: names(survive),
        depends_on_mix: names(depend),
        ..RecertifyRecord::default()
    };
    let probability = Some(Probability::fit(rows, scores));
    let now = ByThreshold { shipped, probability, sketch, ..decision.clone() };
    Ok((now, record))
}

/// Refuses rows without some group that the model has a threshold for: it would be lost.
fn check_groups(decision: &ByThreshold, sample: &Sample) -> Result<(), Failure> {
    let Some(known) = &decision.shipped.groups else { return Ok(()) };
    let found = sample.groups().map(|groups| groups.names().to_vec()).unwrap_or_default();
    let missing: Vec<String> = known.names.iter().filter(|name| !found.contains(name)).cloned().collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::input(format!(
        "the rows have none of group {} of column {:?}, and the model needs a threshold for each: bring rows of all",
        list(&missing),
        known.column
    )))
}

/// The share of positives that is meant, where it is not that of the rows, and what speaks against label shift.
fn mix(
    decision: &ByThreshold,
    sample: &Sample,
    scores: &[f32],
    meant: &Meant,
    confidence: f64,
) -> Result<Option<MixRecord>, Failure> {
    let (share, lower, upper, p_value) = match meant {
        Meant::Themselves | Meant::Sampled(_) => return Ok(None),
        Meant::Prevalence(share) if *share > 0.0 && *share < 1.0 => (*share, *share, *share, None),
        Meant::Prevalence(share) => {
            return Err(Failure::input(format!(
                "‹prevalence {share}›: expected a share between 0 and 1, such as 2% or 0.02"
            )));
        }
        Meant::Unlabelled(unlabelled) => {
            let mix = estimate(sample, scores, unlabelled, confidence)?;
            (mix.share, mix.lower, mix.upper, Some(mix.p_value))
        }
    };
    let within = decision.sketch.as_ref().map(|sketch| same_classes(sketch, sample, scores));
    let within: Vec<f64> = within.into_iter().flatten().flatten().collect();
    let within = within.iter().copied().reduce(f64::min).map(|least| (least * within.len() as f64).min(1.0));
    let totals = sample.totals();
    Ok(Some(MixRecord {
        share,
        lower,
        upper,
        estimated: p_value.is_some(),
        of_rows: totals.positives / (totals.positives + totals.negatives),
        mixture_p_value: p_value,
        classes_p_value: within,
        doubtful: p_value.into_iter().chain(within).any(|p| p <= LEVEL),
    }))
}

/// The thresholds: certified, or exact where the goal's conditions have no certificate.
fn shipped(
    decision: &ByThreshold,
    goal: &Goal,
    sample: &Sample,
    weighed: &Sample,
    scores: &[f32],
    options: &CertifyOptions,
) -> Result<Shipped, Failure> {
    let proved = match (needs_frontier(goal), options.prevalence) {
        (true, None) => {
            let CertifyOptions { confidence, shared_threshold, inclusion, .. } = options;
            let (confidence, shared_threshold) = (*confidence, *shared_threshold);
            let along = FrontierOptions { confidence, shared_threshold, inclusion: inclusion.as_deref() };
            certify_apart(goal, sample, scores, &along)
        }
        _ => certify(&goal.constraints, sample, scores, options),
    };
    let refused = match proved {
        Ok(certificate) => {
            let shipped = Shipped::of(certificate.clone(), "calibration");
            let certificate = Some(certificate);
            return Ok(match decision.shared_threshold {
                true => Shipped {
                    thresholds: shipped.thresholds[..1].to_vec(),
                    groups: None,
                    certificate,
                    ..shipped
                },
                false => Shipped { certificate, ..shipped },
            });
        }
        Err(error @ (CertifyError::CannotCertify { .. } | CertifyError::NoCondition)) => error.to_string(),
        Err(error) => return Err(error.into()),
    };
    let part = Scored { name: "calibration", sample: weighed, scores };
    let thresholds = solve(goal, decision.shared_threshold, part)?;
    let groups = decision.shipped.groups.clone().filter(|groups| groups.names.len() == thresholds.len());
    if thresholds.len() > 1 && groups.is_none() && !goal.abstains() {
        return Err(Failure::input("the rows have other groups than the model"));
    }
    let groups = groups.map(|groups| setpoint::artifact::Groups {
        names: sample.groups().map_or(groups.names, |found| found.names().to_vec()),
        ..groups
    });
    Ok(Shipped {
        thresholds,
        groups,
        certificate: None,
        approximate: None,
        refused: Some(refused),
        from: "calibration",
    })
}

/// Keeps what the new certificate takes the place of.
fn remember(file: &mut ModelFile, model: &Opened, data_hash: Option<&str>) {
    let settings = &mut file.document.settings;
    let before = json!({
        "certificate": model.document.certificate,
        "approximate": model.document.approximate,
        "thresholds": model.document.thresholds,
        "decision": model.document.decision,
        "groups": model.document.groups,
        "caution": settings.remove(CAUTION),
        "data": settings.get("recertified-on"),
    });
    match settings.get_mut(EARLIER) {
        Some(Value::Array(earlier)) => earlier.push(before),
        _ => {
            settings.insert(EARLIER.to_owned(), json!([before]));
        }
    }
    settings.insert("recertified-on".to_owned(), json!(data_hash));
}
