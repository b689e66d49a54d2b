//! How far to go along a descent direction: the strong Wolfe conditions.
//!
//! With phi(a) the value after a step a, a step is good enough when
//!
//! ```text
//! phi(a) <= phi(0) + c1 a phi'(0)    (it went down)        |phi'(a)| <= c2 |phi'(0)|    (it went far enough)
//! ```
//!
//! Close to a minimum the first test drowns in rounding, since values agree to more digits than
//! they carry. There the slopes still tell, and the test of Hager and Zhang (2005) applies:
//! phi(a) within the noise of phi(0), and c2 phi'(0) <= phi'(a) <= (2 c - 1) phi'(0).
//!
//! The search is a state machine over numbers: it is told what a trial found and answers with the
//! next one. The vectors, and the evaluations, are the caller's.

/// c1: the part of the promised decrease that must be had.
const DECREASE: f64 = 1e-4;
/// c2: the part of the slope that may be left. Loose, so that most first trials pass.
const SLOPE_LEFT: f64 = 0.9;
/// c in the test within noise.
const DECREASE_IN_NOISE: f64 = 0.1;

/// What a trial step found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trial {
    pub step: f64,
    pub value: f64,
    /// phi', the gradient along the direction.
    pub slope: f64,
}

/// What to make of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// Take it.
    Accept,
    /// The best so far, keep it; try this step next.
    Better(f64),
    /// Forget it; try this step next.
    Worse(f64),
}

/// A search along one direction.
#[derive(Clone, Debug)]
pub(super) struct LineSearch {
    start: Trial,
    /// Values this close are equal for all we know.
    noise: f64,
    /// The best step so far; phi falls from here towards `far`.
    near: Trial,
    /// The other end of an interval that holds a good step, once there is one.
    far: Option<Trial>,
}

impl LineSearch {
    /// `slope` must be negative; `noise` is relative to `value`.
    pub(super) fn new(value: f64, slope: f64, noise: f64) -> Self {
        let start = Trial { step: 0.0, value, slope };
        Self { start, noise: noise * value.abs(), near: start, far: None }
    }

    /// True if a step was found that lowers the value, even if it is not good enough.
    pub(super) fn improved(&self) -> bool {
        self.near.step > 0.0 && self.near.value < self.start.value
    }

    pub(super) fn judge(&mut self, trial: Trial) -> Verdict {
        if !(trial.value.is_finite() && trial.slope.is_finite()) {
            // Beyond some edge of the objective's domain: nothing is known but that.
            self.far = Some(Trial { value: f64::INFINITY, ..trial });
            return Verdict::Worse(self.between());
        }
        if self.is_good(trial) {
            return Verdict::Accept;
        }
        let level = trial.value <= self.start.value + self.noise;
        let enough = trial.value <= self.start.value + DECREASE * trial.step * self.start.slope;
        let in_noise = level && trial.value >= self.start.value - self.noise;
        if !(enough || in_noise) || trial.value > self.near.value + self.noise {
            self.far = Some(trial);
            return Verdict::Worse(self.between());
        }
        let before = std::mem::replace(&mut self.near, trial);
        match self.far {
            None if trial.slope < 0.0 => Verdict::Better(beyond(before, trial)),
            None => {
                self.far = Some(before);
                Verdict::Better(self.between())
            }
            Some(far) => {
                if trial.slope * (far.step - trial.step) >= 0.0 {
                    self.far = Some(before);
                }
                Verdict::Better(self.between())
            }
        }
    }

    fn is_good(&self, trial: Trial) -> bool {
        let (value, slope) = (self.start.value, self.start.slope);
        let wolfe = trial.value <= value + DECREASE * trial.step * slope
            && trial.slope.abs() <= SLOPE_LEFT * slope.abs();
        let in_noise = trial.value <= value + self.noise
            && trial.slope >= SLOPE_LEFT * slope
            && trial.slope <= (2.0 * DECREASE_IN_NOISE - 1.0) * slope;
        wolfe || in_noise
    }

    /// The minimum of the cubic through both ends of the interval, away from the ends.
    fn between(&self) -> f64 {
        let Some(far) = self.far else { return self.near.step };
        let near = self.near;
        let width = far.step - near.step;
        if far.value.is_infinite() {
            return near.step + 0.2 * width;
        }
        let bend = near.slope + far.slope - 3.0 * (near.value - far.value) / (near.step - far.step);
        let root = (bend * bend - near.slope * far.slope).sqrt().copysign(width);
        let part = 1.0 - (far.slope + root - bend) / (far.slope - near.slope + 2.0 * root);
        near.step + width * if part.is_finite() { part.clamp(0.1, 0.9) } else { 0.5 }
    }
}

/// A longer step: where the slope would reach zero if it went on changing as it did.
fn beyond(before: Trial, trial: Trial) -> f64 {
    let secant = (trial.step - before.step) * trial.slope / (before.slope - trial.slope);
    let reach = if secant > 0.0 && secant.is_finite() { trial.step + secant } else { f64::INFINITY };
    reach.clamp(1.5 * trial.step, 10.0 * trial.step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search on phi, given with its slope; the accepted step and the evaluations it took.
    fn search(phi: impl Fn(f64) -> (f64, f64), first: f64, limit: usize) -> Option<(f64, usize)> {
        let (value, slope) = phi(0.0);
        let mut search = LineSearch::new(value, slope, 1e-10);
        let mut step = first;
        for count in 1..=limit {
            let (value, slope) = phi(step);
            match search.judge(Trial { step, value, slope }) {
                Verdict::Accept => return Some((step, count)),
                Verdict::Better(next) | Verdict::Worse(next) => step = next,
            }
        }
        None
    }

    fn parabola(a: f64) -> (f64, f64) {
        ((a - 1.0) * (a - 1.0), 2.0 * (a - 1.0))
    }

    #[test]
    fn a_good_first_step_is_taken_at_once() {
        assert_eq!(search(parabola, 1.0, 5), Some((1.0, 1)));
    }

    #[test]
    fn steps_far_too_long_or_too_short_are_mended_in_a_few_trials() {
        for first in [1e-3, 1e-2, 3.0, 10.0, 100.0, 1000.0] {
            let (step, count) = search(parabola, first, 9).unwrap();
            let (value, slope) = parabola(step);
            assert!(value <= 1.0 - 2.0 * DECREASE * step && slope.abs() <= 1.8, "{first}: {step}");
            assert!(count <= 5, "{first}: {count} evaluations");
        }
    }

    #[test]
    fn the_edge_of_the_domain_is_backed_away_from() {
        // -ln(1 - a) - 3 a, minimum at 2/3, undefined from 1 on.
        let barrier = |a: f64| (-(1.0 - a).ln() - 3.0 * a, 1.0 / (1.0 - a) - 3.0);
        let (step, _) = search(barrier, 8.0, 9).unwrap();
        assert!(step < 1.0);
    }

    #[test]
    fn a_bumpy_function_is_searched_to_the_conditions() {
        let bumpy = |a: f64| {
            let (sin, cos) = (20.0 * a).sin_cos();
            ((a - 2.0) * (a - 2.0) + 0.05 * sin, 2.0 * (a - 2.0) + cos)
        };
        for first in [0.01, 0.1, 1.0, 5.0, 20.0] {
            assert!(search(bumpy, first, 12).is_some(), "{first}");
        }
    }

    #[test]
    fn slopes_decide_where_values_are_equal_to_rounding() {
        // Values rounded to a multiple of the noise: no decrease can be seen.
        let flat = |a: f64| (1.0, 1e-14 * (a - 1.0));
        assert_eq!(search(flat, 1.0, 3), Some((1.0, 1)));
        assert!(search(flat, 0.01, 9).is_some());
    }
}
