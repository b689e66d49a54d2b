//! The library's errors as Python exceptions, by their names in `setpoint._errors`.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use setpoint::goal::Goal;
use setpoint_run::{Failure, Kind};

/// What will be raised.
#[derive(Debug)]
pub struct Wrong {
    class: &'static str,
    message: String,
}

impl Wrong {
    pub fn input(message: impl ToString) -> Self {
        Self { class: "InputError", message: message.to_string() }
    }
}

impl<E: Into<Failure>> From<E> for Wrong {
    fn from(error: E) -> Self {
        let failure = error.into();
        let class = match failure.kind {
            Kind::No => "InfeasibleError",
            Kind::Input => "InputError",
            Kind::Interrupted => "StoppedError",
        };
        Self { class, message: in_python(&failure.message) }
    }
}

impl From<Wrong> for PyErr {
    fn from(wrong: Wrong) -> Self {
        let raised = |py: Python<'_>| -> PyResult<PyErr> {
            let class = py.import("setpoint._errors")?.getattr(wrong.class)?;
            Ok(PyErr::from_value(class.call1((&wrong.message,))?))
        };
        Python::attach(raised).unwrap_or_else(|_| PyRuntimeError::new_err(wrong.message.clone()))
    }
}

/// The goal that a text says.
pub fn goal(text: &str) -> Result<Goal, Wrong> {
    text.parse()
        .map_err(|error: setpoint::goal::ParseError| Wrong { class: "GoalError", message: error.to_string() })
}

/// Flags of the command line by the names that settings have in Python: `--min-group` is `min_group`.
fn in_python(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find("--") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let end = after.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(after.len());
        text.push_str(before);
        match &after[..end] {
            "seed" => text.push_str("random_state"),
            "group" => text.push_str("groups"),
            flag => text.push_str(&flag.replace('-', "_")),
        }
        rest = &after[end..];
    }
    text + rest
}
