//! The engine: scores in, thresholds and score gradient out.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use setpoint::Sample;
use setpoint::engine::{Engine, EngineError, EngineOptions, Solve};
use setpoint::goal::Goal;
use setpoint::optimizer::State;
use setpoint::problem::{Problem, ProblemOptions};
use setpoint::ranks::Ranks;
use setpoint::train::method::Loss;
use setpoint::train::{Bandwidth, BatchLoss, BatchOptions, TrainError};

use crate::array::{GroupArrays, paid, sample, slice};
use crate::error::{Wrong, goal};
use crate::thread::work;

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
    pays: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Step<'py>> {
    let goal = goal(text)?;
    let scores = slice(&scores)?;
    let weights = weights.as_ref().map(slice).transpose()?;
    let sample = paid(sample(slice(&labels)?, weights, groups.as_ref())?, &goal, pays.as_ref())?;
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
    let step = engine.step(sample, scores, &mut gradient).map_err(wrong)?;
    Ok((step.thresholds.to_vec(), step.loss, step.constraints.to_vec(), gradient))
}

fn wrong(error: EngineError) -> Wrong {
    TrainError::from(error).into()
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
    let bandwidth: Bandwidth = bandwidth.parse().map_err(Wrong::from)?;
    let sharpness = work(py, || {
        sample.check_scores(scores)?;
        Ok(bandwidth.sharpness(&goal, &sample, scores))
    });
    Ok(sharpness?)
}

/// Refuses a goal that a loss of scores and labels cannot be had for.
#[pyfunction]
pub fn check_loss(text: &str) -> PyResult<()> {
    let goal = goal(text)?;
    if let Some(column) = goal.column() {
        return Err(Wrong::input(format!(
            "goal {text:?}: its conditions are on the groups of {column:?}, which this loss does not support; use setpoint.step"
        ))
        .into());
    }
    let any = Sample::new(vec![true, false]).map_err(Wrong::from)?;
    let any = match goal.money() {
        Some(money) => any.with_stakes(money.profit, vec![[0.0, 1.0], [1.0, 0.0]]).map_err(Wrong::from)?,
        None => any,
    };
    Problem::new(&goal, &any, &ProblemOptions::default()).map_err(|error| wrong(error.into()))?;
    Ok(())
}

/// The goal's loss on mini-batches.
#[pyclass(name = "BatchLoss", module = "setpoint._setpoint")]
pub struct PyBatchLoss {
    goal: Goal,
    options: BatchOptions,
    loss: BatchLoss,
}

#[pymethods]
impl PyBatchLoss {
    #[new]
    fn new(
        text: &str,
        pool: usize,
        mix: f64,
        warm_up: u64,
        bandwidth: &str,
        surrogate: &str,
    ) -> PyResult<Self> {
        check_loss(text)?;
        let goal = goal(text)?;
        let surrogate = surrogate.parse().map_err(Wrong::from)?;
        let options = BatchOptions {
            engine: EngineOptions { surrogate, ..EngineOptions::default() },
            bandwidth: bandwidth.parse().map_err(Wrong::from)?,
            pool,
            mix,
            warm_up,
            ..BatchOptions::default()
        };
        Ok(Self { loss: BatchLoss::new(&goal, options.clone()), goal, options })
    }

    /// Loss and gradient of a batch; alone where it is not to be kept. With ranks, the batch is this process's share.
    #[allow(clippy::too_many_arguments, reason = "called from one place in Python, by position")]
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        scores: PyReadonlyArray1<'py, f32>,
        labels: PyReadonlyArray1<'py, bool>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
        keep: bool,
        pays: Option<PyReadonlyArray1<'py, f64>>,
        ranks: Option<Py<PyAny>>,
    ) -> PyResult<(f64, Bound<'py, PyArray1<f32>>)> {
        let scores = slice(&scores)?;
        let weights = weights.as_ref().map(slice).transpose()?;
        let batch = match (&ranks, scores.is_empty()) {
            (Some(_), true) => Sample::none(),
            _ => paid(sample(slice(&labels)?, weights, None)?, &self.goal, pays.as_ref())?,
        };
        let ranks = ranks.map(|object| Arc::new(Called { object, raised: Mutex::new(None) }));
        let others = ranks.clone();
        let found = work(py, || {
            let mut v = vec![0.0; scores.len()];
            let mut alone;
            let loss = match keep {
                true => &mut self.loss,
                false => {
                    let options = BatchOptions { warm_up: 0, ..self.options.clone() };
                    alone = BatchLoss::new(&self.goal, options);
                    &mut alone
                }
            };
            loss.set_ranks(others.map(|ranks| ranks as Arc<dyn Ranks>));
            Ok((loss.evaluate(&batch, scores, &mut v)?, v))
        });
        if let Some(raised) = ranks.and_then(|ranks| ranks.raised().take()) {
            return Err(raised);
        }
        let (value, v) = found?;
        Ok((value, v.into_pyarray(py)))
    }

    /// Labels, scores, weights and what is paid of the rows that thresholds are solved on.
    #[allow(clippy::type_complexity, reason = "four arrays, taken apart in Python")]
    fn pool<'py>(
        &self,
        py: Python<'py>,
    ) -> Option<(
        Bound<'py, PyArray1<bool>>,
        Bound<'py, PyArray1<f32>>,
        Option<Bound<'py, PyArray1<f32>>>,
        Option<Bound<'py, PyArray1<f64>>>,
    )> {
        let (sample, scores) = self.loss.pool()?;
        Some((
            sample.labels().to_vec().into_pyarray(py),
            scores.to_vec().into_pyarray(py),
            sample.weights().map(|weights| weights.to_vec().into_pyarray(py)),
            sample
                .stakes()
                .map(|stakes| stakes.pays().iter().flatten().copied().collect::<Vec<f64>>().into_pyarray(py)),
        ))
    }

    #[getter]
    fn thresholds(&self) -> Option<Vec<f64>> {
        self.loss.thresholds().map(<[f64]>::to_vec)
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

/// Processes in step with this one, as an object of Python speaks to them.
#[derive(Debug)]
struct Called {
    object: Py<PyAny>,
    /// What it raised.
    raised: Mutex<Option<PyErr>>,
}

impl Called {
    fn raised(&self) -> std::sync::MutexGuard<'_, Option<PyErr>> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a method makes of these values; nothing once one has failed.
    fn call(&self, method: &str, values: &[f64]) -> Option<Vec<f64>> {
        if self.raised().is_some() {
            return None;
        }
        let called = Python::attach(|py| {
            let found = self.object.bind(py).call_method1(method, (values.to_vec().into_pyarray(py),))?;
            Ok(slice(&found.extract::<PyReadonlyArray1<'_, f64>>()?)?.to_vec())
        });
        called.map_err(|error| *self.raised() = Some(error)).ok()
    }
}

impl Ranks for Called {
    fn sum(&self, values: &mut [f64]) {
        match self.call("sum", values).filter(|found| found.len() == values.len()) {
            Some(found) => values.copy_from_slice(&found),
            None => values.fill(f64::NAN),
        }
    }

    fn gather(&self, values: &[f64]) -> Vec<f64> {
        self.call("gather", values).unwrap_or_default()
    }
}
