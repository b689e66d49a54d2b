//! Rows by descending score in a scratch file: sorted run by run, merged once, and read one after the other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use rayon::prelude::*;

use super::{Cut, ThresholdRange};
use crate::metric::sort::{descending, score_of};
use crate::metric::{MetricError, Rows};
use crate::sample::Sample;
use crate::scratch::{Scratch, ScratchError};

/// Rows that are read at a time, and between cuts that are known.
const BLOCK: usize = 1 << 16;
/// Fewest rows that are read at a time where many runs are merged, and that are sorted at a time.
const LEAST: usize = 1 << 10;

/// A row: the key of its score above, and its weight below, which is negative for a negative.
type Row = u64;

/// Rows in their order.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    run: Run,
    marks: Vec<Mark>,
    pub cuts: usize,
    /// Weight of each class.
    pub totals: [f64; 2],
}

/// A cut that is known: the rows before it, and what they count.
#[derive(Clone, Copy, Debug)]
struct Mark {
    row: usize,
    pub place: usize,
    at: [f64; 2],
    up_to: f32,
}

/// Sorted rows in a file.
#[derive(Clone, Debug)]
struct Run {
    scratch: Arc<Scratch>,
    at: u64,
    rows: usize,
}

impl PartialEq for Stored {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.run.scratch, &other.run.scratch) && self.run.at == other.run.at
    }
}

fn key(row: Row) -> u32 {
    (row >> 32) as u32
}

impl Stored {
    /// Sorts rows in so many bytes of memory; those of equal scores stay as they come.
    pub fn sort(rows: &dyn Rows, scratch: &Arc<Scratch>, memory: usize) -> Result<Self, MetricError> {
        // Sorting takes as much again.
        let most = (memory / (2 * size_of::<Row>())).max(LEAST).min(rows.about().rows);
        let (mut runs, mut room, mut written) = (Vec::new(), Vec::with_capacity(most), Ok(()));
        let mut add = |sample: &Sample, scores: &[f32]| -> Result<(), ScratchError> {
            for (row, score) in scores.iter().enumerate() {
                if room.len() == most {
                    runs.push(Run::write(scratch, &mut room)?);
                }
                let weight = sample.weight(row) as f32;
                let weight = if sample.labels()[row] { weight } else { -weight };
                room.push(Row::from(descending(*score)) << 32 | Row::from(weight.to_bits()));
            }
            Ok(())
        };
        rows.each(&mut |sample, scores| {
            if written.is_ok() {
                written = add(sample, scores);
            }
        });
        written?;
        runs.push(Run::write(scratch, &mut room)?);
        drop(room);
        Ok(Self::merge(runs, scratch, most)?)
    }

    fn merge(runs: Vec<Run>, scratch: &Arc<Scratch>, most: usize) -> Result<Self, ScratchError> {
        let block = (most / (runs.len() + 1)).clamp(LEAST, BLOCK);
        let rows = runs.iter().map(|run| run.rows).sum();
        let at = scratch.reserve(rows * size_of::<Row>());
        let run = Run { scratch: Arc::clone(scratch), at, rows };
        let first = Mark { row: 0, place: 0, at: [0.0; 2], up_to: f32::INFINITY };
        let mut sorted = Self { run, marks: vec![first], cuts: 1, totals: [0.0; 2] };
        let mut readers: Vec<Reader> = runs.iter().map(|run| Reader::new(run, 0, block)).collect();
        let heads = readers.iter_mut().enumerate().filter_map(|(run, reader)| Some((reader.next()?, run)));
        let mut heads: BinaryHeap<Reverse<(u32, usize, Row)>> =
            heads.map(|(row, run)| Reverse((key(row), run, row))).collect();
        let (mut out, mut count, mut last) = (Vec::with_capacity(BLOCK), 0, None);
        // Equal scores come from the first of the runs that have them, as their rows do.
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((own, run, row)) = *head;
            match readers[run].next() {
                Some(row) => *head = Reverse((key(row), run, row)),
                None => {
                    std::collections::binary_heap::PeekMut::pop(head);
                }
            }
            if last != Some(own) {
                if count >= sorted.marks[sorted.marks.len() - 1].row + BLOCK {
                    let up_to = last.map_or(f32::INFINITY, score_of);
                    let place = sorted.cuts - 1;
                    sorted.marks.push(Mark { row: count, place, at: sorted.totals, up_to });
                }
                (last, sorted.cuts) = (Some(own), sorted.cuts + 1);
            }
            add(&mut sorted.totals, row);
            out.push(row);
            count += 1;
            if out.len() == BLOCK || count == rows {
                scratch.write(at + ((count - out.len()) * size_of::<Row>()) as u64, &out)?;
                out.clear();
            }
        }
        Ok(sorted)
    }

    /// How many cuts are known.
    pub fn known(&self) -> usize {
        self.marks.len()
    }

    /// The place of a cut that is known, or the end.
    pub fn place(&self, known: usize) -> usize {
        self.marks.get(known).map_or(self.cuts, |mark| mark.place)
    }

    /// The cuts from this one on.
    pub fn walk(&self, place: usize) -> Steps {
        let mark = self.marks[self.marks.partition_point(|mark| mark.place <= place) - 1];
        let mut steps = self.steps(mark);
        (mark.place..place).for_each(|_| {
            steps.next();
        });
        steps
    }

    fn steps(&self, mark: Mark) -> Steps {
        let Mark { row, place, at, up_to } = mark;
        Steps { reader: Reader::new(&self.run, row, BLOCK), place, at, up_to }
    }

    /// The cut that a threshold makes.
    pub fn cut_of(&self, threshold: f32) -> usize {
        let known = self.marks.partition_point(|mark| mark.up_to >= threshold);
        let Some(mark) = known.checked_sub(1).map(|last| self.marks[last]) else { return 0 };
        let mut steps = self.steps(mark);
        loop {
            let cut = steps.next();
            if cut.range.above < threshold || cut.place + 1 == self.cuts {
                return cut.place;
            }
        }
    }
}

/// Adds a row's weight to that of its class.
fn add(at: &mut [f64; 2], row: Row) {
    let weight = f64::from(f32::from_bits(row as u32));
    at[usize::from(weight < 0.0)] += weight.abs();
}

impl Run {
    /// Sorts rows and writes them.
    fn write(scratch: &Arc<Scratch>, rows: &mut Vec<Row>) -> Result<Self, ScratchError> {
        rows.par_sort_by_key(|row| key(*row));
        let at = scratch.reserve(size_of_val(&rows[..]));
        scratch.write(at, rows)?;
        let run = Self { scratch: Arc::clone(scratch), at, rows: rows.len() };
        rows.clear();
        Ok(run)
    }
}

/// Cuts one after the other.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    reader: Reader,
    place: usize,
    at: [f64; 2],
    up_to: f32,
}

impl Steps {
    /// The next cut.
    pub fn next(&mut self) -> Cut {
        let next = self.reader.peek().map(key);
        let above = next.map_or(f32::NEG_INFINITY, score_of);
        let [true_positives, false_positives] = self.at;
        let range = ThresholdRange { above, up_to: self.up_to };
        let cut = Cut { place: self.place, range, true_positives, false_positives, money: 0.0 };
        while let Some(row) = self.reader.peek().filter(|row| Some(key(*row)) == next) {
            add(&mut self.at, row);
            self.reader.next();
        }
        (self.place, self.up_to) = (self.place + 1, above);
        cut
    }
}

/// Rows one after the other. What cannot be read counts as zeros; the file says so when it is asked.
#[derive(Clone, Debug)]
struct Reader {
    run: Run,
    block: usize,
    /// The first row that has not been read.
    row: usize,
    read: Vec<Row>,
    next: usize,
}

impl Reader {
    fn new(run: &Run, row: usize, block: usize) -> Self {
        Self { run: run.clone(), block, row, read: Vec::new(), next: 0 }
    }

    fn peek(&mut self) -> Option<Row> {
        if self.next == self.read.len() {
            self.read.clear();
            self.read.resize(self.block.min(self.run.rows - self.row), 0);
            let at = self.run.at + (self.row * size_of::<Row>()) as u64;
            self.run.scratch.read_or_note(at, &mut self.read);
            (self.row, self.next) = (self.row + self.read.len(), 0);
        }
        self.read.get(self.next).copied()
    }
}

impl Iterator for Reader {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        let row = self.peek()?;
        self.next += 1;
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::data::random_case;
    use crate::metric::{Cuts, StoredRows};

    #[test]
    fn sorted_on_disk_rows_have_the_cuts_that_they_have_in_memory() {
        for seed in 0..12 {
            let (sample, scores) = random_case(seed, 200_000);
            let mut rows = StoredRows::new(Scratch::create(&std::env::temp_dir()).unwrap(), 1 << 20);
            let numbers: Vec<u32> = (0..sample.len() as u32).collect();
            for piece in numbers.chunks(1 + sample.len() / 7) {
                let own: Vec<f32> = piece.iter().map(|row| scores[*row as usize]).collect();
                rows.push(&sample.select(piece), &own).unwrap();
            }
            let rows = rows.finish();
            let (cuts, held) = (rows.cuts().unwrap(), Cuts::new(&sample, &scores).unwrap());
            let count = held.len();
            let written: Vec<Cut> = held.walk(0..count).collect();
            assert!(cuts.walk(0..cuts.len()).eq(written.iter().copied()), "{seed}");
            assert!(cuts.backwards().eq(written.iter().rev().copied()));
            assert_eq!((cuts.positives(), cuts.negatives()), (held.positives(), held.negatives()));
            for place in (0..count).step_by(1 + count / 50) {
                assert_eq!(cuts.at(place), written[place]);
                let ThresholdRange { above, up_to } = written[place].range;
                for threshold in [above, above.next_up(), up_to, up_to.next_up(), f32::NAN] {
                    assert_eq!(cuts.cut_of(threshold), held.cut_of(threshold), "{threshold}");
                }
                let holds = |cut: &Cut| cut.predicted() < written[place].predicted();
                assert_eq!(cuts.partition_point(0..count, holds), place);
            }
            let (whole, all) = rows.whole().unwrap();
            assert_eq!(
                (whole.labels(), whole.weights(), &all[..]),
                (sample.labels(), sample.weights(), &scores[..])
            );
            rows.check().unwrap();
        }
    }
}
