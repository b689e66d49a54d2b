//! Adagrad: each parameter's step shrinks with the squares of the gradients it has seen.
//!
//! ```text
//! a <- a + g^2        p <- p - learning_rate g / sqrt(a + epsilon),        a starts at 0.1
//! ```
//!
//! Epsilon is inside the root and the sums start at 0.1, as in Keras, which the paper's reference
//! code uses. (PyTorch starts at 0 with epsilon outside.)

use super::{Optimizer, OptimizerError, State, check_positive, check_step};

/// What the sums of squares start from.
const START: f32 = 0.1;
/// Keeps the root away from zero.
const EPSILON: f32 = 1e-7;

/// Adagrad, see the module.
#[derive(Clone, Debug)]
pub struct Adagrad {
    learning_rate: f64,
    /// a; empty before the first step.
    accumulator: Vec<f32>,
}

impl Adagrad {
    /// An optimizer that has seen no gradient; its steps have this length while the sum of squares is 1.
    ///
    /// # Errors
    /// If the learning rate is not positive.
    pub fn new(learning_rate: f64) -> Result<Self, OptimizerError> {
        check_positive("learning rate", learning_rate)?;
        Ok(Self { learning_rate, accumulator: Vec::new() })
    }
}

impl Optimizer for Adagrad {
    fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) -> Result<(), OptimizerError> {
        check_step(parameters, gradient, self.accumulator.len())?;
        self.accumulator.resize(parameters.len(), START);
        let rate = self.learning_rate as f32;
        for ((p, g), a) in parameters.iter_mut().zip(gradient).zip(&mut self.accumulator) {
            *a += g * g;
            *p -= rate * g / (*a + EPSILON).sqrt();
        }
        Ok(())
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }

    fn state(&self) -> State {
        State::default().with("accumulator", self.accumulator.clone())
    }

    fn restore(&mut self, state: &State) -> Result<(), OptimizerError> {
        self.accumulator = state.get("accumulator")?.to_vec();
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
        let mut adagrad = Adagrad::new(0.1).unwrap();
        let mut p = [1.0];
        for (g, expected) in [(1.0, 0.904_653_7), (-2.0, 0.993_215_2), (0.5, 0.971_598_3_f32)] {
            adagrad.step(&mut p, &[g]).unwrap();
            assert!((p[0] - expected).abs() < 1e-6, "{} for {expected}", p[0]);
        }
    }
}
