//! Training for goals per query: the same stages, on rows that come in queries.

use super::aim::Aim;
use super::auto::{Fit, Rounds};
use super::check::check_other_kinds;
use super::method::{Compare, CrossEntropy, Loss, QueryBaseline, QueryIco};
use super::stage::{Reporter, Store};
use super::task::{Start, Task};
use super::{Bandwidth, Gain, MethodChoice, Observer, Part, Settings, TrainError};
use crate::goal::{Direction, QueryGoal};
use crate::rank::{Convention, Queries, QueryOptions, RankError, Values};
use crate::sample::Sample;
use crate::shard::Shard;

/// Shrinkages of the baselines.
const SHRINKAGES: [f64; 3] = [0.001, 0.01, 0.1];
/// Width of the surrogate, in units of the spread of a query's scores.
const BANDWIDTH: Bandwidth = Bandwidth::Deviations(0.125);
/// From which of the baselines `auto` goes on, and ridges towards them that it tries.
const STAGES: [(usize, f64); 5] = [(0, 1.0), (0, 0.1), (0, 0.01), (1, 0.1), (2, 0.1)];
/// Pairs of rows beyond which the pairwise start is left out: it is the only one whose cost grows with them.
const MOST_PAIRS: u64 = 1 << 24;

/// Trains a model for a goal per query, as [`fit`](super::fit) does for one of two classes: the samples are
/// [`Sample::of_queries`].
///
/// The baseline is the average of the best fits of the logistic, pairwise and listwise losses: validation queries are
/// often too few to choose one of them by. The goal's own stages start from these fits and are held near them; a gain that is within its standard error over the validation queries is none.
///
/// # Errors
/// As [`fit`](super::fit), and if rows come in no queries, or no query has a relevant row.
pub fn fit_queries<'r>(
    goal: &QueryGoal,
    train: Part<'_>,
    validation: Part<'_>,
    settings: &Settings,
    observer: &'r mut (dyn Observer + 'r),
    store: Option<&'r mut (dyn Store + 'r)>,
) -> Result<Fit, TrainError> {
    // Every query has a spread of its own.
    check_other_kinds(settings, matches!(settings.bandwidth, Bandwidth::Deviations(_)))?;
    for sample in [train.sample.whole(), validation.sample.whole()] {
        mean_of(goal, sample, &vec![0.0; sample.len()])?;
        if sample.weights().is_some() {
            let expected = "none for a goal per query: every query counts once";
            return Err(TrainError::Setting { what: "weight", found: String::new(), expected });
        }
    }
    let aim = OfQueries { goal };
    let tasks = tasks(settings, train.model.linear(), Queries::of_sample(train.sample.whole())?);
    let reporter = &mut Reporter::new(observer, store, tasks.len() * settings.rotations());
    Rounds { aim: &aim, tasks: &tasks, settings }.fit(train, validation, reporter)
}

/// The mean of the metric over the queries that have a value.
///
/// # Errors
/// If rows come in no queries, none of them has a value, or the scores do not fit.
pub fn mean_of(goal: &QueryGoal, sample: &Sample, scores: &[f32]) -> Result<f64, TrainError> {
    let queries = Queries::of_sample(sample)?;
    let none = || RankError::NoneRelevant { queries: queries.len(), objective: goal.objective() };
    Ok(Values::new(goal, queries, scores, Convention::default())?.mean().ok_or_else(none)?)
}

/// How much better the first scores are than the second, paired over the queries.
///
/// # Errors
/// As [`mean_of`].
pub fn gain_of(goal: &QueryGoal, sample: &Sample, first: &[f32], second: &[f32]) -> Result<Gain, TrainError> {
    let values = |scores| Values::new(goal, Queries::of_sample(sample)?, scores, Convention::default());
    let difference = values(first)?.less(&values(second)?);
    Ok(Gain {
        difference: difference.mean().unwrap_or_default(),
        standard_error: difference.standard_error(),
    })
}

/// The stages of a run, in order; the method that was asked for comes last.
fn tasks(settings: &Settings, linear: bool, queries: &Queries) -> Vec<Task> {
    let pairs: u64 = (0..queries.len()).map(|query| pairs(queries, query)).sum();
    let losses = [Some(Compare::Lists), Some(Compare::Pairs), None];
    let losses: Vec<_> =
        losses.into_iter().filter(|loss| pairs <= MOST_PAIRS || *loss != Some(Compare::Pairs)).collect();
    let mut tasks: Vec<Task> = match linear {
        true => losses
            .iter()
            .flat_map(|compare| {
                SHRINKAGES.map(|shrinkage| Task::Queries { compare: *compare, shrinkage, restart: 0 })
            })
            .collect(),
        // Of networks one start for each rotation, as for two classes.
        false => (0..)
            .zip(&losses[..if settings.rotations() > 1 { 1 } else { losses.len() }])
            .map(|(restart, compare)| Task::Queries { compare: *compare, shrinkage: 0.0, restart })
            .collect(),
    };
    let ico = |bandwidth, ridge, rank| {
        let start = Start::Ranked(rank);
        Task::Ico { bandwidth, ridge, start, positive_weight: 1.0 }
    };
    match settings.method {
        MethodChoice::CrossEntropy => {}
        MethodChoice::Auto if linear => {
            tasks.extend(STAGES.map(|(rank, ridge)| ico(BANDWIDTH, ridge, rank)));
        }
        MethodChoice::Auto => {
            tasks.extend((0..tasks.len()).map(|rank| ico(settings.bandwidth, 0.0, rank)));
        }
        _ => tasks.push(ico(settings.bandwidth, settings.ridge, 0)),
    }
    tasks
}

/// Most pairs of rows of different worth that a query may have.
fn pairs(queries: &Queries, query: usize) -> u64 {
    let rows = queries.rows(query);
    let none = rows.iter().filter(|row| queries.grades()[**row as usize] == 0.0).count() as u64;
    let some = rows.len() as u64 - none;
    some * none + some * some / 2
}

/// A goal per query.
struct OfQueries<'a> {
    goal: &'a QueryGoal,
}

impl Aim for OfQueries<'_> {
    fn direction(&self) -> Direction {
        Direction::Up
    }

    fn exact(&self, sample: &Sample, scores: &[f32]) -> Result<f64, TrainError> {
        mean_of(self.goal, sample, scores)
    }

    fn standard_error(&self, sample: &Sample, first: &[f32], second: &[f32], _: u64) -> Option<f64> {
        gain_of(self.goal, sample, first, second).ok()?.standard_error
    }

    fn loss(
        &self,
        task: &Task,
        _: &dyn Shard,
        _: &Settings,
        batches: Option<u64>,
    ) -> Result<Box<dyn Loss>, TrainError> {
        Ok(match task {
            Task::Queries { compare: Some(compare), .. } => Box::new(QueryBaseline::new(self.goal, *compare)),
            Task::Queries { compare: None, .. } => Box::new(CrossEntropy::new(1.0)),
            Task::Ico { bandwidth: Bandwidth::Deviations(width), .. } => {
                let options = QueryOptions { sharpness: 1.0 / width, ..QueryOptions::default() };
                Box::new(QueryIco::new(self.goal, options, batches.is_some()))
            }
            other => {
                let expected = "auto, ico or cross-entropy for a goal per query";
                return Err(TrainError::Setting { what: "method", found: other.name(), expected });
            }
        })
    }

    fn gated(&self, _: bool) -> bool {
        true
    }

    fn averages_baseline(&self, _: bool) -> bool {
        true
    }

    fn held_near_start(&self) -> bool {
        true
    }
}
