//! A model after training: watched, certified anew, and the rows to have labelled for that.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use setpoint::artifact::write_atomically;
use setpoint::certify::monitor::Monitor;
use setpoint_report::to_json;
use setpoint_run::{Meant, add, add_unlabelled, begin, monitor_record, resume};

use crate::array::{GroupArrays, codes, slice};
use crate::error::{Wrong, in_python};
use crate::model::Model;
use crate::prove::Page;
use crate::table::{PyFeatures, View};
use crate::thread::work;

/// Begins a watch; returns its state.
#[pyfunction]
pub fn monitor_begin(model: &Model, alpha: f64) -> PyResult<String> {
    let monitor = begin(&model.file, &model.opened, alpha).map_err(Wrong::from)?;
    Ok(serde_json::to_string(&monitor).map_err(Wrong::from)?)
}

/// The watch of a state that is this model's.
fn resumed(model: &Model, state: &str) -> Result<Monitor, Wrong> {
    Ok(resume(state, &model.file, &model.opened, None)?)
}

/// Refuses the state of another model.
#[pyfunction]
pub fn monitor_check(model: &Model, state: &str) -> PyResult<()> {
    resumed(model, state)?;
    Ok(())
}

/// Adds labelled rows; returns the state and notes on them.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called from one place in Python, by position")]
pub fn monitor_add<'py>(
    py: Python<'py>,
    model: &Model,
    state: &str,
    features: PyFeatures<'py>,
    names: Vec<String>,
    labels: PyReadonlyArray1<'py, bool>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    groups: Option<GroupArrays<'py>>,
    entities: Option<GroupArrays<'py>>,
) -> PyResult<(String, Vec<String>)> {
    let weights = weights.as_ref().map(slice).transpose()?;
    let sample = model.sample(slice(&labels)?, weights, groups.as_ref(), entities.as_ref())?;
    let view = features.view()?;
    let found = work(py, || {
        let mut monitor = resumed(model, state)?;
        let (scores, mut notes) = scored(model, view, names)?;
        notes.extend(add(&mut monitor, &model.opened, &sample, &scores)?);
        Ok((serde_json::to_string(&monitor)?, notes))
    });
    Ok(found?)
}

/// Adds rows without labels; returns the state and notes on them.
#[pyfunction]
pub fn monitor_add_unlabelled<'py>(
    py: Python<'py>,
    model: &Model,
    state: &str,
    features: PyFeatures<'py>,
    names: Vec<String>,
    groups: Option<GroupArrays<'py>>,
) -> PyResult<(String, Vec<String>)> {
    let view = features.view()?;
    let groups = groups.as_ref().map(codes).transpose()?;
    let found = work(py, || {
        let mut monitor = resumed(model, state)?;
        let (scores, notes) = scored(model, view, names)?;
        add_unlabelled(&mut monitor, &model.opened, &scores, groups.as_ref())?;
        Ok((serde_json::to_string(&monitor)?, notes))
    });
    Ok(found?)
}

/// Where a watch stands: as JSON, and in words; and its page, if one is wanted.
#[pyfunction]
pub fn monitor_status(model: &Model, state: &str, page: Option<Page>) -> PyResult<(String, String)> {
    let record = monitor_record(&resumed(model, state)?, &model.opened).map_err(Wrong::from)?;
    if let Some((path, title)) = page {
        let text = record.to_html(&title, env!("CARGO_PKG_VERSION"));
        write_atomically(&path, |out| out.write_all(text.as_bytes())).map_err(Wrong::from)?;
    }
    Ok((to_json(&record).map_err(Wrong::from)?, record.to_string()))
}

/// Certifies a model anew; returns it, with what changed as JSON and in words.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called from one place in Python, by position")]
pub fn recertify<'py>(
    py: Python<'py>,
    model: &Model,
    features: PyFeatures<'py>,
    names: Vec<String>,
    labels: PyReadonlyArray1<'py, bool>,
    groups: Option<GroupArrays<'py>>,
    entities: Option<GroupArrays<'py>>,
    inclusion: Option<Vec<f64>>,
    prevalence: Option<f64>,
    unlabelled: Option<(PyFeatures<'py>, Vec<String>)>,
    confidence: f64,
) -> PyResult<(Model, String, String)> {
    let sample = model.sample(slice(&labels)?, None, groups.as_ref(), entities.as_ref())?;
    let view = features.view()?;
    let others =
        unlabelled.as_ref().map(|(features, names)| Ok::<_, Wrong>((features.view()?, names.clone())));
    let others = others.transpose()?;
    let found = work(py, || {
        let (scores, mut notes) = scored(model, view, names)?;
        let meant = match (inclusion, prevalence, others) {
            (Some(chances), ..) => Meant::Sampled(chances),
            (None, Some(share), _) => Meant::Prevalence(share),
            (None, None, Some((view, names))) => {
                let (scores, more) = scored(model, view, names)?;
                notes.extend(more);
                Meant::Unlabelled(scores)
            }
            (None, None, None) => Meant::Themselves,
        };
        let mut found =
            setpoint_run::recertify(&model.file, &model.opened, &sample, &scores, &meant, confidence, None)?;
        found.record.notes.splice(0..0, notes);
        found.record.sentences().for_each(|text| *text = in_python(text));
        let (record, text) = (to_json(&found.record)?, found.record.to_string());
        Ok((Model::new(found.file)?, record, text))
    });
    Ok(found?)
}

/// Rows to have labelled and the chance of each.
pub type Rows<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<f64>>);

/// Draws rows to have labelled; notes on the rows beside.
#[pyfunction]
pub fn sample<'py>(
    py: Python<'py>,
    model: &Model,
    features: PyFeatures<'py>,
    names: Vec<String>,
    groups: Option<GroupArrays<'py>>,
    labels: u64,
    seed: u64,
) -> PyResult<(Rows<'py>, Vec<String>)> {
    let view = features.view()?;
    let groups = groups.as_ref().map(codes).transpose()?;
    let (drawn, notes) = work(py, || {
        let (scores, notes) = scored(model, view, names)?;
        Ok((setpoint_run::sample(&model.opened, &scores, groups.as_ref(), labels, seed)?, notes))
    })?;
    let rows: Vec<u64> = drawn.rows.iter().map(|row| *row as u64).collect();
    Ok(((rows.into_pyarray(py), drawn.chances.into_pyarray(py)), notes))
}

/// The score of each row, and notes on the rows.
fn scored(model: &Model, view: View<'_>, names: Vec<String>) -> Result<(Vec<f32>, Vec<String>), Wrong> {
    let (features, notes) = model.encode(view, names)?;
    Ok((model.opened.scores(features)?, notes))
}
