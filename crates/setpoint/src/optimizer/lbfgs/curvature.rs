//! What the last steps tell about the curvature, standing in for the inverse Hessian H.
//!
//! Each step s changed the gradient by y, so H must map y to s. The two-loop recursion applies the
//! H that the BFGS updates of all remembered pairs make of a multiple of the identity, without
//! ever writing it down.

/// The remembered pairs (s, y), oldest first.
#[derive(Clone, Debug)]
pub(super) struct Curvature {
    memory: usize,
    pairs: Vec<Pair>,
}

#[derive(Clone, Debug)]
struct Pair {
    /// s.
    step: Vec<f64>,
    /// y.
    change: Vec<f64>,
    /// 1 / (s . y).
    inverse: f64,
}

impl Curvature {
    /// Nothing known yet; at most `memory` pairs later.
    pub(super) fn new(memory: usize) -> Self {
        Self { memory, pairs: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.pairs.clear();
    }

    /// Remembers a step, unless its curvature is not clearly positive: H would not stay positive
    /// definite, or be mostly rounding.
    pub(super) fn learn(&mut self, step: Vec<f64>, change: Vec<f64>) {
        let curvature = dot(&step, &change);
        if curvature > 1e-10 * norm(&step) * norm(&change) {
            if self.pairs.len() == self.memory {
                self.pairs.remove(0);
            }
            self.pairs.push(Pair { step, change, inverse: 1.0 / curvature });
        }
    }

    /// Sets `direction` to -H g; to -g while nothing is known.
    pub(super) fn descend(&self, gradient: &[f64], direction: &mut [f64]) {
        direction.copy_from_slice(gradient);
        let mut parts = vec![0.0; self.pairs.len()];
        for (pair, part) in self.pairs.iter().zip(&mut parts).rev() {
            *part = pair.inverse * dot(&pair.step, direction);
            add(direction, -*part, &pair.change);
        }
        if let Some(last) = self.pairs.last() {
            let scale = 1.0 / (last.inverse * dot(&last.change, &last.change));
            direction.iter_mut().for_each(|d| *d *= scale);
        }
        for (pair, part) in self.pairs.iter().zip(parts) {
            let correction = part - pair.inverse * dot(&pair.change, direction);
            add(direction, correction, &pair.step);
        }
        direction.iter_mut().for_each(|d| *d = -*d);
    }

    /// All steps, one after the other.
    pub(super) fn steps(&self) -> Vec<f64> {
        self.pairs.iter().flat_map(|pair| &pair.step).copied().collect()
    }

    /// All changes of the gradient, one after the other.
    pub(super) fn changes(&self) -> Vec<f64> {
        self.pairs.iter().flat_map(|pair| &pair.change).copied().collect()
    }

    /// From what [`Curvature::steps`] and [`Curvature::changes`] gave; `None` if lengths do not fit.
    pub(super) fn restore(memory: usize, width: usize, steps: &[f64], changes: &[f64]) -> Option<Self> {
        let fits = steps.len() == changes.len()
            && steps.len() <= memory.saturating_mul(width)
            && steps.len().is_multiple_of(width.max(1));
        let pair = |(step, change): (&[f64], &[f64])| Pair {
            step: step.to_vec(),
            change: change.to_vec(),
            inverse: 1.0 / dot(step, change),
        };
        let pairs = steps.chunks(width.max(1)).zip(changes.chunks(width.max(1)));
        fits.then(|| Self { memory, pairs: pairs.map(pair).collect() })
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// a += scale b
fn add(a: &mut [f64], scale: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += scale * b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_pairs_as_dimensions_give_the_newton_step_of_a_quadratic() {
        // Gradient A x with A = diag(1, 10); steps along conjugate directions (here the axes).
        let mut curvature = Curvature::new(5);
        curvature.learn(vec![1.0, 0.0], vec![1.0, 0.0]);
        curvature.learn(vec![0.0, 0.5], vec![0.0, 5.0]);
        let mut direction = [0.0; 2];
        curvature.descend(&[3.0, -20.0], &mut direction);
        assert!((direction[0] + 3.0).abs() < 1e-12 && (direction[1] - 2.0).abs() < 1e-12, "{direction:?}");
    }

    #[test]
    fn negative_and_vanishing_curvature_is_not_learnt() {
        let mut curvature = Curvature::new(5);
        curvature.learn(vec![1.0, 0.0], vec![-1.0, 0.0]);
        curvature.learn(vec![1.0, 0.0], vec![1e-12, 1.0]);
        assert!(curvature.is_empty());
    }

    #[test]
    fn the_oldest_pair_is_forgotten_first() {
        let mut curvature = Curvature::new(2);
        for size in [1.0, 2.0, 3.0] {
            curvature.learn(vec![size], vec![size]);
        }
        assert_eq!(curvature.steps(), [2.0, 3.0]);
    }
}
