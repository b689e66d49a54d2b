//! Rows of features as trees take them: dense with NaN for what is missing, or compressed.
//!
//! Where a compressed row has no entry, the value is 0, as in LightGBM. Categories are codes from 0 on.

use std::ops::Range;

use rayon::prelude::*;
use setpoint::Sample;
use setpoint::features::Sparse;

use crate::error::TreesError;

/// Rows of features, checked when made.
#[derive(Clone, Copy, Debug)]
pub struct FeatureView<'a>(Layout<'a>);

/// How they lie in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layout<'a> {
    Dense { values: &'a [f32], columns: usize },
    Sparse { starts: &'a [usize], indices: &'a [u32], values: &'a [f32], columns: usize },
}

impl<'a> FeatureView<'a> {
    /// Row after row, each of `columns` values; NaN is a missing value.
    ///
    /// # Errors
    /// If there is no value, or their number is not a multiple of `columns`.
    pub fn dense(values: &'a [f32], columns: usize) -> Result<Self, TreesError> {
        if columns == 0 || values.is_empty() || !values.len().is_multiple_of(columns) {
            return Err(TreesError::Shape {
                found: format!("{} values for rows of {columns}", values.len()),
                expected: "at least one whole row",
            });
        }
        Ok(Self(Layout::Dense { values, columns }))
    }

    /// Compressed rows: row i has `values[starts[i]..starts[i + 1]]` in the columns
    /// `indices[starts[i]..starts[i + 1]]`, which ascend.
    ///
    /// # Errors
    /// If there is no row or column, the starts do not ascend from 0 to the number of values, the
    /// lengths differ, or a row's columns do not ascend or are too large.
    pub fn sparse(
        starts: &'a [usize],
        indices: &'a [u32],
        values: &'a [f32],
        columns: usize,
    ) -> Result<Self, TreesError> {
        let shape = |found: String, expected| Err(TreesError::Shape { found, expected });
        if starts.len() < 2 || columns == 0 {
            return shape(format!("{} row starts, {columns} columns", starts.len()), "a row and a column");
        }
        if indices.len() != values.len() {
            let found = format!("{} column numbers for {} values", indices.len(), values.len());
            return shape(found, "one for each value");
        }
        let ascend = starts.windows(2).all(|pair| pair[0] <= pair[1]);
        if !ascend || starts[0] != 0 || starts[starts.len() - 1] != values.len() {
            return shape("row starts".to_owned(), "numbers that ascend from 0 to the number of values");
        }
        for (row, pair) in starts.windows(2).enumerate() {
            let indices = &indices[pair[0]..pair[1]];
            let ascend = indices.windows(2).all(|pair| pair[0] < pair[1]);
            if !ascend || indices.last().is_some_and(|last| *last as usize >= columns) {
                return shape(
                    format!("columns {indices:?} in row {row}"),
                    "columns that ascend, each below the number of columns",
                );
            }
        }
        Ok(Self(Layout::Sparse { starts, indices, values, columns }))
    }

    /// No row, where rows are elsewhere.
    pub(crate) fn none(columns: usize) -> Self {
        Self(Layout::Dense { values: &[], columns })
    }

    pub(crate) fn layout(&self) -> &Layout<'a> {
        &self.0
    }

    /// All values, row after row; `None` of compressed rows.
    #[must_use]
    pub fn values(&self) -> Option<&'a [f32]> {
        match self.0 {
            Layout::Dense { values, .. } => Some(values),
            Layout::Sparse { .. } => None,
        }
    }

    /// Number of rows, at least one.
    #[must_use]
    pub fn rows(&self) -> usize {
        match self.0 {
            Layout::Dense { values, columns } => values.len() / columns,
            Layout::Sparse { starts, .. } => starts.len() - 1,
        }
    }

    /// Number of columns, at least one.
    #[must_use]
    pub fn columns(&self) -> usize {
        match self.0 {
            Layout::Dense { columns, .. } | Layout::Sparse { columns, .. } => columns,
        }
    }
}

/// Rows with what is known of them.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    /// Their features.
    pub features: FeatureView<'a>,
    /// Their labels, weights and groups.
    pub sample: &'a Sample,
    /// Columns whose values are codes of categories, from 0 on.
    pub categorical: &'a [u32],
}

impl Data<'_> {
    /// Checks that there is one label for each row, that numbers are finite, and that
    /// categorical columns hold codes.
    pub(crate) fn check(&self) -> Result<(), TreesError> {
        if self.sample.len() != self.features.rows() {
            return Err(TreesError::Shape {
                found: format!("{} labels for {} rows", self.sample.len(), self.features.rows()),
                expected: "one for each row",
            });
        }
        let columns = self.features.columns();
        if let Some(column) = self.categorical.iter().find(|column| **column as usize >= columns) {
            return Err(TreesError::Shape {
                found: format!("categorical column {column} of {columns}"),
                expected: "a number below that of the columns",
            });
        }
        let (Layout::Dense { values, .. } | Layout::Sparse { values, .. }) = *self.features.layout();
        if let Some(at) = values.par_iter().position_first(|value| value.is_infinite()) {
            return Err(TreesError::Shape {
                found: format!("feature value {} (number {at})", values[at]),
                expected: "finite numbers, or NaN where one is missing",
            });
        }
        let bad = |value: f32| !(value.is_nan() || (0.0..2_147_483_648.0).contains(&value));
        let find = |column: u32, value: f32, row: usize| TreesError::Category { row, column, value };
        match *self.features.layout() {
            Layout::Dense { values, columns } => {
                for column in self.categorical {
                    let column_values = values.iter().skip(*column as usize).step_by(columns);
                    if let Some((row, value)) = column_values.enumerate().find(|(_, value)| bad(**value)) {
                        return Err(find(*column, *value, row));
                    }
                }
            }
            Layout::Sparse { indices, values, starts, .. } if !self.categorical.is_empty() => {
                for (at, (column, value)) in indices.iter().zip(values).enumerate() {
                    if self.categorical.contains(column) && bad(*value) {
                        return Err(find(*column, *value, starts.partition_point(|start| *start <= at) - 1));
                    }
                }
            }
            Layout::Sparse { .. } => {}
        }
        Ok(())
    }
}

/// Rows of features that trees hold.
#[derive(Clone, Debug)]
pub struct Rows(Owned);

#[derive(Clone, Debug)]
enum Owned {
    Dense { values: Vec<f32>, columns: usize },
    Sparse(Sparse),
}

impl From<setpoint::features::Features> for Rows {
    fn from(features: setpoint::features::Features) -> Self {
        let columns = features.columns();
        if features.entries().is_none() {
            return Self(Owned::Dense { values: features.into_row_major(), columns });
        }
        Self(Owned::Sparse(features.into_entries().unwrap_or_default()))
    }
}

impl Rows {
    /// All rows of `first`, if any, then these of `second`; both dense, or both compressed.
    pub(crate) fn stacked(
        first: Option<&FeatureView<'_>>,
        second: &FeatureView<'_>,
        rows: &[u32],
    ) -> Result<Self, TreesError> {
        let first = match (first, second.0) {
            (Some(first), _) => *first,
            (None, Layout::Dense { columns, .. }) => FeatureView::none(columns),
            (None, Layout::Sparse { columns, .. }) => {
                FeatureView(Layout::Sparse { starts: &[0], indices: &[], values: &[], columns })
            }
        };
        if first.columns() != second.columns() {
            return Err(TreesError::Shape {
                found: format!("{} columns beside {}", second.columns(), first.columns()),
                expected: "the same number in every split",
            });
        }
        match (first.0, second.0) {
            (Layout::Dense { values, columns }, Layout::Dense { values: others, .. }) => {
                let mut stacked = Vec::with_capacity(values.len() + rows.len() * columns);
                stacked.extend_from_slice(values);
                for row in rows {
                    stacked.extend_from_slice(&others[span(*row, columns)]);
                }
                Ok(Self(Owned::Dense { values: stacked, columns }))
            }
            (
                Layout::Sparse { starts, indices, values, columns },
                Layout::Sparse { starts: other_starts, indices: other_indices, values: other_values, .. },
            ) => {
                let (mut starts, mut indices, mut values) =
                    (starts.to_vec(), indices.to_vec(), values.to_vec());
                for row in rows {
                    let entries = other_starts[*row as usize]..other_starts[*row as usize + 1];
                    indices.extend_from_slice(&other_indices[entries.clone()]);
                    values.extend_from_slice(&other_values[entries]);
                    starts.push(values.len());
                }
                Ok(Self(Owned::Sparse(Sparse { columns, starts, indices, values })))
            }
            _ => Err(TreesError::Shape {
                found: "one split dense, another compressed".to_owned(),
                expected: "the same layout in every split",
            }),
        }
    }

    /// These of the rows, in this order.
    ///
    /// # Errors
    /// Never for rows that there are.
    ///
    /// # Panics
    /// If a row number is too large.
    pub fn select(&self, rows: &[u32]) -> Result<Self, TreesError> {
        Self::stacked(None, &self.view(), rows)
    }

    /// The same rows, but for these columns, which row i has of row `order[i]`.
    ///
    /// # Panics
    /// If there is a row for which there is no number, or no row of that number.
    #[must_use]
    pub fn shuffled(&self, columns: &Range<usize>, order: &[u32]) -> Self {
        Self(match &self.0 {
            Owned::Dense { values, columns: width } => {
                let mut shuffled = values.clone();
                for (into, other) in shuffled.chunks_exact_mut(*width).zip(order) {
                    into[columns.clone()].copy_from_slice(&values[span(*other, *width)][columns.clone()]);
                }
                Owned::Dense { values: shuffled, columns: *width }
            }
            Owned::Sparse(rows) => Owned::Sparse(rows.shuffled(columns, order)),
        })
    }

    /// The rows, to be read.
    #[must_use]
    pub fn view(&self) -> FeatureView<'_> {
        FeatureView(match &self.0 {
            Owned::Dense { values, columns } => Layout::Dense { values, columns: *columns },
            Owned::Sparse(Sparse { columns, starts, indices, values }) => {
                Layout::Sparse { starts, indices, values, columns: *columns }
            }
        })
    }
}

fn span(row: u32, columns: usize) -> Range<usize> {
    row as usize * columns..(row as usize + 1) * columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        assert!(FeatureView::dense(&[1.0; 6], 3).is_ok());
        for (values, columns) in [(6, 4), (0, 3), (6, 0)] {
            assert!(FeatureView::dense(&vec![0.0; values], columns).is_err(), "{values} {columns}");
        }
        let sparse = |starts: &[usize], indices: &[u32]| {
            FeatureView::sparse(starts, indices, &vec![1.0; indices.len()], 3).map(|features| features.rows())
        };
        assert_eq!(sparse(&[0, 2, 2, 3], &[0, 2, 1]).unwrap(), 3);
        for (starts, indices) in [
            (&[0, 2, 1, 3][..], &[0, 1, 2][..]),
            (&[0, 3], &[0, 2, 1]),
            (&[0, 3], &[0, 1, 1]),
            (&[0, 3], &[0, 1, 3]),
            (&[0, 2], &[0, 1, 2]),
            (&[1, 3], &[0, 1, 2]),
            (&[0], &[]),
        ] {
            assert!(sparse(starts, indices).is_err(), "{starts:?} {indices:?}");
        }
    }

    #[test]
    fn stacked_rows_are_those_of_the_parts() {
        let (first, second) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let dense = |values| FeatureView::dense(values, 2).unwrap();
        let stacked = Rows::stacked(Some(&dense(&first)), &dense(&second), &[1]).unwrap();
        let Layout::Dense { values, .. } = *stacked.view().layout() else { panic!("dense") };
        assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 7.0, 8.0]);
        let sparse = |values| FeatureView::sparse(&[0, 1, 2], &[1, 0], values, 2).unwrap();
        let stacked = Rows::stacked(Some(&sparse(&first[..2])), &sparse(&second[..2]), &[1, 0]).unwrap();
        let Layout::Sparse { starts, indices, values, .. } = *stacked.view().layout() else {
            panic!("compressed")
        };
        assert_eq!((starts, indices), (&[0, 1, 2, 3, 4][..], &[1, 0, 0, 1][..]));
        assert_eq!(values, [1.0, 2.0, 6.0, 5.0]);
        let turned = Rows::stacked(None, &dense(&first), &[1, 0]).unwrap();
        let Layout::Dense { values, .. } = *turned.view().layout() else { panic!("dense") };
        assert_eq!(values, [3.0, 4.0, 1.0, 2.0]);
        assert!(Rows::stacked(Some(&dense(&first)), &sparse(&second[..2]), &[]).is_err());
    }

    #[test]
    fn shuffled_columns_are_those_of_other_rows_and_the_rest_stay() {
        let dense = Rows(Owned::Dense { values: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], columns: 2 });
        let shuffled = dense.shuffled(&(1..2), &[2, 0, 1]);
        let Layout::Dense { values, .. } = *shuffled.view().layout() else { panic!("dense") };
        assert_eq!(values, [1.0, 6.0, 3.0, 2.0, 5.0, 4.0]);
        let (starts, indices) = (vec![0, 2, 3], vec![0, 2, 1]);
        let sparse = Sparse { columns: 3, starts, indices, values: vec![1.0, 2.0, 3.0] };
        let shuffled = Rows(Owned::Sparse(sparse)).shuffled(&(1..2), &[1, 0]);
        let Layout::Sparse { starts, indices, values, .. } = *shuffled.view().layout() else {
            panic!("compressed")
        };
        assert_eq!((starts, indices, values), (&[0, 3, 3][..], &[0, 1, 2][..], &[1.0, 3.0, 2.0][..]));
    }

    #[test]
    fn categories_are_codes() {
        let sample = Sample::new(vec![true, false]).unwrap();
        let check = |values: &[f32]| {
            let features = FeatureView::dense(values, 2).unwrap();
            Data { features, sample: &sample, categorical: &[1] }.check()
        };
        assert!(check(&[-1.0, 3.0, 0.5, f32::NAN]).is_ok());
        assert!(check(&[f32::INFINITY, 3.0, 0.5, 1.0]).is_err());
        let error = check(&[-1.0, 3.0, 0.5, -1.0]).unwrap_err().to_string();
        assert!(error.contains("row 1") && error.contains("column 1"), "{error}");
    }
}
