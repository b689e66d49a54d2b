//! The engine: scores in, thresholds and score gradient out.
//!
//! ```text
//!            scores s                                score gradient v
//!  Model ───────────────▶  counts ─▶ rates ─▶ solve ───────────────────▶ Model::backward ─▶ Optimizer
//! ```
//!
//! An [`Engine`] ties a goal to a sample and keeps what a training loop would
//! otherwise carry around: the thresholds, which conditions are active, slack
//! variables and workspaces. A [`step`](Engine::step) is a few passes over the
//! scores and allocates nothing that grows with their number.

use thiserror::Error;

use crate::count::{Cell, Count, Counter};
use crate::goal::Goal;
use crate::implicit::{Derivative, ImplicitError, ImplicitOptions, differentiate};
use crate::problem::{Problem, ProblemError, ProblemOptions};
use crate::sample::{Sample, SampleError};
use crate::surrogate::Surrogate;
use crate::threshold::ThresholdError;
use crate::threshold::exact;
use crate::threshold::smooth::{self, Request, SmoothOptions};
use crate::threshold::track::{self, Origin};

/// Where a step takes its thresholds from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solve {
    /// The smooth conditions, solved at every step: the gradient is exact.
    #[default]
    Smooth,
    /// The unrelaxed conditions, solved at every step.
    Exact,
    /// Whatever they are: set, tracked or corrected by the caller (the paper's algorithm 1).
    Hold,
}

/// How limits (`<=`, `>=`) are met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inequality {
    /// The thresholds are the best within the limits; only active limits pull.
    #[default]
    ActiveSet,
    /// The paper's slack variables: g + slack = 0, slack >= 0 trained with the model.
    Slack,
}

/// Settings of an engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The smooth stand-in for decisions.
    pub surrogate: Surrogate,
    /// k: how sharply the surrogate switches, per unit of score.
    pub sharpness: f64,
    /// Where thresholds come from.
    pub solve: Solve,
    /// How limits are met.
    pub inequality: Inequality,
    /// Thresholds that are parameters of their own (indices), trained by
    /// [`Step::free_gradient`]; the others follow from the conditions.
    pub free: Vec<usize>,
    /// How to differentiate.
    pub implicit: ImplicitOptions,
    /// When a smooth solve stops.
    pub smooth: SmoothOptions,
    /// How the goal is tied to the sample.
    pub problem: ProblemOptions,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            surrogate: Surrogate::Sigmoid,
            sharpness: 1.0,
            solve: Solve::Smooth,
            inequality: Inequality::ActiveSet,
            free: Vec::new(),
            implicit: ImplicitOptions::default(),
            smooth: SmoothOptions::default(),
            problem: ProblemOptions::default(),
        }
    }
}

/// Why a step failed.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum EngineError {
    /// The goal does not fit the sample.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// No thresholds.
    #[error(transparent)]
    Threshold(#[from] ThresholdError),
    /// No gradient.
    #[error(transparent)]
    Implicit(#[from] ImplicitError),
    /// Bad scores.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A setting that makes no sense.
    #[error("{what}: {found}; expected {expected}")]
    Setting {
        /// Which setting.
        what: &'static str,
        /// What was found.
        found: String,
        /// What is allowed.
        expected: String,
    },
}

/// What one step found; borrowed from the engine.
#[derive(Clone, Copy, Debug)]
pub struct Step<'e> {
    /// The smooth objective as something to minimise (minus the rate where more is better).
    pub loss: f64,
    /// The smooth objective itself.
    pub objective: f64,
    /// The regulariser's penalty; the gradient is that of loss + penalty.
    pub penalty: f64,
    /// The thresholds of this step.
    pub thresholds: &'e [f64],
    /// g_k of every condition: 0 where it holds with equality, below 0 inside a limit.
    pub constraints: &'e [f64],
    /// How the loss changes per unit of g_k's target; 0 for limits that are not active.
    pub prices: &'e [f64],
    /// The loss's derivative by each free threshold, else 0.
    pub free_gradient: &'e [f64],
    /// How many slopes dg/dt had to be raised to the floor.
    pub clamped: usize,
    /// Passes over the scores spent on thresholds.
    pub passes: usize,
}

/// A goal tied to a sample, with its thresholds.
#[derive(Debug)]
pub struct Engine<'s> {
    goal: Goal,
    sample: &'s Sample,
    problem: Problem,
    counter: Counter<'s>,
    options: EngineOptions,
    thresholds: Option<Vec<f64>>,
    active: Vec<bool>,
    free: Vec<bool>,
    slack: Option<Vec<f64>>,
    cells: Vec<Cell>,
    motion: Vec<Cell>,
    grid: Vec<f64>,
    derivative: Derivative,
}

impl<'s> Engine<'s> {
    /// Ties a goal to a sample.
    ///
    /// # Errors
    /// If the goal does not fit the sample, or a setting makes no sense.
    pub fn new(goal: &Goal, sample: &'s Sample, options: EngineOptions) -> Result<Self, EngineError> {
        if !(options.sharpness.is_finite() && options.sharpness > 0.0) {
            let found = options.sharpness.to_string();
            return Err(EngineError::Setting {
                what: "sharpness",
                found,
                expected: "a positive number".into(),
            });
        }
        let problem = Problem::new(goal, sample, &options.problem)?;
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
            sample,
            counter: Counter::new(sample, problem.per_group(), options.surrogate, options.sharpness),
            thresholds: None,
            active: vec![true; conditions],
            free,
            slack,
            cells: vec![Cell::default(); shape.cells()],
            motion: vec![Cell::default(); shape.cells()],
            grid: vec![0.0; shape.cells() / 2],
            derivative: Derivative::default(),
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
                found: format!("{thresholds:?}"),
                expected: format!("{} finite numbers", self.problem.thresholds()),
            });
        }
        self.thresholds = Some(thresholds.to_vec());
        Ok(())
    }

    /// Changes the sharpness k, to follow the scale of the scores.
    pub fn set_sharpness(&mut self, sharpness: f64) {
        self.options.sharpness = sharpness;
        self.counter.set_sharpness(sharpness);
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
    /// The loss's derivative by slack k is -price k; equalities keep a slack of 0.
    pub fn descend_slack(&mut self, rate: f64) {
        if let Some(slack) = &mut self.slack {
            for ((slack, price), condition) in
                slack.iter_mut().zip(&self.derivative.prices).zip(self.problem.conditions())
            {
                if condition.kind == crate::problem::Kind::AtMost {
                    *slack = (*slack + rate * price).max(0.0);
                }
            }
        }
    }

    /// Moves the thresholds to where the unrelaxed conditions hold (algorithm 1, line 8).
    ///
    /// # Errors
    /// If no thresholds meet the conditions.
    pub fn correct(&mut self, scores: &[f32]) -> Result<(), EngineError> {
        let found = exact::solve(&self.goal, self.sample, scores, &self.options.problem)?;
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
    pub fn track(&mut self, scores: &[f32], motion: &[f32]) -> Result<(), EngineError> {
        let Some(thresholds) = &mut self.thresholds else {
            return Err(EngineError::Setting {
                what: "track",
                found: "no thresholds yet".into(),
                expected: "a step before it".into(),
            });
        };
        self.problem.fill_grid(thresholds, &mut self.grid);
        self.counter.count_motion(scores, motion, &self.grid, &mut self.motion)?;
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
    pub fn step(&mut self, scores: &[f32], gradient: &mut [f32]) -> Result<Step<'_>, EngineError> {
        let passes = self.solve(scores)?;
        let curvature = self.options.implicit.regulariser > 0.0;
        differentiate(
            &self.problem,
            &self.cells,
            self.options.sharpness,
            &self.active,
            &self.free,
            &self.options.implicit,
            &mut self.derivative,
        )?;
        self.counter.gradient(scores, &self.grid, &self.derivative.partials, curvature, gradient)?;
        Ok(Step {
            loss: self.derivative.loss,
            objective: self.problem.objective(self.derivative.loss),
            penalty: self.derivative.penalty,
            thresholds: self.thresholds.as_deref().unwrap_or_default(),
            constraints: &self.derivative.constraints,
            prices: &self.derivative.prices,
            free_gradient: &self.derivative.free,
            clamped: self.derivative.clamped,
            passes,
        })
    }

    /// Finds the thresholds and counts there; returns the passes over the scores.
    fn solve(&mut self, scores: &[f32]) -> Result<usize, EngineError> {
        if self.thresholds.is_none() || self.options.solve == Solve::Exact {
            self.correct(scores)?;
        }
        let start = self.thresholds.as_deref().unwrap_or_default();
        let request = Request {
            sharpness: self.options.sharpness,
            start,
            free: &self.free,
            slack: self.slack.as_deref(),
        };
        let curvature = self.options.implicit.regulariser > 0.0 || !self.problem.diagonal();
        let mut source = Scored { counter: &mut self.counter, scores, curvature };
        if self.options.solve != Solve::Smooth {
            self.problem.fill_grid(start, &mut self.grid);
            source.count(&self.grid, &mut self.cells)?;
            if !self.problem.diagonal() {
                self.active = smooth::active_conditions(&self.problem, &mut self.cells, request);
            }
            return Ok(1);
        }
        let solved =
            smooth::solve(&self.problem, &mut source, request, &self.options.smooth, &mut self.cells)?;
        self.problem.fill_grid(&solved.thresholds, &mut self.grid);
        self.thresholds = Some(solved.thresholds);
        self.active = solved.active;
        Ok(solved.passes)
    }
}

/// A counter with its scores: what the smooth solver asks for counts.
struct Scored<'c, 's, 'a> {
    counter: &'c mut Counter<'s>,
    scores: &'a [f32],
    curvature: bool,
}

impl Count for Scored<'_, '_, '_> {
    fn count(&mut self, thresholds: &[f64], cells: &mut [Cell]) -> Result<(), SampleError> {
        self.counter.count(self.scores, thresholds, self.curvature, cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two overlapping classes on a line, in two groups.
    fn sample() -> (Sample, Vec<f32>) {
        let rows = 3000;
        let labels: Vec<bool> = (0..rows).map(|i| i % 5 == 0).collect();
        let scores = (0..rows)
            .map(|i| (i as f32 * 0.618_034).fract() * 4.0 - 2.0 + if i % 5 == 0 { 1.0 } else { 0.0 })
            .collect();
        let groups = (0..rows).map(|i| u32::from(i % 3 == 0)).collect();
        let sample =
            Sample::new(labels).unwrap().with_groups("g", vec!["a".into(), "b".into()], groups).unwrap();
        (sample, scores)
    }

    fn goal(text: &str) -> Goal {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    fn options(solve: Solve) -> EngineOptions {
        EngineOptions { sharpness: 8.0, solve, ..EngineOptions::default() }
    }

    #[test]
    fn every_goal_takes_a_step_with_every_source_of_thresholds() {
        let (sample, scores) = sample();
        let mut gradient = vec![0.0; scores.len()];
        for text in [
            "recall @ fpr<=5%",
            "precision @ recall>=0.9",
            "f1",
            "recall @ precision>=0.4, fpr<=20%",
            "precision @ k=100",
            "pr-auc @ recall in 0.9..1",
            "recall @ fpr(g)<=5%",
            "accuracy @ gap(recall, g)<=0.02",
            "f1 @ gap(fpr, g)<=0.01, positive-rate<=30%",
        ] {
            for solve in [Solve::Smooth, Solve::Exact, Solve::Hold] {
                let mut engine = Engine::new(&goal(text), &sample, options(solve)).unwrap();
                for _ in 0..2 {
                    let step = engine
                        .step(&scores, &mut gradient)
                        .unwrap_or_else(|e| panic!("{text}, {solve:?}: {e}"));
                    assert!(step.loss.is_finite() && step.clamped == 0, "{text}, {solve:?}: {step:?}");
                    let (sum, size) = gradient
                        .iter()
                        .fold((0.0, 0.0), |(s, a), v| (s + f64::from(*v), a + f64::from(v.abs())));
                    assert!(size > 0.0 && size.is_finite(), "{text}, {solve:?}");
                    // Only thresholds solved on the surrogate make the loss blind to a common shift.
                    if solve == Solve::Smooth {
                        assert!(sum.abs() < 1e-3 * size, "{text}: {sum} of {size}");
                    }
                }
            }
        }
    }

    #[test]
    fn tracking_follows_a_shift_of_all_scores() {
        let (sample, scores) = sample();
        let mut engine = Engine::new(&goal("recall @ fpr<=5%"), &sample, options(Solve::Hold)).unwrap();
        let mut gradient = vec![0.0; scores.len()];
        let before = engine.step(&scores, &mut gradient).unwrap().thresholds[0];
        engine.track(&scores, &vec![0.25; scores.len()]).unwrap();
        assert!((engine.thresholds().unwrap()[0] - before - 0.25).abs() < 1e-5);
    }

    #[test]
    fn a_step_before_tracking_is_required() {
        let (sample, scores) = sample();
        let mut engine = Engine::new(&goal("f1"), &sample, options(Solve::Hold)).unwrap();
        let error = engine.track(&scores, &scores).unwrap_err();
        assert_eq!(error.to_string(), "track: no thresholds yet; expected a step before it");
    }

    /// Minimise fpr under fnr <= 0.4 over one weight and the slack: both routes end at the same loss.
    #[test]
    fn slack_variables_reach_the_optimum_of_the_active_set() {
        let (sample, x) = sample();
        let train = |inequality: Inequality| {
            let options = EngineOptions {
                surrogate: Surrogate::Softplus,
                sharpness: 1.0,
                inequality,
                ..EngineOptions::default()
            };
            let mut engine = Engine::new(&goal("fpr @ fnr<=0.4"), &sample, options).unwrap();
            let (mut weight, mut loss) = (0.5f32, 0.0);
            let mut gradient = vec![0.0; x.len()];
            if engine.slack().is_some() {
                // Start inside the limit; a useful slack variable must find its way to zero.
                engine.set_slack(&[0.2]);
            }
            for _ in 0..400 {
                let scores: Vec<f32> = x.iter().map(|x| weight * x).collect();
                loss = engine.step(&scores, &mut gradient).unwrap().loss;
                let slope: f32 = x.iter().zip(&gradient).map(|(x, v)| x * v).sum();
                weight -= 0.5 * slope;
                engine.descend_slack(0.05);
            }
            (loss, weight, engine.slack().map_or(0.0, |slack| slack[0]))
        };
        let (active, weight, _) = train(Inequality::ActiveSet);
        let (slacked, slack_weight, slack) = train(Inequality::Slack);
        assert_eq!(slack, 0.0, "fpr always gains from using up the allowed fnr");
        assert!((active - slacked).abs() < 1e-4, "{active} and {slacked}");
        assert!((weight - slack_weight).abs() < 1e-2, "{weight} and {slack_weight}");
    }

    #[test]
    fn slack_variables_need_a_threshold_each() {
        let (sample, _) = sample();
        let options = EngineOptions { inequality: Inequality::Slack, ..EngineOptions::default() };
        let error = Engine::new(&goal("f1 @ fpr<=5%, recall>=0.1"), &sample, options).unwrap_err();
        assert_eq!(error, ThresholdError::TooManySlacks { conditions: 2, thresholds: 1 }.into());
    }

    #[test]
    fn bad_settings_and_bad_scores_are_refused_and_lose_nothing() {
        let (sample, mut scores) = sample();
        let bad = EngineOptions { sharpness: -1.0, ..EngineOptions::default() };
        assert!(matches!(
            Engine::new(&goal("f1"), &sample, bad),
            Err(EngineError::Setting { what: "sharpness", .. })
        ));
        let bad = EngineOptions { free: vec![3], ..EngineOptions::default() };
        assert!(matches!(
            Engine::new(&goal("f1"), &sample, bad),
            Err(EngineError::Setting { what: "free threshold", .. })
        ));
        let mut engine = Engine::new(&goal("recall @ fpr<=5%"), &sample, options(Solve::Smooth)).unwrap();
        assert!(engine.set_thresholds(&[f64::NAN]).is_err());
        let mut gradient = vec![0.0; scores.len()];
        let good = engine.step(&scores, &mut gradient).unwrap().thresholds.to_vec();
        scores[17] = f32::NAN;
        assert!(matches!(
            engine.step(&scores, &mut gradient),
            Err(EngineError::Threshold(_) | EngineError::Sample(_))
        ));
        assert_eq!(engine.thresholds().unwrap(), good);
        assert!(engine.step(&scores[..5], &mut gradient).is_err());
    }

    #[test]
    fn samples_without_what_the_goal_needs_are_refused() {
        let negatives = Sample::new(vec![false; 10]).unwrap();
        let error = Engine::new(&goal("recall @ fpr<=5%"), &negatives, EngineOptions::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "labels hold no positives (0 of 10): recall is undefined; use a larger or stratified sample"
        );
        let error =
            Engine::new(&goal("recall @ fpr(g)<=5%"), &negatives, EngineOptions::default()).unwrap_err();
        assert!(error.to_string().contains("has no groups"), "{error}");
        let lopsided = Sample::new(vec![true, false, false, false])
            .unwrap()
            .with_groups("g", vec!["a".into(), "b".into()], vec![0, 0, 1, 1])
            .unwrap();
        let error = Engine::new(&goal("accuracy @ gap(recall, g)<=5%"), &lopsided, EngineOptions::default())
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "group \"b\" of column \"g\" has no positives: recall is undefined there; pool small groups or drop the condition"
        );
    }
}
