//! From a gradient to the next parameters.
//!
//! [`Sgd`], [`Adagrad`] and [`Adam`] take one gradient at a time, full batch or mini-batch, and
//! share the trait [`Optimizer`]. [`Lbfgs`] asks for values and gradients itself, because its line
//! search has to. All of them minimise. Parameters are `f32`, whatever the model; the state of an
//! optimizer can be taken out as plain named vectors and put back, after which it continues as if
//! nothing had happened, to the last bit.

use thiserror::Error;

use crate::message::number;

mod adagrad;
mod adam;
mod lbfgs;
mod sgd;
mod state;

pub use adagrad::Adagrad;
pub use adam::Adam;
pub use lbfgs::{Iterate, Lbfgs, LbfgsConfig, Outcome, Stop};
pub use sgd::Sgd;
pub use state::State;
pub(crate) use state::damaged;

/// A rule that moves parameters against one gradient after another.
pub trait Optimizer {
    /// Takes one step. On an error the parameters and the state are as before.
    ///
    /// # Errors
    /// If a length differs from that of the first step, or the gradient is not finite.
    fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) -> Result<(), OptimizerError>;

    /// Changes the step size, to follow a schedule.
    fn set_learning_rate(&mut self, learning_rate: f64);

    /// Everything but the configuration that the next step depends on.
    fn state(&self) -> State;

    /// Goes on from a state taken from an optimizer of the same kind.
    ///
    /// # Errors
    /// If an entry is missing or of another type.
    fn restore(&mut self, state: &State) -> Result<(), OptimizerError>;
}

/// Why an optimizer refused a configuration, a step or a state.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum OptimizerError {
    /// A setting is out of its range.
    #[error("{name} {} is outside {range}", number(*value))]
    Setting {
        /// Which setting.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
    /// A vector has the wrong length.
    #[error("{what}: expected {expected} values, got {got}")]
    Length {
        /// Which vector.
        what: &'static str,
        /// Length needed.
        expected: usize,
        /// Length given.
        got: usize,
    },
    /// A gradient is NaN or infinite.
    #[error("gradient {value} of parameter {index} is not a finite number; a smaller learning rate may help")]
    Gradient {
        /// Position, from 0.
        index: usize,
        /// What was found.
        value: f32,
    },
    /// A saved state does not fit.
    #[error("saved state: {name} is missing or of another type or length")]
    State {
        /// Which entry.
        name: String,
    },
}

/// Checks one step's vectors; `held` is the length of the state, 0 before the first step.
fn check_step(parameters: &[f32], gradient: &[f32], held: usize) -> Result<(), OptimizerError> {
    let expected = if held == 0 { parameters.len() } else { held };
    for (what, got) in [("parameters", parameters.len()), ("gradient", gradient.len())] {
        if got != expected {
            return Err(OptimizerError::Length { what, expected, got });
        }
    }
    // Without an early exit first, so that it compiles to vectors.
    if gradient.iter().fold(true, |finite, slope| finite & slope.is_finite()) {
        return Ok(());
    }
    match gradient.iter().position(|slope| !slope.is_finite()) {
        Some(index) => Err(OptimizerError::Gradient { index, value: gradient[index] }),
        None => Ok(()),
    }
}

fn check_setting(
    name: &'static str,
    value: f64,
    allowed: bool,
    range: &'static str,
) -> Result<(), OptimizerError> {
    if allowed { Ok(()) } else { Err(OptimizerError::Setting { name, value, range }) }
}

fn check_positive(name: &'static str, value: f64) -> Result<(), OptimizerError> {
    check_setting(name, value, value > 0.0 && value.is_finite(), "(0, infinity)")
}

fn check_not_negative(name: &'static str, value: f64) -> Result<(), OptimizerError> {
    check_setting(name, value, value >= 0.0 && value.is_finite(), "[0, infinity)")
}

#[cfg(test)]
mod tests;
