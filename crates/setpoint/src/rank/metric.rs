//! Exact metrics, query by query.
//!
//! Equal scores share their places in expectation over a random order, or keep the order of the rows, as LightGBM
//! has it. A query without anything relevant has no value by itself: it is left out, or counts 0 (scikit-learn's
//! `ndcg_score`) or 1 (LightGBM).

use rayon::prelude::*;

use super::{Queries, RankError};
use crate::goal::{Gain, QueryGoal, QueryMetric};
use crate::metric::MetricError;
use crate::metric::interval::{Bootstrap, Estimate};

/// Largest grade whose gain 2^y - 1 is sensible.
const MOST: f32 = 64.0;

/// What a query counts in which nothing is relevant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Empty {
    /// Nothing: it is left out.
    #[default]
    Skip,
    /// 0.
    Zero,
    /// 1.
    One,
}

impl Empty {
    /// As it is written: `skip`, `0` or `1`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Zero => "0",
            Self::One => "1",
        }
    }

    /// The one of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Skip, Self::Zero, Self::One].into_iter().find(|one| one.name() == name)
    }
}

impl From<Empty> for Convention {
    fn from(empty: Empty) -> Self {
        Self { empty, ..Self::default() }
    }
}

/// How rows of equal scores share places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// The mean over all their orders.
    #[default]
    Expected,
    /// The first of them first.
    Order,
}

/// What the definitions of the metrics leave open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Convention {
    /// Queries in which nothing is relevant.
    pub empty: Empty,
    /// Equal scores.
    pub ties: Ties,
}

impl Convention {
    /// What LightGBM reports as `ndcg@k`.
    pub const LIGHTGBM: Self = Self { empty: Empty::One, ties: Ties::Order };
    /// What scikit-learn's `ndcg_score` gives; its gains are linear.
    pub const SCIKIT_LEARN: Self = Self { empty: Empty::Zero, ties: Ties::Expected };
}

/// The value of each query.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    of: Vec<Option<f64>>,
}

impl Values {
    /// What scores are worth in each query.
    ///
    /// # Errors
    /// If there is not one finite score for each row, or a grade has no finite gain.
    pub fn new(
        goal: &QueryGoal,
        queries: &Queries,
        scores: &[f32],
        convention: Convention,
    ) -> Result<Self, RankError> {
        queries.check_scores(scores)?;
        check_gains(goal, queries)?;
        let one = |scratch: &mut Scratch, query: usize| {
            let value = scratch.value(goal, queries, query, scores, convention.ties);
            value.or(match convention.empty {
                Empty::Skip => None,
                Empty::Zero => Some(0.0),
                Empty::One => Some(1.0),
            })
        };
        let of =
            (0..queries.len()).into_par_iter().with_min_len(64).map_init(Scratch::default, one).collect();
        Ok(Self { of })
    }

    /// By query; `None` where it is left out.
    #[must_use]
    pub fn of(&self) -> &[Option<f64>] {
        &self.of
    }

    /// The values there are.
    #[must_use]
    pub fn counted(&self) -> Vec<f64> {
        self.of.iter().copied().flatten().collect()
    }

    /// How many queries are left out.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.of.iter().filter(|value| value.is_none()).count()
    }

    /// Their mean; `None` where all are left out.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let counted = self.counted();
        (!counted.is_empty()).then(|| counted.iter().sum::<f64>() / counted.len() as f64)
    }

    /// The mean with its interval, by draws of queries.
    ///
    /// # Errors
    /// If all queries are left out, or there are too few replicates for the confidence.
    pub fn estimate(&self, bootstrap: &Bootstrap) -> Result<Estimate, MetricError> {
        bootstrap.mean(&self.counted())
    }

    /// This one's value less another's, query by query, in queries that both count.
    #[must_use]
    pub fn less(&self, other: &Self) -> Self {
        let of = self.of.iter().zip(&other.of).map(|(a, b)| Some((*a)? - (*b)?)).collect();
        Self { of }
    }

    /// Standard error of the mean; `None` with fewer than two values.
    #[must_use]
    pub fn standard_error(&self) -> Option<f64> {
        let (mean, counted) = (self.mean()?, self.counted());
        let count = counted.len() as f64;
        let squares: f64 = counted.iter().map(|value| (value - mean).powi(2)).sum();
        (count > 1.0).then(|| (squares / (count - 1.0) / count).sqrt())
    }
}

/// The place of each row in its query, from 1: by score, and of equal scores the first row first.
///
/// # Errors
/// If there is not one finite score for each row.
pub fn places(queries: &Queries, scores: &[f32]) -> Result<Vec<u32>, RankError> {
    queries.check_scores(scores)?;
    let mut places = vec![0; scores.len()];
    let mut scratch = Scratch::default();
    for query in 0..queries.len() {
        scratch.sort(queries.rows(query), scores);
        for (place, row) in (1..).zip(&scratch.rows) {
            places[*row as usize] = place;
        }
    }
    Ok(places)
}

pub(super) fn check_gains(goal: &QueryGoal, queries: &Queries) -> Result<(), RankError> {
    if goal.metric != QueryMetric::Ndcg(Gain::Exponential) {
        return Ok(());
    }
    match queries.grades().iter().position(|grade| *grade > MOST) {
        Some(index) => Err(RankError::Gain { index, value: queries.grades()[index] }),
        None => Ok(()),
    }
}

/// What a result at this place, from 0, counts of its gain.
pub(super) fn discount(place: usize) -> f64 {
    1.0 / (place as f64 + 2.0).log2()
}

/// The largest discounted gain of so many places.
pub(super) fn ideal(gains: &mut [f64], places: usize) -> f64 {
    gains.sort_unstable_by(|a, b| b.total_cmp(a));
    gains.iter().take(places).enumerate().map(|(place, gain)| gain * discount(place)).sum()
}

#[derive(Default)]
struct Scratch {
    rows: Vec<u32>,
    gains: Vec<f64>,
}

impl Scratch {
    fn sort(&mut self, rows: &[u32], scores: &[f32]) {
        self.rows.clear();
        self.rows.extend_from_slice(rows);
        // Adding zero makes -0.0 and 0.0 the same score.
        let of = |row: &u32| scores[*row as usize] + 0.0;
        self.rows.sort_unstable_by(|a, b| of(b).total_cmp(&of(a)).then(a.cmp(b)));
    }

    /// `None` where nothing is relevant.
    fn value(
        &mut self,
        goal: &QueryGoal,
        queries: &Queries,
        query: usize,
        scores: &[f32],
        ties: Ties,
    ) -> Option<f64> {
        let rows = queries.rows(query);
        let places = goal.places(rows.len());
        let gain = |row: u32| match goal.metric {
            QueryMetric::Ndcg(gain) => gain.of(queries.grades()[row as usize]),
            _ => f64::from(u8::from(queries.positive()[row as usize])),
        };
        self.gains.clear();
        self.gains.extend(rows.iter().map(|row| gain(*row)));
        let most = match goal.metric {
            QueryMetric::Ndcg(_) => ideal(&mut self.gains, places),
            _ => self.gains.iter().sum(),
        };
        if most <= 0.0 {
            return None;
        }
        self.sort(rows, scores);
        let tied = |a: &u32, b: &u32| ties == Ties::Expected && scores[*a as usize] == scores[*b as usize];
        let (mut before, mut hits, mut sum) = (0, 0.0, 0.0);
        for block in self.rows.chunk_by(tied) {
            let size = block.len();
            let gained: f64 = block.iter().map(|row| gain(*row)).sum();
            let inside = size.min(places - before);
            sum += match goal.metric {
                QueryMetric::Precision | QueryMetric::Recall => gained * inside as f64 / size as f64,
                QueryMetric::Ndcg(_) if gained == 0.0 => 0.0,
                QueryMetric::Ndcg(_) => {
                    gained / size as f64 * (before..before + inside).map(discount).sum::<f64>()
                }
                QueryMetric::AveragePrecision => average(size, gained, before, hits),
            };
            hits += gained;
            before += size;
            if before >= places {
                break;
            }
        }
        Some(match goal.metric {
            QueryMetric::Precision => sum / places as f64,
            _ => sum / most,
        })
    }
}

/// The expected sum of precisions at the relevant places of a block of equal scores, behind others.
///
/// A place is relevant with the chance b / m, and each of those before it in the block then with (b - 1) / (m - 1).
fn average(size: usize, relevant: f64, before: usize, hits: f64) -> f64 {
    if relevant == 0.0 {
        return 0.0;
    }
    let others = if size > 1 { (relevant - 1.0) / (size - 1) as f64 } else { 0.0 };
    let at = |place: usize| (hits + 1.0 + place as f64 * others) / (before + place + 1) as f64;
    relevant / size as f64 * (0..size).map(at).sum::<f64>()
}
