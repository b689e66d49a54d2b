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

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::certificate::{Certificate, CertifiedCondition, CertifiedEntities, Method};
use super::claim::Claim;
use super::cohort::{Cohort, Tally, check_weights};
use super::drift::{Drift, Verdict};
use super::entity::{Bets, EntityClaim, Test};
use super::error::CertifyError;
use crate::class::{Classes, Confusion, decide, shift};
use crate::goal::{ClassCondition, ClassGoal, ClassRate, Constraint, Over, Rate, Relation, Target};
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

    /// What the rate counts, and out of how many.
    fn count(&self, rows: &Rows<'_>, decided: &Decided) -> (u64, u64) {
        let counts = decided.confusion.counts(self.class);
        // Weights that are all the same count rows.
        let rows = |weight: f64| (weight / rows.unit).round() as u64;
        self.claim.share(&Tally {
            true_positives: rows(counts.true_positives),
            false_negatives: rows(counts.false_negatives),
            false_positives: rows(counts.false_positives),
            true_negatives: rows(counts.true_negatives),
        })
    }

    /// What `look` makes of the draws of the class against all others, where entities are the draws.
    fn of_entities<T>(
        &self,
        rows: &Rows<'_>,
        decided: &Decided,
        delta: f64,
        look: impl FnOnce(&EntityClaim<'_>) -> T,
    ) -> Option<T> {
        let sample = rows.against.get(self.class)?.as_ref()?;
        let scores: Vec<f32> =
            decided.classes.iter().map(|class| f32::from(u8::from(*class as usize == self.class))).collect();
        let cohort = Cohort { sample, scores: &scores, group: None };
        // Shifts were fixed elsewhere, so every entity tests them.
        EntityClaim::new(&self.claim, &cohort, delta, Test::Betting, Some(&[])).map(|claim| look(&claim))
    }

    /// The p-value of the rate's being past the target.
    fn p_value(&self, rows: &Rows<'_>, decided: &Decided, delta: f64) -> f64 {
        let (counted, examples) = self.count(rows, decided);
        if examples == 0 {
            return 1.0;
        }
        let betting = |claim: &EntityClaim<'_>| claim.p_value(&claim.counts(DECIDED), DECIDED);
        let binomial = || self.claim.tail(examples, self.claim.bad(counted, examples));
        self.of_entities(rows, decided, delta, betting).unwrap_or_else(binomial)
    }

    /// How it was proved, in a sequence of so many steps.
    fn method(&self, rows: &Rows<'_>, decided: &Decided, delta: f64, steps: u64) -> Method {
        let p_value = self.p_value(rows, decided, delta);
        let betting = |claim: &EntityClaim<'_>| {
            let counts = claim.counts(DECIDED);
            let (entities, largest) = (EntityClaim::tested(&counts), claim.largest(&counts) as u64);
            Method::Betting { entities, largest, p_value }
        };
        let plain = Method::FixedSequence { tested: steps, p_value };
        self.of_entities(rows, decided, delta, betting).unwrap_or(plain)
    }
}

/// The threshold that tells rows decided as a class, which count 1, from others, which count 0.
const DECIDED: f32 = 0.5;

/// Rows with their scores, as conditions on classes are tested on them.
struct Rows<'a> {
    classes: Classes<'a>,
    scores: &'a [f32],
    /// What each row counts.
    unit: f64,
    /// The rows as of a class or not, for each that has a condition, where they come in entities.
    against: Vec<Option<Sample>>,
}

/// What shifts decide.
struct Decided {
    confusion: Confusion,
    /// The class of each row, where they come in entities.
    classes: Vec<u32>,
}

impl<'a> Rows<'a> {
    fn new(
        goal: &ClassGoal,
        claims: &[ClassClaim],
        sample: &'a Sample,
        scores: &'a [f32],
    ) -> Result<Self, CertifyError> {
        let classes = Classes::of(goal, sample)?;
        let mut against = vec![None; goal.classes.len()];
        if let (Some(entities), Some(groups)) = (sample.together(), sample.groups()) {
            for claim in claims {
                let labels = groups.codes().iter().map(|code| *code as usize == claim.class).collect();
                let of_class = Sample::new(labels)?.with_entities(entities.column(), entities.of())?;
                against[claim.class] = Some(of_class);
            }
        }
        let unit = sample.weights().map_or(1.0, |weights| f64::from(weights[0]));
        Ok(Self { classes, scores, unit, against })
    }

    fn at(&self, shifts: &[f64]) -> Result<Decided, CertifyError> {
        let confusion = Confusion::at(&self.classes, self.scores, shifts)?;
        let rows = || self.scores.chunks_exact(shifts.len()).map(|scores| decide(scores, shifts) as u32);
        let by_entity = self.against.iter().any(Option::is_some);
        Ok(Decided { confusion, classes: if by_entity { rows().collect() } else { Vec::new() } })
    }
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
    if let (Some(entities), None) = (&certificate.entities, sample.entities()) {
        return Err(CertifyError::NoEntities { column: entities.column.clone() });
    }
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
    fn equal_weights_count_rows() {
        let (sample, scores) = draw(500, 3);
        let goal = goal("accuracy @ recall(b)>=0.6");
        let sequence = [vec![0.0, -0.5, 0.0]];
        let plain = certify_classes(&goal, &sample, &scores, &sequence, 0.9).unwrap();
        for weight in [0.25, 3.0] {
            let weighted = sample.clone().with_weights(vec![weight; 500]).unwrap();
            assert_eq!(certify_classes(&goal, &weighted, &scores, &sequence, 0.9).unwrap(), plain);
        }
    }

    /// Entities of two to six rows that have much of their class and scores in common.
    fn entities(count: usize, seed: u64) -> (Sample, Vec<f32>) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let noise = |rng: &mut ChaCha8Rng| (0..4).map(|_| rng.random_range(-1.0f32..1.0)).sum::<f32>();
        let (mut of, mut codes, mut scores) = (Vec::new(), vec![], vec![]);
        for entity in 0..count {
            let usual = if entity < 3 { entity as u32 } else { rng.random_range(0..3) };
            let own: Vec<f32> = (0..3).map(|_| 0.8 * noise(&mut rng)).collect();
            for row in 0..rng.random_range(2..7) {
                let y = if row == 0 || rng.random_bool(0.8) { usual } else { rng.random_range(0..3) };
                of.push(entity as u32);
                codes.push(y);
                let score = |c: usize, rng: &mut ChaCha8Rng| {
                    own[c] + 0.6 * noise(rng) + 1.4 * f32::from(u8::from(c as u32 == y))
                };
                (0..3).for_each(|c| scores.push(score(c, &mut rng)));
            }
        }
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let sample = Sample::of_classes("label", names, codes).unwrap();
        (sample.with_entities("who", &of).unwrap(), scores)
    }

    #[test]
    fn entities_are_the_draws_where_rows_come_in_them() {
        // As above: 400 draws at delta 10%, of which 58 failures are three standard deviations too many.
        let (population, population_scores) = entities(20_000, 1_000_000);
        let classes = Classes::new(&population);
        for text in ["accuracy @ recall(b)>=0.7", "recall(a) @ precision(a)>=0.75"] {
            let goal = goal(text);
            let (sample, scores) = entities(400, 7);
            let shifts = shift::best(&goal, &sample, &scores, 2).unwrap().shifts;
            let sequence = class_sequence(&goal, &sample, &scores, &shifts, 0.9).unwrap();
            let held = |shifts: &Vec<f64>| {
                let confusion = Confusion::at(&classes, &population_scores, shifts).unwrap();
                goal.conditions.iter().all(|condition| confusion.missed(condition) < 0.005)
            };
            let held: Vec<bool> = sequence.iter().map(held).collect();
            let (mut failed, mut certified, mut by_row) = (0, 0, 0);
            for seed in 0..400 {
                let (sample, scores) = entities(300, 100 + seed);
                if let Ok(found) = certify_classes(&goal, &sample, &scores, &sequence, 0.9) {
                    certified += 1;
                    failed += usize::from(!held[found.steps.1 as usize - 1]);
                    let entities = found.entities.as_ref().map(|entities| entities.count);
                    assert_eq!(entities, Some(300));
                    assert!(matches!(found.conditions[0].method, Method::Betting { largest: 2..=6, .. }));
                }
                let rows = sample.groups().unwrap().codes().to_vec();
                let alone = Sample::of_classes("label", sample.groups().unwrap().names().to_vec(), rows);
                if let Ok(found) = certify_classes(&goal, &alone.unwrap(), &scores, &sequence, 0.9) {
                    by_row += usize::from(!held[found.steps.1 as usize - 1]);
                }
            }
            assert!(certified > 200 && failed <= 58, "{text}: {failed} of {certified} failed");
            assert!(by_row > failed, "{text}: {by_row} failed where rows were taken for draws");
        }
        let goal = goal("accuracy @ recall(b)>=0.7");
        let (sample, scores) = entities(2000, 3);
        let sequence = [vec![0.0, -0.8, 0.0]];
        let found = certify_classes(&goal, &sample, &scores, &sequence, 0.9).unwrap();
        let certificate = found.certificate();
        let (new, scores) = entities(500, 4);
        let drift = |shifts: &[f64], sample: &Sample| {
            class_drift(&goal, &certificate, sample, &scores, shifts).map(|drifts| drifts[0].verdict)
        };
        assert_eq!(drift(&sequence[0], &new), Ok(Verdict::Holds));
        assert_eq!(drift(&[0.0, 2.0, 0.0], &new), Ok(Verdict::Violated));
        let rows = new.groups().unwrap();
        let alone = Sample::of_classes("label", rows.names().to_vec(), rows.codes().to_vec()).unwrap();
        assert!(matches!(drift(&sequence[0], &alone), Err(CertifyError::NoEntities { .. })));
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
        assert!(refuse("accuracy @ recall(b)>=0.2", &together).contains("bring more entities"));
    }

    #[test]
    fn rows_to_choose_on_are_no_rows_to_prove_on() {
        let sample =
            Sample::of_classes("label", vec!["a".into(), "b".into()], (0..1000).map(|row| row % 2).collect());
        let sample = sample.unwrap();
        let [first, others] = apart(&sample, 0);
        assert_eq!((first.len(), others.len()), (333, 667));
        let mut all = [first.clone(), others].concat();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
        // As the file has them, its last rows would be the proof.
        let again = |seed| apart(&sample, seed)[0].clone();
        assert!(first.iter().any(|row| *row > 900) && again(0) == first && again(1) != first);
        let of: Vec<u32> = (0..1000).map(|row| row / 4).collect();
        let [first, others] = apart(&sample.clone().with_entities("who", &of).unwrap(), 0);
        assert_eq!((first.len(), others.len()), (332, 668));
        assert!(first.iter().all(|row| others.iter().all(|other| other / 4 != row / 4)));
    }
}
