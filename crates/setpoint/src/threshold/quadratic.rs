//! Small strictly convex quadratic programs, by the dual method of Goldfarb and Idnani.
//!
//! ```text
//! minimise  x.H x / 2 + c.x    subject to    n_i.x = b_i  or  n_i.x >= b_i
//! ```
//!
//! Starts from the unconstrained minimum and takes in violated constraints one
//! at a time, dropping those whose multiplier would turn negative. For the few
//! thresholds of a goal; every step solves its small systems afresh.

use crate::algebra::{cholesky, cholesky_solve, dot};

/// n.x = bound, or n.x >= bound.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) normal: Vec<f64>,
    pub(super) bound: f64,
    pub(super) equality: bool,
}

/// The minimiser and one multiplier per row: H x + c = Σ multiplier n.
pub(super) struct Minimum {
    pub(super) x: Vec<f64>,
    pub(super) multipliers: Vec<f64>,
}

/// A row taken in as active, with the sign that turned an equality into a lower bound.
struct Active {
    row: usize,
    sign: f64,
    multiplier: f64,
}

/// Solves the program, given the Cholesky factor of H; `None` where no x meets all rows.
pub(super) fn minimise(factor: &[f64], c: &[f64], rows: &[Row]) -> Option<Minimum> {
    let mut x: Vec<f64> = cholesky_solve(factor, c).iter().map(|x| -x).collect();
    let mut active: Vec<Active> = Vec::new();
    // Every round takes a row in; the objective rises strictly, so no active set comes back.
    for _ in 0..50 * (rows.len() + 1) {
        let Some((entering, sign)) = most_violated(rows, &x, &active) else {
            let mut multipliers = vec![0.0; rows.len()];
            for entry in &active {
                multipliers[entry.row] = entry.sign * entry.multiplier;
            }
            return Some(Minimum { x, multipliers });
        };
        let normal: Vec<f64> = rows[entering].normal.iter().map(|n| sign * n).collect();
        let bound = sign * rows[entering].bound;
        let mut multiplier = 0.0;
        loop {
            let (direction, change) = directions(factor, rows, &active, &normal)?;
            let curvature = dot(&direction, &normal);
            let reach = dot(&normal, &cholesky_solve(factor, &normal));
            let full = if curvature > 1e-12 * reach {
                (bound - dot(&normal, &x)) / curvature
            } else {
                f64::INFINITY
            };
            // How far until the multiplier of an active inequality reaches zero.
            let (leaving, partial) = (0..active.len())
                .filter(|a| !rows[active[*a].row].equality && change[*a] > 1e-14)
                .map(|a| (Some(a), active[a].multiplier / change[a]))
                .fold((None, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best });
            let step = full.min(partial);
            if step.is_infinite() {
                return None;
            }
            for (entry, change) in active.iter_mut().zip(&change) {
                entry.multiplier -= step * change;
            }
            multiplier += step;
            if full.is_finite() {
                x.iter_mut().zip(&direction).for_each(|(x, d)| *x += step * d);
            }
            if full <= partial {
                active.push(Active { row: entering, sign, multiplier });
                break;
            }
            active.remove(leaving?);
        }
    }
    None
}

/// The row to take in next and its sign: equalities first, then the worst inequality.
fn most_violated(rows: &[Row], x: &[f64], active: &[Active]) -> Option<(usize, f64)> {
    let mut worst = None;
    for (index, row) in rows.iter().enumerate() {
        if active.iter().any(|entry| entry.row == index) {
            continue;
        }
        let gap = dot(&row.normal, x) - row.bound;
        let size = 1e-13 * (1.0 + row.bound.abs() + row.normal.iter().fold(0.0f64, |m, n| m.max(n.abs())));
        if row.equality {
            return Some((index, if gap > 0.0 { -1.0 } else { 1.0 }));
        }
        if gap < -size && worst.is_none_or(|(_, least)| gap < least) {
            worst = Some((index, gap));
        }
    }
    worst.map(|(index, _)| (index, 1.0))
}

/// The primal direction for a new normal, and how it changes the active multipliers.
fn directions(
    factor: &[f64],
    rows: &[Row],
    active: &[Active],
    normal: &[f64],
) -> Option<(Vec<f64>, Vec<f64>)> {
    let mut direction = cholesky_solve(factor, normal);
    if active.is_empty() {
        return Some((direction, Vec::new()));
    }
    let count = active.len();
    let normals: Vec<Vec<f64>> =
        active.iter().map(|entry| rows[entry.row].normal.iter().map(|n| entry.sign * n).collect()).collect();
    let solved: Vec<Vec<f64>> = normals.iter().map(|normal| cholesky_solve(factor, normal)).collect();
    let mut gram = vec![0.0; count * count];
    for a in 0..count {
        for b in 0..count {
            gram[a * count + b] = dot(&normals[a], &solved[b]);
        }
    }
    let right: Vec<f64> = normals.iter().map(|n| dot(n, &direction)).collect();
    let change = cholesky_solve(&cholesky(&gram, count)?, &right);
    for (solved, change) in solved.iter().zip(&change) {
        direction.iter_mut().zip(solved).for_each(|(d, s)| *d -= change * s);
    }
    Some((direction, change))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(normal: [f64; 2], bound: f64, equality: bool) -> Row {
        Row { normal: normal.to_vec(), bound, equality }
    }

    const IDENTITY: [f64; 4] = [1.0, 0.0, 0.0, 1.0];

    #[test]
    fn the_nearest_point_of_a_polygon_is_found() {
        // Nearest point to (3, 1) with x + y <= 2 and x <= 1.5: the corner (1.5, 0.5).
        let rows =
            [row([-1.0, -1.0], -2.0, false), row([-1.0, 0.0], -1.5, false), row([0.0, 1.0], -5.0, false)];
        let minimum = minimise(&IDENTITY, &[-3.0, -1.0], &rows).unwrap();
        assert!((minimum.x[0] - 1.5).abs() < 1e-12 && (minimum.x[1] - 0.5).abs() < 1e-12);
        // x + c = Σ multiplier n: (1.5 - 3, 0.5 - 1) = 0.5 (-1, -1) + 1 (-1, 0).
        assert!((minimum.multipliers[0] - 0.5).abs() < 1e-12);
        assert!((minimum.multipliers[1] - 1.0).abs() < 1e-12);
        assert_eq!(minimum.multipliers[2], 0.0);
    }

    #[test]
    fn equalities_hold_with_multipliers_of_either_sign() {
        let rows = [row([1.0, 1.0], -2.0, true)];
        let minimum = minimise(&IDENTITY, &[0.0, 0.0], &rows).unwrap();
        assert!((minimum.x[0] + 1.0).abs() < 1e-12 && (minimum.x[1] + 1.0).abs() < 1e-12);
        assert!((minimum.multipliers[0] + 1.0).abs() < 1e-12);
    }

    #[test]
    fn contradictions_are_infeasible() {
        let rows = [row([1.0, 0.0], 1.0, false), row([-1.0, 0.0], 0.0, false)];
        assert!(minimise(&IDENTITY, &[0.0, 0.0], &rows).is_none());
    }

    #[test]
    fn a_constraint_that_stops_mattering_is_dropped() {
        // Unconstrained at (4, 0); x <= 1 is violated first, but x + 3 y <= -3 alone decides in the end.
        let h = cholesky(&[1.0, 0.0, 0.0, 10.0], 2).unwrap();
        let rows = [row([-1.0, 0.0], -1.0, false), row([-10.0, -1.0], 30.0, false)];
        let minimum = minimise(&h, &[-4.0, 0.0], &rows).unwrap();
        assert_eq!(minimum.multipliers[0], 0.0);
        assert!((10.0 * minimum.x[0] + minimum.x[1] + 30.0).abs() < 1e-10);
    }
}
