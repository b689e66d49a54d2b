//! `setpoint reproduce images` and `setpoint reproduce networks`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use setpoint_experiments::network::goals::{EQUAL, Table};
use setpoint_experiments::network::protocol::{Budget, Cnn, Method, Protocol};
use setpoint_experiments::network::{Task, tasks};

use super::TrialArgs;

pub const IMAGES: &str = "\
Sets: utkface (utkface-age60, utkface-race4, and by name alone utkface-gender), cifar-cat, and in their own
layouts in DIR/celeba and DIR/bigearthnet: celeba (celeba-smiling, ...), bigearthnet (bigearthnet-cf, ...).

Settings are chosen on validation; the test images are looked at once. An interrupted run goes on
where it was when the same command is given again: finished cells are kept in the output directory.

Examples:
  setpoint reproduce images --data data/
  setpoint reproduce images --data data/ --sets celeba --cnn paper --budget full
  setpoint reproduce images --data data/ --sets utkface-age60 --budget quick --trials 1 --json";

pub const NETWORKS: &str = "\
Sets: ijcnn1, adult, utkface-age60, utkface-race4, and ijcnn1-flipped: a tenth of the labels to learn from
and to choose by are wrong.

Examples:
  setpoint reproduce networks --data data/
  setpoint reproduce networks --data data/ --sets ijcnn1 --budget quick --trials 2";

/// What both studies are told.
#[derive(Args, Clone, Debug)]
pub struct StudyArgs {
    /// Directory with the data
    #[arg(long, value_name = "DIR", env = "SETPOINT_DATA", hide_env_values = true)]
    pub data: PathBuf,
    /// The seeds.
    #[command(flatten)]
    pub trials: TrialArgs,
    /// Methods: cross-entropy, weighted, lagrangian, pairwise, ico, ico-mixed, auto
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method)]
    pub methods: Option<Vec<Method>>,
    /// Run the cells of these methods anew, although an earlier run has them
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method)]
    pub anew: Vec<Method>,
    /// Directory for the results as Markdown, HTML and JSON, pictures, and the journal of finished cells
    #[arg(long, value_name = "DIR", default_value = "setpoint-reproduce")]
    pub output: PathBuf,
    /// Print the record of all cells as one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

impl StudyArgs {
    fn methods(&self, all: impl Fn(&Method) -> bool) -> Vec<Method> {
        let asked = |method: &Method| match &self.methods {
            Some(methods) => methods.contains(method),
            None => all(method),
        };
        Method::ALL.into_iter().filter(asked).collect()
    }
}

/// Convolutional networks on images.
#[derive(Args, Clone, Debug)]
pub struct ImagesArgs {
    /// What both studies are told.
    #[command(flatten)]
    pub common: StudyArgs,
    /// Sets or tasks; by default all whose files are there
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = image_set)]
    pub sets: Option<Vec<Sets>>,
    /// Tables: fnr, roc-auc, or all
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = goals, default_value = "all")]
    pub goals: Vec<Goals>,
    /// The network: the paper's, or one of a hundredth of its work
    #[arg(long, value_name = "NETWORK", default_value = "small")]
    pub cnn: CnnSize,
    /// What to spend: epochs, images and grids, never a time-out
    #[arg(long, value_name = "BUDGET", default_value = "half-hour")]
    pub budget: BudgetArg,
}

/// Networks at equal compute.
#[derive(Args, Clone, Debug)]
pub struct NetworksArgs {
    /// What both studies are told.
    #[command(flatten)]
    pub common: StudyArgs,
    /// Tasks
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = network_set, default_value = "ijcnn1,adult,utkface-age60,utkface-race4,ijcnn1-flipped")]
    pub sets: Vec<Task>,
    /// What to spend: epochs and rows, never a time-out
    #[arg(long, value_name = "BUDGET", default_value = "full")]
    pub budget: BudgetArg,
}

/// Which network for images.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CnnSize {
    /// A hundredth of the paper's work.
    Small,
    /// That of the paper's code.
    Paper,
}

/// How much to spend.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum BudgetArg {
    /// A look, in minutes.
    Quick,
    /// Half an hour on two quiet cores.
    HalfHour,
    /// All rows and epochs.
    Full,
}

impl From<BudgetArg> for Budget {
    fn from(budget: BudgetArg) -> Self {
        match budget {
            BudgetArg::Quick => Self::Quick,
            BudgetArg::HalfHour => Self::HalfHour,
            BudgetArg::Full => Self::Full,
        }
    }
}

impl ImagesArgs {
    /// What is spent on what network.
    pub fn protocol(&self) -> Protocol {
        let cnn = match self.cnn {
            CnnSize::Small => Cnn::Small,
            CnnSize::Paper => Cnn::Paper,
        };
        Protocol::images(self.budget.into(), cnn)
    }

    /// Refuses the paper's network in less time than it needs.
    pub fn check(&self) -> Result<(), String> {
        match (self.cnn, self.budget) {
            (CnnSize::Paper, BudgetArg::Quick | BudgetArg::HalfHour) => Err(
                "--cnn paper has a hundred times the work of --cnn small: expected --budget full, or --cnn small"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }

    /// The tasks asked for, or those whose files are there.
    pub fn tasks(&self) -> Result<Vec<Task>, String> {
        let data = &self.common.data;
        let asked = |task: &Task| match &self.sets {
            Some(sets) => sets.iter().any(|Sets(tasks)| tasks.contains(task)),
            None => task.main && task.source.is_in(data),
        };
        let found: Vec<Task> = tasks::IMAGES.into_iter().filter(asked).collect();
        if found.is_empty() {
            return Err(format!(
                "{} has none of the image sets; expected utkface32.bin.gz, cifar10-train8k.bin.gz and cifar10-test2k.bin.gz, or folders celeba or bigearthnet",
                data.display()
            ));
        }
        Ok(found)
    }

    /// The goals asked for.
    pub fn goals(&self) -> Vec<String> {
        let asked = |table: &Table| self.goals.iter().any(|Goals(tables)| tables.contains(table));
        let protocol = self.protocol();
        Table::ALL.into_iter().filter(asked).flat_map(|table| protocol.goals(table)).collect()
    }

    /// The seeds asked for, or as many as the budget has.
    pub fn seeds(&self) -> Vec<u64> {
        self.common.trials.seeds(self.protocol().trials())
    }

    /// The methods asked for, or all.
    pub fn methods(&self) -> Vec<Method> {
        self.common.methods(|_| true)
    }
}

impl NetworksArgs {
    /// What is spent.
    pub fn protocol(&self) -> Protocol {
        Protocol::networks(self.budget.into())
    }

    /// Its goals.
    pub fn goals(&self) -> Vec<String> {
        EQUAL.map(str::to_owned).to_vec()
    }

    /// The seeds asked for, or as many as the budget has.
    pub fn seeds(&self) -> Vec<u64> {
        self.common.trials.seeds(self.protocol().trials())
    }

    /// The methods asked for, or those with the same epochs.
    pub fn methods(&self) -> Vec<Method> {
        self.common.methods(|method| {
            matches!(method, Method::Once | Method::Auto) || Method::RIVALS.contains(method)
        })
    }
}

/// The tasks that one word stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sets(Vec<Task>);

fn image_set(word: &str) -> Result<Sets, String> {
    let word = word.trim();
    let called = |task: &Task| task.name == word || (task.main && task.is_called(word));
    let found: Vec<Task> = tasks::IMAGES.into_iter().filter(called).collect();
    if found.is_empty() { Err(unknown(word, &tasks::IMAGES)) } else { Ok(Sets(found)) }
}

fn network_set(word: &str) -> Result<Task, String> {
    let found = tasks::NETWORKS.into_iter().find(|task| task.name == word.trim());
    found.ok_or_else(|| unknown(word, &tasks::NETWORKS))
}

fn unknown(word: &str, tasks: &[Task]) -> String {
    let names: Vec<&str> = tasks.iter().map(|task| task.name).collect();
    format!("unknown set {word:?}; expected some of {}", names.join(", "))
}

/// The tables that one word stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goals(Vec<Table>);

fn goals(text: &str) -> Result<Goals, String> {
    let text = text.trim();
    let found: Vec<Table> =
        Table::ALL.into_iter().filter(|table| text == "all" || table.name() == text).collect();
    if found.is_empty() {
        let names = Table::ALL.map(Table::name).join(", ");
        return Err(format!("unknown table {text:?}; expected some of {names}, or all"));
    }
    Ok(Goals(found))
}

fn method(text: &str) -> Result<Method, String> {
    Method::named(text.trim()).ok_or_else(|| {
        format!("unknown method {text:?}; expected some of {}", Method::ALL.map(Method::name).join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_stands_for_its_main_tasks_and_a_task_for_itself() {
        let names = |word: &str| -> Vec<&str> {
            image_set(word).unwrap().0.iter().map(|task| task.name).collect::<Vec<_>>()
        };
        assert_eq!(names("utkface"), ["utkface-age60", "utkface-race4"]);
        assert_eq!(names("utkface-gender"), ["utkface-gender"]);
        assert!(image_set("mnist").unwrap_err().contains("expected some of utkface-age60"));
    }
}
