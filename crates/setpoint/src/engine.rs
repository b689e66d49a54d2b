//! The engine: scores in, thresholds and score gradient out.
//!
//! ```text
//!            scores s                                score gradient v
//!  Model ───────────────▶  counts ─▶ rates ─▶ solve ───────────────────▶ Model::backward ─▶ Optimizer
//! ```
//!
//! An [`Engine`] keeps what a training loop would otherwise carry around: the
//! thresholds of a goal, which conditions are active, slack variables and
//! workspaces. The rows are handed to each call, and may be others each time. A
//! [`step`](Engine::step) is a few passes over the scores and allocates nothing
//! that grows with their number.

mod options;

pub use options::{EngineError, EngineOptions, Inequality, Solve, Step};

use crate::count::{Cell, Count, Counter};
use crate::examples::Function;
use crate::goal::Goal;
use crate::implicit::{Derivative, ImplicitOptions, differentiate};
use crate::message::number;
use crate::problem::Problem;
use crate::sample::{Sample, SampleError};
use crate::shard::Shard;
use crate::threshold::ThresholdError;
use crate::threshold::exact;
use crate::threshold::smooth::{self, Request};
use crate::threshold::track::{self, Origin};

/// A goal with its thresholds.
#[derive(Debug)]
pub struct Engine {
    goal: Goal,
    problem: Problem,
    counter: Counter,
    options: EngineOptions,
    thresholds: Option<Vec<f64>>,
    active: Vec<bool>,
    free: Vec<bool>,
    slack: Option<Vec<f64>>,
    cells: Vec<Cell>,
    motion: Vec<Cell>,
    grid: Vec<f64>,
    derivative: Derivative,
    /// The least loss so far, of thresholds that were found near those of before.
    least: f64,
}

impl Engine {
    /// Ties a goal to rows.
    ///
    /// # Errors
    /// If the goal does not fit the rows, or a setting makes no sense.
    pub fn new(goal: &Goal, rows: &dyn Shard, options: EngineOptions) -> Result<Self, EngineError> {
        if !(options.sharpness.is_finite() && options.sharpness > 0.0) {
            let found = number(options.sharpness);
            return Err(EngineError::Setting {
                what: "sharpness",
                found,
                expected: "a positive number".into(),
            });
        }
        let problem = Problem::new(goal, rows, &options.problem)?;
        let mut free = vec![false; problem.thresholds()];
        for index in &options.free {
            *free.get_mut(*index).ok_or_else(|| EngineError::Setting {
                what: "free threshold",
                found: index.to_string(),
                expected: format!("an index below {}", problem.thresholds()),
            })? = true;
        }
        let conditions = problem.conditions().len();
        let implicit = free.iter().filter(|free| !**free).count();
        let slack = (options.inequality == Inequality::Slack).then(|| vec![0.0; conditions]);
        if slack.is_some() && conditions > implicit {
            return Err(ThresholdError::TooManySlacks { conditions, thresholds: implicit }.into());
        }
        let shape = problem.shape();
        Ok(Self {
            goal: goal.clone(),
            counter: Counter::new(shape.groups, options.surrogate, options.sharpness),
            thresholds: None,
            active: vec![true; conditions],
            free,
            slack,
            cells: vec![Cell::default(); shape.cells()],
            motion: vec![Cell::default(); shape.cells()],
            grid: vec![0.0; shape.grid()],
            derivative: Derivative::default(),
            least: f64::INFINITY,
            options,
            problem,
        })
    }

    /// The goal as functions of counts.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The current thresholds, once there are any.
    #[must_use]
    pub fn thresholds(&self) -> Option<&[f64]> {
        self.thresholds.as_deref()
    }

    /// Sets the thresholds: a warm start, or the values to hold.
    ///
    /// # Errors
    /// If their number is wrong or one is not finite.
    pub fn set_thresholds(&mut self, thresholds: &[f64]) -> Result<(), EngineError> {
        if thresholds.len() != self.problem.thresholds() || thresholds.iter().any(|t| !t.is_finite()) {
            return Err(EngineError::Setting {
                what: "thresholds",
                found: match thresholds.iter().find(|threshold| !threshold.is_finite()) {
                    Some(threshold) => threshold.to_string(),
                    None => format!("{} numbers", thresholds.len()),
                },
                expected: format!("{} finite numbers", self.problem.thresholds()),
            });
        }
        self.thresholds.get_or_insert_default().clear();
        self.thresholds.get_or_insert_default().extend_from_slice(thresholds);
        Ok(())
    }

    /// Changes the sharpness k, to follow the scale of the scores.
    pub fn set_sharpness(&mut self, sharpness: f64) {
        self.options.sharpness = sharpness;
        self.counter.set_sharpness(sharpness);
    }

    /// Moves smooth thresholds a Newton step on from where they were settled: closer for rows to come.
    pub fn follow(&mut self) {
        if let (Solve::Smooth, Some(start)) = (self.options.solve, &self.thresholds) {
            let (sharpness, slack) = (self.options.sharpness, self.slack.as_deref());
            let request = Request { sharpness, start, free: &self.free, slack };
            self.thresholds = Some(smooth::follow(&self.problem, &mut self.cells, request));
        }
    }

    /// Changes the largest relative error of a rate at smooth thresholds.
    pub fn set_tolerance(&mut self, tolerance: f64) {
        self.options.smooth.tolerance = tolerance;
    }

    /// The sharpness k.
    #[must_use]
    pub fn sharpness(&self) -> f64 {
        self.options.sharpness
    }

    /// Sets the slack of every condition, where limits are met by slack variables.
    pub fn set_slack(&mut self, values: &[f64]) {
        if let Some(slack) = &mut self.slack {
            slack.iter_mut().zip(values).for_each(|(slack, value)| *slack = value.max(0.0));
        }
    }

    /// The slack of every condition, where limits are met by slack variables.
    #[must_use]
    pub fn slack(&self) -> Option<&[f64]> {
        self.slack.as_deref()
    }

    /// One gradient step on the slack variables, after a [`step`](Self::step), projected onto slack >= 0.
    ///
    /// The loss's derivative by slack k is -price k; equalities keep a slack of 0. A step is at most
    /// `rate` of the room between the condition's target and the nearer end of 0..1: prices at low
    /// rates are steep, and a slack beyond its room leaves no threshold at all.
    pub fn descend_slack(&mut self, rate: f64) {
        if let Some(slack) = &mut self.slack {
            for ((slack, price), condition) in
                slack.iter_mut().zip(&self.derivative.prices).zip(self.problem.conditions())
            {
                if condition.sense == crate::problem::Sense::AtMost {
                    let target = condition.expression.constant.abs();
                    let most = rate * target.min(1.0 - target).max(0.001);
                    *slack = (*slack + (rate * price).clamp(-most, most)).max(0.0);
                }
            }
        }
    }

    /// Moves the thresholds to where the unrelaxed conditions hold (algorithm 1, line 8).
    ///
    /// # Errors
    /// If no thresholds meet the conditions.
    pub fn correct(&mut self, rows: &dyn Shard, scores: &[f32]) -> Result<(), EngineError> {
        self.correct_on(&mut Here { rows, scores })
    }

    fn correct_on(&mut self, rows: &mut dyn Scored) -> Result<(), EngineError> {
        let (goal, options) = (&self.goal, &self.options.problem);
        let mut found = None;
        rows.with_scores(&mut |rows, scores| found = Some(exact::solve(goal, rows, scores, options)))?;
        let Some(found) = found.transpose()? else { return Ok(()) };
        let mut thresholds: Vec<f64> = found.thresholds.iter().map(|t| f64::from(*t)).collect();
        // Free thresholds belong to the optimizer once they have a value.
        if let Some(old) = &self.thresholds {
            for (j, free) in self.free.iter().enumerate() {
                if *free {
                    thresholds[j] = old[j];
                }
            }
        }
        self.thresholds = Some(thresholds);
        Ok(())
    }

    /// Moves the thresholds to first order with the scores (algorithm 1, line 10).
    ///
    /// `scores` are those of the last [`step`](Self::step), `motion` what has been added to them
    /// since.
    ///
    /// # Errors
    /// If there has been no step, or the lengths differ.
    pub fn track(&mut self, rows: &dyn Shard, scores: &[f32], motion: &[f32]) -> Result<(), EngineError> {
        let Some(thresholds) = &mut self.thresholds else {
            return Err(EngineError::Setting {
                what: "track",
                found: "no thresholds yet".into(),
                expected: "a step before it".into(),
            });
        };
        self.problem.fill_grid(thresholds, &mut self.grid);
        self.counter.count_motion(rows, scores, motion, &self.grid, &mut self.motion)?;
        let from = Origin {
            cells: &self.cells,
            constraint_slopes: &self.derivative.constraint_slopes,
            active: &self.active,
            free: &self.free,
        };
        let other = vec![0.0; self.active.len()];
        let floor = self.options.implicit.floor * self.options.sharpness;
        let moved = track::motion(&self.problem, from, &self.motion, &other, floor);
        thresholds.iter_mut().zip(moved).for_each(|(t, dt)| *t += dt);
        Ok(())
    }

    /// Solves the thresholds as set, and writes the score gradient v of the loss through them.
    ///
    /// # Errors
    /// If the scores are bad, the goal cannot be met, or a constraint is flat and may not be
    /// clamped. The thresholds are then those of the last good step.
    pub fn step(
        &mut self,
        rows: &dyn Shard,
        scores: &[f32],
        gradient: &mut [f32],
    ) -> Result<Step<'_>, EngineError> {
        let passes = self.settle(rows, scores)?;
        self.spread(rows, scores, gradient)?;
        Ok(self.last(passes))
    }

    /// The first half of a [`step`](Self::step): thresholds and derivatives on these rows; returns the passes
    /// over them.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn settle(&mut self, rows: &dyn Shard, scores: &[f32]) -> Result<usize, EngineError> {
        self.settle_on(&mut Here { rows, scores })
    }

    /// The same on scores that are elsewhere.
    pub(crate) fn settle_on(&mut self, rows: &mut dyn Scored) -> Result<usize, EngineError> {
        self.problem.tie(&self.goal, rows.rows(), &self.options.problem)?;
        let before = self.thresholds.clone();
        let passes = self.solve_again(rows)?;
        differentiate(
            &self.problem,
            &self.cells,
            self.options.sharpness,
            &self.active,
            &self.free,
            &self.options.implicit,
            &mut self.derivative,
        )?;
        if !self.derivative.is_finite() {
            self.thresholds = before;
            return Err(ThresholdError::NotSettled { passes, residual: f64::INFINITY }.into());
        }
        Ok(passes)
    }

    /// The second half: writes the gradient by the scores of these rows, some of those that were settled on.
    ///
    /// # Errors
    /// If there are not as many scores as rows.
    pub fn spread(
        &mut self,
        rows: &dyn Shard,
        scores: &[f32],
        gradient: &mut [f32],
    ) -> Result<(), EngineError> {
        let curvature = self.options.implicit.regulariser > 0.0;
        let partials = &self.derivative.partials;
        Ok(self.counter.gradient(rows, scores, &self.grid, partials, curvature, gradient)?)
    }

    /// The loss settled last, as a function of the counts that it was settled on.
    pub(crate) fn function(&self) -> Function {
        let curvature = self.options.implicit.regulariser > 0.0;
        let counts = self.counter.counts(&self.grid, curvature, self.cells.len());
        Function { counts, partials: self.derivative.partials.clone(), lines: Vec::new() }
    }

    /// What was settled last.
    #[must_use]
    pub fn last(&self, passes: usize) -> Step<'_> {
        Step {
            loss: self.derivative.loss,
            objective: self.problem.objective(self.derivative.loss),
            penalty: self.derivative.penalty,
            thresholds: self.thresholds.as_deref().unwrap_or_default(),
            constraints: &self.derivative.constraints,
            prices: &self.derivative.prices,
            free_gradient: &self.derivative.free,
            clamped: self.derivative.clamped,
            passes,
        }
    }

    /// Writes df/ds with the thresholds of the last [`step`](Self::step), as if they did not move with
    /// the scores: what layers outside the thresholds' scope learn by.
    ///
    /// # Errors
    /// If there are not as many scores as rows.
    pub fn direct_gradient(
        &mut self,
        rows: &dyn Shard,
        scores: &[f32],
        gradient: &mut [f32],
    ) -> Result<(), EngineError> {
        let nothing_tied = vec![false; self.active.len()];
        let mut direct = Derivative::default();
        differentiate(
            &self.problem,
            &self.cells,
            self.options.sharpness,
            &nothing_tied,
            &self.free,
            &ImplicitOptions { regulariser: 0.0, ..self.options.implicit },
            &mut direct,
        )?;
        Ok(self.counter.gradient(rows, scores, &self.grid, &direct.partials, false, gradient)?)
    }

    /// Finds the thresholds and counts there. Where those of before lead astray, or a slack leaves no threshold,
    /// the search starts again from the exact ones.
    fn solve_again(&mut self, rows: &mut dyn Scored) -> Result<usize, EngineError> {
        let before = self.thresholds.clone();
        match self.solve(rows) {
            Err(EngineError::Threshold(
                ThresholdError::NotSettled { .. } | ThresholdError::Infeasible { .. },
            )) if before.is_some() => {}
            Ok(passes) if self.options.solve == Solve::Smooth && self.is_local() => {
                return self.look_elsewhere(rows, passes);
            }
            found => return found,
        }
        self.slack.iter_mut().for_each(|slack| slack.fill(0.0));
        let again = self.correct_on(rows).and_then(|()| self.solve(rows));
        if again.is_err() {
            self.thresholds = before;
        }
        again
    }

    /// Whether thresholds are the best near where the search starts, and others may be better.
    fn is_local(&self) -> bool {
        self.goal.money().is_some() || self.goal.abstains()
    }

    /// Where the loss is above the least so far, the scores may have left the thresholds behind, far out where nothing
    /// moves: those near the exact ones are taken if they are better.
    fn look_elsewhere(&mut self, rows: &mut dyn Scored, passes: usize) -> Result<usize, EngineError> {
        let loss = self.problem.loss().value(&self.cells);
        let mut found = loss;
        let mut passes = passes;
        if loss > self.least {
            let kept = (self.thresholds.clone(), self.active.clone(), self.cells.clone(), self.grid.clone());
            let again = self.correct_on(rows).and_then(|()| self.solve(rows));
            let better = again.is_ok() && self.problem.loss().value(&self.cells) < loss;
            if better {
                found = self.problem.loss().value(&self.cells);
                passes += again.unwrap_or_default();
            } else {
                (self.thresholds, self.active, self.cells, self.grid) = kept;
            }
        }
        self.least = self.least.min(found);
        Ok(passes)
    }

    /// Finds the thresholds and counts there; returns the passes over the scores.
    fn solve(&mut self, rows: &mut dyn Scored) -> Result<usize, EngineError> {
        if self.thresholds.is_none() || self.options.solve == Solve::Exact {
            self.correct_on(rows)?;
        }
        let start = self.thresholds.as_deref().unwrap_or_default();
        let request = Request {
            sharpness: self.options.sharpness,
            start,
            free: &self.free,
            slack: self.slack.as_deref(),
        };
        let curvature = self.options.implicit.regulariser > 0.0 || !self.problem.diagonal();
        let mut source = Source { counter: &mut self.counter, rows, curvature };
        if self.options.solve != Solve::Smooth {
            self.problem.fill_grid(start, &mut self.grid);
            source.count(&self.grid, &mut self.cells)?;
            if !self.problem.diagonal() {
                self.active = smooth::active_conditions(&self.problem, &mut self.cells, request);
            }
            return Ok(1);
        }
        let solved = smooth::solve(&self.problem, source, request, &self.options.smooth, &mut self.cells)?;
        self.problem.fill_grid(&solved.thresholds, &mut self.grid);
        self.thresholds = Some(solved.thresholds);
        self.active = solved.active;
        Ok(solved.passes)
    }
}

/// Rows with their scores, wherever these are.
pub(crate) trait Scored {
    /// Labels, weights and groups.
    fn rows(&self) -> &dyn Shard;

    /// As [`Counter::count`].
    fn count(
        &mut self,
        counter: &mut Counter,
        thresholds: &[f64],
        curvature: bool,
        cells: &mut [Cell],
    ) -> Result<(), SampleError>;

    /// Calls with all rows and all scores in one place.
    fn with_scores(&mut self, call: &mut dyn FnMut(&Sample, &[f32])) -> Result<(), SampleError>;
}

/// Scores that are here.
struct Here<'a> {
    rows: &'a dyn Shard,
    scores: &'a [f32],
}

impl Scored for Here<'_> {
    fn rows(&self) -> &dyn Shard {
        self.rows
    }

    fn count(
        &mut self,
        counter: &mut Counter,
        thresholds: &[f64],
        curvature: bool,
        cells: &mut [Cell],
    ) -> Result<(), SampleError> {
        counter.count(self.rows, self.scores, thresholds, curvature, cells)
    }

    fn with_scores(&mut self, call: &mut dyn FnMut(&Sample, &[f32])) -> Result<(), SampleError> {
        call(self.rows.whole(), &self.rows.gathered(self.scores));
        Ok(())
    }
}

/// A counter with its rows and scores: what the smooth solver asks for counts.
struct Source<'a> {
    counter: &'a mut Counter,
    rows: &'a mut dyn Scored,
    curvature: bool,
}

impl Count for Source<'_> {
    fn count(&mut self, thresholds: &[f64], cells: &mut [Cell]) -> Result<(), SampleError> {
        self.rows.count(self.counter, thresholds, self.curvature, cells)
    }
}

#[cfg(test)]
mod tests;
