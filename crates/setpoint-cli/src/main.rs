//! The command.

#![forbid(unsafe_code)]

use std::process::ExitCode;

/// Gives back what is freed, which the system's keeps: with a limit of memory, a third of it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(setpoint_cli::run(std::env::args_os().collect()))
}
