//! A run: its stages one after another, and what is made of their results.

use super::selection::{Selection, as_fraction};
use super::stage::{Reporter, Store};
use super::task::{Task, tasks};
use super::{
    Bandwidth, MethodChoice, Observer, OptimizerChoice, Part, PositiveWeight, Settings, Standard, Thresholds,
    TrainError,
};
use crate::engine::Inequality;
use crate::goal::{Constraint, Goal};
use crate::metric::interval::Bootstrap;
use crate::model::Rows;

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
    mut train: Part<'_>,
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
    let mut selection = Selection::new(&goal, settings.shared_threshold, validation);
    let mut reporter = Reporter::new(observer, store, tasks.len());
    let mut candidates: Vec<Candidate> = Vec::new();
    let zeros = vec![0.0; train.model.parameter_count()];
    for (index, task) in tasks.iter().enumerate() {
        let name = task.name();
        if let Some(done) = reporter.begin(index, &name) {
            candidates.push(done);
            continue;
        }
        let before = reporter.evaluations;
        // Stages do not build on each other, but for the start of all that is not cross-entropy: what is
        // averaged must differ.
        let start = match task {
            Task::CrossEntropy { .. } => zeros.clone(),
            // With one threshold for all, a value on validation says little of a fit that knows nothing
            // of the groups.
            Task::Multipliers { .. } => candidates[0].parameters.clone(),
            _ => {
                let fitted =
                    candidates.iter().filter(|candidate| candidate.name.starts_with("cross-entropy"));
                best_of(fitted, &selection).map_or_else(|| zeros.clone(), |best| best.parameters.clone())
            }
        };
        let best = task.run(&goal, &mut train, &mut selection, &mut reporter, settings, &start)?;
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
    let evaluations = reporter.evaluations;
    conclude(&goal, train, selection, candidates, settings, evaluations)
}

fn check(goal: &Goal, settings: &Settings) -> Result<(), TrainError> {
    if settings.shared_threshold {
        check_shared(goal, settings)?;
    }
    if settings.inequality == Inequality::Slack {
        check_slack(goal, settings)?;
    }
    let positive = |what, value: f64| {
        if value.is_finite() && value > 0.0 {
            Ok(())
        } else {
            Err(TrainError::Setting { what, found: value.to_string(), expected: "a positive number" })
        }
    };
    positive("learning rate", settings.learning_rate)?;
    positive("dual learning rate", settings.dual_learning_rate)?;
    let (Bandwidth::Deviations(b) | Bandwidth::Tail(b) | Bandwidth::Score(b)) = settings.bandwidth;
    positive("bandwidth", b)?;
    if let PositiveWeight::Fixed(weight) = settings.positive_weight {
        positive("positive weight", weight)?;
    }
    if settings.batch_size == Some(0) {
        return Err(TrainError::Setting { what: "batch size", found: "0".into(), expected: "at least 1" });
    }
    if settings.batch_size.is_some() && settings.optimizer == OptimizerChoice::Lbfgs {
        return Err(TrainError::Setting {
            what: "optimizer",
            found: "lbfgs with mini-batches".into(),
            expected: "adam, adagrad or sgd with --batch-size, or lbfgs on the full batch",
        });
    }
    if settings.method == MethodChoice::Lagrangian && settings.optimizer == OptimizerChoice::Lbfgs {
        return Err(TrainError::Setting {
            what: "optimizer",
            found: "lbfgs with the lagrangian method".into(),
            expected: "adam, adagrad or sgd: multipliers and thresholds move at every step, and a line search needs a function that stays",
        });
    }
    if !(0.0..=1.0).contains(&settings.mix) {
        return Err(TrainError::Setting {
            what: "mix",
            found: settings.mix.to_string(),
            expected: "a share in [0, 1]",
        });
    }
    Ok(())
}

/// Refuses what slack variables cannot be had with.
fn check_slack(goal: &Goal, settings: &Settings) -> Result<(), TrainError> {
    let refuse = |found: &str, expected| {
        Err(TrainError::Setting { what: "inequality", found: found.to_owned(), expected })
    };
    if settings.optimizer == OptimizerChoice::Lbfgs {
        return refuse(
            "slack with optimizer lbfgs",
            "adam, adagrad or sgd: slack variables move at every step, and a line search needs a function that stays",
        );
    }
    if settings.batch_size.is_some() {
        return refuse("slack with mini-batches", "the full batch, or active-set");
    }
    if settings.thresholds != Thresholds::Smooth {
        return refuse("slack with thresholds that are not smooth", "thresholds smooth, or active-set");
    }
    let coupled =
        |constraint: &Constraint| matches!(constraint, Constraint::Gap { .. } | Constraint::Ratio { .. });
    if goal.constraints.iter().any(coupled) {
        return refuse(
            "slack for a gap or ratio",
            "active-set: such a limit has two sides, and slack variables start with both met as equalities",
        );
    }
    Ok(())
}

/// Refuses what one threshold for all groups cannot be had with.
fn check_shared(goal: &Goal, settings: &Settings) -> Result<(), TrainError> {
    let refuse = |found: &str, expected| {
        Err(TrainError::Setting { what: "shared threshold", found: found.to_owned(), expected })
    };
    if goal.column().is_none() {
        return refuse(
            "for a goal without conditions on groups",
            "such a condition; without one there is one threshold anyway",
        );
    }
    let multipliers = matches!(settings.method, MethodChoice::Auto | MethodChoice::Ico);
    if settings.method == MethodChoice::Pairwise {
        return refuse("with the pairwise method", "method auto, ico, lagrangian or cross-entropy");
    }
    if multipliers && settings.batch_size.is_some() {
        return refuse("with mini-batches", "the full batch, or the lagrangian method");
    }
    if multipliers && !matches!(settings.optimizer, OptimizerChoice::Auto | OptimizerChoice::Lbfgs) {
        return refuse("with a first-order optimizer", "optimizer lbfgs, or the lagrangian method");
    }
    if settings.method == MethodChoice::Ico && !matches!(settings.bandwidth, Bandwidth::Deviations(_)) {
        return refuse("with a bandwidth in other units", "a bandwidth in deviations, such as 0.1sd");
    }
    if settings.inequality == Inequality::Slack {
        return refuse("with slack variables", "inequality active-set: multipliers meet the limits");
    }
    Ok(())
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
    Ok(Fit { parameters, winner, validation, baseline, candidates, gain, evaluations })
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
    let mut scores = vec![0.0; train.sample.len()];
    let mut mean = vec![0.0f64; order[0].parameters.len()];
    for candidate in &order {
        train.model.scores(&candidate.parameters, Rows::All, &mut scores)?;
        let standard = Standard::of(train.sample, &scores);
        let bias = candidate.parameters.len() - 1;
        for (index, (mean, parameter)) in mean.iter_mut().zip(&candidate.parameters).enumerate() {
            let shifted = f64::from(*parameter) - if index == bias { standard.mean } else { 0.0 };
            *mean += shifted / standard.deviation / order.len() as f64;
        }
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
    Ok((mean.iter().map(|p| *p as f32).collect(), winner))
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
