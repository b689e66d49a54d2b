//! The record as tables.

use std::path::Path;

use super::record::{Record, Tool};
use super::run::GOALS;
use super::task::Task;
use crate::ExperimentError;
use crate::document::{self, Document, Grid, spread};
use crate::statistic::{mean, paired};

/// The record as text.
#[must_use]
pub fn text(record: &Record) -> String {
    document::text(&grids(record))
}

/// Writes `trees.md`, `trees.html` and `trees.json`, each whole or not at all.
///
/// # Errors
/// If a file cannot be written.
pub fn save(record: &Record, output: &Path) -> Result<(), ExperimentError> {
    let Record { date, version, threads, .. } = record;
    let peers: Vec<String> = versions(record);
    let beside = if peers.is_empty() { String::new() } else { format!(", {}", peers.join(", ")) };
    let document = Document {
        title: "Boosted trees for an operating point",
        circumstances: format!(
            "{date}, setpoint {version}{beside}, {threads} trials at a time, one thread each."
        ),
        version,
        command: &record.command,
        procedure: procedure(record),
        grids: grids(record),
        pictures: &[],
        files: record.files.values().flatten().collect(),
    };
    document.save(output, "trees", record)
}

fn versions(record: &Record) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for peer in &record.peers {
        let name = format!("{} {}", peer.peer, peer.version);
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// What was run, in paragraphs.
fn procedure(record: &Record) -> Vec<String> {
    let seeds: Vec<String> = record.seeds.iter().map(u64::to_string).collect();
    let Record { search, rounds, .. } = record;
    vec![
        format!(
            "Random splits 50/25/25 with seeds {}; {search} configurations (positive weights among them) of at\n\
             most {rounds} rounds for each tool, on the same rows. Rounds and configuration are chosen on validation by\n\
             the goal's own metric (Setpoint: at neighbouring rates too); the table holds the value on the test rows,\n\
             in %, mean ± sd over the splits.\n\
             \"3\": the three best together. Adult is its encoding as 123 binary columns; KDD R2L is the tenth of\n\
             KDD Cup 1999 without repeated rows, its three columns of text as categories.",
            seeds.join(", ")
        ),
        "LightGBM's columns and Setpoint's come from the same boosters. XGBoost's are from\n\
         `bench/peers/trees.py`, on the splits that `--export` writes. Setpoint may retrain on train and validation\n\
         rows together (its threshold then comes from a calibration part, which this table does not need); the\n\
         others learn from the train rows."
            .to_owned(),
    ]
}

fn grids(record: &Record) -> Vec<Grid> {
    vec![values(record), steps(record), seconds(record)]
}

/// Setpoint against the rival with the best mean on test.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gain {
    pub rival: Tool,
    pub difference: f64,
    pub error: f64,
}

pub(super) fn gain(record: &Record, task: Task, goal: &str) -> Option<Gain> {
    let ours = record.values(task, goal, &Tool::Setpoint)?;
    let rivals = record.tools().into_iter().filter(|tool| *tool != Tool::Setpoint);
    let valued = rivals.filter_map(|tool| Some((record.values(task, goal, &tool)?, tool)));
    let (theirs, rival) = valued.max_by(|a, b| mean(&a.0).total_cmp(&mean(&b.0)))?;
    let (difference, error) = paired(&ours, &theirs);
    Some(Gain { rival, difference, error })
}

fn values(record: &Record) -> Grid {
    let tools = record.tools();
    let mut heading = vec!["task".to_owned(), "goal".to_owned()];
    heading.extend(tools.iter().map(Tool::title));
    heading.push("Setpoint over the best rival".to_owned());
    let mut rows = Vec::new();
    for task in Task::ALL {
        for goal in GOALS.iter().filter(|_| record.of(task).next().is_some()) {
            let mut row = vec![task.title().to_owned(), (*goal).to_owned()];
            let value = |tool: &Tool| record.values(task, goal, tool);
            row.extend(
                tools.iter().map(|tool| value(tool).map_or_else(|| "-".to_owned(), |values| spread(&values))),
            );
            row.push(gain(record, task, goal).map_or_else(
                || "-".to_owned(),
                |gain| format!("{:+.2} ± {:.2} ({})", gain.difference, gain.error, gain.rival.title()),
            ));
            rows.push(row);
        }
    }
    Grid {
        title: "On the test rows".to_owned(),
        holds: "In %: mean ± sd over the splits",
        heading,
        rows,
        note:
            "Over the best rival: mean of the paired differences ± its standard error; the rival is the one\n\
               with the best mean on these very test rows, which favours it."
                .to_owned(),
    }
}

/// How often each step was taken, and what it gained on validation.
fn steps(record: &Record) -> Grid {
    let mut names: Vec<String> = Vec::new();
    let outcomes = || record.trials.iter().flat_map(|trial| &trial.trial.outcomes);
    for step in outcomes().flat_map(|outcome| &outcome.steps) {
        if !names.contains(&step.name) {
            names.push(step.name.clone());
        }
    }
    let mut heading = vec!["step".to_owned()];
    heading.extend(GOALS.map(str::to_owned));
    let rows = names.iter().map(|name| {
        let mut row = vec![name.clone()];
        for goal in GOALS {
            let of_goal = outcomes().filter(|outcome| outcome.goal == goal);
            let (mut tried, mut taken, mut gains) = (0, 0, Vec::new());
            for step in of_goal.flat_map(|outcome| &outcome.steps).filter(|step| step.name == *name) {
                tried += 1;
                taken += usize::from(step.taken);
                gains.extend(step.gain.map(|gain| 100.0 * gain));
            }
            let gained = if gains.is_empty() { String::new() } else { format!(", {:+.2}", mean(&gains)) };
            row.push(format!("{taken} of {tried}{gained}"));
        }
        row
    });
    Grid {
        title: "Steps after the search".to_owned(),
        holds: "How often Setpoint took each step, of how many trials, and its mean gain on validation in points",
        heading,
        rows: rows.collect(),
        note: "Taken of tried, over all tasks and splits; then what it gained on validation, in points, on average,\n\
               whether taken or not: chosen on one half of the rows, compared on the other."
            .to_owned(),
    }
}

fn seconds(record: &Record) -> Grid {
    let mut rows = Vec::new();
    for task in Task::ALL.into_iter().filter(|task| record.of(*task).next().is_some()) {
        let search: Vec<f64> = record.of(task).map(|trial| trial.trial.search_seconds).collect();
        let mut row = vec![task.title().to_owned(), format!("{:.1}", mean(&search))];
        for goal in GOALS {
            let after: Vec<f64> = record.outcomes(task, goal).map(|outcome| outcome.seconds).collect();
            row.push(format!("{:.1}", mean(&after)));
        }
        rows.push(row);
    }
    let mut heading = vec!["task".to_owned(), "search".to_owned()];
    heading.extend(GOALS.map(str::to_owned));
    Grid {
        title: "Seconds".to_owned(),
        holds: "Seconds of the search, and after it for each goal",
        heading,
        rows,
        note: "Wall-clock seconds on one thread, mean over the splits: the search, which LightGBM alone takes too,\n\
               and what Setpoint adds for each goal; goals share boosters, so later columns may be shorter."
            .to_owned(),
    }
}

#[cfg(test)]
mod tests;
