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

use rayon::prelude::*;

use super::{Layout, Scaling, add_in_order};

/// Most codes that fields share: tables of a few packs stay in the first cache.
const NARROW: usize = 1024;
/// A backward chunk has so many rows at least, and so many lookups for each code.
const CHUNK_ROWS: usize = 4096;
const LOOKUPS: usize = 8;
/// At most this many backward chunks, and so copies of the sums.
const CHUNKS: usize = 32;

/// The codes that hold a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pack {
    /// Of several fields, at most [`NARROW`] different ones.
    Narrow(usize),
    /// Of this field alone.
    Wide(usize),
}

/// A categorical column: a place for each category, the last for none of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    /// The column of the first category.
    first: usize,
    scalings: Vec<Scaling>,
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

    /// Writes the columns of one row.
    pub(super) fn write(&self, code: usize, into: &mut [f32]) {
        let place = code / self.stride % (self.scalings.len() + 1);
        let into = &mut into[self.first..][..self.scalings.len()];
        for (other, (into, scaling)) in into.iter_mut().zip(&self.scalings).enumerate() {
            *into = scaling.apply(f32::from(u8::from(other == place)));
        }
    }
}

/// A code of some width.
pub(super) trait Code: Copy + Send + Sync {
    fn index(self) -> usize;
    fn add(&mut self, code: usize);
}

impl Code for u16 {
    fn index(self) -> usize {
        usize::from(self)
    }

    fn add(&mut self, code: usize) {
        *self += code as u16;
    }
}

impl Code for u32 {
    fn index(self) -> usize {
        self as usize
    }

    fn add(&mut self, code: usize) {
        *self += code as u32;
    }
}

/// Adds the places of a pack's fields to its codes.
pub(super) fn fill<C: Code>(
    layout: &Layout,
    pack: Pack,
    codes: &mut [C],
    place: impl Fn(usize, std::ops::Range<usize>, &mut [u32]),
) {
    let mut places = [0; 256];
    for (number, field) in layout.fields.iter().enumerate().filter(|(_, field)| field.pack == pack) {
        for (block, codes) in codes.chunks_mut(places.len()).enumerate() {
            let start = block * places.len();
            let places = &mut places[..codes.len()];
            place(number, start..start + codes.len(), places);
            for (code, place) in codes.iter_mut().zip(&*places) {
                code.add((*place as usize).min(field.scalings.len()) * field.stride);
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
    /// Makes the tables of these weights; returns the bias with what absent categories add.
    pub(super) fn build(&mut self, layout: &Layout, weights: &[f32], mut bias: f64) -> f64 {
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
            let weights = &weights[field.first..][..field.scalings.len()];
            let mut value = |place: usize| {
                let Some(Scaling { mean, scale }) = field.scalings.get(place) else { return 0.0 };
                bias -= f64::from(weights[place]) * f64::from(*mean) / f64::from(*scale);
                weights[place] / scale
            };
            for (place, sums) in after.chunks_exact_mut(field.stride).take(weights.len()).enumerate() {
                let value = value(place + 1);
                sums.iter_mut().zip(&*before).for_each(|(sum, before)| *sum = before + value);
            }
            let value = value(0);
            before.iter_mut().for_each(|sum| *sum += value);
        }
        bias
    }

    /// Adds what the codes of some rows, from `start` on, add to their scores.
    pub(super) fn add(&self, narrow: &[Vec<u16>], wide: &[Vec<u32>], start: usize, scores: &mut [f32]) {
        let rows = start..start + scores.len();
        let (fours, rest) = narrow.as_chunks::<4>();
        let (four_tables, rest_tables) = self.narrow.as_chunks::<4>();
        for (codes, tables) in fours.iter().zip(four_tables) {
            let [a, b, c, d] = codes.each_ref().map(|codes| &codes[rows.clone()]);
            let codes = a.iter().zip(b).zip(c).zip(d);
            for (score, (((a, b), c), d)) in scores.iter_mut().zip(codes) {
                let first = tables[0][a.index() % NARROW] + tables[1][b.index() % NARROW];
                *score += first + (tables[2][c.index() % NARROW] + tables[3][d.index() % NARROW]);
            }
        }
        for (codes, table) in rest.iter().zip(rest_tables) {
            let codes = &codes[rows.clone()];
            scores.iter_mut().zip(codes).for_each(|(score, code)| *score += table[code.index() % NARROW]);
        }
        for (codes, table) in wide.iter().zip(&self.wide) {
            let codes = &codes[rows.clone()];
            scores.iter_mut().zip(codes).for_each(|(score, code)| *score += table[code.index()]);
        }
    }
}

/// Sums v by code, pack after pack.
pub(super) fn backward(
    layout: &Layout,
    narrow: &[Vec<u16>],
    wide: &[Vec<u32>],
    v: &[f32],
    partials: &mut Vec<f64>,
    totals: &mut Vec<f64>,
) {
    let width = narrow.len() * NARROW + layout.wide.iter().sum::<usize>();
    // A function of the shape alone, so that sums do not depend on threads.
    let lookups = LOOKUPS * width / (narrow.len() + wide.len()).max(1);
    let rows = CHUNK_ROWS.max(lookups).max(v.len().div_ceil(CHUNKS));
    partials.resize(v.len().div_ceil(rows) * width, 0.0);
    partials.par_chunks_mut(width).zip(v.par_chunks(rows)).enumerate().for_each(|(chunk, (sums, v))| {
        let rows = chunk * rows..chunk * rows + v.len();
        sums.fill(0.0);
        let (of_narrow, mut of_wide) = sums.split_at_mut(narrow.len() * NARROW);
        let (of_narrow, _) = of_narrow.as_chunks_mut::<NARROW>();
        let (fours, rest) = narrow.as_chunks::<4>();
        let (four_sums, rest_sums) = of_narrow.as_chunks_mut::<4>();
        for (codes, sums) in fours.iter().zip(four_sums) {
            let [a, b, c, d] = codes.each_ref().map(|codes| &codes[rows.clone()]);
            for (v, (((a, b), c), d)) in v.iter().zip(a.iter().zip(b).zip(c).zip(d)) {
                let v = f64::from(*v);
                sums[0][a.index() % NARROW] += v;
                sums[1][b.index() % NARROW] += v;
                sums[2][c.index() % NARROW] += v;
                sums[3][d.index() % NARROW] += v;
            }
        }
        for (codes, sums) in rest.iter().zip(rest_sums) {
            let codes = &codes[rows.clone()];
            v.iter().zip(codes).for_each(|(v, code)| sums[code.index() % NARROW] += f64::from(*v));
        }
        for (codes, size) in wide.iter().zip(&layout.wide) {
            let (sums, later) = of_wide.split_at_mut(*size);
            of_wide = later;
            let codes = &codes[rows.clone()];
            v.iter().zip(codes).for_each(|(v, code)| sums[code.index()] += f64::from(*v));
        }
    });
    add_in_order(partials, totals, width);
}

/// The gradient of each field's columns, from the sums by code; `sum` is that of all v.
pub(super) fn write_gradient(layout: &Layout, totals: &mut [f64], sum: f64, gradient: &mut [f32]) {
    let wide = |pack: usize| layout.narrow.len() * NARROW + layout.wide[..pack].iter().sum::<usize>();
    // The last field of a pack first: without it, the sums are those of the fields before.
    for field in layout.fields.iter().rev() {
        let sums = match field.pack {
            Pack::Narrow(pack) => &mut totals[pack * NARROW..],
            Pack::Wide(pack) => &mut totals[wide(pack)..],
        };
        let (before, after) = sums.split_at_mut(field.stride);
        let gradient = &mut gradient[field.first..][..field.scalings.len()];
        let of = |sums: &[f64], scaling: &Scaling| {
            let centred = sums.iter().sum::<f64>() - f64::from(scaling.mean) * sum;
            (centred / f64::from(scaling.scale)) as f32
        };
        if let (Some(gradient), Some(scaling)) = (gradient.first_mut(), field.scalings.first()) {
            *gradient = of(before, scaling);
        }
        for (place, sums) in after.chunks_exact(field.stride).take(gradient.len()).enumerate() {
            if let Some(scaling) = field.scalings.get(place + 1) {
                gradient[place + 1] = of(sums, scaling);
            }
            before.iter_mut().zip(sums).for_each(|(before, sum)| *before += sum);
        }
    }
}
