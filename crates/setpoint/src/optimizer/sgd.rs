//! Stochastic gradient descent, with or without momentum.
//!
//! ```text
//! m <- momentum m + g        p <- p - learning_rate m          (as PyTorch has it)
//! ```

use super::{Optimizer, OptimizerError, State, Values, check_fraction, check_positive, check_step};

/// Settings of [`Sgd`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SgdConfig {
    /// Step length per unit of gradient.
    pub learning_rate: f64,
    /// Part of the last step's direction that is kept; 0 for none.
    pub momentum: f64,
}

impl Default for SgdConfig {
    fn default() -> Self {
        Self { learning_rate: 0.01, momentum: 0.0 }
    }
}

/// Gradient descent, see the module.
#[derive(Clone, Debug)]
pub struct Sgd {
    config: SgdConfig,
    /// m; empty before the first step and without momentum.
    velocity: Vec<f32>,
}

impl Sgd {
    /// An optimizer at rest.
    ///
    /// # Errors
    /// If the learning rate is not positive or the momentum is outside [0, 1).
    pub fn new(config: SgdConfig) -> Result<Self, OptimizerError> {
        check_positive("learning rate", config.learning_rate)?;
        check_fraction("momentum", config.momentum)?;
        Ok(Self { config, velocity: Vec::new() })
    }
}

impl Optimizer for Sgd {
    fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) -> Result<(), OptimizerError> {
        check_step(parameters, gradient, self.velocity.len())?;
        let (rate, momentum) = (self.config.learning_rate as f32, self.config.momentum as f32);
        if momentum == 0.0 {
            for (p, g) in parameters.iter_mut().zip(gradient) {
                *p -= rate * g;
            }
            return Ok(());
        }
        self.velocity.resize(parameters.len(), 0.0);
        for ((p, g), m) in parameters.iter_mut().zip(gradient).zip(&mut self.velocity) {
            *m = momentum * *m + g;
            *p -= rate * *m;
        }
        Ok(())
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.config.learning_rate = learning_rate;
    }

    fn state(&self) -> State {
        State::default().with("velocity", Values::F32(self.velocity.clone()))
    }

    fn restore(&mut self, state: &State) -> Result<(), OptimizerError> {
        self.velocity = state.f32("velocity")?.to_vec();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn momentum_accumulates_as_in_pytorch() {
        // torch.optim.SGD(lr=0.1, momentum=0.9): m = 1, 0.9 + 1, 0.9 * 1.9 - 2
        let mut sgd = Sgd::new(SgdConfig { learning_rate: 0.1, momentum: 0.9 }).unwrap();
        let mut p = [1.0];
        let mut expected: f64 = 1.0;
        for (g, m) in [(1.0, 1.0), (1.0, 1.9), (-2.0, -0.29)] {
            sgd.step(&mut p, &[g]).unwrap();
            expected -= 0.1 * m;
            assert!((f64::from(p[0]) - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn without_momentum_a_step_is_the_scaled_gradient() {
        let mut sgd = Sgd::new(SgdConfig { learning_rate: 0.5, momentum: 0.0 }).unwrap();
        let mut p = [1.0, -2.0];
        sgd.step(&mut p, &[2.0, 4.0]).unwrap();
        assert_eq!(p, [0.0, -4.0]);
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let error = Sgd::new(SgdConfig { learning_rate: 0.1, momentum: 1.0 }).unwrap_err();
        assert_eq!(error.to_string(), "momentum 1 is outside [0, 1)");
        assert!(Sgd::new(SgdConfig { learning_rate: f64::NAN, momentum: 0.0 }).is_err());
    }
}
