//! Dense linear algebra for a handful of unknowns, row-major in `f64`.

/// Least squares by Householder reflections: x minimising |A x - b|, A `rows` x `columns`, full rank.
///
/// A diagonal entry of the triangular factor below `floor` in size is raised to
/// `floor` with its sign kept; the number of such entries is returned. Both
/// arguments are overwritten, and the first `columns` entries of `b` become x.
pub(crate) fn least_squares(a: &mut [f64], b: &mut [f64], columns: usize, floor: f64) -> usize {
    let rows = b.len();
    debug_assert!(a.len() == rows * columns && columns <= rows);
    let mut raised = 0;
    for pivot in 0..columns {
        // Reflect the column below the pivot onto the pivot, unless it already lies there.
        let below: f64 = (pivot + 1..rows).map(|row| a[row * columns + pivot].powi(2)).sum();
        if below > 0.0 {
            let head = a[pivot * columns + pivot];
            let norm = (head * head + below).sqrt();
            let diagonal = if head > 0.0 { -norm } else { norm };
            // v = column - diagonal e; x -> x - 2 v (v.x) / (v.v)
            let v_head = head - diagonal;
            let scale = 2.0 / (v_head * v_head + below);
            for column in pivot + 1..columns {
                let dot = (pivot + 1..rows).fold(v_head * a[pivot * columns + column], |sum, row| {
                    sum + a[row * columns + pivot] * a[row * columns + column]
                });
                a[pivot * columns + column] -= scale * dot * v_head;
                for row in pivot + 1..rows {
                    a[row * columns + column] -= scale * dot * a[row * columns + pivot];
                }
            }
            let dot =
                (pivot + 1..rows).fold(v_head * b[pivot], |sum, row| sum + a[row * columns + pivot] * b[row]);
            b[pivot] -= scale * dot * v_head;
            for row in pivot + 1..rows {
                b[row] -= scale * dot * a[row * columns + pivot];
            }
            a[pivot * columns + pivot] = diagonal;
        }
        let diagonal = &mut a[pivot * columns + pivot];
        if diagonal.abs() < floor {
            *diagonal = floor.copysign(*diagonal);
            raised += 1;
        }
    }
    for row in (0..columns).rev() {
        let known: f64 = (row + 1..columns).map(|column| a[row * columns + column] * b[column]).sum();
        b[row] = (b[row] - known) / a[row * columns + row];
    }
    raised
}

/// x minimising |A x - b|² + `damping` |A|² |x|², the shortest of several; |A|² is the sum of A's squares.
///
/// Where the damping is more than rounding, by the normal equations. Else by one-sided Jacobi rotations: columns of A
/// are turned until they are orthogonal, A V = U Σ. Singular values below 1e-9 of the largest count as zero.
pub(crate) fn damped_least_squares(a: &[f64], b: &[f64], columns: usize, damping: f64) -> Vec<f64> {
    let rows = b.len();
    let damping = damping * dot(a, a);
    if damping > 0.0 {
        let mut normal = vec![0.0; columns * columns];
        let mut right = vec![0.0; columns];
        for (row, b) in a.chunks(columns).zip(b) {
            for (i, factor) in row.iter().enumerate() {
                let of_column = &mut normal[i * columns..][..columns];
                of_column.iter_mut().zip(row).for_each(|(sum, value)| *sum += factor * value);
                right[i] += factor * b;
            }
        }
        normal.iter_mut().step_by(columns + 1).for_each(|diagonal| *diagonal += damping);
        if let Some(factor) = cholesky(&normal, columns) {
            return cholesky_solve(&factor, &right);
        }
    }
    // Columns of A, each followed by the same column of V.
    let mut turned: Vec<Vec<f64>> = (0..columns)
        .map(|column| {
            let unit = (0..columns).map(|other| if other == column { 1.0 } else { 0.0 });
            (0..rows).map(|row| a[row * columns + column]).chain(unit).collect()
        })
        .collect();
    for _ in 0..60 {
        let mut largest = 0.0f64;
        for i in 0..columns {
            for j in i + 1..columns {
                let (left, right) = turned.split_at_mut(j);
                let (p, q) = (&mut left[i], &mut right[0]);
                let (pp, qq, pq) =
                    (dot(&p[..rows], &p[..rows]), dot(&q[..rows], &q[..rows]), dot(&p[..rows], &q[..rows]));
                if pq.abs() <= 1e-15 * (pp * qq).sqrt() || pq == 0.0 {
                    continue;
                }
                largest = largest.max(pq.abs() / (pp * qq).sqrt());
                let zeta = (qq - pp) / (2.0 * pq);
                let tangent = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
                let sine = cosine * tangent;
                for (p, q) in p.iter_mut().zip(q.iter_mut()) {
                    (*p, *q) = (cosine * *p - sine * *q, sine * *p + cosine * *q);
                }
            }
        }
        if largest < 1e-14 {
            break;
        }
    }
    let squares: Vec<f64> = turned.iter().map(|column| dot(&column[..rows], &column[..rows])).collect();
    let most = squares.iter().copied().fold(0.0, f64::max);
    let mut x = vec![0.0; columns];
    for (column, square) in turned.iter().zip(&squares) {
        if *square > 1e-18 * most {
            let along = dot(&column[..rows], b) / (square + damping);
            x.iter_mut().zip(&column[rows..]).for_each(|(x, v)| *x += along * v);
        }
    }
    x
}

/// Lower triangular L with L Lᵀ = A, or `None` where A is not positive definite.
pub(crate) fn cholesky(a: &[f64], n: usize) -> Option<Vec<f64>> {
    let mut l = vec![0.0; n * n];
    for row in 0..n {
        for column in 0..=row {
            let dot: f64 = (0..column).map(|k| l[row * n + k] * l[column * n + k]).sum();
            let rest = a[row * n + column] - dot;
            if row == column {
                if rest.is_nan() || rest <= a[row * n + row].abs() * 1e-12 {
                    return None;
                }
                l[row * n + row] = rest.sqrt();
            } else {
                l[row * n + column] = rest / l[column * n + column];
            }
        }
    }
    Some(l)
}

/// x with L Lᵀ x = b.
pub(crate) fn cholesky_solve(l: &[f64], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut x = b.to_vec();
    for row in 0..n {
        let known: f64 = (0..row).map(|k| l[row * n + k] * x[k]).sum();
        x[row] = (x[row] - known) / l[row * n + row];
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|k| l[k * n + row] * x[k]).sum();
        x[row] = (x[row] - known) / l[row * n + row];
    }
    x
}

/// Sum of products.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_squares_solves_square_and_tall_systems() {
        let mut b = vec![5.0, 6.0];
        assert_eq!(least_squares(&mut [0.0, 1.0, 2.0, 3.0], &mut b, 2, 0.0), 0);
        assert!((b[0] + 4.5).abs() < 1e-14 && (b[1] - 5.0).abs() < 1e-14);
        // y = 1 + 2 x through (0, 1), (1, 3), (2, 5), (3, 7), with one outlier pair that cancels.
        let mut b = vec![2.0, 2.0, 4.0, 8.0];
        least_squares(&mut [1.0, 0.0, 1.0, 1.0, 1.0, 2.0, 1.0, 3.0], &mut b, 2, 0.0);
        assert!((b[0] - 1.0).abs() < 1e-13 && (b[1] - 2.0).abs() < 1e-13, "{b:?}");
    }

    #[test]
    fn of_several_solutions_the_shortest_is_taken_and_damping_shortens_it() {
        // Each row is minus the sum of the others: x and x + (1, 1, 1) do alike.
        let a = [2.0, -1.0, -1.0, -1.0, 2.0, -1.0, -1.0, -1.0, 2.0];
        let x = damped_least_squares(&a, &[3.0, 0.0, -3.0], 3, 0.0);
        assert!(x.iter().zip([1.0, 0.0, -1.0]).all(|(x, y)| (x - y).abs() < 1e-14), "{x:?}");
        let tall =
            damped_least_squares(&[1.0, 0.0, 1.0, 1.0, 1.0, 2.0, 1.0, 3.0], &[2.0, 2.0, 4.0, 8.0], 2, 0.0);
        assert!((tall[0] - 1.0).abs() < 1e-13 && (tall[1] - 2.0).abs() < 1e-13, "{tall:?}");
        assert!((damped_least_squares(&[2.0], &[2.0], 1, 1.0)[0] - 0.5).abs() < 1e-15);
    }

    #[test]
    fn flat_pivots_are_raised_with_their_sign() {
        let mut b = vec![1.0, 1.0];
        let raised = least_squares(&mut [-1e-9, 0.0, 0.0, 2.0], &mut b, 2, 1e-3);
        assert_eq!(raised, 1);
        assert_eq!(b, [-1e3, 0.5]);
    }

    #[test]
    fn cholesky_solves_and_refuses_indefinite_matrices() {
        let a = [4.0, 2.0, 2.0, 3.0];
        let x = cholesky_solve(&cholesky(&a, 2).unwrap(), &[8.0, 7.0]);
        assert!((x[0] - 1.25).abs() < 1e-14 && (x[1] - 1.5).abs() < 1e-14);
        assert!(cholesky(&[1.0, 2.0, 2.0, 1.0], 2).is_none());
    }
}
