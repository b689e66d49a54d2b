//! Rows of features, from the reader to the model, each column as it is.
//!
//! ```text
//! numbers      f32, in tiles of 64 rows                     one column each
//! categories   a code per row; one-hot is never written     one column for each category
//! entries      compressed rows (CSR) over all columns       what a sparse file has, and texts
//! ```
//!
//! A category's column is 1 in its rows and 0 in all others, standardised: (x - mean) / scale. A model
//! sees [`Features::columns`] columns, in the order of the [`Layout`], however they are stored.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::count::CHUNK;
use crate::model::{ModelError, check_length, check_rows};

mod apart;
mod code;
mod dense;
mod kernel;
mod pass;
mod sparse;
mod stored;

use code::{Field, Pack};
use dense::Tiles;
use kernel::TILE;

pub(crate) use pass::{Kept, Slopes, Turn};
pub use sparse::Sparse;
pub use stored::Stored;
pub(crate) use stored::StoredScores;

/// `(x - mean) / scale`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Mean over the training rows.
    pub mean: f32,
    /// Standard deviation over the training rows, or 1 where that is 0.
    pub scale: f32,
}

impl Scaling {
    /// A number, standardised.
    #[must_use]
    pub fn apply(self, value: f32) -> f32 {
        (value - self.mean) / self.scale
    }
}

/// Which columns there are, and how each is stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    columns: usize,
    /// The columns that are numbers.
    numbers: Vec<usize>,
    fields: Vec<Field>,
    /// How many different codes each pack of fields has; those of one field with many categories apart.
    narrow: Vec<usize>,
    wide: Vec<usize>,
}

impl Layout {
    /// Adds a column of numbers.
    pub fn add_number(&mut self) {
        self.numbers.push(self.columns);
        self.columns += 1;
    }

    /// Adds a column for each of these categories. A row has one of them, or none.
    pub fn add_categories(&mut self, scalings: Vec<Scaling>) {
        let first = self.columns;
        self.columns += scalings.len();
        self.fields.push(Field::new(first, scalings, &mut self.narrow, &mut self.wide));
    }

    /// Adds so many columns that rows have entries in.
    pub fn add_entries(&mut self, columns: usize) {
        self.columns += columns;
    }

    /// Number of columns, as a model sees them.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// A linear model's bias with what absent categories add: what every score starts from.
    ///
    /// # Panics
    /// If there are fewer weights than columns.
    #[must_use]
    pub fn bias(&self, weights: &[f32], bias: f32) -> f32 {
        let absent = self.fields.iter().flat_map(|field| field.weighted(weights));
        absent.fold(f64::from(bias), |bias, (weight, scaling)| {
            bias - f64::from(weight) * f64::from(scaling.mean) / f64::from(scaling.scale)
        }) as f32
    }

    /// In which order a linear model adds up what categories give, after its numbers: each list of lists
    /// is a sum of sums of fields, from 0, which is then added to the score.
    #[must_use]
    pub fn sums(&self) -> Vec<Vec<Vec<usize>>> {
        let of = |pack: Pack| -> Vec<usize> {
            (0..self.fields.len()).filter(|field| self.fields[*field].pack == pack).collect()
        };
        let narrow: Vec<Vec<usize>> = (0..self.narrow.len()).map(|pack| of(Pack::Narrow(pack))).collect();
        let wide = (0..self.wide.len()).map(|pack| vec![of(Pack::Wide(pack))]);
        narrow.chunks(code::TOGETHER).map(<[_]>::to_vec).chain(wide).collect()
    }

    /// Whether rows have entries in some columns.
    fn has_entries(&self) -> bool {
        let others = self.fields.iter().map(|field| field.scalings.len()).sum::<usize>();
        self.columns > self.numbers.len() + others
    }

    /// Bytes that so many rows take, entries aside; `None` if they are too many to count.
    #[must_use]
    pub fn bytes(&self, rows: usize) -> Option<usize> {
        let row = size_of::<f32>() * self.numbers.len()
            + size_of::<u16>() * self.narrow.len()
            + size_of::<u32>() * self.wide.len();
        rows.checked_add(TILE)?.checked_mul(row)
    }

    /// Rows of a chunk of numbers, and of one of codes, whose sums are added up in order. Beyond a chunk of counts
    /// both are the same whole number of those, so that one walk over the rows can serve all.
    fn chunk_rows(&self, rows: usize) -> (usize, usize) {
        let (numbers, codes) = (dense::chunk_rows(self.numbers.len(), rows), code::chunk_rows(self, rows));
        if rows <= CHUNK {
            return (numbers, codes);
        }
        let rows = if self.fields.is_empty() { numbers } else { numbers.max(codes) };
        (rows.next_multiple_of(CHUNK), rows.next_multiple_of(CHUNK))
    }

    /// Writes the gradient of the numbers' columns and of the bias, which is returned.
    fn write_gradient(&self, totals: &[f64], gradient: &mut [f64]) -> f64 {
        for (column, total) in self.numbers.iter().zip(totals) {
            gradient[*column] = *total;
        }
        gradient[self.columns] = totals[self.numbers.len()];
        gradient[self.columns]
    }
}

/// A row of features for each example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Features {
    layout: Arc<Layout>,
    rows: usize,
    numbers: Tiles,
    narrow: Vec<Vec<u16>>,
    wide: Vec<Vec<u32>>,
    entries: Option<Sparse>,
}

/// What passes over the rows keep from one to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    weights: Vec<f32>,
    tables: code::Tables,
    partials: Vec<f64>,
    totals: Vec<f64>,
}

impl Features {
    /// So many rows of zeros without any category, to be filled.
    #[must_use]
    pub fn zeros(layout: Arc<Layout>, rows: usize) -> Self {
        let numbers = Tiles::zeros(rows, layout.numbers.len());
        let narrow = layout.narrow.iter().map(|_| vec![0; rows]).collect();
        let wide = layout.wide.iter().map(|_| vec![0; rows]).collect();
        Self { layout, rows, numbers, narrow, wide, entries: None }
    }

    /// No rows of these columns, to be [appended](Features::append) to.
    pub(crate) fn none(layout: Arc<Layout>) -> Self {
        let columns = layout.columns;
        let entries = layout.has_entries().then(|| Sparse { columns, starts: vec![0], ..Sparse::default() });
        Self { entries, ..Self::zeros(layout, 0) }
    }

    /// Takes over a row-major matrix of numbers.
    ///
    /// # Errors
    /// If there are no values, they do not fill whole rows, or one is NaN or infinite.
    pub fn from_row_major(values: Vec<f32>, columns: usize) -> Result<Self, ModelError> {
        if columns != 0 && !values.len().is_multiple_of(columns) {
            return Err(ModelError::Ragged { values: values.len(), columns });
        }
        let mut layout = Layout::default();
        (0..columns).for_each(|_| layout.add_number());
        let rows = values.len() / columns.max(1);
        check_shape(rows, columns)?;
        let numbers = Tiles::from_row_major(values, columns);
        let features = Self { rows, numbers, ..Self::zeros(layout.into(), 0) };
        features.check()?;
        Ok(features)
    }

    /// The same with entries in columns that are neither numbers nor categories.
    ///
    /// # Errors
    /// If the entries are not of so many rows and columns, or are not sound.
    pub fn with_entries(self, entries: Sparse) -> Result<Self, ModelError> {
        check_length("rows of entries", self.rows, entries.rows())?;
        check_length("columns of entries", self.columns(), entries.columns)?;
        if self.rows > 0 {
            entries.check()?;
        }
        Ok(Self { entries: Some(entries), ..self })
    }

    /// Takes over compressed rows.
    ///
    /// # Errors
    /// If there is no row or column, the row starts do not ascend from 0 to the number of values,
    /// lengths differ, a column number is too large, or a value is NaN or infinite.
    pub fn from_csr(entries: Sparse) -> Result<Self, ModelError> {
        entries.check()?;
        let layout = Layout { columns: entries.columns, ..Layout::default() };
        let rows = entries.rows();
        Ok(Self { rows, entries: Some(entries), ..Self::zeros(layout.into(), 0) })
    }

    /// Number of examples.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of features of each example.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.layout.columns
    }

    /// How its columns are stored.
    #[must_use]
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// The compressed rows, if that is what they are.
    #[must_use]
    pub fn entries(&self) -> Option<&Sparse> {
        self.entries.as_ref()
    }

    /// The same, to keep.
    #[must_use]
    pub fn into_entries(self) -> Option<Sparse> {
        self.entries
    }

    /// Checks that there are rows and columns, and that numbers are finite.
    ///
    /// # Errors
    /// Naming the first number that is not.
    pub fn check(&self) -> Result<(), ModelError> {
        check_shape(self.rows, self.columns())?;
        let Some((row, number, value)) = self.numbers.not_finite() else { return Ok(()) };
        Err(ModelError::Feature { row, column: self.layout.numbers[number], value })
    }

    /// Fills some rows. `number` writes the values that some of them have in a column of numbers, counted
    /// among those; `place` the categories that they have in a field, from 1, or 0 for none of them. Both are
    /// given rows as counted from the first of `rows`.
    ///
    /// # Panics
    /// If there are no such rows, or they were filled before.
    pub fn fill(
        &mut self,
        rows: Range<usize>,
        number: impl Fn(usize, Range<usize>, &mut [f32]) + Sync,
        place: impl Fn(usize, Range<usize>, &mut [u32]) + Sync,
    ) {
        let Self { layout, numbers, narrow, wide, .. } = self;
        numbers.fill(rows.clone(), number);
        narrow.par_iter_mut().enumerate().for_each(|(pack, codes)| {
            let codes = &mut codes[rows.clone()];
            code::fill(layout, Pack::Narrow(pack), codes.len(), &place, |row, code| {
                codes[row] += code as u16
            });
        });
        wide.par_iter_mut().enumerate().for_each(|(pack, codes)| {
            let codes = &mut codes[rows.clone()];
            code::fill(layout, Pack::Wide(pack), codes.len(), &place, |row, code| codes[row] += code as u32);
        });
    }

    /// Gives a column of numbers these values, one for each row.
    ///
    /// # Panics
    /// If it is no column of numbers, or there are more values than rows.
    pub fn set_numbers(&mut self, column: usize, values: &[f32]) {
        let number = self.layout.numbers.iter().position(|known| *known == column);
        self.numbers.set(number.expect("a column of numbers"), values);
    }

    /// Writes one row out, as a model sees it.
    ///
    /// # Panics
    /// If `row` is not below [`Features::rows`], or `into` has not one place for each column.
    pub fn write_row(&self, row: usize, into: &mut [f32]) {
        if let Some(entries) = &self.entries {
            into.fill(0.0);
            let (columns, values) = entries.entries(row);
            columns.iter().zip(values).for_each(|(column, value)| into[*column as usize] += value);
        }
        let numbers = self.layout.numbers.iter().zip(self.numbers.row(row));
        numbers.for_each(|(column, value)| into[*column] = value);
        for field in &self.layout.fields {
            let code = match field.pack {
                Pack::Narrow(pack) => usize::from(self.narrow[pack][row]),
                Pack::Wide(pack) => self.wide[pack][row] as usize,
            };
            field.write(code, into);
        }
    }

    /// All values, row after row; numbers alone are rearranged where they are.
    #[must_use]
    pub fn into_row_major(self) -> Vec<f32> {
        let columns = self.columns();
        if self.layout.numbers.len() == columns {
            return self.numbers.into_row_major();
        }
        let mut values = vec![0.0; self.rows * columns];
        let rows = values.par_chunks_exact_mut(columns.max(1)).enumerate();
        rows.for_each(|(row, into)| self.write_row(row, into));
        values
    }

    /// The columns before this one, and those from it on, which are all numbers.
    ///
    /// # Panics
    /// If some of those are no numbers.
    #[must_use]
    pub fn split_off(self, first: usize) -> (Self, Self) {
        let columns = self.columns();
        let own = self.layout.numbers.partition_point(|column| *column < first);
        assert_eq!(
            columns - first,
            self.layout.numbers.len() - own,
            "columns from {first} on that are numbers"
        );
        let mut layout = (*self.layout).clone();
        layout.columns = first;
        layout.numbers.truncate(own);
        let mut behind = Layout::default();
        (first..columns).for_each(|_| behind.add_number());
        let (numbers, rest) = self.numbers.split_off(own);
        let behind = Self { rows: self.rows, numbers: rest, ..Self::zeros(behind.into(), 0) };
        let entries = self.entries.map(|entries| Sparse { columns: first, ..entries });
        (Self { layout: layout.into(), numbers, entries, ..self }, behind)
    }

    /// Feeds one row to a hasher: equal rows alike.
    ///
    /// # Panics
    /// If the row number is not below [`Features::rows`].
    pub fn hash_row(&self, row: usize, hasher: &mut impl Hasher) {
        self.numbers.row(row).for_each(|value| value.to_bits().hash(hasher));
        self.narrow.iter().for_each(|codes| codes[row].hash(hasher));
        self.wide.iter().for_each(|codes| codes[row].hash(hasher));
        if let Some((columns, values)) = self.entries.as_ref().map(|entries| entries.entries(row)) {
            columns.hash(hasher);
            values.iter().for_each(|value| value.to_bits().hash(hasher));
        }
    }

    /// Copies the rows listed, in that order.
    ///
    /// # Errors
    /// If a row number is not below [`Features::rows`].
    pub fn select(&self, rows: &[u32]) -> Result<Self, ModelError> {
        check_rows(rows, self.rows)?;
        let mut selected = self.no_rows();
        self.gather(rows, &mut selected);
        Ok(selected)
    }

    /// The same rows, but for these columns, which row i has of row `order[i]`.
    ///
    /// Columns of a category or a text go together: a range that cuts one moves those that begin in it.
    ///
    /// # Errors
    /// If there is not one row number for each row, each below [`Features::rows`].
    pub fn shuffled(&self, columns: &Range<usize>, order: &[u32]) -> Result<Self, ModelError> {
        check_length("row numbers", self.rows, order.len())?;
        check_rows(order, self.rows)?;
        let mut shuffled = self.clone();
        for (number, column) in self.layout.numbers.iter().enumerate() {
            if columns.contains(column) {
                self.numbers.reorder(number, order, &mut shuffled.numbers);
            }
        }
        for field in self.layout.fields.iter().filter(|field| columns.contains(&field.first)) {
            match field.pack {
                Pack::Narrow(pack) => {
                    let (from, into) = (&self.narrow[pack], &mut shuffled.narrow[pack]);
                    let part = |row: usize| field.part(usize::from(from[row])) as u16;
                    into.iter_mut()
                        .zip(order)
                        .enumerate()
                        .for_each(|(row, (code, other))| *code = *code - part(row) + part(*other as usize));
                }
                Pack::Wide(pack) => {
                    let (from, into) = (&self.wide[pack], &mut shuffled.wide[pack]);
                    into.iter_mut().zip(order).for_each(|(code, other)| *code = from[*other as usize]);
                }
            }
        }
        shuffled.entries = self.entries.as_ref().map(|entries| entries.shuffled(columns, order));
        Ok(shuffled)
    }

    /// A matrix of the same columns to gather rows into.
    pub(crate) fn no_rows(&self) -> Self {
        let entries = self.entries.as_ref().map(Sparse::no_rows);
        Self { entries, ..Self::zeros(Arc::clone(&self.layout), 0) }
    }

    pub(crate) fn gather(&self, rows: &[u32], into: &mut Self) {
        fn pick<T: Copy>(from: &[Vec<T>], rows: &[u32], into: &mut [Vec<T>]) {
            for (from, into) in from.iter().zip(into) {
                into.clear();
                into.extend(rows.iter().map(|row| from[*row as usize]));
            }
        }
        into.rows = rows.len();
        self.numbers.gather(rows, &mut into.numbers);
        pick(&self.narrow, rows, &mut into.narrow);
        pick(&self.wide, rows, &mut into.wide);
        if let (Some(entries), Some(into)) = (&self.entries, &mut into.entries) {
            entries.gather(rows, into);
        }
    }

    /// Adds the rows of another; `None` if it has other columns.
    #[must_use]
    pub fn append(&mut self, other: &Self) -> Option<()> {
        if self.layout != other.layout {
            return None;
        }
        self.rows += other.rows;
        self.numbers.append(&other.numbers);
        self.narrow.iter_mut().zip(&other.narrow).for_each(|(codes, more)| codes.extend_from_slice(more));
        self.wide.iter_mut().zip(&other.wide).for_each(|(codes, more)| codes.extend_from_slice(more));
        if let (Some(entries), Some(more)) = (&mut self.entries, &other.entries) {
            entries.append(more);
        }
        Some(())
    }

    /// Scores X w + b.
    pub(crate) fn scores(&self, weights: &[f32], bias: f32, work: &mut Work, scores: &mut [f32]) {
        let Work { weights: of_numbers, tables, .. } = work;
        of_numbers.clear();
        of_numbers.extend(self.layout.numbers.iter().map(|column| weights[*column]));
        tables.build(&self.layout, weights);
        let bias = self.layout.bias(weights, bias);
        let cost = 4 * (self.narrow.len() + self.wide.len());
        self.numbers.scores(of_numbers, bias, scores, cost, |start, scores| {
            tables.add(&self.narrow, &self.wide, start, scores);
        });
        if let Some(entries) = &self.entries {
            entries.add_scores(weights, scores);
        }
    }

    /// `gradient` = X^T v, then the sum of v.
    pub(crate) fn backward(&self, v: &[f32], work: &mut Work, gradient: &mut [f64]) {
        if let Some(entries) = &self.entries {
            entries.backward(v, work, gradient);
            if self.layout.numbers.is_empty() && self.layout.fields.is_empty() {
                return;
            }
        }
        let Work { partials, totals, .. } = work;
        let (of_numbers, of_codes) = self.layout.chunk_rows(self.rows);
        self.numbers.backward(of_numbers, v, partials, totals);
        let sum = self.layout.write_gradient(totals, gradient);
        if !self.layout.fields.is_empty() {
            let codes = (&self.narrow[..], &self.wide[..]);
            code::backward(&self.layout, codes, of_codes, v, partials, totals);
            code::write_gradient(&self.layout, totals, sum, gradient);
        }
    }
}

fn check_shape(rows: usize, columns: usize) -> Result<(), ModelError> {
    let limit = u32::MAX as usize;
    if rows == 0 || columns == 0 {
        return Err(ModelError::Empty { rows, columns });
    }
    for (what, got) in [("rows", rows), ("columns", columns)] {
        if got > limit {
            return Err(ModelError::TooLarge { what, got, limit });
        }
    }
    Ok(())
}

/// Adds rows of partial sums, in order.
fn add_in_order(partials: &[f64], totals: &mut Vec<f64>, width: usize) {
    const BLOCK: usize = 4096;
    totals.clear();
    totals.resize(width, 0.0);
    let add = |(block, totals): (usize, &mut [f64])| {
        for partial in partials.chunks_exact(width) {
            let partial = &partial[block * BLOCK..][..totals.len()];
            totals.iter_mut().zip(partial).for_each(|(total, partial)| *total += partial);
        }
    };
    if width <= BLOCK {
        add((0, totals));
    } else {
        totals.par_chunks_mut(BLOCK).enumerate().for_each(add);
    }
}

#[cfg(test)]
mod tests;
