//! Whether a certified rate still holds on new labelled data.
//!
//! At a threshold that was fixed before, the bad examples among n new ones are binomial, and
//!
//! ```text
//! p-value = P[Binomial(n, a) >= bad]      if the rate is at its target
//! ```
//!
//! is exact. A condition counts as violated where the p-value is at most its share of delta, so
//! that data from the calibration's own population raises any alarm at all with probability at
//! most delta (beyond the delta with which the certificate itself may be wrong). Where the new rows come
//! in entities, those are the draws, and bets on them (`entity.rs`) take the place of the binomial.

use std::fmt;

use super::certificate::{Certificate, CertifiedCondition, Method};
use super::claim::Claim;
use super::cohort::{Cohort, Weights};
use super::entity::{Bets, EntityClaim, Test};
use super::error::{CertifyError, of_group, percent};
use crate::goal::{Constraint, parse_conditions};
use crate::metric::Rows;
use crate::sample::Sample;

/// What new data says about a certified condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The observed rate is within its target.
    Holds,
    /// The observed rate is past its target, but not by more than chance explains; or there are no
    /// examples to tell.
    Inconclusive,
    /// The observed rate is further past its target than chance explains.
    Violated,
}

impl Verdict {
    pub(super) fn of(claim: &Claim, observed: Option<f64>, p_value: f64, level: f64) -> Self {
        match observed {
            Some(_) if p_value <= level => Self::Violated,
            Some(rate) if claim.allows(rate) => Self::Holds,
            _ => Self::Inconclusive,
        }
    }
}

/// The test of one certified condition on new data. Prints as one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// The condition as goals write it.
    pub condition: String,
    /// The group it is tested in.
    pub group: Option<String>,
    /// New examples that the rate is a share of.
    pub examples: u64,
    /// How many of them the rate counts.
    pub counted: u64,
    /// Which examples they are: `negatives`, `predicted positives`.
    pub noun: &'static str,
    /// The observed rate, where there are examples.
    pub observed: Option<f64>,
    /// The chance of a rate at least this far on the wrong side, if the true one is at its target.
    pub p_value: f64,
    /// The p-value at which the condition counts as violated.
    pub level: f64,
    /// Whether the condition survives another mix of classes, each scoring as before.
    pub survives_mix: bool,
    /// What it comes to.
    pub verdict: Verdict,
}

/// Tests every condition of a certificate on new labelled data, at the shipped thresholds.
///
/// # Errors
/// If the scores do not fit the sample, the sample has weights that differ or lacks the group
/// column, or the entities that the certificate counts, a group has no threshold, or the certificate
/// cannot be read.
pub fn drift(certificate: &Certificate, sample: &Sample, scores: &[f32]) -> Result<Vec<Drift>, CertifyError> {
    drift_of(certificate, &(sample, scores))
}

/// The same of rows wherever they are.
///
/// # Errors
/// As [`drift`].
pub fn drift_of(certificate: &Certificate, rows: &dyn Rows) -> Result<Vec<Drift>, CertifyError> {
    let level = 1.0 - certificate.confidence_each;
    let (mut counted, mut weights, mut done) = (Vec::new(), Weights::default(), Ok(()));
    let mut add = |sample: &Sample, scores: &[f32]| {
        weights.add(sample)?;
        let cohorts = cohorts(certificate, sample, scores)?;
        counted.resize_with(certificate.conditions.len(), Counted::default);
        let mut conditions = certificate.conditions.iter().zip(&mut counted);
        conditions.try_for_each(|(certified, counted)| counted.add(certificate, certified, &cohorts, level))
    };
    rows.each(&mut |sample, scores| {
        if done.is_ok() {
            done = add(sample, scores);
        }
    });
    done?;
    certificate
        .conditions
        .iter()
        .zip(counted)
        .map(|(certified, counted)| counted.test(certified, level))
        .collect()
}

/// The examples that each condition of a certificate is about, by the name of their group; all of them without one.
pub(super) fn cohorts<'a>(
    certificate: &Certificate,
    sample: &'a Sample,
    scores: &'a [f32],
) -> Result<Vec<Cohort<'a>>, CertifyError> {
    sample.check_scores(scores)?;
    check(certificate)?;
    check_entities(certificate, sample)?;
    let mut cohorts = Cohort::all(sample, scores, certificate.column.as_deref())?;
    for cohort in &cohorts {
        if certificate.threshold(cohort.name()).is_none() {
            return Err(CertifyError::UnknownGroup {
                column: certificate.column.clone().unwrap_or_default(),
                group: cohort.name().unwrap_or_default().to_owned(),
            });
        }
    }
    // Groups that share a threshold may have conditions over all rows beside their own.
    if certificate.column.is_some() {
        cohorts.push(Cohort { sample, scores, group: None });
    }
    Ok(cohorts)
}

/// Refuses rows without the entities that a certificate counts.
pub(super) fn check_entities(certificate: &Certificate, sample: &Sample) -> Result<(), CertifyError> {
    match (&certificate.entities, sample.entities()) {
        (Some(entities), None) => Err(CertifyError::NoEntities { column: entities.column.clone() }),
        _ => Ok(()),
    }
}

/// Refuses what only a certificate edited by hand can say.
pub(super) fn check(certificate: &Certificate) -> Result<(), CertifyError> {
    let groups = if certificate.column.is_some() { certificate.groups.len() } else { 1 };
    let reason = if certificate.thresholds.len() != groups {
        "it has more or fewer thresholds than groups"
    } else if certificate.thresholds.iter().any(|threshold| threshold.is_nan()) {
        "a threshold is not a number"
    } else if !(certificate.confidence_each > 0.0 && certificate.confidence_each < 1.0) {
        "its confidence is outside (0, 1)"
    } else {
        return Ok(());
    };
    Err(CertifyError::Damaged { reason })
}

/// A certified condition.
pub(super) fn condition_of(certified: &CertifiedCondition) -> Result<Constraint, CertifyError> {
    let parsed = parse_conditions(&certified.condition)?;
    <[Constraint; 1]>::try_from(parsed)
        .map(|[condition]| condition)
        .map_err(|_| CertifyError::Damaged { reason: "an entry holds more than one condition" })
}

/// The threshold that a certified condition is about.
pub(super) fn threshold_of(
    certificate: &Certificate,
    certified: &CertifiedCondition,
) -> Result<f32, CertifyError> {
    certificate
        .threshold(certified.group.as_deref())
        .ok_or(CertifyError::Damaged { reason: "a condition is on a group without a threshold" })
}

/// What new examples come to by one condition.
#[derive(Default)]
struct Counted {
    /// What the rate counts, and out of how many.
    share: (u64, u64),
    /// Of rows in entities, which are all in one piece.
    p_value: Option<f64>,
}

impl Counted {
    fn add(
        &mut self,
        certificate: &Certificate,
        certified: &CertifiedCondition,
        cohorts: &[Cohort],
        level: f64,
    ) -> Result<(), CertifyError> {
        let claim = Claim::of(&condition_of(certified)?)?;
        let threshold = threshold_of(certificate, certified)?;
        // A group without new examples has nothing to tell.
        let Some(cohort) = cohorts.iter().find(|cohort| cohort.name() == certified.group.as_deref()) else {
            return Ok(());
        };
        let (counted, examples) = claim.share(&cohort.tally(threshold));
        self.share = (self.share.0 + counted, self.share.1 + examples);
        // The threshold is fixed, so every entity tests it.
        if let Some(entities) = EntityClaim::new(&claim, cohort, level, Test::Betting, Some(&[])) {
            let counts = entities.counts(threshold);
            // The assumption of the certificate, or what is seen to break it.
            let largest = match certified.method {
                Method::Betting { largest, .. } => entities.largest(&counts).max(largest as f64),
                _ => entities.largest(&counts),
            };
            self.p_value = Some(Bets::for_violation(&claim, largest).p_value(&counts, level));
        }
        Ok(())
    }

    fn test(self, certified: &CertifiedCondition, level: f64) -> Result<Drift, CertifyError> {
        let claim = Claim::of(&condition_of(certified)?)?;
        let (counted, examples) = self.share;
        let binomial = || claim.opposite_tail(examples, claim.bad(counted, examples));
        let p_value = self.p_value.unwrap_or_else(binomial);
        let observed = (examples > 0).then(|| counted as f64 / examples as f64);
        let verdict = Verdict::of(&claim, observed, p_value, level);
        Ok(Drift {
            condition: certified.condition.clone(),
            group: certified.group.clone(),
            examples,
            counted,
            noun: claim.noun(),
            observed,
            p_value,
            level,
            survives_mix: claim.rate.survives_mix(),
            verdict,
        })
    }
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { condition, examples, counted, noun, p_value, .. } = self;
        let group = of_group(self.group.as_deref());
        let Some(observed) = self.observed else {
            return write!(f, "{group}{condition} is inconclusive: the data holds no {noun}");
        };
        let (verdict, why) = match self.verdict {
            Verdict::Holds => ("holds", "within the target"),
            Verdict::Inconclusive => ("is inconclusive", "past the target, but chance may explain it"),
            Verdict::Violated => ("is violated", "further past the target than chance explains"),
        };
        let observed = percent(observed);
        let p_value = if *p_value < 0.001 { format!("{p_value:.1e}") } else { format!("{p_value:.3}") };
        write!(
            f,
            "{group}{condition} {verdict}: observed {observed} ({counted} of {examples} {noun}), {why} (p-value {p_value})"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certify::{CertifyOptions, certify};

    fn negatives(above: usize, below: usize) -> (Sample, Vec<f32>) {
        let scores = (0..above + below).map(|i| if i < above { 1.0 } else { 0.0 }).collect();
        (Sample::new(vec![false; above + below]).unwrap(), scores)
    }

    fn certificate() -> Certificate {
        let (sample, mut scores) = negatives(0, 1000);
        scores.iter_mut().enumerate().for_each(|(i, score)| *score = i as f32 / 2000.0);
        let conditions = parse_conditions("fpr<=5%").unwrap();
        certify(&conditions, &sample, &scores, &CertifyOptions::new(0.95)).unwrap()
    }

    #[test]
    fn the_verdict_follows_the_exact_test() {
        let certificate = certificate();
        assert!(certificate.thresholds[0] < 1.0);
        // P[Binomial(200, 0.05) >= 16] = 0.044, P[... >= 15] = 0.078.
        for (above, verdict, words) in [
            (10, Verdict::Holds, "fpr<=5% holds: observed 5% (10 of 200 negatives), within the target ("),
            (11, Verdict::Inconclusive, "fpr<=5% is inconclusive: observed 5.5% (11 of 200 negatives), past"),
            (15, Verdict::Inconclusive, "fpr<=5% is inconclusive: observed 7.5%"),
            (16, Verdict::Violated, "fpr<=5% is violated: observed 8% (16 of 200 negatives), further past"),
        ] {
            let (sample, scores) = negatives(above, 200 - above);
            let tested = &drift(&certificate, &sample, &scores).unwrap()[0];
            assert_eq!(tested.verdict, verdict, "{tested}");
            assert!(tested.to_string().starts_with(words), "{tested}");
            assert!(!tested.to_string().contains('\n'));
        }
    }

    #[test]
    fn data_without_the_slice_is_inconclusive() {
        let sample = Sample::new(vec![true; 3]).unwrap();
        let tested = &drift(&certificate(), &sample, &[1.0; 3]).unwrap()[0];
        assert_eq!((tested.verdict, tested.p_value), (Verdict::Inconclusive, 1.0));
        assert_eq!(tested.to_string(), "fpr<=5% is inconclusive: the data holds no negatives");
    }

    #[test]
    fn groups_are_matched_by_name() {
        let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
        let grouped = |names| {
            let codes = (0..400).map(|i| i % 2).collect();
            Sample::new(vec![false; 400]).unwrap().with_groups("sex", names, codes).unwrap()
        };
        let scores: Vec<f32> =
            (0..400).map(|i| (i / 2) as f32 + if i % 2 == 1 { 1000.0 } else { 0.0 }).collect();
        let conditions = parse_conditions("fpr(sex)<=10%").unwrap();
        let sample = grouped(names(["f", "m"]));
        let certificate = certify(&conditions, &sample, &scores, &CertifyOptions::new(0.9)).unwrap();
        assert!(certificate.threshold(Some("f")).unwrap() < 200.0);
        assert!(certificate.threshold(Some("m")).unwrap() > 1000.0);
        let swapped: Vec<f32> =
            scores.iter().map(|s| if *s < 1000.0 { s + 1000.0 } else { s - 1000.0 }).collect();
        let tested = drift(&certificate, &grouped(names(["m", "f"])), &swapped).unwrap();
        assert!(tested.iter().all(|test| test.verdict == Verdict::Holds));
        let refused = drift(&certificate, &grouped(names(["m", "x"])), &swapped).unwrap_err();
        assert_eq!(refused.to_string(), "the certificate has no threshold for group \"x\" of column \"sex\"");
        let (plain, scores) = negatives(1, 1);
        assert!(matches!(drift(&certificate, &plain, &scores), Err(CertifyError::NoGroups { .. })));
    }

    #[test]
    fn a_damaged_certificate_is_refused() {
        let (sample, scores) = negatives(1, 9);
        let mut damaged = certificate();
        damaged.conditions[0].condition = "fpr<=5%, recall>=0.5".to_owned();
        assert!(matches!(drift(&damaged, &sample, &scores), Err(CertifyError::Damaged { .. })));
        damaged.conditions[0].condition = "fpr<=".to_owned();
        assert!(matches!(drift(&damaged, &sample, &scores), Err(CertifyError::Condition(_))));
        for damage in [
            |certificate: &mut Certificate| certificate.thresholds.clear(),
            |certificate: &mut Certificate| certificate.thresholds[0] = f32::NAN,
            |certificate: &mut Certificate| certificate.confidence_each = 1.5,
        ] {
            let mut damaged = certificate();
            damage(&mut damaged);
            assert!(matches!(drift(&damaged, &sample, &scores), Err(CertifyError::Damaged { .. })));
        }
    }
}
