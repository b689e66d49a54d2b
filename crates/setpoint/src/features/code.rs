//! Categories as codes: one-hot columns that are never written out.
//!
//! Forward looks up w_c / scale_c by the code c of a row. What absent categories add,
//! -sum_j w_j mean_j / scale_j, is the same for every row and goes into the bias. Backward sums v by
//! code, S_c, and
//!
//! ```text
//! gradient_c = (S_c - mean_c sum_i v_i) / scale_c
//! ```
//!
//! Fields with few categories share a code, place + stride x place + ..: one lookup in a table of sums
//! serves them all, and sums by code are added up to those of each field at the end of a pass.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use rayon::prelude::*;

use super::{Layout, Scaling, add_in_order};

/// Most codes that fields share: tables of a few packs stay in the first cache.
const NARROW: usize = 1024;
/// Most packs looked up in one walk over the rows.
pub(super) const TOGETHER: usize = 4;
/// A backward chunk has so many rows at least, and so many lookups for each code.
const CHUNK_ROWS: usize = 4096;
const LOOKUPS: usize = 8;
/// At most this many backward chunks, and so copies of the sums.
const CHUNKS: usize = 32;

/// The codes that hold a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Pack {
    /// Of several fields, at most [`NARROW`] different ones.
    Narrow(usize),
    /// Of this field alone.
    Wide(usize),
}

/// A categorical column: place 0 for no category, then one for each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Field {
    /// The column of the first category.
    pub(super) first: usize,
    pub(super) scalings: Vec<Scaling>,
    pub(super) pack: Pack,
    stride: usize,
}

impl Field {
    /// Finds room among the packs, whose numbers of codes these are.
    pub(super) fn new(
        first: usize,
        scalings: Vec<Scaling>,
        narrow: &mut Vec<usize>,
        wide: &mut Vec<usize>,
    ) -> Self {
        let places = scalings.len() + 1;
        let (pack, stride) = if places > NARROW {
            wide.push(places);
            (Pack::Wide(wide.len() - 1), 1)
        } else if let Some(pack) = narrow.iter().position(|codes| codes * places <= NARROW) {
            let stride = narrow[pack];
            narrow[pack] *= places;
            (Pack::Narrow(pack), stride)
        } else {
            narrow.push(places);
            (Pack::Narrow(narrow.len() - 1), 1)
        };
        Self { first, scalings, pack, stride }
    }

    /// The weights of its categories, each with its scaling.
    pub(super) fn weighted<'a>(&'a self, weights: &'a [f32]) -> impl Iterator<Item = (f32, Scaling)> + 'a {
        weights[self.first..].iter().copied().zip(self.scalings.iter().copied())
    }

    /// What its place adds to a code of the pack.
    pub(super) fn part(&self, code: usize) -> usize {
        code / self.stride % (self.scalings.len() + 1) * self.stride
    }

    /// Writes the columns of one row.
    pub(super) fn write(&self, code: usize, into: &mut [f32]) {
        let place = code / self.stride % (self.scalings.len() + 1);
        let into = &mut into[self.first..][..self.scalings.len()];
        for (other, (into, scaling)) in into.iter_mut().zip(&self.scalings).enumerate() {
            *into = scaling.apply(f32::from(u8::from(other + 1 == place)));
        }
    }
}

/// Hands over what the places of a pack's fields add to the codes of its rows, to `add`.
pub(super) fn fill(
    layout: &Layout,
    pack: Pack,
    rows: usize,
    place: impl Fn(usize, Range<usize>, &mut [u32]),
    mut add: impl FnMut(usize, usize),
) {
    let mut places = [0; 256];
    for (number, field) in layout.fields.iter().enumerate().filter(|(_, field)| field.pack == pack) {
        for start in (0..rows).step_by(places.len()) {
            let block = start..rows.min(start + places.len());
            let places = &mut places[..block.len()];
            place(number, block.clone(), places);
            for (row, place) in block.zip(&*places) {
                add(row, (*place as usize).min(field.scalings.len()) * field.stride);
            }
        }
    }
}

/// What each code adds to a score.
#[derive(Clone, Debug, Default)]
pub(super) struct Tables {
    narrow: Vec<[f32; NARROW]>,
    wide: Vec<Vec<f32>>,
}

impl Tables {
    /// Makes the tables of these weights.
    pub(super) fn build(&mut self, layout: &Layout, weights: &[f32]) {
        self.narrow.resize(layout.narrow.len(), [0.0; NARROW]);
        self.wide.resize(layout.wide.len(), Vec::new());
        for field in &layout.fields {
            let table = match field.pack {
                Pack::Narrow(pack) => &mut self.narrow[pack][..],
                Pack::Wide(pack) => {
                    self.wide[pack].resize(layout.wide[pack], 0.0);
                    &mut self.wide[pack][..]
                }
            };
            let (before, after) = table.split_at_mut(field.stride);
            if field.stride == 1 {
                before.fill(0.0);
            }
            let places = after.chunks_exact_mut(field.stride).zip(&field.scalings);
            for ((sums, scaling), weight) in places.zip(&weights[field.first..]) {
                let value = weight / scaling.scale;
                sums.iter_mut().zip(&*before).for_each(|(sum, before)| *sum = before + value);
            }
        }
    }

    /// Adds what the codes of some rows, from `start` on, add to their scores.
    pub(super) fn add(&self, narrow: &[Vec<u16>], wide: &[Vec<u32>], start: usize, scores: &mut [f32]) {
        let rows = start..start + scores.len();
        for (codes, tables) in narrow.chunks(TOGETHER).zip(self.narrow.chunks(TOGETHER)) {
            match codes.len() {
                1 => look_up::<1>(codes, &rows, tables, scores),
                2 => look_up::<2>(codes, &rows, tables, scores),
                3 => look_up::<3>(codes, &rows, tables, scores),
                _ => look_up::<4>(codes, &rows, tables, scores),
            }
        }
        for (codes, table) in wide.iter().zip(&self.wide) {
            let codes = &codes[rows.clone()];
            scores.iter_mut().zip(codes).for_each(|(score, code)| *score += table[*code as usize]);
        }
    }
}

/// Adds what some packs look up, all in one walk over the rows.
fn look_up<const N: usize>(
    codes: &[Vec<u16>],
    rows: &Range<usize>,
    tables: &[[f32; NARROW]],
    scores: &mut [f32],
) {
    let codes: [&[u16]; N] = std::array::from_fn(|pack| &codes[pack][rows.clone()][..scores.len()]);
    let Some(tables) = tables.first_chunk::<N>() else { return };
    for (row, score) in scores.iter_mut().enumerate() {
        let mut sum = 0.0;
        for (codes, table) in codes.iter().zip(tables) {
            sum += table[usize::from(codes[row]) % NARROW];
        }
        *score += sum;
    }
}

/// Adds v to the sums of some packs, all in one walk: an addition need not wait for the last one of its pack.
fn add_by_code<const N: usize>(
    codes: &[Vec<u16>],
    rows: &Range<usize>,
    v: &[f32],
    sums: &mut [[f64; NARROW]],
) {
    let codes: [&[u16]; N] = std::array::from_fn(|pack| &codes[pack][rows.clone()][..v.len()]);
    let Some(sums) = sums.first_chunk_mut::<N>() else { return };
    for (row, v) in v.iter().enumerate() {
        for (codes, sums) in codes.iter().zip(&mut *sums) {
            sums[usize::from(codes[row]) % NARROW] += f64::from(*v);
        }
    }
}

/// How many sums by code there are.
pub(super) fn width(layout: &Layout) -> usize {
    layout.narrow.len() * NARROW + layout.wide.iter().sum::<usize>()
}

/// Rows of a chunk: a function of the shape alone, so that sums do not depend on threads.
pub(super) fn chunk_rows(layout: &Layout, rows: usize) -> usize {
    let lookups = LOOKUPS * width(layout) / (layout.narrow.len() + layout.wide.len()).max(1);
    CHUNK_ROWS.max(lookups).max(rows.div_ceil(CHUNKS))
}

/// Sums v by code, pack after pack, in chunks of so many rows.
pub(super) fn backward(
    layout: &Layout,
    (narrow, wide): (&[Vec<u16>], &[Vec<u32>]),
    chunk: usize,
    v: &[f32],
    partials: &mut Vec<f64>,
    totals: &mut Vec<f64>,
) {
    let width = width(layout);
    partials.resize(v.len().div_ceil(chunk) * width, 0.0);
    partials.par_chunks_mut(width).zip(v.par_chunks(chunk)).enumerate().for_each(|(number, (sums, v))| {
        sums.fill(0.0);
        add_sums(layout, (narrow, wide), number * chunk, v, sums);
    });
    add_in_order(partials, totals, width);
}

/// Adds v of some rows to the sums by code.
pub(super) fn add_sums(
    layout: &Layout,
    (narrow, wide): (&[Vec<u16>], &[Vec<u32>]),
    first: usize,
    v: &[f32],
    sums: &mut [f64],
) {
    let rows = first..first + v.len();
    let (of_narrow, mut of_wide) = sums.split_at_mut(narrow.len() * NARROW);
    let (of_narrow, _) = of_narrow.as_chunks_mut::<NARROW>();
    for (codes, sums) in narrow.chunks(4).zip(of_narrow.chunks_mut(4)) {
        match codes.len() {
            1 => add_by_code::<1>(codes, &rows, v, sums),
            2 => add_by_code::<2>(codes, &rows, v, sums),
            3 => add_by_code::<3>(codes, &rows, v, sums),
            _ => add_by_code::<4>(codes, &rows, v, sums),
        }
    }
    for (codes, size) in wide.iter().zip(&layout.wide) {
        let (sums, later) = of_wide.split_at_mut(*size);
        of_wide = later;
        let codes = &codes[rows.clone()];
        v.iter().zip(codes).for_each(|(v, code)| sums[*code as usize] += f64::from(*v));
    }
}

/// The gradient of each field's columns, from the sums by code; `sum` is that of all v.
pub(super) fn write_gradient(layout: &Layout, totals: &mut [f64], sum: f64, gradient: &mut [f64]) {
    let wide = |pack: usize| layout.narrow.len() * NARROW + layout.wide[..pack].iter().sum::<usize>();
    // The last field of a pack first: without it, the sums are those of the fields before.
    for field in layout.fields.iter().rev() {
        let sums = match field.pack {
            Pack::Narrow(pack) => &mut totals[pack * NARROW..],
            Pack::Wide(pack) => &mut totals[wide(pack)..],
        };
        let (before, after) = sums.split_at_mut(field.stride);
        let places = after.chunks_exact(field.stride).zip(&field.scalings);
        for ((sums, scaling), gradient) in places.zip(&mut gradient[field.first..]) {
            let centred = sums.iter().sum::<f64>() - f64::from(scaling.mean) * sum;
            *gradient = centred / f64::from(scaling.scale);
            before.iter_mut().zip(sums).for_each(|(before, sum)| *before += sum);
        }
    }
}
