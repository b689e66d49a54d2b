//! Trees for goals per query: LightGBM's own objectives of queries, then rounds on the goal's gradient.
//!
//! The boosters of a search learn by `lambdarank`, by `rank_xendcg` or by log loss, each with settings of its own; the
//! best is the baseline. Rounds after it are fitted to the gradient v of the goal through a threshold for every
//! query, with the curvature |v| in units of the scores' spread: a leaf moves its rows by at most the learning rate times
//! that.

use setpoint::Sample;
use setpoint::goal::QueryGoal;
use setpoint::rank::{Queries, QueryEngine, QueryOptions};
use setpoint::train::{Bandwidth, MethodChoice, TrainError};

use crate::conclude::{Step, TreesFit};
use crate::ensemble::Ensemble;
use crate::error::TreesError;
use crate::features::{Data, Rows};
use crate::ico::Derivatives;
use crate::judge::{mean_gain, pick};
use crate::parameters::Parameters;
use crate::purpose::Referee;
use crate::recipe::Chosen;
use crate::session::Session;

/// Share of the mean |v| that every row's curvature has beside its own.
const STEADY: f32 = 0.1;
/// Rounds on the goal's gradient go on from a fit: more slowly.
const FINE_RATE: f64 = 0.3;
/// Places beyond the goal's that `lambdarank` looks at, as LightGBM advises.
const BEYOND: usize = 3;
/// Places that it looks at by default.
const PLACES: usize = 30;

/// Labels as LightGBM's objectives of queries take them, and the gain of each: the distinct grades in their order.
pub(crate) fn labels(goal: &QueryGoal, queries: &Queries) -> (Vec<f32>, Vec<f64>) {
    let mut grades: Vec<f32> = queries.grades().iter().copied().chain([0.0]).collect();
    grades.sort_unstable_by(f32::total_cmp);
    grades.dedup();
    let label = |grade: &f32| grades.partition_point(|other| other < grade) as f32;
    (
        queries.grades().iter().map(label).collect(),
        grades.iter().map(|grade| goal.gain().of(*grade)).collect(),
    )
}

/// The objective of a search's booster, by its number: its name and LightGBM's parameters.
pub(crate) fn objective(index: usize, goal: &QueryGoal, queries: &Queries) -> (&'static str, String) {
    match index % 4 {
        2 => ("rank_xendcg", "objective=rank_xendcg".to_owned()),
        3 => ("cross-entropy", "objective=binary".to_owned()),
        _ => {
            let most = |of: &dyn Fn(&[u32]) -> usize| {
                (0..queries.len()).map(|query| of(queries.rows(query))).max().unwrap_or(1)
            };
            let longest = most(&<[u32]>::len);
            // Where few rows are relevant, pairs far down teach less than they cost: every second booster keeps the
            // default, and the others look no further than twice as far as the relevant rows could reach.
            let places = match (index % 4, goal.top) {
                (0, _) => PLACES,
                (_, None) => {
                    let relevant = |row: &&u32| queries.positive()[**row as usize];
                    (2 * most(&|rows| rows.iter().filter(relevant).count()))
                        .clamp(PLACES, longest.max(PLACES))
                }
                _ => goal.places(longest).min(longest).saturating_add(BEYOND).max(PLACES),
            };
            ("lambdarank", format!("objective=lambdarank lambdarank_truncation_level={places}"))
        }
    }
}

/// LightGBM's parameter for the gains of the labels.
pub(crate) fn gains(goal: &QueryGoal, queries: &Queries) -> String {
    let gains: Vec<String> = labels(goal, queries).1.iter().map(ToString::to_string).collect();
    format!("label_gain={}", gains.join(","))
}

/// How many rows each query has, where the rows of each follow each other.
pub(crate) fn sizes(queries: &Queries) -> Vec<i32> {
    (0..queries.len()).map(|query| queries.rows(query).len() as i32).collect()
}

/// The rows in the order of their queries, where they are not: LightGBM wants them so.
pub(crate) fn in_order(data: &Data<'_>) -> Result<Option<(Rows, Sample)>, TreesError> {
    let Some(queries) = data.sample.queries() else { return Ok(None) };
    if queries.of().is_sorted() {
        return Ok(None);
    }
    let rows: Vec<u32> = (0..queries.len()).flat_map(|query| queries.rows(query)).copied().collect();
    Ok(Some((Rows::stacked(None, &data.features, &rows)?, data.sample.select(&rows))))
}

/// Rounds on the goal's own gradient, after trees that gave these scores.
pub(crate) struct QueryRounds<'s> {
    engine: QueryEngine,
    spread: f64,
    base: &'s [f32],
    held_out: &'s [f32],
    scores: Vec<f32>,
    v: Vec<f32>,
    curvature: Vec<f32>,
    loss: f64,
}

impl<'s> QueryRounds<'s> {
    pub(crate) fn new(
        goal: &QueryGoal,
        sample: &Sample,
        (base, held_out): (&'s [f32], &'s [f32]),
        bandwidth: Bandwidth,
    ) -> Result<Self, TrainError> {
        let queries = Queries::of_sample(sample)?;
        let spread = queries.spread(base);
        let Bandwidth::Deviations(width) = bandwidth else {
            let expected = "one in deviations for a goal per query";
            return Err(TrainError::Setting { what: "bandwidth", found: String::new(), expected });
        };
        // Queries that trees do not tell apart at all would have no scale of their own.
        let options = QueryOptions { sharpness: 1.0 / width, least_spread: 0.1 * spread };
        let engine = QueryEngine::new(goal, queries, options)?;
        let zeros = vec![0.0; base.len()];
        Ok(Self {
            engine,
            spread,
            base,
            held_out,
            scores: zeros.clone(),
            v: zeros.clone(),
            curvature: zeros,
            loss: 1.0,
        })
    }
}

impl Derivatives for QueryRounds<'_> {
    fn bias(&self) -> f64 {
        0.0
    }

    fn held_out(&self) -> Option<&[f32]> {
        Some(self.held_out)
    }

    fn loss(&self) -> Option<f64> {
        Some(self.loss)
    }

    fn derivatives(&mut self, outputs: &[f64]) -> Result<(&[f32], &[f32]), TrainError> {
        for ((score, base), output) in self.scores.iter_mut().zip(self.base).zip(outputs) {
            *score = (f64::from(*base) + output) as f32;
        }
        self.loss = 1.0 - self.engine.step(&self.scores, &mut self.v)?.value;
        let size = self.v.iter().map(|v| f64::from(v.abs())).sum::<f64>() / self.v.len() as f64;
        let share = if size > 0.0 { (1.0 / size) as f32 } else { 0.0 };
        let unit = (1.0 / self.spread) as f32;
        for (v, curvature) in self.v.iter_mut().zip(&mut self.curvature) {
            *v *= share;
            *curvature = unit * (v.abs() + STEADY);
        }
        Ok((&self.v, &self.curvature))
    }
}

impl Session<'_> {
    /// Adds rounds on the goal's own gradient to the model, where that gains more than its standard error on validation
    /// queries that did not choose how many; whatever it gains with the method `ico`. Whether they were added.
    pub(crate) fn add_query_rounds(
        &mut self,
        goal: &QueryGoal,
        judge: &Referee<'_>,
        parameters: Parameters,
        fit: &mut TreesFit,
    ) -> Result<bool, TreesError> {
        let scores = |data: &Data<'_>, ensemble: &Ensemble| -> Result<Vec<f32>, TreesError> {
            let mut scores = vec![0.0; data.sample.len()];
            ensemble.scores(&data.features, &mut scores)?;
            Ok(scores)
        };
        let (train, held_out) =
            (scores(&self.train, &fit.ensemble)?, scores(&self.validation, &fit.ensemble)?);
        let name = format!("implicit rounds after {}", fit.winner);
        let fine = Parameters { learning_rate: FINE_RATE * parameters.learning_rate, ..parameters };
        let grown = self.grow_after(goal, &name, fine, (&train, &held_out))?;
        let mut gains = [None; 2];
        let parts = judge.sample.deal(2);
        for own in [0, 1] {
            let samples = [own, 1 - own].map(|half| judge.sample.select(&parts[half]));
            let chosen = Chosen::new(&grown, &Referee { sample: &samples[0], ..*judge }, Some(&parts[own]));
            // A half may have no query with a value.
            let (Ok(chosen), others) = (chosen, &parts[1 - own]) else { continue };
            let other = Referee { sample: &samples[1], ..*judge };
            gains[own] =
                other.gain(&pick(chosen.scores, 1, others), &pick(&held_out, 1, others)).ok().flatten();
        }
        let gain = mean_gain(gains);
        let gained = gain.is_some_and(|gain| gain.difference > gain.standard_error.unwrap_or(f64::INFINITY));
        let taken = gained || self.settings.method == MethodChoice::Ico;
        fit.steps.push(Step { name: name.clone(), gain, taken });
        let chosen = Chosen::new(&grown, judge, None)?;
        fit.candidates.push(chosen.candidate.clone());
        if taken {
            fit.ensemble = Ensemble::combine(&[(1.0, &fit.ensemble), (1.0, &chosen.ensemble())])?;
            fit.winner = name;
            fit.validation = chosen.candidate.validation;
            fit.gain = judge.gain(chosen.scores, &scores(&self.validation, &fit.baseline)?)?;
            fit.kept.push(fit.candidates.len() - 1);
        }
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_lambdarank_looks_at_the_places_that_lightgbm_does_by_default() {
        let keys: Vec<u32> = (0..120).map(|row| u32::from(row >= 100)).collect();
        let queries = Queries::new("query", &keys, (0..120).map(|row| (row % 2) as f32).collect()).unwrap();
        for (goal, places) in [
            ("map per query", [30, 100]),
            ("precision @ k=50 per query", [30, 53]),
            ("ndcg @ k=10 per query", [30, 30]),
        ] {
            let goal: QueryGoal = goal.parse().unwrap();
            for (index, places) in [0, 1, 4, 5].into_iter().zip(places.repeat(2)) {
                let (name, text) = objective(index, &goal, &queries);
                assert_eq!(name, "lambdarank");
                assert!(text.ends_with(&format!("lambdarank_truncation_level={places}")), "{goal}: {text}");
            }
        }
    }
}
