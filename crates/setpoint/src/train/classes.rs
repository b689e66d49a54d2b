//! Training for goals of several classes: the same stages, on a score for each class.

use super::aim::Aim;
use super::auto::{Fit, Rounds};
use super::check::check_other_kinds;
use super::method::{ClassCrossEntropy, ClassIco, Loss};
use super::stage::{Reporter, Store};
use super::task::{Start, Task};
use super::{
    Bandwidth, ClassBatchLoss, ClassBatchOptions, MethodChoice, Observer, Part, Settings, TrainError,
};
use crate::class::{Classes, shift, standard_error};
use crate::goal::{ClassGoal, Direction};
use crate::sample::Sample;
use crate::shard::Shard;

/// Powers of the classes' shares that cross-entropy is tried with, and its shrinkages.
const BALANCES: [f64; 3] = [0.0, 0.5, 1.0];
const SHRINKAGES: [f64; 2] = [0.0, 0.001];
/// Bandwidths and ridges that `auto` tries.
const BANDWIDTHS: [Bandwidth; 2] = [Bandwidth::Deviations(0.05), Bandwidth::Deviations(0.1)];
const RIDGES: [f64; 2] = [0.0, 0.01];

/// Trains a model with a score for each class for a goal of classes, as [`fit`](super::fit) does for two: the
/// samples are [`Sample::of_classes`].
///
/// Values are those at the best shifts of each part, found afterwards for cross-entropy as for the goal's own
/// stages. A gain over cross-entropy that is within its standard error is none.
///
/// # Errors
/// As [`fit`](super::fit).
pub fn fit_classes<'r>(
    goal: &ClassGoal,
    train: Part<'_>,
    validation: Part<'_>,
    settings: &Settings,
    observer: &'r mut (dyn Observer + 'r),
    store: Option<&'r mut (dyn Store + 'r)>,
) -> Result<Fit, TrainError> {
    check_other_kinds(settings, !matches!(settings.bandwidth, Bandwidth::Tail(_)))?;
    for sample in [train.sample.whole(), validation.sample.whole()] {
        Classes::of(goal, sample)?;
    }
    let aim = SeveralClasses { goal };
    let tasks = tasks(settings, train.model.linear());
    let reporter = &mut Reporter::new(observer, store, tasks.len() * settings.rotations());
    Rounds { aim: &aim, tasks: &tasks, settings }.fit(train, validation, reporter)
}

/// The stages of a run, in order; the method that was asked for comes last.
fn tasks(settings: &Settings, linear: bool) -> Vec<Task> {
    let shrinkages = if linear { &SHRINKAGES[..] } else { &SHRINKAGES[..1] };
    // Of networks one start for each rotation, as for two classes.
    let balances = if linear || settings.rotations() == 1 { &BALANCES[..] } else { &BALANCES[..1] };
    let balanced = |balance: &f64| {
        let balance = *balance;
        shrinkages.iter().map(move |shrinkage| Task::Balanced { balance, shrinkage: *shrinkage })
    };
    let mut tasks: Vec<Task> = balances.iter().flat_map(balanced).collect();
    let ico = |bandwidth, ridge, rank| {
        let start = Start::Ranked(rank);
        Task::Ico { bandwidth, ridge, start, positive_weight: 1.0 }
    };
    match settings.method {
        MethodChoice::CrossEntropy => {}
        MethodChoice::Auto if linear => {
            tasks.extend(BANDWIDTHS.into_iter().flat_map(|width| RIDGES.map(|ridge| ico(width, ridge, 0))));
        }
        MethodChoice::Auto => {
            tasks.extend((0..tasks.len()).map(|rank| ico(settings.bandwidth, 0.0, rank)));
        }
        _ => tasks.push(ico(settings.bandwidth, settings.ridge, 0)),
    }
    tasks
}

/// A goal of several classes.
struct SeveralClasses<'a> {
    goal: &'a ClassGoal,
}

impl Aim for SeveralClasses<'_> {
    fn direction(&self) -> Direction {
        self.goal.objective.direction()
    }

    fn exact(&self, sample: &Sample, scores: &[f32]) -> Result<f64, TrainError> {
        Ok(shift::best(self.goal, sample, scores, 1)?.value)
    }

    fn standard_error(&self, sample: &Sample, first: &[f32], second: &[f32], seed: u64) -> Option<f64> {
        let shifts = |scores| Some(shift::best(self.goal, sample, scores, 1).ok()?.shifts);
        let (a, b) = (shifts(first)?, shifts(second)?);
        let classes = Classes::of(self.goal, sample).ok()?;
        standard_error(self.goal, &classes, (first, &a), (second, &b), seed).ok()?
    }

    fn loss(
        &self,
        task: &Task,
        _: &dyn Shard,
        settings: &Settings,
        batches: Option<u64>,
    ) -> Result<Box<dyn Loss>, TrainError> {
        match (task, batches) {
            (Task::Balanced { balance, .. }, _) => Ok(Box::new(ClassCrossEntropy::new(*balance))),
            (Task::Ico { bandwidth, .. }, Some(warm_up)) => {
                let Settings { pool, mix, .. } = *settings;
                let options = ClassBatchOptions { bandwidth: *bandwidth, pool, mix, warm_up };
                Ok(Box::new(ClassBatchLoss::new(self.goal, options)))
            }
            (Task::Ico { bandwidth, .. }, None) => Ok(Box::new(ClassIco::new(self.goal, *bandwidth))),
            (other, _) => Err(TrainError::Setting {
                what: "method",
                found: other.name(),
                expected: "auto, ico or cross-entropy for several classes",
            }),
        }
    }

    fn gated(&self, _: bool) -> bool {
        true
    }
}
