//! `setpoint reproduce trees`

use std::path::PathBuf;

use clap::Args;
use setpoint_experiments::trees::Trees;
use setpoint_experiments::{Experiment, StudyPlan, Task};
use setpoint_trees::{Parameters, Settings};

use super::{Meant, StudyArgs, asked};

pub const EXAMPLES: &str = "\
Needs LightGBM (pip install lightgbm). XGBoost runs on the same splits by bench/peers/trees.py. An interrupted
run goes on where it was when the same command is given again: finished trials are kept in the output directory.

Examples:
  setpoint reproduce trees --data data/
  setpoint reproduce trees --data data/ --export splits && python bench/peers/trees.py splits > peers.jsonl
  setpoint reproduce trees --data data/ --peers peers.jsonl
  setpoint reproduce trees --data data/ --sets spambase --search 6 --trials 3 --json";

/// Usual number of splits.
const TRIALS: u64 = 10;

/// Boosted trees beside LightGBM and XGBoost.
#[derive(Args, Clone, Debug)]
pub struct TreesArgs {
    /// What every study is told.
    #[command(flatten)]
    pub study: StudyArgs,
    /// Tasks: letter, ijcnn1, adult, spambase, kdd-r2l
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = task, default_value = "letter,ijcnn1,adult,spambase,kdd-r2l")]
    sets: Vec<Meant<Task>>,
    /// Configurations to try
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u64).range(1..=1000))]
    search: u64,
    /// Most rounds of a booster
    #[arg(long, value_name = "N", default_value = "400", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    rounds: u64,
    /// Results of other tools on the same splits, to stand beside: the file that bench/peers/trees.py writes
    #[arg(long, value_name = "FILE")]
    pub peers: Option<PathBuf>,
    /// Run all trials anew, although an earlier run has them
    #[arg(long)]
    anew: bool,
    /// Write the splits here as safetensors files for other tools, and stop
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
}

impl TreesArgs {
    /// The study asked for; what other tools came to is still to be read.
    pub fn study(&self) -> (StudyPlan, Trees) {
        let settings = Settings {
            configurations: Parameters::search(self.search as usize, 0),
            rounds: self.rounds as usize,
            ..Settings::default()
        };
        let all = Experiment::Trees;
        let plan = self.study.plan(all, asked(all.tasks(), &self.sets), TRIALS);
        (plan, Trees { settings, anew: self.anew, peers: Vec::new() })
    }
}

fn task(text: &str) -> Result<Meant<Task>, String> {
    Meant::task(Experiment::Trees, text)
}
