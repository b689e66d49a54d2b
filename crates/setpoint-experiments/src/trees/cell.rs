//! One task, split by one seed: a search, and what is made of it for each goal.

use std::ops::ControlFlow;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use setpoint::Goal;
use setpoint::train::selection::as_fraction;
use setpoint::train::{Judge, Observer, Progress};
use setpoint_trees::{Ensemble, Session, Settings, Step, TreesError};

use super::rival::{best, together};
use super::study::Rows;
use crate::Watch;
use crate::watch::control;

/// What became of one goal, on the test rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The goal.
    pub goal: String,
    /// `--model trees --method auto`.
    pub setpoint: f64,
    /// LightGBM, the configuration and rounds that were best on validation.
    pub lightgbm: f64,
    /// The average of its three best.
    pub lightgbm_average: f64,
    /// What Setpoint's model is.
    pub winner: String,
    /// What it tried after the search.
    pub steps: Vec<StepRecord>,
    /// Seconds of what Setpoint did after the search that it shares with LightGBM.
    pub seconds: f64,
}

/// Something that was tried.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StepRecord {
    /// What.
    pub name: String,
    /// The gain on validation, as far as it could be measured.
    pub gain: Option<f64>,
    /// Its standard error.
    pub standard_error: Option<f64>,
    /// Whether it was taken.
    pub taken: bool,
}

/// All goals of a task and seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// Seconds of the search.
    pub search_seconds: f64,
    /// Goal by goal.
    pub outcomes: Vec<Outcome>,
}

impl Trial {
    /// What became of a goal.
    pub fn of(&self, goal: &str) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.goal == goal)
    }
}

/// Grows, chooses and tests.
pub fn run(
    problem: &Rows,
    goals: &[Goal],
    settings: &Settings,
    watch: &dyn Watch,
) -> Result<Trial, TreesError> {
    let (train, validation, test) = (problem.data(0)?, problem.data(1)?, problem.data(2)?);
    let rows = test.sample.len() as u64;
    let settings = Settings { rows_scored: Some(rows), retrain: true, ..settings.clone() };
    let mut counter = Counter { watch, boosters: settings.configurations.len(), seen: 0 };
    let mut session = Session::new(train, validation, &settings, &mut counter, None)?;
    let clock = Instant::now();
    let searched = session.search(goals)?;
    let search_seconds = clock.elapsed().as_secs_f64();
    let mut outcomes = Vec::new();
    for goal in goals {
        let on_test = |scores: &[f32]| Judge::new(goal, test.sample).exact(scores);
        let scored = |ensemble: &Ensemble| -> Result<Vec<f32>, TreesError> {
            let mut scores = vec![0.0; test.sample.len()];
            ensemble.scores(&test.features, &mut scores)?;
            Ok(scores)
        };
        let judged = as_fraction(goal, rows);
        let best = best(&judged, validation.sample, &searched)?;
        let first = scored(&best[0].ensemble())?;
        let average = together(validation.sample, &best, |chosen| scored(&chosen.ensemble()))?;
        let clock = Instant::now();
        let fit = session.conclude(goal, &searched)?;
        let seconds = clock.elapsed().as_secs_f64();
        outcomes.push(Outcome {
            goal: goal.to_string(),
            setpoint: on_test(&scored(&fit.ensemble)?)?,
            lightgbm: on_test(&first)?,
            lightgbm_average: on_test(&average)?,
            winner: fit.winner,
            steps: fit.steps.into_iter().map(StepRecord::from).collect(),
            seconds,
        });
    }
    Ok(Trial { search_seconds, outcomes })
}

impl From<Step> for StepRecord {
    fn from(Step { name, gain, taken }: Step) -> Self {
        let standard_error = gain.and_then(|gain| gain.standard_error);
        Self { name, gain: gain.map(|gain| gain.difference), standard_error, taken }
    }
}

/// Counts the boosters of the search.
struct Counter<'w> {
    watch: &'w dyn Watch,
    boosters: usize,
    seen: usize,
}

impl Observer for Counter<'_> {
    fn observe(&mut self, progress: &Progress) -> ControlFlow<()> {
        while self.seen < progress.stage_index.min(self.boosters) {
            self.seen += 1;
            self.watch.fitted();
        }
        control(self.watch)
    }
}
