//! ONNX classifiers of anyone's: which value is the score, and the decision behind it.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use setpoint::artifact::Groups;
use setpoint_onnx::{Classifier, Decision};

use crate::error::Wrong;
use crate::thread::work;

/// The file with its scores among the outputs, and which of them they are.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub fn onnx_scores<'py>(
    py: Python<'py>,
    file: &[u8],
    output: Option<String>,
) -> PyResult<(Bound<'py, PyBytes>, String)> {
    let model = Classifier::new(file.to_vec(), output.as_deref()).map_err(Wrong::from)?;
    Ok((PyBytes::new(py, &model.exposed()), model.value().to_owned()))
}

/// The file with a decision as its last node.
#[pyfunction]
#[allow(
    clippy::too_many_arguments,
    clippy::needless_pass_by_value,
    reason = "called from one place in Python"
)]
pub fn onnx_decided<'py>(
    py: Python<'py>,
    file: &[u8],
    output: Option<String>,
    columns: usize,
    thresholds: Vec<f64>,
    groups: Option<(String, Vec<String>)>,
    goal: String,
    certificate: String,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = work(py, || {
        let model = Classifier::new(file.to_vec(), output.as_deref())?;
        let groups = groups.map(|(column, names)| Groups { column, names });
        let metadata = [("setpoint.goal", goal), ("setpoint.certificate", certificate)];
        let (thresholds, groups) = (&thresholds[..], groups.as_ref());
        Ok(model.decided(&Decision { thresholds, groups, columns, metadata: &metadata })?.0)
    })?;
    Ok(PyBytes::new(py, &bytes))
}
