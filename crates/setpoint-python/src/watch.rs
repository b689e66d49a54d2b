//! Progress, and Ctrl-C, while Python's lock is released.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use setpoint::train::{Observer, Progress};

/// Between two looks at Python.
const PAUSE: Duration = Duration::from_millis(100);

/// Looks for signals now and then, and reports to a Python function.
pub struct Watch {
    report: Option<Py<PyAny>>,
    last: Option<Instant>,
    /// What a signal handler or the function raised.
    pub raised: Option<PyErr>,
}

impl Watch {
    pub fn new(report: Option<Py<PyAny>>) -> Self {
        Self { report, last: None, raised: None }
    }

    fn look(&self, progress: &Progress) -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(report) = &self.report {
                let Progress { stage, stage_index, stages, step, steps, loss, validation, .. } = progress;
                report.call1(py, (stage, stage_index, stages, step, steps, loss, validation))?;
            }
            Ok(())
        })
    }
}

impl Observer for Watch {
    fn observe(&mut self, progress: &Progress) -> ControlFlow<()> {
        if self.last.is_some_and(|last| last.elapsed() < PAUSE) {
            return ControlFlow::Continue(());
        }
        self.last = Some(Instant::now());
        match self.look(progress) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
