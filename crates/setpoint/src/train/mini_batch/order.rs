//! Which rows make up each batch: by seed and step alone, so that a resumed run sees the same.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::rank::Queries;
use crate::sample::Sample;
use crate::train::BatchOrder;

/// The order of rows, shuffled afresh every epoch. Queries stay whole.
pub(super) struct Batches<'l> {
    labels: &'l [bool],
    queries: Option<&'l Queries>,
    size: usize,
    seed: u64,
    order: BatchOrder,
    epoch: Option<u64>,
    rows: Vec<u32>,
    /// Where each batch starts in `rows`, and where the last one ends.
    starts: Vec<usize>,
}

impl<'l> Batches<'l> {
    pub(super) fn new(sample: &'l Sample, size: usize, seed: u64, order: BatchOrder) -> Self {
        let (labels, queries) = (sample.labels(), sample.queries());
        let size = size.min(labels.len());
        Self { labels, queries, size, seed, order, epoch: None, rows: Vec::new(), starts: Vec::new() }
    }

    pub(super) fn per_epoch(&self) -> u64 {
        let batches = self.labels.len().div_ceil(self.size);
        self.queries.map_or(batches, |queries| batches.min(queries.len())) as u64
    }

    /// The rows of a step.
    pub(super) fn rows(&mut self, step: u64) -> &[u32] {
        let (epoch, index) = (step / self.per_epoch(), (step % self.per_epoch()) as usize);
        if self.epoch != Some(epoch) {
            self.shuffle(epoch);
            self.epoch = Some(epoch);
        }
        &self.rows[self.starts[index]..self.starts[index + 1]]
    }

    fn shuffle(&mut self, epoch: u64) {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(epoch);
        self.rows.clear();
        self.starts.clear();
        if let Some(queries) = self.queries {
            let mut order: Vec<usize> = (0..queries.len()).collect();
            order.shuffle(&mut random);
            let batches = self.per_epoch() as usize;
            for batch in 0..batches {
                self.starts.push(self.rows.len());
                let share = batch * order.len() / batches..(batch + 1) * order.len() / batches;
                order[share].iter().for_each(|query| self.rows.extend_from_slice(queries.rows(*query)));
            }
            self.starts.push(self.rows.len());
            return;
        }
        self.rows.extend(0..self.labels.len() as u32);
        self.starts.extend((0..self.labels.len()).step_by(self.size).chain([self.labels.len()]));
        self.rows.shuffle(&mut random);
        if self.order == BatchOrder::Stratified {
            self.rows = spread(&self.rows, self.labels);
        }
    }
}

/// The same rows with each label spread evenly over the whole.
fn spread(rows: &[u32], labels: &[bool]) -> Vec<u32> {
    let of = |label: bool| -> Vec<u32> {
        rows.iter().copied().filter(|row| labels[*row as usize] == label).collect()
    };
    let (positives, negatives) = (of(true), of(false));
    let mut spread = Vec::with_capacity(rows.len());
    let (mut p, mut n) = (0, 0);
    while spread.len() < rows.len() {
        // The next positive is due at (p + 1/2) / positives of the way, the next negative likewise.
        let positive_is_due = (2 * p + 1) * negatives.len() <= (2 * n + 1) * positives.len();
        if p < positives.len() && (positive_is_due || n == negatives.len()) {
            spread.push(positives[p]);
            p += 1;
        } else {
            spread.push(negatives[n]);
            n += 1;
        }
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_comes_once_in_an_epoch_and_epochs_differ() {
        let labels: Vec<bool> = (0..1003).map(|row| row % 50 == 0).collect();
        let sample = Sample::new(labels).unwrap();
        for order in [BatchOrder::Shuffled, BatchOrder::Stratified] {
            let mut batches = Batches::new(&sample, 100, 7, order);
            let epoch = |batches: &mut Batches<'_>, epoch: u64| -> Vec<u32> {
                (0..11).flat_map(|step| batches.rows(11 * epoch + step).to_vec()).collect()
            };
            assert_eq!(batches.per_epoch(), 11);
            let (first, second) = (epoch(&mut batches, 0), epoch(&mut batches, 1));
            assert_ne!(first, second);
            assert_eq!(first, epoch(&mut batches, 0));
            let mut sorted = first;
            sorted.sort_unstable();
            assert_eq!(sorted, (0..1003).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn stratified_batches_have_the_same_number_of_positives_but_for_one() {
        let labels: Vec<bool> = (0..1000).map(|row| row % 37 == 0).collect();
        let sample = Sample::new(labels.clone()).unwrap();
        let mut batches = Batches::new(&sample, 100, 3, BatchOrder::Stratified);
        let positives = |rows: &[u32]| rows.iter().filter(|row| labels[**row as usize]).count();
        let counts: Vec<usize> = (0..10).map(|step| positives(batches.rows(step))).collect();
        assert!(counts.iter().all(|count| (2..=4).contains(count)), "{counts:?}");
    }
    #[test]
    fn batches_of_queries_have_whole_ones() {
        let keys: Vec<u32> = (0..1000).map(|row| row * row % 37).collect();
        let queries = Queries::new("q", &keys, vec![1.0; 1000]).unwrap();
        let sample = Sample::of_queries(queries).unwrap();
        let mut batches = Batches::new(&sample, 128, 3, BatchOrder::Shuffled);
        let steps = batches.per_epoch();
        let mut seen = Vec::new();
        for step in 0..steps {
            let rows = batches.rows(step).to_vec();
            let inside = |key: u32| rows.iter().filter(|row| keys[**row as usize] == key).count();
            let whole = |key: u32| keys.iter().filter(|other| **other == key).count();
            assert!(rows.iter().all(|row| inside(keys[*row as usize]) == whole(keys[*row as usize])));
            seen.extend(rows);
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..1000).collect::<Vec<u32>>());
    }
}
