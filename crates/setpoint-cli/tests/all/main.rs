//! The binary, run as a user runs it: in a directory of its own, its whole output looked at.

#![allow(missing_docs, reason = "a test binary has no readers of its documentation")]

mod answer;
mod browser;
mod certify;
mod check;
mod classes;
mod costs;
mod data;
mod entity;
mod fault;
mod files;
mod formats;
mod group;
mod interrupt;
mod labels;
mod memory;
mod message;
mod misuse;
mod model;
mod onnx;
mod operate;
mod population;
mod predict;
mod rank;
mod real;
mod report;
mod reproduce;
mod scores;
mod tables;
mod train;

use std::path::Path;
use std::process::{Command, Output};

/// What a run of the binary came to.
#[derive(Debug)]
pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Run {
    /// The run must have ended well.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// A model must have been trained, whether or not it meets its goal on the rows held out.
    #[track_caller]
    pub fn trained(self) -> Self {
        let unmet = self.code == Some(1) && self.stderr.contains("; nothing is certified, and ");
        assert!(unmet || self.code == Some(0), "{self:?}");
        self
    }

    /// The run must have printed one JSON object on stdout, and nothing else there.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The binary, to be run in a directory. What is trained without a word on its kind is linear.
pub fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_setpoint"));
    command.current_dir(directory).args(arguments);
    let says = |argument: &&str| *argument == "--model" || argument.ends_with(".toml");
    if arguments.first() == Some(&"train") && !arguments.iter().any(says) {
        command.args(["--model", "linear"]);
    }
    command
}

/// Runs the binary in a directory.
pub fn setpoint(directory: &Path, arguments: &[&str]) -> Run {
    command(directory, arguments).output().expect("the binary runs").into()
}

/// A directory for one test.
pub fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// A file in a directory.
pub fn write(directory: &Path, name: &str, text: &str) {
    std::fs::write(directory.join(name), text).expect("a file to test with");
}

/// The bytes of a file in a directory.
pub fn read(directory: &Path, name: &str) -> Vec<u8> {
    std::fs::read(directory.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}
