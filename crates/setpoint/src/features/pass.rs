//! One walk over the rows that serves several: a matrix product with as many columns as there are turns.
//!
//! What a turn comes to is, to the last bit, what it would come to alone: turns share the walk, and no sums.

use std::ops::Range;

use pulp::Arch;
use rayon::prelude::*;

use super::code::{self, Tables};
use super::dense::ROWS;
use super::stored::StoredScores;
use super::{Features, Layout, Work, add_in_order};
use crate::count::CHUNK;
use crate::model::ModelError;
use crate::scratch::ScratchError;

/// Writes the derivative by each score of a chunk of rows, from the first of them on.
pub(crate) type Slopes<'a> = Box<dyn Fn(usize, &[f32], &mut [f32]) + Send + Sync + 'a>;

/// Partial sums that a walk keeps at most, in numbers; beyond that there are several walks.
const SUMS: usize = 1 << 24;

/// Where the scores of a turn are kept.
pub(crate) enum Kept<'a> {
    Here(&'a mut [f32]),
    There(&'a StoredScores),
}

/// What one of several wants of a walk: scores, the gradient by the parameters, or both.
pub(crate) struct Turn<'a> {
    /// What to score by; without, scores are those that are kept.
    pub(crate) parameters: Option<&'a [f32]>,
    /// Where scores are kept, if they are.
    pub(crate) kept: Option<Kept<'a>>,
    pub(crate) slopes: Option<Slopes<'a>>,
    /// X^T v, then the sum of v.
    pub(crate) gradient: Vec<f64>,
}

impl Turn<'_> {
    /// Whether it needs the rows: questions about kept scores stand among those that do.
    pub(super) fn walks(&self) -> bool {
        self.parameters.is_some() || self.slopes.is_some()
    }
}

/// A turn's parameters, made ready.
struct Weights {
    numbers: Vec<f32>,
    bias: f32,
    tables: Tables,
}

/// What a walk does with rows, wherever they come from.
pub(super) struct Walk<'w, 't> {
    weights: Vec<Option<Weights>>,
    slopes: Vec<&'w Option<Slopes<'t>>>,
    /// Sums of a chunk for each turn.
    width: usize,
}

/// A chunk of a walk: its rows, its sums, and where each turn keeps their scores.
pub(super) struct Piece<'p> {
    pub(super) rows: Range<usize>,
    sums: &'p mut [f64],
    kept: Vec<Option<Kept<'p>>>,
}

/// Walks over so many rows, more than a chunk of counts, if a turn needs that: `over` takes each piece to its rows, in any
/// order.
pub(super) fn walk(
    layout: &Layout,
    rows: usize,
    turns: &mut [Turn<'_>],
    over: impl Fn(&Walk<'_, '_>, Vec<Piece<'_>>) -> Result<(), ModelError>,
) -> Result<(), ModelError> {
    if !turns.iter().any(Turn::walks) {
        return Ok(());
    }
    let (chunk, _) = layout.chunk_rows(rows);
    let code_width = if layout.fields.is_empty() { 0 } else { code::width(layout) };
    let width = layout.numbers.len() + 1 + code_width;
    let together = SUMS / (rows.div_ceil(chunk) * width);
    for turns in turns.chunks_mut(together.max(1)) {
        let count = turns.len();
        let weights = turns.iter().map(|turn| turn.parameters.and_then(|all| Weights::new(layout, all)));
        let weights = weights.collect();
        let mut partials = vec![0.0; rows.div_ceil(chunk) * count * width];
        let (mut columns, slopes): (Vec<_>, Vec<_>) = turns
            .iter_mut()
            .map(|turn| (turn.kept.as_mut().map(|kept| Cut::new(kept, chunk)), &turn.slopes))
            .unzip();
        let mut next = || columns.iter_mut().map(|column| column.as_mut().and_then(Cut::next)).collect();
        let piece = |(number, sums)| {
            let rows = number * chunk..rows.min((number + 1) * chunk);
            Piece { rows, sums, kept: next() }
        };
        let pieces = partials.chunks_mut(count * width).enumerate().map(piece).collect();
        over(&Walk { weights, slopes, width }, pieces)?;
        drop(columns);
        let mut totals = Vec::new();
        for (turn, of_turn) in turns.iter_mut().enumerate().filter(|(_, turn)| turn.slopes.is_some()) {
            let own: Vec<f64> = partials.chunks(width).skip(turn).step_by(count).flatten().copied().collect();
            add_in_order(&own, &mut totals, width);
            of_turn.gradient.resize(layout.columns + 1, 0.0);
            let (numbers, codes) = totals.split_at_mut(layout.numbers.len() + 1);
            let sum = layout.write_gradient(numbers, &mut of_turn.gradient);
            code::write_gradient(layout, codes, sum, &mut of_turn.gradient);
        }
    }
    Ok(())
}

/// Kept scores, chunk after chunk.
enum Cut<'a> {
    Here(std::slice::ChunksMut<'a, f32>),
    There(&'a StoredScores),
}

impl<'a> Cut<'a> {
    fn new(kept: &'a mut Kept<'_>, chunk: usize) -> Self {
        match kept {
            Kept::Here(kept) => Self::Here(kept.chunks_mut(chunk)),
            Kept::There(kept) => Self::There(kept),
        }
    }

    fn next(&mut self) -> Option<Kept<'a>> {
        match self {
            Self::Here(chunks) => chunks.next().map(Kept::Here),
            Self::There(kept) => Some(Kept::There(kept)),
        }
    }
}

impl Walk<'_, '_> {
    /// Takes some rows of a piece, whose features these are from the row `first` on.
    pub(super) fn take(
        &self,
        features: &Features,
        first: usize,
        rows: Range<usize>,
        piece: &mut Piece<'_>,
    ) -> Result<(), ScratchError> {
        let count = self.slopes.len();
        let mut room = vec![0.0; 2 * count * CHUNK];
        let (scores, v) = room.split_at_mut(count * CHUNK);
        for start in rows.clone().step_by(CHUNK) {
            let len = CHUNK.min(rows.end - start);
            let place = start - piece.rows.start..start - piece.rows.start + len;
            features.score(start - first, len, &self.weights, scores);
            for (turn, (scores, v)) in
                scores.chunks_exact_mut(CHUNK).zip(v.chunks_exact_mut(CHUNK)).enumerate()
            {
                let scores = &mut scores[..len];
                match (&self.weights[turn], &mut piece.kept[turn]) {
                    (Some(_), Some(Kept::Here(kept))) => kept[place.clone()].copy_from_slice(scores),
                    (Some(_), Some(Kept::There(kept))) => kept.write(start, scores)?,
                    (None, Some(Kept::Here(kept))) => scores.copy_from_slice(&kept[place.clone()]),
                    (None, Some(Kept::There(kept))) => kept.read(start, scores)?,
                    _ => {}
                }
                if let Some(slopes) = self.slopes[turn] {
                    slopes(start, scores, &mut v[..len]);
                }
            }
            features.add_gradients(start - first, len, self.width, &self.slopes, v, piece.sums);
        }
        Ok(())
    }
}

impl Weights {
    fn new(layout: &Layout, parameters: &[f32]) -> Option<Self> {
        let (bias, weights) = parameters.split_last()?;
        let mut tables = Tables::default();
        tables.build(layout, weights);
        Some(Self {
            numbers: layout.numbers.iter().map(|column| weights[*column]).collect(),
            bias: layout.bias(weights, *bias),
            tables,
        })
    }
}

impl Features {
    /// Serves all turns.
    ///
    /// # Errors
    /// If scores are kept on disk, and that refuses.
    pub(crate) fn pass(&self, turns: &mut [Turn<'_>]) -> Result<(), ModelError> {
        if self.entries.is_some() || self.rows <= CHUNK {
            turns.iter_mut().for_each(|turn| self.alone(turn));
            return Ok(());
        }
        walk(&self.layout, self.rows, turns, |walk, pieces| {
            let pieces = pieces.into_par_iter();
            Ok(pieces.try_for_each(|mut piece| walk.take(self, 0, piece.rows.clone(), &mut piece))?)
        })
    }

    /// One turn by itself.
    fn alone(&self, turn: &mut Turn<'_>) {
        let mut work = Work::default();
        let mut own = Vec::new();
        let scores = match &mut turn.kept {
            Some(Kept::Here(kept)) => &mut **kept,
            // So few scores are kept nowhere else.
            _ => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_left_alone_where_no_turn_needs_them() {
        let mut layout = Layout::default();
        layout.add_number();
        let read = |parameters: Option<&[f32]>| {
            let turn = Turn { parameters, kept: None, slopes: None, gradient: Vec::new() };
            let over = |_: &Walk<'_, '_>, _: Vec<Piece<'_>>| Err(ModelError::NoForward);
            walk(&layout, 10_000, &mut [turn], over).is_err()
        };
        assert!(!read(None) && read(Some(&[1.0, 0.0])));
    }
}
