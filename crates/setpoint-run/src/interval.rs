//! Metrics with confidence intervals, over all rows and within each group.

use setpoint::Sample;
use setpoint::goal::{Area, Curve, Goal, Objective, Rate};
use setpoint::metric::interval::{self, Bootstrap, Interval};
use setpoint::metric::{Cuts, MetricError, confusion, pr, roc, value_of};
use setpoint::train::{Judge, TrainError};
use setpoint_report::{AtCondition, Bounds, GroupRecord, Measured, widened};

use crate::failure::Failure;
use crate::measure;
use crate::threshold::Shipped;

/// Rates that reports show, as far as they are defined.
pub(crate) const RATES: [Rate; 7] = [
    Rate::Recall,
    Rate::FalsePositiveRate,
    Rate::Precision,
    Rate::PositiveRate,
    Rate::Accuracy,
    Rate::BalancedAccuracy,
    Rate::FBeta(1.0),
];

/// Those of them with exact intervals, which cost next to nothing.
pub(crate) const SHARES: [Rate; 5] =
    [Rate::PositiveRate, Rate::Recall, Rate::FalsePositiveRate, Rate::Precision, Rate::Accuracy];

/// Rows up to which conditions on groups are solved again and again for an interval.
const MOST_ROWS_BY_GROUP: usize = 200_000;

/// Metrics with intervals of one confidence.
pub(crate) struct Measurer {
    pub(crate) confidence: f64,
}

impl Measurer {
    /// Fewer replicates on large samples, where intervals are narrow anyway.
    fn bootstrap(&self, sample: &Sample) -> Bootstrap {
        let needed = (2.0 / (1.0 - self.confidence)).ceil() as usize;
        let replicates = (40_000_000 / sample.len().max(1)).clamp(200, 1000).max(5 * needed);
        Bootstrap { replicates, confidence: self.confidence, seed: 0 }
    }

    /// The interval of a metric that has this value on the sample.
    fn around(
        &self,
        value: f64,
        sample: &Sample,
        scores: &[f32],
        metric: impl Fn(&Cuts) -> Result<f64, MetricError> + Sync,
    ) -> Option<Bounds> {
        let estimate = self.bootstrap(sample).around(value, sample, scores, metric).ok()?;
        Some(bounds(estimate.interval, drawn(sample, "stratified bootstrap")))
    }

    /// Groups and their thresholds are solved anew for each replicate, so there are fewer of them,
    /// and none at all where one takes seconds.
    fn by_group(
        &self,
        sample: &Sample,
        metric: impl Fn(&Sample, &[u32]) -> Result<f64, MetricError> + Sync,
    ) -> Option<Bounds> {
        if sample.len() > MOST_ROWS_BY_GROUP {
            return None;
        }
        let needed = (2.0 / (1.0 - self.confidence)).ceil() as usize;
        let bootstrap =
            Bootstrap { replicates: (5 * needed).min(400).max(needed), confidence: self.confidence, seed: 0 };
        let estimate = bootstrap.estimate_by_group(sample, metric).ok()?;
        Some(bounds(estimate.interval, drawn(sample, "bootstrap by group and label")))
    }

    /// The goal's value where its conditions hold exactly on the sample, whose cuts by these scores are given.
    pub(crate) fn at_condition(
        &self,
        goal: &Goal,
        shared_threshold: bool,
        sample: &Sample,
        scores: &[f32],
        cuts: &Cuts,
    ) -> Result<AtCondition, Failure> {
        let value = match goal.column() {
            Some(_) => Judge { shared_threshold, ..Judge::new(goal, sample) }.exact(scores)?,
            None => value_of(goal, cuts).map_err(TrainError::from)?.value,
        };
        let interval = if goal.column().is_some() {
            self.by_group(sample, |sample, rows| drawn_value(goal, shared_threshold, sample, scores, rows))
        } else if goal.objective == Objective::Area(Area::whole(Curve::Roc)) {
            self.roc_auc(value, sample, scores, cuts)
        } else {
            self.around(value, sample, scores, |cuts| value_of(goal, cuts).map(|value| value.value))
        };
        Ok(AtCondition { value, interval, examples: fewer_of_both(sample) })
    }

    /// How much a goal's value differs between two score vectors of the same rows, `first` less
    /// `second`; `None` where no bootstrap can tell.
    pub(crate) fn difference(
        &self,
        goal: &Goal,
        shared_threshold: bool,
        sample: &Sample,
        first: &[f32],
        second: &[f32],
    ) -> Option<Bounds> {
        if goal.column().is_some() {
            return self.by_group(sample, |sample, rows| {
                let value = |scores| drawn_value(goal, shared_threshold, sample, scores, rows);
                Ok(value(first)? - value(second)?)
            });
        }
        let value = |cuts: &Cuts| value_of(goal, cuts).map(|value| value.value);
        let found = self.bootstrap(sample).difference(sample, first, second, value).ok()?;
        Some(bounds(found.interval, drawn(sample, "paired stratified bootstrap")))
    }

    /// Rates of the decisions `margin >= 0`, those left out that are undefined.
    pub(crate) fn rates(
        &self,
        sample: &Sample,
        margins: &[f32],
        rates: &[Rate],
    ) -> Result<Vec<Measured>, Failure> {
        let counts = confusion::at(sample, margins, 0.0)?;
        let support = measure::support(sample, margins);
        let measured = rates.iter().filter_map(|rate| {
            let rate = *rate;
            let value = rate.of(&counts)?;
            let exact = interval::of_rate(rate, sample, margins, 0.0, self.confidence);
            let interval = match exact {
                Ok(interval) => Some(bounds(interval, drawn(sample, "Clopper-Pearson"))),
                Err(_) => self.around(value, sample, margins, |cuts| {
                    let counts = cuts.counts_at(cuts.cut_of(0.0));
                    rate.of(&counts).ok_or_else(|| MetricError::Undefined {
                        metric: rate.to_string(),
                        reason: "its denominator is zero".to_owned(),
                    })
                }),
            };
            let name = rate.to_string();
            let examples = support.behind(&name);
            Some(Measured { name, value, interval, examples })
        });
        Ok(measured.collect())
    }

    /// The same within each group, at its threshold.
    pub(crate) fn groups(
        &self,
        shipped: &Shipped,
        sample: &Sample,
        margins: &[f32],
        rates: &[Rate],
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
                threshold: widened(shipped.of_group(groups.column(), name)?),
                confusion: measure::counted(&confusion::at(&part, &of_part, 0.0)?),
                rates: self.rates(&part, &of_part, rates)?,
            });
        }
        Ok(records)
    }

    /// Areas that need no threshold.
    pub(crate) fn ranking(&self, sample: &Sample, scores: &[f32], cuts: &Cuts) -> Vec<Measured> {
        let [area, precision] = [roc::auc(cuts).ok(), pr::average_precision(cuts).ok()];
        let examples = fewer_of_both(sample);
        let area = area.map(|value| {
            let interval = self.roc_auc(value, sample, scores, cuts);
            Measured { name: "roc-auc".to_owned(), value, interval, examples }
        });
        let precision = precision.map(|value| {
            let interval = self.around(value, sample, scores, pr::average_precision);
            Measured { name: "average precision".to_owned(), value, interval, examples }
        });
        area.into_iter().chain(precision).collect()
    }

    fn roc_auc(&self, value: f64, sample: &Sample, scores: &[f32], cuts: &Cuts) -> Option<Bounds> {
        match interval::delong_of(sample, cuts, self.confidence) {
            Ok(found) => Some(bounds(found.interval, "DeLong")),
            Err(_) => self.around(value, sample, scores, roc::auc),
        }
    }
}

fn fewer_of_both(sample: &Sample) -> u64 {
    let positives = sample.labels().iter().filter(|label| **label).count();
    positives.min(sample.len() - positives) as u64
}

/// The method's name, or that of the one in its place where rows come in entities.
fn drawn(sample: &Sample, method: &'static str) -> &'static str {
    if sample.together().is_some() { "bootstrap of entities" } else { method }
}

/// The goal's value on examples that were drawn, with the scores of their places.
fn drawn_value(
    goal: &Goal,
    shared_threshold: bool,
    sample: &Sample,
    scores: &[f32],
    rows: &[u32],
) -> Result<f64, MetricError> {
    let scores: Vec<f32> = rows.iter().map(|row| scores[*row as usize]).collect();
    let judge = Judge { shared_threshold, ..Judge::new(goal, sample) };
    let undefined =
        |error: TrainError| MetricError::Undefined { metric: goal.to_string(), reason: error.to_string() };
    judge.exact(&scores).map_err(undefined)
}

fn bounds(interval: Interval, method: &'static str) -> Bounds {
    Bounds { lower: interval.lower, upper: interval.upper, confidence: interval.confidence, method }
}
