//! `setpoint reproduce`

mod network;
mod trees;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use setpoint_experiments::uci::Set;
use setpoint_experiments::uci::goals::Table;
use setpoint_experiments::uci::protocol::Method;

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
}

/// Linear models on five public data sets.
#[derive(Args, Clone, Debug)]
pub struct UciArgs {
    /// Directory with the data files
    #[arg(long, value_name = "DIR", env = "SETPOINT_DATA", hide_env_values = true)]
    pub data: PathBuf,
    /// The seeds.
    #[command(flatten)]
    pub trials: TrialArgs,
    /// Data sets
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = set, default_value = "letter,ijcnn1,adult,spambase,crime")]
    pub sets: Vec<Set>,
    /// Methods: cross-entropy, weighted, lagrangian, pairwise, ico, setpoint, setpoint-once
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method, default_value = "cross-entropy,weighted,lagrangian,pairwise,ico")]
    pub methods: Vec<Method>,
    /// Setpoint's own defaults beside them, with and without rotations of train and validation rows
    #[arg(long)]
    pub setpoint: bool,
    /// Tables: pr-auc, fnr, roc-auc, range (pr-auc over recall in b..1), or all
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = goals, default_value = "pr-auc")]
    pub goals: Vec<Goals>,
    /// Run the cells of these methods anew, although an earlier run has them
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method)]
    pub anew: Vec<Method>,
    /// Directory for the results: uci.json, uci.md, uci.html, pictures, and the journal of finished cells
    #[arg(long, value_name = "DIR", default_value = "setpoint-reproduce")]
    pub output: PathBuf,
    /// Print the record of all cells as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Write the splits here as safetensors files for other tools, and stop
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
}

impl UciArgs {
    /// The methods asked for, in the order of the tables.
    pub fn methods(&self) -> Vec<Method> {
        let own = |method: &Method| matches!(method, Method::Setpoint | Method::Once);
        let asked = |method: &Method| self.methods.contains(method) || (self.setpoint && own(method));
        Method::ALL.into_iter().filter(asked).collect()
    }

    /// The tables asked for.
    pub fn tables(&self) -> Vec<Table> {
        let asked = |table: &Table| self.goals.iter().any(|goals| goals.0.contains(table));
        Table::ALL.into_iter().filter(asked).collect()
    }
}

/// Which random splits.
#[derive(Args, Clone, Debug)]
pub struct TrialArgs {
    /// Random splits, with seeds 0, 1, ...; 5 unless a smaller budget says fewer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    trials: Option<u64>,
    /// Seeds of the splits instead, such as 0-4 or 3,7
    #[arg(long, value_name = "LIST", value_parser = seeds, conflicts_with = "trials")]
    seeds: Option<Seeds>,
}

impl TrialArgs {
    /// The seeds asked for, or so many.
    pub fn seeds(&self, usual: u64) -> Vec<u64> {
        let count = self.trials.unwrap_or(usual);
        self.seeds.as_ref().map_or_else(|| (0..count).collect(), |seeds| seeds.0.clone())
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

/// The tables that one word stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goals(Vec<Table>);

fn goals(text: &str) -> Result<Goals, String> {
    let text = text.trim();
    if text == "all" {
        return Ok(Goals(Table::ALL.to_vec()));
    }
    let table = Table::ALL.into_iter().find(|table| table.name() == text);
    table.map(|table| Goals(vec![table])).ok_or_else(|| {
        format!("unknown table {text:?}; expected some of {}, or all", Table::ALL.map(Table::name).join(", "))
    })
}

fn method(text: &str) -> Result<Method, String> {
    Method::named(text.trim()).ok_or_else(|| {
        format!("unknown method {text:?}; expected some of {}", Method::ALL.map(Method::name).join(", "))
    })
}

fn set(text: &str) -> Result<Set, String> {
    Set::named(text.trim()).ok_or_else(|| {
        let names = Set::ALL.map(Set::name).join(", ");
        format!("unknown data set {text:?}; expected some of {names}")
    })
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
