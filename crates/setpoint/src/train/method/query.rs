//! Losses of queries: the smooth goal through its thresholds, and the pairwise and listwise losses that are its starts.

use rayon::prelude::*;

use super::Loss;
use crate::goal::QueryGoal;
use crate::optimizer::State;
use crate::rank::{Queries, QueryEngine, QueryOptions, RankError};
use crate::shard::Shard;
use crate::train::{Detail, TrainError};

/// The smooth loss `1 - metric` of a goal per query, through a threshold for every query.
#[derive(Debug)]
pub struct QueryIco {
    goal: QueryGoal,
    options: QueryOptions,
    /// Whether rows are others at each call.
    batches: bool,
    engine: Option<QueryEngine>,
    thresholds: Option<Vec<f64>>,
    detail: Option<Detail>,
}

impl QueryIco {
    /// A loss for this goal on rows that stay, or on batches of whole queries.
    #[must_use]
    pub fn new(goal: &QueryGoal, options: QueryOptions, batches: bool) -> Self {
        Self { goal: *goal, options, batches, engine: None, thresholds: None, detail: None }
    }
}

impl Loss for QueryIco {
    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        let engine = match &mut self.engine {
            Some(engine) if !self.batches => engine,
            slot => {
                let engine = QueryEngine::new(&self.goal, Queries::of_sample(rows.whole())?, self.options);
                let mut engine = match engine {
                    // A batch may teach nothing.
                    Err(RankError::NoneRelevant { .. }) if self.batches => {
                        v.fill(0.0);
                        return Ok(0.0);
                    }
                    engine => engine?,
                };
                if let Some(thresholds) = self.thresholds.take() {
                    engine.start_from(&thresholds);
                }
                slot.insert(engine)
            }
        };
        let step = engine.step(scores, v)?;
        self.detail = Some(Detail { objective: step.value, ..Detail::default() });
        Ok(1.0 - step.value)
    }

    fn detail(&self) -> Option<Detail> {
        self.detail.clone()
    }

    fn state(&self) -> State {
        match &self.engine {
            Some(engine) if !self.batches => {
                State::default().with("thresholds", engine.thresholds().to_vec())
            }
            _ => State::default(),
        }
    }

    fn restore(&mut self, state: &State) -> Result<(), TrainError> {
        self.thresholds = state.find("thresholds")?.map(<[f64]>::to_vec);
        self.engine = None;
        Ok(())
    }
}

/// What a loss of queries compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Every two rows of different worth: RankNet's logistic loss, the mean over the pairs of a query.
    Pairs,
    /// All rows of a query at once: ListNet's cross-entropy between the shares of worth and the softmax.
    Lists,
}

/// A loss of queries that knows no places: the mean over the queries in which rows differ.
#[derive(Debug)]
pub struct QueryBaseline {
    goal: QueryGoal,
    compare: Compare,
}

impl QueryBaseline {
    /// The loss with the worth of rows that the goal has.
    #[must_use]
    pub fn new(goal: &QueryGoal, compare: Compare) -> Self {
        Self { goal: *goal, compare }
    }
}

impl Loss for QueryBaseline {
    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        let sample = rows.whole();
        sample.check_scores(scores)?;
        let queries = Queries::of_sample(sample)?;
        let of_query = |query: usize| {
            let rows = queries.rows(query);
            let worth = |row: &u32| self.goal.gain().of(queries.grades()[*row as usize]);
            let worth: Vec<f64> = rows.iter().map(worth).collect();
            let scores: Vec<f64> = rows.iter().map(|row| f64::from(scores[*row as usize])).collect();
            match self.compare {
                Compare::Pairs => pairs(&scores, &worth),
                Compare::Lists => lists(&scores, &worth),
            }
        };
        let found: Vec<Option<(f64, Vec<f64>)>> = (0..queries.len()).into_par_iter().map(of_query).collect();
        v.fill(0.0);
        let share = 1.0 / found.iter().flatten().count().max(1) as f64;
        let mut loss = 0.0;
        for (query, found) in found.iter().enumerate() {
            let Some((value, gradient)) = found else { continue };
            loss += share * value;
            for (row, gradient) in queries.rows(query).iter().zip(gradient) {
                v[*row as usize] = (share * gradient) as f32;
            }
        }
        Ok(loss)
    }
}

/// RankNet on one query.
///
/// ```text
/// f = mean over pairs with y_i > y_j of ln(1 + e^(s_j - s_i))
/// ```
fn pairs(scores: &[f64], worth: &[f64]) -> Option<(f64, Vec<f64>)> {
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // e^(s_j - s_i) is a ratio of these; where it is beyond them, a pair is lost or won whatever it is.
    let e: Vec<f64> = scores.iter().map(|score| (score - most).max(-600.0).exp()).collect();
    let (mut loss, mut count) = (0.0, 0_u64);
    let mut gradient = vec![0.0; scores.len()];
    for (i, (above, upper)) in e.iter().zip(worth).enumerate() {
        let mut pull = 0.0;
        for (j, (below, lower)) in e.iter().zip(worth).enumerate() {
            if upper > lower {
                let wrong = below / (above + below);
                loss -= (1.0 - wrong).max(1e-300).ln();
                pull += wrong;
                gradient[j] += wrong;
                count += 1;
            }
        }
        gradient[i] -= pull;
    }
    let share = 1.0 / count as f64;
    gradient.iter_mut().for_each(|gradient| *gradient *= share);
    (count > 0).then_some((loss * share, gradient))
}

/// ListNet on one query.
///
/// ```text
/// f = -Σ p_i ln softmax(s)_i,      p_i = y_i / Σ y
/// ```
fn lists(scores: &[f64], worth: &[f64]) -> Option<(f64, Vec<f64>)> {
    let total: f64 = worth.iter().sum();
    if total == 0.0 || worth.iter().all(|y| *y == worth[0]) {
        return None;
    }
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = scores.iter().map(|score| (score - most).exp()).sum();
    let log = |score: &f64| score - most - sum.ln();
    let loss = -scores.iter().zip(worth).map(|(score, y)| y / total * log(score)).sum::<f64>();
    Some((loss, scores.iter().zip(worth).map(|(score, y)| log(score).exp() - y / total).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_of_pairs_and_lists_match_differences() {
        let scores = [0.3, -1.0, 2.0, 0.7, 0.1];
        let worth = [0.0, 1.0, 3.0, 0.0, 1.0];
        for of in [pairs, lists] {
            let (_, gradient) = of(&scores, &worth).unwrap();
            assert!(gradient.iter().sum::<f64>().abs() < 1e-14);
            for at in 0..5 {
                let h = 1e-4;
                let value = |by: f64| {
                    let mut moved = scores;
                    moved[at] += by;
                    of(&moved, &worth).unwrap().0
                };
                let numeric = (value(h) - value(-h)) / (2.0 * h);
                // h² of third derivatives below 1.
                assert!((gradient[at] - numeric).abs() < 1e-8, "{} is not {numeric}", gradient[at]);
            }
            assert!(of(&scores, &[1.0; 5]).is_none());
        }
    }
}
