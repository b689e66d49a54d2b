//! One stage by itself: what a comparison of methods needs.
//!
//! A run of [`fit`](super::fit) has cross-entropy beside it and starts from it. Published protocols do
//! not: each method has its own start, and nothing else is paid for.

use super::aim::TwoClasses;
use super::auto::{Candidate, Stages};
use super::check::check;
use super::selection::{Selection, as_fraction, check_top};
use super::stage::{Reporter, Store};
use super::task::{Start, Task, tasks};
use super::{MethodChoice, Observer, Part, PositiveWeight, Settings, TrainError};
use crate::goal::Goal;

/// Fits the settings' method alone, from `start` or else from where the model starts.
///
/// Cross-entropy needs a fixed positive weight, and is not shrunk. Deterministic, as
/// [`fit`](super::fit) is.
///
/// # Errors
/// If the method is `Auto` or the positive weight of cross-entropy is, which are several stages; and as
/// [`fit`](super::fit).
pub fn fit_alone<'r>(
    goal: &Goal,
    mut train: Part<'_>,
    validation: Part<'_>,
    settings: &Settings,
    start: Option<&[f32]>,
    observer: &'r mut (dyn Observer + 'r),
    store: Option<&'r mut (dyn Store + 'r)>,
) -> Result<Candidate, TrainError> {
    let linear = train.model.linear();
    check(goal, settings, linear)?;
    let task = stage(settings, &train)?;
    let rows = settings.rows_scored.unwrap_or(validation.sample.rows() as u64);
    check_top(goal, rows)?;
    let goal = as_fraction(goal, rows);
    let start = start.map_or_else(|| train.model.initial(settings.seed), <[f32]>::to_vec);
    let aim = TwoClasses { goal: &goal, shared_threshold: settings.shared_threshold };
    let validation = Part { model: &mut *validation.model, sample: validation.sample };
    let mut selection = Selection::new(&aim, validation);
    let mut reporter = Reporter::new(observer, store, 1);
    let stages = Stages { aim: &aim, settings, levels: &mut [] };
    let mut found = stages.run(vec![(0, task, start)], &mut train, &mut selection, &mut reporter)?;
    found.pop().ok_or(TrainError::Stopped)
}

/// The one stage that the settings ask for.
fn stage(settings: &Settings, train: &Part<'_>) -> Result<Task, TrainError> {
    let several = |what, found: &str, expected| TrainError::Setting { what, found: found.into(), expected };
    match (settings.method, settings.positive_weight) {
        (MethodChoice::Auto, _) => Err(several(
            "method",
            "auto",
            "ico, cross-entropy, lagrangian or pairwise: auto is several stages",
        )),
        (MethodChoice::CrossEntropy, PositiveWeight::Auto) => {
            Err(several("positive weight", "auto", "a number: auto is several stages"))
        }
        (MethodChoice::CrossEntropy, PositiveWeight::Fixed(positive_weight)) => {
            Ok(Task::CrossEntropy { positive_weight, shrinkage: 0.0, restart: 0, staked: false })
        }
        (MethodChoice::Ico, weight) if !settings.shared_threshold => {
            let positive_weight = if let PositiveWeight::Fixed(weight) = weight { weight } else { 1.0 };
            let Settings { bandwidth, ridge, .. } = *settings;
            Ok(Task::Ico { bandwidth, ridge, start: Start::Initial, positive_weight })
        }
        _ => tasks(settings, train, false).pop().ok_or_else(|| several("method", "none", "one")),
    }
}
