//! Adam, with decoupled weight decay where asked for (AdamW).
//!
//! ```text
//! m <- b1 m + (1 - b1) g        v <- b2 v + (1 - b2) g^2
//! p <- p - rate decay p - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
//! ```

use pulp::{Arch, Simd, WithSimd};

use super::{
    Optimizer, OptimizerError, State, Values, check_fraction, check_not_negative, check_positive, check_step,
};

/// Settings of [`Adam`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamConfig {
    /// About the length of each parameter's step.
    pub learning_rate: f64,
    /// How much of the mean gradient is kept (b1).
    pub beta1: f64,
    /// How much of the mean squared gradient is kept (b2).
    pub beta2: f64,
    /// Keeps the quotient finite.
    pub epsilon: f64,
    /// Pull towards zero, in proportion to the learning rate but not to the gradient; 0 for none.
    pub weight_decay: f64,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self { learning_rate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.0 }
    }
}

/// Adam, see the module.
#[derive(Clone, Debug)]
pub struct Adam {
    config: AdamConfig,
    steps: u64,
    /// m; empty before the first step.
    mean: Vec<f32>,
    /// v.
    square: Vec<f32>,
}

impl Adam {
    /// An optimizer that has seen no gradient.
    ///
    /// # Errors
    /// If the learning rate or epsilon is not positive, a beta is outside [0, 1), or the decay is
    /// negative.
    pub fn new(config: AdamConfig) -> Result<Self, OptimizerError> {
        check_positive("learning rate", config.learning_rate)?;
        check_positive("epsilon", config.epsilon)?;
        check_fraction("beta1", config.beta1)?;
        check_fraction("beta2", config.beta2)?;
        check_not_negative("weight decay", config.weight_decay)?;
        Ok(Self { config, steps: 0, mean: Vec::new(), square: Vec::new() })
    }
}

impl Optimizer for Adam {
    fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) -> Result<(), OptimizerError> {
        check_step(parameters, gradient, self.mean.len())?;
        self.mean.resize(parameters.len(), 0.0);
        self.square.resize(parameters.len(), 0.0);
        self.steps += 1;

        let AdamConfig { learning_rate, beta1, beta2, epsilon, weight_decay } = self.config;
        let t = self.steps as f64;
        let rate = (learning_rate / (1.0 - beta1.powf(t))) as f32;
        let root = (1.0 / (1.0 - beta2.powf(t)).sqrt()) as f32;
        let keep = (1.0 - learning_rate * weight_decay) as f32;
        let betas = [beta1 as f32, (1.0 - beta1) as f32, beta2 as f32, (1.0 - beta2) as f32];
        let (mean, square) = (&mut self.mean[..], &mut self.square[..]);
        let epsilon = epsilon as f32;
        Arch::new().dispatch(Move { parameters, gradient, mean, square, betas, rate, root, keep, epsilon });
        Ok(())
    }

    fn set_learning_rate(&mut self, learning_rate: f64) {
        self.config.learning_rate = learning_rate;
    }

    fn state(&self) -> State {
        State::default()
            .with("steps", Values::U64(vec![self.steps]))
            .with("mean", Values::F32(self.mean.clone()))
            .with("square", Values::F32(self.square.clone()))
    }

    fn restore(&mut self, state: &State) -> Result<(), OptimizerError> {
        let [steps] = state.counts("steps")?;
        let (mean, square) = (state.f32("mean")?, state.f32("square")?);
        if mean.len() != square.len() {
            return Err(OptimizerError::State { name: "square" });
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
    /// b1, 1 - b1, b2, 1 - b2.
    betas: [f32; 4],
    rate: f32,
    root: f32,
    keep: f32,
    epsilon: f32,
}

impl WithSimd for Move<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { parameters, gradient, mean, square, betas: [b1, c1, b2, c2], rate, root, keep, epsilon } =
            self;
        let moments = mean.iter_mut().zip(square);
        for ((p, g), (m, v)) in parameters.iter_mut().zip(gradient).zip(moments) {
            *m = b1 * *m + c1 * g;
            *v = b2 * *v + c2 * g * g;
            *p = keep * *p - rate * *m / (root * v.sqrt() + epsilon);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The formula of the module, in f64.
    fn by_hand(config: AdamConfig, gradients: &[f64]) -> Vec<f64> {
        let (mut p, mut m, mut v) = (1.0, 0.0, 0.0);
        let mut path = vec![];
        for (t, g) in gradients.iter().enumerate() {
            m = config.beta1 * m + (1.0 - config.beta1) * g;
            v = config.beta2 * v + (1.0 - config.beta2) * g * g;
            let m_hat = m / (1.0 - config.beta1.powi(t as i32 + 1));
            let v_hat = v / (1.0 - config.beta2.powi(t as i32 + 1));
            p -= config.learning_rate * config.weight_decay * p;
            p -= config.learning_rate * m_hat / (f64::sqrt(v_hat) + config.epsilon);
            path.push(p);
        }
        path
    }

    #[test]
    fn steps_follow_the_formula() {
        let gradients = [1.0, -2.0, 0.5, 0.0, 1e-3];
        for weight_decay in [0.0, 0.1] {
            let config = AdamConfig { learning_rate: 0.1, weight_decay, ..Default::default() };
            let mut adam = Adam::new(config).unwrap();
            let mut p = [1.0];
            for (g, expected) in gradients.iter().zip(by_hand(config, &gradients)) {
                adam.step(&mut p, &[*g as f32]).unwrap();
                assert!((f64::from(p[0]) - expected).abs() < 1e-6, "{} for {expected}", p[0]);
            }
        }
    }

    #[test]
    fn the_first_step_has_the_length_of_the_learning_rate() {
        for scale in [1e-3, 1.0, 1e3] {
            let mut adam = Adam::new(AdamConfig { learning_rate: 0.25, ..Default::default() }).unwrap();
            let mut p = [0.0];
            adam.step(&mut p, &[scale]).unwrap();
            assert!((p[0] + 0.25).abs() < 1e-5);
        }
    }
}
