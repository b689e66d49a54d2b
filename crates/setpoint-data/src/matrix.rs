//! Sparse rows of a table: in memory, or in a scratch file where they are too many for it.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use setpoint::features::Sparse;
use setpoint::scratch::{Scratch, ScratchError};

use crate::read::{BESIDE, ReadError, Spill};

/// Bytes of rows that are held together once others are in a scratch file, about.
const PART: usize = 16 << 20;

/// Rows in their order, some at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matrix {
    pub columns: usize,
    pub rows: usize,
    parts: Vec<Part>,
    scratch: Option<Arc<Scratch>>,
}

#[derive(Clone, Debug)]
enum Part {
    Here(Sparse),
    Away(Place),
}

/// Where rows are in the scratch file: their starts, then indices, then values.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: u64,
    rows: usize,
    entries: usize,
}

impl From<Sparse> for Matrix {
    fn from(rows: Sparse) -> Self {
        Self { columns: rows.columns, rows: rows.rows(), parts: vec![Part::Here(rows)], scratch: None }
    }
}

impl Matrix {
    /// Adds rows, which end at these of the entries.
    pub fn append(&mut self, ends: &[usize], indices: &[u32], values: &[f32]) {
        if !matches!(self.parts.last(), Some(Part::Here(_))) {
            let columns = self.columns;
            self.parts.push(Part::Here(Sparse { columns, starts: vec![0], ..Sparse::default() }));
        }
        let Some(Part::Here(rows)) = self.parts.last_mut() else { return };
        let start = rows.indices.len();
        rows.starts.extend(ends.iter().map(|end| start + end));
        rows.indices.extend_from_slice(indices);
        rows.values.extend_from_slice(values);
        self.rows += ends.len();
    }

    /// Takes rows to the scratch file once they are too many for memory, and from then on all.
    pub fn spill(&mut self, spill: Option<&Spill>, ended: bool) -> Result<(), ReadError> {
        let (Some(spill), Some(Part::Here(rows))) = (spill, self.parts.last()) else { return Ok(()) };
        let bytes = Place::of(0, rows).bytes();
        let most = if self.scratch.is_some() { PART.min(spill.bytes) } else { spill.bytes };
        let beside = if self.scratch.is_some() { 0 } else { rows.rows() * BESIDE };
        if bytes + beside <= most && !(ended && self.scratch.is_some()) {
            return Ok(());
        }
        let scratch = match &self.scratch {
            Some(scratch) => scratch,
            None => self.scratch.insert(Arc::new(Scratch::create(&spill.directory)?)),
        };
        let place = Place::of(scratch.reserve(bytes), rows);
        place.write(scratch, rows)?;
        self.parts.pop();
        self.parts.push(Part::Away(place));
        Ok(())
    }

    /// The folder of the scratch file that its rows are in.
    pub fn folder(&self) -> Option<&Path> {
        self.scratch.as_ref().map(|scratch| scratch.directory())
    }

    /// Its rows, where all are in memory.
    pub fn here(&self) -> Option<&Sparse> {
        match &self.parts[..] {
            [Part::Here(rows)] => Some(rows),
            _ => None,
        }
    }

    /// All rows, some at a time, each time with the number of the first.
    pub fn each(&self, mut take: impl FnMut(usize, &Sparse)) -> Result<(), ScratchError> {
        let mut first = 0;
        for part in &self.parts {
            let rows = match part {
                Part::Here(rows) => {
                    take(first, rows);
                    rows.rows()
                }
                Part::Away(place) => {
                    take(first, &self.load(place)?);
                    place.rows
                }
            };
            first += rows;
        }
        Ok(())
    }

    /// Changes its rows, some at a time.
    pub fn change(&mut self, mut change: impl FnMut(usize, &mut Sparse)) -> Result<(), ScratchError> {
        let (mut first, mut columns, mut parts) = (0, self.columns, std::mem::take(&mut self.parts));
        for part in &mut parts {
            let before = match part {
                Part::Here(rows) => {
                    let before = rows.rows();
                    change(first, rows);
                    columns = rows.columns;
                    before
                }
                Part::Away(place) => {
                    let (mut rows, before) = (self.load(place)?, place.rows);
                    change(first, &mut rows);
                    columns = rows.columns;
                    if let Some(scratch) = &self.scratch {
                        let changed = Place::of(place.at, &rows);
                        let fits = changed.bytes() <= place.bytes();
                        let at = if fits { place.at } else { scratch.reserve(changed.bytes()) };
                        *place = Place { at, ..changed };
                        place.write(scratch, &rows)?;
                    }
                    before
                }
            };
            first += before;
        }
        parts.retain(|part| part.rows() > 0);
        (self.columns, self.parts) = (columns, parts);
        self.rows = self.parts.iter().map(Part::rows).sum();
        Ok(())
    }

    /// Its rows, some at a time, to keep.
    pub fn into_parts(self) -> impl Iterator<Item = Result<Sparse, ScratchError>> {
        let Self { columns, rows, parts, scratch } = self;
        let whole = Self { columns, rows, parts: Vec::new(), scratch };
        parts.into_iter().map(move |part| match part {
            Part::Here(rows) => Ok(rows),
            Part::Away(place) => whole.load(&place),
        })
    }

    /// The indices that occur, in no order; of rows in memory, as often as they do.
    pub fn indices(&self) -> Result<Cow<'_, [u32]>, ScratchError> {
        if let Some(rows) = self.here() {
            return Ok(Cow::Borrowed(&rows.indices));
        }
        let mut all: Vec<u32> = Vec::new();
        self.each(|_, rows| {
            all.extend_from_slice(&rows.indices);
            all.par_sort_unstable();
            all.dedup();
        })?;
        Ok(Cow::Owned(all))
    }

    fn load(&self, place: &Place) -> Result<Sparse, ScratchError> {
        let Place { at, rows, entries } = *place;
        let (starts, indices, values) = (vec![0; rows + 1], vec![0; entries], vec![0.0; entries]);
        let mut found = Sparse { columns: self.columns, starts, indices, values };
        if let Some(scratch) = &self.scratch {
            let mut at = at;
            scratch.read(at, &mut found.starts)?;
            at += size_of_val(&found.starts[..]) as u64;
            scratch.read(at, &mut found.indices)?;
            at += size_of_val(&found.indices[..]) as u64;
            scratch.read(at, &mut found.values)?;
        }
        Ok(found)
    }
}

impl Part {
    fn rows(&self) -> usize {
        match self {
            Self::Here(rows) => rows.rows(),
            Self::Away(place) => place.rows,
        }
    }
}

impl Place {
    fn of(at: u64, rows: &Sparse) -> Self {
        Self { at, rows: rows.rows(), entries: rows.values.len() }
    }

    fn bytes(&self) -> usize {
        (self.rows + 1) * size_of::<usize>() + self.entries * (size_of::<u32>() + size_of::<f32>())
    }

    fn write(&self, scratch: &Scratch, rows: &Sparse) -> Result<(), ScratchError> {
        let indices = self.at + size_of_val(&rows.starts[..]) as u64;
        scratch.write(self.at, &rows.starts)?;
        scratch.write(indices, &rows.indices)?;
        scratch.write(indices + size_of_val(&rows.indices[..]) as u64, &rows.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_on_disk_are_those_in_memory_also_once_changed() {
        let spill = Spill { bytes: 200, directory: std::env::temp_dir() };
        let (mut here, mut away) = (Matrix::default(), Matrix::default());
        for block in 0..20_u32 {
            let (ends, indices) = ([1, 1, 3], [block, 3, 4 + block]);
            let values = [0.5, block as f32, 2.0];
            here.append(&ends, &indices, &values);
            away.append(&ends, &indices, &values);
            away.spill(Some(&spill), block == 19).unwrap();
        }
        assert!(here.folder().is_none() && away.folder().is_some() && away.here().is_none());
        assert!(away.parts.len() > 3, "{away:?}");
        let gathered = |matrix: &Matrix| {
            let mut all = Vec::new();
            let mut take = |first: usize, rows: &Sparse| {
                all.extend((0..rows.rows()).map(|row| (first + row, rows.entries(row).0.to_vec())));
            };
            matrix.each(&mut take).unwrap();
            all
        };
        let different = |matrix: &Matrix| {
            let mut indices = matrix.indices().unwrap().into_owned();
            indices.sort_unstable();
            indices.dedup();
            indices
        };
        assert_eq!((gathered(&away), different(&away)), (gathered(&here), different(&here)));
        // An entry more in each row, which does not fit where they were; then a row less of each three.
        for matrix in [&mut here, &mut away] {
            let more = |_: usize, rows: &mut Sparse| {
                rows.columns = 25;
                crate::sparse::fill(rows, &[(24, 1.0)]);
            };
            matrix.change(more).unwrap();
            matrix
                .change(|first, rows| {
                    let keep: Vec<bool> = (0..rows.rows()).map(|row| (first + row) % 3 > 0).collect();
                    crate::read::svmlight::retain(rows, &keep);
                })
                .unwrap();
        }
        assert_eq!((gathered(&away), away.rows, away.columns), (gathered(&here), here.rows, 25));
        assert_eq!(here.rows, 40);
        let parts: Vec<Sparse> = away.into_parts().collect::<Result<_, _>>().unwrap();
        assert_eq!(parts.iter().map(Sparse::rows).sum::<usize>(), 40);
    }
}
