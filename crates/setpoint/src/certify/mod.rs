//! Thresholds with finite-sample guarantees.
//!
//! A threshold tuned on data only holds on that data. [`certify`] takes a calibration sample that
//! was used neither for training nor for selection and picks the threshold so that the conditions
//! hold *on new data from the same distribution*, with probability 1 - delta over the draw of the
//! calibration sample. No model of the scores is assumed, only that examples are independent
//! draws, or where they come in [entities](crate::sample::Entities) that those are; ties are handled
//! on the safe side.
//!
//! | condition | what is certified | how |
//! |---|---|---|
//! | `fpr`, `tnr`, `recall`, `fnr`, `positive-rate` | all thresholds on one side of a limit | one order statistic of the slice's scores |
//! | `precision`, `fdr`, `npv`, `for` | single thresholds | exact binomial tests on a grid of ranks, or of thresholds fixed in advance |
//! | the same, `(column)` | a threshold for each group | as above, within each group |
//! | `accuracy`, `error`, f-beta, `gap`, `ratio`, `coverage`, amounts, ... | decisions fixed in advance (`frontier.rs`) | exact tests and bets along a sequence |
//! | any of these, of examples that come in entities | the same | bets on the entities |
//! | any of these, of rows [sampled](design) with known chances | the same | bets on the rows, at any time |
//! | `precision`, `positive-rate` and their like, at another share of positives | single thresholds | exact bounds on recall and fpr |
//!
//! `=` is certified on its safe side. Several conditions and groups share delta equally
//! (Bonferroni). The proofs are in the files: `order_statistic.rs`, `predictive.rs` and `entity.rs`.
//!
//! [`drift`] tests on new labelled data whether a certified rate still holds; a [`monitor`] watches it for as long
//! as the model runs.
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
mod class;
mod cohort;
pub mod design;
mod drift;
mod entity;
mod error;
mod frontier;
mod level;
mod mean;
pub mod monitor;
mod order_statistic;
mod predictive;
mod prevalence;
mod region;
mod sequence;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use certificate::{Certificate, CertifiedAmount, CertifiedCondition, CertifiedEntities, Method, Proof};
pub use class::{
    ClassCertificate, apart, certifiable, certify_classes, class_drift, class_sequence, class_survives_mix,
};
pub use drift::{Drift, Verdict, drift, drift_of};
pub use error::CertifyError;
pub use frontier::{
    FrontierOptions, certify_along, certify_apart, frontier, frontier_drift, mean_bound, needs_frontier,
};
pub use mean::{MeanCertificate, certify_mean};
pub use sequence::sequence;

use claim::{Claim, Slice};
use cohort::Cohort;
use entity::{EntityClaim, Test};
use level::Level;
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
    /// Limits that hold about as often as asked for, with no proof, where examples come in entities
    /// that are too few for one. What is returned then [says so](Certificate::is_approximate).
    pub approximate: bool,
    /// The chance with which each row was sampled, in (0, 1], independently of the others; the certificate is
    /// then about the rows it was sampled from, and stays valid however often it is tried with more of them.
    pub inclusion: Option<Vec<f64>>,
    /// The share of positives to certify for, from the least to the largest, where it is not that of the sample:
    /// each class is taken to score as in the sample (label shift). Rates within a class do not need it.
    pub prevalence: Option<(f64, f64)>,
}

impl CertifyOptions {
    /// No objective, no grid, a threshold for each group, a proof, rows as they are.
    #[must_use]
    pub fn new(confidence: f64) -> Self {
        Self {
            confidence,
            objective: None,
            grid: None,
            shared_threshold: false,
            approximate: false,
            inclusion: None,
            prevalence: None,
        }
    }

    /// The sample with weights that make its rows those that are meant: one over the chance of inclusion, or such
    /// that the classes have the share asked for. `None` where its rows are.
    ///
    /// # Errors
    /// If the chances or the share make no sense, or the sample has weights of its own that differ.
    pub fn weighed(&self, sample: &Sample) -> Result<Option<Sample>, CertifyError> {
        prevalence::weighed(sample, self)
    }

    fn test(&self) -> Test {
        match (&self.inclusion, self.approximate) {
            (Some(_), _) => Test::Sampled,
            (None, true) => Test::Approximate,
            (None, false) => Test::Betting,
        }
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
    let weighed = options.weighed(sample)?;
    let sample = weighed.as_ref().unwrap_or(sample);
    let column = conditions.iter().find_map(Constraint::column);
    let shared = options.shared_threshold && column.is_some();
    let groups = Cohort::all(sample, scores, column)?;
    let whole = Cohort { sample, scores, group: None };
    // One threshold for each cohort, at which every condition is proved of it; or one for all, at which each
    // condition within groups is proved in every group, and each over all examples once.
    let decided = if shared { vec![whole] } else { groups.clone() };
    let everywhere = |condition: &Constraint| shared && condition.column().is_some();
    let proofs = |condition| if everywhere(condition) { groups.len() } else { decided.len() };
    let shared_by = conditions.iter().map(proofs).sum();
    let level = Level { confidence: options.confidence, shared_by };
    let (mut thresholds, mut certified) = (Vec::new(), Vec::with_capacity(shared_by));
    for decided in &decided {
        let proofs: Vec<(&Claim, String, Cohort)> = (claims.iter().zip(conditions))
            .flat_map(|(claim, condition)| {
                let cohorts = if everywhere(condition) { groups.clone() } else { vec![*decided] };
                cohorts.into_iter().map(move |cohort| (claim, condition.to_string(), cohort))
            })
            .collect();
        let mut region = Region::default();
        let narrowed = proofs
            .iter()
            .map(|(claim, condition, cohort)| narrow(&mut region, claim, condition, cohort, &level, options));
        let methods: Vec<Method> = narrowed.collect::<Result<_, _>>()?;
        let threshold = region.choose(objective, decided)?;
        certified.extend(proofs.into_iter().zip(methods).map(|((claim, condition, cohort), method)| {
            at_threshold(method, claim, condition, &cohort, &level, options, threshold)
        }));
        thresholds.extend(vec![threshold; if shared { groups.len() } else { 1 }]);
    }
    Ok(Certificate {
        confidence: options.confidence,
        confidence_each: 1.0 - level.delta(),
        examples: sample.len() as u64,
        entities: CertifiedEntities::of(sample),
        column: column.map(str::to_owned),
        groups: groups.iter().filter_map(|cohort| cohort.name().map(str::to_owned)).collect(),
        thresholds,
        conditions: certified,
        amount: None,
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
        Some(objective @ Objective::Rate(Rate::Coverage)) => Err(CertifyError::CannotCertify {
            condition: objective.to_string(),
            reason: "it has two thresholds, which must be fixed on other rows than those that prove them: train does that",
        }),
        Some(Objective::Rate(rate)) if rate.direction() == Direction::Neither => {
            Err(MetricError::NoDirection { rate: *rate }.into())
        }
        objective => Ok((claims, objective.as_ref().and_then(Objective::rate))),
    }
}

/// Keeps the thresholds of the region at which one claim is certified.
fn narrow(
    region: &mut Region,
    claim: &Claim,
    condition: &str,
    cohort: &Cohort,
    level: &Level,
    options: &CertifyOptions,
) -> Result<Method, CertifyError> {
    let (test, grid) = (options.test(), options.grid.as_deref());
    if let Some(range) = options.prevalence
        && !claim.rate.survives_mix()
    {
        let passed = prevalence::sequence(claim, condition, cohort, level, range, grid)?;
        let loose_is_low = prevalence::loose_is_low(claim);
        region.limit_to(&passed.thresholds, condition, loose_is_low, cohort.name())?;
        let ((lower, upper), tested) = (range, passed.tested as u64);
        return Ok(Method::AtPrevalence { lower, upper, tested, bound: 0.0 });
    }
    let entities = EntityClaim::new(claim, cohort, level.delta(), test, grid);
    // What holds at the threshold is filled in once there is one.
    let by_entity = match test {
        Test::Betting => Method::Betting { entities: 0, largest: 0, p_value: 1.0 },
        Test::Approximate => Method::Approximate { entities: 0, p_value: 1.0 },
        Test::Sampled => Method::InverseProbability { rows: 0, heaviest: 0.0, p_value: 1.0 },
    };
    if !claim.is_predictive() {
        let (threshold, method) = match &entities {
            Some(entities) => (entities.limit(level)?, by_entity),
            None => {
                let order_statistic::Limit { threshold, k } = order_statistic::limit(claim, cohort, level)?;
                (threshold, Method::OrderStatistic { k, limit: threshold })
            }
        };
        if claim.wants_strict() {
            region.limit_below(threshold, condition);
        } else {
            region.limit_above(threshold, condition);
        }
        return Ok(method);
    }
    let (passed, method) = match (entities, grid) {
        (Some(entities), _) => (entities.sequence(level)?, by_entity),
        (None, Some(grid)) => {
            let passed = predictive::fixed_sequence(claim, cohort, level, grid)?;
            let tested = passed.tested as u64;
            (passed, Method::FixedSequence { tested, p_value: 1.0 })
        }
        (None, None) => {
            let passed = predictive::rank_grid(claim, cohort, level)?;
            let tested = passed.tested as u64;
            (passed, Method::RankGrid { tested, p_value: 1.0 })
        }
    };
    let loose_is_low = claim.slice == Slice::PredictedPositives;
    region.limit_to(&passed.thresholds, condition, loose_is_low, cohort.name())?;
    Ok(method)
}

/// What was certified of a claim, as it stands at the threshold chosen.
fn at_threshold(
    method: Method,
    claim: &Claim,
    condition: String,
    cohort: &Cohort,
    level: &Level,
    options: &CertifyOptions,
    threshold: f32,
) -> CertifiedCondition {
    let (counted, examples) = claim.share(&cohort.tally(threshold));
    let mut observed = counted as f64 / examples as f64;
    let p_value = || claim.tail(examples, claim.bad(counted, examples));
    let entities = |test| {
        let entities = EntityClaim::new(claim, cohort, level.delta(), test, options.grid.as_deref());
        entities.map(|entities| (entities, entities.counts(threshold)))
    };
    let method = match method {
        Method::OrderStatistic { .. } | Method::Frontier { .. } => method,
        Method::RankGrid { tested, .. } => Method::RankGrid { tested, p_value: p_value() },
        Method::FixedSequence { tested, .. } => Method::FixedSequence { tested, p_value: p_value() },
        Method::Betting { .. } => entities(Test::Betting).map_or(method, |(claim, counts)| Method::Betting {
            entities: EntityClaim::tested(&counts),
            largest: claim.largest(&counts) as u64,
            p_value: claim.p_value(&counts, threshold),
        }),
        Method::Approximate { .. } => entities(Test::Approximate).map_or(method, |(claim, counts)| {
            let p_value = claim.p_value(&counts, threshold);
            Method::Approximate { entities: EntityClaim::tested(&counts), p_value }
        }),
        Method::InverseProbability { .. } => entities(Test::Sampled).map_or(method, |(sampled, counts)| {
            let all: f64 = counts.iter().map(|count| count.examples).sum();
            let bad = counts.iter().map(|count| count.counted).sum::<f64>() / all;
            observed = if claim.bad(1, 1) == 1 { bad } else { 1.0 - bad };
            let (rows, heaviest) = (EntityClaim::tested(&counts), sampled.at_risk(threshold));
            Method::InverseProbability { rows, heaviest, p_value: sampled.p_value(&counts, threshold) }
        }),
        Method::AtPrevalence { lower, upper, tested, .. } => {
            let tested_rows = prevalence::tested_rows(options.grid.as_deref());
            let classes = prevalence::Classes::count(cohort, threshold, tested_rows);
            observed = classes.rate(claim, 0.5 * (lower + upper));
            let bound = classes.bound(claim, level.delta(), (lower, upper));
            Method::AtPrevalence { lower, upper, tested, bound }
        }
    };
    CertifiedCondition {
        condition,
        group: cohort.name().map(str::to_owned),
        target: claim.target,
        examples,
        counted,
        observed,
        method,
    }
}
