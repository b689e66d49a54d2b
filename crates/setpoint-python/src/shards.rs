//! Rows that are elsewhere, in shards: what workers do with theirs, and what the driver asks of them.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use setpoint_data::{About, Places, SplitPlan, Statistics};
use setpoint_run::{Gathered, ModelChoice, Setup, ShardRows, load_shards, merged, train};

use crate::array::{GroupArrays, codes, pairs, slice};
use crate::error::Wrong;
use crate::model::{Fit, Label, finish};
use crate::options::FitPlan;
use crate::table::PyFeatures;
use crate::thread::{work, work_watched};
use crate::watch::Watch;

/// Times or weights of rows.
type Numbers<'py, T> = Option<PyReadonlyArray1<'py, T>>;

/// How rows are shared out, as JSON; by time where all times are given.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub fn places(split: &str, seed: u64, times: Numbers<'_, f64>) -> PyResult<String> {
    let plan: SplitPlan = split.parse().map_err(Wrong::from)?;
    let times = times.as_ref().map(slice).transpose()?;
    Ok(serde_json::to_string(&Places::new(&plan, seed, times)).map_err(Wrong::from)?)
}

/// What the encoding is learnt from, of the training rows of a shard, as JSON.
#[pyfunction]
#[allow(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "called from one place in Python, by position"
)]
pub fn shard_statistics<'py>(
    py: Python<'py>,
    features: PyFeatures<'py>,
    names: Vec<String>,
    texts: Vec<String>,
    places: &str,
    number: u64,
    entities: Option<GroupArrays<'py>>,
    times: Numbers<'py, f64>,
) -> PyResult<String> {
    let places: Places = serde_json::from_str(places).map_err(Wrong::from)?;
    let about = About { name: format!("partition {number}"), texts, ..About::default() };
    let entities = entities.as_ref().map(codes).transpose()?;
    let (view, times) = (features.view()?, times.as_ref().map(slice).transpose()?);
    Ok(work(py, || {
        let table = view.table(about, names, None)?;
        let parts = places.parts(number, table.rows(), entities.as_ref(), times);
        Ok(serde_json::to_string(&Statistics::of(&table, parts.rows("train")))?)
    })?)
}

/// The rows of a shard, encoded.
#[pyclass(frozen, name = "ShardRows", module = "setpoint._setpoint")]
pub struct PyShardRows {
    rows: Mutex<ShardRows>,
}

#[pymethods]
impl PyShardRows {
    #[new]
    #[allow(
        clippy::too_many_arguments,
        clippy::needless_pass_by_value,
        reason = "called from one place in Python, by position"
    )]
    fn new<'py>(
        py: Python<'py>,
        features: PyFeatures<'py>,
        names: Vec<String>,
        labels: PyReadonlyArray1<'py, bool>,
        weights: Numbers<'py, f32>,
        pays: Numbers<'py, f64>,
        groups: Option<GroupArrays<'py>>,
        entities: Option<GroupArrays<'py>>,
        times: Numbers<'py, f64>,
        number: u64,
        setup: &str,
    ) -> PyResult<Self> {
        let setup: Setup = serde_json::from_str(setup).map_err(Wrong::from)?;
        let about = About {
            name: format!("partition {number}"),
            label: setup.encoder.label.clone(),
            labels: Some(slice(&labels)?.to_vec()),
            weights: weights.as_ref().map(|weights| slice(weights).map(<[f32]>::to_vec)).transpose()?,
            stakes: setup.profit.zip(pays.as_ref().map(pairs).transpose()?),
            entities: entities.as_ref().map(codes).transpose()?,
            ..About::default()
        };
        let groups = groups.as_ref().map(codes).transpose()?;
        let (view, times) = (features.view()?, times.as_ref().map(slice).transpose()?);
        Ok(work(py, || {
            let table = view.table(about, names, Some(&setup.encoder))?;
            Ok(Self { rows: Mutex::new(ShardRows::new(table, &setup, number, groups, times)?) })
        })?)
    }

    /// Answers a message of the driver's.
    fn answer<'py>(&self, py: Python<'py>, message: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let answers =
            work(py, || Ok(self.rows.lock().unwrap_or_else(PoisonError::into_inner).answer(message)?))?;
        Ok(PyBytes::new(py, &answers))
    }

    /// The training rows as trees are grown on them, one after another, their labels and weights.
    fn training<'py>(&self, py: Python<'py>) -> Training<'py> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((values, sample)) = rows.training() else {
            return (Vec::new().into_pyarray(py), Vec::new().into_pyarray(py), None);
        };
        let labels = sample.labels().iter().map(|label| f32::from(u8::from(*label))).collect::<Vec<_>>();
        let weights = sample.weights().map(|weights| weights.to_vec().into_pyarray(py));
        (values.to_vec().into_pyarray(py), labels.into_pyarray(py), weights)
    }
}

/// Values, labels and weights of rows.
type Training<'py> =
    (Bound<'py, PyArray1<f32>>, Bound<'py, PyArray1<f32>>, Option<Bound<'py, PyArray1<f32>>>);

/// Trains a model on rows in shards; `ask` hands what shards are told and a message to all of them, and returns what
/// they answer in their order. `grow` grows a booster on their training rows, of so many columns of which these hold
/// codes, by these parameters for so many rounds, and returns its text.
#[pyfunction]
#[allow(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "called from one place in Python, by position"
)]
pub fn fit_shards<'py>(
    py: Python<'py>,
    statistics: Vec<String>,
    sizes: Vec<usize>,
    names: Vec<String>,
    label: Label,
    labels: PyReadonlyArray1<'py, bool>,
    weights: Numbers<'py, f32>,
    pays: Numbers<'py, f64>,
    groups: Option<GroupArrays<'py>>,
    entities: Option<GroupArrays<'py>>,
    times: Option<(String, PyReadonlyArray1<'py, f64>)>,
    places: &str,
    options: &str,
    ask: Py<PyAny>,
    grow: Py<PyAny>,
    report: Option<Py<PyAny>>,
) -> PyResult<Fit> {
    let mut plan = FitPlan::new(options)?;
    // Rows that are elsewhere do not change places.
    plan.job.settings.rotations = Some(1);
    let places: Places = serde_json::from_str(places).map_err(Wrong::from)?;
    let label = label.schema(names.len());
    let gathered = Gathered {
        sizes,
        labels: slice(&labels)?.to_vec(),
        weights: weights.as_ref().map(|weights| slice(weights).map(<[f32]>::to_vec)).transpose()?,
        pays: pays.as_ref().map(pairs).transpose()?,
        groups: groups.as_ref().map(codes).transpose()?,
        entities: entities.as_ref().map(codes).transpose()?,
        times: times.as_ref().map(|(_, times)| slice(times).map(<[f64]>::to_vec)).transpose()?,
    };
    let by =
        [("split-by", entities.map(|(column, ..)| column)), ("split-time", times.map(|(column, _)| column))];
    let by = by.into_iter().filter_map(|(name, column)| Some((name.to_owned(), column?.into())));
    plan.job.recorded.extend(by);
    let stop = AtomicBool::new(false);
    let mut watch = Watch::new(report, &stop);
    let raised: Raised = Arc::default();
    let result = work_watched(py, &stop, || {
        let read = |text: &String| Ok(serde_json::from_str(text)?);
        let statistics: Vec<Statistics> = statistics.iter().map(read).collect::<Result<_, Wrong>>()?;
        gathered.parts(&places)?;
        let trees = matches!(plan.job.model, ModelChoice::Trees { .. });
        let setup = Setup::new(merged(statistics, label)?, places, trees, plan.profit())?;
        let told = Arc::new(serde_json::to_string(&setup)?);
        let (columns, coded) = (setup.encoder.columns(), setup.encoder.coded_columns());
        let (tell, failed) = (Arc::clone(&told), Arc::clone(&raised));
        let boost = Box::new(move |parameters: &str, rounds: usize| {
            let grown = Python::attach(|py| {
                grow.call1(py, (&*tell, parameters, rounds, columns, &coded))?.extract::<String>(py)
            });
            grown.map_err(|error| kept(&failed, error))
        });
        let failed = Arc::clone(&raised);
        let reach = Box::new(move |message: &[u8]| {
            let called = Python::attach(|py| {
                let found = ask.call1(py, (&*told, PyBytes::new(py, message)))?;
                let found = found.extract::<Vec<Bound<'_, PyBytes>>>(py)?;
                Ok(found.iter().map(|bytes| bytes.as_bytes().to_vec()).collect())
            });
            called.map_err(|error| kept(&failed, error))
        });
        let start = std::time::Instant::now();
        let mut loaded = load_shards(gathered, setup, reach, boost)?;
        let trained = train(&plan.job, &mut loaded, &mut watch, None)?;
        finish(trained, 0.0, start.elapsed().as_secs_f64())
    });
    let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    match watch.raised.or(raised) {
        Some(raised) => Err(raised),
        None => result,
    }
}

/// What Python raised while it was called from training.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// Keeps an error for the end of the run; its message.
fn kept(raised: &Raised, error: PyErr) -> String {
    let message = error.to_string();
    *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    message
}
