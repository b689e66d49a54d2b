//! What a bootstrap draws: rows by class, or whole entities; and of many rows some in their place.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Estimate, Interval};
use crate::metric::{MetricError, Rows};
use crate::sample::{Entities, Sample};

/// Rows that replicates draw from at most, about.
pub(super) const MOST: usize = 100_000;
/// Of each class, and of each group of it, or of entities, they keep at least so many.
pub(super) const LEAST: usize = 1000;

/// What is drawn with replacement.
pub(super) enum Draws<'a> {
    /// From each of these lists as many rows as it has.
    Rows(Vec<Vec<u32>>),
    /// As many entities as there are, with all their rows.
    Entities(&'a Entities),
}

impl<'a> Draws<'a> {
    /// Entities, or rows by class.
    pub(super) fn of(sample: &'a Sample) -> Self {
        Self::by_class(sample, 1, |_| 0)
    }

    /// Entities, or rows by group and class.
    pub(super) fn by_group(sample: &'a Sample) -> Self {
        match sample.groups() {
            Some(groups) => Self::by_class(sample, groups.names().len(), |row| groups.codes()[row] as usize),
            None => Self::of(sample),
        }
    }

    fn by_class(sample: &'a Sample, groups: usize, group: impl Fn(usize) -> usize) -> Self {
        if let Some(entities) = sample.together() {
            return Self::Entities(entities);
        }
        let mut strata = vec![Vec::new(); 2 * groups];
        for (row, label) in sample.labels().iter().enumerate() {
            strata[stratum(group(row), *label)].push(row as u32);
        }
        Self::Rows(strata)
    }

    /// Draws, and counts how often each row came up.
    pub(super) fn draw(&self, generator: &mut ChaCha8Rng, times: &mut [u32], drawn: &mut Vec<u32>) {
        match self {
            Self::Rows(strata) => {
                times.fill(0);
                for rows in strata {
                    for _ in 0..rows.len() {
                        let row = rows[generator.random_range(0..rows.len() as u32) as usize];
                        times[row as usize] += 1;
                    }
                }
            }
            Self::Entities(entities) => {
                let count = entities.len() as u32;
                drawn.clear();
                drawn.resize(entities.len(), 0);
                (0..count).for_each(|_| drawn[generator.random_range(0..count) as usize] += 1);
                for (times, entity) in times.iter_mut().zip(entities.of()) {
                    *times = drawn[*entity as usize];
                }
            }
        }
    }
}

/// The place of a class of a group among the lists to draw from: positives first.
fn stratum(group: usize, label: bool) -> usize {
    2 * group + usize::from(!label)
}

/// Rows in the place of more of them.
pub(super) struct Fewer {
    pub(super) rows: Vec<u32>,
    pub(super) sample: Sample,
    pub(super) scores: Vec<f32>,
    /// How much less a metric of all rows strays.
    scale: f64,
}

impl Fewer {
    /// One row, or entity, of each few to draw from, where there are more than so many rows; by group, or not. Nothing is
    /// listed but what is kept.
    pub(super) fn of(
        rows: &dyn Rows,
        by_group: bool,
        seed: u64,
        most: usize,
    ) -> Result<Option<Self>, MetricError> {
        let about = rows.about();
        let names = about.groups.filter(|_| by_group).map_or(1, |(_, names)| names.len());
        let group = |sample: &Sample, row: usize| match sample.groups().filter(|_| by_group) {
            Some(groups) => groups.codes()[row] as usize,
            None => 0,
        };
        let strata = |take: &mut dyn FnMut(usize)| {
            rows.each(&mut |sample, _| {
                let labels = sample.labels().iter().enumerate();
                labels.for_each(|(row, label)| take(stratum(group(sample, row), *label)));
            });
        };
        let mut counts = vec![0; 2 * names];
        match about.together {
            true => rows.each(&mut |sample, _| counts = vec![sample.together().map_or(0, Entities::len)]),
            false => strata(&mut |stratum| counts[stratum] += 1),
        }
        let Some(least) = counts.iter().copied().filter(|rows| *rows > 0).min() else { return Ok(None) };
        let share = (about.rows / most).min(least / LEAST);
        if share < 2 {
            return Ok(None);
        }
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(u64::MAX);
        let mut places = |count: usize| -> Vec<usize> {
            (0..count / share).map(|run| run * share + generator.random_range(0..share)).collect()
        };
        let kept: Vec<Vec<usize>> = counts.iter().map(|count| places(*count)).collect();
        let (mut taken, mut row) = (Vec::new(), 0..);
        if about.together {
            let mut of = vec![false; counts[0]];
            kept[0].iter().for_each(|place| of[*place] = true);
            rows.each(&mut |sample, _| {
                let entities = sample.together().map_or(&[][..], Entities::of);
                let own = entities.iter().zip(row.by_ref()).filter(|(own, _)| of[**own as usize]);
                taken.extend(own.map(|(_, row)| row));
            });
        } else {
            // How many rows of each have gone by, and how many of them were kept.
            let mut seen = vec![(0, 0); kept.len()];
            strata(&mut |stratum| {
                let (gone, next) = &mut seen[stratum];
                let own = kept[stratum].get(*next) == Some(gone);
                (*gone, *next) = (*gone + 1, *next + usize::from(own));
                taken.extend(row.next().filter(|_| own));
            });
        }
        let (sample, scores) = rows.pick(&taken)?;
        Ok(Some(Self { sample, scores, rows: taken, scale: (1.0 / share as f64).sqrt() }))
    }

    pub(super) fn pick(&self, scores: &[f32]) -> Vec<f32> {
        self.rows.iter().map(|row| scores[*row as usize]).collect()
    }

    /// What an estimate by these rows says of all of them, where the metric has this value.
    pub(super) fn scaled(&self, few: Estimate, value: f64) -> Estimate {
        let end = |end: f64| value + (end - few.value) * self.scale;
        let interval =
            Interval { lower: end(few.interval.lower), upper: end(few.interval.upper), ..few.interval };
        Estimate { value, standard_error: few.standard_error * self.scale, interval, ..few }
    }
}
