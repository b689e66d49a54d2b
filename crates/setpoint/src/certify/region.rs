//! The thresholds that satisfy every condition of one cohort, and the choice among them.
//!
//! Each condition holds at *all* thresholds it certifies, up to its own share of delta, so the
//! choice among the common ones may look at the same sample again without spoiling the proof.

use super::cohort::Cohort;
use super::error::CertifyError;
use crate::goal::{Direction, Rate, Relation};
use crate::metric::operating_point;
use crate::metric::{Condition, Cuts, MetricError};

/// Thresholds certified so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Region {
    at_least: Option<(f32, String)>,
    at_most: Option<(f32, String)>,
    /// Where a condition is only certified at single thresholds, and whether low ones are loose
    /// in its eyes.
    points: Option<(Vec<f32>, String, bool)>,
}

impl Region {
    pub fn limit_below(&mut self, threshold: f32, condition: &str) {
        if self.at_least.as_ref().is_none_or(|(limit, _)| threshold > *limit) {
            self.at_least = Some((threshold, condition.to_owned()));
        }
    }

    pub fn limit_above(&mut self, threshold: f32, condition: &str) {
        if self.at_most.as_ref().is_none_or(|(limit, _)| threshold < *limit) {
            self.at_most = Some((threshold, condition.to_owned()));
        }
    }

    /// Keeps only single thresholds. `loose_is_low` where the condition is loosest at the lowest.
    pub fn limit_to(
        &mut self,
        thresholds: &[f32],
        condition: &str,
        loose_is_low: bool,
        group: Option<&str>,
    ) -> Result<(), CertifyError> {
        let Some((points, first, _)) = &mut self.points else {
            self.points = Some((thresholds.to_vec(), condition.to_owned(), loose_is_low));
            return Ok(());
        };
        let both: Vec<f32> = points.iter().copied().filter(|t| thresholds.contains(t)).collect();
        if both.is_empty() {
            let (strict, loose) =
                if loose_is_low { (condition, first.as_str()) } else { (&**first, condition) };
            let (high, low) =
                if loose_is_low { (thresholds, &points[..]) } else { (&points[..], thresholds) };
            return Err(contradiction(group, (lowest(high), strict), (highest(low), loose)));
        }
        *points = both;
        Ok(())
    }

    /// The threshold that the objective prefers.
    ///
    /// Without an objective: as loose as allowed where some condition limits the threshold from
    /// below (fpr, precision), else as strict as allowed (recall, npv).
    pub fn choose(&self, objective: Option<Rate>, cohort: &Cohort) -> Result<f32, CertifyError> {
        let (low, high) = self.ends(cohort)?;
        if let Some((points, condition, loose_is_low)) = &self.points {
            let mut inside: Vec<f32> = points.iter().copied().filter(|t| low <= *t && *t <= high).collect();
            inside.sort_unstable_by(f32::total_cmp);
            return match (inside.first(), inside.last()) {
                (Some(loosest), Some(strictest)) => match objective {
                    Some(rate) => best_point(&inside, rate, cohort),
                    None => Ok(if *loose_is_low { *loosest } else { *strictest }),
                },
                _ => Err(self.missed(points, condition, cohort)),
            };
        }
        let loosest = self.at_least.as_ref().map(|(limit, _)| *limit);
        let strictest = self.at_most.as_ref().map(|(limit, _)| *limit);
        let end = match objective {
            None => loosest.or(strictest),
            Some(rate) if prefers_loose(rate) == Some(true) => loosest,
            Some(rate) if prefers_loose(rate) == Some(false) => strictest,
            Some(_) => None,
        };
        match (end, objective) {
            (Some(end), _) => Ok(end),
            (None, Some(rate)) => best_between(low, high, rate, cohort),
            // No condition at all: refused at the door.
            (None, None) => Err(CertifyError::NoCondition),
        }
    }

    fn ends(&self, cohort: &Cohort) -> Result<(f32, f32), CertifyError> {
        if let (Some((low, strict)), Some((high, loose))) = (&self.at_least, &self.at_most)
            && low > high
        {
            return Err(contradiction(cohort.name(), (*low, strict), (*high, loose)));
        }
        let end = |limit: &Option<(f32, String)>, none| limit.as_ref().map_or(none, |(limit, _)| *limit);
        Ok((end(&self.at_least, f32::NEG_INFINITY), end(&self.at_most, f32::INFINITY)))
    }

    /// The refusal where no single threshold lies between the limits.
    fn missed(&self, points: &[f32], condition: &str, cohort: &Cohort) -> CertifyError {
        if let Some((high, loose)) = &self.at_most {
            let above: Vec<f32> = points.iter().copied().filter(|t| t > high).collect();
            if !above.is_empty() {
                return contradiction(cohort.name(), (lowest(&above), condition), (*high, loose));
            }
        }
        let (low, strict) = self.at_least.as_ref().map_or((f32::INFINITY, ""), |(low, text)| (*low, text));
        contradiction(cohort.name(), (low, strict), (highest(points), condition))
    }
}

fn lowest(thresholds: &[f32]) -> f32 {
    thresholds.iter().copied().fold(f32::INFINITY, f32::min)
}

fn highest(thresholds: &[f32]) -> f32 {
    thresholds.iter().copied().fold(f32::NEG_INFINITY, f32::max)
}

fn contradiction(group: Option<&str>, strict: (f32, &str), loose: (f32, &str)) -> CertifyError {
    CertifyError::Contradiction {
        group: group.map(str::to_owned),
        strict: strict.1.to_owned(),
        at_least: strict.0,
        loose: loose.1.to_owned(),
        at_most: loose.0,
    }
}

/// Whether a rate is always better at lower thresholds, or always at higher ones.
fn prefers_loose(rate: Rate) -> Option<bool> {
    match rate {
        Rate::Recall | Rate::FalseNegativeRate => Some(true),
        Rate::FalsePositiveRate | Rate::TrueNegativeRate => Some(false),
        _ => None,
    }
}

fn cuts(cohort: &Cohort) -> Result<Cuts, MetricError> {
    match cohort.rows() {
        Some(rows) => Cuts::of_rows(cohort.sample, cohort.scores, rows),
        None => Cuts::new(cohort.sample, cohort.scores),
    }
}

/// The threshold between two limits with the best objective on the sample.
fn best_between(low: f32, high: f32, rate: Rate, cohort: &Cohort) -> Result<f32, CertifyError> {
    let cuts = cuts(cohort)?;
    // The cuts from `high` to `low`, said as the share that they predict positive: every cut has
    // another, and the same counts give the same bits.
    let share =
        |threshold| Rate::PositiveRate.of(&cuts.counts_at(cuts.cut_of(threshold))).unwrap_or_default();
    let condition =
        |relation, threshold| Condition { rate: Rate::PositiveRate, relation, target: share(threshold) };
    let between = [condition(Relation::AtLeast, high), condition(Relation::AtMost, low)];
    let point = operating_point::best(&cuts, rate, &between)?;
    let threshold = point.threshold.clamp(low, high);
    // Nobody predicted positive, and no float above the largest score to say so.
    if threshold.is_finite() {
        Ok(threshold)
    } else {
        Err(CertifyError::NoFiniteThreshold { score: f32::MAX })
    }
}

/// The best of some thresholds on the sample; the lowest of those equally good.
fn best_point(points: &[f32], rate: Rate, cohort: &Cohort) -> Result<f32, CertifyError> {
    match prefers_loose(rate) {
        Some(true) => return Ok(lowest(points)),
        Some(false) => return Ok(highest(points)),
        None => {}
    }
    let cuts = cuts(cohort)?;
    let sign = if rate.direction() == Direction::Down { -1.0 } else { 1.0 };
    let mut best: Option<(f64, f32)> = None;
    for point in points {
        let Some(value) = rate.of(&cuts.counts_at(cuts.cut_of(*point))) else { continue };
        if best.is_none_or(|(most, _)| sign * value > most) {
            best = Some((sign * value, *point));
        }
    }
    best.map(|(_, point)| point).ok_or_else(|| {
        let reason = "its denominator is zero at every certified threshold".to_owned();
        MetricError::Undefined { metric: rate.to_string(), reason }.into()
    })
}
