//! Progress, while Python's lock is released.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use pyo3::prelude::*;
use setpoint::train::{Observer, Progress};

use crate::thread::PAUSE;

/// Reports to a Python function now and then, and ends the run when told to.
pub struct Watch<'s> {
    report: Option<Py<PyAny>>,
    last: Option<Instant>,
    stop: &'s AtomicBool,
    /// What the function raised.
    pub raised: Option<PyErr>,
}

impl<'s> Watch<'s> {
    pub fn new(report: Option<Py<PyAny>>, stop: &'s AtomicBool) -> Self {
        Self { report, last: None, stop, raised: None }
    }
}

impl Observer for Watch<'_> {
    fn observe(&mut self, progress: &Progress) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let Some(report) = &self.report else { return ControlFlow::Continue(()) };
        if self.last.is_some_and(|last| last.elapsed() < PAUSE) {
            return ControlFlow::Continue(());
        }
        self.last = Some(Instant::now());
        let Progress { stage, stage_index, stages, step, steps, loss, validation, .. } = progress;
        let told = Python::attach(|py| {
            report.call1(py, (stage, stage_index, stages, step, steps, loss, validation)).map(drop)
        });
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}
