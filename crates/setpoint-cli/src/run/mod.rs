//! The commands, each from a plan to a record.

mod certify;
mod checkpoint;
mod demo;
mod evaluate;
mod export;
mod images;
mod operate;
mod predict;
mod progress;
mod report;
mod reproduce;
mod scores;
mod train;

pub use certify::certify;
pub use checkpoint::check as check_checkpoint;
pub use demo::demo;
pub use evaluate::evaluate;
pub use export::export;
pub use operate::{monitor, recertify, sample};
pub use predict::predict;
pub use progress::line;
pub use report::report;
pub use reproduce::reproduce;
pub use train::train;

use std::io::Write;

use setpoint_run::Failure;

/// Shows a result to people: on stdout, or on stderr where that has JSON.
pub fn show(text: &str, json: bool) -> Result<(), Failure> {
    if json {
        line(text.trim_end());
        return Ok(());
    }
    print(text)
}

/// Says what a reader should know besides.
pub fn say_notes(notes: &[String]) {
    notes.iter().for_each(|note| line(&format!("note: {note}")));
}

/// Writes to stdout, and nothing else does. A reader that has seen enough is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::input(format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}
