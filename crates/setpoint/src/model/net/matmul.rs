//! Matrix products by the `gemm` crate, behind one safe function.

#![allow(unsafe_code, reason = "the entry point of gemm takes pointers; lengths are checked here")]

use gemm::Parallelism;

/// A matrix whose rows follow one another.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    transposed: bool,
}

impl<'a> Matrix<'a> {
    /// # Panics
    /// If there are not rows x columns values.
    pub(super) fn new(values: &'a [f32], rows: usize, columns: usize) -> Self {
        assert_eq!(Some(values.len()), rows.checked_mul(columns), "values of a {rows} x {columns} matrix");
        Self { values, rows, columns, transposed: false }
    }

    /// Rows read as columns.
    pub(super) fn transposed(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    fn shape(&self) -> (usize, usize) {
        if self.transposed { (self.columns, self.rows) } else { (self.rows, self.columns) }
    }

    /// Distance of neighbours in a column and in a row.
    fn strides(&self) -> (isize, isize) {
        // A slice's length fits isize.
        let long = self.columns as isize;
        if self.transposed { (1, long) } else { (long, 1) }
    }
}

/// Overwrites `into`, rows following one another, with the product, or adds the product to it.
///
/// # Panics
/// If the shapes do not fit.
pub(super) fn multiply(left: Matrix<'_>, right: Matrix<'_>, into: &mut [f32], add: bool) {
    let (rows, depth) = left.shape();
    let (depth_right, columns) = right.shape();
    assert_eq!(depth, depth_right, "columns on the left and rows on the right");
    assert_eq!(Some(into.len()), rows.checked_mul(columns), "values of a {rows} x {columns} product");
    let ((left_row, left_column), (right_row, right_column)) = (left.strides(), right.strides());
    // SAFETY: with i < rows, k < depth and j < columns, the offsets i * row + k * column that gemm reads
    // (strides as given by `strides`, for a matrix that `Matrix::new` found as long as its shape says)
    // and i * columns + j that it writes are below the lengths of the slices, all of which are
    // initialised; `into` is borrowed mutably, so it overlaps neither.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            depth,
            into.as_mut_ptr(),
            1,
            columns as isize,
            add,
            left.values.as_ptr(),
            left_column,
            left_row,
            right.values.as_ptr(),
            right_column,
            right_row,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_three_loops() {
        for (rows, depth, columns) in
            [(1, 1, 1), (3, 5, 2), (17, 1, 33), (1, 40, 9), (40, 9, 1), (65, 70, 130)]
        {
            let value = |i: usize, k: f32| (i as f32 * k).sin();
            let left: Vec<f32> = (0..rows * depth).map(|i| value(i, 0.7)).collect();
            let right: Vec<f32> = (0..depth * columns).map(|i| value(i, 1.3)).collect();
            let transpose = |m: &[f32], rows: usize, columns: usize| -> Vec<f32> {
                (0..rows * columns).map(|i| m[i % rows * columns + i / rows]).collect()
            };
            let left_t = transpose(&left, rows, depth);
            let right_t = transpose(&right, depth, columns);
            for (flip_left, flip_right, add) in
                [(false, false, false), (true, false, true), (false, true, false), (true, true, true)]
            {
                let l = if flip_left {
                    Matrix::new(&left_t, depth, rows).transposed()
                } else {
                    Matrix::new(&left, rows, depth)
                };
                let r = if flip_right {
                    Matrix::new(&right_t, columns, depth).transposed()
                } else {
                    Matrix::new(&right, depth, columns)
                };
                let mut product = vec![2.0; rows * columns];
                multiply(l, r, &mut product, add);
                for (at, got) in product.iter().enumerate() {
                    let (i, j) = (at / columns, at % columns);
                    let products = (0..depth)
                        .map(|k| f64::from(left[i * depth + k]) * f64::from(right[k * columns + j]));
                    let start = if add { 2.0 } else { 0.0 };
                    let expected = products.clone().sum::<f64>() + start;
                    // Each addition rounds by at most 2^-24 of a sum that is at most this large.
                    let size = products.map(f64::abs).sum::<f64>() + start;
                    let error = (f64::from(*got) - expected).abs();
                    assert!(error <= (depth + 1) as f64 * size * 2f64.powi(-24), "{got} for {expected}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "columns on the left")]
    fn shapes_that_do_not_fit_are_refused() {
        multiply(Matrix::new(&[1.0; 6], 2, 3), Matrix::new(&[1.0; 4], 2, 2), &mut [0.0; 4], false);
    }

    #[test]
    #[should_panic(expected = "values of a 2 x 3 matrix")]
    fn a_slice_of_another_length_is_refused() {
        let _ = Matrix::new(&[1.0; 5], 2, 3);
    }
}
