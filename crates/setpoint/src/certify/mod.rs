//! Thresholds with finite-sample guarantees.
//!
//! A threshold tuned on data only holds on that data. [`certify`] takes a calibration sample that
//! was used neither for training nor for selection and picks the threshold so that the conditions
//! hold *on new data from the same distribution*, with probability 1 - delta over the draw of the
//! calibration sample. No model of the scores is assumed, only that examples are independent
//! draws; ties are handled on the safe side.
//!
//! | condition | what is certified | how |
//! |---|---|---|
//! | `fpr`, `tnr`, `recall`, `fnr`, `positive-rate` | all thresholds on one side of a limit | one order statistic of the slice's scores |
//! | `precision`, `fdr`, `npv`, `for` | single thresholds | exact binomial tests on a grid of ranks, or of thresholds fixed in advance |
//! | the same, `(column)` | a threshold for each group | as above, within each group |
//!
//! `=` is certified on its safe side. Several conditions and groups share delta equally
//! (Bonferroni). The proofs are in the files: `order_statistic.rs` and `predictive.rs`.
//!
//! [`drift`] tests on new labelled data whether a certified rate still holds.
//!
//! ```
//! use setpoint::certify::{CertifyOptions, certify};
//! use setpoint::goal::parse_conditions;
//! use setpoint::sample::Sample;
//!
//! let scores: Vec<f32> = (0..1000).map(|i| i as f32 / 1000.0).collect();
//! let sample = Sample::new(scores.iter().map(|score| *score > 0.8).collect())?;
//! let conditions = parse_conditions("fpr<=5%")?;
//! let certificate = certify(&conditions, &sample, &scores, &CertifyOptions::new(0.95))?;
//! // 5% of 801 negatives would be 40; to be sure of the population, 29 may be above the threshold.
//! assert_eq!(certificate.conditions[0].counted, 29);
//! assert!(scores[771] < certificate.thresholds[0] && certificate.thresholds[0] <= scores[772]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod certificate;
mod claim;
mod drift;
mod error;
mod level;
mod order_statistic;
mod part;
mod predictive;
mod region;
mod shared;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use certificate::{Certificate, CertifiedCondition, Method};
pub use drift::{Drift, Verdict, drift};
pub use error::CertifyError;

use claim::{Claim, Slice};
use level::Level;
use part::{Part, check_weights};
use region::Region;

use crate::goal::{Constraint, Direction, Goal, Objective, Rate, check_conditions};
use crate::metric::MetricError;
use crate::sample::Sample;

/// What a certificate is asked for, besides its conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct CertifyOptions {
    /// The chance, over calibration samples, that every condition holds; in (0, 1).
    pub confidence: f64,
    /// What to improve among the certified thresholds, within each group by itself. Without one:
    /// as loose as allowed where a condition limits the threshold from below (fpr, precision),
    /// else as strict as allowed (recall, npv).
    pub objective: Option<Objective>,
    /// Thresholds at which to test precision and its like, chosen *without* the calibration
    /// sample. They are tested from strict to loose up to the first failure, so the strictest
    /// should predict enough examples positive to pass. Without them: a grid of ranks.
    pub grid: Option<Vec<f32>>,
    /// One threshold for all groups, where conditions are on groups.
    pub shared_threshold: bool,
}

impl CertifyOptions {
    /// No objective, no grid, a threshold for each group.
    #[must_use]
    pub fn new(confidence: f64) -> Self {
        Self { confidence, objective: None, grid: None, shared_threshold: false }
    }
}

/// Certifies the conditions of a goal, with its objective choosing among the thresholds allowed.
///
/// # Errors
/// As [`certify`].
pub fn certify_goal(
    goal: &Goal,
    sample: &Sample,
    scores: &[f32],
    confidence: f64,
) -> Result<Certificate, CertifyError> {
    let options =
        CertifyOptions { objective: Some(goal.objective.clone()), ..CertifyOptions::new(confidence) };
    certify(&goal.constraints, sample, scores, &options)
}

/// Thresholds at which every condition holds on new data, with the confidence asked for.
///
/// One threshold, or one for each group where the conditions are on groups and they do not share one.
///
/// # Errors
/// If there are too few examples (with the number needed), the conditions cannot be certified at
/// a common threshold, a condition has no exact test, the weights differ, or the scores do not
/// fit the sample.
pub fn certify(
    conditions: &[Constraint],
    sample: &Sample,
    scores: &[f32],
    options: &CertifyOptions,
) -> Result<Certificate, CertifyError> {
    let (claims, objective) = check(conditions, options)?;
    sample.check_scores(scores)?;
    check_weights(sample)?;
    let column = conditions.iter().find_map(Constraint::column);
    if options.shared_threshold && column.is_some() {
        return shared::certify(conditions, &claims, objective, sample, scores, options);
    }
    let parts = Part::all(sample, scores, column)?;
    let level = Level { confidence: options.confidence, shared_by: claims.len() * parts.len() };
    let mut thresholds = Vec::with_capacity(parts.len());
    let mut certified = Vec::with_capacity(level.shared_by);
    for part in &parts {
        let mut region = Region::default();
        let mut methods = Vec::with_capacity(claims.len());
        for (claim, condition) in claims.iter().zip(conditions) {
            let grid = options.grid.as_deref();
            methods.push(narrow(&mut region, claim, &condition.to_string(), part, &level, grid)?);
        }
        let threshold = region.choose(objective, part)?;
        let tally = part.tally(threshold);
        for ((claim, condition), method) in claims.iter().zip(conditions).zip(methods) {
            let (counted, examples) = claim.share(&tally);
            certified.push(CertifiedCondition {
                condition: condition.to_string(),
                group: part.name().map(str::to_owned),
                target: claim.target,
                examples,
                counted,
                observed: counted as f64 / examples as f64,
                method: at_threshold(method, claim, counted, examples),
            });
        }
        thresholds.push(threshold);
    }
    Ok(Certificate {
        confidence: options.confidence,
        confidence_each: 1.0 - level.delta(),
        examples: sample.len() as u64,
        column: column.map(str::to_owned),
        groups: parts.iter().filter_map(|part| part.name().map(str::to_owned)).collect(),
        thresholds,
        conditions: certified,
    })
}

/// The claims of the conditions, and the rate to improve.
fn check(
    conditions: &[Constraint],
    options: &CertifyOptions,
) -> Result<(Vec<Claim>, Option<Rate>), CertifyError> {
    let confidence = options.confidence;
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(CertifyError::Confidence { value: confidence });
    }
    if conditions.is_empty() {
        return Err(CertifyError::NoCondition);
    }
    check_conditions(conditions)?;
    let claims: Vec<Claim> = conditions.iter().map(Claim::of).collect::<Result<_, _>>()?;
    let grouped = conditions.iter().find(|condition| condition.column().is_some());
    let overall = conditions.iter().find(|condition| condition.column().is_none());
    if let (false, Some(grouped), Some(overall)) = (options.shared_threshold, grouped, overall) {
        let (overall, grouped) = (overall.to_string(), grouped.to_string());
        return Err(CertifyError::OverallBesideGroups { overall, grouped });
    }
    if let Some((index, value)) =
        options.grid.iter().flatten().enumerate().find(|(_, threshold)| !threshold.is_finite())
    {
        return Err(CertifyError::Grid { index, value: *value });
    }
    let side = |slice| claims.iter().position(|claim| claim.slice == slice);
    if let (None, Some(first), Some(second)) =
        (&options.grid, side(Slice::PredictedPositives), side(Slice::PredictedNegatives))
    {
        let (first, second) = (conditions[first].to_string(), conditions[second].to_string());
        return Err(CertifyError::TwoGrids { first, second });
    }
    match &options.objective {
        Some(Objective::Area(_)) => Err(CertifyError::AreaObjective),
        Some(Objective::Rate(rate)) if rate.direction() == Direction::Neither => {
            Err(MetricError::NoDirection { rate: *rate }.into())
        }
        Some(Objective::Rate(rate)) => Ok((claims, Some(*rate))),
        None => Ok((claims, None)),
    }
}

/// Keeps the thresholds of the region at which one claim is certified.
fn narrow(
    region: &mut Region,
    claim: &Claim,
    condition: &str,
    part: &Part,
    level: &Level,
    grid: Option<&[f32]>,
) -> Result<Method, CertifyError> {
    if !claim.is_predictive() {
        let order_statistic::Limit { threshold, k } = order_statistic::limit(claim, part, level)?;
        if claim.wants_strict() {
            region.limit_below(threshold, condition);
        } else {
            region.limit_above(threshold, condition);
        }
        return Ok(Method::OrderStatistic { k, limit: threshold });
    }
    let (passed, fixed) = match grid {
        Some(grid) => (predictive::fixed_sequence(claim, part, level, grid)?, true),
        None => (predictive::rank_grid(claim, part, level)?, false),
    };
    let loose_is_low = claim.slice == Slice::PredictedPositives;
    region.limit_to(&passed.thresholds, condition, loose_is_low, part.name())?;
    let (tested, p_value) = (passed.tested as u64, 1.0);
    Ok(if fixed { Method::FixedSequence { tested, p_value } } else { Method::RankGrid { tested, p_value } })
}

/// The method with the p-value at the threshold chosen.
fn at_threshold(method: Method, claim: &Claim, counted: u64, examples: u64) -> Method {
    let p_value = claim.tail(examples, claim.bad(counted, examples));
    match method {
        Method::RankGrid { tested, .. } => Method::RankGrid { tested, p_value },
        Method::FixedSequence { tested, .. } => Method::FixedSequence { tested, p_value },
        Method::OrderStatistic { .. } => method,
    }
}
