//! L-BFGS: a quasi-Newton method for smooth objectives on the full batch.
//!
//! The last few steps s and the changes y of the gradient over them stand in for the Hessian;
//! the direction -H g is found by the two-loop recursion (Nocedal and Wright, algorithm 7.4), the
//! step length by a strong Wolfe line search, which usually takes its first trial. So one
//! iteration costs little more than one evaluation.
//!
//! Parameters are `f32`, as models take them; everything else is `f64`. Steps are measured between
//! the rounded parameters that were really evaluated, so s and y belong together even when steps
//! shrink towards the resolution of `f32`.
//!
//! One [`Lbfgs::next_iter`] is the whole algorithm; the loop is the caller's, or
//! [`Lbfgs::minimize`].

use super::{OptimizerError, State, check_not_negative, check_positive, check_setting, damaged};

mod curvature;
mod line_search;

use curvature::{Curvature, dot, norm};
use line_search::{LineSearch, Trial, Verdict};

/// Settings of [`Lbfgs`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LbfgsConfig {
    /// Number of past steps that describe the curvature.
    pub memory: usize,
    /// Stop when the gradient's Euclidean norm is not above this.
    pub gradient_tolerance: f64,
    /// Stop when an iteration lowers the value by no more than this part of it.
    pub decrease_tolerance: f64,
    /// Stop after this many evaluations.
    pub max_evaluations: u64,
    /// Most evaluations of one line search.
    pub search_evaluations: usize,
    /// Length of the first trial step, when no curvature is known, relative to the norm of the
    /// parameters (or to 1, if that is larger).
    pub first_step: f64,
    /// Rounding error of the objective's value, relative to the value.
    pub value_noise: f64,
}

impl Default for LbfgsConfig {
    fn default() -> Self {
        Self {
            memory: 10,
            gradient_tolerance: 1e-6,
            decrease_tolerance: 1e-7,
            max_evaluations: 200,
            search_evaluations: 10,
            first_step: 0.5,
            value_noise: 1e-7,
        }
    }
}

/// What an iteration came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is more to gain.
    Continue,
    /// The search is over.
    Done(Stop),
}

/// Why a search is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The gradient is as small as asked.
    SmallGradient,
    /// The last iteration lowered the value by no more than asked.
    SmallDecrease,
    /// The evaluations are used up.
    Evaluations,
    /// No step lowers the value, not even along the gradient: as good as `f32` can tell, or the
    /// gradient is not that of the value.
    NoDescent,
    /// The value or gradient at the start is not finite.
    NotFinite,
}

/// An iterate, as observers see it.
#[derive(Clone, Copy, Debug)]
pub struct Iterate<'a> {
    /// 0 is the start.
    pub iteration: u64,
    /// Evaluations so far.
    pub evaluations: u64,
    /// The objective there.
    pub value: f64,
    /// Euclidean norm of its gradient.
    pub gradient_norm: f64,
    /// Where it is.
    pub parameters: &'a [f32],
}

/// L-BFGS, see the module.
///
/// ```
/// use setpoint::optimizer::{Lbfgs, LbfgsConfig, Stop};
///
/// let mut lbfgs = Lbfgs::new(LbfgsConfig::default(), vec![0.0, 0.0])?;
/// let mut bowl = |p: &[f32], gradient: &mut [f64]| {
///     let (x, y) = (f64::from(p[0]) - 3.0, f64::from(p[1]) + 1.0);
///     gradient.copy_from_slice(&[2.0 * x, 20.0 * y]);
///     Ok::<_, std::convert::Infallible>(x * x + 10.0 * y * y)
/// };
/// let stop = lbfgs.minimize(&mut bowl)?;
/// assert_eq!(stop, Stop::SmallGradient);
/// assert!((lbfgs.parameters()[0] - 3.0).abs() < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Lbfgs {
    config: LbfgsConfig,
    here: Point,
    curvature: Curvature,
    iteration: u64,
    evaluations: u64,
    restarts: u64,
    /// True once the start has been evaluated.
    started: bool,
    direction: Vec<f64>,
    trial: Point,
    best: Point,
}

#[derive(Clone, Debug)]
struct Point {
    parameters: Vec<f32>,
    value: f64,
    gradient: Vec<f64>,
}

enum Found {
    Step,
    Nothing,
    OutOfEvaluations,
}

impl Lbfgs {
    /// A search that starts from `parameters`.
    ///
    /// # Errors
    /// If a setting is out of range.
    pub fn new(config: LbfgsConfig, parameters: Vec<f32>) -> Result<Self, OptimizerError> {
        check_setting("memory", config.memory as f64, config.memory > 0, "[1, infinity)")?;
        let searches = config.search_evaluations;
        check_setting("search evaluations", searches as f64, searches > 0, "[1, infinity)")?;
        check_not_negative("gradient tolerance", config.gradient_tolerance)?;
        check_not_negative("decrease tolerance", config.decrease_tolerance)?;
        check_positive("first step", config.first_step)?;
        check_not_negative("value noise", config.value_noise)?;
        let here = Point { gradient: vec![0.0; parameters.len()], value: f64::NAN, parameters };
        Ok(Self {
            config,
            direction: here.gradient.clone(),
            trial: here.clone(),
            best: here.clone(),
            here,
            curvature: Curvature::new(config.memory),
            iteration: 0,
            evaluations: 0,
            restarts: 0,
            started: false,
        })
    }

    /// A search that starts where this one is, with the curvature it met, for an objective much like its own.
    ///
    /// # Errors
    /// As [`Lbfgs::new`].
    pub fn again(self, config: LbfgsConfig) -> Result<Self, OptimizerError> {
        let Self { here, curvature, .. } = self;
        Ok(Self { curvature, ..Self::new(config, here.parameters)? })
    }

    /// The parameters reached so far.
    #[must_use]
    pub fn parameters(&self) -> &[f32] {
        &self.here.parameters
    }

    /// How often the curvature was thrown away because a line search failed on it.
    #[must_use]
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// Where the search stands. The value is NaN before the start has been evaluated.
    #[must_use]
    pub fn iterate(&self) -> Iterate<'_> {
        Iterate {
            iteration: self.iteration,
            evaluations: self.evaluations,
            value: self.here.value,
            gradient_norm: norm(&self.here.gradient),
            parameters: &self.here.parameters,
        }
    }

    /// One iteration; the first call evaluates the start and goes nowhere.
    ///
    /// `evaluate` writes the gradient and returns the value. NaN or infinity means that there is
    /// no value at these parameters, and the line search tries a shorter step.
    ///
    /// # Errors
    /// Whatever `evaluate` returns; parameters, value and gradient are then as before the call.
    pub fn next_iter<E>(
        &mut self,
        evaluate: &mut impl FnMut(&[f32], &mut [f64]) -> Result<f64, E>,
    ) -> Result<Outcome, E> {
        if !self.started {
            return self.start(evaluate);
        }
        if self.evaluations >= self.config.max_evaluations {
            return Ok(Outcome::Done(Stop::Evaluations));
        }
        loop {
            let steepest = self.curvature.is_empty();
            self.curvature.descend(&self.here.gradient, &mut self.direction);
            let slope = dot(&self.direction, &self.here.gradient);
            let found = if slope < 0.0 { self.search(slope, evaluate)? } else { Found::Nothing };
            match found {
                Found::Step => break,
                Found::OutOfEvaluations => return Ok(Outcome::Done(Stop::Evaluations)),
                Found::Nothing if steepest => return Ok(Outcome::Done(Stop::NoDescent)),
                Found::Nothing => {
                    self.curvature.clear();
                    self.restarts += 1;
                }
            }
        }
        let before = self.here.value;
        self.advance();
        let decrease = (before - self.here.value) / before.abs().max(self.here.value.abs());
        Ok(if norm(&self.here.gradient) <= self.config.gradient_tolerance {
            Outcome::Done(Stop::SmallGradient)
        } else if decrease <= self.config.decrease_tolerance {
            Outcome::Done(Stop::SmallDecrease)
        } else {
            Outcome::Continue
        })
    }

    /// Iterates until a [`Stop`].
    ///
    /// # Errors
    /// Whatever `evaluate` returns.
    pub fn minimize<E>(
        &mut self,
        evaluate: &mut impl FnMut(&[f32], &mut [f64]) -> Result<f64, E>,
    ) -> Result<Stop, E> {
        loop {
            if let Outcome::Done(stop) = self.next_iter(evaluate)? {
                return Ok(stop);
            }
        }
    }

    fn start<E>(
        &mut self,
        evaluate: &mut impl FnMut(&[f32], &mut [f64]) -> Result<f64, E>,
    ) -> Result<Outcome, E> {
        let value = evaluate(&self.here.parameters, &mut self.here.gradient)?;
        self.evaluations += 1;
        let size = norm(&self.here.gradient);
        if !(value.is_finite() && size.is_finite()) {
            return Ok(Outcome::Done(Stop::NotFinite));
        }
        self.here.value = value;
        self.started = true;
        let done = size <= self.config.gradient_tolerance;
        Ok(if done { Outcome::Done(Stop::SmallGradient) } else { Outcome::Continue })
    }

    /// Looks for a step along the direction; leaves it in `best`.
    fn search<E>(
        &mut self,
        slope: f64,
        evaluate: &mut impl FnMut(&[f32], &mut [f64]) -> Result<f64, E>,
    ) -> Result<Found, E> {
        let mut search = LineSearch::new(self.here.value, slope, self.config.value_noise);
        let mut step = 1.0;
        if self.curvature.is_empty() {
            let size = self.here.parameters.iter().map(|p| f64::from(*p).powi(2)).sum::<f64>().sqrt();
            step = self.config.first_step * size.max(1.0) / norm(&self.direction);
        }
        for _ in 0..self.config.search_evaluations {
            let moved = self.place_trial(step);
            if !moved || self.evaluations >= self.config.max_evaluations {
                break;
            }
            self.trial.value = evaluate(&self.trial.parameters, &mut self.trial.gradient)?;
            self.evaluations += 1;
            let slope = dot(&self.trial.gradient, &self.direction);
            match search.judge(Trial { step, value: self.trial.value, slope }) {
                Verdict::Accept => {
                    std::mem::swap(&mut self.trial, &mut self.best);
                    return Ok(Found::Step);
                }
                Verdict::Better(next) => {
                    std::mem::swap(&mut self.trial, &mut self.best);
                    step = next;
                }
                Verdict::Worse(next) => step = next,
            }
        }
        Ok(if search.improved() {
            Found::Step
        } else if self.evaluations >= self.config.max_evaluations {
            Found::OutOfEvaluations
        } else {
            Found::Nothing
        })
    }

    /// Puts the trial at a step along the direction; false if that rounds to where we are.
    fn place_trial(&mut self, step: f64) -> bool {
        let ends = self.here.parameters.iter().zip(&self.direction);
        for (trial, (here, direction)) in self.trial.parameters.iter_mut().zip(ends) {
            *trial = (f64::from(*here) + step * direction) as f32;
        }
        self.trial.parameters != self.here.parameters
    }

    /// Moves to `best` and remembers the curvature met on the way.
    fn advance(&mut self) {
        let moves = self.best.parameters.iter().zip(&self.here.parameters);
        let changes = self.best.gradient.iter().zip(&self.here.gradient);
        let step: Vec<f64> = moves.map(|(new, old)| f64::from(*new) - f64::from(*old)).collect();
        let change: Vec<f64> = changes.map(|(new, old)| new - old).collect();
        self.curvature.learn(step, change);
        std::mem::swap(&mut self.here, &mut self.best);
        self.iteration += 1;
    }

    /// Everything but the configuration that the next iteration depends on.
    #[must_use]
    pub fn state(&self) -> State {
        let counts = [self.iteration, self.evaluations, self.restarts, u64::from(self.started)];
        State::default()
            .with("parameters", self.here.parameters.clone())
            .with("value", vec![self.here.value])
            .with("gradient", self.here.gradient.clone())
            .with("steps", self.curvature.steps())
            .with("changes", self.curvature.changes())
            .with("counts", counts.to_vec())
    }

    /// A search that goes on from a state taken between iterations.
    ///
    /// # Errors
    /// If a setting is out of range, or an entry is missing or does not fit.
    pub fn restore(config: LbfgsConfig, state: &State) -> Result<Self, OptimizerError> {
        let mut lbfgs = Self::new(config, state.get("parameters")?.to_vec())?;
        let width = lbfgs.direction.len();
        let [iteration, evaluations, restarts, started] = state.array("counts")?;
        (lbfgs.iteration, lbfgs.evaluations, lbfgs.restarts) = (iteration, evaluations, restarts);
        lbfgs.started = started != 0;
        let [value] = state.array("value")?;
        lbfgs.here.value = value;
        let gradient: &[f64] = state.get("gradient")?;
        if gradient.len() != width {
            return Err(damaged("gradient"));
        }
        lbfgs.here.gradient.copy_from_slice(gradient);
        let (steps, changes) = (state.get("steps")?, state.get("changes")?);
        let restored = Curvature::restore(config.memory, width, steps, changes);
        lbfgs.curvature = restored.ok_or_else(|| damaged("steps"))?;
        Ok(lbfgs)
    }
}
