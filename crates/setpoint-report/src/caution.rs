//! What a reader of a report should be careful about.

use setpoint::message::quote;
use setpoint::metric::interval::normal_quantile;

use crate::number::{capital, level, percent};
use crate::record::{CautionRecord, ComparisonRecord, PartRecord};

/// Fewer examples than this past the limit, were the rate at it, make a small calibration set.
const FEW_AT_LIMIT: f64 = 30.0;
/// Fewer positives than this are few to measure on.
const FEW_POSITIVES: u64 = 100;
/// A larger share of the rows than this on one score beside the threshold is a tie worth naming.
const TIED: f64 = 0.005;

/// The parts of a training run.
const PARTS: [&str; 4] = ["train", "validation", "calibration", "test"];

/// What the cautions depend on.
#[derive(Clone, Debug)]
pub struct Circumstances<'a> {
    /// Every part measured.
    pub parts: &'a [PartRecord],
    /// The one shown.
    pub shown: &'a str,
    /// Why there is no certificate, where there is a reason.
    pub refused: Option<&'a str>,
    /// What is to be known of the rows that the certificate is from.
    pub population: Option<&'a str>,
    /// The part the threshold was chosen on.
    pub thresholds_from: Option<&'a str>,
    /// The share of the rows on the score beside the threshold.
    pub tied: f64,
    /// The share of positives that the model was trained on, where it is known from elsewhere.
    pub trained: Option<f64>,
    /// The comparison with cross-entropy.
    pub comparison: Option<&'a ComparisonRecord>,
}

impl Circumstances<'_> {
    /// The cautions, the gravest first.
    #[must_use]
    pub fn cautions(&self) -> Vec<CautionRecord> {
        let mut found = Vec::new();
        let mut add = |kind: &'static str, text: Option<String>| {
            found.extend(text.map(|text| CautionRecord { kind, text }));
        };
        add("drift", self.drift());
        add("population", self.population.map(sentence));
        add("decided-alike", self.decided_alike());
        add("goal-not-met", self.goal_not_met());
        add("not-certified", self.not_certified());
        add("no-test", self.no_test());
        add("class-balance", self.class_balance());
        add("small-calibration", self.small_calibration());
        add("few-positives", self.few_positives());
        add("ties", self.ties());
        add("within-noise", self.within_noise());
        found
    }

    /// Whether there are several classes.
    fn several(&self) -> bool {
        self.shown().is_some_and(|part| part.evaluation.classes.is_some())
    }

    fn shown(&self) -> Option<&PartRecord> {
        self.parts.iter().find(|part| part.name == self.shown)
    }

    fn drift(&self) -> Option<String> {
        let evaluation = &self.shown()?.evaluation;
        let past: Vec<&str> = evaluation
            .drift
            .iter()
            .filter(|drift| drift.verdict != "holds")
            .map(|drift| drift.text.as_str())
            .collect();
        if past.is_empty() {
            return evaluation
                .drift_refused
                .as_ref()
                .filter(|_| self.thresholds_from != Some(self.shown))
                .map(|reason| format!("Whether the certificate still holds was not tested: {reason}."));
        }
        let grave = evaluation.drift.iter().any(|drift| drift.verdict == "violated");
        let start = if grave { "The certificate does not hold on these rows" } else { "Past its limit here" };
        Some(format!("{start}: {}.", past.join("; ")))
    }

    fn decided_alike(&self) -> Option<String> {
        let found = self.shown()?.evaluation.decided_alike();
        (!found.is_empty()).then(|| format!("{}.", capital(&found.join("; "))))
    }

    fn goal_not_met(&self) -> Option<String> {
        let unmet = self.shown()?.evaluation.not_met()?;
        Some(format!("The goal is not met on these rows, and nothing is certified: {unmet}."))
    }

    fn not_certified(&self) -> Option<String> {
        let evaluation = &self.shown()?.evaluation;
        if evaluation.certificate.is_some() || evaluation.bound.is_some() {
            return None;
        }
        let reason = match (self.refused, self.thresholds_from) {
            (Some(reason), _) => reason,
            (None, Some(_)) => "no certificate was asked for",
            (None, None) => "no certificate travels with the model",
        };
        if evaluation.queries.is_some() {
            return Some(format!("Nothing is certified about new queries: {reason}."));
        }
        if let Some(limits) = &evaluation.approximate {
            let entities = limits.full.entities.as_ref().map_or(0, |entities| entities.count);
            return Some(format!(
                "The threshold is not certified: {reason}. It is an approximate limit, from draws of the \
                 {entities} entities of the calibration rows: meant to hold with {} confidence, and nothing proves it.",
                level(limits.full.confidence)
            ));
        }
        let met = |part: &PartRecord| {
            Some(part.name.as_str()) == self.thresholds_from && part.evaluation.unmet.is_empty()
        };
        let from = self.parts.iter().find(|part| met(part)).map_or_else(String::new, |part| {
            let part = &part.name;
            format!(" It holds exactly on the {part} rows it was chosen on, and on new rows only about so.")
        });
        let what = if self.several() { "The shifts are" } else { "The threshold is" };
        Some(format!("{what} not certified: {reason}.{from}"))
    }

    fn no_test(&self) -> Option<String> {
        if !PARTS.contains(&self.shown) {
            let here = self.thresholds_from == Some(self.shown);
            return here.then(|| {
                "The threshold was chosen on these very rows: what it gives on them is no measure of what it \
                 will give on new ones, of which only the certificate speaks."
                    .to_owned()
            });
        }
        // A threshold that the validation rows chose leaves those of calibration untouched.
        let fresh = self.shown == "test"
            || (self.shown == "calibration" && self.thresholds_from == Some("validation"));
        (!fresh).then(|| {
            format!(
                "There is no test part. What is shown is of the {} rows, which took part in the choice of \
                 the model or of its threshold: expect a little less on new rows.",
                self.shown
            )
        })
    }

    /// The share of positives against that of the training rows, where chance does not explain it.
    fn class_balance(&self) -> Option<String> {
        let train = self.parts.iter().find(|part| part.name == "train" && self.shown != "train");
        let train = train.map(|part| &part.evaluation);
        let share = |positives: u64, rows: u64| positives as f64 / rows as f64;
        let there = match train {
            Some(train) => share(train.positives?, train.rows),
            None => self.trained?,
        };
        let shown = &self.shown()?.evaluation;
        let here = share(shown.positives?, shown.rows);
        let rows = 1.0 / shown.rows as f64 + train.map_or(0.0, |train| 1.0 / train.rows as f64);
        let error = (there * (1.0 - there) * rows).sqrt();
        // One in a thousand by chance, and large enough to matter.
        let differs = (here - there).abs() > normal_quantile(0.9995) * error
            && (here - there).abs() > 0.1 * here.max(there);
        differs.then(|| {
            format!(
                "{} of these rows are positive, against {} in training. Recall and false positive rate \
                 do not depend on that; precision does.",
                percent(here),
                percent(there)
            )
        })
    }

    fn small_calibration(&self) -> Option<String> {
        let certificate = self.shown()?.evaluation.certificate.as_ref()?;
        let bad = |one: &&setpoint::certify::CertifiedCondition| {
            let rare = one.target.min(1.0 - one.target);
            rare * (one.examples as f64) < FEW_AT_LIMIT
        };
        let small = certificate.full.conditions.iter().filter(bad).min_by_key(|one| one.examples)?;
        let group = small.group.as_ref().map_or_else(String::new, |group| format!(" in group {group}"));
        Some(format!(
            "The calibration set is small: {} is proved{group} on {} examples ({} observed), so that {} well \
             clear of its limit. More calibration rows would let it come closer.",
            small.condition,
            small.examples,
            percent(small.observed),
            if self.several() { "shifts keep the rate" } else { "the threshold keeps" }
        ))
    }

    fn few_positives(&self) -> Option<String> {
        let shown = &self.shown()?.evaluation;
        let (few, noun) = match (shown.positives, &shown.classes) {
            (Some(positives), _) if positives <= shown.rows - positives => {
                (positives, "positives".to_owned())
            }
            (Some(positives), _) => (shown.rows - positives, "negatives".to_owned()),
            (None, _) if shown.queries.is_some() => {
                let queries = shown.queries.as_ref().map_or(0, |queries| queries.queries - queries.empty);
                (queries, "queries with something relevant".to_owned())
            }
            (None, classes) => {
                let fewest = classes.as_ref()?.decided.by_class.iter().min_by_key(|class| class.rows)?;
                (fewest.rows, format!("rows of class {}", quote(&fewest.class)))
            }
        };
        (few < FEW_POSITIVES)
            .then(|| format!("Only {few} {noun} to measure on: mind the width of the intervals."))
    }

    fn ties(&self) -> Option<String> {
        (self.tied > TIED).then(|| {
            format!(
                "{} of these rows share the lowest score above the threshold: they are decided together, \
                 and a hair's breadth more of threshold would decide them the other way.",
                percent(self.tied)
            )
        })
    }

    fn within_noise(&self) -> Option<String> {
        let comparison = self.comparison?;
        let interval = comparison.interval.as_ref()?;
        let same = interval.lower == interval.upper;
        (!same && interval.lower <= 0.0 && interval.upper >= 0.0).then(|| {
            let points = |value: f64| format!("{:+.2}", 100.0 * value).replace('-', "\u{2212}");
            format!(
                "The difference to {} is within what chance explains on these rows ({} points, interval {} \
                 to {}).",
                comparison.name,
                points(comparison.gain),
                points(interval.lower),
                points(interval.upper)
            )
        })
    }
}

/// A sentence of its own.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{DriftRecord, EvaluateRecord};
    use crate::train::Confusion;

    fn part(name: &str, rows: u64, positives: u64) -> PartRecord {
        let evaluation = EvaluateRecord {
            goal: "recall @ fpr<=1%".to_owned(),
            operating: "recall @ fpr<=1%".to_owned(),
            rows,
            positives: Some(positives),
            thresholds: vec![0.0],
            confusion: Some(Confusion {
                true_positives: 0.0,
                false_negatives: positives as f64,
                false_positives: 1.0,
                true_negatives: (rows - positives) as f64 - 1.0,
            }),
            ..EvaluateRecord::default()
        };
        PartRecord { name: name.to_owned(), evaluation }
    }

    fn kinds(parts: &[PartRecord], shown: &str, tied: f64) -> Vec<&'static str> {
        let circumstances = Circumstances {
            parts,
            shown,
            refused: Some("too few"),
            population: None,
            thresholds_from: Some("calibration"),
            tied,
            trained: None,
            comparison: None,
        };
        circumstances.cautions().iter().map(|caution| caution.kind).collect()
    }

    #[test]
    fn each_circumstance_has_its_caution_and_good_ones_none() {
        let parts = [part("train", 10_000, 2_000), part("test", 5_000, 1_000)];
        assert_eq!(kinds(&parts, "test", 0.001), ["not-certified"]);
        assert_eq!(kinds(&parts, "train", 0.001), ["not-certified", "no-test"]);
        assert_eq!(kinds(&parts, "test", 0.2), ["not-certified", "ties"]);
        let shifted = [part("train", 10_000, 2_000), part("test", 5_000, 1_500)];
        assert_eq!(kinds(&shifted, "test", 0.0), ["not-certified", "class-balance"]);
        let small = [part("train", 100, 20), part("test", 50, 11)];
        assert_eq!(kinds(&small, "test", 0.0), ["not-certified", "few-positives"]);
    }

    #[test]
    fn calibration_rows_that_chose_nothing_are_as_good_as_test_rows() {
        let parts = [part("calibration", 5_000, 1_000)];
        let shared = Circumstances {
            parts: &parts,
            shown: "calibration",
            refused: Some("gaps"),
            population: None,
            thresholds_from: Some("validation"),
            tied: 0.0,
            trained: None,
            comparison: None,
        };
        assert_eq!(
            shared.cautions().iter().map(|caution| caution.kind).collect::<Vec<_>>(),
            ["not-certified"]
        );
        assert_eq!(kinds(&parts, "calibration", 0.0), ["not-certified", "no-test"]);
    }

    #[test]
    fn a_model_that_decides_nobody_positive_is_cautioned_against() {
        let mut parts = [part("test", 5_000, 1_000)];
        parts[0].evaluation.confusion.as_mut().unwrap().false_positives = 0.0;
        assert_eq!(kinds(&parts, "test", 0.0), ["decided-alike", "not-certified"]);
    }

    #[test]
    fn a_violated_certificate_comes_first() {
        let mut parts = [part("january.csv", 5_000, 1_000)];
        parts[0].evaluation.drift = vec![DriftRecord {
            condition: "fpr<=1%".to_owned(),
            group: None,
            verdict: "violated",
            observed: Some(0.02),
            examples: 4_000,
            p_value: 1e-9,
            level: 0.05,
            survives_mix: true,
            text: "fpr<=1% violated".to_owned(),
        }];
        assert_eq!(kinds(&parts, "january.csv", 0.0)[0], "drift");
    }
}
