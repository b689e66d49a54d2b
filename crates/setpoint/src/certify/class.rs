//! Shifts of several classes with a proof.
//!
//! Before the calibration rows are seen, shifts and a direction are fixed: along it every condition gets safer.
//! [`class_sequence`] cuts the way from safe to bold into steps. [`certify_classes`] walks it on calibration rows, and at
//! each step tests every condition by its exact binomial p-value. The largest of them is a p-value for "some
//! condition is past its target" (an intersection-union test: no sharing of delta), and a fixed sequence that
//! stops at its first failure errs with probability delta at most. So with that confidence all conditions hold
//! at every step that passed; the boldest is taken.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::certificate::{Certificate, CertifiedCondition, Method};
use super::claim::Claim;
use super::cohort::{Tally, check_weights};
use super::drift::{Drift, Verdict};
use super::error::CertifyError;
use crate::class::{Classes, Confusion, shift};
use crate::goal::{ClassCondition, ClassGoal, ClassRate, Constraint, Over, Rate, Relation, Target};
use crate::sample::Sample;

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
            entities: None,
            column: None,
            groups: Vec::new(),
            thresholds: Vec::new(),
            conditions: self.conditions.clone(),
        }
    }
}

/// A condition on one class, as it is proved.
pub(super) struct ClassClaim {
    pub(super) claim: Claim,
    pub(super) class: usize,
    text: String,
}

/// The claim of a condition as certificates write it.
pub(super) fn named<'a>(claims: &'a [ClassClaim], condition: &str) -> Result<&'a ClassClaim, CertifyError> {
    let found = claims.iter().find(|claim| claim.text == condition);
    found.ok_or(CertifyError::Damaged { reason: "it is not of the model's goal" })
}

/// Whether a rate of one class stays what it is in another mix of classes, each scoring as before: the rows of
/// all other classes are a mix themselves.
#[must_use]
pub fn class_survives_mix(rate: Rate) -> bool {
    matches!(rate, Rate::Recall | Rate::FalseNegativeRate)
}

/// Whether the conditions of a goal have exact tests.
///
/// # Errors
/// Why not.
pub fn certifiable(goal: &ClassGoal) -> Result<(), CertifyError> {
    claims(goal).map(|_| ())
}

/// Rows to choose a sequence on, a third of them, and the others to test it on; by chance, so that they are draws
/// of one population.
#[must_use]
pub fn apart(rows: usize, seed: u64) -> [Vec<u32>; 2] {
    let mut all: Vec<u32> = (0..rows as u32).collect();
    all.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let others = all.split_off(rows / 3);
    [all, others]
}

/// The claims of a goal's conditions.
pub(super) fn claims(goal: &ClassGoal) -> Result<Vec<ClassClaim>, CertifyError> {
    let mut claims = Vec::new();
    for condition in &goal.conditions {
        let ClassCondition { rate, relation, target } = *condition;
        let classes = match rate.over {
            Over::Class(class) => class..class + 1,
            _ => 0..goal.classes.len(),
        };
        let cannot = |reason| CertifyError::CannotCertify { condition: goal.condition(condition), reason };
        let Target::Value(target) = target else {
            return Err(cannot(
                "the share of a class is one of the rows at hand; give the coverage as a number",
            ));
        };
        if (relation, rate.rate) == (Relation::Equal, Rate::PositiveRate) {
            return Err(cannot("a coverage of exactly this share has no safe side; write <= or >="));
        }
        let claim = Claim::of(&Constraint::Rate { rate: rate.rate, relation, target })?;
        for class in classes {
            let rate = ClassRate { over: Over::Class(class), ..rate };
            let text = goal.condition(&ClassCondition { rate, ..*condition });
            claims.push(ClassClaim { claim, class, text });
        }
    }
    if claims.is_empty() { Err(CertifyError::NoCondition) } else { Ok(claims) }
}

impl ClassClaim {
    /// Which way the shift of its class goes for the condition to be safer.
    fn safer(&self) -> f64 {
        match (self.claim.rate, self.claim.side) {
            (
                Rate::Recall
                | Rate::FalseNegativeRate
                | Rate::NegativePredictiveValue
                | Rate::FalseOmissionRate,
                _,
            ) => -1.0,
            (Rate::PositiveRate, Relation::AtLeast) => -1.0,
            _ => 1.0,
        }
    }

    pub(super) fn survives_mix(&self) -> bool {
        class_survives_mix(self.claim.rate)
    }

    /// What the rate is a share of.
    pub(super) fn noun(&self) -> &'static str {
        match self.claim.noun() {
            "positives" => "rows of the class",
            "negatives" => "rows of other classes",
            "predicted positives" => "rows decided as it",
            "predicted negatives" => "rows decided as others",
            _ => "rows",
        }
    }

    /// What the rate counts, out of how many, and the p-value of its being past the target.
    fn test(&self, confusion: &Confusion) -> (u64, u64, f64) {
        let counts = confusion.counts(self.class);
        let (counted, examples) = self.claim.share(&Tally {
            true_positives: counts.true_positives as u64,
            false_negatives: counts.false_negatives as u64,
            false_positives: counts.false_positives as u64,
            true_negatives: counts.true_negatives as u64,
        });
        let p_value =
            if examples == 0 { 1.0 } else { self.claim.tail(examples, self.claim.bad(counted, examples)) };
        (counted, examples, p_value)
    }
}

/// Tests every condition of a certificate on new labelled rows, decided at its shifts; the level is shared among
/// the conditions, so that any alarm at all is as rare as the certificate allows.
///
/// # Errors
/// If rows have weights or come in entities, or the certificate is not of the goal.
pub fn class_drift(
    goal: &ClassGoal,
    certificate: &Certificate,
    sample: &Sample,
    confusion: &Confusion,
) -> Result<Vec<Drift>, CertifyError> {
    check_rows(goal, sample)?;
    let claims = claims(goal)?;
    let level = (1.0 - certificate.confidence) / claims.len() as f64;
    let test = |certified: &CertifiedCondition| {
        let claim = named(&claims, &certified.condition)?;
        let (counted, examples, _) = claim.test(confusion);
        let p_value = claim.claim.opposite_tail(examples, claim.claim.bad(counted, examples));
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

/// Refuses rows that are not draws of their own.
fn check_rows(goal: &ClassGoal, sample: &Sample) -> Result<(), CertifyError> {
    check_weights(sample)?;
    if sample.together().is_none() {
        return Ok(());
    }
    let condition = goal.conditions.first().map_or_else(String::new, |condition| goal.condition(condition));
    let reason = "rows of one entity are no independent draws, and classes are tested row by row";
    Err(CertifyError::CannotCertify { condition, reason })
}

fn worst(claims: &[ClassClaim], confusion: &Confusion) -> f64 {
    claims.iter().map(|claim| claim.test(confusion).2).fold(0.0, f64::max)
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
    let classes = Classes::of(goal, sample)?;
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
    let clearly = 0.01 * (1.0 - confidence);
    let mut far = 1e-3 * classes.spread(scores);
    let mut safest = (f64::INFINITY, far);
    for _ in 0..24 {
        let p_value = worst(&claims, &Confusion::at(&classes, scores, &along(far))?);
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
        && worst(&claims, &Confusion::at(&classes, scores, &shifts)?) < safest.0
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
/// If not even the first step passes, a condition has no exact test, rows have weights or come in entities, or
/// the scores do not fit.
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
    check_rows(goal, sample)?;
    let claims = claims(goal)?;
    let classes = Classes::of(goal, sample)?;
    let mut passed: Option<(&Vec<f64>, Confusion)> = None;
    let mut steps = (sequence.len() as u64, 0);
    let mut failed = 1.0;
    for shifts in sequence {
        let confusion = Confusion::at(&classes, scores, shifts)?;
        let p_value = worst(&claims, &confusion);
        if p_value > 1.0 - confidence {
            failed = p_value;
            break;
        }
        steps.1 += 1;
        passed = Some((shifts, confusion));
    }
    let Some((shifts, confusion)) = passed else {
        let conditions: Vec<&str> = claims.iter().map(|claim| claim.text.as_str()).collect();
        let condition = conditions.join(", ");
        return Err(CertifyError::NoShifts { condition, confidence, p_value: failed });
    };
    let conditions = claims.into_iter().map(|claim| {
        let (counted, examples, p_value) = claim.test(&confusion);
        CertifiedCondition {
            condition: claim.text,
            group: None,
            target: claim.claim.target,
            examples,
            counted,
            observed: counted as f64 / examples as f64,
            method: Method::FixedSequence { tested: steps.0, p_value },
        }
    });
    Ok(ClassCertificate {
        confidence,
        examples: sample.len() as u64,
        shifts: shifts.clone(),
        steps,
        conditions: conditions.collect(),
    })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn draw(rows: usize, seed: u64) -> (Sample, Vec<f32>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let codes: Vec<u32> =
            (0..rows).map(|row| if row < 3 { row as u32 } else { rng.random_range(0..3) }).collect();
        let noise = |rng: &mut ChaCha8Rng| (0..4).map(|_| rng.random_range(-1.0f32..1.0)).sum::<f32>();
        let mut scores = Vec::with_capacity(3 * rows);
        for y in &codes {
            (0..3).for_each(|c| scores.push(noise(&mut rng) + 1.2 * f32::from(u8::from(c == *y))));
        }
        (Sample::of_classes("label", ["a", "b", "c"].map(str::to_owned).to_vec(), codes).unwrap(), scores)
    }

    fn goal(text: &str) -> ClassGoal {
        ClassGoal::parse(text, &["a", "b", "c"].map(str::to_owned)).unwrap()
    }

    #[test]
    fn certified_conditions_fail_no_more_often_than_promised() {
        // 400 draws at delta 10%: 40 failures expected at most, standard deviation 6, so 58 is three beyond.
        let (population, population_scores) = draw(60_000, 1_000_000);
        let classes = Classes::new(&population);
        for text in [
            "accuracy @ recall(b)>=0.7",
            "accuracy @ recall(a)>=0.7, recall(b)>=0.5",
            "macro-f1 @ coverage(c)<=20%",
        ] {
            let goal = goal(text);
            let (sample, scores) = draw(600, 7);
            let shifts = shift::best(&goal, &sample, &scores, 2).unwrap().shifts;
            let sequence = class_sequence(&goal, &sample, &scores, &shifts, 0.9).unwrap();
            let held: Vec<bool> = sequence
                .iter()
                .map(|shifts| {
                    let confusion = Confusion::at(&classes, &population_scores, shifts).unwrap();
                    // The population's own rates are known to half a percent: what is so near counts as held.
                    goal.conditions.iter().all(|condition| confusion.missed(condition) < 0.005)
                })
                .collect();
            let (mut failed, mut certified, mut plain) = (0, 0, 0);
            for seed in 0..400 {
                let (sample, scores) = draw(500, 100 + seed);
                if let Ok(found) = certify_classes(&goal, &sample, &scores, &sequence, 0.9) {
                    certified += 1;
                    failed += usize::from(!held[found.steps.1 as usize - 1]);
                }
                // Shifts that only meet the conditions on these rows fail far more often.
                if let Ok(found) = shift::best(&goal, &sample, &scores, 1).map(|found| found.shifts)
                    && seed < 100
                {
                    let confusion = Confusion::at(&classes, &population_scores, &found).unwrap();
                    plain += usize::from(
                        goal.conditions.iter().any(|condition| confusion.missed(condition) > 0.0),
                    );
                }
            }
            assert!(certified > 200, "{text}: {certified} certified");
            assert!(failed <= 58, "{text}: {failed} of {certified} failed");
            assert!(plain > 30, "{text}: {plain} of 100 at plain shifts");
        }
    }

    #[test]
    fn conditions_that_pull_against_each_other_are_certified_between_the_strictest_shifts_and_the_best() {
        // As above: 400 draws at delta 10%. Every class is held, so that no direction makes all of them safer.
        let (population, population_scores) = draw(60_000, 1_000_000);
        let classes = Classes::new(&population);
        let goal = goal("precision(a) @ recall(each)>=0.5");
        let (sample, scores) = draw(600, 7);
        let shifts = shift::best(&goal, &sample, &scores, 2).unwrap().shifts;
        let sequence = class_sequence(&goal, &sample, &scores, &shifts, 0.9).unwrap();
        let held: Vec<bool> = sequence
            .iter()
            .map(|shifts| {
                let confusion = Confusion::at(&classes, &population_scores, shifts).unwrap();
                goal.conditions.iter().all(|condition| confusion.missed(condition) < 0.005)
            })
            .collect();
        assert!(held[0] && !held[STEPS], "from safe to bold");
        let (mut failed, mut certified) = (0, 0);
        for seed in 0..400 {
            let (sample, scores) = draw(500, 100 + seed);
            if let Ok(found) = certify_classes(&goal, &sample, &scores, &sequence, 0.9) {
                certified += 1;
                failed += usize::from(!held[found.steps.1 as usize - 1]);
            }
        }
        assert!(certified > 200 && failed <= 58, "{failed} of {certified} failed");
    }

    #[test]
    fn a_certificate_says_what_was_counted() {
        let (sample, scores) = draw(2000, 3);
        let goal = goal("accuracy @ recall(b)>=0.6, recall(c)>=0.6");
        let shifts = shift::best(&goal, &sample, &scores, 2).unwrap().shifts;
        let sequence = class_sequence(&goal, &sample, &scores, &shifts, 0.95).unwrap();
        let (sample, scores) = draw(2000, 4);
        let found = certify_classes(&goal, &sample, &scores, &sequence, 0.95).unwrap();
        assert_eq!(found.conditions.len(), 2);
        let confusion = Confusion::at(&Classes::new(&sample), &scores, &found.shifts).unwrap();
        let recall = confusion.rate(ClassRate { rate: Rate::Recall, over: Over::Class(1) }).unwrap();
        assert!((found.conditions[0].observed - recall).abs() < 1e-12);
        assert_eq!(found.conditions[0].condition, "recall(b)>=0.6");
        assert!(found.steps.1 > 1 && found.steps.1 <= found.steps.0);
    }

    #[test]
    fn what_cannot_be_proved_is_refused_by_name() {
        let (sample, scores) = draw(100, 5);
        let refuse = |text: &str, sample: &Sample| {
            certify_classes(&goal(text), sample, &scores, &[vec![0.0; 3]], 0.95).unwrap_err().to_string()
        };
        assert!(refuse("accuracy @ coverage(each)=prior", &sample).contains("give the coverage as a number"));
        assert!(refuse("accuracy @ coverage(a)=10%", &sample).contains("no safe side"));
        assert!(refuse("accuracy", &sample).contains("no condition"));
        assert!(
            refuse("accuracy @ recall(b)>=0.99", &sample)
                .starts_with("no shifts of the sequence certify recall(b)>=0.99 at 95%")
        );
        let together = sample.with_entities("who", &[0; 100]).unwrap();
        assert!(refuse("accuracy @ recall(b)>=0.2", &together).contains("independent draws"));
    }

    #[test]
    fn rows_to_choose_on_are_no_rows_to_prove_on() {
        let [first, others] = apart(1000, 0);
        assert_eq!((first.len(), others.len()), (333, 667));
        let mut all = [first.clone(), others].concat();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
        // As the file has them, its last rows would be the proof.
        assert!(
            first.iter().any(|row| *row > 900) && apart(1000, 0)[0] == first && apart(1000, 1)[0] != first
        );
    }
}
