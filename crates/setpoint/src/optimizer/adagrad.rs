//! Adagrad: each parameter's step shrinks with the squares of the gradients it has seen.
//!
//! ```text
//! a <- a + g^2        p <- p - learning_rate g / sqrt(a + epsilon),        a starts at 0.1
//! ```
//!
//! Epsilon is inside the root and the sums start at 0.1, as in Keras, which the paper's reference
//! code uses. (PyTorch starts at 0 with epsilon outside.)

use super::{Optimizer, OptimizerError, State, Values, check_not_negative, check_positive, check_step};

/// Settings of [`Adagrad`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdagradConfig {
    /// Step length while the sum of squares is 1.
    pub learning_rate: f64,
    /// What the sums of squares start from.
    pub initial_accumulator: f64,
    /// Keeps the root away from zero.
    pub epsilon: f64,
}

impl Default for AdagradConfig {
    fn default() -> Self {
        Self { learning_rate: 0.01, initial_accumulator: 0.1, epsilon: 1e-7 }
    }
}

/// Adagrad, see the module.
#[derive(Clone, Debug)]
pub struct Adagrad {
    config: AdagradConfig,
    /// a; empty before the first step.
    accumulator: Vec<f32>,
}

impl Adagrad {
    /// An optimizer that has seen no gradient.
    ///
    /// # Errors
    /// If the learning rate or epsilon is not positive, or the initial sum is negative.
    pub fn new(config: AdagradConfig) -> Result<Self, OptimizerError> {
        check_positive("learning rate", config.learning_rate)?;
        check_positive("epsilon", config.epsilon)?;
        check_not_negative("initial accumulator", config.initial_accumulator)?;
        Ok(Self { config, accumulator: Vec::new() })
    }
}

impl Optimizer for Adagrad {
    fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) -> Result<(), OptimizerError> {
        check_step(parameters, gradient, self.accumulator.len())?;
        self.accumulator.resize(parameters.len(), self.config.initial_accumulator as f32);
        let (rate, epsilon) = (self.config.learning_rate as f32, self.config.epsilon as f32);
        for ((p, g), a) in parameters.iter_mut().zip(gradient).zip(&mut self.accumulator) {
            *a += g * g;
            *p -= rate * g / (*a + epsilon).sqrt();
        }
        Ok(())
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.config.learning_rate = learning_rate;
    }

    fn state(&self) -> State {
        State::default().with("accumulator", Values::F32(self.accumulator.clone()))
    }

    fn restore(&mut self, state: &State) -> Result<(), OptimizerError> {
        self.accumulator = state.f32("accumulator")?.to_vec();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_the_keras_formula() {
        // By hand, g = 1, -2, 0.5 at rate 0.1: a = 1.1, 5.1, 5.35;
        // p = 1 - 0.1/sqrt(1.1) = 0.9046537, + 0.2/sqrt(5.1) = 0.9932152, - 0.05/sqrt(5.35) = 0.9715983.
        let mut adagrad = Adagrad::new(AdagradConfig { learning_rate: 0.1, ..Default::default() }).unwrap();
        let mut p = [1.0];
        for (g, expected) in [(1.0, 0.904_653_7), (-2.0, 0.993_215_2), (0.5, 0.971_598_3_f32)] {
            adagrad.step(&mut p, &[g]).unwrap();
            assert!((p[0] - expected).abs() < 1e-6, "{} for {expected}", p[0]);
        }
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let config = AdagradConfig { initial_accumulator: -1.0, ..Default::default() };
        let error = Adagrad::new(config).unwrap_err();
        assert_eq!(error.to_string(), "initial accumulator -1 is outside [0, infinity)");
    }
}
