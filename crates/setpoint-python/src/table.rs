//! Matrices and columns of numpy as tables.

use numpy::ndarray::{ArrayView1, ArrayView2, s};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use setpoint_data::{About, Encoder, Numbers, Table, Values, narrow};

use crate::array::{slice, view};
use crate::error::Wrong;

/// Features as Python hands them over.
#[derive(FromPyObject)]
pub enum PyFeatures<'py> {
    /// A matrix of 32-bit numbers.
    F32(PyReadonlyArray2<'py, f32>),
    /// A matrix of 64-bit numbers.
    F64(PyReadonlyArray2<'py, f64>),
    /// Row starts, columns, values of a sparse matrix, and its number of columns.
    Sparse((PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, u32>, Entries<'py>, usize)),
    /// A frame, column by column.
    Columns(Vec<Column<'py>>),
}

/// The values of a sparse matrix.
#[derive(FromPyObject)]
pub enum Entries<'py> {
    /// 32-bit numbers.
    F32(PyReadonlyArray1<'py, f32>),
    /// 64-bit numbers.
    F64(PyReadonlyArray1<'py, f64>),
}

/// One column of a frame.
#[derive(FromPyObject)]
pub enum Column<'py> {
    /// 64-bit numbers.
    F64(PyReadonlyArray1<'py, f64>),
    /// 32-bit numbers.
    F32(PyReadonlyArray1<'py, f32>),
    /// Seconds since 1970, after a word that says so.
    Times((String, PyReadonlyArray1<'py, f64>)),
    /// Texts, for each row an index into them, `u32::MAX` where it is missing, and whether they are
    /// categories whatever they say.
    Texts((Vec<String>, PyReadonlyArray1<'py, u32>, bool)),
}

/// Features that can be read without Python's lock.
pub enum View<'a> {
    F32(ArrayView2<'a, f32>),
    F64(ArrayView2<'a, f64>),
    Sparse { starts: &'a [i64], indices: &'a [u32], values: EntriesView<'a>, columns: usize },
    Columns(Vec<ColumnView<'a>>),
}

pub enum EntriesView<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
}

pub enum ColumnView<'a> {
    F64(ArrayView1<'a, f64>),
    F32(ArrayView1<'a, f32>),
    Times(ArrayView1<'a, f64>),
    Texts(&'a [String], &'a [u32], bool),
}

impl PyFeatures<'_> {
    /// The same, borrowed.
    pub fn view(&self) -> Result<View<'_>, Wrong> {
        Ok(match self {
            Self::F32(matrix) => View::F32(view(matrix)?),
            Self::F64(matrix) => View::F64(view(matrix)?),
            Self::Sparse((starts, indices, values, columns)) => View::Sparse {
                starts: slice(starts)?,
                indices: slice(indices)?,
                values: match values {
                    Entries::F32(values) => EntriesView::F32(slice(values)?),
                    Entries::F64(values) => EntriesView::F64(slice(values)?),
                },
                columns: *columns,
            },
            Self::Columns(columns) => {
                View::Columns(columns.iter().map(Column::view).collect::<Result<_, _>>()?)
            }
        })
    }
}

impl Column<'_> {
    fn view(&self) -> Result<ColumnView<'_>, Wrong> {
        Ok(match self {
            Self::F64(column) => ColumnView::F64(view(column)?),
            Self::F32(column) => ColumnView::F32(view(column)?),
            Self::Times((_, column)) => ColumnView::Times(view(column)?),
            Self::Texts((texts, of, categories)) => ColumnView::Texts(texts, slice(of)?, *categories),
        })
    }
}

impl<'a> View<'a> {
    /// The table, with an encoder for it.
    pub fn table(self, about: About, names: Vec<String>, encoder: Option<&Encoder>) -> Result<Table, Wrong> {
        let (rows, values): (usize, Vec<Values<'_>>) = match self {
            Self::F32(matrix) => {
                let columns = (0..matrix.ncols()).map(|column| matrix.slice_move(s![.., column]));
                (matrix.nrows(), columns.map(|column| Values::Numbers(Box::new(Plain(column)))).collect())
            }
            Self::F64(matrix) => {
                let columns = (0..matrix.ncols()).map(|column| matrix.slice_move(s![.., column]));
                (matrix.nrows(), columns.map(|column| Values::Numbers(Box::new(Rounded(column)))).collect())
            }
            Self::Columns(columns) => {
                let rows = columns.first().map_or(0, ColumnView::rows);
                (rows, columns.into_iter().map(|column| column.values()).collect())
            }
            Self::Sparse { starts, indices, values, columns } => {
                return sparse(about, starts, indices, values, columns, encoder);
            }
        };
        if values.len() != names.len() {
            return Err(Wrong::input(format!(
                "X has {} columns and {} names: expected one name for each",
                values.len(),
                names.len()
            )));
        }
        Ok(Table::from_memory(about, rows, names.into_iter().zip(values).collect(), encoder)?)
    }
}

fn sparse(
    about: About,
    starts: &[i64],
    indices: &[u32],
    values: EntriesView<'_>,
    columns: usize,
    encoder: Option<&Encoder>,
) -> Result<Table, Wrong> {
    if let Some(expected) = encoder.and_then(Encoder::sparse_width)
        && expected != columns
    {
        return Err(Wrong::input(format!("X has {columns} columns; the model was trained on {expected}")));
    }
    let starts = starts.iter().map(|start| *start as usize).collect();
    let indices = indices.to_vec();
    Ok(match values {
        EntriesView::F32(values) => Table::from_sparse(about, starts, indices, values, columns, encoder),
        EntriesView::F64(values) => Table::from_sparse(about, starts, indices, values, columns, encoder),
    }
    .map_err(setpoint_data::Error::from)?)
}

impl<'a> ColumnView<'a> {
    fn rows(&self) -> usize {
        match self {
            Self::F64(column) | Self::Times(column) => column.len(),
            Self::F32(column) => column.len(),
            Self::Texts(_, of, _) => of.len(),
        }
    }

    fn values(self) -> Values<'a> {
        match self {
            Self::F64(column) => Values::Numbers(Box::new(Rounded(column))),
            Self::F32(column) => Values::Numbers(Box::new(Plain(column))),
            Self::Times(column) => Values::Times(Box::new(Rounded(column))),
            Self::Texts(texts, of, categories) => {
                Values::Texts { categories, texts: texts.to_vec(), of: of.to_vec() }
            }
        }
    }
}

/// Copies rows of a column; returns whether `number` says that one had to be rounded.
fn copy<T: Copy>(
    column: &ArrayView1<'_, T>,
    start: usize,
    out: &mut [f32],
    number: impl Fn(T) -> (f32, bool),
) -> bool {
    let mut rounded = false;
    let values = column.slice(s![start..start + out.len()]);
    for (out, value) in out.iter_mut().zip(&values) {
        let (kept, lost) = number(*value);
        *out = kept;
        rounded |= lost;
    }
    rounded
}

struct Plain<'a>(ArrayView1<'a, f32>);

impl Numbers for Plain<'_> {
    fn copy(&self, start: usize, offset: f64, out: &mut [f32]) -> bool {
        if offset == 0.0 {
            return copy(&self.0, start, out, |value| (value, false));
        }
        copy(&self.0, start, out, |value| narrow(value.into(), offset))
    }
}

struct Rounded<'a>(ArrayView1<'a, f64>);

impl Numbers for Rounded<'_> {
    fn copy(&self, start: usize, offset: f64, out: &mut [f32]) -> bool {
        copy(&self.0, start, out, |value| narrow(value, offset))
    }
}
