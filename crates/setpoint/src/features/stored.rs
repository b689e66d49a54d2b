//! Rows of features in a scratch file, walked over as those in memory are.
//!
//! ```text
//! a unit: 4,096 rows     numbers in tiles | a code of each narrow pack | a code of each wide pack
//!                        where each row's entries end | their columns | their values
//! ```
//!
//! A walk goes over the chunks that rows in memory would have, some side by side: while one block of each is
//! computed with, a thread reads the next. So sums have the bits that they have in memory. Rows with entries are
//! walked over in their order (see `apart`).

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{channel, sync_channel};

use rayon::prelude::*;

use super::apart::{Apart, ends};
use super::pass::{Turn, walk};
use super::{Features, Layout};
use crate::count::CHUNK;
use crate::model::ModelError;
use crate::scratch::{Scratch, ScratchError};

/// Bytes of the blocks that are computed with at a time, about.
const BLOCKS: usize = 16 << 20;
/// Rows of scores that are read at a time.
const SCORES: usize = 64 * CHUNK;
/// Bytes of the column and the value of an entry.
const ENTRY: usize = size_of::<u32>() + size_of::<f32>();

/// Rows of features in a scratch file.
#[derive(Debug)]
pub struct Stored {
    layout: Arc<Layout>,
    rows: usize,
    scratch: Scratch,
    /// Where each unit is, and how many entries its rows have.
    units: Vec<(u64, usize)>,
    /// The rows at which chunks of entries end, all but the last.
    ends: Vec<usize>,
    /// Rows that do not fill a unit yet.
    last: Features,
}

impl Stored {
    /// Rows that are best handed over at a time.
    pub const BLOCK: usize = CHUNK;

    /// No rows yet, to be in a file in this folder.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn create(layout: Arc<Layout>, directory: &Path) -> Result<Self, ModelError> {
        let (last, scratch) = (Features::none(Arc::clone(&layout)), Scratch::create(directory)?);
        Ok(Self { layout, rows: 0, scratch, units: Vec::new(), ends: Vec::new(), last })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns, as a model sees them.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.layout.columns
    }

    /// The folder that its file is in.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.scratch.directory()
    }

    /// How its columns are stored.
    #[must_use]
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// Bytes that so many of its rows take, about.
    pub(crate) fn bytes(&self, rows: usize) -> usize {
        self.entries() / self.rows.max(1) * ENTRY * rows + self.unit_bytes() / CHUNK * rows
    }

    /// Adds rows.
    ///
    /// # Errors
    /// If they have other columns, a number is not finite, or the disk refuses.
    pub fn push(&mut self, rows: &Features) -> Result<(), ModelError> {
        if rows.rows() == 0 {
            return Ok(());
        }
        let (expected, got) = (self.columns(), rows.columns());
        let other = ModelError::Length { what: "columns", expected, got };
        if rows.layout != self.layout {
            return Err(other);
        }
        rows.check().map_err(|error| match error {
            ModelError::Feature { row, column, value } => {
                ModelError::Feature { row: row + self.rows, column, value }
            }
            other => other,
        })?;
        self.rows += rows.rows();
        if self.last.rows() == 0 && rows.rows() == CHUNK {
            return Ok(self.write(rows)?);
        }
        self.last.append(rows).ok_or(other)?;
        let whole = self.last.rows() / CHUNK;
        for unit in 0..whole {
            let rows: Vec<u32> = (unit * CHUNK..(unit + 1) * CHUNK).map(|row| row as u32).collect();
            let unit = self.last.select(&rows)?;
            self.write(&unit)?;
        }
        let rest: Vec<u32> = (whole * CHUNK..self.last.rows()).map(|row| row as u32).collect();
        self.last = self.last.select(&rest)?;
        Ok(())
    }

    /// The same, complete.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn finish(mut self) -> Result<Self, ModelError> {
        let last = std::mem::replace(&mut self.last, Features::none(Arc::clone(&self.layout)));
        if last.rows() > 0 {
            self.write(&last)?;
        }
        if self.layout.has_entries() {
            let units = self.units.iter().map(|(_, entries)| *entries);
            self.ends = ends(units, self.columns(), |unit| {
                let mut ends = vec![0; CHUNK.min(self.rows - unit * CHUNK)];
                self.scratch.read(self.units[unit].0 + self.dense_bytes() as u64, &mut ends)?;
                Ok(ends)
            })?;
        }
        Ok(self)
    }

    /// Bytes of the numbers and codes of a unit.
    fn dense_bytes(&self) -> usize {
        let Layout { numbers, narrow, wide, .. } = &*self.layout;
        CHUNK * (4 * numbers.len() + 2 * narrow.len() + 4 * wide.len())
    }

    /// Bytes of a unit, entries aside.
    fn unit_bytes(&self) -> usize {
        self.dense_bytes() + if self.layout.has_entries() { CHUNK * size_of::<usize>() } else { 0 }
    }

    fn entries(&self) -> usize {
        self.units.iter().map(|(_, entries)| entries).sum()
    }

    /// Writes a unit after those there are.
    fn write(&mut self, unit: &Features) -> Result<(), ScratchError> {
        let entries = unit.entries.as_ref().map_or(0, |entries| entries.values.len());
        let first = self.scratch.reserve(self.unit_bytes() + entries * ENTRY);
        self.units.push((first, entries));
        self.scratch.write(first, &unit.numbers.values)?;
        let mut at = first + (CHUNK * 4 * self.layout.numbers.len()) as u64;
        for codes in &unit.narrow {
            self.scratch.write(at, codes)?;
            at += CHUNK as u64 * 2;
        }
        for codes in &unit.wide {
            self.scratch.write(at, codes)?;
            at += CHUNK as u64 * 4;
        }
        if let Some(entries) = &unit.entries {
            self.scratch.write(at, &entries.starts[1..])?;
            at = first + self.unit_bytes() as u64;
            self.scratch.write(at, &entries.indices)?;
            self.scratch.write(at + size_of_val(&entries.indices[..]) as u64, &entries.values)?;
        }
        Ok(())
    }

    /// Reads some rows, from the first of a unit on.
    fn read(&self, rows: Range<usize>, into: &mut Features) -> Result<(), ScratchError> {
        into.rows = rows.len();
        into.numbers.resize(rows.len());
        into.narrow.iter_mut().for_each(|codes| codes.resize(rows.len(), 0));
        into.wide.iter_mut().for_each(|codes| codes.resize(rows.len(), 0));
        if let Some(entries) = &mut into.entries {
            let units = &self.units[rows.start / CHUNK..rows.end.div_ceil(CHUNK)];
            let all = units.iter().map(|(_, entries)| entries).sum();
            entries.starts.resize(rows.len() + 1, 0);
            entries.indices.resize(all, 0);
            entries.values.resize(all, 0.0);
        }
        let (numbers, mut before) = (self.layout.numbers.len(), 0);
        for first in rows.clone().step_by(CHUNK) {
            let own = first - rows.start..(first - rows.start + CHUNK).min(rows.len());
            let (begin, count) = self.units[first / CHUNK];
            let mut at = begin;
            let end = into.numbers.values.len().min((own.start + CHUNK) * numbers);
            self.scratch.read(at, &mut into.numbers.values[own.start * numbers..end])?;
            at += (CHUNK * 4 * numbers) as u64;
            for codes in &mut into.narrow {
                self.scratch.read(at, &mut codes[own.clone()])?;
                at += CHUNK as u64 * 2;
            }
            for codes in &mut into.wide {
                self.scratch.read(at, &mut codes[own.clone()])?;
                at += CHUNK as u64 * 4;
            }
            if let Some(entries) = &mut into.entries {
                let ends = &mut entries.starts[own.start + 1..=own.end];
                self.scratch.read(at, ends)?;
                ends.iter_mut().for_each(|end| *end += before);
                at = begin + self.unit_bytes() as u64;
                let own = before..before + count;
                self.scratch.read(at, &mut entries.indices[own.clone()])?;
                at += (count * size_of::<u32>()) as u64;
                self.scratch.read(at, &mut entries.values[own])?;
                before += count;
            }
        }
        Ok(())
    }

    /// Rows of a block, of which so many are computed with at a time.
    fn block(&self, lanes: usize) -> usize {
        (BLOCKS / lanes / self.bytes(CHUNK).max(1)).max(1) * CHUNK
    }

    /// Reads blocks ahead of whoever computes with them: `steps` say which rows are wanted together, each of them from a
    /// thread of its own.
    fn read_ahead(
        &self,
        steps: Vec<Vec<Range<usize>>>,
        mut take: impl FnMut(&[Range<usize>], &[Features]) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        let lost = |error: &dyn std::fmt::Display| ModelError::Elsewhere {
            message: format!("no thread to read with: {error}"),
        };
        std::thread::scope(|scope| {
            let mut readers = Vec::new();
            for lane in 0..steps.iter().map(Vec::len).max().unwrap_or(0) {
                let own: Vec<Range<usize>> =
                    steps.iter().filter_map(|step| step.get(lane)).cloned().collect();
                let (full, blocks) = sync_channel(1);
                let (empty, used) = channel::<Features>();
                let reader = move || {
                    for rows in own {
                        // One block is computed with, one waits, one is read into.
                        let new = |_| Features::none(Arc::clone(&self.layout));
                        let mut block = used.try_recv().unwrap_or_else(new);
                        let found = self.read(rows, &mut block);
                        let failed = found.is_err();
                        // Nobody is there once the walk has failed.
                        if full.send(found.map(|()| block)).is_err() || failed {
                            return;
                        }
                    }
                };
                let named = std::thread::Builder::new().name("read ahead".to_owned());
                named.spawn_scoped(scope, reader).map_err(|error| lost(&error))?;
                readers.push((blocks, empty));
            }
            for step in &steps {
                let mut set = Vec::with_capacity(step.len());
                for (blocks, _) in &readers[..step.len()] {
                    set.push(blocks.recv().map_err(|error| lost(&error))??);
                }
                take(step, &set)?;
                set.into_iter().zip(&readers).for_each(|(block, (_, empty))| drop(empty.send(block)));
            }
            Ok(())
        })
    }

    /// All rows, block by block.
    pub(crate) fn each(
        &self,
        mut take: impl FnMut(usize, &Features) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        let block = self.block(1);
        let rows = |first| std::iter::once(first..self.rows.min(first + block)).collect();
        let steps = (0..self.rows).step_by(block).map(rows).collect();
        self.read_ahead(steps, |rows, blocks| take(rows[0].start, &blocks[0]))
    }

    /// All rows, in memory.
    pub(crate) fn load(&self) -> Result<Features, ScratchError> {
        let mut features = Features::none(Arc::clone(&self.layout));
        self.read(0..self.rows, &mut features)?;
        Ok(features)
    }

    /// Serves all turns, as rows in memory would.
    pub(crate) fn pass(&self, turns: &mut [Turn<'_>]) -> Result<(), ModelError> {
        if self.rows <= CHUNK {
            return self.load()?.pass(turns);
        }
        if self.layout.has_entries() {
            let turns = turns.iter_mut().filter(|turn| turn.walks());
            let mut apart: Vec<_> = turns.map(|turn| Apart::new(&self.layout, turn)).collect();
            if apart.is_empty() {
                return Ok(());
            }
            self.each(|first, block| {
                let turns = apart.par_iter_mut();
                Ok(turns.try_for_each(|turn| turn.take(block, first, self.rows, &self.ends))?)
            })?;
            apart.into_iter().for_each(|turn| turn.finish(&self.layout));
            return Ok(());
        }
        let lanes = rayon::current_num_threads().min(BLOCKS / self.unit_bytes().max(1)).max(1);
        let block = self.block(lanes);
        walk(&self.layout, self.rows, turns, |walk, mut pieces| {
            let mut steps: Vec<Vec<Range<usize>>> = Vec::new();
            for pieces in pieces.chunks(lanes) {
                for start in (0..pieces[0].rows.len()).step_by(block) {
                    let rows = pieces.iter().filter(|piece| start < piece.rows.len()).map(|piece| {
                        let Range { start: first, end } = piece.rows;
                        first + start..end.min(first + start + block)
                    });
                    steps.push(rows.collect());
                }
            }
            let chunk = pieces[0].rows.len();
            self.read_ahead(steps, |rows, blocks| {
                let first = rows[0].start / chunk;
                let pieces = pieces[first..first + rows.len()].par_iter_mut();
                let taken = pieces.zip(rows).zip(blocks).try_for_each(|((piece, rows), features)| {
                    walk.take(features, rows.start, rows.clone(), piece)
                });
                Ok(taken?)
            })
        })
    }
}

/// A score of each row, in a scratch file.
#[derive(Debug)]
pub(crate) struct StoredScores {
    stored: Arc<Stored>,
    at: u64,
}

impl StoredScores {
    /// Room for those of these rows, beside them.
    pub(crate) fn beside(stored: &Arc<Stored>) -> Self {
        Self { stored: Arc::clone(stored), at: stored.scratch.reserve(stored.rows * size_of::<f32>()) }
    }

    pub(super) fn write(&self, first: usize, scores: &[f32]) -> Result<(), ScratchError> {
        self.stored.scratch.write(self.at + (first * size_of::<f32>()) as u64, scores)
    }

    pub(crate) fn read(&self, first: usize, scores: &mut [f32]) -> Result<(), ScratchError> {
        self.stored.scratch.read(self.at + (first * size_of::<f32>()) as u64, scores)
    }

    /// How many there are.
    pub(crate) fn rows(&self) -> usize {
        self.stored.rows
    }

    /// What comes of each chunk of counts, by its first row and its scores, in order.
    pub(crate) fn by_chunk<T: Send>(
        &self,
        of: impl Fn(usize, &[f32]) -> T + Sync,
    ) -> Result<Vec<T>, ScratchError> {
        let some = |scores: &mut Vec<f32>, part: usize| {
            let first = part * SCORES;
            scores.resize(SCORES.min(self.rows() - first), 0.0);
            self.read(first, scores)?;
            let chunks = scores.chunks(CHUNK).enumerate();
            Ok(chunks.map(|(chunk, scores)| of(first + chunk * CHUNK, scores)).collect())
        };
        let parts = (0..self.rows().div_ceil(SCORES)).into_par_iter();
        let found: Result<Vec<Vec<T>>, ScratchError> = parts.map_init(Vec::new, some).collect();
        Ok(found?.into_iter().flatten().collect())
    }
}
