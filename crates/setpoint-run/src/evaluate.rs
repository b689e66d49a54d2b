//! A model on labelled data: rates with intervals, and whether its certificate still holds.

use setpoint::Sample;
use setpoint::certify::{Drift, Verdict, drift};
use setpoint::goal::{Area, Curve, Goal, Objective, Rate};
use setpoint::metric::interval::{self, Bootstrap, Interval};
use setpoint::metric::{Cuts, MetricError, confusion, pr, roc, value_of};
use setpoint_report::{
    AtCondition, Bounds, CertificateRecord, DriftRecord, EvaluateRecord, GroupRecord, Measured,
};

use crate::examples::Examples;
use crate::failure::Failure;
use crate::group::{POOL, pool_others};
use crate::measure;
use crate::model::Opened;

/// Rates that reports show, as far as they are defined.
const RATES: [Rate; 7] = [
    Rate::Recall,
    Rate::FalsePositiveRate,
    Rate::Precision,
    Rate::PositiveRate,
    Rate::Accuracy,
    Rate::BalancedAccuracy,
    Rate::FBeta(1.0),
];

/// Measures a model; the file's name, the data's hash and notes are for the caller to add.
///
/// # Errors
/// If the data lacks the model's groups, or a rate cannot be measured on it.
pub fn evaluate(model: &Opened, examples: &mut Examples, confidence: f64) -> Result<EvaluateRecord, Failure> {
    if let Some(groups) = &model.shipped.groups
        && groups.names.iter().any(|name| name == POOL)
    {
        examples.sample = pool_others(&examples.sample, &groups.names)?;
    }
    let scores = examples.scores(&model.parameters)?;
    let sample = &examples.sample;
    let margins = model.shipped.margins(sample, &scores)?;
    let measurer = Measurer { confidence };
    let counts = confusion::at(sample, &margins, 0.0)?;
    let (at_condition, at_condition_refused) = match measurer.at_condition(&model.goal, sample, &scores) {
        Ok(at) => (Some(at), None),
        Err(failure) => (None, Some(failure.message)),
    };
    let certificate = model.shipped.certificate.clone();
    let (drifts, drift_refused) = match certificate.as_ref().map(|one| drift(one, sample, &scores)) {
        None => (Vec::new(), None),
        Some(Ok(drifts)) => (drifts, None),
        Some(Err(error)) => (Vec::new(), Some(error.to_string())),
    };
    Ok(EvaluateRecord {
        artifact: String::new(),
        goal: model.document.goal.clone(),
        operating: model.goal.operating().to_string(),
        rows: sample.len() as u64,
        positives: sample.labels().iter().filter(|label| **label).count() as u64,
        at_condition,
        at_condition_refused,
        at_threshold: measurer.rates(sample, &margins)?,
        thresholds: model.shipped.thresholds.clone(),
        confusion: measure::counted(&counts),
        ranking: measurer.ranking(sample, &scores),
        groups: groups(model, sample, &margins, &measurer)?,
        certificate: certificate.map(CertificateRecord::new),
        drift: drifts.iter().map(drift_record).collect(),
        drift_refused,
        data_hash: None,
        notes: Vec::new(),
    })
}

/// Each group at its threshold.
fn groups(
    model: &Opened,
    sample: &Sample,
    margins: &[f32],
    measurer: &Measurer,
) -> Result<Vec<GroupRecord>, Failure> {
    let Some(groups) = sample.groups() else { return Ok(Vec::new()) };
    let mut records = Vec::with_capacity(groups.names().len());
    for (code, name) in groups.names().iter().enumerate() {
        let rows = groups.rows(code);
        let part = sample.select(rows);
        let of_part: Vec<f32> = rows.iter().map(|row| margins[*row as usize]).collect();
        records.push(GroupRecord {
            column: groups.column().to_owned(),
            group: name.clone(),
            rows: rows.len() as u64,
            threshold: model.shipped.of_group(groups.column(), name)?,
            confusion: measure::counted(&confusion::at(&part, &of_part, 0.0)?),
            rates: measurer.rates(&part, &of_part)?,
        });
    }
    Ok(records)
}

fn drift_record(drift: &Drift) -> DriftRecord {
    DriftRecord {
        condition: drift.condition.clone(),
        group: drift.group.clone(),
        verdict: match drift.verdict {
            Verdict::Holds => "holds",
            Verdict::Violated => "violated",
            _ => "inconclusive",
        },
        observed: drift.observed,
        examples: drift.examples,
        p_value: drift.p_value,
        level: drift.level,
        text: drift.to_string(),
    }
}

/// Metrics with intervals of one confidence.
struct Measurer {
    confidence: f64,
}

impl Measurer {
    /// Fewer replicates on large samples, where intervals are narrow anyway.
    fn bootstrap(&self, sample: &Sample) -> Bootstrap {
        let needed = (2.0 / (1.0 - self.confidence)).ceil() as usize;
        let replicates = (100_000_000 / sample.len().max(1)).clamp(200, 1000).max(5 * needed);
        Bootstrap { replicates, confidence: self.confidence, seed: 0 }
    }

    fn estimate(
        &self,
        sample: &Sample,
        scores: &[f32],
        metric: impl Fn(&Cuts) -> Result<f64, MetricError> + Sync,
    ) -> Option<Bounds> {
        let estimate = self.bootstrap(sample).estimate(sample, scores, metric).ok()?;
        Some(bounds(estimate.interval, "stratified bootstrap"))
    }

    fn at_condition(&self, goal: &Goal, sample: &Sample, scores: &[f32]) -> Result<AtCondition, Failure> {
        let value = setpoint::train::selection::value(goal, sample, scores)?;
        let interval = if goal.column().is_some() {
            None
        } else if goal.objective == Objective::Area(Area::whole(Curve::Roc)) {
            self.roc_auc(sample, scores)
        } else {
            self.estimate(sample, scores, |cuts| value_of(goal, cuts).map(|value| value.value))
        };
        Ok(AtCondition { value, interval })
    }

    fn rates(&self, sample: &Sample, margins: &[f32]) -> Result<Vec<Measured>, Failure> {
        let counts = confusion::at(sample, margins, 0.0)?;
        let measured = RATES.into_iter().filter_map(|rate| {
            let value = rate.of(&counts)?;
            let exact = interval::of_rate(rate, sample, margins, 0.0, self.confidence);
            let interval = match exact {
                Ok(interval) => Some(bounds(interval, "Clopper-Pearson")),
                Err(_) => self.estimate(sample, margins, |cuts| {
                    let counts = cuts.counts_at(cuts.cut_of(0.0));
                    rate.of(&counts).ok_or_else(|| MetricError::Undefined {
                        metric: rate.to_string(),
                        reason: "its denominator is zero".to_owned(),
                    })
                }),
            };
            Some(Measured { name: rate.to_string(), value, interval })
        });
        Ok(measured.collect())
    }

    fn ranking(&self, sample: &Sample, scores: &[f32]) -> Vec<Measured> {
        let Ok(cuts) = Cuts::new(sample, scores) else { return Vec::new() };
        let area = roc::auc(&cuts).ok().map(|value| Measured {
            name: "roc-auc".to_owned(),
            value,
            interval: self.roc_auc(sample, scores),
        });
        let precision = pr::average_precision(&cuts).ok().map(|value| Measured {
            name: "average precision".to_owned(),
            value,
            interval: self.estimate(sample, scores, pr::average_precision),
        });
        area.into_iter().chain(precision).collect()
    }

    fn roc_auc(&self, sample: &Sample, scores: &[f32]) -> Option<Bounds> {
        match interval::delong(sample, scores, self.confidence) {
            Ok(found) => Some(bounds(found.interval, "DeLong")),
            Err(_) => self.estimate(sample, scores, roc::auc),
        }
    }
}

fn bounds(interval: Interval, method: &'static str) -> Bounds {
    Bounds { lower: interval.lower, upper: interval.upper, confidence: interval.confidence, method }
}
