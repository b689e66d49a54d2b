//! The library's errors as Python exceptions, by their names in `setpoint._errors`.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use setpoint::goal::{Goal, GoalText};
use setpoint::message::spell;
use setpoint_run::{Failure, FailureKind};

/// What will be raised.
#[derive(Debug)]
pub struct Wrong {
    class: &'static str,
    message: String,
}

impl Wrong {
    pub fn goal(message: impl ToString) -> Self {
        Self { class: "GoalError", message: message.to_string() }
    }

    pub fn input(message: impl ToString) -> Self {
        Self { class: "InputError", message: message.to_string() }
    }
}

impl<E: Into<Failure>> From<E> for Wrong {
    fn from(error: E) -> Self {
        let failure = error.into();
        let class = match failure.kind {
            FailureKind::No => "InfeasibleError",
            FailureKind::Input => "InputError",
            FailureKind::Interrupted => "StoppedError",
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
    text.parse().map_err(|error: setpoint::goal::ParseError| Wrong::goal(error))
}

/// The text of a goal of two classes or of several.
pub fn goal_text(text: &str) -> Result<GoalText, Wrong> {
    text.parse()
        .map_err(|error: setpoint::goal::ParseError| Wrong { class: "GoalError", message: error.to_string() })
}

/// A message with settings as parameters: `min_group=20`, `split=`.
pub fn in_python(message: &str) -> String {
    spell(message, |name, value| {
        let value = value.unwrap_or_default();
        let name = match name {
            "drop" => return format!("X without {value}"),
            "split-by" if !value.is_empty() => return format!("entities=X[\"{}\"]", value.trim_matches('"')),
            "group" => "groups",
            "seed" => "random_state",
            "split-by" => "entities",
            "weight" => "sample_weight",
            name => name,
        };
        format!("{}={value}", name.replace('-', "_"))
    })
}
