//! The engine: scores in, thresholds and score gradient out.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use setpoint::Sample;
use setpoint::engine::{Engine, EngineError, EngineOptions, Solve};
use setpoint::goal::Goal;
use setpoint::problem::{Problem, ProblemOptions};
use setpoint::threshold::ThresholdError;
use setpoint::train::method::tail_scale;
use setpoint::train::{Bandwidth, Standard};

use crate::array::{GroupArrays, sample, slice};
use crate::error::{Wrong, goal};
use crate::pool::work;

/// Thresholds, loss, constraints, gradient.
type Step<'py> = (Vec<f64>, f64, Vec<f64>, Bound<'py, PyArray1<f32>>);

/// One step of the engine.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called from one place in Python, by position")]
pub fn step<'py>(
    py: Python<'py>,
    text: &str,
    scores: PyReadonlyArray1<'py, f32>,
    labels: PyReadonlyArray1<'py, bool>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    groups: Option<GroupArrays<'py>>,
    thresholds: Option<Vec<f64>>,
    surrogate: &str,
    sharpness: f64,
    solve: &str,
) -> PyResult<Step<'py>> {
    let goal = goal(text)?;
    let scores = slice(&scores)?;
    let weights = weights.as_ref().map(slice).transpose()?;
    let sample = sample(slice(&labels)?, weights, groups.as_ref())?;
    let solve = match solve {
        "smooth" => Solve::Smooth,
        "exact" => Solve::Exact,
        "hold" => Solve::Hold,
        _ => return Err(Wrong::input(format!("solve {solve:?}: expected smooth, exact or hold")).into()),
    };
    let options = EngineOptions {
        surrogate: surrogate.parse().map_err(Wrong::from)?,
        sharpness,
        solve,
        ..EngineOptions::default()
    };
    let found = work(py, || descend(&goal, &sample, options, thresholds.as_deref(), scores));
    let (thresholds, loss, constraints, gradient) = found?;
    Ok((thresholds, loss, constraints, gradient.into_pyarray(py)))
}

/// The same, before the gradient is Python's.
type Found = (Vec<f64>, f64, Vec<f64>, Vec<f32>);

fn descend(
    goal: &Goal,
    sample: &Sample,
    options: EngineOptions,
    thresholds: Option<&[f64]>,
    scores: &[f32],
) -> Result<Found, Wrong> {
    sample.check_scores(scores)?;
    let mut gradient = vec![0.0; scores.len()];
    let mut engine = Engine::new(goal, sample, options).map_err(wrong)?;
    if let Some(thresholds) = thresholds {
        engine.set_thresholds(thresholds).map_err(wrong)?;
    }
    let found = engine.step(scores, &mut gradient).map(|step| (step.loss, step.constraints.to_vec()));
    let (loss, constraints) = match found {
        // A warm start can lie where the smooth conditions have no root within reach.
        Err(EngineError::Threshold(
            ThresholdError::NotSettled { .. } | ThresholdError::Infeasible { .. },
        )) if thresholds.is_some() => {
            engine.correct(scores).map_err(wrong)?;
            let step = engine.step(scores, &mut gradient).map_err(wrong)?;
            (step.loss, step.constraints.to_vec())
        }
        found => found.map_err(wrong)?,
    };
    let thresholds = engine.thresholds().map(<[f64]>::to_vec).unwrap_or_default();
    Ok((thresholds, loss, constraints, gradient))
}

fn wrong(error: EngineError) -> Wrong {
    setpoint::train::TrainError::from(error).into()
}

/// The sharpness of a surrogate of this width on these scores.
#[pyfunction]
pub fn sharpness(
    py: Python<'_>,
    text: &str,
    scores: PyReadonlyArray1<'_, f32>,
    labels: PyReadonlyArray1<'_, bool>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    bandwidth: &str,
) -> PyResult<f64> {
    let goal = goal(text)?;
    let scores = slice(&scores)?;
    let weights = weights.as_ref().map(slice).transpose()?;
    let sample = sample(slice(&labels)?, weights, None)?;
    let bandwidth = bandwidth.parse().map_err(Wrong::from)?;
    let width = work(py, || {
        sample.check_scores(scores)?;
        Ok(match bandwidth {
            Bandwidth::Deviations(share) => share * Standard::of(&sample, scores).deviation,
            Bandwidth::Tail(share) => share * tail_scale(&goal, &sample, scores),
            Bandwidth::Score(width) => width,
        })
    });
    Ok(1.0 / width?)
}

/// How many thresholds a goal without groups has.
#[pyfunction]
pub fn threshold_count(py: Python<'_>, text: &str) -> PyResult<usize> {
    let goal = goal(text)?;
    if let Some(column) = goal.column() {
        return Err(Wrong::input(format!(
            "goal {text:?}: its conditions are on the groups of {column:?}, which this loss does not support; use setpoint.step"
        ))
        .into());
    }
    let sample = Sample::new(vec![true, false]).map_err(Wrong::from)?;
    let count = work(py, || {
        let problem = Problem::new(&goal, &sample, &ProblemOptions::default());
        Ok(problem.map_err(|error| wrong(error.into()))?.thresholds())
    });
    Ok(count?)
}
