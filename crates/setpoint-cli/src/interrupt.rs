//! Ctrl-C: the first asks the run to stop at its next step, the second ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

use setpoint_run::Failure;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens for Ctrl-C from now on.
pub fn listen() {
    // Without a handler Ctrl-C ends the process at once, which leaves no half-written file either.
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
}

/// Whether the user asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Ends the command between two of its stages if the user asked to stop.
pub fn check() -> Result<(), Failure> {
    if asked() { Err(Failure::interrupted("stopped; nothing was written")) } else { Ok(()) }
}
