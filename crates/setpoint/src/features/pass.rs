//! One walk over the rows that serves several: a matrix product with as many columns as there are turns.
//!
//! What a turn comes to is, to the last bit, what it would come to alone: turns share the walk, and no sums.

use pulp::Arch;
use rayon::prelude::*;

use super::code::{self, Tables};
use super::dense::ROWS;
use super::{Features, Work, add_in_order};
use crate::count::CHUNK;

/// Writes the derivative by each score of a chunk of rows, from the first of them on.
pub(crate) type Slopes<'a> = Box<dyn Fn(usize, &[f32], &mut [f32]) + Sync + 'a>;

/// Partial sums that a walk keeps at most, in numbers; beyond that there are several walks.
const SUMS: usize = 1 << 24;

/// What one of several wants of a walk: scores, the gradient by the parameters, or both.
pub(crate) struct Turn<'a> {
    /// What to score by; without, scores are those that are kept.
    pub(crate) parameters: Option<&'a [f32]>,
    /// Where scores are kept, if they are.
    pub(crate) scores: Option<&'a mut [f32]>,
    pub(crate) slopes: Option<Slopes<'a>>,
    /// X^T v, then the sum of v.
    pub(crate) gradient: Vec<f64>,
}

/// A turn's parameters, made ready.
struct Weights {
    numbers: Vec<f32>,
    bias: f32,
    tables: Tables,
}

impl Features {
    /// Serves all turns.
    pub(crate) fn pass(&self, turns: &mut [Turn<'_>]) {
        if self.entries.is_some() || self.rows <= CHUNK {
            return turns.iter_mut().for_each(|turn| self.alone(turn));
        }
        let (chunk, _) = self.chunk_rows();
        let width = self.layout.numbers.len() + 1 + self.code_width();
        let together = SUMS / (self.rows.div_ceil(chunk) * width);
        turns.chunks_mut(together.max(1)).for_each(|turns| self.walk(chunk, width, turns));
    }

    fn code_width(&self) -> usize {
        if self.layout.fields.is_empty() { 0 } else { code::width(&self.layout) }
    }

    /// One turn by itself.
    fn alone(&self, turn: &mut Turn<'_>) {
        let mut work = Work::default();
        let mut own = Vec::new();
        let scores = match &mut turn.scores {
            Some(kept) => &mut **kept,
            None => {
                own.resize(self.rows, 0.0);
                &mut own[..]
            }
        };
        if let Some((bias, weights)) = turn.parameters.and_then(<[f32]>::split_last) {
            self.scores(weights, *bias, &mut work, scores);
        }
        if let Some(slopes) = &turn.slopes {
            let mut v = vec![0.0; self.rows];
            let chunks = v.par_chunks_mut(CHUNK).zip(scores.par_chunks(CHUNK)).enumerate();
            chunks.for_each(|(chunk, (v, scores))| slopes(chunk * CHUNK, scores, v));
            turn.gradient.resize(self.columns() + 1, 0.0);
            self.backward(&v, &mut work, &mut turn.gradient);
        }
    }

    fn weights(&self, parameters: &[f32]) -> Option<Weights> {
        let (bias, weights) = parameters.split_last()?;
        let mut tables = Tables::default();
        tables.build(&self.layout, weights);
        Some(Weights {
            numbers: self.layout.numbers.iter().map(|column| weights[*column]).collect(),
            bias: self.layout.bias(weights, *bias),
            tables,
        })
    }

    fn walk(&self, chunk: usize, width: usize, turns: &mut [Turn<'_>]) {
        let weights: Vec<Option<Weights>> = turns
            .iter()
            .map(|turn| turn.parameters.and_then(|parameters| self.weights(parameters)))
            .collect();
        let count = turns.len();
        let mut partials = vec![0.0; self.rows.div_ceil(chunk) * count * width];
        let (mut columns, slopes): (Vec<_>, Vec<_>) = turns
            .iter_mut()
            .map(|turn| (turn.scores.as_mut().map(|kept| kept.chunks_mut(chunk)), &turn.slopes))
            .unzip();
        let mut next = || -> Vec<Option<&mut [f32]>> {
            columns.iter_mut().map(|column| column.as_mut().and_then(Iterator::next)).collect()
        };
        let pieces: Vec<_> = partials.chunks_mut(count * width).map(|sums| (sums, next())).collect();
        pieces.into_par_iter().enumerate().for_each(|(number, (sums, mut kept))| {
            let mut room = vec![0.0; 2 * count * CHUNK];
            let (scores, v) = room.split_at_mut(count * CHUNK);
            let rows = number * chunk..self.rows.min((number + 1) * chunk);
            for first in rows.clone().step_by(CHUNK) {
                let len = CHUNK.min(rows.end - first);
                let place = first - rows.start..first - rows.start + len;
                self.score(first, len, &weights, scores);
                for (turn, (scores, v)) in
                    scores.chunks_exact_mut(CHUNK).zip(v.chunks_exact_mut(CHUNK)).enumerate()
                {
                    let scores = &mut scores[..len];
                    match (&weights[turn], &mut kept[turn]) {
                        (Some(_), Some(kept)) => kept[place.clone()].copy_from_slice(scores),
                        (None, Some(kept)) => scores.copy_from_slice(&kept[place.clone()]),
                        _ => {}
                    }
                    if let Some(slopes) = slopes[turn] {
                        slopes(first, scores, &mut v[..len]);
                    }
                }
                self.add_gradients(first, len, width, &slopes, v, sums);
            }
        });
        drop(columns);
        let mut totals = Vec::new();
        for (turn, of_turn) in turns.iter_mut().enumerate() {
            if of_turn.slopes.is_none() {
                continue;
            }
            let own: Vec<f64> = partials.chunks(width).skip(turn).step_by(count).flatten().copied().collect();
            add_in_order(&own, &mut totals, width);
            of_turn.gradient.resize(self.columns() + 1, 0.0);
            let (numbers, codes) = totals.split_at_mut(self.layout.numbers.len() + 1);
            let sum = self.write_gradient(numbers, &mut of_turn.gradient);
            code::write_gradient(&self.layout, codes, sum, &mut of_turn.gradient);
        }
    }

    /// Scores of some rows by each turn's weights: a few tiles at a time, which then are in the cache for all.
    fn score(&self, first: usize, len: usize, weights: &[Option<Weights>], scores: &mut [f32]) {
        let arch = Arch::new();
        for start in (0..len).step_by(ROWS) {
            let place = start..len.min(start + ROWS);
            for (weights, scores) in weights.iter().zip(scores.chunks_exact_mut(CHUNK)) {
                if let Some(Weights { numbers, bias, tables }) = weights {
                    let scores = &mut scores[place.clone()];
                    self.numbers.write_scores(arch, first + start, numbers, *bias, scores);
                    tables.add(&self.narrow, &self.wide, first + start, scores);
                }
            }
        }
    }

    fn add_gradients(
        &self,
        first: usize,
        len: usize,
        width: usize,
        slopes: &[&Option<Slopes<'_>>],
        v: &[f32],
        sums: &mut [f64],
    ) {
        let arch = Arch::new();
        for start in (0..len).step_by(ROWS) {
            let place = start..len.min(start + ROWS);
            let turns = slopes.iter().zip(v.chunks_exact(CHUNK)).zip(sums.chunks_exact_mut(width));
            for ((_, v), sums) in turns.filter(|((slopes, _), _)| slopes.is_some()) {
                let (numbers, codes) = sums.split_at_mut(self.layout.numbers.len() + 1);
                self.numbers.add_gradient(arch, first + start, &v[place.clone()], numbers);
                if !codes.is_empty() {
                    let packs = (&self.narrow[..], &self.wide[..]);
                    code::add_sums(&self.layout, packs, first + start, &v[place.clone()], codes);
                }
            }
        }
    }
}
