//! A run file: the flags of `train`, by their names, in TOML.
//!
//! The file is turned into flags that stand in front of those typed, so that one parser checks
//! both and the last one given wins.

use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory;
use setpoint::message::quote;
use toml::{Table, Value};

use crate::args::Cli;
use crate::plan::joined;
use setpoint_run::Failure;

/// Keys that are flags only.
const FLAGS_ONLY: [&str; 3] = ["json", "help", "resume"];

/// The flag that may be given once for each label.
const GOAL: &str = "goal";

/// Whether an argument is this flag, with its value or without.
fn is_flag(argument: &OsString, name: &str) -> bool {
    let text = argument.to_string_lossy();
    let own = text.strip_prefix("--").and_then(|text| text.strip_prefix(name));
    own.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

/// Whether this is a run file.
pub fn is_run_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// The arguments with those of the run file put right after `train`.
pub fn expand(path: &Path, typed: &[OsString]) -> Result<Vec<OsString>, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::input(format!("{name}: cannot read: {error}")))?;
    expand_text(&name, &text, typed)
}

/// The arguments with those of a run file of this text.
pub fn expand_text(name: &str, text: &str, typed: &[OsString]) -> Result<Vec<OsString>, Failure> {
    let table: Table =
        text.parse().map_err(|error: toml::de::Error| Failure::input(format!("{name}: {error}")))?;
    let known = keys();
    let mut arguments = typed.to_vec();
    let place = typed.iter().position(|argument| argument == "train").map_or(1, |place| place + 1);
    let mut flags = Vec::new();
    for (key, value) in &table {
        if !known.iter().any(|one| one == key) {
            let near = known.iter().map(|one| (strsim::damerau_levenshtein(one, key), one)).min();
            let hint = match near {
                Some((0..=2, near)) => format!("did you mean {near:?}?"),
                _ => format!("keys are the names of flags: {}", known.join(", ")),
            };
            return Err(Failure::input(format!("{name}: unknown key {}; {hint}", quote(key))));
        }
        // What is typed wins; a flag that may be given several times would add to it.
        if key == GOAL && typed.iter().any(|one| is_flag(one, GOAL)) {
            continue;
        }
        let found = match value {
            Value::Array(goals) if key == GOAL => goals.iter().map(|goal| flag(key, goal)).collect(),
            value => flag(key, value).map(|flag| vec![flag]),
        };
        let found = found.map_err(|message| Failure::input(format!("{name}: {message}")))?;
        flags.extend(found.into_iter().flatten().map(OsString::from));
    }
    arguments.splice(place..place, flags);
    Ok(arguments)
}

/// The names of train's flags.
fn keys() -> Vec<String> {
    let command = Cli::command();
    let train = command.find_subcommand("train");
    let common = command.get_arguments();
    let flags = train.into_iter().flat_map(clap::Command::get_arguments).chain(common);
    let names = flags.filter_map(|flag| flag.get_long().map(str::to_owned));
    names.filter(|name| !FLAGS_ONLY.contains(&name.as_str())).collect()
}

fn flag(key: &str, value: &Value) -> Result<Option<String>, String> {
    let text = match value {
        Value::Boolean(true) if key != "header" => return Ok(Some(format!("--{key}"))),
        Value::Boolean(false) if key != "header" => return Ok(None),
        Value::Array(items) => {
            let items: Result<Vec<String>, String> = items.iter().map(|item| scalar(key, item)).collect();
            joined(items?)
        }
        other => scalar(key, other)?,
    };
    Ok(Some(format!("--{key}={text}")))
}

fn scalar(key: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(yes) => Ok(if *yes { "yes" } else { "no" }.to_owned()),
        _ => {
            Err(format!("key {} holds {}; expected a text, a number or a list", quote(key), value.type_str()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_flags() {
        let table: Table =
            "seed = 3\nquiet = true\nresume = false\ndrop = [\"a\", \"b,c\"]\nheader = false\nmix = 0.5"
                .parse()
                .unwrap();
        let found: Vec<String> = table.iter().filter_map(|(key, value)| flag(key, value).unwrap()).collect();
        assert_eq!(found, ["--drop=a,\"b,c\"", "--header=no", "--mix=0.5", "--quiet", "--seed=3"]);
        assert!(flag("goal", &Value::Table(Table::new())).is_err());
    }
}
