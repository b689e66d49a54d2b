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

/// Flags of the command line that are parameters in Python, by another name where it differs.
const FLAGS: [(&str, &str); 12] = [
    ("batch-size", "batch_size"),
    ("bins", "bins"),
    ("confidence", "confidence"),
    ("group", "groups"),
    ("min-group", "min_group"),
    ("positive", "positive"),
    ("rotations", "rotations"),
    ("rounds", "rounds"),
    ("seed", "random_state"),
    ("shared-threshold", "shared_threshold"),
    ("split", "split"),
    ("weight", "sample_weight"),
];

/// Settings of several words, which are one in Python.
const SETTINGS: [&str; 9] = [
    "batch size",
    "dual learning rate",
    "implicit scope",
    "learning rate",
    "positive weight",
    "shared threshold",
    "warm-up",
    "weight average",
    "weight decay",
];

/// What the command line does with a flag and Python in another way.
const WAYS: [(&str, &str); 2] =
    [(" with --drop ", " of X: "), ("name the column with --group", "pass groups=, the group of each row")];

/// A message with settings as Python spells them: `--min-group 20` is `min_group=20`, `--split` is `split=`.
pub fn in_python(message: &str) -> String {
    let mut message = WAYS.iter().fold(message.to_owned(), |text, (flag, way)| text.replace(flag, way));
    if let Some(words) = SETTINGS.iter().find(|words| message.starts_with(*words)) {
        message.replace_range(..words.len(), &words.replace([' ', '-'], "_"));
    }
    let mut text = String::with_capacity(message.len());
    let mut rest = message.as_str();
    while let Some(at) = rest.find("--") {
        let after = &rest[at + 2..];
        let end = after.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(after.len());
        let (flag, after) = after.split_at(end);
        text.push_str(&rest[..at]);
        rest = match FLAGS.iter().find(|(known, _)| *known == flag) {
            Some((_, name)) => {
                text.push_str(name);
                text.push('=');
                // A number, or N for one, is the flag's value.
                let number = |c: char| c.is_ascii_digit() || c == 'N';
                after.strip_prefix(' ').filter(|value| value.starts_with(number)).unwrap_or(after)
            }
            None => {
                text.push_str("--");
                text.push_str(flag);
                after
            }
        };
    }
    text + rest
}
