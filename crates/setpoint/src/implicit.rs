//! Gradient of an objective whose thresholds are solved, not free.
//!
//! A constraint g(s, t) = 0 ties a threshold t to the scores s: when a score
//! moves, t moves. Differentiating the constraint gives that motion, and
//!
//! ```text
//! v_i = df/ds_i - sum_k r_k dg_k/ds_i,   where (dg/dt)^T r = df/dt      (paper, eqs. 3-4)
//! ```
//!
//! over the active constraints k. Everything happens in score space: the model
//! only ever sees `v`. And since f and g depend on the scores through counts
//! alone, `v` comes down to one number per cell: the partial derivatives of
//! f - r.g by the counts.
//!
//! - With fewer active constraints than thresholds, the thresholds are taken to
//!   sit at the best f within the feasible set. Then df/dt is a combination of
//!   the active dg/dt (r are minus the multipliers), r is found by least
//!   squares, and by the envelope theorem the same formula holds; without any
//!   active constraint, v = df/ds.
//! - *Free* thresholds are parameters that train with the model: they are left
//!   out of the solve and get a gradient of their own.
//! - r is also the price of the constraint: with g = rate - target, the loss
//!   changes by r per unit of target.

use thiserror::Error;

use crate::algebra;
use crate::count::{Cell, CellPartial};
use crate::problem::{Combination, Problem};

/// What to do when a constraint hardly moves with its threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flat {
    /// Raise |dg/dt| to the floor, keep its sign, and count it.
    #[default]
    Clamp,
    /// Refuse with [`ImplicitError::FlatConstraint`].
    Refuse,
}

/// How to differentiate.
#[derive(Clone, Copy, Debug)]
pub struct ImplicitOptions {
    /// ρ: weight of the penalty ρ Σ (dg_k/dt_j)² on constraints that move steeply with a threshold.
    pub regulariser: f64,
    /// Smallest |dg/dt|, as a multiple of the sharpness.
    pub floor: f64,
    /// What to do below the floor.
    pub flat: Flat,
}

impl Default for ImplicitOptions {
    fn default() -> Self {
        Self { regulariser: 0.0, floor: 1e-5, flat: Flat::Clamp }
    }
}

/// Why there is no gradient.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ImplicitError {
    /// No score lies near a threshold, so that its motion is noise.
    #[error(
        "a constraint moves by only {slope:e} per unit of threshold (floor {floor:e}): no score lies near the threshold; lower the sharpness or use a larger batch"
    )]
    FlatConstraint {
        /// |dg/dt| found.
        slope: f64,
        /// The smallest allowed.
        floor: f64,
    },
    /// More active constraints than thresholds that could meet them.
    #[error("{active} active constraints tie only {thresholds} thresholds")]
    Overdetermined {
        /// Active constraints.
        active: usize,
        /// Thresholds that are not free.
        thresholds: usize,
    },
}

/// Derivatives at one point; a buffer that is used again at every step.
#[derive(Clone, Debug, Default)]
pub struct Derivative {
    /// f, the smooth loss, without the penalty.
    pub loss: f64,
    /// The regulariser's penalty.
    pub penalty: f64,
    /// g_k for every constraint, active or not.
    pub constraints: Vec<f64>,
    /// r_k: how the loss changes per unit of target; 0 for constraints that are not active.
    ///
    /// Minus the multiplier of the constraint, and minus the loss's derivative by its slack.
    pub prices: Vec<f64>,
    /// The loss's derivative by each threshold where it is free, else 0.
    pub free: Vec<f64>,
    /// How many slopes were raised to the floor.
    pub clamped: usize,
    /// Partial derivatives of f - r.g by the counts and slopes of each cell.
    pub partials: Vec<CellPartial>,
    /// dg_k/dt_j, row by row.
    pub constraint_slopes: Vec<f64>,
    loss_slopes: Vec<f64>,
    matrix: Vec<f64>,
    right: Vec<f64>,
}

impl Derivative {
    /// Whether all of it are numbers: counts of scores or weights that are too far apart may be none.
    pub(crate) fn is_finite(&self) -> bool {
        let single = self.loss + self.penalty;
        single.is_finite() && self.prices.iter().chain(&self.free).all(|value| value.is_finite())
    }
}

/// Differentiates the loss through the thresholds, at these counts.
///
/// `active[k]`: constraint k holds with equality. `free[j]`: threshold j is a
/// parameter, not a function of the scores. The counts need curvatures where
/// there is a regulariser.
///
/// # Errors
/// If a constraint is flat and `options.flat` says to refuse, or more
/// constraints are active than thresholds can meet.
pub fn differentiate(
    problem: &Problem,
    cells: &[Cell],
    sharpness: f64,
    active: &[bool],
    free: &[bool],
    options: &ImplicitOptions,
    out: &mut Derivative,
) -> Result<(), ImplicitError> {
    let thresholds = problem.thresholds();
    let conditions = problem.conditions();
    out.loss = problem.loss().value(cells);
    out.penalty = 0.0;
    out.clamped = 0;
    out.partials.clear();
    out.partials.resize(cells.len(), CellPartial::default());
    add_partials(problem.loss(), cells, 1.0, &mut out.partials);

    out.constraints.clear();
    out.constraint_slopes.clear();
    out.constraint_slopes.resize(conditions.len() * thresholds, 0.0);
    for (condition, slopes) in conditions.iter().zip(out.constraint_slopes.chunks_mut(thresholds)) {
        out.constraints.push(condition.expression.value(cells));
        condition.expression.visit_partials(cells, |cell, positive, negative| {
            slopes[problem.threshold_of(cell)] -=
                positive * cells[cell].positive_slope + negative * cells[cell].negative_slope;
        });
        if options.regulariser > 0.0 {
            out.penalty += add_penalty(
                problem,
                &condition.expression,
                cells,
                slopes,
                options.regulariser,
                &mut out.partials,
            );
        }
    }
    out.loss_slopes.clear();
    out.loss_slopes.resize(thresholds, 0.0);
    for (cell, (count, partial)) in cells.iter().zip(&out.partials).enumerate() {
        out.loss_slopes[problem.threshold_of(cell)] -= partial.positive * count.positive_slope
            + partial.negative * count.negative_slope
            + partial.positive_slope * count.positive_curvature
            + partial.negative_slope * count.negative_curvature;
    }

    out.prices.clear();
    out.prices.resize(conditions.len(), 0.0);
    let floor = options.floor * sharpness;
    if problem.diagonal() && active.iter().all(|a| *a) && !free.contains(&true) {
        for k in 0..thresholds {
            let slope = out.constraint_slopes[k * thresholds + k];
            out.clamped += usize::from(slope.abs() < floor);
            out.prices[k] = out.loss_slopes[k] / slope.abs().max(floor).copysign(slope);
        }
    } else {
        solve_prices(out, active, free, floor)?;
    }
    if out.clamped > 0 && options.flat == Flat::Refuse {
        let slope = out.constraint_slopes.iter().map(|s| s.abs()).filter(|s| *s < floor).fold(0.0, f64::max);
        return Err(ImplicitError::FlatConstraint { slope, floor });
    }
    for (condition, price) in conditions.iter().zip(&out.prices) {
        if *price != 0.0 {
            add_partials(&condition.expression, cells, -price, &mut out.partials);
        }
    }
    out.free.clear();
    for (j, free) in free.iter().enumerate() {
        let through = |k: usize| out.prices[k] * out.constraint_slopes[k * thresholds + j];
        let gradient = out.loss_slopes[j] - (0..conditions.len()).map(through).sum::<f64>();
        out.free.push(if *free { gradient } else { 0.0 });
    }
    Ok(())
}

/// r from (dg/dt)^T r = df/dt over the active constraints and the thresholds that are not free.
fn solve_prices(
    out: &mut Derivative,
    active: &[bool],
    free: &[bool],
    floor: f64,
) -> Result<(), ImplicitError> {
    let thresholds = free.len();
    let columns = active.iter().filter(|a| **a).count();
    let rows = free.iter().filter(|f| !**f).count();
    if columns > rows {
        return Err(ImplicitError::Overdetermined { active: columns, thresholds: rows });
    }
    out.matrix.clear();
    out.right.clear();
    for j in (0..thresholds).filter(|j| !free[*j]) {
        out.right.push(out.loss_slopes[j]);
        for k in (0..active.len()).filter(|k| active[*k]) {
            out.matrix.push(out.constraint_slopes[k * thresholds + j]);
        }
    }
    out.clamped = algebra::least_squares(&mut out.matrix, &mut out.right, columns, floor);
    for (k, price) in (0..active.len()).filter(|k| active[*k]).zip(&out.right) {
        out.prices[k] = *price;
    }
    Ok(())
}

fn add_partials(expression: &Combination, cells: &[Cell], factor: f64, partials: &mut [CellPartial]) {
    expression.visit_partials(cells, |cell, positive, negative| {
        partials[cell].positive += factor * positive;
        partials[cell].negative += factor * negative;
    });
}

/// Adds the partials of ρ Σ_j (dg/dt_j)² and returns its value.
///
/// For one ratio R = N / D, with ' for the sum of slopes at threshold j,
///
/// ```text
/// q = dR/dt_j = -(N' - R D') / D
/// dq/dN = D' / D²      dq/dD = (N' - 2 R D') / D²      dq/dN' = -1 / D      dq/dD' = R / D
/// ```
fn add_penalty(
    problem: &Problem,
    expression: &Combination,
    cells: &[Cell],
    slopes: &[f64],
    regulariser: f64,
    partials: &mut [CellPartial],
) -> f64 {
    let mut penalty = 0.0;
    for (threshold, slope) in slopes.iter().enumerate() {
        penalty += regulariser * slope * slope;
        for ratio in &expression.ratios {
            let slope_of = |form: &crate::problem::Form| {
                form.terms.iter().filter(|term| problem.threshold_of(term.cell) == threshold).fold(
                    0.0,
                    |sum, term| {
                        let cell = &cells[term.cell];
                        sum + term.positive * cell.positive_slope + term.negative * cell.negative_slope
                    },
                )
            };
            let (numerator, denominator) = (ratio.numerator.value(cells), ratio.denominator.value(cells));
            let (numerator_slope, denominator_slope) =
                (slope_of(&ratio.numerator), slope_of(&ratio.denominator));
            let value = numerator / denominator;
            let scale = 2.0 * regulariser * slope * ratio.weight / denominator;
            let by_numerator = scale * denominator_slope / denominator;
            let by_denominator = scale * (numerator_slope - 2.0 * value * denominator_slope) / denominator;
            for (form, by_value, by_slope) in [
                (&ratio.numerator, by_numerator, -scale),
                (&ratio.denominator, by_denominator, scale * value),
            ] {
                for term in &form.terms {
                    let partial = &mut partials[term.cell];
                    partial.positive += by_value * term.positive;
                    partial.negative += by_value * term.negative;
                    if problem.threshold_of(term.cell) == threshold {
                        partial.positive_slope += by_slope * term.positive;
                        partial.negative_slope += by_slope * term.negative;
                    }
                }
            }
        }
    }
    penalty
}

#[cfg(test)]
mod tests;
