//! What the user typed, before it is checked.

mod certify;
mod data;
mod evaluate;
mod export;
mod image;
mod operate;
mod predict;
mod query;
mod report;
mod reproduce;
mod scores;
mod settings;
mod train;

pub use certify::CertifyArgs;
pub use data::ReadArgs;
pub use evaluate::{EvaluateArgs, MeasureArgs};
pub use export::ExportArgs;
pub use image::ImageArgs;
pub use operate::{MonitorArgs, RecertifyArgs, SampleArgs};
pub use predict::PredictArgs;
pub use query::{MeasuredQueryArgs, QueryArgs};
pub use report::{ReportArgs, ReportFlags};
pub use reproduce::ReproduceCommand;
pub use scores::ScoresArgs;
pub use settings::SettingArgs;
pub use train::{CnnArg, ModelArg, TrainArgs};

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// A message with settings as flags.
pub fn in_flags(message: &str) -> String {
    setpoint::message::spell(message, |name, value| match value {
        // A text that stands in double quotes already; a list with such a text in it needs them inside.
        Some(value) if value.starts_with('"') && value.ends_with('"') && !value.contains(',') => {
            format!("--{name} {value}")
        }
        Some(value) => format!("--{name} {}", quoted(value)),
        None => format!("--{name}"),
    })
}

/// An argument as a shell takes it.
pub fn quoted(argument: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_as_a_shell_needs_it() {
        for (argument, text) in [
            ("train.csv", "train.csv"),
            ("recall @ fpr<=1%", "'recall @ fpr<=1%'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
            ("$(rm)", "'$(rm)'"),
        ] {
            assert_eq!(quoted(argument), text);
        }
        assert_eq!(
            in_flags("leave it out with ‹drop Unnamed: 0,id›"),
            "leave it out with --drop 'Unnamed: 0,id'"
        );
    }
}

/// Train classifiers for the operating point they will run at, prove the threshold on held-out
/// data, and ship both as one file.
#[derive(Debug, Parser)]
#[command(name = "setpoint", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Flags of every command.
    #[command(flatten)]
    pub common: CommonArgs,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 it ran and the answer is no (an infeasible goal, one that is not met on held-out
rows with nothing certified, nothing to certify, evaluate --check, an alarm of monitor); 2 bad usage or
input; 130 stopped by Ctrl-C.

Words such as ridge, bandwidth or order statistic are explained in docs/glossary.md.

Start with: setpoint demo";

/// Flags of every command.
#[derive(Args, Clone, Debug)]
pub struct CommonArgs {
    /// Threads to use; by default all. The result does not depend on it.
    #[arg(long, value_name = "N", global = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Print errors only.
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train on the embedded data set, print the comparison with cross-entropy, write a report
    #[command(after_help = DEMO)]
    Demo,
    /// Train a model for a goal, choose its threshold on held-out data, and write both to one file
    #[command(args_override_self = true, allow_negative_numbers = true, after_help = train::EXAMPLES)]
    Train(Box<TrainArgs>),
    /// Measure a model on labelled data, with intervals, at its goal and at its threshold
    #[command(after_help = evaluate::EXAMPLES)]
    Evaluate(EvaluateArgs),
    /// Write a report to look at: the answer, what ships, the comparison, curves and tables
    #[command(after_help = report::EXAMPLES)]
    Report(ReportArgs),
    /// Score rows and decide them with the model's threshold
    #[command(after_help = predict::EXAMPLES)]
    Predict(PredictArgs),
    /// Write an ONNX file with the decision inside, for any runtime
    #[command(after_help = export::EXAMPLES)]
    Export(ExportArgs),
    /// Find a threshold that holds on new data, for any model's scores
    #[command(after_help = certify::EXAMPLES)]
    Certify(CertifyArgs),
    /// Watch a model's certificate: an alarm when it is broken, however often one looks
    #[command(after_help = operate::MONITOR)]
    Monitor(MonitorArgs),
    /// Certify a model anew on new labelled rows, or for another share of positives
    #[command(after_help = operate::RECERTIFY)]
    Recertify(RecertifyArgs),
    /// Choose the rows to have labelled, so that few labels certify much
    #[command(after_help = operate::SAMPLE)]
    Sample(SampleArgs),
    /// Regenerate the paper's tables on real data, with the rivals beside
    Reproduce {
        /// Which of them.
        #[command(subcommand)]
        experiment: ReproduceCommand,
    },
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, one for each command, to a folder
    Manual {
        /// The folder, such as ~/.local/share/man/man1
        folder: PathBuf,
    },
}

const DEMO: &str = "\
The data are UCI Letter Recognition (D. Slate, CC BY 4.0): the letter U against the rest,
recall at 1% false alarms, over twenty random splits. The report of the first split is written to
setpoint-report.html, here.";

const COMPLETIONS: &str = "\
Examples:
  setpoint completions bash > ~/.local/share/bash-completion/completions/setpoint
  setpoint completions zsh > ~/.zfunc/_setpoint
  setpoint completions fish > ~/.config/fish/completions/setpoint.fish";
