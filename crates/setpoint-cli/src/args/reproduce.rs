//! `setpoint reproduce`

mod classes;
mod network;
mod trees;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use setpoint_experiments::uci::Uci;
use setpoint_experiments::{Experiment, Method, StudyPlan, Table, Task};

pub use classes::ClassesArgs;
pub use network::{ImagesArgs, NetworksArgs};
pub use trees::TreesArgs;

const EXAMPLES: &str = "\
Settings are chosen on validation; the test rows are looked at once. An interrupted run goes on
where it was when the same command is given again: finished cells are kept in the output directory.

Examples:
  setpoint reproduce uci --data data/
  setpoint reproduce uci --data data/ --goals all --setpoint
  setpoint reproduce uci --data data/ --sets letter --methods weighted,ico --trials 3 --json";

/// Which experiment of the paper.
#[derive(Clone, Debug, Subcommand)]
pub enum ReproduceCommand {
    /// Linear models on five public data sets (the paper's section 4.3)
    #[command(after_help = EXAMPLES)]
    Uci(UciArgs),
    /// Convolutional networks on images (the paper's sections 4.1 and 4.2), for the sets at hand
    #[command(after_help = network::IMAGES)]
    Images(ImagesArgs),
    /// Networks on tables and images, every method with the same epochs
    #[command(after_help = network::NETWORKS)]
    Networks(NetworksArgs),
    /// Boosted trees beside LightGBM and XGBoost, on five public data sets
    #[command(after_help = trees::EXAMPLES)]
    Trees(TreesArgs),
    /// Several classes beside cross-entropy and LightGBM with shifts, on six public data sets
    #[command(after_help = classes::EXAMPLES)]
    Classes(ClassesArgs),
}

/// What every study is told.
#[derive(Args, Clone, Debug)]
pub struct StudyArgs {
    /// Directory with the data
    #[arg(long, value_name = "DIR", env = "SETPOINT_DATA", hide_env_values = true)]
    pub data: PathBuf,
    /// Random splits, with seeds 0, 1, ...; 5 unless a smaller budget says fewer, 10 of trees and classes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    trials: Option<u64>,
    /// Seeds of the splits instead, such as 0-4 or 3,7
    #[arg(long, value_name = "LIST", value_parser = seeds, conflicts_with = "trials")]
    seeds: Option<Seeds>,
    /// Directory for the results as Markdown, HTML and JSON, pictures, and the journal of finished cells
    #[arg(long, value_name = "DIR", default_value = "setpoint-reproduce")]
    output: PathBuf,
    /// Print the record of all cells as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

impl StudyArgs {
    /// The plan of a study, with its usual number of splits.
    fn plan(&self, experiment: Experiment, tasks: Vec<Task>, trials: u64) -> StudyPlan {
        let count = self.trials.unwrap_or(trials);
        StudyPlan {
            experiment,
            data: self.data.clone(),
            cache: setpoint_data::default_cache(),
            output: self.output.clone(),
            tasks,
            seeds: self.seeds.as_ref().map_or_else(|| (0..count).collect(), |seeds| seeds.0.clone()),
            threads: rayon::current_num_threads(),
            command: command(),
        }
    }
}

/// What was typed, but for the data directory: it is different on every machine.
fn command() -> String {
    let mut words = vec!["setpoint".to_owned()];
    let mut typed = crate::typed();
    while let Some(word) = typed.next() {
        if word == "--data" {
            typed.next();
        } else if !word.starts_with("--data=") {
            words.push(word);
        }
    }
    words.join(" ")
}

/// Linear models on five public data sets.
#[derive(Args, Clone, Debug)]
pub struct UciArgs {
    /// What every study is told.
    #[command(flatten)]
    pub study: StudyArgs,
    /// Data sets
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = set, default_value = "letter,ijcnn1,adult,spambase,crime")]
    sets: Vec<Meant<Task>>,
    /// Methods: cross-entropy, weighted, lagrangian, pairwise, ico, setpoint, setpoint-once
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method, default_value = "cross-entropy,weighted,lagrangian,pairwise,ico")]
    methods: Vec<Meant<Method>>,
    /// Setpoint's own defaults beside them, with and without rotations of train and validation rows
    #[arg(long)]
    setpoint: bool,
    /// Tables: pr-auc, fnr, roc-auc, range (pr-auc over recall in b..1), or all
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = table, default_value = "pr-auc")]
    goals: Vec<Meant<Table>>,
    /// Run the cells of these methods anew, although an earlier run has them
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method)]
    anew: Vec<Meant<Method>>,
    /// Write the splits here as safetensors files for other tools, and stop
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
}

fn set(text: &str) -> Result<Meant<Task>, String> {
    Meant::task(Experiment::Uci, text)
}

fn method(text: &str) -> Result<Meant<Method>, String> {
    Meant::method(Experiment::Uci, text)
}

fn table(text: &str) -> Result<Meant<Table>, String> {
    Meant::table(Experiment::Uci, text)
}

impl UciArgs {
    /// The study asked for.
    pub fn study(&self) -> (StudyPlan, Uci) {
        let all = Experiment::Uci;
        let own = [Method::Setpoint, Method::Once].map(|method| Meant(vec![method]));
        let methods = [&self.methods[..], if self.setpoint { &own } else { &[] }].concat();
        let study = Uci {
            tables: asked(all.tables(), &self.goals),
            methods: asked(all.methods(), &methods),
            anew: asked(all.methods(), &self.anew),
        };
        (self.study.plan(all, asked(all.tasks(), &self.sets), TRIALS), study)
    }
}

/// The paper's number of trials.
const TRIALS: u64 = 5;

/// What one word of a list stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Meant<T>(Vec<T>);

/// What some words stand for, in the order of the tables.
fn asked<T: Copy + PartialEq>(all: &[T], words: &[Meant<T>]) -> Vec<T> {
    all.iter().copied().filter(|one| words.iter().any(|word| word.0.contains(one))).collect()
}

impl<T: Copy> Meant<T> {
    fn new(
        what: &str,
        text: &str,
        all: &[T],
        name: impl Fn(T) -> &'static str,
        means: impl Fn(T, &str) -> bool,
    ) -> Result<Self, String> {
        let word = text.trim();
        let found: Vec<T> = all.iter().copied().filter(|one| word == "all" || means(*one, word)).collect();
        if found.is_empty() {
            let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
            return Err(format!("unknown {what} {text:?}; expected some of {}, or all", names.join(", ")));
        }
        Ok(Self(found))
    }
}

impl Meant<Task> {
    /// A task by its name, or the main ones of its data set.
    fn task(experiment: Experiment, text: &str) -> Result<Self, String> {
        let tasks = experiment.tasks();
        let exact = tasks.iter().any(|task| task.name == text.trim());
        let means = |task: Task, word: &str| task.name == word || (!exact && task.main && task.set() == word);
        Self::new("data set", text, tasks, |task| task.name, means)
    }
}

impl Meant<Method> {
    fn method(experiment: Experiment, text: &str) -> Result<Self, String> {
        let name = |method: Method| method.name(experiment);
        Self::new("method", text, experiment.methods(), name, |method, word| name(method) == word)
    }
}

impl Meant<Table> {
    fn table(experiment: Experiment, text: &str) -> Result<Self, String> {
        Self::new("table", text, experiment.tables(), Table::name, |table, word| table.name() == word)
    }
}

/// A list of seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seeds(Vec<u64>);

fn seeds(text: &str) -> Result<Seeds, String> {
    let number = |text: &str| {
        text.trim().parse::<u64>().map_err(|_| format!("{text:?} is not a seed; write 0-4 or 3,7"))
    };
    let mut seeds = Vec::new();
    for piece in text.split(',') {
        match piece.split_once('-') {
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to)?);
                if from > to || to - from >= 1000 {
                    return Err(format!("{piece:?} is not a range of at most 1000 seeds"));
                }
                seeds.extend(from..=to);
            }
            None => seeds.push(number(piece)?),
        }
    }
    match seeds.iter().enumerate().find(|(index, seed)| seeds[..*index].contains(seed)) {
        Some((_, twice)) => Err(format!("seed {twice} is given twice")),
        None => Ok(Seeds(seeds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_lists_and_ranges() {
        assert_eq!(seeds("0-4"), Ok(Seeds(vec![0, 1, 2, 3, 4])));
        assert_eq!(seeds("3, 7,10-11"), Ok(Seeds(vec![3, 7, 10, 11])));
        for (text, message) in [
            ("x", "is not a seed"),
            ("", "is not a seed"),
            ("4-0", "not a range"),
            ("0-9999999", "not a range"),
            ("1,0-2", "seed 1 is given twice"),
        ] {
            let error = seeds(text).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
