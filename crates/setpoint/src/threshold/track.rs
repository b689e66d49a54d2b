//! First-order motion of the thresholds when the scores move (paper, algorithm 1, line 10).
//!
//! ```text
//! g(s + ds, t + dt) = 0   =>   (dg/dt) dt = -(dg/ds) . ds        errs as O(|ds|²)
//! ```
//!
//! The right side is one pass over the scores for any number of constraints:
//! dg/ds . ds is the change of the counts, put through the partial derivatives
//! of g.

use crate::algebra;
use crate::count::Cell;
use crate::problem::Problem;

/// Where a motion starts.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a> {
    /// The counts there.
    pub cells: &'a [Cell],
    /// dg/dt there, row by row ([`Derivative::constraint_slopes`](crate::implicit::Derivative)).
    pub constraint_slopes: &'a [f64],
    /// Which conditions hold with equality.
    pub active: &'a [bool],
    /// Which thresholds are free parameters, and so do not move by themselves.
    pub free: &'a [bool],
}

/// dt for a motion of the scores, along the active constraints.
///
/// `change` are the first-order changes of the counts
/// ([`Counter::count_motion`](crate::count::Counter::count_motion)). `other` adds
/// what else moves each constraint: a change of its slack, or of free thresholds.
/// `floor` is the smallest |dg/dt|, as in the implicit gradient. With fewer
/// active constraints than thresholds, the smallest motion that keeps the
/// constraints is taken.
#[must_use]
pub fn motion(problem: &Problem, from: Origin<'_>, change: &[Cell], other: &[f64], floor: f64) -> Vec<f64> {
    let thresholds = problem.thresholds();
    let implicit: Vec<usize> = (0..thresholds).filter(|j| !from.free[*j]).collect();
    let constraints: Vec<usize> = (0..from.active.len()).filter(|k| from.active[*k]).collect();
    let (rows, columns) = (constraints.len(), implicit.len());
    let mut out = vec![0.0; thresholds];
    if rows > columns {
        return out;
    }
    let mut right: Vec<f64> = constraints
        .iter()
        .map(|k| {
            let mut sum = -other[*k];
            problem.conditions()[*k].expression.visit_partials(from.cells, |cell, positive, negative| {
                sum -= positive * change[cell].positive + negative * change[cell].negative;
            });
            sum
        })
        .collect();
    let slope = |k: usize, j: usize| from.constraint_slopes[k * thresholds + j];
    if rows == columns {
        let mut matrix: Vec<f64> = constraints.iter().flat_map(|k| implicit.iter().map(|j| slope(*k, *j))).collect();
        algebra::least_squares(&mut matrix, &mut right, columns, floor);
        implicit.iter().zip(right).for_each(|(j, dt)| out[*j] = dt);
    } else {
        // The smallest motion lies along the constraints' slopes: dt = Aᵀ y with A Aᵀ y = right.
        let mut gram: Vec<f64> = constraints
            .iter()
            .flat_map(|k| constraints.iter().map(|l| implicit.iter().map(|j| slope(*k, *j) * slope(*l, *j)).sum()))
            .collect();
        algebra::least_squares(&mut gram, &mut right, rows, floor * floor);
        for j in implicit {
            out[j] = constraints.iter().zip(&right).map(|(k, y)| slope(*k, j) * y).sum();
        }
    }
    out
}
