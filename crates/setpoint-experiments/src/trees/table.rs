//! The results as tables.

use serde::Serialize;

use super::cell::Trial;
use super::peer::PeerRecord;
use super::study::{GOALS, Split};
use crate::record::unique;
use crate::statistic::mean;
use crate::table::{Column, Comparison};
use crate::task::Task;
use crate::{Entry, Grid, Results};

/// What the study came to.
#[derive(Clone, Debug, Serialize)]
pub struct Grown {
    /// Configurations of a search.
    pub search: usize,
    /// Most rounds of a booster.
    pub rounds: usize,
    /// The trials.
    pub trials: Vec<Entry<Split, Trial>>,
    /// What other tools came to.
    pub peers: Vec<PeerRecord>,
}

/// A column of the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    /// LightGBM's best booster.
    LightGbm,
    /// Its three best together.
    LightGbmAverage,
    /// Another tool's best booster.
    Peer(String),
    /// Its three best together.
    PeerAverage(String),
    /// Setpoint.
    Setpoint,
}

impl Tool {
    /// Its name in tables.
    fn title(&self) -> String {
        match self {
            Self::LightGbm => "LightGBM".to_owned(),
            Self::LightGbmAverage => "LightGBM, 3".to_owned(),
            Self::Peer(peer) => peer.clone(),
            Self::PeerAverage(peer) => format!("{peer}, 3"),
            Self::Setpoint => "Setpoint".to_owned(),
        }
    }
}

impl Grown {
    /// The columns: rivals, then Setpoint.
    pub(super) fn tools(&self) -> Vec<Tool> {
        let peers = unique(self.peers.iter().map(|record| &record.peer)).into_iter();
        let peers = peers.flat_map(|peer| [Tool::Peer(peer.clone()), Tool::PeerAverage(peer.clone())]);
        [Tool::LightGbm, Tool::LightGbmAverage].into_iter().chain(peers).chain([Tool::Setpoint]).collect()
    }

    /// What a tool came to on the test rows in percent, seed by seed; `None` where one is missing.
    pub(super) fn values(&self, task: &Task, goal: &str, tool: &Tool) -> Option<Vec<f64>> {
        let value = |Entry { cell, outcome }: &Entry<Split, Trial>| -> Option<f64> {
            let own = || outcome.of(goal);
            let other = |peer: &str| {
                let here = |record: &&PeerRecord| record.task == cell.task.name && record.seed == cell.seed;
                self.peers.iter().filter(here).find(|record| record.peer == peer && record.goal == goal)
            };
            Some(match tool {
                Tool::LightGbm => own()?.lightgbm,
                Tool::LightGbmAverage => own()?.lightgbm_average,
                Tool::Setpoint => own()?.setpoint,
                Tool::Peer(peer) => other(peer)?.single,
                Tool::PeerAverage(peer) => other(peer)?.average,
            })
        };
        let values: Option<Vec<f64>> =
            self.of(task).map(|trial| value(trial).map(|value| 100.0 * value)).collect();
        values.filter(|values| !values.is_empty())
    }

    /// The trials of a task.
    fn of(&self, task: &Task) -> impl Iterator<Item = &Entry<Split, Trial>> {
        self.trials.iter().filter(move |trial| trial.cell.task == *task)
    }

    fn tasks(&self) -> Vec<Task> {
        unique(self.trials.iter().map(|trial| trial.cell.task))
    }

    /// The values of all tools, and Setpoint's lead over the best of the others.
    pub(super) fn comparison(&self) -> Comparison<'_, Tool> {
        let column = |tool: Tool| {
            let title = tool.title();
            Column { rival: Some(title.clone()), title, of: tool }
        };
        Comparison {
            title: "On the test rows",
            heading: &["task", "goal"],
            tasks: self.tasks(),
            goals: GOALS.map(str::to_owned).to_vec(),
            columns: self.tools().into_iter().map(column).collect(),
            subject: "Setpoint",
            values: Box::new(|task, goal, tool| self.values(task, goal, tool)),
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
