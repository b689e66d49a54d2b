//! What trees are grown for, and who says what they are worth.

use setpoint::Sample;
use setpoint::class::{Classes, shift, standard_error};
use setpoint::goal::{AnyGoal, Direction};
use setpoint::rank::Queries;
use setpoint::train::queries::{gain_of, mean_of};
use setpoint::train::{Gain, Judge, Standard, TrainError, if_any};

/// A purpose on a sample: what scores are worth there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Referee<'a> {
    pub(crate) purpose: &'a AnyGoal,
    pub(crate) shared_threshold: bool,
    pub(crate) sample: &'a Sample,
    pub(crate) seed: u64,
}

impl<'a> Referee<'a> {
    /// The judge of a goal of two classes.
    pub(crate) fn judge(&self) -> Option<Judge<'a>> {
        let Self { shared_threshold, sample, seed, .. } = *self;
        match self.purpose {
            AnyGoal::Two(goal) => Some(Judge { goal, shared_threshold, sample, seed }),
            AnyGoal::Classes(_) | AnyGoal::Queries(_) => None,
        }
    }

    pub(crate) fn direction(&self) -> Direction {
        self.purpose.direction()
    }

    /// The best value that the conditions allow of these scores.
    pub(crate) fn exact(&self, scores: &[f32]) -> Result<f64, TrainError> {
        match (self.judge(), self.purpose) {
            (Some(judge), _) => judge.exact(scores),
            (None, AnyGoal::Classes(goal)) => Ok(shift::best(goal, self.sample, scores, 1)?.value),
            (None, AnyGoal::Queries(goal)) => mean_of(goal, self.sample, scores),
            (None, AnyGoal::Two(_)) => unreachable!("it has a judge"),
        }
    }

    /// The same; `None` where the scores have none.
    pub(crate) fn value(&self, scores: &[f32]) -> Result<Option<f64>, TrainError> {
        if_any(self.exact(scores))
    }

    /// How much better the first scores are than the second; `None` where either have no value.
    pub(crate) fn gain(&self, first: &[f32], second: &[f32]) -> Result<Option<Gain>, TrainError> {
        let goal = match (self.judge(), self.purpose) {
            (Some(judge), _) => return judge.gain(first, second),
            (None, AnyGoal::Classes(goal)) => goal,
            (None, AnyGoal::Queries(goal)) => return gain_of(goal, self.sample, first, second).map(Some),
            (None, AnyGoal::Two(_)) => unreachable!("it has a judge"),
        };
        let best = |scores| if_any(shift::best(goal, self.sample, scores, 1));
        let (Some(a), Some(b)) = (best(first)?, best(second)?) else { return Ok(None) };
        let merit = |value| self.direction().merit(Some(value));
        let classes = Classes::of(goal, self.sample)?;
        let standard_error =
            standard_error(goal, &classes, (first, &a.shifts), (second, &b.shifts), self.seed)?;
        Ok(Some(Gain { difference: merit(a.value) - merit(b.value), standard_error }))
    }

    /// What a decision sees of the scores' scale.
    pub(crate) fn spread(&self, scores: &[f32]) -> Result<f64, TrainError> {
        Ok(match self.purpose {
            AnyGoal::Two(_) => Standard::of(self.sample, scores).deviation,
            AnyGoal::Classes(goal) => Classes::of(goal, self.sample)?.spread(scores),
            AnyGoal::Queries(_) => Queries::of_sample(self.sample)?.spread(scores),
        })
    }
}
