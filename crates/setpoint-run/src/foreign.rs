//! Scores of any model: thresholds for them, what they come to on labelled rows, and the page of that.
//!
//! Scores come as 64-bit numbers. Numbers are measured by their ranks, so that nothing is rounded;
//! pictures are drawn from 32-bit scores that make the same decisions.

use serde_json::Value;
use setpoint::Sample;
use setpoint::artifact::Groups;
use setpoint::certify::Certificate;
use setpoint::goal::Goal;
use setpoint::metric::Ranked;
use setpoint::problem::ProblemOptions;
use setpoint::threshold::exact;
use setpoint::train::selection::as_fraction;
use setpoint_report::{CertificateRecord, EvaluateRecord, PartRecord, ReportRecord, RunRecord};

use crate::certify::{Asked, certify};
use crate::failure::Failure;
use crate::group::spell_as;
use crate::kind::{ByThreshold, Rule};
use crate::report::{Described, Shown, Source, assemble};
use crate::threshold::Shipped;

/// The scores' name in pictures.
const SCORES: &str = "these scores";

/// Thresholds for a model's scores, and what is known about them.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// One, or one for each group: positive when `score >= threshold`.
    pub thresholds: Vec<f64>,
    /// The groups.
    pub groups: Option<Groups>,
    /// The proof.
    pub certificate: Option<CertificateRecord>,
    /// What takes its place where rows come in too few entities for a proof.
    pub approximate: Option<CertificateRecord>,
    /// Why there is no proof.
    pub refused: Option<String>,
    /// What speaks against taking the rows of the proof for independent draws.
    pub caution: Option<String>,
}

impl Chosen {
    /// Chooses thresholds on these rows: certified, or approximate where rows come in too few entities
    /// for that, else exact.
    ///
    /// # Errors
    /// If no threshold meets the goal's conditions, or the goal does not fit the rows.
    pub fn on(
        goal: &Goal,
        shared_threshold: bool,
        sample: &Sample,
        scores: &[f64],
        confidence: Option<f64>,
    ) -> Result<Self, Failure> {
        let goal = as_fraction(goal, sample.len() as u64).operating();
        if goal.abstains() {
            return Err(Failure::input(format!(
                "{goal}: rows are left undecided by models that Setpoint trained for it; hold rates at one threshold here"
            )));
        }
        let sample = &sample.clone().paid_by(&goal)?;
        let of_groups = goal.column().is_some() && !shared_threshold;
        let proved =
            Asked { shared_threshold, ..Asked::of(goal.constraints.clone(), Some(goal.objective.clone())) };
        let mut refused = None;
        if let Some(confidence) = confidence {
            match certify(&proved, sample, scores, confidence) {
                Ok(certified) => {
                    let certificate = Some(certified.certificate.clone());
                    let caution = certified.caution;
                    return Ok(Self { certificate, caution, ..Self::of(&certified.certificate, of_groups) });
                }
                Err(failure) => refused = Some(failure.message),
            }
            let near = Asked { approximate: true, ..proved };
            if let Ok(limits) = certify(&near, sample, scores, confidence)
                && limits.certificate.full.is_approximate()
            {
                let approximate = Some(limits.certificate.clone());
                return Ok(Self { approximate, refused, ..Self::of(&limits.certificate, of_groups) });
            }
        }
        let ranked = Ranked::new(scores)?;
        let options = ProblemOptions { shared_threshold, ..ProblemOptions::default() };
        let solved = exact::solve(&goal, sample, &ranked.ranks()?, &options)?;
        let thresholds: Vec<f64> = solved.thresholds.iter().map(|one| ranked.score(*one)).collect();
        let groups = sample.groups().filter(|groups| of_groups && groups.names().len() == thresholds.len());
        let groups = groups
            .map(|groups| Groups { column: groups.column().to_owned(), names: groups.names().to_vec() });
        Ok(Self { thresholds, groups, certificate: None, approximate: None, refused, caution: None })
    }

    /// A threshold that was chosen elsewhere, of which nothing is known.
    ///
    /// # Errors
    /// If it is not finite.
    pub fn fixed(threshold: f64) -> Result<Self, Failure> {
        if !threshold.is_finite() {
            return Err(Failure::input(format!("‹threshold {threshold}›: expected a finite number")));
        }
        let refused = Some("the threshold was given without a certificate".to_owned());
        Ok(Self {
            thresholds: vec![threshold],
            groups: None,
            certificate: None,
            approximate: None,
            refused,
            caution: None,
        })
    }

    /// The thresholds of a certificate as [`certify`] records it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn certified(record: &Value) -> Result<Self, Failure> {
        let certificate = CertificateRecord::from_json(record)
            .map_err(|error| Failure::input(format!("not a certificate: {error}")))?;
        let of_groups = certificate.threshold.is_none();
        let own = Self::of(&certificate, of_groups);
        let places = certificate.full.groups.len().max(1);
        if certificate.thresholds.len() != places || !own.thresholds.iter().all(|one| one.is_finite()) {
            return Err(Failure::input("not a certificate: its thresholds do not fit its groups"));
        }
        let caution = record["caution"].as_str().map(str::to_owned);
        let (certificate, approximate) = match certificate.full.is_approximate() {
            true => (None, Some(certificate)),
            false => (Some(certificate), None),
        };
        let refused = approximate.as_ref().map(|_| "its limits are approximate".to_owned());
        Ok(Self { certificate, approximate, refused, caution, ..own })
    }

    /// The thresholds of a certificate, without it.
    fn of(certificate: &CertificateRecord, of_groups: bool) -> Self {
        let CertificateRecord { full, thresholds, .. } = certificate;
        let groups = full.column.clone().filter(|_| of_groups);
        let groups = groups.map(|column| Groups { column, names: full.groups.clone() });
        let own = if groups.is_some() { thresholds.len() } else { thresholds.len().min(1) };
        Self {
            thresholds: thresholds[..own].to_vec(),
            groups,
            certificate: None,
            approximate: None,
            refused: None,
            caution: None,
        }
    }

    /// The same thresholds as the rest of the library has them, each turned into 32 bits.
    fn shipped(&self, turn: impl Fn(f64) -> f32) -> Shipped {
        let turned = |record: &Option<CertificateRecord>| {
            let record = record.as_ref()?;
            let thresholds = record.thresholds.iter().map(|one| turn(*one)).collect();
            Some(Certificate { thresholds, ..record.full.clone() })
        };
        Shipped {
            thresholds: self.thresholds.iter().map(|one| turn(*one)).collect(),
            groups: self.groups.clone(),
            certificate: turned(&self.certificate),
            approximate: turned(&self.approximate),
            refused: self.refused.clone(),
            from: "calibration",
        }
    }
}

/// Labelled rows with a model's scores, and the thresholds that decide them.
#[derive(Clone, Copy, Debug)]
pub struct ScoredRows<'a> {
    /// The goal.
    pub goal: &'a Goal,
    /// Labels, weights, groups.
    pub sample: &'a Sample,
    /// One score for each; higher is more positive.
    pub scores: &'a [f64],
    /// The thresholds.
    pub chosen: &'a Chosen,
    /// Whether they were chosen on these very rows, which then cannot test them.
    pub chosen_here: bool,
}

impl ScoredRows<'_> {
    /// The rows with groups called as the thresholds call them.
    fn spelled(&self) -> Result<Sample, Failure> {
        let certificate = self.chosen.certificate.as_ref();
        let names = match (&self.chosen.groups, certificate) {
            (Some(groups), _) => &groups.names[..],
            (None, Some(certificate)) => &certificate.full.groups,
            (None, None) => &[],
        };
        Ok(spell_as(self.sample, names)?)
    }

    fn decision(&self, shipped: Shipped) -> ByThreshold {
        let goal = as_fraction(self.goal, self.sample.len() as u64);
        let shared_threshold = goal.column().is_some() && self.chosen.groups.is_none();
        ByThreshold { goal, shared_threshold, shipped, probability: None, sketch: None }
    }
}

/// Measures scores of any model at the goal and at their thresholds; names, hashes and notes are for the
/// caller to add.
///
/// # Errors
/// If the rows lack the groups of the thresholds, or a rate cannot be measured on them.
pub fn evaluate_scores(rows: &ScoredRows<'_>, confidence: f64) -> Result<EvaluateRecord, Failure> {
    let chosen = rows.chosen;
    let sample = rows.spelled()?;
    let ranked = Ranked::new(rows.scores)?;
    let by_rank = chosen.shipped(|threshold| ranked.rank(threshold));
    let decision = rows.decision(by_rank);
    let (text, by_rank) = (rows.goal.to_string(), &decision.shipped);
    let mut record = decision.measure(&text, &(&sample, &ranked.ranks()?[..]), None, confidence)?;
    record.thresholds.clone_from(&chosen.thresholds);
    for group in &mut record.groups {
        group.threshold = chosen.thresholds[by_rank.place_of(&group.column, &group.group)?];
    }
    record.certificate.clone_from(&chosen.certificate);
    record.approximate.clone_from(&chosen.approximate);
    if rows.chosen_here && record.certificate.is_some() {
        let reason =
            "the threshold was chosen on these very rows; give the certificate of other rows (‹certificate›)";
        (record.drift, record.drift_refused) = (Vec::new(), Some(reason.to_owned()));
    }
    let caution = chosen.caution.iter().map(|caution| format!("the certificate has a caution: {caution}"));
    record.notes = caution.chain(record.decided_alike()).collect();
    Ok(record)
}

/// The report of scores that were evaluated.
///
/// # Errors
/// If they cannot be pictured.
pub fn report_scores(
    rows: &ScoredRows<'_>,
    evaluation: &EvaluateRecord,
    described: &Described,
) -> Result<ReportRecord, Failure> {
    let sample = rows.spelled()?;
    let shipped = rows.chosen.shipped(rounded);
    let mut scores = Vec::with_capacity(rows.scores.len());
    for (row, score) in rows.scores.iter().enumerate() {
        let place = match (&rows.chosen.groups, sample.groups()) {
            (Some(_), Some(found)) => {
                shipped.place_of(found.column(), &found.names()[found.codes()[row] as usize])?
            }
            _ => 0,
        };
        let (threshold, near) = (rows.chosen.thresholds[place], shipped.thresholds[place]);
        // Rounding keeps the order but may make scores equal to the threshold that are below it.
        let close = rounded(*score);
        scores.push(if *score >= threshold { close.max(near) } else { close.min(near.next_down()) });
    }
    let name = described.title.clone();
    let shown = Shown { name: name.clone(), sample: &sample, scores: &scores, base: None };
    let source = Source {
        called: SCORES,
        training: None,
        caution: rows.chosen.caution.clone(),
        thresholds_from: rows.chosen_here.then_some(name.as_str()),
        positive_share: None,
    };
    let run = RunRecord {
        command: described.command.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        measured_on: evaluation.data_hash.clone(),
        ..RunRecord::default()
    };
    let parts = vec![PartRecord { name: name.clone(), evaluation: evaluation.clone() }];
    let text = rows.goal.to_string();
    assemble(&rows.decision(shipped), &text, &shown, parts, described, source, run)
}

/// The 32-bit number next to it, with room below.
fn rounded(value: f64) -> f32 {
    (value as f32).clamp(f32::MIN.next_up(), f32::MAX)
}

#[cfg(test)]
mod tests {
    use setpoint_report::to_html;

    use super::*;

    const CONFIDENCE: f64 = 0.95;

    /// Scores a hair apart, which 32 bits cannot tell from each other, and labels that follow them.
    fn rows(count: usize, salt: u64) -> (Sample, Vec<f64>) {
        let mut state = salt;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / (1u64 << 31) as f64
        };
        let (mut labels, mut scores) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let score = random();
            labels.push(random() < score * score * score);
            scores.push(0.25 + 1e-9 * score);
        }
        (Sample::new(labels).unwrap(), scores)
    }

    fn described() -> Described {
        Described { title: "scores.csv".to_owned(), command: None, confidence: CONFIDENCE }
    }

    #[test]
    fn scores_are_decided_and_measured_with_all_their_digits() {
        let goal: Goal = "recall @ fpr<=5%".parse().unwrap();
        let (sample, scores) = rows(4000, 1);
        let chosen = Chosen::on(&goal, false, &sample, &scores, Some(CONFIDENCE)).unwrap();
        let asked = Asked::new("recall @ fpr<=5%").unwrap();
        let certified = certify(&asked, &sample, &scores, CONFIDENCE).unwrap();
        assert_eq!(chosen.thresholds, certified.thresholds);
        assert_eq!(chosen.certificate, Some(certified.certificate));
        let rows =
            ScoredRows { goal: &goal, sample: &sample, scores: &scores, chosen: &chosen, chosen_here: true };
        let record = evaluate_scores(&rows, CONFIDENCE).unwrap();
        let alarms = |class: bool| {
            let decided = scores.iter().zip(sample.labels()).filter(|(_, label)| **label == class);
            decided.filter(|(score, _)| **score >= chosen.thresholds[0]).count() as f64
        };
        assert_eq!(record.confusion.unwrap().true_positives, alarms(true));
        assert_eq!(record.confusion.unwrap().false_positives, alarms(false));
        assert!(record.at_condition.as_ref().unwrap().value >= record.at_threshold[0].value);
        assert!(record.drift.is_empty() && record.check().unwrap_err().contains("on these very rows"));
        let page = report_scores(&rows, &record, &described()).unwrap();
        let kinds: Vec<&str> = page.cautions.iter().map(|caution| caution.kind).collect();
        assert!(kinds.contains(&"no-test") && !kinds.contains(&"not-certified"), "{kinds:?}");
        let text = to_html(&page);
        assert!(text.contains(&format!("{}", chosen.thresholds[0])), "the threshold has all its digits");
        assert!(!text.contains("Against cross-entropy"));
    }

    #[test]
    fn a_certificate_from_elsewhere_is_tested_on_new_rows() {
        let goal: Goal = "recall @ fpr<=5%".parse().unwrap();
        let (sample, scores) = rows(4000, 1);
        let certified =
            certify(&Asked::new("recall @ fpr<=5%").unwrap(), &sample, &scores, CONFIDENCE).unwrap();
        let chosen = Chosen::certified(&certified.record).unwrap();
        assert_eq!(chosen.certificate.as_ref(), Some(&certified.certificate));
        let (sample, scores) = rows(4000, 2);
        let verdict = |scores: &[f64]| {
            let rows =
                ScoredRows { goal: &goal, sample: &sample, scores, chosen: &chosen, chosen_here: false };
            let record = evaluate_scores(&rows, CONFIDENCE).unwrap();
            report_scores(&rows, &record, &described()).unwrap();
            record.drift[0].verdict
        };
        assert_eq!(verdict(&scores), "holds");
        let shifted: Vec<f64> = scores.iter().map(|score| score + 2e-10).collect();
        assert_eq!(verdict(&shifted), "violated");
    }

    #[test]
    fn groups_have_thresholds_of_their_own_and_weights_leave_the_reason() {
        let goal: Goal = "recall @ fpr(site)<=20%".parse().unwrap();
        let (sample, scores) = rows(2000, 3);
        let codes = (0..2000).map(|row| row % 2).collect();
        let names = ["a", "b"].map(str::to_owned).to_vec();
        let sample = sample.with_groups("site", names, codes).unwrap();
        let chosen = Chosen::on(&goal, false, &sample, &scores, Some(CONFIDENCE)).unwrap();
        let rows =
            ScoredRows { goal: &goal, sample: &sample, scores: &scores, chosen: &chosen, chosen_here: true };
        let record = evaluate_scores(&rows, CONFIDENCE).unwrap();
        let shown: Vec<f64> = record.groups.iter().map(|group| group.threshold).collect();
        assert_eq!((shown, 2), (chosen.thresholds.clone(), chosen.thresholds.len()));
        report_scores(&rows, &record, &described()).unwrap();

        let weights = (0..2000).map(|row| 1.0 + (row % 3) as f32).collect();
        let weighted = sample.clone().with_weights(weights).unwrap();
        let chosen = Chosen::on(&goal, false, &weighted, &scores, Some(CONFIDENCE)).unwrap();
        assert!(chosen.certificate.is_none() && chosen.refused.unwrap().contains("weights"));
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        for bad in ["{}", "[]", "{\"thresholds\": [1]}"] {
            let value: Value = serde_json::from_str(bad).unwrap();
            assert!(Chosen::certified(&value).unwrap_err().message.starts_with("not a certificate"), "{bad}");
        }
        assert!(Chosen::fixed(f64::NAN).is_err());
    }
}
