//! Shifts as functions of the scores, and the gradient through them.
//!
//! A condition on a class ties the shift of that class; the other shifts are held, for the model has a bias for
//! each class that does the same and trains with the rest. Where a limit holds at the shift that is held, it ties nothing.
//! Over the conditions k that tie, and the shifts S that they tie,
//!
//! ```text
//! (dg/dλ_S)ᵀ r = df/dλ_S          v = df/ds - Σ_k r_k dg_k/ds
//! ```
//!
//! by least squares where conditions repeat each other (all coverages add up to 1). Shifts are found by
//! Newton's method with Levenberg's damping, from those of the step before; where that fails, from the held ones
//! with the sharpness growing to its own.
//!
//! A target that no shifts reach has no shift to differentiate through. There the loss is how far the conditions
//! are missed at the shifts that come nearest, above any loss of a goal that is met:
//!
//! ```text
//! f = worst loss + min_λ |g₊(λ)|          v = Σ_k g₊_k / |g₊| dg_k/ds       (envelope theorem)
//! ```
//!
//! [`ShiftEngine::improve`] moves the held shifts to where the smooth goal is best. By the envelope theorem the
//! gradient is then the same as with them held.

use super::kernel::{Ask, Softmax, Tally};
use super::problem::Problem;
use super::solve::{Pass, State};
use super::{ClassError, Classes};
use crate::goal::ClassGoal;

/// What one step found; borrowed from the engine.
#[derive(Clone, Copy, Debug)]
pub struct ShiftStep<'e> {
    /// The smooth objective as something to minimise.
    pub loss: f64,
    /// The smooth objective itself.
    pub objective: f64,
    /// The shifts.
    pub shifts: &'e [f64],
    /// How far each condition is past its limit, one for each class that it is on.
    pub constraints: &'e [f64],
    /// How the loss changes per unit of each condition's target.
    pub prices: &'e [f64],
    /// Whether the conditions can be met at all.
    pub met: bool,
    /// Passes over the scores.
    pub passes: usize,
}

/// A goal of classes with its shifts.
#[derive(Debug)]
pub struct ShiftEngine {
    goal: ClassGoal,
    sharpness: f64,
    softmax: Softmax,
    state: State,
    table: Vec<f64>,
}

impl ShiftEngine {
    /// Ties a goal to rows.
    ///
    /// # Errors
    /// If the rows have other classes than the goal, or its costs are not known.
    pub fn new(goal: &ClassGoal, classes: &Classes<'_>, sharpness: f64) -> Result<Self, ClassError> {
        let state = State::new(Problem::new(goal, classes)?);
        Ok(Self { goal: goal.clone(), sharpness, softmax: Softmax::default(), state, table: Vec::new() })
    }

    /// The shifts: those that conditions tie, and those held.
    #[must_use]
    pub fn shifts(&self) -> &[f64] {
        &self.state.shifts
    }

    /// The shifts that are held where no condition ties them, and what conditions start from.
    #[must_use]
    pub fn held(&self) -> &[f64] {
        &self.state.held
    }

    /// Changes the shifts that are held; the search goes on from there.
    pub fn hold(&mut self, shifts: &[f64]) {
        self.state.held.copy_from_slice(shifts);
        self.state.shifts.copy_from_slice(shifts);
    }

    /// Changes the sharpness from the next step on.
    pub fn set_sharpness(&mut self, sharpness: f64) {
        self.sharpness = sharpness;
    }

    /// Goes on from such shifts, all of them.
    pub fn start_from(&mut self, shifts: &[f64]) {
        self.state.shifts.copy_from_slice(shifts);
    }

    /// What the next search depends on besides the shifts: a 1 for each condition that ties one, and at the end for
    /// conditions that could be met.
    #[must_use]
    pub fn ties(&self) -> Vec<u32> {
        self.state.active.iter().chain([&self.state.met]).map(|one| u32::from(*one)).collect()
    }

    /// Goes on from such ties; those of other conditions are left alone.
    pub fn tie_as(&mut self, ties: &[u32]) {
        if let Some((met, active)) = ties.split_last()
            && active.len() == self.state.active.len()
        {
            self.state.active = active.iter().map(|one| *one == 1).collect();
            self.state.met = *met == 1;
        }
    }

    /// Solves the shifts, and writes the gradient v of the loss by each score through them.
    ///
    /// # Errors
    /// If a score is not finite or too large, the rows are not those of the goal, or a rate is undefined.
    pub fn step(
        &mut self,
        classes: &Classes<'_>,
        scores: &[f32],
        v: &mut [f32],
    ) -> Result<ShiftStep<'_>, ClassError> {
        self.tie(classes, scores)?;
        let mut pass = Rows { softmax: &mut self.softmax, classes, scores, p: v };
        if !self.state.settle(&mut pass, self.sharpness) {
            return Err(self.refusal(classes, scores));
        }
        self.state.problem.table(&self.state.partial, &mut self.table);
        self.softmax.spread(classes, self.sharpness, &self.table, v);
        Ok(self.last())
    }

    /// Moves the held shifts to where the smooth loss is lowest; `work` has room for the scores.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn improve(
        &mut self,
        classes: &Classes<'_>,
        scores: &[f32],
        work: &mut [f32],
    ) -> Result<ShiftStep<'_>, ClassError> {
        self.tie(classes, scores)?;
        let mut pass = Rows { softmax: &mut self.softmax, classes, scores, p: work };
        if !self.state.improve(&mut pass, self.sharpness) {
            return Err(self.refusal(classes, scores));
        }
        Ok(self.last())
    }

    /// Brings the goal to the totals of these rows.
    fn tie(&mut self, classes: &Classes<'_>, scores: &[f32]) -> Result<(), ClassError> {
        let expected = classes.codes().len() * self.state.problem.classes;
        if scores.len() != expected || classes.count() != self.state.problem.classes {
            let classes = self.state.problem.classes;
            return Err(ClassError::Scores { expected, got: scores.len(), classes });
        }
        if self.state.problem.totals != classes.totals() {
            let before = self.state.problem.conditions.len();
            self.state.problem = Problem::new(&self.goal, classes)?;
            if self.state.problem.conditions.len() != before {
                self.state.active = self.state.problem.conditions.iter().map(|held| held.equal).collect();
            }
        }
        Ok(())
    }

    fn refusal(&self, classes: &Classes<'_>, scores: &[f32]) -> ClassError {
        let sharpness = self.sharpness;
        match classes.check_scores(scores) {
            Err(error) => error,
            Ok(()) if scores.iter().any(|score| !(sharpness as f32 * score).is_finite()) => {
                ClassError::Large { sharpness }
            }
            Ok(()) => ClassError::Undefined { quantity: self.goal.objective() },
        }
    }

    fn last(&self) -> ShiftStep<'_> {
        let state = &self.state;
        ShiftStep {
            loss: state.loss,
            objective: state.problem.objective(state.loss),
            shifts: &state.shifts,
            constraints: &state.excess,
            prices: &state.prices,
            met: state.met,
            passes: state.passes,
        }
    }
}

/// Rows in memory, their probabilities kept where the gradient will be.
struct Rows<'a, 'c> {
    softmax: &'a mut Softmax,
    classes: &'a Classes<'c>,
    scores: &'a [f32],
    p: &'a mut [f32],
}

impl Pass for Rows<'_, '_> {
    fn count(&mut self, ask: Ask<'_>, out: &mut Tally) -> bool {
        self.softmax.count(self.classes, self.scores, ask, self.p, out)
    }
}
