//! A run: its stages one after another, and what is made of their results.

use super::check::check;
use super::combined::{Average, Combined, average};
use super::selection::{Selection, as_fraction, check_top};
use super::stage::{Reporter, Store};
use super::task::{Start, Task, tasks};
use super::{Gain, Judge, MethodChoice, Observer, Part, Settings, StageKind, TrainError, rotate};
use crate::goal::Goal;
use crate::model::Model;

/// What one stage came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// What it was fitted by.
    pub kind: StageKind,
    /// What was fitted.
    pub name: String,
    /// The best parameters by validation.
    pub parameters: Vec<f32>,
    /// The goal's value on validation; `None` where its conditions cannot be met.
    pub validation: Option<f64>,
    /// The step that made the parameters.
    pub step: u64,
    /// Gradient evaluations of the stage.
    pub evaluations: u64,
}

/// Cross-entropy at its best: the best fit by validation, or for networks the average of the best.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// What was fitted.
    pub name: String,
    /// The parameters.
    pub combined: Combined,
    /// The goal's value on validation; `None` where its conditions cannot be met.
    pub validation: Option<f64>,
}

/// A trained model's parameters and how they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The parameters.
    pub combined: Combined,
    /// What they are: the name of a candidate, or of the candidates averaged.
    pub winner: String,
    /// The goal's value on validation with these parameters.
    pub validation: Option<f64>,
    /// Cross-entropy at its best.
    pub baseline: Baseline,
    /// Every stage, in order.
    pub candidates: Vec<Candidate>,
    /// Which of them the parameters are made of; none are named where rotations are averaged.
    pub kept: Vec<usize>,
    /// The gain over the baseline on validation.
    pub gain: Option<Gain>,
    /// Whether it was not enough, and the model is the baseline.
    pub fell_back: bool,
    /// Gradient evaluations over all stages.
    pub evaluations: u64,
    /// How many rotations of the rows the parameters are the average of.
    pub rotations: usize,
}

/// Trains a model for a goal.
///
/// The model starts from its [`initial`](Model::initial) parameters. Deterministic: the same arguments give
/// the same bytes, for any number of threads, and after a resume from `store`.
///
/// # Errors
/// If the goal does not fit the splits or cannot be met, a setting makes no
/// sense, the observer stops the run, or a checkpoint cannot be written.
pub fn fit<'r>(
    goal: &Goal,
    train: Part<'_>,
    validation: Part<'_>,
    settings: &Settings,
    observer: &'r mut (dyn Observer + 'r),
    store: Option<&'r mut (dyn Store + 'r)>,
) -> Result<Fit, TrainError> {
    let linear = train.model.linear();
    check(goal, settings, linear)?;
    let rows = settings.rows_scored.unwrap_or(validation.sample.rows() as u64);
    check_top(goal, rows)?;
    let goal = as_fraction(goal, rows);
    let tasks = tasks(settings, linear);
    // A method that cannot be had for the goal says so before its baseline is fitted.
    if let Some(last @ (Task::Lagrangian { .. } | Task::Pairwise { .. })) = tasks.last() {
        last.loss(&goal, train.sample, settings)?;
    }
    let reporter = &mut Reporter::new(observer, store, tasks.len() * settings.rotations());
    let rounds = Rounds { goal: &goal, tasks: &tasks, settings };
    if settings.rotations() == 1 {
        rounds.run(0, train, validation, reporter)
    } else {
        rotate::fit(&rounds, train, validation, reporter)
    }
}

/// The stages of a run, to be gone through once for each rotation of the rows.
pub(super) struct Rounds<'a> {
    goal: &'a Goal,
    tasks: &'a [Task],
    pub(super) settings: &'a Settings,
}

impl Rounds<'_> {
    /// Runs all stages on these parts and makes one model of them.
    pub(super) fn run(
        &self,
        rotation: usize,
        mut train: Part<'_>,
        validation: Part<'_>,
        reporter: &mut Reporter<'_>,
    ) -> Result<Fit, TrainError> {
        let Self { goal, tasks, settings } = *self;
        let mut selection = Selection::new(goal, settings.shared_threshold, validation);
        let mut candidates: Vec<Candidate> = Vec::new();
        let evaluations = reporter.evaluations;
        for (index, task) in tasks.iter().enumerate() {
            let (start, task) = self.start(rotation, task, &candidates, train.model);
            let name = task.name();
            if let Some(done) = reporter.begin(rotation * tasks.len() + index, task.kind(), &name) {
                candidates.push(done);
                continue;
            }
            let best = task.run(goal, &mut train, &mut selection, reporter, settings, &start)?;
            candidates.push(reporter.end(best)?);
        }
        let evaluations = reporter.evaluations - evaluations;
        conclude(goal, train, selection, candidates, settings, evaluations)
    }

    /// Where a stage starts, and the stage made definite. Stages do not build on each other, but for
    /// the start of all that is not cross-entropy: what is averaged must differ.
    fn start(
        &self,
        rotation: usize,
        task: &Task,
        candidates: &[Candidate],
        model: &dyn Model,
    ) -> (Vec<f32>, Task) {
        let initial =
            |restart: u64| model.initial(self.settings.seed.wrapping_add((restart + rotation as u64) << 32));
        let mut task = task.clone();
        let rank = match &task {
            Task::CrossEntropy { restart, .. } => return (initial(*restart), task),
            // With one threshold for all, a value on validation says little of a fit that knows
            // nothing of the groups.
            Task::Multipliers { .. } => return (candidates[0].parameters.clone(), task),
            Task::Ico { start: Start::Initial, .. } => None,
            Task::Ico { start: Start::Ranked(rank), .. } => Some(*rank),
            Task::Lagrangian { .. } | Task::Pairwise { .. } => Some(0),
        };
        let mut fitted: Vec<(&Candidate, f64)> = candidates
            .iter()
            .zip(self.tasks)
            .filter_map(|(candidate, task)| match task {
                Task::CrossEntropy { positive_weight, .. } => Some((candidate, *positive_weight)),
                _ => None,
            })
            .collect();
        fitted.sort_by(|(a, _), (b, _)| b.merit(self.goal).total_cmp(&a.merit(self.goal)));
        let from = fitted.get(rank.unwrap_or_default()).or(fitted.first());
        if let (Task::Ico { positive_weight, .. }, Some((_, weight))) = (&mut task, from) {
            *positive_weight = *weight;
        }
        match (rank, from) {
            (Some(_), Some((candidate, _))) => (candidate.parameters.clone(), task),
            _ => (initial(0), task),
        }
    }
}

impl Candidate {
    /// Larger is better; a value that could not be had is worst.
    pub(super) fn merit(&self, goal: &Goal) -> f64 {
        goal.objective.direction().merit(self.validation)
    }
}

/// The best of some candidates, the first among equals.
fn best_of(candidates: &[Candidate], goal: &Goal) -> Option<usize> {
    let better = |best: usize, next: usize| match candidates[next].merit(goal) > candidates[best].merit(goal)
    {
        true => next,
        false => best,
    };
    (0..candidates.len()).reduce(better)
}

/// Chooses or averages the candidates, and compares with cross-entropy.
fn conclude(
    goal: &Goal,
    train: Part<'_>,
    mut selection: Selection<'_>,
    candidates: Vec<Candidate>,
    settings: &Settings,
    evaluations: u64,
) -> Result<Fit, TrainError> {
    // The fits of cross-entropy come first.
    let baselines =
        candidates.iter().take_while(|candidate| candidate.kind == StageKind::CrossEntropy).count();
    let cross_entropy = &candidates[..baselines];
    let Some(best) = best_of(cross_entropy, goal) else {
        return Err(TrainError::Infeasible { split: "validation", reason: "no stage was run".into() });
    };
    let linear = train.model.linear();
    let one = |index: usize| Average::one(&candidates, index);
    // Networks from several starts are worth more together: the baseline has that too.
    let base = match linear {
        true => one(best),
        false => average(&candidates, 0..baselines, goal, train.model, train.sample)?,
    };
    let validation = selection.value_of(&base.combined)?;
    let baseline = Baseline { name: base.name.clone(), combined: base.combined.clone(), validation };
    let base_scores = selection.scores().to_vec();
    let Average { combined, name: winner, members: kept } = match settings.method {
        // An average of models that meet a condition each need not meet it.
        MethodChoice::Auto if linear && !settings.shared_threshold => {
            average(&candidates, 0..candidates.len(), goal, train.model, train.sample)?
        }
        // A refined network is at least its start on validation, which it may be: each start once.
        MethodChoice::Auto if !linear => {
            average(&candidates, baselines..candidates.len(), goal, train.model, train.sample)?
        }
        MethodChoice::Ico | MethodChoice::Lagrangian | MethodChoice::Pairwise => one(candidates.len() - 1),
        MethodChoice::CrossEntropy => base.clone(),
        MethodChoice::Auto => one(best_of(&candidates, goal).unwrap_or(best)),
    };
    let validation = selection.value_of(&combined)?;
    let merit = |value| goal.objective.direction().merit(value);
    let difference = merit(validation) - merit(baseline.validation);
    let judge = Judge { seed: settings.seed, ..selection.judge() };
    let standard_error =
        difference.is_finite().then(|| judge.standard_error(selection.scores(), &base_scores)).flatten();
    // What wins on validation is kept. A network has the capacity to win there by chance: its gain must
    // exceed its standard error.
    let least = if linear { 0.0 } else { standard_error.unwrap_or_default() };
    let better = difference > least || (linear && difference == 0.0);
    let averaged = settings.method == MethodChoice::Auto && !settings.shared_threshold;
    // Networks of several rotations are judged together.
    let judged = averaged && (linear || settings.rotations() == 1);
    let fell_back = judged && !better && combined != baseline.combined;
    let (combined, winner, kept, validation) = match fell_back {
        true => (base.combined, base.name, base.members, selection.value_of(&baseline.combined)?),
        false => (combined, winner, kept, validation),
    };
    if settings.shared_threshold && validation.is_none() {
        // Says which condition is missed, and by how much at the closest threshold.
        selection.judge().exact(selection.scores())?;
    }
    let gain = difference.is_finite().then_some(Gain { difference, standard_error });
    let rotations = 1;
    Ok(Fit {
        combined,
        winner,
        validation,
        baseline,
        candidates,
        kept,
        gain,
        fell_back,
        evaluations,
        rotations,
    })
}
