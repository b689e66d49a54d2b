//! Gradient descent: p <- p - learning_rate g.

use super::{Optimizer, OptimizerError, State, check_positive, check_step};

/// Gradient descent.
#[derive(Clone, Debug)]
pub struct Sgd {
    learning_rate: f64,
}

impl Sgd {
    /// Steps of this length per unit of gradient.
    ///
    /// # Errors
    /// If the learning rate is not positive.
    pub fn new(learning_rate: f64) -> Result<Self, OptimizerError> {
        check_positive("learning rate", learning_rate)?;
        Ok(Self { learning_rate })
    }
}

impl Optimizer for Sgd {
    fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) -> Result<(), OptimizerError> {
        check_step(parameters, gradient, 0)?;
        let rate = self.learning_rate as f32;
        parameters.iter_mut().zip(gradient).for_each(|(p, g)| *p -= rate * g);
        Ok(())
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }

    fn state(&self) -> State {
        State::default()
    }

    fn restore(&mut self, _: &State) -> Result<(), OptimizerError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_the_scaled_gradient() {
        let mut sgd = Sgd::new(0.5).unwrap();
        let mut p = [1.0, -2.0];
        sgd.step(&mut p, &[2.0, 4.0]).unwrap();
        assert_eq!(p, [0.0, -4.0]);
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        assert!(Sgd::new(f64::NAN).is_err());
        let error = Sgd::new(-1.0).unwrap_err();
        assert_eq!(error.to_string(), "learning rate -1 is outside (0, infinity)");
    }
}
