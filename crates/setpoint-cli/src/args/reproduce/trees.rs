//! `setpoint reproduce trees`

use std::path::PathBuf;

use clap::Args;
use setpoint_experiments::trees::Task;
use setpoint_trees::{Parameters, Settings};

use super::TrialArgs;

pub const EXAMPLES: &str = "\
Needs LightGBM (pip install lightgbm). XGBoost runs on the same splits by bench/peers/trees.py. An interrupted
run goes on where it was when the same command is given again: finished trials are kept in the output directory.

Examples:
  setpoint reproduce trees --data data/
  setpoint reproduce trees --data data/ --export splits && python bench/peers/trees.py splits > peers.jsonl
  setpoint reproduce trees --data data/ --peers peers.jsonl
  setpoint reproduce trees --data data/ --sets spambase --search 6 --trials 3 --json";

/// Boosted trees beside LightGBM and XGBoost.
#[derive(Args, Clone, Debug)]
pub struct TreesArgs {
    /// Directory with the data files
    #[arg(long, value_name = "DIR", env = "SETPOINT_DATA", hide_env_values = true)]
    pub data: PathBuf,
    /// The seeds.
    #[command(flatten)]
    pub trials: TrialArgs,
    /// Tasks: letter, ijcnn1, adult, spambase, kdd-r2l
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = task, default_value = "letter,ijcnn1,adult,spambase,kdd-r2l")]
    pub sets: Vec<Task>,
    /// Configurations to try
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub search: u64,
    /// Most rounds of a booster
    #[arg(long, value_name = "N", default_value = "400", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub rounds: u64,
    /// Results of other tools on the same splits, to stand beside: the file that bench/peers/trees.py writes
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
    /// Run all trials anew, although an earlier run has them
    #[arg(long)]
    pub anew: bool,
    /// Directory for the results: trees.json, trees.md, trees.html, and the journal of finished trials
    #[arg(long, value_name = "DIR", default_value = "setpoint-reproduce")]
    pub output: PathBuf,
    /// Print the record of all trials as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Write the splits here as safetensors files for other tools, and stop
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
}

impl TreesArgs {
    /// How to search.
    pub fn settings(&self) -> Settings {
        Settings {
            configurations: Parameters::search(self.search as usize, 0),
            rounds: self.rounds as usize,
            ..Settings::default()
        }
    }
}

fn task(text: &str) -> Result<Task, String> {
    let named = Task::ALL.into_iter().find(|task| task.name() == text.trim());
    named.ok_or_else(|| {
        format!("unknown data set {text:?}; expected some of {}", Task::ALL.map(Task::name).join(", "))
    })
}
