//! A smooth function of a few shifts, minimised: BFGS with the whole inverse Hessian in `f64`.

use crate::algebra::dot;

/// Moves `x` to a local minimum of a function that writes its gradient, or is `None` where it has no value.
///
/// Ends at a gradient whose entries are all below `tolerance`, where no step lowers the value, or after `most`
/// evaluations; returns the value. The function was last evaluated at `x`.
pub(super) fn minimise(
    x: &mut [f64],
    tolerance: f64,
    most: usize,
    mut evaluate: impl FnMut(&[f64], &mut [f64]) -> Option<f64>,
) -> Option<f64> {
    let n = x.len();
    let mut gradient = vec![0.0; n];
    let mut value = evaluate(x, &mut gradient)?;
    let mut inverse: Option<Vec<f64>> = None;
    let (mut trial, mut new) = (x.to_vec(), gradient.clone());
    let mut left = most;
    while left > 0 && gradient.iter().any(|g| g.abs() > tolerance) {
        let mut direction: Vec<f64> = match &inverse {
            Some(inverse) => inverse.chunks(n).map(|row| -dot(row, &gradient)).collect(),
            None => gradient.iter().map(|g| -g).collect(),
        };
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            inverse = None;
            direction = gradient.iter().map(|g| -g).collect();
            slope = -dot(&gradient, &gradient);
        }
        let mut step = 1.0;
        let found = loop {
            if left == 0 || step < 1e-12 {
                break None;
            }
            left -= 1;
            trial.iter_mut().zip(&*x).zip(&direction).for_each(|((t, x), d)| *t = x + step * d);
            match evaluate(&trial, &mut new) {
                Some(next) if next <= value + 1e-4 * step * slope => break Some(next),
                // The minimum of the parabola through what is known.
                Some(next) => step *= (-0.5 * slope * step / (next - value - slope * step)).clamp(0.1, 0.5),
                None => step *= 0.2,
            }
        };
        let Some(next) = found else { break };
        let s: Vec<f64> = trial.iter().zip(&*x).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = new.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let sy = dot(&s, &y);
        if sy > 1e-14 * dot(&y, &y).sqrt() * dot(&s, &s).sqrt() {
            let h = inverse.get_or_insert_with(|| {
                let scale = sy / dot(&y, &y);
                (0..n * n).map(|at| if at % (n + 1) == 0 { scale } else { 0.0 }).collect()
            });
            let hy: Vec<f64> = h.chunks(n).map(|row| dot(row, &y)).collect();
            let factor = (1.0 + dot(&y, &hy) / sy) / sy;
            for i in 0..n {
                for j in 0..n {
                    h[i * n + j] += factor * s[i] * s[j] - (hy[i] * s[j] + s[i] * hy[j]) / sy;
                }
            }
        }
        x.copy_from_slice(&trial);
        gradient.copy_from_slice(&new);
        value = next;
    }
    evaluate(x, &mut new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        // Rosenbrock's function.
        let mut x = [-1.2, 1.0];
        let value = minimise(&mut x, 1e-9, 500, |x, g| {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            g.copy_from_slice(&[-2.0 * a - 400.0 * x[0] * b, 200.0 * b]);
            Some(a * a + 100.0 * b * b)
        });
        assert!(value.unwrap() < 1e-16 && (x[0] - 1.0).abs() < 1e-8, "{x:?}");
    }
}
