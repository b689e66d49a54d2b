//! Rows that several processes hold, each some of them, in step with each other: counts are summed over all.
//!
//! Every process makes the same calls in the same order and comes to the same numbers, so that thresholds and losses
//! agree everywhere; each has the gradient of its own rows. Order statistics are found by counting. Exact thresholds,
//! where a search begins or is lost, are no sums: only then all scores come together.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::OnceLock;

use crate::count::{Ask, Cell, Counter};
use crate::sample::{ClassTotals, Sample, SampleError};
use crate::shard::{Shard, Staked};

/// Bits of a score that one round of counting tells.
const BITS: u32 = 8;

/// The processes.
pub trait Ranks: Send + Sync + Debug {
    /// Adds up over all processes, entry by entry; NaN where that fails.
    fn sum(&self, values: &mut [f64]);

    /// The values of all processes, one after another.
    fn gather(&self, values: &[f64]) -> Vec<f64>;
}

/// The rows of this process, whose sums are those of all.
pub(crate) struct Ranked<'a> {
    mine: &'a Sample,
    ranks: &'a dyn Ranks,
    totals: ClassTotals,
    /// Whether more is better, what is best, and what hangs on the rows of all, where that is known.
    staked: Option<(bool, f64, ClassTotals)>,
    rows: usize,
    whole: OnceLock<Sample>,
}

impl<'a> Ranked<'a> {
    /// Rows without groups.
    pub(crate) fn new(mine: &'a Sample, ranks: &'a dyn Ranks) -> Self {
        let totals = mine.totals();
        let mut sums = [mine.len() as f64, totals.positives, totals.negatives, 0.0, 0.0, 0.0, 0.0, 0.0];
        if let (Some(stakes), Some(staked)) = (mine.stakes(), mine.staked(false)) {
            let ClassTotals { positives, negatives } = staked.totals[0];
            let more = f64::from(stakes.profit());
            sums[3..].copy_from_slice(&[1.0, more, staked.best, positives, negatives]);
        }
        ranks.sum(&mut sums);
        // Whoever has no rows does not know that something hangs on those of others.
        let [rows, positives, negatives, know, more, best, for_positive, for_negative] = sums;
        let hangs = ClassTotals { positives: for_positive, negatives: for_negative };
        Self {
            mine,
            ranks,
            totals: ClassTotals { positives, negatives },
            staked: (know > 0.0).then_some((more > 0.0, best, hangs)),
            rows: rows as usize,
            whole: OnceLock::new(),
        }
    }
}

impl Shard for Ranked<'_> {
    fn rows(&self) -> usize {
        self.mine.len()
    }

    fn groups(&self) -> Option<(&str, &[String])> {
        None
    }

    fn totals(&self, _: bool) -> &[ClassTotals] {
        std::slice::from_ref(&self.totals)
    }

    fn staked(&self, _: bool) -> Option<Staked<'_>> {
        let (profit, best, totals) = self.staked.as_ref()?;
        Some(Staked { profit: *profit, best: *best, totals: std::slice::from_ref(totals) })
    }

    fn add_counts(&self, counter: &mut Counter, ask: Ask<'_>, cells: &mut [Cell]) -> Result<(), SampleError> {
        let mut own = vec![Cell::default(); cells.len()];
        let counted = self.mine.add_counts(counter, ask, &mut own);
        let mut sums: Vec<f64> = own.into_iter().flat_map(Cell::to_array).collect();
        if counted.is_err() {
            // The others wait for a sum, and must not go on with it.
            sums.fill(f64::NAN);
        }
        self.ranks.sum(&mut sums);
        let (summed, _) = sums.as_chunks::<6>();
        cells.iter_mut().zip(summed).for_each(|(cell, more)| cell.merge(&Cell::from_array(*more)));
        counted
    }

    fn spread(&self, counter: &Counter, ask: Ask<'_>, gradient: &mut [f32]) {
        self.mine.spread(counter, ask, gradient);
    }

    fn moments(&self, scores: &[f32], from: f64) -> [f64; 3] {
        let mut sums = self.mine.moments(scores, from);
        self.ranks.sum(&mut sums);
        sums
    }

    fn add_line(&self, scores: &[f32], at_zero: f64, slope: f64, values: &mut [f32]) {
        self.mine.add_line(scores, at_zero, slope, values);
    }

    fn whole(&self) -> &Sample {
        self.whole.get_or_init(|| {
            let rows = 0..self.mine.len();
            let labels: Vec<f64> = rows.clone().map(|row| f64::from(self.mine.labels()[row])).collect();
            let labels = self.ranks.gather(&labels).iter().map(|label| *label > 0.5).collect();
            let weights = self.ranks.gather(&rows.map(|row| self.mine.weight(row)).collect::<Vec<_>>());
            let weights = weights.into_iter().map(|weight| weight as f32).collect();
            let mut whole = Sample::new(labels).and_then(|sample| sample.with_weights(weights));
            if let Some((profit, ..)) = self.staked {
                let pays = self.mine.stakes().map_or(&[][..], |stakes| stakes.pays().as_flattened());
                let pays = self.ranks.gather(pays).as_chunks().0.to_vec();
                whole = whole.and_then(|sample| sample.with_stakes(profit, pays));
            }
            whole.unwrap_or_else(|_| Sample::none())
        })
    }

    fn gathered<'s>(&self, scores: &'s [f32]) -> Cow<'s, [f32]> {
        let scores: Vec<f64> = scores.iter().map(|score| f64::from(*score)).collect();
        self.ranks.gather(&scores).into_iter().map(|score| score as f32).collect()
    }

    fn everywhere(&self) -> usize {
        self.rows
    }

    fn in_order(&self, scores: &[f32], class: Option<bool>, at: &dyn Fn(usize) -> Vec<usize>) -> Vec<f32> {
        let members = scores.iter().zip(self.mine.labels());
        let members = members.filter(|(_, label)| class.is_none_or(|class| class == **label));
        let keys: Vec<u32> = members.map(|(score, _)| key(*score)).collect();
        let mut count = [keys.len() as f64];
        self.ranks.sum(&mut count);
        // For each rank the first bits of its score, and its rank among those with the same.
        let mut found: Vec<(u32, f64)> =
            at(count[0] as usize).into_iter().map(|rank| (0, rank as f64)).collect();
        let bins = 1usize << BITS;
        for shift in (0..u32::BITS).step_by(BITS as usize).rev() {
            let mut counts = vec![0.0; bins * found.len()];
            for ((first, _), counts) in found.iter().zip(counts.chunks_mut(bins)) {
                let above = |key: u32| key.checked_shr(shift + BITS).unwrap_or(0);
                let same = keys.iter().filter(|key| above(**key) == *first);
                same.for_each(|key| counts[(key >> shift) as usize % bins] += 1.0);
            }
            self.ranks.sum(&mut counts);
            for ((first, rank), counts) in found.iter_mut().zip(counts.chunks(bins)) {
                let mut bin = 0;
                while bin + 1 < bins && *rank >= counts[bin] {
                    *rank -= counts[bin];
                    bin += 1;
                }
                *first = first.wrapping_shl(BITS) | bin as u32;
            }
        }
        found.into_iter().map(|(key, _)| score(key)).collect()
    }
}

/// A score's bits in its order.
fn key(score: f32) -> u32 {
    let bits = score.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

fn score(key: u32) -> f32 {
    f32::from_bits(if key >> 31 == 1 { key ^ 1 << 31 } else { !key })
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier, Mutex};

    use super::*;
    use crate::goal::Goal;
    use crate::train::method::Loss;
    use crate::train::{BatchLoss, BatchOptions};

    /// Threads that wait for each other.
    #[derive(Debug)]
    struct Threads {
        rank: usize,
        barrier: Arc<Barrier>,
        parts: Arc<Mutex<Vec<Vec<f64>>>>,
    }

    impl Ranks for Threads {
        fn sum(&self, values: &mut [f64]) {
            let all = self.gather(values);
            let length = values.len();
            values.fill(0.0);
            all.chunks(length.max(1))
                .for_each(|part| values.iter_mut().zip(part).for_each(|(sum, more)| *sum += more));
        }

        fn gather(&self, values: &[f64]) -> Vec<f64> {
            self.parts.lock().unwrap()[self.rank] = values.to_vec();
            self.barrier.wait();
            let all = self.parts.lock().unwrap().concat();
            self.barrier.wait();
            all
        }
    }

    fn scores(step: usize, row: usize) -> (f32, bool) {
        let label = (row * 7 + step).is_multiple_of(5);
        let noise = ((row * 7919 + step * 104_729) % 1000) as f32 / 250.0 - 2.0;
        (noise + if label { 1.5 } else { 0.0 }, label)
    }

    /// Five batches; the gradient and the thresholds of each. Of two, the first has a third of the rows, once none.
    fn train(
        goal: &str,
        rank: Option<usize>,
        ranks: Option<Arc<dyn Ranks>>,
    ) -> Vec<(f64, Vec<f32>, Vec<f64>)> {
        let goal: Goal = goal.parse().unwrap();
        let mut loss = BatchLoss::new(&goal, BatchOptions { pool: 3, ..BatchOptions::default() });
        loss.set_ranks(ranks);
        let step = |step: usize| {
            let cut = if step == 3 { 0 } else { 100 };
            let rows = match rank {
                None => 0..300,
                Some(0) => 0..cut,
                Some(_) => cut..300,
            };
            let (scores, labels): (Vec<f32>, Vec<bool>) = rows.map(|row| scores(step, row)).unzip();
            let sample = match labels.is_empty() {
                true => Sample::none(),
                false => Sample::new(labels).unwrap().paid_by(&goal).unwrap(),
            };
            let mut v = vec![0.0; scores.len()];
            let value = loss.evaluate(&sample, &scores, &mut v).unwrap();
            (value, v, loss.thresholds().unwrap_or_default().to_vec())
        };
        (0..12).map(step).collect()
    }

    #[test]
    fn two_processes_come_to_what_one_does() {
        // A free threshold is where a slope is zero to 3e-6: it moves further than counts do.
        let goals = [
            ("recall @ fpr<=10%", 1e-6),
            ("precision @ recall>=0.8", 1e-6),
            ("f1", 1e-6),
            ("precision @ k=20", 1e-6),
            ("cost(fp=1, fn=5)", 1e-4),
        ];
        for (goal, near) in goals {
            let alone = train(goal, None, None);
            let (barrier, parts) = (Arc::new(Barrier::new(2)), Arc::new(Mutex::new(vec![Vec::new(); 2])));
            let start = |rank: usize| {
                let ranks = Threads { rank, barrier: Arc::clone(&barrier), parts: Arc::clone(&parts) };
                move || train(goal, Some(rank), Some(Arc::new(ranks)))
            };
            let (first, second) = std::thread::scope(|scope| {
                let first = scope.spawn(start(0));
                let second = scope.spawn(start(1));
                (first.join().unwrap(), second.join().unwrap())
            });
            for (alone, (first, second)) in alone.iter().zip(first.iter().zip(&second)) {
                let joined = [&first.1[..], &second.1].concat();
                assert_eq!(first.2, second.2);
                assert!(
                    (alone.0 - first.0).abs() < near && first.0 == second.0,
                    "{goal}: {alone:?} {first:?}"
                );
                let same =
                    alone.1.iter().zip(&joined).all(|(one, other)| f64::from(one - other).abs() < near);
                assert!(same && alone.1.len() == joined.len(), "{goal}");
                assert!(
                    alone.2.iter().zip(&first.2).all(|(one, other)| (one - other).abs() < near),
                    "{goal}"
                );
            }
        }
    }

    #[test]
    fn scores_in_order_are_found_by_counting() {
        let values: Vec<f32> = (0..999).map(|row| ((row * 7919) % 1000) as f32 / 100.0 - 5.0).collect();
        let sample = Sample::new((0..999).map(|row| row % 3 == 0).collect()).unwrap();
        let alone = Threads {
            rank: 0,
            barrier: Arc::new(Barrier::new(1)),
            parts: Arc::new(Mutex::new(vec![vec![]])),
        };
        let ranked = Ranked::new(&sample, &alone);
        for class in [None, Some(true), Some(false)] {
            let at = |members: usize| vec![0, 5, members / 2, members - 1];
            assert_eq!(ranked.in_order(&values, class, &at), sample.in_order(&values, class, &at));
        }
        assert_eq!(ranked.in_order(&values, None, &|_| Vec::new()), Vec::<f32>::new());
    }
}
