//! A run: its stages one after another, and what is made of their results.

use super::check::check;
use super::selection::{Selection, as_fraction};
use super::stage::{Reporter, Store};
use super::task::{Task, tasks};
use super::{MethodChoice, Observer, Part, Settings, Standard, TrainError, rotate};
use crate::goal::Goal;
use crate::metric::interval::Bootstrap;
use crate::model::{Model, Rows};
use crate::sample::Sample;

/// How many of the best candidates are averaged.
const AVERAGED: usize = 3;

/// What one stage came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
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

/// How much better than cross-entropy the result is on validation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Improvement of the goal's value; positive is better.
    pub difference: f64,
    /// Its standard error, from a paired bootstrap; `None` for goals with group conditions.
    pub standard_error: Option<f64>,
}

/// A trained model's parameters and how they came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The parameters.
    pub parameters: Vec<f32>,
    /// What they are: the name of a candidate, or of the candidates averaged.
    pub winner: String,
    /// The goal's value on validation with these parameters.
    pub validation: Option<f64>,
    /// The best cross-entropy fit: the baseline.
    pub baseline: Candidate,
    /// Every stage, in order.
    pub candidates: Vec<Candidate>,
    /// The gain over the baseline.
    pub gain: Option<Gain>,
    /// Gradient evaluations over all stages.
    pub evaluations: u64,
    /// How many rotations of the rows the parameters are the average of.
    pub rotations: usize,
}

/// Trains a model for a goal.
///
/// The model starts from zero parameters. Deterministic: the same arguments give
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
    check(goal, settings)?;
    let rows = settings.rows_scored.unwrap_or(validation.sample.len() as u64);
    let goal = as_fraction(goal, rows);
    let tasks = tasks(settings);
    // A method that cannot be had for the goal says so before its baseline is fitted.
    if let Some(last @ (Task::Lagrangian { .. } | Task::Pairwise { .. })) = tasks.last() {
        last.loss(&goal, train.sample, settings)?;
    }
    let reporter = &mut Reporter::new(observer, store, tasks.len() * settings.rotations);
    let rounds = Rounds { goal: &goal, tasks: &tasks, settings };
    if settings.rotations == 1 {
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
        let zeros = vec![0.0; train.model.parameter_count()];
        let evaluations = reporter.evaluations;
        for (index, task) in tasks.iter().enumerate() {
            let name = task.name();
            if let Some(done) = reporter.begin(rotation * tasks.len() + index, &name) {
                candidates.push(done);
                continue;
            }
            let before = reporter.evaluations;
            // Stages do not build on each other, but for the start of all that is not cross-entropy:
            // what is averaged must differ.
            let start = match task {
                Task::CrossEntropy { .. } => zeros.clone(),
                // With one threshold for all, a value on validation says little of a fit that knows
                // nothing of the groups.
                Task::Multipliers { .. } => candidates[0].parameters.clone(),
                _ => {
                    let fitted =
                        candidates.iter().filter(|candidate| candidate.name.starts_with("cross-entropy"));
                    best_of(fitted, &selection).map_or_else(|| zeros.clone(), |best| best.parameters.clone())
                }
            };
            let best = task.run(goal, &mut train, &mut selection, reporter, settings, &start)?;
            let candidate = Candidate {
                name,
                parameters: best.parameters,
                validation: best.value,
                step: best.step,
                evaluations: reporter.evaluations - before,
            };
            reporter.end(&candidate)?;
            candidates.push(candidate);
        }
        let evaluations = reporter.evaluations - evaluations;
        conclude(goal, train, selection, candidates, settings, evaluations)
    }
}

fn best_of<'c>(
    candidates: impl Iterator<Item = &'c Candidate>,
    selection: &Selection<'_>,
) -> Option<&'c Candidate> {
    let merit = |candidate: &Candidate| selection.merit(candidate.validation);
    candidates.reduce(|best, next| if merit(next) > merit(best) { next } else { best })
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
    let fitted_by = |name: &'static str| candidates.iter().filter(move |c| c.name.starts_with(name));
    let Some(baseline) = best_of(fitted_by("cross-entropy"), &selection).cloned() else {
        return Err(TrainError::Infeasible { split: "validation", reason: "no stage was run".into() });
    };
    let (parameters, winner) = match settings.method {
        // An average of models that meet a condition each need not meet it.
        MethodChoice::Auto if train.model.linear() && !settings.shared_threshold => {
            let averaged = average(&candidates, train, &selection)?;
            // What wins on validation is kept: an average that falls behind the baseline is not.
            let value = selection.value(&averaged.0)?;
            if selection.merit(value) < selection.merit(baseline.validation) {
                (baseline.parameters.clone(), baseline.name.clone())
            } else {
                averaged
            }
        }
        MethodChoice::Ico | MethodChoice::Lagrangian | MethodChoice::Pairwise => {
            let asked = candidates.last().unwrap_or(&baseline);
            (asked.parameters.clone(), asked.name.clone())
        }
        _ => {
            let best = best_of(candidates.iter(), &selection).unwrap_or(&baseline);
            (best.parameters.clone(), best.name.clone())
        }
    };
    let base = selection.value(&baseline.parameters)?;
    let base_scores = selection.scores().to_vec();
    let validation = selection.value(&parameters)?;
    if settings.shared_threshold && validation.is_none() {
        // Says which condition is missed, and by how much at the closest threshold.
        super::selection::shared_value(goal, selection.sample(), selection.scores())?;
    }
    let gain = match (validation, base) {
        (Some(value), Some(base)) => Some(Gain {
            difference: selection.merit(Some(value)) - selection.merit(Some(base)),
            standard_error: standard_error(goal, &selection, &base_scores, settings.seed),
        }),
        _ => None,
    };
    Ok(Fit { parameters, winner, validation, baseline, candidates, gain, evaluations, rotations: 1 })
}

/// The mean of the best candidates, each scaled so that its training scores have unit spread.
fn average(
    candidates: &[Candidate],
    train: Part<'_>,
    selection: &Selection<'_>,
) -> Result<(Vec<f32>, String), TrainError> {
    let mut order: Vec<&Candidate> = candidates.iter().filter(|c| c.validation.is_some()).collect();
    if order.is_empty() {
        let first = &candidates[0];
        return Ok((first.parameters.clone(), first.name.clone()));
    }
    order.sort_by(|a, b| selection.merit(b.validation).total_cmp(&selection.merit(a.validation)));
    order.truncate(AVERAGED);
    let mut members = Vec::with_capacity(order.len());
    for candidate in &order {
        members.push(of_unit_spread(&candidate.parameters, train.model, train.sample)?);
    }
    // An ico stage whose best iterate is its start is the cross-entropy fit over again: a vote for it,
    // by its name.
    let mut names: Vec<&str> = Vec::new();
    for chosen in order {
        let origin = candidates.iter().find(|candidate| candidate.parameters == chosen.parameters);
        let name = origin.map_or(chosen.name.as_str(), |candidate| candidate.name.as_str());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let winner = match names[..] {
        [only] => only.to_owned(),
        _ => format!("average of {}", names.join("; ")),
    };
    Ok((mean(&members), winner))
}

/// A linear model's parameters, scaled so that its scores have mean 0 and unit spread.
pub(super) fn of_unit_spread(
    parameters: &[f32],
    model: &mut dyn Model,
    sample: &Sample,
) -> Result<Vec<f64>, TrainError> {
    let mut scores = vec![0.0; sample.len()];
    model.scores(parameters, Rows::All, &mut scores)?;
    let standard = Standard::of(sample, &scores);
    let bias = parameters.len() - 1;
    let scaled = parameters.iter().enumerate().map(|(index, parameter)| {
        let shifted = f64::from(*parameter) - if index == bias { standard.mean } else { 0.0 };
        shifted / standard.deviation
    });
    Ok(scaled.collect())
}

/// The mean of several parameter vectors.
pub(super) fn mean(members: &[Vec<f64>]) -> Vec<f32> {
    let mut mean = vec![0.0; members.first().map_or(0, Vec::len)];
    for member in members {
        mean.iter_mut().zip(member).for_each(|(mean, value)| *mean += value / members.len() as f64);
    }
    mean.into_iter().map(|value| value as f32).collect()
}

/// Standard error of the difference between two score vectors on validation.
fn standard_error(goal: &Goal, selection: &Selection<'_>, base: &[f32], seed: u64) -> Option<f64> {
    if goal.column().is_some() {
        return None;
    }
    let bootstrap = Bootstrap { replicates: 200, confidence: 0.9, seed };
    let value = |cuts: &crate::metric::Cuts| crate::metric::value_of(goal, cuts).map(|value| value.value);
    bootstrap
        .difference(selection.sample(), selection.scores(), base, value)
        .ok()
        .map(|found| found.standard_error)
}
