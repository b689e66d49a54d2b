//! A share of examples that come in entities: patients with visits, queries with documents.
//!
//! Rows of one entity are alike, so a binomial interval is too narrow, often by a factor of three. The
//! entities are the draws. With c of n examples counted in each, the share is R = sum c / sum n, and
//!
//! ```text
//! ln R has the standard error  sqrt(sum (c - R n)^2) / sum c
//! ```
//!
//! Its distribution, divided by that error, is taken from draws of whole entities (the bootstrap-t).
//! Of the ways tried (Student's t on the share and on its logarithm, effective sample sizes, bootstrap
//! percentiles) it came nearest to its level with 30 to 150 entities, equal and unequal, at shares of
//! 1% and 10% (`docs/decisions.md`). It is an approximation all the same: entities that are rare and
//! count for much may be missing from any sample.
//!
//! Where nothing is counted an entity counts as one example: the share is at most p with probability
//! 1 - (1 - p)^entities.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{Interval, check_confidence};
use crate::metric::MetricError;

/// Fewest entities from which a distribution is drawn.
pub const LEAST_ENTITIES: usize = 10;

/// Examples counted and all examples of one entity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EntityCount {
    /// Examples that the share counts, or their weight.
    pub counted: f64,
    /// Examples that it is a share of.
    pub examples: f64,
}

/// The share with its studentised draws.
#[derive(Clone, Debug)]
pub struct EntityShare {
    entities: usize,
    /// `None` where nothing is counted.
    log: Option<LogShare>,
}

#[derive(Clone, Debug)]
struct LogShare {
    value: f64,
    error: f64,
    /// (ln R* - ln R) / error*, ascending.
    draws: Vec<f64>,
}

impl EntityShare {
    /// Draws the entities `replicates` times over; those without examples do not count.
    ///
    /// # Errors
    /// If there are fewer than [`LEAST_ENTITIES`].
    pub fn new(counts: &[EntityCount], replicates: usize, seed: u64) -> Result<Self, MetricError> {
        let counts: Vec<(f64, f64)> = counts
            .iter()
            .filter(|count| count.examples > 0.0)
            .map(|count| (count.counted, count.examples))
            .collect();
        let entities = counts.len();
        if entities < LEAST_ENTITIES {
            return Err(MetricError::Entities { found: entities, needed: LEAST_ENTITIES });
        }
        let Some((value, error)) = log_share(counts.iter().copied()) else {
            return Ok(Self { entities, log: None });
        };
        let generator = ChaCha8Rng::seed_from_u64(seed);
        let draw = |index: usize| {
            let mut generator = generator.clone();
            generator.set_stream(index as u64);
            let drawn = (0..entities).map(|_| counts[generator.random_range(0..entities)]);
            match log_share(drawn) {
                None => f64::NEG_INFINITY,
                Some((drawn, _)) if drawn == value => 0.0,
                Some((drawn, error)) => (drawn - value) / error,
            }
        };
        let mut draws: Vec<f64> = (0..replicates).into_par_iter().map(draw).collect();
        draws.sort_unstable_by(f64::total_cmp);
        Ok(Self { entities, log: Some(LogShare { value, error, draws }) })
    }

    /// Enough draws to tell a tail of this size, fewer where there are many entities.
    #[must_use]
    pub fn replicates(entities: usize, tail: f64) -> usize {
        (2_000_000 / entities.max(1)).clamp(199, 999).max((4.0 / tail).ceil().min(1e5) as usize)
    }

    /// The chance of a share as low as this one, were the true one `share`.
    #[must_use]
    pub fn chance_of_so_low(&self, share: f64) -> f64 {
        let Some(log) = &self.log else { return (1.0 - share).powf(self.entities as f64) };
        let gap = log.value - share.ln();
        // The entities do not differ at all: there is nothing to draw from.
        if log.error == 0.0 {
            return if gap < 0.0 { (1.0 - share).powf(self.entities as f64) } else { 1.0 };
        }
        let below = log.draws.partition_point(|draw| *draw <= gap / log.error);
        (below + 1) as f64 / (log.draws.len() + 1) as f64
    }

    /// The share that it is below with a chance of `1 - tail`.
    fn upper(&self, tail: f64) -> f64 {
        let none = 1.0 - tail.powf(1.0 / self.entities as f64);
        match &self.log {
            Some(log) if log.error > 0.0 => (log.value - log.quantile(tail) * log.error).exp().min(1.0),
            Some(log) => log.value.exp().max(none),
            None => none,
        }
    }

    /// The share that it is above with a chance of `1 - tail`.
    fn lower(&self, tail: f64) -> f64 {
        self.log.as_ref().map_or(0.0, |log| (log.value - log.quantile(1.0 - tail) * log.error).exp())
    }
}

impl LogShare {
    /// The draw below which this share of them lies, on the outer side.
    fn quantile(&self, share: f64) -> f64 {
        let last = self.draws.len() - 1;
        let place = share * last as f64;
        let place = if share < 0.5 { place.floor() } else { place.ceil() };
        self.draws[(place as usize).min(last)]
    }
}

/// ln R and its standard error; `None` where nothing is counted.
fn log_share(counts: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    let (mut c, mut n, mut cc, mut cn, mut nn) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (counted, examples) in counts {
        c += counted;
        n += examples;
        cc += counted * counted;
        cn += counted * examples;
        nn += examples * examples;
    }
    if c == 0.0 {
        return None;
    }
    let share = c / n;
    let squares = cc - share * (2.0 * cn - share * nn);
    // What is left of sums that cancel is rounding.
    let squares = if squares > 1e-12 * cc { squares } else { 0.0 };
    Some((share.ln(), squares.sqrt() / c))
}

/// An approximate interval for a share of examples that come in entities.
///
/// # Errors
/// If there are fewer than [`LEAST_ENTITIES`] with examples, or the confidence is not in (0, 1).
pub fn by_entity(counts: &[EntityCount], confidence: f64) -> Result<Interval, MetricError> {
    check_confidence(confidence)?;
    let tail = (1.0 - confidence) / 2.0;
    let (counted, examples) =
        counts.iter().fold((0.0, 0.0), |sum, count| (sum.0 + count.counted, sum.1 + count.examples));
    // The rarer side has the more to tell.
    let swapped = 2.0 * counted > examples;
    let rarer: Vec<EntityCount> = counts
        .iter()
        .map(|count| match swapped {
            true => EntityCount { counted: count.examples - count.counted, ..*count },
            false => *count,
        })
        .collect();
    let share = EntityShare::new(&rarer, EntityShare::replicates(counts.len(), tail), 0)?;
    let (lower, upper) = (share.lower(tail), share.upper(tail));
    let (lower, upper) = if swapped { (1.0 - upper, 1.0 - lower) } else { (lower, upper) };
    Ok(Interval { lower, upper, confidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::interval::{normal_quantile, upper_tail};

    /// Entities with normal scores that have half of their variance in common, counted above the
    /// threshold at which the share is `share`.
    fn draw(generator: &mut ChaCha8Rng, entities: usize, rows: u32, share: f64) -> Vec<EntityCount> {
        let threshold = normal_quantile(1.0 - share);
        let mut normal = || normal_quantile(generator.random::<f64>().clamp(1e-12, 1.0 - 1e-12));
        let counts = (0..entities).map(|_| {
            let common = normal();
            let above = (0..rows).filter(|_| (common + normal()) / 2_f64.sqrt() >= threshold).count();
            EntityCount { counted: above as f64, examples: f64::from(rows) }
        });
        counts.collect()
    }

    #[test]
    fn intervals_of_alike_rows_hold_where_binomial_ones_do_not() {
        let mut generator = ChaCha8Rng::seed_from_u64(5);
        let (draws, share) = (300, 0.1);
        let (mut missed, mut binomial) = (0, 0);
        for _ in 0..draws {
            let counts = draw(&mut generator, 40, 20, share);
            let outside = |interval: Interval| !(interval.lower..=interval.upper).contains(&share);
            missed += u64::from(outside(by_entity(&counts, 0.9).unwrap()));
            let counted: f64 = counts.iter().map(|count| count.counted).sum();
            binomial += u64::from(outside(super::super::clopper_pearson(counted as u64, 800, 0.9).unwrap()));
        }
        // An approximation: it may miss half as often again as it says, not three times as often.
        assert!(upper_tail(draws, missed, 0.15) > 1e-4, "{missed} of {draws}");
        assert!(binomial > 2 * missed && binomial > 60, "{binomial} of {draws}");
    }

    #[test]
    fn a_share_and_its_complement_have_mirrored_intervals() {
        let counts = draw(&mut ChaCha8Rng::seed_from_u64(1), 30, 10, 0.2);
        let rest: Vec<EntityCount> = counts
            .iter()
            .map(|count| EntityCount { counted: count.examples - count.counted, ..*count })
            .collect();
        let (one, other) = (by_entity(&counts, 0.95).unwrap(), by_entity(&rest, 0.95).unwrap());
        assert_eq!((1.0 - one.lower, 1.0 - one.upper), (other.upper, other.lower));
    }

    #[test]
    fn nothing_counted_is_worth_one_example_an_entity() {
        let counts = vec![EntityCount { counted: 0.0, examples: 50.0 }; 30];
        let interval = by_entity(&counts, 0.9).unwrap();
        // (1 - p)^30 = 0.05
        assert!(interval.lower == 0.0 && (interval.upper - 0.0950).abs() < 1e-4, "{interval:?}");
        let few = by_entity(&counts[..9], 0.9).unwrap_err();
        assert_eq!(few.to_string(), "9 entities are too few to tell how they differ; at least 10 are needed");
    }

    #[test]
    fn entities_that_do_not_differ_do_not_make_it_certain() {
        let counts = vec![EntityCount { counted: 1.0, examples: 100.0 }; 30];
        let share = EntityShare::new(&counts, 99, 0).unwrap();
        assert!(share.chance_of_so_low(0.05) > 0.2 && share.chance_of_so_low(0.005) == 1.0);
        assert!(by_entity(&counts, 0.9).unwrap().upper > 0.05);
    }
}
