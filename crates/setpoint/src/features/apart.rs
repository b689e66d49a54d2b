//! Rows with entries, block by block in their order: each turn adds up by itself, as it does over such rows in memory.

use std::ops::Range;

use pulp::Arch;
use rayon::prelude::*;

use super::pass::{Kept, Turn};
use super::{Features, Layout, Work, code, sparse};
use crate::count::CHUNK;
use crate::scratch::ScratchError;

/// Sums over the rows of chunks, added up in the order of the chunks.
struct Sums {
    totals: Vec<f64>,
    of_chunk: Vec<f64>,
    /// Where the chunk ends.
    end: usize,
}

impl Sums {
    fn new(width: usize) -> Self {
        Self { totals: vec![0.0; width], of_chunk: vec![0.0; width], end: 0 }
    }

    /// Adds up some rows, those of each chunk apart. `end` is that of the chunk which begins at a row.
    fn add(
        &mut self,
        mut rows: Range<usize>,
        end: impl Fn(usize) -> usize,
        mut add: impl FnMut(Range<usize>, &mut [f64]),
    ) {
        while !rows.is_empty() {
            if rows.start >= self.end {
                self.close();
                self.end = end(rows.start);
            }
            let own = rows.start..rows.end.min(self.end);
            rows.start = own.end;
            add(own, &mut self.of_chunk);
        }
    }

    fn close(&mut self) {
        self.totals.iter_mut().zip(&mut self.of_chunk).for_each(|(total, own)| {
            *total += std::mem::take(own);
        });
    }
}

/// A turn on its way over the rows.
pub(super) struct Apart<'a, 't> {
    turn: &'a mut Turn<'t>,
    work: Work,
    scores: Vec<f32>,
    v: Vec<f32>,
    /// Of numbers and codes, and of entries.
    sums: [Sums; 2],
}

impl<'a, 't> Apart<'a, 't> {
    pub(super) fn new(layout: &Layout, turn: &'a mut Turn<'t>) -> Self {
        let width = layout.numbers.len() + 1 + code::width(layout);
        let (width, entries) = if turn.slopes.is_some() { (width, layout.columns + 1) } else { (0, 0) };
        let sums = [Sums::new(width), Sums::new(entries)];
        Self { turn, work: Work::default(), scores: Vec::new(), v: Vec::new(), sums }
    }

    /// Takes the next rows, from the row `first` of so many on; `ends` are the rows at which chunks of entries end.
    pub(super) fn take(
        &mut self,
        features: &Features,
        first: usize,
        all: usize,
        ends: &[usize],
    ) -> Result<(), ScratchError> {
        let Self { turn, work, scores, v, sums: [numbers, entries] } = self;
        let rows = first..first + features.rows;
        scores.resize(rows.len(), 0.0);
        let scored = turn.parameters.and_then(<[f32]>::split_last);
        if let Some((bias, weights)) = scored {
            features.scores(weights, *bias, work, scores);
        }
        match (scored, &mut turn.kept) {
            (Some(_), Some(Kept::Here(kept))) => kept[rows.clone()].copy_from_slice(scores),
            (Some(_), Some(Kept::There(kept))) => kept.write(first, scores)?,
            (None, Some(Kept::Here(kept))) => scores.copy_from_slice(&kept[rows.clone()]),
            (None, Some(Kept::There(kept))) => kept.read(first, scores)?,
            (_, None) => {}
        }
        let Some(slopes) = &turn.slopes else { return Ok(()) };
        v.resize(rows.len(), 0.0);
        let chunks = v.par_chunks_mut(CHUNK).zip(scores.par_chunks(CHUNK)).enumerate();
        chunks.for_each(|(chunk, (v, scores))| slopes(first + chunk * CHUNK, scores, v));
        let (layout, here) = (&*features.layout, |rows: &Range<usize>| rows.start - first..rows.end - first);
        let (chunk, _) = layout.chunk_rows(all);
        let end = |row: usize| all.min((row / chunk + 1) * chunk);
        numbers.add(rows.clone(), end, |rows, sums| {
            let (place, (numbers, codes)) = (here(&rows), sums.split_at_mut(layout.numbers.len() + 1));
            let v = &v[place.clone()];
            features.numbers.add_gradient(Arch::new(), place.start, v, numbers);
            if !layout.fields.is_empty() {
                let packs = (&features.narrow[..], &features.wide[..]);
                code::add_sums(layout, packs, place.start, v, codes);
            }
        });
        if let Some(own) = &features.entries {
            let end = |row: usize| ends.get(ends.partition_point(|end| *end <= row)).map_or(all, |end| *end);
            entries.add(rows, end, |rows, sums| own.add_gradient(here(&rows), &v[here(&rows)], sums));
        }
        Ok(())
    }

    /// Writes the gradient.
    pub(super) fn finish(self, layout: &Layout) {
        let Self { turn, sums: [mut numbers, mut entries], .. } = self;
        if turn.slopes.is_none() {
            return;
        }
        numbers.close();
        entries.close();
        turn.gradient = entries.totals;
        if !(layout.numbers.is_empty() && layout.fields.is_empty()) {
            let (numbers, codes) = numbers.totals.split_at_mut(layout.numbers.len() + 1);
            let sum = layout.write_gradient(numbers, &mut turn.gradient);
            code::write_gradient(layout, codes, sum, &mut turn.gradient);
        }
    }
}

/// The rows at which chunks of entries end, all but the last, of units with so many entries each; `starts` reads where the
/// rows of a unit end, counted from its own first entry.
pub(super) fn ends(
    units: impl Iterator<Item = usize> + Clone,
    columns: usize,
    starts: impl Fn(usize) -> Result<Vec<usize>, ScratchError>,
) -> Result<Vec<usize>, ScratchError> {
    let (mut units_before, all) = (Vec::new(), units.clone().sum());
    units.fold(0, |before, own| {
        units_before.push(before);
        before + own
    });
    let row = |cut: usize| {
        // The unit in which so many values are reached.
        let unit = units_before.partition_point(|before| *before < cut).max(1) - 1;
        let reached = starts(unit)?.partition_point(|end| units_before[unit] + end < cut);
        Ok(unit * CHUNK + reached + 1)
    };
    sparse::cuts(all, columns).into_iter().map(row).collect()
}
