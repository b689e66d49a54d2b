//! Fits of cross-entropy that serve all goals, and Setpoint from there.
//!
//! Only the epoch to stop at depends on the goal. So each fit is run once and watched by all goals, and
//! handed to `auto` as stages that are done: what it comes to is the same as if it had fitted them.

use std::time::Instant;

use setpoint::Goal;
use setpoint::train::{Candidate, Combined, Progress, Settings, Snapshot, StageKind, Store, TrainError};

use super::cell::{ClaimedGain, Fitted, epochs, judge, start};
use super::protocol::Protocol;
use super::tape::{Tape, Watched, named};
use crate::goals::parse;
use crate::problem::failed;
use crate::record::unique;
use crate::trial::Trial;
use crate::watch::control;
use crate::{Cell, Choice, ExperimentError, Method, Problem, Watch};

/// Whether a method is made of the fits of cross-entropy that all goals share.
pub fn is_shared(method: Method) -> bool {
    matches!(method, Method::CrossEntropy | Method::Weighted | Method::Once)
}

/// Networks that cells of one problem fit together, a run of Setpoint's stages counted as one.
pub fn fits(cells: &[&Cell], protocol: &Protocol) -> u64 {
    let own = cells.iter().filter(|cell| cell.method == Method::Once).count();
    (STAGES + extra(cells, protocol).len() + own) as u64
}

/// Fits of cross-entropy beyond those that Setpoint begins with.
fn extra(cells: &[&Cell], protocol: &Protocol) -> Vec<Choice> {
    match cells.iter().find(|cell| cell.method == Method::Weighted) {
        Some(cell) => protocol.grid(cell.method, &parse(&cell.goal), cell.task.source, cell.seed),
        None => Vec::new(),
    }
}

/// Runs all fits of cells of one problem; returns what each cell came to, in order.
pub fn run(
    cells: &[&Cell],
    problem: &Problem,
    protocol: &Protocol,
    watch: &dyn Watch,
) -> Result<Vec<Fitted>, ExperimentError> {
    let Cell { task, seed, .. } = cells[0];
    let what = || format!("{} with seed {seed}", task.title);
    let goals = unique(cells.iter().map(|cell| cell.goal.as_str()));
    let parsed: Vec<Goal> = goals.iter().map(|goal| parse(goal)).collect();
    let settings = protocol.cross_entropy(task.source, *seed);
    let stages = stages(problem, &settings, &parsed, watch).map_err(failed(what()))?;
    let mut more = Vec::new();
    for choice in extra(cells, protocol) {
        more.push(alone(problem, &choice, &parsed, watch).map_err(failed(what()))?);
    }
    let batch = protocol.training(task.source).batch;
    let mut found = Vec::new();
    for cell in cells {
        let at = goals.iter().position(|goal| *goal == cell.goal).unwrap_or_default();
        let of_goal = |fits: &[Watched]| -> Vec<Trial> { fits.iter().map(|fit| fit[at].clone()).collect() };
        let goal = &parsed[at];
        let fitted = match cell.method {
            Method::Once => {
                let settings = protocol.auto(task.source, *seed);
                auto(goal, problem, &settings, &of_goal(&stages), batch, watch)
            }
            Method::CrossEntropy => judge(goal, problem, batch, &of_goal(&stages[..1])),
            _ => judge(goal, problem, batch, &[of_goal(&stages), of_goal(&more)].concat()),
        };
        found.push(fitted.map_err(failed(cell))?);
    }
    Ok(found)
}

/// The fits that Setpoint begins with.
fn stages(
    problem: &Problem,
    settings: &Settings,
    goals: &[Goal],
    watch: &dyn Watch,
) -> Result<Vec<Watched>, TrainError> {
    let mut tape = Tape::new(problem, goals);
    let fitted = problem.fit(&goals[0], settings, watch, Some(&mut tape))?;
    fitted.candidates.iter().for_each(|_| watch.fitted());
    Ok(fitted.candidates.iter().zip(tape.done).map(|(stage, watched)| named(watched, stage)).collect())
}

/// How many fits Setpoint begins with.
const STAGES: usize = 3;

/// A fit of cross-entropy by itself.
fn alone(
    problem: &Problem,
    choice: &Choice,
    goals: &[Goal],
    watch: &dyn Watch,
) -> Result<Watched, TrainError> {
    let start = start(problem, choice);
    let mut tape = Tape::new(problem, goals);
    let mut observer = |_: &Progress| control(watch);
    let candidate =
        problem.fit_alone(&goals[0], &choice.settings, Some(&start), &mut observer, Some(&mut tape))?;
    watch.fitted();
    let candidate = Candidate { name: choice.name.clone(), ..candidate };
    tape.done.pop().map(|watched| named(watched, &candidate)).ok_or(TrainError::Stopped)
}

/// Setpoint's defaults, from fits that are done.
pub fn auto(
    goal: &Goal,
    problem: &Problem,
    settings: &Settings,
    stages: &[Trial],
    batch: usize,
    watch: &dyn Watch,
) -> Result<Fitted, TrainError> {
    let done = stages.iter().map(|trial| Candidate {
        kind: StageKind::default(),
        name: trial.name.clone(),
        parameters: trial.parameters.clone(),
        validation: trial.validation,
        step: trial.step,
        evaluations: trial.steps,
    });
    let done = (0..).zip(done).collect();
    let mut done = Done(Some(Snapshot { done, ..Snapshot::default() }));
    let began = Instant::now();
    let fitted = problem.fit(goal, settings, watch, Some(&mut done))?;
    watch.fitted();
    let seconds = began.elapsed().as_secs_f64() + stages.iter().map(|trial| trial.seconds).sum::<f64>();
    let test = |combined: &Combined| problem.test.value(goal, combined);
    let baseline = test(&fitted.baseline.combined)?;
    let gain = fitted.gain.map(|gain| ClaimedGain {
        difference: gain.difference,
        standard_error: gain.standard_error,
        kept: !fitted.fell_back,
        baseline,
    });
    let Some(validation) = fitted.validation else {
        let reason = "none of Setpoint's fits has a value".to_owned();
        return Err(TrainError::Infeasible { split: "validation", reason });
    };
    Ok(Fitted {
        setting: fitted.winner,
        validation,
        test: test(&fitted.combined)?,
        average: None,
        gain,
        fits: fitted.candidates.len(),
        failed: fitted.candidates.iter().filter(|candidate| candidate.validation.is_none()).count(),
        epochs: epochs(problem, batch, fitted.evaluations),
        seconds,
        looks: Vec::new(),
    })
}

/// Stages that are done, in the place of a checkpoint.
struct Done(Option<Snapshot>);

impl Store for Done {
    fn load(&mut self) -> Option<Snapshot> {
        self.0.take()
    }

    fn save(&mut self, _: &Snapshot) -> Result<(), String> {
        Ok(())
    }
}
