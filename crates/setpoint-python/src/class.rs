//! The engine of several classes: a score for each class in, shifts and score gradient out.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use setpoint::Sample;
use setpoint::class::shift::best;
use setpoint::class::{Classes, Confusion, ShiftEngine};
use setpoint::goal::ClassGoal;
use setpoint::optimizer::State;
use setpoint::train::method::Loss;
use setpoint::train::{Bandwidth, ClassBatchLoss, ClassBatchOptions, TrainError};

use crate::array::{slice, weighed};
use crate::error::Wrong;
use crate::thread::work;

/// Shifts, loss, constraints, gradient.
type Step<'py> = (Vec<f64>, f64, Vec<f64>, Bound<'py, PyArray1<f32>>);

/// Width of the surrogate in units of the scores' spread, unless a sharpness is given.
const BANDWIDTH: f64 = 0.1;

fn goal(text: &str, classes: &[String]) -> Result<ClassGoal, Wrong> {
    ClassGoal::parse(text, classes).map_err(|error| Wrong::goal(error.to_string()))
}

/// Rows of these classes, not all of which need occur.
fn sample(classes: &[String], codes: &[u32], weights: Option<&[f64]>) -> Result<Sample, Wrong> {
    weighed(Sample::of_classes("y", classes.to_vec(), codes.to_vec())?, weights)
}

/// The goal of these classes as it is printed.
#[pyfunction]
pub fn check_class_goal(text: &str, classes: Vec<String>) -> PyResult<String> {
    Ok(goal(text, &classes)?.to_string())
}

/// One step of the engine; scores are row after row.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called from one place in Python, by position")]
pub fn class_step<'py>(
    py: Python<'py>,
    text: &str,
    classes: Vec<String>,
    scores: PyReadonlyArray1<'py, f32>,
    codes: PyReadonlyArray1<'py, u32>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    shifts: Option<Vec<f64>>,
    sharpness: Option<f64>,
) -> PyResult<Step<'py>> {
    let goal = goal(text, &classes)?;
    let weights = weights.as_ref().map(slice).transpose()?;
    let (scores, sample) = (slice(&scores)?, sample(&classes, slice(&codes)?, weights)?);
    let found = work(py, || {
        let rows = Classes::of(&goal, &sample).map_err(TrainError::from)?;
        let sharpness = sharpness.unwrap_or_else(|| 1.0 / (BANDWIDTH * rows.spread(scores)));
        let mut engine = ShiftEngine::new(&goal, &rows, sharpness).map_err(TrainError::from)?;
        if let Some(shifts) = &shifts {
            engine.hold(shifts);
        }
        let mut v = vec![0.0; scores.len()];
        let step = engine.step(&rows, scores, &mut v).map_err(TrainError::from)?;
        Ok((step.shifts.to_vec(), step.loss, step.constraints.to_vec(), v))
    });
    let (shifts, loss, constraints, gradient) = found?;
    Ok((shifts, loss, constraints, gradient.into_pyarray(py)))
}

/// The goal's loss on mini-batches.
#[pyclass(name = "ClassBatchLoss", module = "setpoint._setpoint")]
pub struct PyClassBatchLoss {
    goal: ClassGoal,
    options: ClassBatchOptions,
    loss: ClassBatchLoss,
}

#[pymethods]
impl PyClassBatchLoss {
    #[new]
    fn new(
        text: &str,
        classes: Vec<String>,
        pool: usize,
        mix: f64,
        warm_up: u64,
        bandwidth: &str,
    ) -> PyResult<Self> {
        let goal = goal(text, &classes)?;
        let bandwidth: Bandwidth = bandwidth.parse().map_err(Wrong::from)?;
        if let Bandwidth::Tail(_) = bandwidth {
            return Err(Wrong::input(
                "bandwidth: expected one such as 0.1sd, or a number, for several classes",
            )
            .into());
        }
        let options = ClassBatchOptions { bandwidth, pool, mix, warm_up };
        Ok(Self { loss: ClassBatchLoss::new(&goal, options), goal, options })
    }

    /// Loss and gradient of a batch; alone where it is not to be kept.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        scores: PyReadonlyArray1<'py, f32>,
        codes: PyReadonlyArray1<'py, u32>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        keep: bool,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f32>>)> {
        let weights = weights.as_ref().map(slice).transpose()?;
        let (scores, batch) = (slice(&scores)?, sample(&self.goal.classes, slice(&codes)?, weights)?);
        let found = work(py, || {
            let mut v = vec![0.0; scores.len()];
            let mut alone;
            let loss = match keep {
                true => &mut self.loss,
                false => {
                    alone = ClassBatchLoss::new(&self.goal, ClassBatchOptions { warm_up: 0, ..self.options });
                    &mut alone
                }
            };
            Ok((loss.evaluate(&batch, scores, &mut v)?, v))
        });
        let (value, v) = found?;
        Ok((value, v.into_pyarray(py)))
    }

    /// The goal's value on the pool at its best shifts, those shifts, and how many rows it holds.
    fn metrics(&self, py: Python<'_>) -> PyResult<Option<(f64, Vec<f64>, usize)>> {
        let Some((sample, scores)) = self.loss.pool() else { return Ok(None) };
        let found = work(py, || {
            let found = best(&self.goal, sample, scores, 3).map_err(TrainError::from)?;
            let rows = Classes::of(&self.goal, sample).map_err(TrainError::from)?;
            let counted = Confusion::at(&rows, scores, &found.shifts).map_err(TrainError::from)?;
            Ok((counted.value(&self.goal).map_err(TrainError::from)?, found.shifts, sample.len()))
        });
        Ok(Some(found?))
    }

    #[getter]
    fn shifts(&self) -> Option<Vec<f64>> {
        self.loss.shifts().map(<[f64]>::to_vec)
    }

    /// All that the next step depends on besides its batch, as JSON.
    fn state(&self) -> PyResult<String> {
        Ok(serde_json::to_string(&self.loss.state()).map_err(Wrong::from)?)
    }

    fn restore(&mut self, state: &str) -> PyResult<()> {
        let state: State = serde_json::from_str(state).map_err(Wrong::from)?;
        Ok(self.loss.restore(&state).map_err(Wrong::from)?)
    }
}
