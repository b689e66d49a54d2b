//! LightGBM of several classes: one search for all goals.

use std::ops::ControlFlow;
use std::time::Instant;

use setpoint::class::shift;
use setpoint::goal::ClassGoal;
use setpoint::train::{Observer, Progress, if_any};
use setpoint_trees::{Ensemble, Look, Parameters, Searched, Session, Settings, TreesError, looks};

use super::cell::{Outcome, STARTS, Scores, best, certified, point};
use super::study::{Problem, StudyPart};
use crate::Watch;
use crate::watch::control;

/// Configurations of a search, and most rounds of a booster.
pub const SEARCH: usize = 6;
pub const ROUNDS: usize = 200;

/// Ends growth where the caller asks for it.
struct Stop<'w>(&'w dyn Watch);

impl Observer for Stop<'_> {
    fn observe(&mut self, _: &Progress) -> ControlFlow<()> {
        control(self.0)
    }
}

/// Grows for all goals, chooses and tests for some of them.
pub fn run(
    (all, goals): (&[ClassGoal], &[ClassGoal]),
    problem: &Problem,
    seed: u64,
    watch: &dyn Watch,
) -> Result<Vec<Outcome>, TreesError> {
    let settings = Settings {
        configurations: Parameters::search(SEARCH, 0),
        rounds: ROUNDS,
        retrain: true,
        seed,
        ..Settings::default()
    };
    let mut observer = Stop(watch);
    let (train, validation) = (problem.data(&problem.train), problem.data(&problem.validation));
    let mut session = Session::new(train, validation, &settings, &mut observer, None)?;
    let searched = session.search(all)?;
    let test = problem.data(&problem.test).features;
    let tested = |searched: &Searched| looks(&searched.ensemble, &test, settings.look_every, None);
    let tested: Vec<Vec<Look>> = searched.iter().map(tested).collect::<Result<_, _>>()?;
    let mut outcomes = Vec::new();
    for goal in goals {
        let clock = Instant::now();
        let fit = match session.conclude(goal, &searched) {
            Ok(fit) => Some(fit),
            // No booster meets the conditions on validation rows.
            Err(TreesError::Train(error)) if error.is_no_value() => None,
            Err(error) => return Err(error),
        };
        let seconds = clock.elapsed().as_secs_f64();
        watch.fitted();
        let rivals = rivals(goal, &searched, &tested);
        let mut outcome = Outcome {
            setpoint: None,
            exact: best(goal, problem, rivals.iter(), |sample, scores| {
                shift::best(goal, sample, scores, STARTS)
            })?,
            adjusted: best(goal, problem, rivals.iter(), |sample, scores| {
                shift::adjusted(goal, sample, scores)
            })?,
            certified: None,
            winner: "none".to_owned(),
            fell_back: false,
            seconds,
        };
        if let Some(fit) = fit {
            let [calibration, test] =
                [&problem.calibration, &problem.test].map(|part| score(&fit.ensemble, problem, part));
            let scores: Scores = [fit.held_out, calibration?, test?];
            let found = if_any(shift::choose(goal, &problem.validation.sample, &scores[0], STARTS, seed))?;
            outcome.setpoint = point(goal, &problem.test.sample, &scores[2], found.as_ref())?;
            outcome.certified = certified(goal, problem, &scores, found.as_ref(), seed)?;
            outcome.winner = fit.winner;
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// Every booster at the rounds that are best on validation, with its looks at the test rows.
fn rivals(goal: &ClassGoal, searched: &[Searched], tested: &[Vec<Look>]) -> Vec<(Scores, bool)> {
    let direction = goal.objective.direction();
    let mut rivals = Vec::new();
    for (searched, tested) in searched.iter().zip(tested) {
        let mut best = None;
        let promised = searched.promised(&goal.clone().into()).unwrap_or_default();
        for ((look, test), promise) in searched.looks.iter().zip(tested).zip(promised) {
            let merit = direction.merit(promise.value);
            if best.is_none_or(|(before, _)| merit > before) {
                best = Some((merit, (look, test)));
            }
        }
        let Some((_, (look, test))) = best else { continue };
        rivals.push(([look.scores.clone(), Vec::new(), test.scores.clone()], true));
    }
    rivals
}

fn score(ensemble: &Ensemble, problem: &Problem, part: &StudyPart) -> Result<Vec<f32>, TreesError> {
    let mut scores = vec![0.0; part.sample.len() * ensemble.outputs()];
    ensemble.scores(&problem.data(part).features, &mut scores)?;
    Ok(scores)
}
