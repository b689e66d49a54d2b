//! The compiled half of the Python package: convert, call, raise.
//!
//! Arrays come checked from `python/setpoint` (contiguous, of the right type), are borrowed without
//! copying, and the work is done without Python's lock, on a pool of threads that belongs to this process.
//! Nothing is decided here.

mod array;
mod class;
mod engine;
mod error;
mod metric;
mod model;
mod onnx;
mod operate;
mod options;
mod prove;
mod rank;
mod shards;
mod table;
mod thread;
mod watch;

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the command line on what was typed, the program's name first; returns the exit code.
#[pyfunction]
fn command(py: Python<'_>, typed: Vec<OsString>) -> u8 {
    py.detach(|| setpoint_cli::run(typed))
}

/// The compiled half of setpoint; use the package around it.
#[pymodule]
fn _setpoint(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    let settings = serde_json::to_string(setpoint::train::Setting::all()).map_err(error::Wrong::from)?;
    module.add("SETTINGS", error::in_python(&settings))?;
    module.add("MISSING_TEXTS", setpoint_data::DEFAULT_MISSING.to_vec())?;
    module.add_class::<model::Model>()?;
    module.add_class::<engine::PyBatchLoss>()?;
    module.add_class::<class::PyClassBatchLoss>()?;
    module.add_class::<shards::PyShardRows>()?;
    for function in [
        wrap_pyfunction!(command, module)?,
        wrap_pyfunction!(model::fit, module)?,
        wrap_pyfunction!(model::save_labels, module)?,
        wrap_pyfunction!(model::confidence_of_each, module)?,
        wrap_pyfunction!(model::together_of, module)?,
        wrap_pyfunction!(metric::check_goal, module)?,
        wrap_pyfunction!(metric::amount_columns, module)?,
        wrap_pyfunction!(metric::pays, module)?,
        wrap_pyfunction!(metric::kinds_of_goal, module)?,
        wrap_pyfunction!(metric::value_of_classes, module)?,
        wrap_pyfunction!(metric::value_at, module)?,
        wrap_pyfunction!(metric::curve, module)?,
        wrap_pyfunction!(metric::rates_at, module)?,
        wrap_pyfunction!(metric::interval, module)?,
        wrap_pyfunction!(prove::certify, module)?,
        wrap_pyfunction!(prove::choose, module)?,
        wrap_pyfunction!(prove::evaluate_scores, module)?,
        wrap_pyfunction!(prove::uncertified, module)?,
        wrap_pyfunction!(prove::write_file, module)?,
        wrap_pyfunction!(operate::monitor_begin, module)?,
        wrap_pyfunction!(operate::monitor_check, module)?,
        wrap_pyfunction!(operate::monitor_add, module)?,
        wrap_pyfunction!(operate::monitor_add_unlabelled, module)?,
        wrap_pyfunction!(operate::monitor_status, module)?,
        wrap_pyfunction!(operate::recertify, module)?,
        wrap_pyfunction!(operate::sample, module)?,
        wrap_pyfunction!(onnx::onnx_scores, module)?,
        wrap_pyfunction!(onnx::onnx_decided, module)?,
        wrap_pyfunction!(engine::step, module)?,
        wrap_pyfunction!(engine::sharpness, module)?,
        wrap_pyfunction!(engine::check_loss, module)?,
        wrap_pyfunction!(class::check_class_goal, module)?,
        wrap_pyfunction!(class::class_step, module)?,
        wrap_pyfunction!(rank::check_query_goal, module)?,
        wrap_pyfunction!(rank::relevant, module)?,
        wrap_pyfunction!(rank::query_values, module)?,
        wrap_pyfunction!(rank::query_step, module)?,
        wrap_pyfunction!(rank::certify_queries, module)?,
        wrap_pyfunction!(shards::places, module)?,
        wrap_pyfunction!(shards::shard_statistics, module)?,
        wrap_pyfunction!(shards::fit_shards, module)?,
    ] {
        module.add_function(function)?;
    }
    Ok(())
}
