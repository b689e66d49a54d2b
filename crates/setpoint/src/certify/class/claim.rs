//! Conditions on classes as they are proved, and the rows that prove them.

use crate::certify::certificate::Method;
use crate::certify::claim::Claim;
use crate::certify::cohort::{Cohort, Tally};
use crate::certify::entity::{EntityClaim, Test};
use crate::certify::error::CertifyError;
use crate::class::{Classes, Confusion, decide};
use crate::goal::{ClassCondition, ClassGoal, ClassRate, Constraint, Over, Rate, Relation, Target};
use crate::sample::Sample;

/// A condition on one class, as it is proved.
pub(in crate::certify) struct ClassClaim {
    pub(in crate::certify) claim: Claim,
    pub(in crate::certify) class: usize,
    pub(super) text: String,
}

/// The claim of a condition as certificates write it.
pub(in crate::certify) fn named<'a>(
    claims: &'a [ClassClaim],
    condition: &str,
) -> Result<&'a ClassClaim, CertifyError> {
    let found = claims.iter().find(|claim| claim.text == condition);
    found.ok_or(CertifyError::Damaged { reason: "it is not of the model's goal" })
}

/// Whether a rate of one class stays what it is in another mix of classes, each scoring as before: the rows of
/// all other classes are a mix themselves.
#[must_use]
pub fn class_survives_mix(rate: Rate) -> bool {
    matches!(rate, Rate::Recall | Rate::FalseNegativeRate)
}

/// The claims of a goal's conditions.
pub(in crate::certify) fn claims(goal: &ClassGoal) -> Result<Vec<ClassClaim>, CertifyError> {
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
    pub(super) fn safer(&self) -> f64 {
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

    pub(in crate::certify) fn survives_mix(&self) -> bool {
        class_survives_mix(self.claim.rate)
    }

    /// What the rate is a share of.
    pub(in crate::certify) fn noun(&self) -> &'static str {
        match self.claim.noun() {
            "positives" => "rows of the class",
            "negatives" => "rows of other classes",
            "predicted positives" => "rows decided as it",
            "predicted negatives" => "rows decided as others",
            _ => "rows",
        }
    }

    /// What the rate counts, and out of how many.
    pub(super) fn count(&self, rows: &Rows<'_>, decided: &Decided) -> (u64, u64) {
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
    pub(super) fn of_entities<T>(
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
    pub(super) fn p_value(&self, rows: &Rows<'_>, decided: &Decided, delta: f64) -> f64 {
        let (counted, examples) = self.count(rows, decided);
        if examples == 0 {
            return 1.0;
        }
        let betting = |claim: &EntityClaim<'_>| claim.p_value(&claim.counts(DECIDED), DECIDED);
        let binomial = || self.claim.tail(examples, self.claim.bad(counted, examples));
        self.of_entities(rows, decided, delta, betting).unwrap_or_else(binomial)
    }

    /// How it was proved, in a sequence of so many steps.
    pub(super) fn method(&self, rows: &Rows<'_>, decided: &Decided, delta: f64, steps: u64) -> Method {
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
pub(super) const DECIDED: f32 = 0.5;

/// Rows with their scores, as conditions on classes are tested on them.
pub(super) struct Rows<'a> {
    pub(super) classes: Classes<'a>,
    scores: &'a [f32],
    /// What each row counts.
    unit: f64,
    /// The rows as of a class or not, for each that has a condition, where they come in entities.
    against: Vec<Option<Sample>>,
}

/// What shifts decide.
pub(super) struct Decided {
    confusion: Confusion,
    /// The class of each row, where they come in entities.
    classes: Vec<u32>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(
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

    pub(super) fn at(&self, shifts: &[f64]) -> Result<Decided, CertifyError> {
        let confusion = Confusion::at(&self.classes, self.scores, shifts)?;
        let rows = || self.scores.chunks_exact(shifts.len()).map(|scores| decide(scores, shifts) as u32);
        let by_entity = self.against.iter().any(Option::is_some);
        Ok(Decided { confusion, classes: if by_entity { rows().collect() } else { Vec::new() } })
    }
}
