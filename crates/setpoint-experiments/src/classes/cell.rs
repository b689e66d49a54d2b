//! One goal on one split: Setpoint and its rivals, shifts chosen on validation, values on test.

use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use setpoint::Sample;
use setpoint::certify::{CertifyError, certify_classes, class_sequence};
use setpoint::class::shift::{self, Shifts};
use setpoint::class::{ClassError, Confusion};
use setpoint::goal::{ClassGoal, Relation};
use setpoint::train::{self, Combined, Progress, Settings, StageKind, TrainError, fit_classes, if_any};

use super::study::{Problem, StudyPart};
use crate::Watch;
use crate::watch::control;

/// Starts of the search for exact shifts.
pub const STARTS: usize = 10;
/// The certificates' confidence.
pub const CONFIDENCE: f64 = 0.95;
/// Draws of calibration rows for each certificate.
pub const DRAWS: u64 = 40;

/// Decisions on the test rows, at shifts from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The goal's objective; costs are less than nothing, so that more is better.
    pub value: f64,
    /// Whether every condition holds.
    pub held: bool,
}

/// Decisions at certified shifts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certified {
    /// On the test rows, at shifts certified on the calibration rows; `None` where none could be.
    pub point: Option<Point>,
    /// Draws of calibration rows, from calibration and test rows together, that certified shifts.
    pub draws: u64,
    /// How many of those shifts hold on all of these rows.
    pub held: u64,
}

/// What became of a goal on a split.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Setpoint's model and shifts; `None` where no shifts meet the conditions on validation.
    pub setpoint: Option<Point>,
    /// Cross-entropy, weighted and not, or LightGBM: the best on validation with a shift for each class.
    pub exact: Option<Point>,
    /// The same of what is not weighted, with shifts of one parameter.
    pub adjusted: Option<Point>,
    /// Setpoint's shifts with a proof; `None` for goals without conditions that can be proved.
    pub certified: Option<Certified>,
    /// What Setpoint's model is.
    pub winner: String,
    /// Whether that is cross-entropy.
    pub fell_back: bool,
    /// Seconds of Setpoint's training.
    pub seconds: f64,
}

/// The scores of validation, calibration and test rows.
pub type Scores = [Vec<f32>; 3];

/// Fits a linear model and its rivals.
pub fn linear(
    goal: &ClassGoal,
    problem: &Problem,
    seed: u64,
    watch: &dyn Watch,
) -> Result<Outcome, TrainError> {
    let settings = Settings { seed, ..Settings::default() };
    let (mut train, mut validation) = (problem.train.model.clone(), problem.validation.model.clone());
    let mut observer = |_: &Progress| control(watch);
    let clock = Instant::now();
    let fit = fit_classes(
        goal,
        train::Part { model: &mut train, sample: &problem.train.sample },
        train::Part { model: &mut validation, sample: &problem.validation.sample },
        &settings,
        &mut observer,
        None,
    )?;
    let seconds = clock.elapsed().as_secs_f64();
    watch.fitted();
    let parts = || [&problem.validation, &problem.calibration, &problem.test];
    let score = |combined: &Combined| -> Result<Scores, TrainError> {
        let [validation, calibration, test] = parts().map(|part| part.scores(combined));
        Ok([validation?, calibration?, test?])
    };
    let cross_entropy = fit.candidates.iter().filter(|candidate| candidate.kind == StageKind::CrossEntropy);
    let mut rivals = Vec::new();
    for candidate in cross_entropy {
        let scores = score(&Combined::single(candidate.parameters.clone()))?;
        rivals.push((scores, candidate.name.contains("balance 0") && !candidate.name.contains("0.5")));
    }
    let scores = score(&fit.combined)?;
    let found = if_any(shift::choose(goal, &problem.validation.sample, &scores[0], STARTS, seed))?;
    Ok(Outcome {
        exact: best(goal, problem, rivals.iter(), |sample, scores| {
            shift::best(goal, sample, scores, STARTS)
        })?,
        adjusted: best(goal, problem, rivals.iter().filter(|rival| rival.1), |sample, scores| {
            shift::adjusted(goal, sample, scores)
        })?,
        setpoint: point(goal, &problem.test.sample, &scores[2], found.as_ref())?,
        certified: certified(goal, problem, &scores, found.as_ref(), seed)?,
        winner: fit.winner,
        fell_back: fit.fell_back,
        seconds,
    })
}

/// The rival that is best on validation, at its shifts there.
pub fn best<'r>(
    goal: &ClassGoal,
    problem: &Problem,
    rivals: impl Iterator<Item = &'r (Scores, bool)>,
    find: impl Fn(&Sample, &[f32]) -> Result<Shifts, ClassError>,
) -> Result<Option<Point>, TrainError> {
    let direction = goal.objective.direction();
    let mut best: Option<(f64, &[f32], Shifts)> = None;
    for (scores, _) in rivals {
        let Some(found) = if_any(find(&problem.validation.sample, &scores[0]))? else { continue };
        let merit = direction.merit(Some(found.value));
        if best.as_ref().is_none_or(|(before, ..)| merit > *before) {
            best = Some((merit, &scores[2], found));
        }
    }
    match best {
        Some((_, scores, found)) => point(goal, &problem.test.sample, scores, Some(&found)),
        None => Ok(None),
    }
}

/// What shifts come to on these rows.
pub fn point(
    goal: &ClassGoal,
    sample: &Sample,
    scores: &[f32],
    shifts: Option<&Shifts>,
) -> Result<Option<Point>, TrainError> {
    let Some(shifts) = shifts else { return Ok(None) };
    let confusion = counted(goal, sample, scores, &shifts.shifts)?;
    // A class that is never decided has no precision: where that is the objective, nothing was found.
    let value = goal.objective.direction().merit(Some(confusion.objective(goal).unwrap_or_default()));
    Ok(Some(Point { value, held: holds(goal, &confusion) }))
}

fn counted(
    goal: &ClassGoal,
    sample: &Sample,
    scores: &[f32],
    shifts: &[f64],
) -> Result<Confusion, ClassError> {
    let classes = setpoint::class::Classes::of(goal, sample)?;
    Confusion::at(&classes, scores, shifts)
}

fn holds(goal: &ClassGoal, confusion: &Confusion) -> bool {
    goal.conditions.iter().all(|condition| confusion.missed(condition) == 0.0)
}

/// Certifies on the calibration rows, and again on draws of as many from calibration and test rows together.
pub fn certified(
    goal: &ClassGoal,
    problem: &Problem,
    scores: &Scores,
    found: Option<&Shifts>,
    seed: u64,
) -> Result<Option<Certified>, TrainError> {
    let provable = goal.conditions.iter().any(|condition| condition.relation != Relation::Equal);
    let (Some(found), true) = (found, provable) else { return Ok(None) };
    let [validation, calibration, test] = scores;
    let refused =
        |error: CertifyError| TrainError::Infeasible { split: "calibration", reason: error.to_string() };
    let sequence = class_sequence(goal, &problem.validation.sample, validation, &found.shifts, CONFIDENCE);
    let sequence = sequence.map_err(refused)?;
    let certify = |sample: &Sample, scores: &[f32]| -> Result<Option<Shifts>, TrainError> {
        match certify_classes(goal, sample, scores, &sequence, CONFIDENCE) {
            Ok(found) => Ok(Some(Shifts { shifts: found.shifts, value: 0.0 })),
            Err(CertifyError::NoShifts { .. }) => Ok(None),
            Err(error) => Err(refused(error)),
        }
    };
    let shifts = certify(&problem.calibration.sample, calibration)?;
    let point = point(goal, &problem.test.sample, test, shifts.as_ref())?;
    let (pool, pooled) = (&problem.rest, [&calibration[..], &test[..]].concat());
    let (count, rows) = (goal.classes.len(), problem.calibration.sample.len());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut draws, mut held) = (0, 0);
    for _ in 0..DRAWS {
        let drawn: Vec<u32> = (0..rows).map(|_| rng.random_range(0..pool.len() as u32)).collect();
        let scores: Vec<f32> =
            drawn.iter().flat_map(|row| &pooled[*row as usize * count..][..count]).copied().collect();
        let Some(shifts) = certify(&pool.select(&drawn), &scores)? else { continue };
        draws += 1;
        held += u64::from(holds(goal, &counted(goal, pool, &pooled, &shifts.shifts)?));
    }
    Ok(Some(Certified { point, draws, held }))
}

impl StudyPart {
    fn scores(&self, combined: &Combined) -> Result<Vec<f32>, TrainError> {
        use setpoint::model::Model;
        let mut model = self.model.clone();
        let mut scores = vec![0.0; self.sample.len() * model.outputs()];
        combined.scores(&mut model, &mut scores)?;
        Ok(scores)
    }
}
