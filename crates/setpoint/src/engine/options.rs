//! How an engine works, what a step finds, and why one fails.

use thiserror::Error;

use crate::implicit::{ImplicitError, ImplicitOptions};
use crate::problem::{ProblemError, ProblemOptions};
use crate::sample::SampleError;
use crate::surrogate::Surrogate;
use crate::threshold::ThresholdError;
use crate::threshold::smooth::SmoothOptions;
use crate::train::settings::choices;

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

choices! {
    /// How limits (`<=`, `>=`) are met.
    Inequality {
        /// The best thresholds within the limits
        ActiveSet,
        /// Slack variables, as in the paper
        Slack,
    }
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
