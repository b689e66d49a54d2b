//! A run: its stages, and what is made of their results.

use std::collections::BTreeMap;

use super::aim::{Aim, TwoClasses};
use super::check::check;
use super::combined::{Average, Combined, average};
use super::desk::{Job, Level, serve};
use super::level::{Fewer, levels};
use super::selection::{Selection, as_fraction, check_top};
use super::stage::{Reporter, Store};
use super::task::{Start, Task, tasks};
use super::{Gain, MethodChoice, Observer, Part, Settings, StageKind, TrainError, rotate};
use crate::examples::Held;
use crate::goal::{Direction, Goal};
use crate::model::Model;
use crate::shard::Shard;

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

/// Cross-entropy at its best: the best fit by validation, or for networks and queries the average of the best.
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
    /// Walks over the training rows that answered them, as walks over all of them; 0 where stages learn from batches.
    pub passes: u64,
    /// How many rotations of the rows the parameters are the average of.
    pub rotations: usize,
    /// Of several, what the first one came to: it has not seen the validation rows.
    pub first: Option<Combined>,
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
    let tasks = tasks(settings, &train, goal.money().is_some());
    // A method that cannot be had for the goal says so before its baseline is fitted.
    if let Some(last @ (Task::Lagrangian { .. } | Task::Pairwise { .. })) = tasks.last() {
        last.loss(&goal, train.sample, settings, None)?;
    }
    let reporter = &mut Reporter::new(observer, store, tasks.len() * settings.rotations());
    let aim = TwoClasses { goal: &goal, shared_threshold: settings.shared_threshold };
    Rounds { aim: &aim, tasks: &tasks, settings }.fit(train, validation, reporter)
}

/// The stages of a run, to be gone through once for each rotation of the rows.
pub(super) struct Rounds<'a> {
    pub(super) aim: &'a dyn Aim,
    pub(super) tasks: &'a [Task],
    pub(super) settings: &'a Settings,
}

impl Rounds<'_> {
    /// Runs all stages, on every rotation of the rows.
    pub(super) fn fit(
        &self,
        train: Part<'_>,
        validation: Part<'_>,
        reporter: &mut Reporter<'_>,
    ) -> Result<Fit, TrainError> {
        match self.settings.rotations() {
            1 => self.run(0, train, validation, reporter),
            _ => rotate::fit(self, train, validation, reporter),
        }
    }

    /// Runs all stages on these parts and makes one model of them.
    pub(super) fn run(
        &self,
        rotation: usize,
        mut train: Part<'_>,
        validation: Part<'_>,
        reporter: &mut Reporter<'_>,
    ) -> Result<Fit, TrainError> {
        let Self { aim, tasks, settings } = *self;
        let validation = Part { model: &mut *validation.model, sample: validation.sample };
        let mut selection = Selection::new(aim, validation);
        let mut candidates: Vec<Candidate> = Vec::new();
        let (evaluations, walked) = (reporter.evaluations, reporter.walked);
        let batches = Task::batch_size(settings, train.model.linear()).is_some();
        let mut levels = if batches { Vec::new() } else { levels(&train)? };
        // Stages start where the model does, or from a fit of cross-entropy: these come first.
        let fits = tasks.iter().take_while(|task| task.kind() == StageKind::CrossEntropy).count();
        for stages in [0..fits, fits..tasks.len()] {
            let definite = |index: usize| {
                let (start, task) = self.start(rotation, &tasks[index], &candidates, train.model);
                (rotation * tasks.len() + index, task, start)
            };
            let stages = stages.map(definite).collect();
            let run = Stages { aim, settings, levels: &mut levels };
            candidates.extend(run.run(stages, &mut train, &mut selection, reporter)?);
        }
        let evaluations = reporter.evaluations - evaluations;
        let passes = (reporter.walked - walked).div_ceil(train.sample.rows().max(1) as u64);
        conclude(aim, train, selection, candidates, settings, (evaluations, passes))
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
            Task::Balanced { .. } => return (initial(0), task),
            Task::Queries { restart, .. } => return (initial(*restart), task),
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
                Task::Balanced { .. } | Task::Queries { .. } => Some((candidate, 1.0)),
                _ => None,
            })
            .collect();
        let direction = self.aim.direction();
        fitted.sort_by(|(a, _), (b, _)| b.merit(direction).total_cmp(&a.merit(direction)));
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

/// Stages that do not build on each other.
pub(super) struct Stages<'a> {
    pub(super) aim: &'a dyn Aim,
    pub(super) settings: &'a Settings,
    /// Fewer rows to come close on.
    pub(super) levels: &'a mut [Fewer],
}

impl Stages<'_> {
    /// Runs them, each from its start: side by side, or one after another where they learn from batches.
    pub(super) fn run(
        self,
        stages: Vec<(usize, Task, Vec<f32>)>,
        train: &mut Part<'_>,
        selection: &mut Selection<'_>,
        reporter: &mut Reporter<'_>,
    ) -> Result<Vec<Candidate>, TrainError> {
        let Self { aim, settings, levels } = self;
        let mut found: BTreeMap<usize, Candidate> = BTreeMap::new();
        let (sample, held_out, outputs) = (train.sample, selection.sample(), train.model.outputs());
        let (models, samples): (Vec<_>, Vec<_>) =
            levels.iter_mut().map(|(model, sample)| (model, &*sample)).unzip();
        let mut jobs = Vec::new();
        for (index, task, start) in stages {
            if let Some(done) = reporter.begin(index, task.kind(), &task.name()) {
                found.insert(index, done);
            } else if let Some(size) = Task::batch_size(settings, train.model.linear()) {
                let parts = (&mut *train, &mut *selection);
                let (best, steps) =
                    task.run_batches(aim, parts, reporter, settings, (index, &start, size))?;
                found.insert(index, reporter.end(index, best, steps)?);
            } else {
                let levels = samples.iter().copied();
                let stage =
                    task.stage(aim, (&mut *train.model, sample), levels, held_out, settings, &start)?;
                jobs.push(Job { index, run: Box::new(move |desk| stage.run(desk)) });
            }
        }
        let coarse = models.into_iter().zip(&samples).map(|(model, sample)| {
            let sample: &dyn Shard = *sample;
            (Held::new(Part { model: &mut **model, sample }), sample)
        });
        let all = (Held::new(Part { model: &mut *train.model, sample }), sample);
        let mut held: Vec<_> = std::iter::once(all).chain(coarse).collect();
        let levels = held.iter_mut().map(|(held, rows)| Level { examples: held, rows: *rows, outputs });
        let mut levels: Vec<Level<'_>> = levels.collect();
        let indices: Vec<usize> = jobs.iter().map(|job| job.index).collect();
        let served =
            if jobs.is_empty() { Vec::new() } else { serve(&mut levels, selection, reporter, jobs)? };
        found.extend(indices.into_iter().zip(served));
        Ok(found.into_values().collect())
    }
}

impl Candidate {
    /// Larger is better; a value that could not be had is worst.
    pub(super) fn merit(&self, direction: Direction) -> f64 {
        direction.merit(self.validation)
    }
}

/// The best of some candidates, the first among equals.
fn best_of(candidates: &[Candidate], direction: Direction) -> Option<usize> {
    let merit = |index: usize| candidates[index].merit(direction);
    let better = |best: usize, next: usize| match merit(next) > merit(best) {
        true => next,
        false => best,
    };
    (0..candidates.len()).reduce(better)
}

/// Chooses or averages the candidates, and compares with cross-entropy.
fn conclude(
    aim: &dyn Aim,
    train: Part<'_>,
    mut selection: Selection<'_>,
    candidates: Vec<Candidate>,
    settings: &Settings,
    (evaluations, passes): (u64, u64),
) -> Result<Fit, TrainError> {
    // The fits of cross-entropy come first.
    let baselines =
        candidates.iter().take_while(|candidate| candidate.kind == StageKind::CrossEntropy).count();
    let direction = aim.direction();
    let cross_entropy = &candidates[..baselines];
    let Some(best) = best_of(cross_entropy, direction) else {
        return Err(TrainError::Infeasible { split: "validation", reason: "no stage was run".into() });
    };
    let linear = train.model.linear();
    let one = |index: usize| Average::one(&candidates, index);
    // Networks from several starts are worth more together: the baseline has that too.
    let mut base = match aim.averages_baseline(linear) {
        false => one(best),
        true => average(&candidates, 0..baselines, direction, train.model, train.sample)?,
    };
    let mut validation = selection.value_of(&base.combined)?;
    let mut base_scores = selection.scores().to_vec();
    if linear && base.members.len() > 1 {
        // Where there are rows enough to tell, the best fit alone.
        let alone = one(best);
        let value = selection.value_of(&alone.combined)?;
        let sample = selection.sample().whole();
        let error = aim.standard_error(sample, selection.scores(), &base_scores, settings.seed);
        if direction.merit(value) - direction.merit(validation) > error.unwrap_or_default() {
            (base, validation, base_scores) = (alone, value, selection.scores().to_vec());
        }
    }
    let baseline = Baseline { name: base.name.clone(), combined: base.combined.clone(), validation };
    let Average { combined, name: winner, members: kept } = match settings.method {
        // An average of models that meet a condition each need not meet it.
        MethodChoice::Auto if linear && !settings.shared_threshold => {
            average(&candidates, 0..candidates.len(), direction, train.model, train.sample)?
        }
        // A refined network is at least its start on validation, which it may be: each start once.
        MethodChoice::Auto if !linear => {
            average(&candidates, baselines..candidates.len(), direction, train.model, train.sample)?
        }
        MethodChoice::Ico | MethodChoice::Lagrangian | MethodChoice::Pairwise => one(candidates.len() - 1),
        MethodChoice::CrossEntropy => base.clone(),
        MethodChoice::Auto => one(best_of(&candidates, direction).unwrap_or(best)),
    };
    let validation = selection.value_of(&combined)?;
    let difference = direction.merit(validation) - direction.merit(baseline.validation);
    let sample = selection.sample().whole();
    // What wins on validation is kept. A network has the capacity to win there by chance: its gain must
    // exceed its standard error.
    let gated = aim.gated(linear);
    let standard_error = (gated && difference.is_finite())
        .then(|| aim.standard_error(sample, selection.scores(), &base_scores, settings.seed))
        .flatten();
    let least = if gated { standard_error.unwrap_or_default() } else { 0.0 };
    let better = difference > least || (!gated && difference == 0.0);
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
        aim.exact(selection.sample().whole(), selection.scores())?;
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
        passes,
        rotations,
        first: None,
    })
}
