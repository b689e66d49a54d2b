//! Thresholds that hold on new data, for any model's scores.
//!
//! Scores come as 64-bit numbers, and are certified by their ranks ([`Ranked`]): nothing is rounded.

use serde_json::{Value, json};
use setpoint::Sample;
use setpoint::certify::{Certificate, CertifyError, CertifyOptions, Method, certify as prove};
use setpoint::goal::{Constraint, Goal, Objective, parse_conditions};
use setpoint::metric::Ranked;
use setpoint_report::CertificateRecord;

use crate::failure::Failure;

/// What is asked of thresholds: conditions alone, or an operating goal whose objective chooses among
/// the thresholds allowed.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// What must hold.
    pub conditions: Vec<Constraint>,
    /// What to improve.
    pub objective: Option<Objective>,
    /// Whether groups share one threshold.
    pub shared_threshold: bool,
}

impl Asked {
    /// Reads `fpr<=1%` or `recall @ fpr<=1%`.
    ///
    /// # Errors
    /// If it is neither conditions nor a goal.
    pub fn new(text: &str) -> Result<Self, Failure> {
        if text.contains('@') {
            let goal: Goal = text.parse()?;
            let Goal { objective, constraints } = goal.operating();
            return Ok(Self { conditions: constraints, objective: Some(objective), shared_threshold: false });
        }
        Ok(Self { conditions: parse_conditions(text)?, objective: None, shared_threshold: false })
    }

    /// The group column that the conditions name.
    pub fn column(&self) -> Option<&str> {
        self.conditions.iter().find_map(Constraint::column)
    }
}

/// A certificate for scores of 64 bits.
#[derive(Clone, Debug)]
pub struct Certified {
    /// One, or one for each of the certificate's groups.
    pub thresholds: Vec<f64>,
    /// The certificate, with its thresholds as ranks of the scores.
    pub by_rank: Certificate,
    /// The certificate as plain data, in terms of scores.
    pub record: Value,
    /// The same in words.
    pub text: String,
}

/// Certifies thresholds on these scores.
///
/// # Errors
/// If the scores are too few, do not fit the sample, or the conditions cannot be certified.
pub fn certify(
    asked: &Asked,
    sample: &Sample,
    scores: &[f64],
    confidence: f64,
) -> Result<Certified, Failure> {
    let ranked = Ranked::new(scores)?;
    let options = CertifyOptions {
        objective: asked.objective.clone(),
        shared_threshold: asked.shared_threshold,
        ..CertifyOptions::new(confidence)
    };
    let certificate = prove(&asked.conditions, sample, &ranked.ranks()?, &options);
    let certificate = certificate.map_err(|error| in_scores(error, &ranked))?;
    let thresholds: Vec<f64> = certificate.thresholds.iter().map(|one| ranked.score(*one)).collect();
    Ok(Certified {
        record: record(&certificate, &thresholds, &ranked)?,
        text: describe(&certificate, &ranked),
        thresholds,
        by_rank: certificate,
    })
}

/// A refusal with ranks turned back into scores.
fn in_scores(error: CertifyError, ranked: &Ranked<'_>) -> CertifyError {
    match error {
        CertifyError::Contradiction { group, strict, at_least, loose, at_most } => {
            let (at_least, at_most) = (ranked.score(at_least) as f32, ranked.score(at_most) as f32);
            CertifyError::Contradiction { group, strict, at_least, loose, at_most }
        }
        other => other,
    }
}

/// The certificate as plain data, with ranks turned back into scores.
fn record(certificate: &Certificate, thresholds: &[f64], ranked: &Ranked<'_>) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(certificate)?;
    value["condition"] = json!(CertificateRecord::new(certificate.clone()).condition);
    let one = certificate.threshold(None).map(|threshold| ranked.score(threshold));
    value["threshold"] = one.map_or(Value::Null, |threshold| json!(threshold));
    value["thresholds"] = json!(thresholds);
    for (place, certified) in certificate.conditions.iter().enumerate() {
        if let Method::OrderStatistic { limit, .. } = certified.method {
            value["conditions"][place]["method"]["limit"] = json!(ranked.score(limit));
        }
    }
    Ok(value)
}

fn describe(certificate: &Certificate, ranked: &Ranked<'_>) -> String {
    let mut text = format!(
        "certified at {}% confidence on {} examples",
        100.0 * certificate.confidence,
        certificate.examples
    );
    if certificate.conditions.len() > 1 {
        text += &format!(", shared by {} conditions", certificate.conditions.len());
    }
    for condition in &certificate.conditions {
        let threshold = certificate.threshold(condition.group.as_deref()).map(|one| ranked.score(one));
        text += &format!("\n  {condition} at threshold {}", threshold.unwrap_or(f64::NAN));
    }
    text
}
