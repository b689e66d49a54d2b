//! Which parameters to keep: those with the best exact value of the goal on the validation split.

use crate::engine::EngineError;
use crate::goal::{Constraint, Direction, Goal, Top};
use crate::metric;
use crate::model::Rows;
use crate::problem::{ProblemError, ProblemOptions};
use crate::sample::Sample;
use crate::shard::Shard;
use crate::threshold::exact;

use super::combined::Combined;
use super::{Part, TrainError};

/// A goal whose `k=` is a fraction, so that it means the same on samples of any size.
#[must_use]
pub fn as_fraction(goal: &Goal, rows: u64) -> Goal {
    let mut goal = goal.clone();
    for constraint in &mut goal.constraints {
        if let Constraint::Top(Top::Count { k, of }) = constraint {
            *constraint = Constraint::Top(Top::Fraction(*k as f64 / of.unwrap_or(rows) as f64));
        }
    }
    goal
}

/// Refuses a `k=` that takes every row it is asked of.
pub(super) fn check_top(goal: &Goal, rows: u64) -> Result<(), TrainError> {
    let too_large = |constraint: &Constraint| match constraint {
        Constraint::Top(Top::Count { k, of }) if *k >= of.unwrap_or(rows) => Some(*k),
        _ => None,
    };
    match goal.constraints.iter().find_map(too_large) {
        Some(k) => Err(EngineError::from(ProblemError::TopTooLarge { k, rows }).into()),
        None => Ok(()),
    }
}

/// The goal's exact value on a sample: the best its conditions allow there.
///
/// # Errors
/// If the conditions cannot be met on the sample, or a rate is undefined there.
pub fn value(goal: &Goal, sample: &Sample, scores: &[f32]) -> Result<f64, TrainError> {
    if goal.column().is_some() {
        Ok(exact::solve(goal, sample, scores, &ProblemOptions::default())?.value)
    } else {
        Ok(metric::value_at(goal, sample, scores)?.value)
    }
}

/// The same where all groups share one threshold.
///
/// # Errors
/// As [`value`].
pub fn shared_value(goal: &Goal, sample: &Sample, scores: &[f32]) -> Result<f64, TrainError> {
    let options = ProblemOptions { shared_threshold: true, ..ProblemOptions::default() };
    Ok(exact::solve(goal, sample, scores, &options)?.value)
}

/// A value, `None` where the scores have none: the worst of all, and no error.
///
/// # Errors
/// Those that are about more than the scores; see [`TrainError::is_no_value`].
pub fn found(value: Result<f64, TrainError>) -> Result<Option<f64>, TrainError> {
    match value {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_no_value() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Looks parameters up on a held-out split.
pub struct Selection<'a> {
    goal: Goal,
    shared_threshold: bool,
    part: Part<'a>,
    scores: Vec<f32>,
}

impl<'a> Selection<'a> {
    /// Selection by the goal on this part.
    pub fn new(goal: &Goal, shared_threshold: bool, part: Part<'a>) -> Self {
        let scores = vec![0.0; part.sample.rows() * part.model.outputs()];
        Self { goal: goal.clone(), shared_threshold, part, scores }
    }

    /// The goal's value with these parameters; `None` where its conditions cannot be met.
    ///
    /// # Errors
    /// If the model refuses the parameters, or the goal does not fit the split.
    pub fn value(&mut self, parameters: &[f32]) -> Result<Option<f64>, TrainError> {
        self.part.model.scores(parameters, Rows::All, &mut self.scores)?;
        self.looked_up()
    }

    /// The same of several fits together.
    ///
    /// # Errors
    /// As [`Selection::value`].
    pub fn value_of(&mut self, combined: &Combined) -> Result<Option<f64>, TrainError> {
        combined.scores(self.part.model, &mut self.scores)?;
        self.looked_up()
    }

    /// The goal's value at the scores just written.
    fn looked_up(&self) -> Result<Option<f64>, TrainError> {
        let value = if self.shared_threshold { shared_value } else { value };
        found(value(&self.goal, self.part.sample.whole(), &self.scores))
    }

    /// The scores of the last parameters looked up.
    #[must_use]
    pub fn scores(&self) -> &[f32] {
        &self.scores
    }

    /// The split's labels.
    #[must_use]
    pub fn sample(&self) -> &'a dyn Shard {
        self.part.sample
    }

    /// Larger is better; a value that could not be had is worst.
    #[must_use]
    pub fn merit(&self, value: Option<f64>) -> f64 {
        let sign = if self.goal.objective.direction() == Direction::Up { 1.0 } else { -1.0 };
        value.map_or(f64::NEG_INFINITY, |value| sign * value)
    }
}

/// The best parameters so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// The parameters.
    pub parameters: Vec<f32>,
    /// Their value on validation.
    pub value: Option<f64>,
    /// The step that made them.
    pub step: u64,
    pub(super) merit: f64,
}

impl Best {
    /// Nothing yet.
    #[must_use]
    pub fn none() -> Self {
        Self { parameters: Vec::new(), value: None, step: 0, merit: f64::NEG_INFINITY }
    }

    /// Keeps the parameters if they are better, or the first.
    pub fn offer(&mut self, parameters: &[f32], value: Option<f64>, merit: f64, step: u64) -> bool {
        let better = self.parameters.is_empty() || merit > self.merit;
        if better {
            *self = Self { parameters: parameters.to_vec(), value, step, merit };
        }
        better
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
            [found(value(&goal, sample, &scores)), found(shared_value(&goal, sample, &scores))]
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
            assert_eq!(found(value(&goal.parse().unwrap(), &sample, &scores)).unwrap(), None, "{goal}");
        }
        // At a looser limit the value is poor, and there.
        assert_eq!(look("precision @ fpr(g)<=25%", &grouped)[0], Ok(Some(0.0)));
        assert!(look("precision @ fpr(g)<=10%", &sample).iter().all(Result::is_err));
        let one_class = Sample::new(vec![true; 12]).unwrap();
        assert!(found(value(&"recall @ fpr<=10%".parse().unwrap(), &one_class, &scores)).is_err());
    }
}
