//! Rows wherever they are: all that training asks of them are sums.
//!
//! A [`Sample`] answers for the rows it holds; [`Shards`], a list of others, by adding up what they answer, in
//! order. Everything above works on either: the engine, every method of training, and `auto` over them. Bytes
//! depend on how rows are cut into shards, and never on threads.

use std::borrow::Cow;
use std::sync::OnceLock;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use crate::count::{Ask, Cell, Counter};
use crate::sample::{ClassTotals, Sample, SampleError, Stakes};

/// Rows added up as one unit, so that sums do not depend on the number of threads.
const CHUNK: usize = 4_096;

/// Labels, weights and groups of rows, asked about.
///
/// Slices that a method is given have as many entries as there are rows: callers check.
pub trait Shard: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// The column that groups come from and their names, if there are groups.
    fn groups(&self) -> Option<(&str, &[String])>;

    /// Summed weight of each class: of all rows, or by group.
    fn totals(&self, by_group: bool) -> &[ClassTotals];

    /// What hangs on decisions in money, if that is known.
    fn staked(&self, by_group: bool) -> Option<Staked<'_>>;

    /// Adds smooth counts, or how they change with a motion of the scores, to the cells.
    ///
    /// # Errors
    /// If a score is not finite.
    fn add_counts(&self, counter: &mut Counter, ask: Ask<'_>, cells: &mut [Cell]) -> Result<(), SampleError>;

    /// Writes the gradient by each score that the counter has been given coefficients for.
    fn spread(&self, counter: &Counter, ask: Ask<'_>, gradient: &mut [f32]);

    /// Σ w, Σ w (s - from), Σ w (s - from)².
    fn moments(&self, scores: &[f32], from: f64) -> [f64; 3];

    /// Adds w (at_zero + slope s) to each row's value.
    fn add_line(&self, scores: &[f32], at_zero: f64, slope: f64, values: &mut [f32]);

    /// All rows in one place: exact thresholds, exact counts and quantiles are of these.
    fn whole(&self) -> &Sample;

    /// The scores of all rows, where these are those of the rows here.
    fn gathered<'s>(&self, scores: &'s [f32]) -> Cow<'s, [f32]> {
        Cow::Borrowed(scores)
    }

    /// Number of rows wherever sums are of: more than are here, where other processes hold some.
    fn everywhere(&self) -> usize {
        self.rows()
    }

    /// The scores at some ranks among the rows of a class, from the lowest at 0; `at` says which, of so many rows.
    fn in_order(&self, scores: &[f32], class: Option<bool>, at: &dyn Fn(usize) -> Vec<usize>) -> Vec<f32> {
        let members = scores.iter().zip(self.whole().labels());
        let members = members.filter(|(_, label)| class.is_none_or(|class| class == **label));
        let mut values: Vec<f32> = members.map(|(score, _)| *score).collect();
        let ranks = at(values.len());
        let (Some(low), Some(high)) = (ranks.iter().min(), ranks.iter().max()) else { return Vec::new() };
        // Only what lies between the ranks has to be in order.
        values.select_nth_unstable_by(*low, f32::total_cmp);
        values[*low..].select_nth_unstable_by(high - low, f32::total_cmp);
        values[*low..=*high].sort_unstable_by(f32::total_cmp);
        ranks.iter().map(|rank| values[*rank]).collect()
    }

    /// The rows, where they are in one place anyway.
    fn alone(&self) -> Option<&Sample> {
        None
    }
}

/// What hangs on decisions about rows.
#[derive(Clone, Copy, Debug)]
pub struct Staked<'a> {
    /// Whether more is better.
    pub profit: bool,
    /// What is paid if all decisions are the better ones.
    pub best: f64,
    /// What hangs on rows better decided positive, and negative: of all rows, or by group.
    pub totals: &'a [ClassTotals],
}

impl Staked<'_> {
    fn of(stakes: &Stakes, by_group: bool) -> Staked<'_> {
        Staked { profit: stakes.profit(), best: stakes.best(), totals: stakes.totals(by_group) }
    }
}

impl Shard for Sample {
    fn rows(&self) -> usize {
        self.len()
    }

    fn groups(&self) -> Option<(&str, &[String])> {
        self.groups().map(|groups| (groups.column(), groups.names()))
    }

    fn totals(&self, by_group: bool) -> &[ClassTotals] {
        match self.groups() {
            Some(groups) if by_group => groups.totals(),
            _ => self.all_totals(),
        }
    }

    fn staked(&self, by_group: bool) -> Option<Staked<'_>> {
        self.stakes().map(|stakes| Staked::of(stakes, by_group && self.groups().is_some()))
    }

    fn add_counts(&self, counter: &mut Counter, ask: Ask<'_>, cells: &mut [Cell]) -> Result<(), SampleError> {
        counter.add(self, ask, cells)
    }

    fn spread(&self, counter: &Counter, ask: Ask<'_>, gradient: &mut [f32]) {
        counter.spread(self, ask, gradient);
    }

    fn moments(&self, scores: &[f32], from: f64) -> [f64; 3] {
        self.moments_from(0, scores, from)
    }

    fn add_line(&self, scores: &[f32], at_zero: f64, slope: f64, values: &mut [f32]) {
        let chunks = values.par_chunks_mut(CHUNK).zip(scores.par_chunks(CHUNK)).enumerate();
        chunks.for_each(|(chunk, (values, scores))| {
            self.add_line_from(chunk * CHUNK, scores, at_zero, slope, values);
        });
    }

    fn whole(&self) -> &Sample {
        self
    }

    fn alone(&self) -> Option<&Sample> {
        Some(self)
    }
}

impl Sample {
    /// Σ w, Σ w (s - from), Σ w (s - from)² of some rows, from the first of them on.
    pub(crate) fn moments_from(&self, first: usize, scores: &[f32], from: f64) -> [f64; 3] {
        moments(scores, self.weights().map(|weights| &weights[first..]), from)
    }

    /// Adds w (at_zero + slope s) to the value of each of some rows, from the first of them on.
    pub(crate) fn add_line_from(
        &self,
        first: usize,
        scores: &[f32],
        at_zero: f64,
        slope: f64,
        values: &mut [f32],
    ) {
        let weights = self.weights().map(|weights| &weights[first..]);
        Arch::new().dispatch(LineOp { weights, scores, at_zero, slope, values });
    }
}

/// Adds a line to values, compiled for the vectors of the processor.
struct LineOp<'a> {
    weights: Option<&'a [f32]>,
    scores: &'a [f32],
    at_zero: f64,
    slope: f64,
    values: &'a mut [f32],
}

impl WithSimd for LineOp<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { weights, scores, at_zero, slope, values } = self;
        let add = |value: &mut f32, score: f32, weight: f64| {
            *value = (f64::from(*value) + weight * (at_zero + slope * f64::from(score))) as f32;
        };
        match weights {
            None => values.iter_mut().zip(scores).for_each(|(value, score)| add(value, *score, 1.0)),
            Some(weights) => {
                let rows = values.iter_mut().zip(scores).zip(weights);
                rows.for_each(|((value, score), weight)| add(value, *score, f64::from(*weight)));
            }
        }
    }
}

/// A list of shards, as one.
pub struct Shards {
    shards: Vec<Box<dyn Shard + Send>>,
    rows: usize,
    totals: ClassTotals,
    group_totals: Vec<ClassTotals>,
    /// Whether more is better, what is best, and what hangs on the rows: of all, then by group.
    staked: Option<(bool, f64, Vec<ClassTotals>)>,
    whole: OnceLock<Sample>,
}

impl Shards {
    /// These shards, one after another; some may be empty, or lack a class or a group.
    ///
    /// # Errors
    /// If there are no rows, or shards differ in their groups' names.
    pub fn new(shards: Vec<Box<dyn Shard + Send>>) -> Result<Self, SampleError> {
        let rows = shards.iter().map(|shard| shard.rows()).sum();
        let Some(first) = shards.first().filter(|_| rows > 0) else { return Err(SampleError::Empty) };
        if shards.iter().any(|shard| shard.groups() != first.groups()) {
            return Err(SampleError::Shards);
        }
        let mut summed = Self {
            rows,
            totals: ClassTotals::default(),
            group_totals: vec![ClassTotals::default(); first.groups().map_or(0, |(_, names)| names.len())],
            staked: shards
                .iter()
                .find_map(|shard| shard.staked(false))
                .map(|one| (one.profit, 0.0, Vec::new())),
            whole: OnceLock::new(),
            shards,
        };
        for shard in &summed.shards {
            summed.totals.merge(&shard.totals(false)[0]);
            if !summed.group_totals.is_empty() {
                let totals = summed.group_totals.iter_mut().zip(shard.totals(true));
                totals.for_each(|(sum, more)| sum.merge(more));
            }
            let by_group = !summed.group_totals.is_empty();
            if let (Some((_, best, totals)), Some(all)) = (&mut summed.staked, shard.staked(false)) {
                let groups =
                    if by_group { shard.staked(true).map_or(&[][..], |one| one.totals) } else { &[] };
                *best += all.best;
                totals.resize(1 + groups.len(), ClassTotals::default());
                totals
                    .iter_mut()
                    .zip(all.totals.iter().chain(groups))
                    .for_each(|(sum, more)| sum.merge(more));
            }
        }
        Ok(summed)
    }

    /// Each shard, and where its rows are.
    fn each(&self) -> impl Iterator<Item = (&(dyn Shard + Send), std::ops::Range<usize>)> {
        self.shards.iter().scan(0, |start, shard| {
            let rows = *start..*start + shard.rows();
            *start = rows.end;
            Some((&**shard, rows))
        })
    }
}

impl Shard for Shards {
    fn rows(&self) -> usize {
        self.rows
    }

    fn groups(&self) -> Option<(&str, &[String])> {
        self.shards[0].groups()
    }

    fn totals(&self, by_group: bool) -> &[ClassTotals] {
        match by_group && !self.group_totals.is_empty() {
            true => &self.group_totals,
            false => std::slice::from_ref(&self.totals),
        }
    }

    fn staked(&self, by_group: bool) -> Option<Staked<'_>> {
        let (profit, best, totals) = self.staked.as_ref()?;
        let by_group = by_group && !self.group_totals.is_empty();
        let totals = if by_group { &totals[1..] } else { &totals[..1] };
        Some(Staked { profit: *profit, best: *best, totals })
    }

    fn add_counts(&self, counter: &mut Counter, ask: Ask<'_>, cells: &mut [Cell]) -> Result<(), SampleError> {
        self.each().try_for_each(|(shard, rows)| {
            shard.add_counts(counter, ask.of(rows.clone()), cells).map_err(|error| error.after(rows.start))
        })
    }

    fn spread(&self, counter: &Counter, ask: Ask<'_>, gradient: &mut [f32]) {
        for (shard, rows) in self.each() {
            shard.spread(counter, ask.of(rows.clone()), &mut gradient[rows]);
        }
    }

    fn moments(&self, scores: &[f32], from: f64) -> [f64; 3] {
        self.each().map(|(shard, rows)| shard.moments(&scores[rows], from)).fold([0.0; 3], add)
    }

    fn add_line(&self, scores: &[f32], at_zero: f64, slope: f64, values: &mut [f32]) {
        for (shard, rows) in self.each() {
            shard.add_line(&scores[rows.clone()], at_zero, slope, &mut values[rows]);
        }
    }

    fn whole(&self) -> &Sample {
        self.whole.get_or_init(|| {
            let mut whole = Sample::none();
            self.shards.iter().for_each(|shard| whole.roll(0, shard.whole()));
            whole
        })
    }
}

pub(crate) fn add<const N: usize>(a: [f64; N], b: [f64; N]) -> [f64; N] {
    std::array::from_fn(|k| a[k] + b[k])
}

/// Σ w, Σ w a, Σ w a² with a = value - from, the same bits for any number of threads and on any processor.
pub(crate) fn moments(values: &[f32], weights: Option<&[f32]>, from: f64) -> [f64; 3] {
    let partial = |(chunk, values): (usize, &[f32])| {
        let weights = weights.map(|weights| &weights[chunk * CHUNK..][..values.len()]);
        Arch::new().dispatch(MomentsOp { values, weights, from })
    };
    let partials: Vec<[f64; 3]> = values.par_chunks(CHUNK).enumerate().map(partial).collect();
    partials.into_iter().fold([0.0; 3], add)
}

/// The sums of a chunk.
struct MomentsOp<'a> {
    values: &'a [f32],
    weights: Option<&'a [f32]>,
    from: f64,
}

impl WithSimd for MomentsOp<'_> {
    type Output = [f64; 3];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f64; 3] {
        /// Sums side by side, whatever the width of the vectors.
        const LANES: usize = 8;
        const BLOCK: usize = 512;
        let Self { values, weights, from } = self;
        let (mut away, mut weight) = ([0.0; BLOCK], [1.0; BLOCK]);
        let mut sums = [[simd.splat_f64s(0.0); LANES]; 3];
        for (block, values) in values.chunks(BLOCK).enumerate() {
            let padded = values.len().next_multiple_of(LANES);
            for (away, value) in away.iter_mut().zip(values) {
                *away = f64::from(*value) - from;
            }
            if let Some(weights) = weights {
                for (weight, value) in weight.iter_mut().zip(&weights[block * BLOCK..]) {
                    *weight = f64::from(*value);
                }
            }
            weight[values.len()..padded].fill(0.0);
            let (away, _) = S::as_simd_f64s(&away[..padded]);
            let (weight, _) = S::as_simd_f64s(&weight[..padded]);
            let parts = LANES / S::F64_LANES;
            for (away, weight) in away.chunks_exact(parts).zip(weight.chunks_exact(parts)) {
                for part in 0..parts {
                    let first = simd.mul_f64s(weight[part], away[part]);
                    sums[0][part] = simd.add_f64s(sums[0][part], weight[part]);
                    sums[1][part] = simd.add_f64s(sums[1][part], first);
                    sums[2][part] = simd.add_f64s(sums[2][part], simd.mul_f64s(first, away[part]));
                }
            }
        }
        sums.map(|parts| {
            let mut lanes = [0.0; LANES];
            let (into, _) = S::as_mut_simd_f64s(&mut lanes);
            into.iter_mut().zip(parts).for_each(|(into, part)| *into = part);
            lanes.iter().sum()
        })
    }
}
