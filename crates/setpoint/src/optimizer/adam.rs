//! Adam.
//!
//! ```text
//! m <- b1 m + (1 - b1) g        v <- b2 v + (1 - b2) g^2
//! p <- p - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
//! ```

use pulp::{Arch, Simd, WithSimd};

use super::{Optimizer, OptimizerError, State, check_positive, check_step, damaged};

/// How much of the mean gradient is kept.
const B1: f64 = 0.9;
/// How much of the mean squared gradient is kept.
const B2: f64 = 0.999;
/// Keeps the quotient finite.
const EPSILON: f32 = 1e-8;

/// Adam, see the module.
#[derive(Clone, Debug)]
pub struct Adam {
    learning_rate: f64,
    steps: u64,
    /// m; empty before the first step.
    mean: Vec<f32>,
    /// v.
    square: Vec<f32>,
}

impl Adam {
    /// An optimizer that has seen no gradient; each parameter's step has about this length.
    ///
    /// # Errors
    /// If the learning rate is not positive.
    pub fn new(learning_rate: f64) -> Result<Self, OptimizerError> {
        check_positive("learning rate", learning_rate)?;
        Ok(Self { learning_rate, steps: 0, mean: Vec::new(), square: Vec::new() })
    }
}

impl Optimizer for Adam {
    fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) -> Result<(), OptimizerError> {
        check_step(parameters, gradient, self.mean.len())?;
        self.mean.resize(parameters.len(), 0.0);
        self.square.resize(parameters.len(), 0.0);
        self.steps += 1;

        let t = self.steps as f64;
        let rate = (self.learning_rate / (1.0 - B1.powf(t))) as f32;
        let root = (1.0 / (1.0 - B2.powf(t)).sqrt()) as f32;
        let (mean, square) = (&mut self.mean[..], &mut self.square[..]);
        Arch::new().dispatch(Move { parameters, gradient, mean, square, rate, root });
        Ok(())
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.learning_rate = learning_rate;
    }

    fn state(&self) -> State {
        State::default()
            .with("steps", vec![self.steps])
            .with("mean", self.mean.clone())
            .with("square", self.square.clone())
    }

    fn restore(&mut self, state: &State) -> Result<(), OptimizerError> {
        let [steps] = state.array("steps")?;
        let (mean, square) = (state.get("mean")?, state.get("square")?);
        if mean.len() != square.len() {
            return Err(damaged("square"));
        }
        (self.steps, self.mean, self.square) = (steps, mean.to_vec(), square.to_vec());
        Ok(())
    }
}

/// The loop of a step, compiled for the vectors of the processor.
struct Move<'a> {
    parameters: &'a mut [f32],
    gradient: &'a [f32],
    mean: &'a mut [f32],
    square: &'a mut [f32],
    rate: f32,
    root: f32,
}

impl WithSimd for Move<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { parameters, gradient, mean, square, rate, root } = self;
        let [b1, c1, b2, c2] = [B1, 1.0 - B1, B2, 1.0 - B2].map(|b| b as f32);
        let moments = mean.iter_mut().zip(square);
        for ((p, g), (m, v)) in parameters.iter_mut().zip(gradient).zip(moments) {
            *m = b1 * *m + c1 * g;
            *v = b2 * *v + c2 * g * g;
            *p -= rate * *m / (root * v.sqrt() + EPSILON);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula of the module, in f64.
    fn by_hand(rate: f64, gradients: &[f64]) -> Vec<f64> {
        let (mut p, mut m, mut v) = (1.0, 0.0, 0.0);
        let mut path = vec![];
        for (t, g) in gradients.iter().enumerate() {
            m = B1 * m + (1.0 - B1) * g;
            v = B2 * v + (1.0 - B2) * g * g;
            let m_hat = m / (1.0 - B1.powi(t as i32 + 1));
            let v_hat = v / (1.0 - B2.powi(t as i32 + 1));
            p -= rate * m_hat / (f64::sqrt(v_hat) + f64::from(EPSILON));
            path.push(p);
        }
        path
    }

    #[test]
    fn steps_follow_the_formula() {
        let gradients = [1.0, -2.0, 0.5, 0.0, 1e-3];
        let mut adam = Adam::new(0.1).unwrap();
        let mut p = [1.0];
        for (g, expected) in gradients.iter().zip(by_hand(0.1, &gradients)) {
            adam.step(&mut p, &[*g as f32]).unwrap();
            assert!((f64::from(p[0]) - expected).abs() < 1e-6, "{} for {expected}", p[0]);
        }
    }

    #[test]
    fn the_first_step_has_the_length_of_the_learning_rate() {
        for scale in [1e-3, 1.0, 1e3] {
            let mut adam = Adam::new(0.25).unwrap();
            let mut p = [0.0];
            adam.step(&mut p, &[scale]).unwrap();
            assert!((p[0] + 0.25).abs() < 1e-5);
        }
    }
}
