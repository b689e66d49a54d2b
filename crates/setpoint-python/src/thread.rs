//! The threads that the work is done on: a pool that belongs to this process.
//!
//! A fork leaves its parent's threads behind, and work handed to them would wait for ever. Rayon's global
//! pool cannot be built anew, so none of the work runs there: a child builds a pool of its own.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Wrong;

/// Between two looks for signals.
pub const PAUSE: Duration = Duration::from_millis(100);

/// The pool, and the process that it belongs to.
static POOL: Mutex<Option<(u32, &'static ThreadPool)>> = Mutex::new(None);

/// This process's pool; as many threads as `RAYON_NUM_THREADS` says, or as there are processors.
///
/// The mutex is only ever held together with Python's lock, as it is by whoever forks: a child finds it free.
fn pool(_: Python<'_>) -> Result<&'static ThreadPool, Wrong> {
    let mut held = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match *held {
        Some((owner, pool)) if owner == process::id() => Ok(pool),
        _ => {
            let built = ThreadPoolBuilder::new().thread_name(|index| format!("setpoint-{index}")).build();
            let built = built.map_err(|error| {
                Wrong::input(format!("no threads to work on: {error}; RAYON_NUM_THREADS asks for fewer"))
            })?;
            // Never dropped: that would wait for threads that a child does not have.
            let pool: &'static ThreadPool = Box::leak(Box::new(built));
            *held = Some((process::id(), pool));
            Ok(pool)
        }
    }
}

/// Does some work on the pool, without Python's lock.
pub fn work<T: Send>(py: Python<'_>, job: impl FnOnce() -> Result<T, Wrong> + Send) -> Result<T, Wrong> {
    let pool = pool(py)?;
    py.detach(|| pool.install(job))
}

/// The same for work that may take long: this thread looks for signals meanwhile, and `stop` is set where
/// a handler raises. Signals are handled on the thread that called, never on the pool's.
pub fn work_watched<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    job: impl FnOnce() -> Result<T, Wrong> + Send,
) -> PyResult<T> {
    let pool = pool(py)?;
    let mut raised = None;
    let found = py.detach(|| {
        let (sender, receiver) = mpsc::channel();
        pool.in_place_scope(|scope| {
            // Nobody waits for the answer of a job that panics; the scope hands the panic on.
            scope.spawn(move |_| drop(sender.send(job())));
            loop {
                match receiver.recv_timeout(PAUSE) {
                    Ok(found) => break Some(found),
                    Err(RecvTimeoutError::Disconnected) => break None,
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            stop.store(true, Ordering::Relaxed);
                            raised.get_or_insert(error);
                        }
                    }
                }
            }
        })
    });
    match (raised, found) {
        (Some(raised), _) => Err(raised),
        (None, Some(found)) => Ok(found?),
        (None, None) => Err(Wrong::input("the work ended without an answer").into()),
    }
}
