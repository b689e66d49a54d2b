//! Thresholds at which the *surrogate* rates meet the goal's conditions.
//!
//! The implicit gradient is exact only at such thresholds. Two cases:
//!
//! - *Independent*: condition k ties threshold k alone and moves one way with
//!   it (a rate at a rate, an area, a limit per group). Each threshold is the
//!   root of a monotone function: Newton steps on the logit of the rate, kept
//!   inside a bracket that every evaluation narrows. All thresholds share each
//!   pass over the scores.
//! - *Coupled*: the best loss within the feasible set. Sequential quadratic
//!   programming with the exact second derivatives; the quadratic programs find
//!   the active constraints.

use super::ThresholdError;
use super::quadratic::{self, Minimum, Row};
use crate::algebra::{cholesky, dot};
use crate::count::{Cell, Count};
use crate::problem::{Combination, Monotone, Problem, Sense};

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub struct SmoothOptions {
    /// Largest error of a rate, relative to the distance of its target from 0 and 1.
    pub tolerance: f64,
    /// Rounding error of a rate, relative to it: no solver can ask for more.
    pub noise: f64,
    /// Most passes over the scores.
    pub passes: usize,
}

impl Default for SmoothOptions {
    fn default() -> Self {
        Self { tolerance: 1e-6, noise: 3e-7, passes: 60 }
    }
}

/// Thresholds that meet the smooth conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct SmoothThresholds {
    /// One per threshold of the problem.
    pub thresholds: Vec<f64>,
    /// Which conditions hold with equality.
    pub active: Vec<bool>,
    /// Passes over the scores.
    pub passes: usize,
}

/// A Newton step is at most this many bandwidths (1 / sharpness) long at first.
const STRIDE: f64 = 4.0;

/// What to solve, beside the goal itself.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The sharpness k of the counts, for the length of steps.
    pub sharpness: f64,
    /// Where to start.
    pub start: &'a [f64],
    /// Which thresholds stay where they start: free parameters of the model.
    pub free: &'a [bool],
    /// With slack variables, every condition is the equality g_k + slack_k = 0
    /// (the paper's route to inequalities).
    pub slack: Option<&'a [f64]>,
}

/// Solves the smooth thresholds; on return `cells` holds the counts there.
///
/// # Errors
/// If the conditions cannot be met, or the search does not settle.
pub fn solve(
    problem: &Problem,
    source: impl Count,
    request: Request<'_>,
    options: &SmoothOptions,
    cells: &mut [Cell],
) -> Result<SmoothThresholds, ThresholdError> {
    let conditions = problem.conditions().len();
    let Request { sharpness, start, free, slack } = request;
    let thresholds = free.iter().filter(|free| !**free).count();
    if slack.is_some() && conditions > thresholds {
        return Err(ThresholdError::TooManySlacks { conditions, thresholds });
    }
    let search = Search {
        problem,
        source,
        sharpness,
        free,
        slack,
        options: *options,
        cells,
        grid: vec![0.0; problem.shape().grid()],
        passes: 0,
    };
    let found = if independent(problem, free) { search.independent(start) } else { search.coupled(start) }?;
    // Scores so far apart that no step between them is a number.
    if found.thresholds.iter().any(|threshold| !threshold.is_finite()) {
        return Err(ThresholdError::NotSettled { passes: found.passes, residual: f64::INFINITY });
    }
    Ok(found)
}

/// Whether each condition ties one threshold alone and moves one way with it.
fn independent(problem: &Problem, free: &[bool]) -> bool {
    problem.diagonal()
        && !free.contains(&true)
        && (0..problem.conditions().len()).all(|k| problem.monotone(k).is_some())
}

/// Thresholds a Newton step on from the counts at them, where that can be done for each alone: a start for the
/// next solve.
#[must_use]
pub fn follow(problem: &Problem, cells: &mut [Cell], request: Request<'_>) -> Vec<f64> {
    let Request { sharpness, start, free, .. } = request;
    if !independent(problem, free) {
        return start.to_vec();
    }
    let search = Search::looking(problem, cells, request);
    let longest = STRIDE / sharpness;
    let step = |(k, threshold): (usize, &f64)| {
        let RootStep { newton, rise, .. } = search.root_step(k);
        let sound = newton.is_finite() && (newton > 0.0) == rise;
        threshold + if sound { newton.clamp(-longest, longest) } else { 0.0 }
    };
    start.iter().enumerate().map(step).collect()
}

/// Which conditions pull at thresholds that were not solved on the surrogate (exact, held or tracked).
///
/// Those that the best step from here would meet with equality. `cells` are the counts at the
/// thresholds, with curvatures.
#[must_use]
pub fn active_conditions(problem: &Problem, cells: &mut [Cell], request: Request<'_>) -> Vec<bool> {
    let conditions = problem.conditions().len();
    let search = Search::looking(problem, cells, request);
    match search.minimise(&search.model(), &vec![0.0; conditions]) {
        Some(minimum) => search.active(&minimum.multipliers[..conditions]),
        // Conditions that contradict each other to first order: only the equalities can be trusted.
        None => (0..conditions).map(|k| search.is_equality(k)).collect(),
    }
}

/// A source for a search that only looks at counts it already has.
struct NoCounts;

impl Count for NoCounts {
    fn count(&mut self, _: &[f64], _: &mut [Cell]) -> Result<(), crate::sample::SampleError> {
        Ok(())
    }
}

struct Search<'a, C: Count> {
    problem: &'a Problem,
    source: C,
    sharpness: f64,
    free: &'a [bool],
    slack: Option<&'a [f64]>,
    options: SmoothOptions,
    cells: &'a mut [Cell],
    grid: Vec<f64>,
    passes: usize,
}

impl<'a> Search<'a, NoCounts> {
    /// A look at counts that are there.
    fn looking(problem: &'a Problem, cells: &'a mut [Cell], request: Request<'a>) -> Self {
        let Request { sharpness, free, slack, .. } = request;
        let options = SmoothOptions::default();
        let (grid, passes) = (Vec::new(), 0);
        Self { problem, source: NoCounts, sharpness, free, slack, options, cells, grid, passes }
    }
}

impl<C: Count> Search<'_, C> {
    fn count(&mut self, thresholds: &[f64]) -> Result<(), ThresholdError> {
        self.problem.fill_grid(thresholds, &mut self.grid);
        self.passes += 1;
        Ok(self.source.count(&self.grid, self.cells)?)
    }

    /// g_k, shifted by its slack.
    fn constraint(&self, k: usize) -> f64 {
        let slack = self.slack.map_or(0.0, |slack| slack[k]);
        self.problem.conditions()[k].expression.value(self.cells) + slack
    }

    /// dh/dt of a combination.
    fn slopes(&self, expression: &Combination) -> Vec<f64> {
        let mut slopes = vec![0.0; self.problem.thresholds()];
        expression.visit_partials(self.cells, |cell, positive, negative| {
            let count = &self.cells[cell];
            slopes[self.problem.threshold_of(cell)] -=
                positive * count.positive_slope + negative * count.negative_slope;
        });
        slopes
    }

    fn independent(mut self, start: &[f64]) -> Result<SmoothThresholds, ThresholdError> {
        let count = start.len();
        let mut thresholds = start.to_vec();
        let mut brackets = vec![(f64::NEG_INFINITY, f64::INFINITY); count];
        let mut strides = vec![STRIDE / self.sharpness; count];
        loop {
            self.count(&thresholds)?;
            let mut worst = 0.0f64;
            for k in 0..count {
                let step = self.root_step(k);
                worst = worst.max(step.error);
                if step.error <= self.options.tolerance {
                    continue;
                }
                let (low, high) = &mut brackets[k];
                let t = thresholds[k];
                *(if step.rise { &mut *low } else { &mut *high }) = t;
                // A plain Newton step can point the wrong way only where the slope is lost to rounding.
                let stride = if step.newton.is_finite() && (step.newton > 0.0) == step.rise {
                    step.newton.abs().min(strides[k])
                } else {
                    strides[k]
                };
                strides[k] *= 2.0;
                let next = if step.rise { t + stride } else { t - stride };
                thresholds[k] = if next > *low && next < *high { next } else { 0.5 * (*low + *high) };
            }
            if worst <= self.options.tolerance {
                return Ok(SmoothThresholds { thresholds, active: vec![true; count], passes: self.passes });
            }
            if self.passes >= self.options.passes {
                return self.give_up(worst);
            }
        }
    }

    /// Where condition k stands, and the Newton step towards its root.
    fn root_step(&self, k: usize) -> RootStep {
        let expression = &self.problem.conditions()[k].expression;
        let gap = self.constraint(k);
        // g = ±(rate - target), up to the sign.
        let signed_target = -expression.constant - self.slack.map_or(0.0, |slack| slack[k]);
        let sign = signed_target.signum();
        let (rate, target) = (sign * (gap + signed_target), sign * signed_target);
        let rate_slope = sign * self.slopes(expression)[k];
        // In the tails a rate is close to exponential in the threshold: step on its logit or logarithm.
        let logit = |x: f64| (x / (1.0 - x)).ln();
        let newton = if rate > 0.0 && rate < 1.0 && target > 0.0 && target < 1.0 {
            (logit(target) - logit(rate)) * rate * (1.0 - rate) / rate_slope
        } else if rate > 0.0 && target > 0.0 {
            (target / rate).ln() * rate / rate_slope
        } else {
            (target - rate) / rate_slope
        };
        let room = if target < 1.0 { target.min(1.0 - target) } else { target };
        RootStep {
            error: (gap.abs() - self.options.noise * rate.abs()).max(0.0) / room.max(f64::MIN_POSITIVE),
            newton,
            rise: (gap > 0.0) == (self.problem.monotone(k) == Some(Monotone::Falling)),
        }
    }

    fn coupled(mut self, start: &[f64]) -> Result<SmoothThresholds, ThresholdError> {
        let problem = self.problem;
        let (count, conditions) = (start.len(), problem.conditions());
        let mut thresholds = start.to_vec();
        let mut multipliers = vec![0.0; conditions.len()];
        let mut penalty = 1.0f64;
        self.count(&thresholds)?;
        loop {
            let model = self.model();
            let Model { gaps, slopes, loss_slope } = &model;
            let Some(minimum) = self.minimise(&model, &multipliers) else {
                // The linear conditions contradict each other here: move towards meeting them.
                let Some(next) = self.restore(&thresholds, gaps, slopes)? else {
                    return self.give_up(f64::INFINITY);
                };
                thresholds = next;
                continue;
            };
            multipliers.copy_from_slice(&minimum.multipliers[..conditions.len()]);
            let mut direction = minimum.x;
            direction.iter_mut().zip(self.free).filter(|(_, free)| **free).for_each(|(d, _)| *d = 0.0);
            let stationarity = (0..count)
                .filter(|j| !self.free[*j])
                .map(|j| {
                    loss_slope[j] + (0..conditions.len()).map(|k| multipliers[k] * slopes[k][j]).sum::<f64>()
                })
                .fold(0.0f64, |worst, s| worst.max(s.abs() / self.sharpness));
            let residual = stationarity.max(self.violation(gaps).1);
            // Slopes are sums of both signs: rounding shows in them a few times more than in the rates.
            if residual <= (self.options.tolerance * 1e-2).max(10.0 * self.options.noise) {
                let active = self.active(&multipliers);
                return Ok(SmoothThresholds { thresholds, active, passes: self.passes });
            }
            let longest = direction.iter().fold(0.0f64, |m, d| m.max(d.abs()));
            let limit = STRIDE / self.sharpness;
            if longest > limit {
                direction.iter_mut().for_each(|d| *d *= limit / longest);
            }
            penalty = penalty.max(2.0 * multipliers.iter().fold(0.0f64, |m, u| m.max(u.abs())));
            let missed = penalty * self.violation(gaps).2;
            let merit = problem.loss().value(self.cells) + missed;
            let promised = dot(loss_slope, &direction).min(0.0) - missed;
            let next = if self.passes < self.options.passes {
                self.line_search(&thresholds, &direction, merit, promised, penalty)?
            } else {
                None
            };
            match next {
                Some(next) => thresholds = next,
                None if residual <= self.options.tolerance * 1e3 => {
                    // Close, and rounding in the counts hides any further progress.
                    self.count(&thresholds)?;
                    let active = self.active(&multipliers);
                    return Ok(SmoothThresholds { thresholds, active, passes: self.passes });
                }
                None => return self.give_up(residual),
            }
        }
    }

    /// g, dg/dt and df/dt at the current counts.
    fn model(&self) -> Model {
        let conditions = self.problem.conditions();
        Model {
            gaps: (0..conditions.len()).map(|k| self.constraint(k)).collect(),
            slopes: conditions.iter().map(|condition| self.slopes(&condition.expression)).collect(),
            loss_slope: self.slopes(self.problem.loss()),
        }
    }

    /// The best step under the linearised conditions; `None` where they contradict each other.
    fn minimise(&self, model: &Model, multipliers: &[f64]) -> Option<Minimum> {
        let count = self.problem.thresholds();
        let conditions = (0..model.gaps.len()).map(|k| Row {
            normal: model.slopes[k].iter().map(|s| -s).collect(),
            bound: model.gaps[k],
            equality: self.is_equality(k),
        });
        // A free threshold does not move.
        let held = (0..count).filter(|j| self.free[*j]).map(|j| Row {
            normal: (0..count).map(|l| f64::from(u8::from(j == l))).collect(),
            bound: 0.0,
            equality: true,
        });
        let rows: Vec<Row> = conditions.chain(held).collect();
        quadratic::minimise(&self.hessian(multipliers, &model.slopes), &model.loss_slope, &rows)
    }

    /// Which conditions hold with equality, by their multipliers.
    fn active(&self, multipliers: &[f64]) -> Vec<bool> {
        multipliers.iter().enumerate().map(|(k, u)| self.is_equality(k) || *u > 1e-12).collect()
    }

    /// Halves the step until the merit falls; leaves the counts there. `None` where it does not.
    fn line_search(
        &mut self,
        from: &[f64],
        direction: &[f64],
        merit: f64,
        promised: f64,
        penalty: f64,
    ) -> Result<Option<Vec<f64>>, ThresholdError> {
        let mut scale = 1.0;
        while scale > 1e-3 {
            let next: Vec<f64> = from.iter().zip(direction).map(|(t, d)| t + scale * d).collect();
            self.count(&next)?;
            let gaps: Vec<f64> = (0..self.problem.conditions().len()).map(|k| self.constraint(k)).collect();
            let value = self.problem.loss().value(self.cells) + penalty * self.violation(&gaps).2;
            if value <= merit + 1e-4 * scale * promised + 1e-14 * merit.abs() {
                return Ok(Some(next));
            }
            scale *= 0.5;
        }
        Ok(None)
    }

    /// A step that lowers the violation, or `None` where none does.
    fn restore(
        &mut self,
        from: &[f64],
        gaps: &[f64],
        slopes: &[Vec<f64>],
    ) -> Result<Option<Vec<f64>>, ThresholdError> {
        let mut direction = vec![0.0; from.len()];
        for (k, gap) in gaps.iter().enumerate() {
            let missed = if self.is_equality(k) { *gap } else { gap.max(0.0) };
            direction.iter_mut().zip(&slopes[k]).for_each(|(d, s)| *d -= missed * s);
        }
        let longest = direction.iter().fold(0.0f64, |m, d| m.max(d.abs()));
        if longest == 0.0 || self.passes >= self.options.passes {
            return Ok(None);
        }
        let limit = STRIDE / self.sharpness;
        direction.iter_mut().for_each(|d| *d *= limit / longest);
        let before = self.violation(gaps).2;
        let mut scale = 1.0;
        while scale > 1e-6 {
            let next: Vec<f64> = from.iter().zip(&direction).map(|(t, d)| t + scale * d).collect();
            self.count(&next)?;
            let gaps: Vec<f64> = (0..gaps.len()).map(|k| self.constraint(k)).collect();
            if self.violation(&gaps).2 < before * (1.0 - 1e-4 * scale) {
                return Ok(Some(next));
            }
            scale *= 0.5;
        }
        Ok(None)
    }

    fn is_equality(&self, k: usize) -> bool {
        self.slack.is_some() || self.problem.conditions()[k].sense == Sense::Equal
    }

    /// The condition missed by most, by how much, and the sum over all.
    fn violation(&self, gaps: &[f64]) -> (usize, f64, f64) {
        gaps.iter().enumerate().fold((0, 0.0, 0.0), |(worst, most, sum), (k, gap)| {
            let missed = if self.is_equality(k) { gap.abs() } else { gap.max(0.0) };
            if missed > most { (k, missed, sum + missed) } else { (worst, most, sum + missed) }
        })
    }

    /// Cholesky factor of the Lagrangian's second derivatives, made positive definite.
    ///
    /// Along the active constraints' normals it may be stiffened at will without
    /// moving the solution; only if that does not help is a multiple of the
    /// identity added, which slows the last steps down but cannot mislead them.
    fn hessian(&self, multipliers: &[f64], slopes: &[Vec<f64>]) -> Vec<f64> {
        let count = self.problem.thresholds();
        let mut hessian = vec![0.0; count * count];
        self.problem.loss().add_threshold_hessian(self.problem, self.cells, 1.0, &mut hessian);
        for (condition, multiplier) in self.problem.conditions().iter().zip(multipliers) {
            condition.expression.add_threshold_hessian(self.problem, self.cells, *multiplier, &mut hessian);
        }
        let scale = self.sharpness * self.sharpness;
        for (k, multiplier) in multipliers.iter().enumerate() {
            if *multiplier != 0.0 || self.is_equality(k) {
                let size = dot(&slopes[k], &slopes[k]).max(f64::MIN_POSITIVE);
                for j in 0..count {
                    for l in 0..count {
                        hessian[j * count + l] += scale * slopes[k][j] * slopes[k][l] / size;
                    }
                }
            }
        }
        let mut shift = 0.0;
        loop {
            if let Some(factor) = cholesky(&hessian, count) {
                return factor;
            }
            let next = if shift == 0.0 { 1e-6 * scale } else { 4.0 * shift };
            // Counts that are no numbers have no curvature, and nothing makes it one: the search will not settle.
            if !next.is_finite() || hessian.iter().any(|value| !value.is_finite()) {
                let one = |at: usize| if at.is_multiple_of(count + 1) { self.sharpness } else { 0.0 };
                return (0..count * count).map(one).collect();
            }
            for j in 0..count {
                hessian[j * count + j] += next - shift;
            }
            shift = next;
        }
    }

    fn give_up(&self, residual: f64) -> Result<SmoothThresholds, ThresholdError> {
        let gaps: Vec<f64> = (0..self.problem.conditions().len()).map(|k| self.constraint(k)).collect();
        let (worst, violation, _) = self.violation(&gaps);
        if violation > 1e-3 {
            let condition = self.problem.conditions()[worst].source;
            return Err(ThresholdError::Infeasible { condition, violation: Some(violation) });
        }
        Err(ThresholdError::NotSettled { passes: self.passes, residual })
    }
}

/// First-order picture of loss and conditions.
struct Model {
    gaps: Vec<f64>,
    slopes: Vec<Vec<f64>>,
    loss_slope: Vec<f64>,
}

/// One condition during the search for its root.
struct RootStep {
    /// |rate - target|, relative to the room the target has.
    error: f64,
    /// The Newton step.
    newton: f64,
    /// Whether the threshold must rise.
    rise: bool,
}
