//! A model's certificate watched from batch to batch.

use setpoint::Sample;
use setpoint::artifact::ModelFile;
use setpoint::certify::monitor::Monitor;
use setpoint_data::Codes;
use setpoint_report::{HintPointRecord, HintRecord, MonitorRecord, WatchedPoint, WatchedRecord, widened};

use crate::failure::Failure;
use crate::kind::Decision;
use crate::model::Opened;

/// Begins to watch a model.
///
/// # Errors
/// If alpha is not in (0, 1), or there is nothing to watch.
pub fn begin(file: &ModelFile, model: &Opened, alpha: f64) -> Result<Monitor, Failure> {
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(Failure::input(format!(
            "‹alpha {alpha}›: expected a chance between 0 and 1, such as 0.05"
        )));
    }
    let rule = model.decision.rule();
    if let Decision::Place(_) = &model.decision {
        return Err(Failure::input(
            "the model puts the rows of each query in order, and a watch is of decisions about rows: test its certificate \
             on new queries with evaluate ‹check›, or certify it on them (setpoint recertify)",
        ));
    }
    if rule.certified().is_none() && rule.known().is_none() {
        return Err(Failure::input(
            "the model has neither a certificate nor a sketch of its calibration scores, so there is nothing to watch; \
             certify it on labelled rows (setpoint recertify)",
        ));
    }
    Ok(Monitor::new(&file.digest()?, rule.certified(), alpha)?)
}

/// Goes on with a state that was kept.
///
/// # Errors
/// If it cannot be read, is of another model, or of another alpha than the one given.
pub fn resume(state: &str, file: &ModelFile, model: &Opened, alpha: Option<f64>) -> Result<Monitor, Failure> {
    let monitor: Monitor = serde_json::from_str(state)
        .map_err(|error| Failure::input(format!("not the state of a watch, or damaged: {error}")))?;
    let digest = file.digest()?;
    if monitor.model() != digest {
        return Err(Failure::input(format!(
            "the state is of another model (its file has the digest {}..., this one {}...): give this model a state of \
             its own",
            monitor.model().chars().take(12).collect::<String>(),
            &digest[..12]
        )));
    }
    if !monitor.fits(&digest, model.decision.rule().certified()) {
        return Err(Failure::input(
            "the state is damaged, or of another version: it does not fit the certificate",
        ));
    }
    match alpha {
        Some(alpha) if alpha != monitor.alpha() => Err(Failure::input(format!(
            "‹alpha {alpha}›: the watch began with {}, and its promise is for that; leave it out, or begin another state",
            monitor.alpha()
        ))),
        _ => Ok(monitor),
    }
}

/// Adds labelled rows; returns what to know of them. Nothing is added on an error.
///
/// # Errors
/// If the model has no certificate, or the rows do not fit it.
pub fn add(
    monitor: &mut Monitor,
    model: &Opened,
    sample: &Sample,
    scores: &[f32],
) -> Result<Vec<String>, Failure> {
    let rule = model.decision.rule();
    let Some(certified) = rule.certified() else {
        return Err(Failure::input(
            "the model has no certificate of conditions that labelled rows could break; certify it (setpoint recertify), or watch rows \
             without labels (‹unlabelled›)",
        ));
    };
    let (sample, unknown) = rule.as_trained(model.pooled().as_deref(), sample)?;
    let notes = monitor.add(certified, &sample, scores)?;
    Ok(unknown.into_iter().chain(notes).collect())
}

/// Adds rows without labels, by their scores; `groups` are theirs where thresholds are by group.
///
/// # Errors
/// If the model's file holds no sketch.
pub fn add_unlabelled(
    monitor: &mut Monitor,
    model: &Opened,
    scores: &[f32],
    groups: Option<&Codes>,
) -> Result<(), Failure> {
    let rule = model.decision.rule();
    let known = rule.known().ok_or_else(|| {
        Failure::input(
            "the model file holds no sketch of its calibration scores (it was written by an earlier version, its rows \
             come in entities, or were sampled or weighed), so rows without labels tell nothing; recertify the model \
             on rows of its own kind, or train it anew, to get one",
        )
    })?;
    let rows = (scores.len() / model.decision.outputs()) as u64;
    Ok(monitor.add_unlabelled(&known, &rule.seen(scores, groups)?, rows)?)
}

/// Where a watch stands; the file's name is for the caller to add.
///
/// # Errors
/// If it is not a watch of this model.
pub fn monitor_record(monitor: &Monitor, model: &Opened) -> Result<MonitorRecord, Failure> {
    let ten = std::f64::consts::LN_10;
    let mut conditions = Vec::new();
    let rule = model.decision.rule();
    if let (Some(certified), Some(certificate)) = (rule.certified(), rule.certificate()) {
        let targets = certificate.conditions.iter().map(|certified| certified.target);
        for (place, (status, target)) in monitor.status(certified)?.into_iter().zip(targets).enumerate() {
            let history = monitor.history().iter().map(|moment| {
                let point = &moment.points[place];
                WatchedPoint {
                    rows: moment.rows,
                    rate: (point.examples > 0.0).then(|| point.counted / point.examples),
                    log10_evidence: point.log_evidence / ten,
                    lower: point.lower,
                    upper: point.upper,
                }
            });
            conditions.push(WatchedRecord {
                history: history.collect(),
                condition: status.condition,
                group: status.group,
                target,
                counted: status.counted,
                examples: status.examples,
                of: status.noun,
                rate: status.rate,
                lower: status.interval.lower,
                upper: status.interval.upper,
                evidence: status.evidence,
                alarm_at: status.alarm_at,
                alarm_after: status.alarm,
                told: status.told,
                needed: status.needed,
                needed_rows: status.needed_rows,
                survives_mix: status.survives_mix,
            });
        }
    }
    let hints = rule.known().map(|known| monitor.hints(&known)).transpose()?.unwrap_or_default();
    // Of several shares, the one that changed most.
    let shown = hints.first().map_or(0, |hint| hint.place);
    let hint_history = monitor.hint_history().iter().map(|moment| HintPointRecord {
        rows: moment.rows,
        decided: (moment.decided.get(shown).filter(|_| moment.batch > 0))
            .map(|decided| *decided as f64 / moment.batch as f64),
        log10_evidence: moment.log_evidence.iter().map(|log| log / ten).collect(),
    });
    let (rows, unlabelled) = monitor.rows();
    Ok(MonitorRecord {
        artifact: String::new(),
        goal: model.document.goal.clone(),
        alpha: monitor.alpha(),
        rows,
        unlabelled,
        alarm: monitor.alarmed(),
        hint: monitor.hinted(),
        conditions,
        hints: hints
            .into_iter()
            .enumerate()
            .map(|(known, hint)| {
                let (what, score) = rule.hint(known, hint.place);
                HintRecord {
                    what,
                    score: score.map(widened),
                    expected: hint.expected,
                    observed: hint.observed,
                    evidence: hint.evidence,
                    alarm_at: hint.alarm_at,
                    alarm_after: hint.alarm,
                }
            })
            .collect(),
        hint_history: hint_history.collect(),
        notes: Vec::new(),
    })
}
