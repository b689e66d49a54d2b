//! What of each query is solved for: which thresholds, and how their terms add up to the metric.

use super::metric::{discount, ideal};
use super::{Queries, RankError};
use crate::goal::{QueryGoal, QueryMetric};

/// Thresholds of average precision: as many do as one for each relevant row.
const LEVELS: usize = 10;

/// One threshold of a query and what is made of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Term {
    /// What the count that ties the threshold must come to.
    pub(super) target: f64,
    /// Weight of the term's value.
    pub(super) weight: f64,
}

/// A query that teaches something.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// Its rows in the plan.
    pub(super) from: usize,
    pub(super) to: usize,
    /// Its terms in the plan.
    pub(super) terms: std::ops::Range<usize>,
    /// What its value is beside the terms.
    pub(super) base: f64,
    /// Sum of its `y`.
    pub(super) total: f64,
}

/// The queries of a goal that teach something, their rows one after another.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Whether thresholds are tied by the relevant rows (average precision), not by all.
    pub(super) by_relevant: bool,
    pub(super) queries: Vec<Planned>,
    pub(super) terms: Vec<Term>,
    /// Row numbers.
    pub(super) rows: Vec<u32>,
    /// What each row is worth: its share of the metric, or 1 for relevant rows of average precision.
    pub(super) y: Vec<f64>,
    /// Queries that have a value.
    pub(super) counted: usize,
    /// Sum of the values of those that no scores can change.
    pub(super) settled: f64,
    /// How many those are.
    pub(super) idle: usize,
}

impl Plan {
    pub(super) fn new(goal: &QueryGoal, queries: &Queries) -> Result<Self, RankError> {
        super::metric::check_gains(goal, queries)?;
        let by_relevant = goal.metric == QueryMetric::AveragePrecision;
        let mut plan = Self {
            by_relevant,
            queries: Vec::new(),
            terms: Vec::new(),
            rows: Vec::new(),
            y: Vec::new(),
            counted: 0,
            settled: 0.0,
            idle: 0,
        };
        let mut gains = Vec::new();
        for query in 0..queries.len() {
            let rows = queries.rows(query);
            let gain = |row: &u32| match goal.metric {
                QueryMetric::Ndcg(gain) => gain.of(queries.grades()[*row as usize]),
                _ => f64::from(u8::from(queries.positive()[*row as usize])),
            };
            gains.clear();
            gains.extend(rows.iter().map(gain));
            let places = goal.places(rows.len());
            let (least, most) =
                gains.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), y| (l.min(*y), m.max(*y)));
            if most == 0.0 {
                continue;
            }
            plan.counted += 1;
            let sum: f64 = gains.iter().sum();
            let scale = match goal.metric {
                QueryMetric::Precision => places as f64,
                QueryMetric::Recall => sum,
                QueryMetric::Ndcg(_) => ideal(&mut gains, places),
                QueryMetric::AveragePrecision => 1.0,
            };
            let total = sum / scale;
            let before = plan.terms.len();
            let base = plan.add_terms(goal, rows.len(), places, total);
            if least == most || plan.terms.len() == before {
                plan.terms.truncate(before);
                plan.settled += if by_relevant { 1.0 } else { base_of(goal, rows.len(), places, total) };
                plan.idle += 1;
                continue;
            }
            let from = plan.rows.len();
            plan.rows.extend_from_slice(rows);
            plan.y.extend(rows.iter().map(|row| gain(row) / scale));
            let (to, terms) = (plan.rows.len(), before..plan.terms.len());
            plan.queries.push(Planned { from, to, terms, base, total });
        }
        if plan.counted == 0 {
            let (queries, objective) = (queries.len(), goal.objective());
            return Err(RankError::NoneRelevant { queries, objective });
        }
        Ok(plan)
    }

    /// Adds the thresholds of a query; returns what its value has beside them.
    fn add_terms(&mut self, goal: &QueryGoal, rows: usize, places: usize, total: f64) -> f64 {
        match goal.metric {
            QueryMetric::Precision | QueryMetric::Recall => {
                if places < rows {
                    self.terms.push(Term { target: places as f64, weight: 1.0 });
                    return 0.0;
                }
                total
            }
            QueryMetric::Ndcg(_) => {
                let mut from = 0;
                let mut mean = None;
                // What lies between two rungs gets their mean discount:  Σ_j D_j (H(k_j) - H(k_{j-1})).
                for rung in rungs(places.min(rows)) {
                    let next = (from..rung).map(discount).sum::<f64>() / (rung - from) as f64;
                    if let Some(before) = mean {
                        self.terms.push(Term { target: from as f64, weight: before - next });
                    }
                    (from, mean) = (rung, Some(next));
                }
                let last = mean.unwrap_or_default();
                if places < rows {
                    self.terms.push(Term { target: places as f64, weight: last });
                    return 0.0;
                }
                last * total
            }
            QueryMetric::AveragePrecision => {
                // The r-th relevant row is on its own threshold where the relevant count is r - 1/2.
                let levels = LEVELS.min(total as usize);
                let step = total / levels as f64;
                let weight = 1.0 / levels as f64;
                self.terms.extend((0..levels).map(|level| {
                    let target = (level as f64 + 0.5) * step;
                    Term { target, weight }
                }));
                0.0
            }
        }
    }
}

/// The value of a query that no scores change.
fn base_of(goal: &QueryGoal, rows: usize, places: usize, total: f64) -> f64 {
    match goal.metric {
        // All rows are alike: any of them fill the places.
        QueryMetric::Precision | QueryMetric::Recall => total * places.min(rows) as f64 / rows as f64,
        QueryMetric::Ndcg(_) | QueryMetric::AveragePrecision => 1.0,
    }
}

/// 1, 3, 10, 30, ... and the last place itself: three rungs to a factor of ten do what all places do.
fn rungs(last: usize) -> impl Iterator<Item = usize> {
    let tens = std::iter::successors(Some(1_usize), |ten| ten.checked_mul(10));
    tens.flat_map(|ten| [ten, ten.saturating_mul(3)]).take_while(move |rung| *rung < last).chain([last])
}
