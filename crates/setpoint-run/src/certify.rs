//! Thresholds that hold on new data, for any model's scores.
//!
//! Scores come as 64-bit numbers, and are certified by their ranks ([`Ranked`]): nothing is rounded.

use serde_json::{Value, json};
use setpoint::Sample;
use setpoint::certify::{
    Certificate, CertifyError, CertifyOptions, FrontierOptions, certify as prove, certify_apart,
    certify_mean, needs_frontier,
};
use setpoint::goal::{Constraint, Goal, Objective, QueryGoal, Rate, parse_conditions};
use setpoint::metric::Ranked;
use setpoint::rank::{Empty, Queries, Values};
use setpoint_report::{BoundRecord, CertificateRecord};

use crate::failure::Failure;

/// Rows for each score from which repetition is suspected.
const REPEATED: usize = 3;
/// Fewest different scores of rows that may be copies; fewer are the levels of a coarse model.
const LEAST_COPIED: usize = 50;

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
    /// Whether limits will do that hold about as often as asked for, with no proof.
    pub approximate: bool,
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
            return Ok(Self::of(constraints, Some(objective)));
        }
        match (parse_conditions(text), text.parse::<Goal>()) {
            // Words that mean a goal: `recall at fpr < 5%`.
            (Err(_), Err(error)) if error.meant().is_some() => Err(error.into()),
            (conditions, _) => Ok(Self::of(conditions?, None)),
        }
    }

    /// These conditions, proved, with a threshold for each group where they are on groups.
    pub fn of(conditions: Vec<Constraint>, objective: Option<Objective>) -> Self {
        Self { conditions, objective, shared_threshold: false, approximate: false }
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
    /// The same in terms of scores.
    pub certificate: CertificateRecord,
    /// That as plain data.
    pub record: Value,
    /// The same in words.
    pub text: String,
    /// What speaks against taking the rows for independent draws.
    pub caution: Option<String>,
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
        approximate: asked.approximate,
        ..CertifyOptions::new(confidence)
    };
    // Without an objective, what weighs both kinds of mistake chooses among decisions that are proved.
    let objective = asked.objective.clone().unwrap_or(Rate::BalancedAccuracy.into());
    let goal = Goal { objective, constraints: asked.conditions.clone() };
    let certificate = if needs_frontier(&goal) && !goal.abstains() && !asked.approximate {
        let shared_threshold = asked.shared_threshold;
        let options = FrontierOptions { confidence, shared_threshold, inclusion: None };
        certify_apart(&goal, sample, &ranked.ranks()?, &options)
    } else {
        prove(&asked.conditions, sample, &ranked.ranks()?, &options)
    };
    let certificate = certificate.map_err(|error| in_scores(error, &ranked))?;
    let caution = copies(sample, &ranked);
    let in_scores = CertificateRecord::of_scores(certificate.clone(), |rank| ranked.score(rank));
    let mut record = serde_json::to_value(&in_scores)?;
    record["caution"] = json!(caution);
    let (text, thresholds) = (in_scores.to_string(), in_scores.thresholds.clone());
    Ok(Certified { record, text, thresholds, certificate: in_scores, by_rank: certificate, caution })
}

/// A caution where rows seem to be repeated: a few scores, many rows each, of one label as copies are.
fn copies(sample: &Sample, ranked: &Ranked<'_>) -> Option<String> {
    if sample.entities().is_some() {
        return None;
    }
    let (rows, different) = (sample.len(), ranked.distinct());
    let alike = |tie: &&[u32]| {
        let label = |row: &u32| sample.labels()[*row as usize];
        tie.iter().all(|row| label(row) == label(&tie[0]))
    };
    let of_one_label = ranked.ties().filter(alike).count();
    let copied = different >= LEAST_COPIED && REPEATED * different <= rows;
    (copied && 20 * of_one_label >= 19 * different).then(|| {
        format!(
            "{rows} rows have {different} different scores, nearly all of one label each: if rows are repeated, or \
             several belong to one case, they are not independent draws; say which belong together (split_by)"
        )
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

/// What the order of scores within queries is worth at least, on average over new queries.
///
/// # Errors
/// If the queries do not prove what is asked for, or prove nothing.
pub fn certify_order(
    goal: &QueryGoal,
    queries: &Queries,
    scores: &[f64],
    empty: Empty,
    confidence: f64,
    at_least: Option<f64>,
) -> Result<BoundRecord, Failure> {
    let ranks = Ranked::new(scores)?.ranks()?;
    let values = Values::new(goal, queries, &ranks, empty.into())?.counted();
    let full = certify_mean(&values, confidence, at_least)?;
    Ok(BoundRecord { metric: goal.objective(), full })
}
