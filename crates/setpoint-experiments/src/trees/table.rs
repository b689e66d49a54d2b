//! The results as tables.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::cell::Trial;
use super::study::{GOALS, TaskSplit};
use crate::record::unique;
use crate::statistic::mean;
use crate::table::{Column, Comparison};
use crate::task::Task;
use crate::{Entry, ExperimentError, Grid, Results};

/// What the study came to.
#[derive(Clone, Debug, Serialize)]
pub struct Grown {
    /// Configurations of a search.
    pub search: usize,
    /// Most rounds of a booster.
    pub rounds: usize,
    /// The trials.
    pub trials: Vec<Entry<TaskSplit, Trial>>,
    /// What other tools came to.
    pub peers: Vec<PeerRecord>,
}

/// What another tool came to for one goal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerRecord {
    /// The tool.
    pub peer: String,
    /// Its version.
    pub version: String,
    /// The task.
    pub task: String,
    /// The seed of its split.
    pub seed: u64,
    /// The goal.
    pub goal: String,
    /// The configuration and rounds that were best on validation, on the test rows.
    pub single: f64,
    /// The average of the three best.
    pub average: f64,
}

/// Reads what other tools came to, one JSON object a line.
///
/// # Errors
/// If the file cannot be read, or a line is something else.
pub fn peers(path: &Path) -> Result<Vec<PeerRecord>, ExperimentError> {
    let text = fs::read_to_string(path).map_err(|error| ExperimentError::Output {
        what: "the results of other tools",
        path: path.to_owned(),
        error,
    })?;
    let parse = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| ExperimentError::Peer {
            path: path.to_owned(),
            line: at + 1,
            error,
        })
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(parse).collect()
}

/// A tool's best booster, or its three best together.
type Tool<'r> = (&'r str, bool);

const LIGHTGBM: &str = "LightGBM";
const SETPOINT: &str = "Setpoint";

impl Grown {
    /// The columns: rivals, then Setpoint.
    pub(super) fn tools(&self) -> Vec<Tool<'_>> {
        let rivals = unique([LIGHTGBM].into_iter().chain(self.peers.iter().map(|record| &*record.peer)));
        let both = rivals.into_iter().flat_map(|rival| [(rival, false), (rival, true)]);
        both.chain([(SETPOINT, false)]).collect()
    }

    /// What a tool came to on the test rows in percent, seed by seed; `None` where one is missing.
    pub(super) fn values(&self, task: &Task, goal: &str, (tool, three): Tool<'_>) -> Option<Vec<f64>> {
        let value = |Entry { cell, outcome }: &Entry<TaskSplit, Trial>| -> Option<f64> {
            let own = || outcome.of(goal);
            Some(match (tool, three) {
                (SETPOINT, _) => own()?.setpoint,
                (LIGHTGBM, false) => own()?.lightgbm,
                (LIGHTGBM, true) => own()?.lightgbm_average,
                _ => {
                    let here = |peer: &&PeerRecord| peer.task == cell.task.name && peer.seed == cell.seed;
                    let mut peers = self.peers.iter().filter(here);
                    let peer = peers.find(|record| record.peer == tool && record.goal == goal)?;
                    if three { peer.average } else { peer.single }
                }
            })
        };
        let values: Option<Vec<f64>> =
            self.of(task).map(|trial| value(trial).map(|value| 100.0 * value)).collect();
        values.filter(|values| !values.is_empty())
    }

    /// The trials of a task.
    fn of(&self, task: &Task) -> impl Iterator<Item = &Entry<TaskSplit, Trial>> {
        self.trials.iter().filter(move |trial| trial.cell.task == *task)
    }

    fn tasks(&self) -> Vec<Task> {
        unique(self.trials.iter().map(|trial| trial.cell.task))
    }

    /// The values of all tools, and Setpoint's lead over the best of the others.
    pub(super) fn comparison(&self) -> Comparison<'_, Tool<'_>> {
        let columns = self.tools().into_iter().map(|(tool, three)| {
            let title = if three { format!("{tool}, 3") } else { tool.to_owned() };
            Column { rival: Some(title.clone()), title, of: (tool, three) }
        });
        Comparison {
            title: "On the test rows",
            heading: &["task", "goal"],
            tasks: self.tasks(),
            goals: GOALS.map(str::to_owned).to_vec(),
            columns: columns.collect(),
            subject: SETPOINT,
            values: Box::new(|task, goal, tool| self.values(task, goal, *tool)),
        }
    }
}

impl Results for Grown {
    fn title(&self) -> &'static str {
        "Boosted trees for an operating point"
    }

    fn beside(&self) -> Vec<String> {
        unique(self.peers.iter().map(|peer| format!("{} {}", peer.peer, peer.version)))
    }

    fn procedure(&self, seeds: &str) -> Vec<String> {
        let Self { search, rounds, .. } = self;
        vec![
            format!(
                "Random splits 50/25/25 with seeds {seeds}; {search} configurations (positive weights among them) of at\n\
                 most {rounds} rounds for each tool, on the same rows. Rounds and configuration are chosen on validation by\n\
                 the goal's own metric (Setpoint: at neighbouring rates too); the table holds the value on the test rows,\n\
                 in %, mean ± sd over the splits.\n\
                 \"3\": the three best together. Adult is its encoding as 123 binary columns; KDD R2L is the tenth of\n\
                 KDD Cup 1999 without repeated rows, its three columns of text as categories.",
            ),
            "LightGBM's columns and Setpoint's come from the same boosters. XGBoost's are from\n\
             `bench/peers/trees.py`, on the splits that `--export` writes. Setpoint may retrain on train and validation\n\
             rows together (its threshold then comes from a calibration part, which this table does not need); the\n\
             others learn from the train rows."
                .to_owned(),
        ]
    }

    fn grids(&self) -> Vec<Grid> {
        vec![self.comparison().grid(), steps(self), seconds(self)]
    }
}

/// How often each step was taken, and what it gained on validation.
fn steps(results: &Grown) -> Grid {
    let outcomes = || results.trials.iter().flat_map(|trial| &trial.outcome.outcomes);
    let names = unique(outcomes().flat_map(|outcome| &outcome.steps).map(|step| &step.name));
    let mut heading = vec!["step".to_owned()];
    heading.extend(GOALS.map(str::to_owned));
    let rows = names.iter().map(|name| {
        let mut row = vec![(*name).clone()];
        for goal in GOALS {
            let of_goal = outcomes().filter(|outcome| outcome.goal == goal);
            let (mut tried, mut taken, mut gains) = (0, 0, Vec::new());
            for step in of_goal.flat_map(|outcome| &outcome.steps).filter(|step| step.name == **name) {
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

fn seconds(results: &Grown) -> Grid {
    let mut rows = Vec::new();
    for task in results.tasks() {
        let search: Vec<f64> = results.of(&task).map(|trial| trial.outcome.search_seconds).collect();
        let mut row = vec![task.title.to_owned(), format!("{:.1}", mean(&search))];
        for goal in GOALS {
            let outcomes = results.of(&task).filter_map(|trial| trial.outcome.of(goal));
            row.push(format!("{:.1}", mean(&outcomes.map(|outcome| outcome.seconds).collect::<Vec<_>>())));
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
