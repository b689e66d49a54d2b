//! What scores are worth on a sample, and which of two are better: one judge for all who choose or report.

use super::TrainError;
use crate::goal::{Direction, Goal};
use crate::metric::interval::Bootstrap;
use crate::metric::{self, Cuts, MetricError};
use crate::problem::ProblemOptions;
use crate::sample::Sample;
use crate::threshold::exact;

/// A goal on a sample.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    /// The goal; with `k=` as a fraction, to mean the same on samples of any size.
    pub goal: &'a Goal,
    /// Whether all groups share one threshold.
    pub shared_threshold: bool,
    /// The sample.
    pub sample: &'a Sample,
    /// Seed of the bootstrap behind standard errors.
    pub seed: u64,
}

/// How much better some scores are than others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Improvement of the goal's value; positive is better.
    pub difference: f64,
    /// Its standard error, from a paired bootstrap; `None` for goals with group conditions, and where nothing hangs
    /// on it.
    pub standard_error: Option<f64>,
}

impl<'a> Judge<'a> {
    /// Of this goal on this sample, each group with its own threshold where the goal is on groups.
    #[must_use]
    pub fn new(goal: &'a Goal, sample: &'a Sample) -> Self {
        Self { goal, shared_threshold: false, sample, seed: 0 }
    }

    /// The goal's exact value, the best its conditions allow; `None` where the scores have none: the worst of all,
    /// and no error.
    ///
    /// # Errors
    /// Those that are about more than the scores; see [`TrainError::is_no_value`].
    pub fn value(&self, scores: &[f32]) -> Result<Option<f64>, TrainError> {
        if_any(self.exact(scores))
    }

    /// The goal's exact value.
    ///
    /// # Errors
    /// If the conditions cannot be met on the sample, or a rate is undefined there.
    pub fn exact(&self, scores: &[f32]) -> Result<f64, TrainError> {
        let Self { goal, shared_threshold, sample, .. } = *self;
        if goal.column().is_some() {
            let options = ProblemOptions { shared_threshold, ..ProblemOptions::default() };
            return Ok(exact::solve(goal, sample, scores, &options)?.value);
        }
        Ok(metric::value_at(goal, sample, scores)?.value)
    }

    /// How much better the first scores are than the second; `None` where either have no value.
    ///
    /// # Errors
    /// As [`value`](Self::value).
    pub fn gain(&self, first: &[f32], second: &[f32]) -> Result<Option<Gain>, TrainError> {
        let (Some(a), Some(b)) = (self.value(first)?, self.value(second)?) else { return Ok(None) };
        let direction = self.goal.objective.direction();
        let difference = direction.merit(Some(a)) - direction.merit(Some(b));
        Ok(Some(Gain { difference, standard_error: self.standard_error(first, second) }))
    }

    /// Standard error of the difference between two vectors of scores.
    #[must_use]
    pub fn standard_error(&self, first: &[f32], second: &[f32]) -> Option<f64> {
        self.error_of(first, second, |cuts| metric::value_of(self.goal, cuts).map(|value| value.value))
    }

    /// The same of the difference in something else that scores are worth.
    pub(super) fn error_of(
        &self,
        first: &[f32],
        second: &[f32],
        worth: impl Fn(&Cuts) -> Result<f64, MetricError> + Sync,
    ) -> Option<f64> {
        if self.goal.column().is_some() {
            return None;
        }
        let bootstrap = Bootstrap { replicates: 200, confidence: 0.9, seed: self.seed };
        bootstrap.difference(self.sample, first, second, worth).ok().map(|found| found.standard_error)
    }
}

impl Direction {
    /// Larger is better; a value that could not be had is worst.
    #[must_use]
    pub fn merit(self, value: Option<f64>) -> f64 {
        let sign = if self == Self::Up { 1.0 } else { -1.0 };
        value.map_or(f64::NEG_INFINITY, |value| sign * value)
    }
}

/// `None` in the place of an error that says that these scores have no value.
///
/// # Errors
/// All others; see [`TrainError::is_no_value`].
pub fn if_any<T>(value: Result<T, impl Into<TrainError>>) -> Result<Option<T>, TrainError> {
    match value.map_err(Into::into) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_no_value() => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_that_no_threshold_suits_have_no_value_and_wrong_questions_are_errors() {
        // The negatives score highest in both groups: no cut with fpr(g) <= 10% predicts anyone positive.
        let labels: Vec<bool> = (0..12).map(|row| row >= 8).collect();
        let scores: Vec<f32> = (0..12).map(|row| -(row as f32)).collect();
        let sample = Sample::new(labels).unwrap();
        let groups = (0..12).map(|row| row % 2).collect();
        let grouped = sample.clone().with_groups("g", vec!["a".into(), "b".into()], groups).unwrap();
        let look = |goal: &str, sample: &Sample| {
            let goal: Goal = goal.parse().unwrap();
            [false, true].map(|shared_threshold| {
                Judge { shared_threshold, ..Judge::new(&goal, sample) }.value(&scores)
            })
        };
        for goal in [
            "precision @ fpr(g)<=10%",
            "fdr @ fpr(g)<=10%",
            "recall @ precision(g)>=0.9",
            "recall @ fpr(g)<=10%, precision>=0.9",
            "precision @ gap(fpr, g)<=0.01, fpr(g)<=10%",
        ] {
            for found in look(goal, &grouped) {
                assert_eq!(found.unwrap(), None, "{goal}");
            }
        }
        for goal in ["precision @ fpr<=10%", "recall @ precision>=0.9"] {
            assert_eq!(Judge::new(&goal.parse().unwrap(), &sample).value(&scores).unwrap(), None, "{goal}");
        }
        // At a looser limit the value is poor, and there.
        assert_eq!(look("precision @ fpr(g)<=25%", &grouped)[0], Ok(Some(0.0)));
        assert!(look("precision @ fpr(g)<=10%", &sample).iter().all(Result::is_err));
        let one_class = Sample::new(vec![true; 12]).unwrap();
        assert!(Judge::new(&"recall @ fpr<=10%".parse().unwrap(), &one_class).value(&scores).is_err());
    }
}
