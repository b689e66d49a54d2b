//! Fits of cross-entropy that serve all goals, and Setpoint from there.
//!
//! Only the epoch to stop at depends on the goal. So each fit is run once and watched by all goals, and
//! handed to `auto` as stages that are done: what it comes to is the same as if it had fitted them.

use std::time::Instant;

use setpoint::Goal;
use setpoint::model::Model;
use setpoint::train::{self, Candidate, Combined, Progress, Snapshot, Store, TrainError, fit, fit_alone};

use super::cell::{Cell, Fitted, Gain, epochs, judge};
use super::goals::parse;
use super::grid::Choice;
use super::problem::{Problem, failed};
use super::protocol::{Method, Protocol};
use super::tape::{Tape, Watched};
use super::task::Task;
use super::trial::Trial;
use crate::watch::control;
use crate::{ExperimentError, Watch};

/// Cells of one task and seed that share their fits.
pub struct Shared<'a> {
    /// The task.
    pub task: &'a Task,
    /// The seed.
    pub seed: u64,
    /// The cells, of methods that share fits.
    pub cells: Vec<&'a Cell>,
}

impl Shared<'_> {
    /// Networks that it fits, a run of Setpoint's stages counted as one.
    pub fn fits(&self, protocol: &Protocol) -> u64 {
        let own = self.cells.iter().filter(|cell| cell.method == Method::Once).count();
        (STAGES + self.extra(protocol).len() + own) as u64
    }

    /// Fits of cross-entropy beyond those that Setpoint begins with.
    fn extra(&self, protocol: &Protocol) -> Vec<Choice> {
        match self.cells.iter().find(|cell| cell.method == Method::Weighted) {
            Some(cell) => protocol.grid(Method::Weighted, &parse(&cell.goal), self.task.source, self.seed),
            None => Vec::new(),
        }
    }

    /// Runs all fits; returns what each cell came to, in order.
    ///
    /// # Errors
    /// If a fit fails or the caller stops.
    pub fn run(
        &self,
        problem: &Problem,
        protocol: &Protocol,
        watch: &dyn Watch,
    ) -> Result<Vec<Fitted>, ExperimentError> {
        let what = || format!("{} with seed {}", self.task.title, self.seed);
        let mut goals: Vec<&str> = Vec::new();
        for cell in &self.cells {
            if !goals.contains(&cell.goal.as_str()) {
                goals.push(&cell.goal);
            }
        }
        let parsed: Vec<Goal> = goals.iter().map(|goal| parse(goal)).collect();
        let stages = self.stages(problem, protocol, &parsed, watch).map_err(failed(what()))?;
        let mut extra = Vec::new();
        for choice in self.extra(protocol) {
            extra.push(alone(problem, &choice, &parsed, watch).map_err(failed(what()))?);
        }
        let batch = protocol.training(self.task.source).batch;
        let mut found = Vec::new();
        for cell in &self.cells {
            let at = goals.iter().position(|goal| *goal == cell.goal).unwrap_or_default();
            let of_goal = |fits: &[Watched]| -> Vec<Trial> { fits.iter().map(|fit| fit.trial(at)).collect() };
            let goal = &parsed[at];
            let fitted = match cell.method {
                Method::Once => {
                    let settings = protocol.auto(self.task.source, self.seed);
                    auto(goal, problem, &settings, &of_goal(&stages), batch, watch)
                }
                Method::CrossEntropy => judge(goal, problem, batch, &of_goal(&stages[..1])),
                _ => judge(goal, problem, batch, &[of_goal(&stages), of_goal(&extra)].concat()),
            };
            found.push(fitted.map_err(failed(cell.to_string()))?);
        }
        Ok(found)
    }

    /// The fits that Setpoint begins with.
    fn stages(
        &self,
        problem: &Problem,
        protocol: &Protocol,
        goals: &[Goal],
        watch: &dyn Watch,
    ) -> Result<Vec<Watched>, TrainError> {
        let (mut train, mut validation) = (problem.train.clone(), problem.validation.clone());
        let settings = protocol.cross_entropy(self.task.source, self.seed);
        let mut tape = Tape::new(problem, goals);
        let mut observer = |_: &Progress| control(watch);
        let fitted =
            fit(&goals[0], train.part(), validation.part(), &settings, &mut observer, Some(&mut tape))?;
        fitted.candidates.iter().for_each(|_| watch.fitted());
        Ok(fitted.candidates.iter().zip(tape.done).map(|(stage, watched)| watched.named(stage)).collect())
    }
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
    let (mut train, mut validation) = (problem.train.clone(), problem.validation.clone());
    let start = train.network.initial(choice.settings.seed.wrapping_add(choice.restart << 32));
    let mut tape = Tape::new(problem, goals);
    let mut observer = |_: &Progress| control(watch);
    let (train, validation) = (train.part(), validation.part());
    let candidate = fit_alone(
        &goals[0],
        train,
        validation,
        &choice.settings,
        Some(&start),
        &mut observer,
        Some(&mut tape),
    )?;
    watch.fitted();
    let candidate = Candidate { name: choice.name.clone(), ..candidate };
    tape.done.pop().map(|watched| watched.named(&candidate)).ok_or(TrainError::Stopped)
}

/// Setpoint's defaults, from fits that are done.
pub fn auto(
    goal: &Goal,
    problem: &Problem,
    settings: &train::Settings,
    stages: &[Trial],
    batch: usize,
    watch: &dyn Watch,
) -> Result<Fitted, TrainError> {
    let done = stages.iter().map(|trial| Candidate {
        name: trial.name.clone(),
        parameters: trial.parameters.clone(),
        validation: trial.validation,
        step: trial.step,
        evaluations: trial.steps,
    });
    let mut done = Done(Some(Snapshot { done: done.collect(), running: None }));
    let (mut train, mut validation) = (problem.train.clone(), problem.validation.clone());
    let mut observer = |_: &Progress| control(watch);
    let began = Instant::now();
    let fitted = fit(goal, train.part(), validation.part(), settings, &mut observer, Some(&mut done))?;
    watch.fitted();
    let seconds = began.elapsed().as_secs_f64() + stages.iter().map(|trial| trial.seconds).sum::<f64>();
    let test = |combined: &Combined| problem.test.value(goal, combined);
    let baseline = test(&fitted.baseline.combined)?;
    let gain = fitted.gain.map(|gain| Gain {
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
