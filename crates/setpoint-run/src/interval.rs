//! Metrics with confidence intervals, over all rows and within each group.

use setpoint::Sample;
use setpoint::goal::{Area, Curve, Goal, Objective, Rate};
use setpoint::metric::interval::{self, Bootstrap, Interval};
use setpoint::metric::{Cuts, MetricError, OfGroup, Rows, confusion, pr, roc, value_of};
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
    fn bootstrap(&self, rows: usize) -> Bootstrap {
        let needed = (2.0 / (1.0 - self.confidence)).ceil() as usize;
        let replicates = (40_000_000 / rows.max(1)).clamp(200, 1000).max(5 * needed);
        Bootstrap { replicates, confidence: self.confidence, seed: 0 }
    }

    /// The interval of a metric that has this value on the sample.
    fn around(
        &self,
        value: f64,
        rows: &dyn Rows,
        metric: impl Fn(&Cuts) -> Result<f64, MetricError> + Sync,
    ) -> Option<Bounds> {
        let estimate = self.bootstrap(rows.about().rows).around(value, rows, metric).ok()?;
        Some(bounds(estimate.interval, drawn(rows.about().together, "stratified bootstrap")))
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
        Some(bounds(estimate.interval, drawn(sample.together().is_some(), "bootstrap by group and label")))
    }

    /// The goal's value where its conditions hold exactly on the rows, whose cuts are given.
    pub(crate) fn at_condition(
        &self,
        goal: &Goal,
        shared_threshold: bool,
        rows: &dyn Rows,
        cuts: &Cuts,
    ) -> Result<AtCondition, Failure> {
        let (value, interval) = if goal.column().is_some() {
            let (sample, scores) = &rows.whole()?;
            let value = Judge { shared_threshold, ..Judge::new(goal, sample) }.exact(scores)?;
            let drawn =
                |sample: &Sample, rows: &[u32]| drawn_value(goal, shared_threshold, sample, scores, rows);
            (value, self.by_group(sample, drawn))
        } else {
            let value = value_of(goal, cuts).map_err(TrainError::from)?.value;
            let area = goal.objective == Objective::Area(Area::whole(Curve::Roc));
            let interval = match area {
                true => self.roc_auc(value, rows, cuts),
                false => self.around(value, rows, |cuts| value_of(goal, cuts).map(|value| value.value)),
            };
            (value, interval)
        };
        Ok(AtCondition { value, interval, examples: rows.about().fewer() as u64 })
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
        let found = self.bootstrap(sample.len()).difference(sample, first, second, value).ok()?;
        Some(bounds(found.interval, drawn(sample.together().is_some(), "paired stratified bootstrap")))
    }

    /// Rates of the decisions `margin >= 0`, those left out that are undefined.
    pub(crate) fn rates(&self, margins: &dyn Rows, rates: &[Rate]) -> Result<Vec<Measured>, Failure> {
        let (about, counts) = (margins.about(), confusion::of(margins, 0.0)?);
        let support = measure::support(margins);
        let exact = |rate| match about.together {
            true => {
                let (sample, margins) = margins.whole()?;
                interval::of_rate(rate, &sample, &margins, 0.0, self.confidence)
            }
            false if about.weighted => Err(MetricError::Weighted { method: "a binomial interval" }),
            false => interval::of_counts(rate, &counts, self.confidence),
        };
        let measured = rates.iter().filter_map(|rate| {
            let rate = *rate;
            let value = rate.of(&counts)?;
            let interval = match exact(rate) {
                Ok(interval) => Some(bounds(interval, drawn(about.together, "Clopper-Pearson"))),
                Err(_) => self.around(value, margins, |cuts| {
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
        margins: &dyn Rows,
        rates: &[Rate],
    ) -> Result<Vec<GroupRecord>, Failure> {
        let Some((column, names)) = margins.about().groups else { return Ok(Vec::new()) };
        let mut records = Vec::with_capacity(names.len());
        for (group, name) in names.iter().enumerate() {
            let part = OfGroup { rows: margins, group };
            records.push(GroupRecord {
                column: column.to_owned(),
                group: name.clone(),
                rows: part.about().rows as u64,
                threshold: widened(shipped.of_group(column, name)?),
                confusion: measure::counted(&confusion::of(&part, 0.0)?),
                rates: self.rates(&part, rates)?,
            });
        }
        Ok(records)
    }

    /// Areas that need no threshold.
    pub(crate) fn ranking(&self, rows: &dyn Rows, cuts: &Cuts) -> Vec<Measured> {
        let [area, precision] = [roc::auc(cuts).ok(), pr::average_precision(cuts).ok()];
        let examples = rows.about().fewer() as u64;
        let area = area.map(|value| {
            let interval = self.roc_auc(value, rows, cuts);
            Measured { name: "roc-auc".to_owned(), value, interval, examples }
        });
        let precision = precision.map(|value| {
            let interval = self.around(value, rows, pr::average_precision);
            Measured { name: "average precision".to_owned(), value, interval, examples }
        });
        area.into_iter().chain(precision).collect()
    }

    fn roc_auc(&self, value: f64, rows: &dyn Rows, cuts: &Cuts) -> Option<Bounds> {
        match interval::delong_of(rows, cuts, self.confidence) {
            Ok(found) => Some(bounds(found.interval, "DeLong")),
            Err(_) => self.around(value, rows, roc::auc),
        }
    }
}

/// The method's name, or that of the one in its place where rows come in entities.
fn drawn(together: bool, method: &'static str) -> &'static str {
    if together { "bootstrap of entities" } else { method }
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
