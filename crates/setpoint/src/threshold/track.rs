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

/// dt for a motion of the scores, along the active constraints.
///
/// `cells` are the counts where the motion starts and `motion` the first-order
/// changes of these counts ([`Counter::count_motion`](crate::count::Counter::count_motion)).
/// `constraint_slopes` is dg/dt there, row by row; `floor` as in the implicit
/// gradient. `other` adds what else moves each constraint: a change of slack,
/// or of free thresholds. Free thresholds do not move here. With fewer active
/// constraints than thresholds, the smallest motion that keeps the constraints
/// is taken.
#[must_use]
pub fn motion(
    problem: &Problem,
    cells: &[Cell],
    motion: &[Cell],
    constraint_slopes: &[f64],
    active: &[bool],
    free: &[bool],
    other: &[f64],
    floor: f64,
) -> Vec<f64> {
    let thresholds = problem.thresholds();
    let implicit: Vec<usize> = (0..thresholds).filter(|j| !free[*j]).collect();
    let constraints: Vec<usize> = (0..active.len()).filter(|k| active[*k]).collect();
    let change: Vec<f64> = constraints
        .iter()
        .map(|k| {
            let mut change = other[*k];
            problem.conditions()[*k].expression.visit_partials(cells, |cell, positive, negative| {
                change += positive * motion[cell].positive + negative * motion[cell].negative;
            });
            change
        })
        .collect();
    // Minimum norm: dt = Aᵀ y with A Aᵀ y = -change; for a square A, the solution itself.
    let slope = |k: usize, j: usize| constraint_slopes[k * thresholds + j];
    let mut out = vec![0.0; thresholds];
    if constraints.len() == implicit.len() {
        let mut a: Vec<f64> =
            constraints.iter().flat_map(|k| implicit.iter().map(|j| slope(*k, *j))).collect();
        let mut b: Vec<f64> = change.iter().map(|c| -c).collect();
        algebra::least_squares(&mut a, &mut b, implicit.len(), floor);
        implicit.iter().zip(b).for_each(|(j, dt)| out[*j] = dt);
    } else if constraints.len() < implicit.len() {
        let count = constraints.len();
        let mut gram = vec![0.0; count * count];
        for (a, k) in constraints.iter().enumerate() {
            for (b, l) in constraints.iter().enumerate() {
                gram[a * count + b] = implicit.iter().map(|j| slope(*k, *j) * slope(*l, *j)).sum();
            }
        }
        let mut y: Vec<f64> = change.iter().map(|c| -c).collect();
        algebra::least_squares(&mut gram, &mut y, count, floor * floor);
        for j in &implicit {
            out[*j] = constraints.iter().zip(&y).map(|(k, y)| slope(*k, *j) * y).sum();
        }
    }
    out
}
