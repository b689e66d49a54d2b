//! The matrix a model sees: dense or sparse rows of `f32`.

use std::hash::{Hash, Hasher};
use std::ops::Range;

/// A row of numbers for each example.
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Every number is stored.
    Dense(Dense),
    /// Only numbers other than zero are stored.
    Sparse(Sparse),
}

/// A dense matrix, row after row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dense {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// `rows * columns` numbers, row-major.
    pub values: Vec<f32>,
}

/// A sparse matrix in compressed rows (CSR).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sparse {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Where each row starts in `indices` and `values`; one more entry than rows.
    pub indptr: Vec<usize>,
    /// Column of each entry, ascending within a row.
    pub indices: Vec<u32>,
    /// The entries.
    pub values: Vec<f32>,
}

impl Features {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self {
            Self::Dense(dense) => dense.rows,
            Self::Sparse(sparse) => sparse.rows,
        }
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        match self {
            Self::Dense(dense) => dense.columns,
            Self::Sparse(sparse) => sparse.columns,
        }
    }

    /// Feeds one row to a hasher: equal rows alike.
    ///
    /// # Panics
    /// If the row number is not below [`Features::rows`].
    pub fn hash_row(&self, row: usize, hasher: &mut impl Hasher) {
        let (indices, values) = match self {
            Self::Dense(dense) => (&[][..], dense.row(row)),
            Self::Sparse(sparse) => {
                let entries = sparse.indptr[row]..sparse.indptr[row + 1];
                (&sparse.indices[entries.clone()], &sparse.values[entries])
            }
        };
        indices.hash(hasher);
        values.iter().for_each(|value| value.to_bits().hash(hasher));
    }

    /// Copies the rows listed, in that order.
    ///
    /// # Panics
    /// If a row number is not below [`Features::rows`].
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Self {
        match self {
            Self::Dense(dense) => {
                let mut values = Vec::with_capacity(rows.len() * dense.columns);
                rows.iter().for_each(|row| values.extend_from_slice(dense.row(*row as usize)));
                Self::Dense(Dense { rows: rows.len(), columns: dense.columns, values })
            }
            Self::Sparse(sparse) => {
                let entries = rows.iter().map(|row| sparse.range(*row as usize).len()).sum();
                let mut selected = Sparse {
                    rows: rows.len(),
                    columns: sparse.columns,
                    indptr: Vec::with_capacity(rows.len() + 1),
                    indices: Vec::with_capacity(entries),
                    values: Vec::with_capacity(entries),
                };
                selected.indptr.push(0);
                for row in rows {
                    let range = sparse.range(*row as usize);
                    selected.indices.extend_from_slice(&sparse.indices[range.clone()]);
                    selected.values.extend_from_slice(&sparse.values[range]);
                    selected.indptr.push(selected.indices.len());
                }
                Self::Sparse(selected)
            }
        }
    }

    /// Puts the rows in the order listed, which must name each row once; a dense matrix is not copied.
    ///
    /// # Panics
    /// If `order` is not a permutation of the rows.
    pub fn reorder(&mut self, order: &[u32]) {
        assert_eq!(order.len(), self.rows(), "one entry for each row");
        if order.iter().enumerate().all(|(place, row)| place == *row as usize) {
            return;
        }
        match self {
            Self::Sparse(_) => *self = self.select(order),
            Self::Dense(dense) => {
                // Follow each cycle of the permutation with one row set aside.
                let width = dense.columns;
                let mut done = vec![false; order.len()];
                let mut aside = vec![0.0; width];
                for start in 0..order.len() {
                    if done[start] {
                        continue;
                    }
                    aside.copy_from_slice(dense.row(start));
                    let mut to = start;
                    loop {
                        done[to] = true;
                        let from = order[to] as usize;
                        if from == start {
                            dense.values[to * width..][..width].copy_from_slice(&aside);
                            break;
                        }
                        assert!(!done[from], "row {from} is listed twice");
                        dense.values.copy_within(from * width..(from + 1) * width, to * width);
                        to = from;
                    }
                }
            }
        }
    }

    /// The same matrix with zeros written out.
    #[must_use]
    pub fn to_dense(&self) -> Dense {
        match self {
            Self::Dense(dense) => dense.clone(),
            Self::Sparse(sparse) => {
                let mut values = vec![0.0; sparse.rows * sparse.columns];
                for row in 0..sparse.rows {
                    for entry in sparse.range(row) {
                        values[row * sparse.columns + sparse.indices[entry] as usize] = sparse.values[entry];
                    }
                }
                Dense { rows: sparse.rows, columns: sparse.columns, values }
            }
        }
    }
}

impl Dense {
    /// The numbers of one row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.columns..][..self.columns]
    }

    /// The numbers of some rows.
    #[must_use]
    pub fn slice(&self, rows: Range<usize>) -> &[f32] {
        &self.values[rows.start * self.columns..rows.end * self.columns]
    }
}

impl Sparse {
    /// Where the entries of one row are.
    #[must_use]
    pub fn range(&self, row: usize) -> Range<usize> {
        self.indptr[row]..self.indptr[row + 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense() -> Features {
        Features::Dense(Dense { rows: 4, columns: 2, values: vec![0., 1., 10., 11., 20., 21., 30., 31.] })
    }

    fn sparse() -> Features {
        Features::Sparse(Sparse {
            rows: 4,
            columns: 2,
            indptr: vec![0, 1, 3, 5, 7],
            indices: vec![1, 0, 1, 0, 1, 0, 1],
            values: vec![1., 10., 11., 20., 21., 30., 31.],
        })
    }

    #[test]
    fn sparse_and_dense_hold_the_same_numbers() {
        assert_eq!(Features::Dense(sparse().to_dense()), dense());
    }

    #[test]
    fn reordering_in_place_equals_copying() {
        for order in [[2, 0, 3, 1], [1, 0, 3, 2], [0, 1, 2, 3], [3, 2, 1, 0]] {
            for features in [dense(), sparse()] {
                let mut moved = features.clone();
                moved.reorder(&order);
                assert_eq!(moved, features.select(&order));
            }
        }
    }
}
