//! Shifts of several classes with a proof.
//!
//! Before the calibration rows are seen, shifts and a direction are fixed: along it every condition gets safer.
//! [`class_sequence`] cuts the way from safe to bold into steps. [`certify_classes`] walks it on calibration rows, and at
//! each step tests every condition by its exact binomial p-value. The largest of them is a p-value for "some
//! condition is past its target" (an intersection-union test: no sharing of delta), and a fixed sequence that
//! stops at its first failure errs with probability delta at most. So with that confidence all conditions hold
//! at every step that passed; the boldest is taken.
//!
//! Where rows come in entities, those are the draws: a condition is tested by bets on them, as one on deciding for
//! its class or against it.

mod claim;
#[cfg(test)]
mod tests;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

pub use claim::class_survives_mix;
use claim::{ClassClaim, DECIDED, Decided, Rows};
pub(super) use claim::{claims, named};

use super::certificate::{Certificate, CertifiedCondition, CertifiedEntities, Method};
use super::cohort::check_weights;
use super::drift::{Drift, Verdict, check_entities};
use super::entity::{Bets, EntityClaim};
use super::error::CertifyError;
use crate::class::shift;
use crate::goal::{ClassCondition, ClassGoal, ClassRate, Over, Relation, Target};
use crate::sample::{Entities, Sample};

/// Steps from safe to bold.
const STEPS: usize = 100;
/// How far past the shifts given the way goes on, as a part of the way to them.
const BEYOND: f64 = 0.25;

/// Shifts and what is proved about them: with probability `confidence` over the draw of the calibration rows,
/// all conditions hold on the population they were drawn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassCertificate {
    /// The chance that every condition holds.
    pub confidence: f64,
    /// Calibration rows.
    pub examples: u64,
    /// The entities that they belong to, where those are the draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entities: Option<CertifiedEntities>,
    /// One shift for each class.
    pub shifts: Vec<f64>,
    /// Steps of the sequence, and how many passed.
    pub steps: (u64, u64),
    /// What is certified: each condition, for each class that it is on.
    pub conditions: Vec<CertifiedCondition>,
}

impl ClassCertificate {
    /// The same without its shifts, as model files and reports keep certificates. No level is shared out: each
    /// condition has the confidence of all.
    #[must_use]
    pub fn certificate(&self) -> Certificate {
        Certificate {
            confidence: self.confidence,
            confidence_each: self.confidence,
            examples: self.examples,
            entities: self.entities.clone(),
            column: None,
            groups: Vec::new(),
            thresholds: Vec::new(),
            conditions: self.conditions.clone(),
            amount: None,
        }
    }
}

/// Whether the conditions of a goal have exact tests.
///
/// # Errors
/// Why not.
pub fn certifiable(goal: &ClassGoal) -> Result<(), CertifyError> {
    claims(goal).map(|_| ())
}

/// Rows to choose a sequence on, a third of them, and the others to test it on; by chance, so that they are draws
/// of one population. Entities stay whole.
#[must_use]
pub fn apart(sample: &Sample, seed: u64) -> [Vec<u32>; 2] {
    let entities = sample.together();
    let mut draws: Vec<u32> = (0..entities.map_or(sample.len(), Entities::len) as u32).collect();
    draws.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let mut first = vec![false; draws.len()];
    draws.iter().take(draws.len() / 3).for_each(|draw| first[*draw as usize] = true);
    let of = |row: &u32| first[entities.map_or(*row, |entities| entities.of()[*row as usize]) as usize];
    let (first, others) = (0..sample.len() as u32).partition(of);
    [first, others]
}

/// Tests every condition of a certificate on new labelled rows, decided at its shifts; the level is shared among
/// the conditions, so that any alarm at all is as rare as the certificate allows.
///
/// # Errors
/// If rows have weights, lack the entities that the certificate counts, or the certificate is not of the goal.
pub fn class_drift(
    goal: &ClassGoal,
    certificate: &Certificate,
    sample: &Sample,
    scores: &[f32],
    shifts: &[f64],
) -> Result<Vec<Drift>, CertifyError> {
    check_weights(sample)?;
    check_entities(certificate, sample)?;
    let claims = claims(goal)?;
    let rows = Rows::new(goal, &claims, sample, scores)?;
    let decided = rows.at(shifts)?;
    let level = (1.0 - certificate.confidence) / claims.len() as f64;
    let test = |certified: &CertifiedCondition| {
        let claim = named(&claims, &certified.condition)?;
        let (counted, examples) = claim.count(&rows, &decided);
        let betting = |of: &EntityClaim<'_>| {
            let counts = of.counts(DECIDED);
            // The assumption of the certificate, or what is seen to break it.
            let largest = match certified.method {
                Method::Betting { largest, .. } => of.largest(&counts).max(largest as f64),
                _ => of.largest(&counts),
            };
            Bets::for_violation(&claim.claim, largest).p_value(&counts, level)
        };
        let binomial = || claim.claim.opposite_tail(examples, claim.claim.bad(counted, examples));
        let p_value = claim.of_entities(&rows, &decided, level, betting).unwrap_or_else(binomial);
        let observed = (examples > 0).then(|| counted as f64 / examples as f64);
        Ok(Drift {
            condition: claim.text.clone(),
            group: None,
            examples,
            counted,
            noun: claim.noun(),
            observed,
            p_value,
            level,
            survives_mix: claim.survives_mix(),
            verdict: Verdict::of(&claim.claim, observed, p_value, level),
        })
    };
    certificate.conditions.iter().map(test).collect()
}

/// The largest p-value of a condition at some shifts.
fn worst(claims: &[ClassClaim], rows: &Rows<'_>, decided: &Decided, delta: f64) -> f64 {
    claims.iter().map(|claim| claim.p_value(rows, decided, delta)).fold(0.0, f64::max)
}

/// Shifts from safe to bold through those given, chosen on rows that the certificate does not use.
///
/// # Errors
/// If a condition has no exact test, or the scores do not fit.
pub fn class_sequence(
    goal: &ClassGoal,
    sample: &Sample,
    scores: &[f32],
    shifts: &[f64],
    confidence: f64,
) -> Result<Vec<Vec<f64>>, CertifyError> {
    let claims = claims(goal)?;
    let (rows, delta) = (Rows::new(goal, &claims, sample, scores)?, 1.0 - confidence);
    let mut direction = vec![0.0f64; goal.classes.len()];
    for claim in &claims {
        // Conditions that pull a shift both ways leave it where it is.
        let way = &mut direction[claim.class];
        *way = if *way == 0.0 || *way == claim.safer() { claim.safer() } else { f64::NAN };
    }
    direction.iter_mut().filter(|way| way.is_nan()).for_each(|way| *way = 0.0);
    let along = |far: f64| -> Vec<f64> {
        shifts.iter().zip(&direction).map(|(shift, way)| shift + far * way).collect()
    };
    // As far as these rows pass the test clearly, or most clearly.
    let clearly = 0.01 * delta;
    let mut far = 1e-3 * rows.classes.spread(scores);
    let mut safest = (f64::INFINITY, far);
    for _ in 0..24 {
        let p_value = worst(&claims, &rows, &rows.at(&along(far))?, delta);
        if p_value < safest.0 {
            safest = (p_value, far);
        }
        if p_value <= clearly {
            break;
        }
        far *= 1.6;
    }
    let mut start = along(safest.1);
    if safest.0 > clearly
        && let Some(shifts) = strictest(goal, &claims, sample, scores)
        && worst(&claims, &rows, &rows.at(&shifts)?, delta) < safest.0
    {
        start = shifts;
    }
    let step = (1.0 + BEYOND) / STEPS as f64;
    let at = |place: usize| {
        let far = place as f64 * step;
        start.iter().zip(shifts).map(|(start, end)| start + far * (end - start)).collect()
    };
    Ok((0..=STEPS).map(at).collect())
}

/// The best shifts where every condition is held to a stricter target, by as many standard errors of its rate as
/// there are shifts for; `None` where not even the targets themselves are met. Conditions that pull against each
/// other, as those on each class do, leave no direction in which all get safer.
fn strictest(goal: &ClassGoal, claims: &[ClassClaim], sample: &Sample, scores: &[f32]) -> Option<Vec<f64>> {
    let rows = |class: usize| sample.groups().map_or(0, |groups| groups.rows(class).len());
    let held = |errors: f64| ClassGoal {
        conditions: claims
            .iter()
            .map(|ClassClaim { claim, class, .. }| {
                let error = (claim.target * (1.0 - claim.target) / rows(*class).max(1) as f64).sqrt();
                let way = if claim.side == Relation::AtMost { -1.0 } else { 1.0 };
                ClassCondition {
                    rate: ClassRate { rate: claim.rate, over: Over::Class(*class) },
                    relation: claim.side,
                    target: Target::Value(claim.target + way * errors * error),
                }
            })
            .collect(),
        ..goal.clone()
    };
    let found = |errors: f64| shift::best(&held(errors), sample, scores, 2).ok();
    [4.0, 3.0, 2.5, 2.0, 1.5, 1.0, 0.5, 0.0].into_iter().find_map(found).map(|found| found.shifts)
}

/// The boldest shifts of a sequence at which every condition holds on new rows, with the confidence asked for.
///
/// # Errors
/// If not even the first step passes, a condition has no exact test, rows have weights, or the scores do not fit.
pub fn certify_classes(
    goal: &ClassGoal,
    sample: &Sample,
    scores: &[f32],
    sequence: &[Vec<f64>],
    confidence: f64,
) -> Result<ClassCertificate, CertifyError> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(CertifyError::Confidence { value: confidence });
    }
    check_weights(sample)?;
    let claims = claims(goal)?;
    let (rows, delta) = (Rows::new(goal, &claims, sample, scores)?, 1.0 - confidence);
    let mut passed: Option<(&Vec<f64>, Decided)> = None;
    let mut steps = (sequence.len() as u64, 0);
    let mut failed = 1.0;
    for shifts in sequence {
        let decided = rows.at(shifts)?;
        let p_value = worst(&claims, &rows, &decided, delta);
        if p_value > delta {
            failed = p_value;
            break;
        }
        steps.1 += 1;
        passed = Some((shifts, decided));
    }
    let Some((shifts, decided)) = passed else {
        let conditions: Vec<&str> = claims.iter().map(|claim| claim.text.as_str()).collect();
        let (condition, draws) = (conditions.join(", "), sample.together().map_or("rows", |_| "entities"));
        return Err(CertifyError::NoShifts { condition, confidence, p_value: failed, draws });
    };
    let conditions = claims.into_iter().map(|claim| {
        let (counted, examples) = claim.count(&rows, &decided);
        CertifiedCondition {
            group: None,
            target: claim.claim.target,
            examples,
            counted,
            observed: counted as f64 / examples as f64,
            method: claim.method(&rows, &decided, delta, steps.0),
            condition: claim.text,
        }
    });
    Ok(ClassCertificate {
        confidence,
        examples: sample.len() as u64,
        entities: CertifiedEntities::of(sample),
        shifts: shifts.clone(),
        steps,
        conditions: conditions.collect(),
    })
}
