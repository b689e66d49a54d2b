//! Which parameters to keep: those with the best exact value of the goal on the validation split.

use rayon::prelude::*;

use crate::engine::EngineError;
use crate::examples::{Answer, Examples, Held, Question};
use crate::goal::{Constraint, Goal, Top};
use crate::model::Rows;
use crate::problem::ProblemError;
use crate::shard::Shard;

use super::aim::Aim;
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

/// From so many scores on, they are looked at two vectors at a time.
const MANY: usize = 1 << 22;

/// A value of the goal, if there is one, and the scores that it is of.
pub(super) type Look = (Option<f64>, Vec<f32>);

/// Looks parameters up on a held-out split.
pub struct Selection<'a> {
    aim: &'a dyn Aim,
    part: Part<'a>,
    scores: Vec<f32>,
}

impl<'a> Selection<'a> {
    /// Selection by the goal on this part.
    pub(super) fn new(aim: &'a dyn Aim, part: Part<'a>) -> Self {
        let scores = vec![0.0; part.sample.rows() * part.model.outputs()];
        Self { aim, part, scores }
    }

    /// The goal's value with these parameters; `None` where its conditions cannot be met.
    ///
    /// # Errors
    /// If the model refuses the parameters, or the goal does not fit the split.
    pub fn value(&mut self, parameters: &[f32]) -> Result<Option<f64>, TrainError> {
        self.part.model.scores(parameters, Rows::All, &mut self.scores)?;
        self.looked_up()
    }

    /// How many scores a look is of.
    pub(super) fn size(&self) -> usize {
        self.scores.len()
    }

    /// The goal's value with each of these parameters, and the scores, by one walk over the rows.
    pub(super) fn values(&mut self, parameters: Vec<Vec<f32>>) -> Result<Vec<Look>, TrainError> {
        let questions = parameters.into_iter().map(|parameters| Question::Scores { parameters });
        let part = Part { model: &mut *self.part.model, sample: self.part.sample };
        let mut answers = Held::new(part).answer(&questions.collect::<Vec<_>>())?;
        let (aim, sample) = (self.aim, self.part.sample.whole());
        let look = |answer: Answer| Ok((aim.value(sample, &answer.scores)?, answer.scores));
        // Sorting takes seven times the memory of the scores.
        let together = if self.size() < MANY { answers.len() } else { 2 };
        let mut looks = Vec::with_capacity(answers.len());
        while !answers.is_empty() {
            let rest = answers.split_off(together.min(answers.len()));
            let some: Result<Vec<Look>, TrainError> = answers.into_par_iter().map(look).collect();
            looks.extend(some?);
            answers = rest;
        }
        Ok(looks)
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
        self.aim.value(self.part.sample.whole(), &self.scores)
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
        self.aim.direction().merit(value)
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
