//! The columns of sparse rows: which there are, and what is subtracted from them.
//!
//! Only columns that occur are kept: one index of a hundred million would else ask for as many weights.
//!
//! No entry means 0, so sparse numbers are not centred. A column that needs an offset (see
//! [`crate::offset`]) has entries in most rows, its median being other than 0; the other rows get one
//! too, so that none can stand for the offset.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::matrix::Matrix;
use crate::offset::{SAMPLE, narrow, needed};
use setpoint::features::Sparse;
use setpoint::scratch::ScratchError;

/// Columns up to which a table of all of them is made, however few rows there are.
const FEW: usize = 1 << 16;

/// Which columns of a file or matrix there are, by their index there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Numbering<'a> {
    /// The first index: 0 or 1.
    pub base: u32,
    /// Columns of the file or matrix.
    pub width: usize,
    /// The indices of those that there are, ascending; nothing if that is all of them.
    pub listed: Cow<'a, [u32]>,
}

/// What is subtracted from some columns or indices, ascending.
pub(crate) type Offsets = Vec<(u32, f64)>;

impl Numbering<'_> {
    /// The columns that occur among these indices, which are at least `base` and below `base + width`.
    pub fn occurring(indices: &[u32], base: u32, width: usize) -> Numbering<'static> {
        let mut listed: Vec<u32>;
        if width <= FEW.max(indices.len()) {
            let mut occurs = vec![false; width];
            indices.iter().for_each(|index| occurs[(index - base) as usize] = true);
            listed = (base..).zip(occurs).filter(|(_, occurs)| *occurs).map(|(index, _)| index).collect();
        } else {
            listed = indices.to_vec();
            listed.par_sort_unstable();
            listed.dedup();
        }
        if listed.len() == width {
            listed.clear();
        }
        Numbering { base, width, listed: listed.into() }
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        if self.listed.is_empty() { self.width } else { self.listed.len() }
    }

    /// The index of a column.
    pub fn index(&self, column: u32) -> u32 {
        self.listed.get(column as usize).copied().unwrap_or(self.base + column)
    }

    /// What is subtracted, by index rather than by column.
    pub fn by_index(&self, offsets: &[(u32, f64)]) -> Offsets {
        offsets.iter().map(|(column, offset)| (self.index(*column), *offset)).collect()
    }

    pub fn into_owned(self) -> Numbering<'static> {
        Numbering { listed: self.listed.into_owned().into(), ..self }
    }

    /// Turns a matrix's indices into columns; leaves out entries without one, and returns how many.
    pub fn keep(&self, matrix: &mut Sparse) -> u64 {
        matrix.columns = self.columns();
        let (base, width) = (self.base, self.width);
        if self.listed.is_empty() {
            return renumber(matrix, |index| index.checked_sub(base).filter(|at| (*at as usize) < width));
        }
        let table_size = self.listed.last().map_or(0, |last| *last as usize + 1);
        if table_size > FEW.max(matrix.indices.len()) {
            return renumber(matrix, |index| self.listed.binary_search(&index).ok().map(|at| at as u32));
        }
        let mut table = vec![u32::MAX; table_size];
        self.listed.iter().zip(0..).for_each(|(index, column)| table[*index as usize] = column);
        renumber(matrix, |index| table.get(index as usize).copied().filter(|column| *column != u32::MAX))
    }
}

fn renumber(matrix: &mut Sparse, column: impl Fn(u32) -> Option<u32>) -> u64 {
    let before = matrix.indices.len();
    let mut next = 0;
    let mut start = 0;
    for end in &mut matrix.starts[1..] {
        for entry in start..*end {
            if let Some(column) = column(matrix.indices[entry]) {
                matrix.indices[next] = column;
                matrix.values[next] = matrix.values[entry];
                next += 1;
            }
        }
        start = *end;
        *end = next;
    }
    matrix.indices.truncate(next);
    matrix.values.truncate(next);
    (before - next) as u64
}

/// The offset of a column or index.
#[inline]
pub(crate) fn offset_of(offsets: &[(u32, f64)], index: u32) -> f64 {
    if offsets.is_empty() {
        return 0.0;
    }
    offsets.binary_search_by_key(&index, |(index, _)| *index).map_or(0.0, |at| offsets[at].1)
}

/// The offsets that columns need, as far as they may hold numbers that were rounded.
pub(crate) fn needed_offsets(
    matrix: &Matrix,
    may_be_rounded: impl Fn(u32) -> bool,
) -> Result<Offsets, ScratchError> {
    let mut entries = vec![0; matrix.columns];
    matrix.each(|_, rows| rows.indices.iter().for_each(|column| entries[*column as usize] += 1))?;
    let mut samples = vec![Vec::new(); matrix.columns];
    let mut sampled = 0;
    let step = matrix.rows.div_ceil(SAMPLE).max(1);
    matrix.each(|first, rows| {
        for row in (first.next_multiple_of(step)..first + rows.rows()).step_by(step) {
            sampled += 1;
            for entry in rows.range(row - first) {
                let column = rows.indices[entry] as usize;
                // The median of the others is 0.
                if entries[column] > matrix.rows / 2 {
                    samples[column].push(rows.values[entry]);
                }
            }
        }
    })?;
    let of = |(column, mut sample): (u32, Vec<f32>)| {
        if sample.is_empty() || !may_be_rounded(column) {
            return None;
        }
        sample.resize(sampled, 0.0);
        Some((column, needed(sample, 0.0)?))
    };
    Ok((0..).zip(samples).filter_map(of).collect())
}

/// Gives each row an entry in each column with an offset.
pub(crate) fn fill(matrix: &mut Sparse, offsets: &[(u32, f64)]) {
    if offsets.is_empty() {
        return;
    }
    let mut filled = Sparse { columns: matrix.columns, starts: vec![0], ..Sparse::default() };
    for row in 0..matrix.rows() {
        let mut absent = offsets.iter().peekable();
        for entry in matrix.range(row) {
            let column = matrix.indices[entry];
            while let Some((before, offset)) = absent.next_if(|(other, _)| *other < column) {
                filled.indices.push(*before);
                filled.values.push(narrow(0.0, *offset).0);
            }
            absent.next_if(|(other, _)| *other == column);
            filled.indices.push(column);
            filled.values.push(matrix.values[entry]);
        }
        for (after, offset) in absent {
            filled.indices.push(*after);
            filled.values.push(narrow(0.0, *offset).0);
        }
        filled.starts.push(filled.indices.len());
    }
    *matrix = filled;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[(u32, f32)]]) -> Sparse {
        let mut matrix = Sparse { starts: vec![0], ..Sparse::default() };
        for row in rows {
            matrix.indices.extend(row.iter().map(|(index, _)| *index));
            matrix.values.extend(row.iter().map(|(_, value)| *value));
            matrix.starts.push(matrix.indices.len());
        }
        matrix
    }

    #[test]
    fn only_columns_that_occur_are_kept() {
        for largest in [9, 4_000_000_000] {
            let mut found = matrix(&[&[(2, 1.0), (largest, 2.0)], &[], &[(5, 3.0)]]);
            let numbering = Numbering::occurring(&found.indices, 1, largest as usize);
            assert_eq!(numbering.listed[..], [2, 5, largest]);
            assert_eq!(numbering.keep(&mut found), 0);
            assert_eq!((found.columns, &found.indices[..]), (3, &[0, 2, 1][..]));
            assert_eq!([0, 1, 2].map(|column| numbering.index(column)), [2, 5, largest]);
            let mut more = matrix(&[&[(1, 1.0), (2, 2.0)], &[(5, 3.0), (6, 4.0), (u32::MAX, 5.0)]]);
            assert_eq!(numbering.keep(&mut more), 3);
            assert_eq!((more.starts, more.indices, more.values), (vec![0, 1, 2], vec![0, 1], vec![2.0, 3.0]));
        }
        assert_eq!(Numbering::occurring(&[1, 2, 3], 1, 3).listed.len(), 0);
    }

    #[test]
    fn a_column_with_an_offset_has_an_entry_in_each_row() {
        let mut found = matrix(&[&[(0, 1.0), (1, 7.0)], &[(2, 2.0)], &[]]);
        found.columns = 3;
        fill(&mut found, &[(1, 1e8)]);
        assert_eq!(found.starts, [0, 2, 4, 5]);
        assert_eq!(found.indices, [0, 1, 1, 2, 1]);
        assert_eq!(found.values, [1.0, 7.0, -1e8, 2.0, -1e8]);
    }

    #[test]
    fn most_rows_must_have_an_entry_for_an_offset() {
        let (time, other) = ([(0, 1e8), (1, 0.5)], [(1, -0.5)]);
        for (rows, expected) in
            [(vec![&time[..]; 9], vec![(0, 1e8)]), (vec![&time[..], &other[..], &other[..]], vec![])]
        {
            let mut found = matrix(&rows);
            found.columns = 2;
            assert_eq!(needed_offsets(&found.into(), |column| column == 0).unwrap(), expected);
        }
    }
}
