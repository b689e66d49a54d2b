//! Rows of a table in memory: numbers as `f32` (less the offsets of their columns), texts as codes.
//!
//! A table is a list of chunks, so that encoding can free what it has consumed
//! and never holds two whole copies. Where they are too many for memory, they are in a scratch file, and columns of
//! them are read as they are asked for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use setpoint::scratch::{Pod, Scratch, ScratchError};

use crate::tally::Tally;

/// Code of a missing text.
pub(crate) const MISSING: u32 = u32::MAX;

/// So many texts of a column are looked up one by one.
const FEW: usize = 6;

/// Some rows, column by column. A missing number is NaN.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunk {
    pub rows: usize,
    /// Distance between columns; at least `rows`.
    pub stride: usize,
    pub numbers: Vec<f32>,
    pub codes: Vec<u32>,
    pub reals: Vec<f64>,
    /// What the codes stand for, until they are merged into the table's.
    pub texts: Vec<LocalTexts>,
    /// For each number column: what it held besides plain numbers, if anything.
    pub number_tallies: Vec<Option<Box<Tally>>>,
    /// For each number column, whether a number was rounded to fit.
    pub rounded: Vec<bool>,
    /// Where its columns are, if not here: numbers, codes, reals, without gaps.
    away: Option<Away>,
}

#[derive(Clone, Debug)]
struct Away {
    scratch: Arc<Scratch>,
    at: u64,
    /// How many columns of numbers and codes there are, and of reals.
    columns: [usize; 3],
}

/// The values of a column of all chunks.
pub(crate) fn values<'a, T: Copy + 'a>(
    chunks: &'a [Chunk],
    column: impl Fn(&'a Chunk) -> Cow<'a, [T]> + 'a,
) -> impl Iterator<Item = T> + 'a {
    chunks.iter().flat_map(move |chunk| column(chunk).into_owned())
}

/// The different texts of one column of a chunk.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalTexts {
    index: HashMap<Box<[u8]>, u32>,
    pub values: Vec<LocalText>,
    missing: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct LocalText {
    pub text: String,
    /// Where it came first.
    pub line: u64,
    pub count: u64,
}

impl Chunk {
    pub fn new(stride: usize, numbers: usize, texts: usize, reals: usize) -> Self {
        Self {
            rows: 0,
            stride,
            numbers: vec![0.0; stride * numbers],
            codes: vec![MISSING; stride * texts],
            reals: vec![f64::NAN; stride * reals],
            texts: (0..texts).map(|_| LocalTexts::default()).collect(),
            number_tallies: vec![None; numbers],
            rounded: vec![false; numbers],
            away: None,
        }
    }

    /// The folder of the scratch file that its columns are in.
    pub fn folder(&self) -> Option<&Path> {
        self.away.as_ref().map(|away| away.scratch.directory())
    }

    /// Takes its columns to a scratch file.
    pub fn store(&mut self, scratch: &Arc<Scratch>) -> Result<(), ScratchError> {
        let (rows, stride) = (self.rows, self.stride.max(1));
        let columns = [self.numbers.len(), self.codes.len(), self.reals.len()].map(|length| length / stride);
        let away = Away { scratch: Arc::clone(scratch), at: 0, columns };
        let at = scratch.reserve(away.before(3, rows) as usize);
        write_columns(scratch, at, &self.numbers, stride, rows)?;
        write_columns(scratch, at + away.before(1, rows), &self.codes, stride, rows)?;
        write_columns(scratch, at + away.before(2, rows), &self.reals, stride, rows)?;
        (self.numbers, self.codes, self.reals) = (Vec::new(), Vec::new(), Vec::new());
        (self.stride, self.away) = (rows, Some(Away { at, ..away }));
        Ok(())
    }

    /// The same with its columns here.
    pub fn load(mut self) -> Result<Self, ScratchError> {
        if let Some(away) = self.away.take() {
            let [numbers, codes, reals] = away.columns.map(|columns| columns * self.rows);
            (self.numbers, self.codes, self.reals) = (vec![0.0; numbers], vec![0; codes], vec![0.0; reals]);
            away.scratch.read(away.at, &mut self.numbers)?;
            away.scratch.read(away.at + away.before(1, self.rows), &mut self.codes)?;
            away.scratch.read(away.at + away.before(2, self.rows), &mut self.reals)?;
        }
        Ok(self)
    }

    /// Says whether columns could be read that were asked for.
    pub fn check(&self) -> Result<(), ScratchError> {
        self.away.as_ref().map_or(Ok(()), |away| away.scratch.check())
    }

    /// An empty chunk to gather others in.
    ///
    /// It is large enough that its memory comes straight from the system (the C
    /// allocator keeps what is smaller for itself when it is freed, and the
    /// peak of a run would be twice the matrix), and only what is written to counts.
    pub fn slab(like: &Self) -> Self {
        // What is read while fuzzing is short: many slabs are met there too, and none is cleared for a few rows.
        const BYTES: usize = if cfg!(fuzzing) { 1 << 10 } else { 40 << 20 };
        let columns = |length: usize| length / like.stride.max(1);
        let (numbers, texts, reals) =
            (columns(like.numbers.len()), columns(like.codes.len()), columns(like.reals.len()));
        let width = size_of::<f32>() * (numbers + texts) + size_of::<f64>() * reals;
        let stride = (BYTES / width.max(1)).max(like.rows.min(256));
        Self {
            stride,
            numbers: vec![0.0; stride * numbers],
            codes: vec![0; stride * texts],
            reals: vec![0.0; stride * reals],
            ..Self::default()
        }
    }

    /// Copies as many of another chunk's rows, from `start` on, as there is room for; returns how many.
    pub fn take_rows(&mut self, other: &Self, start: usize) -> usize {
        let count = (self.stride - self.rows).min(other.rows - start);
        let (to, from) = (self.rows..self.rows + count, start..start + count);
        fn copy<T: Copy + Send + Sync>(
            (target, stride, to): (&mut [T], usize, std::ops::Range<usize>),
            (source, step, from): (&[T], usize, std::ops::Range<usize>),
        ) {
            let columns = target.par_chunks_mut(stride).zip(source.par_chunks(step)).with_min_len(8);
            columns.for_each(|(target, source)| {
                target[to.clone()].copy_from_slice(&source[from.clone()]);
            });
        }
        let (stride, step) = (self.stride, other.stride.max(1));
        copy((&mut self.numbers, stride, to.clone()), (&other.numbers, step, from.clone()));
        copy((&mut self.codes, stride, to.clone()), (&other.codes, step, from.clone()));
        copy((&mut self.reals, stride, to), (&other.reals, step, from));
        self.rows += count;
        count
    }

    pub fn number(&self, slot: usize) -> Cow<'_, [f32]> {
        self.column(&self.numbers, 0, slot)
    }

    pub fn code(&self, slot: usize) -> Cow<'_, [u32]> {
        self.column(&self.codes, 1, slot)
    }

    pub fn real(&self, slot: usize) -> Cow<'_, [f64]> {
        self.column(&self.reals, 2, slot)
    }

    /// A column of a kind: numbers, codes, reals. What cannot be read is 0, and [`Chunk::check`] says so.
    fn column<'a, T: Pod>(&'a self, here: &'a [T], kind: usize, slot: usize) -> Cow<'a, [T]> {
        let Some(away) = &self.away else {
            return Cow::Borrowed(&here[slot * self.stride..][..self.rows]);
        };
        let mut values = vec![T::zeroed(); self.rows];
        let before = away.before(kind, self.rows) + (slot * size_of_val(&values[..])) as u64;
        away.scratch.read_or_note(away.at + before, &mut values);
        Cow::Owned(values)
    }

    /// Keeps the rows for which `keep` is true, in order.
    pub fn retain(&mut self, keep: &[bool]) -> Result<(), ScratchError> {
        let scratch = self.away.as_ref().map(|away| Arc::clone(&away.scratch));
        *self = std::mem::take(self).load()?;
        fn compact<T: Copy>(column: &mut [T], keep: &[bool]) {
            let mut next = 0;
            for (row, kept) in keep.iter().enumerate() {
                if *kept {
                    column[next] = column[row];
                    next += 1;
                }
            }
        }
        let (stride, rows) = (self.stride.max(1), self.rows);
        self.numbers.chunks_mut(stride).for_each(|column| compact(&mut column[..rows], keep));
        self.codes.chunks_mut(stride).for_each(|column| compact(&mut column[..rows], keep));
        self.reals.chunks_mut(stride).for_each(|column| compact(&mut column[..rows], keep));
        self.rows = keep.iter().filter(|kept| **kept).count();
        scratch.map_or(Ok(()), |scratch| self.store(&scratch))
    }
}

/// Writes columns from a place on, without what is beyond their rows.
fn write_columns<T: Pod>(
    scratch: &Scratch,
    at: u64,
    columns: &[T],
    stride: usize,
    rows: usize,
) -> Result<(), ScratchError> {
    let places = (at..).step_by((rows * size_of::<T>()).max(1));
    columns.chunks(stride).zip(places).try_for_each(|(column, at)| scratch.write(at, &column[..rows]))
}

impl Away {
    /// Bytes before the columns of a kind; of all columns, for 3.
    fn before(&self, kind: usize, rows: usize) -> u64 {
        let sizes = [size_of::<f32>(), size_of::<u32>(), size_of::<f64>()];
        let columns = self.columns.iter().zip(sizes).take(kind);
        columns.map(|(columns, size)| (columns * size * rows) as u64).sum()
    }
}

impl LocalTexts {
    /// The code of a text; `MISSING` if it marks a missing value.
    pub fn code(
        &mut self,
        text: &[u8],
        line: impl FnOnce() -> u64,
        is_missing: impl Fn(&[u8]) -> bool,
    ) -> u32 {
        // A handful of texts is compared faster than hashed.
        if self.values.len() <= FEW
            && let Some(code) = self.values.iter().position(|value| value.text.as_bytes() == text)
        {
            self.values[code].count += 1;
            return code as u32;
        }
        if let Some(code) = self.index.get(text) {
            let code = *code;
            self.again(code);
            return code;
        }
        let code = if is_missing(text) {
            self.missing += 1;
            MISSING
        } else {
            let text = String::from_utf8_lossy(text).into_owned();
            self.values.push(LocalText { text, line: line(), count: 1 });
            (self.values.len() - 1) as u32
        };
        self.index.insert(text.into(), code);
        code
    }

    /// Counts another value of a code that [`LocalTexts::code`] gave.
    pub fn again(&mut self, code: u32) {
        match self.values.get_mut(code as usize) {
            Some(value) => value.count += 1,
            None => self.missing += 1,
        }
    }

    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for value in &self.values {
            tally.add(&value.text, value.count, || value.line);
        }
        tally
    }
}

/// The different texts of one column of a table, in order of first appearance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    index: HashMap<String, u32>,
    pub values: Vec<String>,
    pub counts: Vec<u64>,
    pub tally: Tally,
}

impl Texts {
    /// Takes in a chunk's texts and rewrites its codes.
    pub fn merge(&mut self, local: LocalTexts, codes: &mut [u32]) {
        self.tally.merge(local.tally());
        let mut codes_of = Vec::with_capacity(local.values.len());
        for value in local.values {
            let code = match self.index.get(&value.text) {
                Some(code) => *code,
                None => {
                    let code = self.values.len() as u32;
                    self.index.insert(value.text.clone(), code);
                    self.values.push(value.text);
                    self.counts.push(0);
                    code
                }
            };
            self.counts[code as usize] += value.count;
            codes_of.push(code);
        }
        for code in codes {
            if *code != MISSING {
                *code = codes_of[*code as usize];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_chunks_merge_into_one_list() {
        let mut texts = Texts::default();
        let mut merged = Vec::new();
        for chunk in [["b", "a", "?"], ["c", "b", "d"]] {
            let mut local = LocalTexts::default();
            let mut codes: Vec<u32> =
                chunk.iter().map(|text| local.code(text.as_bytes(), || 1, |text| text == b"?")).collect();
            texts.merge(local, &mut codes);
            merged.extend(codes);
        }
        assert_eq!(texts.values, ["b", "a", "c", "d"]);
        assert_eq!(texts.counts, [2, 1, 1, 1]);
        assert_eq!(merged, [0, 1, MISSING, 2, 0, 3]);
        assert_eq!(texts.tally.surprises(), 5);
    }

    #[test]
    fn retained_rows_close_up() {
        let mut chunk = Chunk::new(4, 1, 1, 1);
        chunk.rows = 3;
        chunk.numbers = vec![1.0, 2.0, 3.0, 0.0];
        chunk.codes = vec![7, 8, 9, 0];
        chunk.retain(&[true, false, true]).unwrap();
        assert_eq!((&*chunk.number(0), &*chunk.code(0)), (&[1.0, 3.0][..], &[7, 9][..]));
    }
}
