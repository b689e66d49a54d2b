//! The command line: what was typed becomes a plan, the plan runs, its outcome becomes an exit code.
//!
//! A library, so that the Python package runs the same program.

#![forbid(unsafe_code)]

mod args;
mod config;
mod interrupt;
mod plan;
mod run;

use std::ffi::OsString;
use std::io::Write;
use std::sync::OnceLock;

use clap::{CommandFactory, Parser};

use args::{Cli, Command};
use plan::TrainPlan;
use setpoint_run::{Failure, FailureKind};

/// What was typed, the program's name first.
static TYPED: OnceLock<Vec<OsString>> = OnceLock::new();

/// Runs the program on what was typed, its own name first; returns the exit code.
///
/// For a process that does nothing else: Ctrl-C and the threads are the program's from here on.
#[must_use]
pub fn run(typed: Vec<OsString>) -> u8 {
    let typed = TYPED.get_or_init(|| typed);
    let code = match parse(typed).map(carry_out) {
        Ok(Ok(())) => 0,
        Ok(Err(failure)) | Err(Ended::Failed(failure)) => {
            run::line(&format!("error: {}", args::in_flags(&failure.message)));
            match failure.kind {
                FailureKind::No => 1,
                FailureKind::Input => 2,
                FailureKind::Interrupted => 130,
            }
        }
        Err(Ended::Shown(error)) => {
            // Help and version go to stdout with 0, mistakes to stderr with 2.
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    };
    // Only a Rust program's own end would do this.
    let _ = std::io::stdout().flush();
    code
}

/// The arguments as they were typed.
fn typed() -> impl Iterator<Item = String> {
    TYPED.get().into_iter().flatten().skip(1).map(|argument| argument.to_string_lossy().into_owned())
}

/// Why there is no command to run.
enum Ended {
    Shown(clap::Error),
    Failed(Failure),
}

/// The command line, with a run file's settings in it where one is named.
fn parse(typed: &[OsString]) -> Result<Cli, Ended> {
    let cli = Cli::try_parse_from(typed).map_err(Ended::Shown)?;
    match &cli.command {
        Command::Train(args) if config::is_run_file(&args.path) => {
            let expanded = config::expand(&args.path, typed).map_err(Ended::Failed)?;
            Cli::try_parse_from(expanded).map_err(Ended::Shown)
        }
        _ => Ok(cli),
    }
}

/// Whether a text is a run file that `train` would begin with; nothing is read or run.
///
/// # Errors
/// If it is none, with what is wrong.
#[doc(hidden)]
pub fn check_run_file(text: &str) -> Result<(), String> {
    let typed = ["setpoint", "train", "run.toml"].map(OsString::from);
    let expanded = config::expand_text("run.toml", text, &typed).map_err(|failure| failure.message)?;
    Cli::try_parse_from(expanded).map(drop).map_err(|error| error.to_string())
}

/// Whether a checkpoint is one that its own run would go on from.
///
/// # Errors
/// If it is none, with what is wrong.
#[doc(hidden)]
pub fn check_checkpoint(file: setpoint::artifact::Checkpoint) -> Result<(), String> {
    run::check_checkpoint(file).map_err(|failure| failure.message)
}

fn carry_out(cli: Cli) -> Result<(), Failure> {
    let quiet = cli.common.quiet;
    match &cli.command {
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "setpoint", &mut script);
            return run::print(&String::from_utf8_lossy(&script));
        }
        Command::Manual { folder } => {
            let refused = |error| Failure::input(format!("{}: {error}", folder.display()));
            return std::fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
                .map_err(refused);
        }
        _ => {}
    }
    interrupt::listen();
    if let Some(threads) = cli.common.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads));
        pool.build_global().map_err(|error| Failure::input(format!("--threads {threads}: {error}")))?;
    }
    match &cli.command {
        Command::Demo => run::demo(quiet),
        Command::Train(args) => {
            let plans = TrainPlan::for_labels(args)?;
            // On a thread of the pool: its many short loops then need not wake one.
            rayon::scope(|_| run::train(&plans, args.json, quiet))
        }
        Command::Evaluate(args) => run::evaluate(args, quiet),
        Command::Report(args) => run::report(args, quiet),
        Command::Predict(args) => run::predict(args, quiet),
        Command::Export(args) => run::export(args, quiet),
        Command::Certify(args) => run::certify(args, quiet),
        Command::Monitor(args) => run::monitor(args, quiet),
        Command::Recertify(args) => run::recertify(args, quiet),
        Command::Sample(args) => run::sample(args, quiet),
        Command::Reproduce { experiment } => run::reproduce(experiment, quiet),
        Command::Completions { .. } | Command::Manual { .. } => Ok(()),
    }
}
