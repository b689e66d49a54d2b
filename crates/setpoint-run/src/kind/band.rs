//! Positive, negative, or left to people: one score against two thresholds.

use setpoint::Sample;
use setpoint::artifact::ModelFile;
use setpoint::certify::monitor::{Certified, Known, Sketch};
use setpoint::certify::{Certificate, frontier_drift};
use setpoint::goal::{Constraint, Counts, Direction, Goal, Rate};
use setpoint::metric::{Condition, Cuts, Rows, confusion, interval};
use setpoint_data::Codes;
use setpoint_report::{
    AtCondition, BandRecord, Bounds, CertificateRecord, ComparisonRecord, ConditionRecord, EvaluateRecord,
    Measured as Rates, RecertifyRecord, ReportRecord, Shipped as ShippedRecord, Support, TrainRecord,
    UnmetRecord, widened,
};

use super::threshold::{drift_record, hint, store_thresholds};
use super::{ByThreshold, Decision, Decisions, Measured, Predicted, Rule};
use crate::failure::Failure;
use crate::interval::Measurer;
use crate::measure::counted;
use crate::operate::{Meant, recertify};
use crate::probability::Probability;
use crate::report::{BASELINE, Scene};
use crate::threshold::Shipped;

/// Rates of what is decided.
const RATES: [Rate; 7] = [
    Rate::Coverage,
    Rate::Precision,
    Rate::NegativePredictiveValue,
    Rate::Error,
    Rate::Recall,
    Rate::FalsePositiveRate,
    Rate::PositiveRate,
];
/// Rows a day that reports count by, where no other number is given.
const VOLUME: f64 = 1000.0;

/// How many examples stand behind the rates of what is decided; by weight where there are weights.
fn support(counts: &Counts) -> Support {
    let Counts {
        true_positives, false_positives, false_negatives, true_negatives, positives, negatives, ..
    } = *counts;
    let predicted = [true_positives + false_positives, false_negatives + true_negatives];
    let [positives, negatives, predicted_positive, predicted_negative] =
        [positives, negatives, predicted[0], predicted[1]].map(|count| count as u64);
    Support { positives, negatives, predicted_positive, predicted_negative }
}

/// An upper and a lower threshold, and the goal that they were chosen for.
#[derive(Clone, Debug, PartialEq)]
pub struct ByBand {
    /// The goal.
    pub goal: Goal,
    /// The thresholds, the upper one first.
    pub shipped: Shipped,
    /// Scores as probabilities.
    pub probability: Option<Probability>,
    /// The scores of the calibration part, and how many rows of it are left undecided.
    pub sketch: Option<Sketch>,
}

impl ByBand {
    /// The upper and the lower threshold.
    #[must_use]
    pub fn thresholds(&self) -> [f32; 2] {
        let of = |place: usize| self.shipped.thresholds.get(place).copied().unwrap_or(f32::MAX);
        [of(0), of(1)]
    }

    /// Whether a score is decided positive or negative, or not at all.
    #[must_use]
    pub fn decide(&self, score: f32) -> Option<bool> {
        let [upper, lower] = self.thresholds();
        (score >= upper).then_some(true).or((score < lower).then_some(false))
    }

    fn undecided(&self, scores: &[f32]) -> u64 {
        scores.iter().filter(|score| self.decide(**score).is_none()).count() as u64
    }

    /// The same with a sketch of calibration rows.
    pub(crate) fn sketched(self, sample: &Sample, scores: &[f32]) -> Self {
        Self { sketch: Sketch::of(sample, scores, self.undecided(scores)), ..self }
    }

    fn counts(&self, sample: &Sample, scores: &[f32]) -> Result<Counts, Failure> {
        Ok(confusion::between(sample, scores, self.thresholds())?)
    }

    fn record(counts: &Counts) -> BandRecord {
        let Counts {
            true_positives,
            false_positives,
            false_negatives,
            true_negatives,
            positives,
            negatives,
            ..
        } = *counts;
        let (positive, negative) = (true_positives + false_positives, false_negatives + true_negatives);
        BandRecord {
            positive,
            negative,
            undecided: positives + negatives - positive - negative,
            undecided_positives: positives - true_positives - false_negatives,
            coverage: Rate::Coverage.of_decided(counts),
            precision: Rate::Precision.of_decided(counts),
            npv: Rate::NegativePredictiveValue.of_decided(counts),
            error: Rate::Error.of_decided(counts),
            volume: VOLUME,
        }
    }

    fn conditions(&self) -> impl Iterator<Item = Condition> + '_ {
        self.goal.constraints.iter().filter_map(|constraint| Condition::of(constraint).ok().flatten())
    }

    fn unmet(&self, counts: &Counts) -> Vec<UnmetRecord> {
        let missed = self.conditions().filter_map(|condition| {
            let observed = condition.rate.of_decided(counts)?;
            let record =
                UnmetRecord { condition: condition.to_string(), rate: condition.rate.to_string(), observed };
            (!condition.allows(observed)).then_some(record)
        });
        missed.collect()
    }
}

impl Rule for ByBand {
    fn from(&self) -> &'static str {
        self.shipped.from
    }

    fn certificate(&self) -> Option<&Certificate> {
        self.shipped.certificate.as_ref()
    }

    fn describe(&self, run: &Measured<'_>, record: &mut TrainRecord) -> Result<(), Failure> {
        let counts = run.pair(run.scores).try_map(|pair| match pair {
            Some((sample, scores)) => self.counts(sample, scores).map(Some),
            None => Ok::<_, Failure>(None),
        })?;
        let objective = self.goal.objective.rate();
        record.shipped = counts.map(|counts| {
            let counts = counts.as_ref()?;
            Some(ShippedRecord {
                objective: objective.and_then(|rate| rate.of_decided(counts)),
                recall: Rate::Recall.of_decided(counts),
                fpr: Rate::FalsePositiveRate.of_decided(counts),
                precision: Rate::Precision.of_decided(counts),
                confusion: counted(counts),
                support: support(counts),
            })
        });
        record.band = counts.map(|counts| counts.as_ref().map(Self::record));
        record.constraint = counts.map(|counts| {
            let counts = counts.as_ref()?;
            Some(self.conditions().map(|condition| condition.rate.of_decided(counts)).collect())
        });
        record.constraint_examples = counts.map(|counts| {
            let each = |counts: &Counts| {
                self.conditions().map(|one| support(counts).behind(&one.rate.to_string())).collect()
            };
            counts.as_ref().map_or_else(Vec::new, each)
        });
        record.examples = counts.map(|counts| counts.as_ref().map_or(0, |one| support(one).behind("")));
        record.unmet = counts.map(|counts| counts.as_ref().map_or(Vec::new(), |counts| self.unmet(counts)));
        record.constraint_names = self.conditions().map(|condition| condition.rate.to_string()).collect();
        record.operating = self.goal.to_string();
        record.thresholds.clone_from(&self.shipped.thresholds);
        record.certificate = self.shipped.certificate.clone().map(CertificateRecord::new);
        record.certificate_refused.clone_from(&self.shipped.refused);
        Ok(())
    }

    fn store(&self, file: &mut ModelFile) -> Result<(), Failure> {
        store_thresholds(&self.shipped, self.probability, self.sketch.as_ref(), file)
    }

    fn metrics(&self, record: &TrainRecord, part: &str) -> Vec<(String, f64)> {
        let Some(band) = record.band.get(part).and_then(Option::as_ref) else { return Vec::new() };
        let named = [
            ("coverage", band.coverage),
            ("precision", band.precision),
            ("npv", band.npv),
            ("error", band.error),
        ];
        named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    fn as_trained(&self, _: Option<&[&str]>, sample: &Sample) -> Result<(Sample, Option<String>), Failure> {
        Ok((sample.clone(), None))
    }

    fn measure(
        &self,
        text: &str,
        rows: &dyn Rows,
        _: Option<&[f32]>,
        confidence: f64,
    ) -> Result<EvaluateRecord, Failure> {
        let measurer = Measurer { confidence };
        let (sample, scores) = &rows.whole()?;
        let counts = self.counts(sample, scores)?;
        let cuts = Cuts::new(sample, scores)?;
        let (at_condition, at_condition_refused) = match measurer.at_condition(&self.goal, false, rows, &cuts)
        {
            Ok(at) => (Some(at), None),
            Err(failure) => (None, Some(failure.message)),
        };
        let certificate = self.shipped.certificate.as_ref();
        let test = |certificate| frontier_drift(&self.goal, certificate, false, sample, scores);
        let (drifts, drift_refused) = match certificate.map(test) {
            None => (Vec::new(), None),
            Some(Ok(drifts)) => (drifts, None),
            Some(Err(error)) => (Vec::new(), Some(error.to_string())),
        };
        Ok(EvaluateRecord {
            goal: text.to_owned(),
            operating: self.goal.to_string(),
            rows: sample.len() as u64,
            positives: Some(sample.labels().iter().filter(|label| **label).count() as u64),
            at_condition,
            at_condition_refused,
            at_threshold: self.rates(sample, scores, confidence)?,
            unmet: self.unmet(&counts),
            thresholds: self.shipped.thresholds.iter().copied().map(widened).collect(),
            confusion: Some(counted(&counts)),
            band: Some(Self::record(&counts)),
            ranking: measurer.ranking(rows, &cuts),
            certificate: certificate.cloned().map(CertificateRecord::new),
            certificate_refused: self.shipped.refused.clone(),
            drift: drifts.iter().map(drift_record).collect(),
            drift_refused,
            ..EvaluateRecord::default()
        })
    }

    fn predict(&self, scores: &[f32], _: Option<&Codes>, _: Option<&[&str]>) -> Result<Predicted, Failure> {
        let probability = |curve: Probability| {
            ("probability".to_owned(), scores.iter().map(|score| curve.of(*score) as f32).collect())
        };
        Ok(Predicted {
            scores: vec![("score".to_owned(), scores.to_vec())],
            probabilities: self.probability.map(probability).into_iter().collect(),
            decisions: Decisions::Some(scores.iter().map(|score| self.decide(*score)).collect()),
            notes: Vec::new(),
        })
    }

    fn show(&self, scene: &Scene<'_>, record: &mut ReportRecord) -> Result<(), Failure> {
        let Scene { shown, source, known, confidence } = scene;
        record.goal_words = self.goal.describe();
        record.operating = self.goal.to_string();
        record.operating_words = self.goal.describe();
        let limit = |constraint: &Constraint| {
            let condition = Condition::of(constraint).ok().flatten()?;
            Some(ConditionRecord {
                condition: constraint.to_string(),
                words: constraint.describe(),
                rate: Some(condition.rate.to_string()),
                target: condition.target,
            })
        };
        record.conditions = self.goal.constraints.iter().filter_map(limit).collect();
        let model = record.evaluation().and_then(|evaluation| evaluation.at_condition.clone());
        record.comparison = shown.base.and_then(|base| {
            let (model, measurer) = (model?, Measurer { confidence: *confidence });
            let rows = (shown.sample, base);
            let baseline = measurer.at_condition(&self.goal, false, &rows, &rows.cuts().ok()?).ok()?;
            let (gain, first, second) = match self.goal.objective.direction() {
                Direction::Down => (baseline.value - model.value, base, shown.scores),
                _ => (model.value - baseline.value, shown.scores, base),
            };
            let difference = || measurer.difference(&self.goal, false, shown.sample, first, second);
            Some(ComparisonRecord {
                name: BASELINE.to_owned(),
                model,
                baseline: AtCondition { ..baseline },
                gain,
                interval: known.clone().unwrap_or_else(difference),
                counts: None,
                baseline_ships: Vec::new(),
            })
        });
        let circumstances = setpoint_report::Circumstances {
            parts: &record.parts,
            shown: &shown.name,
            refused: self.shipped.refused.as_deref(),
            population: source.caution.as_deref(),
            thresholds_from: source.thresholds_from,
            tied: 0.0,
            trained: source.positive_share,
            comparison: record.comparison.as_ref(),
        };
        record.cautions = circumstances.cautions();
        Ok(())
    }

    fn rates(&self, sample: &Sample, scores: &[f32], confidence: f64) -> Result<Vec<Rates>, Failure> {
        let counts = self.counts(sample, scores)?;
        let exact = sample.weights().is_none() && sample.together().is_none();
        let of = |part: &Counts| part.dot(&counts) as u64;
        let measured = |rate: Rate| {
            let value = rate.of_decided(&counts)?;
            let fractions = rate.fractions_of_decided();
            let interval = fractions.first().filter(|_| exact).and_then(|fraction| {
                let (counted, examples) = (of(&fraction.numerator), of(&fraction.denominator));
                let found = interval::clopper_pearson(counted, examples, confidence).ok()?;
                let method = "Clopper-Pearson";
                Some(Bounds { lower: found.lower, upper: found.upper, confidence, method })
            });
            let name = rate.to_string();
            let examples = support(&counts).behind(&name);
            Some(Rates { name, value, interval, examples })
        };
        Ok(RATES.into_iter().filter_map(measured).collect())
    }

    fn certified(&self) -> Option<Certified<'_>> {
        self.shipped.certificate.as_ref().map(Certified::Band)
    }

    fn known(&self) -> Option<Vec<Known>> {
        self.sketch.as_ref().map(Sketch::known)
    }

    fn seen(&self, scores: &[f32], _: Option<&Codes>) -> Result<Vec<Vec<u64>>, Failure> {
        let undecided = self.undecided(scores);
        Ok(self.sketch.as_ref().map(|sketch| sketch.seen(scores, undecided)).unwrap_or_default())
    }

    fn hint(&self, known: usize, place: usize) -> (String, Option<f32>) {
        hint(self.sketch.as_ref(), "share left to people", known, place)
    }

    fn recertify(
        &self,
        sample: &Sample,
        scores: &[f32],
        meant: &Meant,
        confidence: f64,
    ) -> Result<(Decision, RecertifyRecord), Failure> {
        if let Meant::Prevalence(_) | Meant::Unlabelled(_) = meant {
            return Err(Failure::input(
                "the model leaves rows between two thresholds undecided, and another share of positives is certified for \
                 one threshold alone: have rows of that share labelled, and certify it on those",
            ));
        }
        let Self { goal, shipped, probability, sketch } = self.clone();
        let own = ByThreshold { goal, shared_threshold: false, shipped, probability, sketch };
        let (ByThreshold { goal, shipped, probability, .. }, record) =
            recertify::by_threshold(&own, sample, scores, meant, confidence)?;
        let now = Self { goal, shipped, probability, sketch: None };
        let drawn = *meant == Meant::Themselves;
        Ok((Decision::Band(if drawn { now.sketched(sample, scores) } else { now }), record))
    }
}
