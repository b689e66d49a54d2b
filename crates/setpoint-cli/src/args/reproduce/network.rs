//! `setpoint reproduce images` and `setpoint reproduce networks`

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use setpoint_experiments::network::Networks;
use setpoint_experiments::network::protocol::{Budget, Cnn, Protocol};
use setpoint_experiments::{Experiment, Method, StudyPlan, Table, Task};

use super::{Meant, StudyArgs, asked};

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
pub struct NetworkArgs {
    /// What every study is told.
    #[command(flatten)]
    pub study: StudyArgs,
    /// Methods: cross-entropy, weighted, lagrangian, pairwise, ico, ico-mixed, once, auto
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method)]
    methods: Option<Vec<Meant<Method>>>,
    /// Run the cells of these methods anew, although an earlier run has them
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method)]
    anew: Vec<Meant<Method>>,
}

/// Convolutional networks on images.
#[derive(Args, Clone, Debug)]
pub struct ImagesArgs {
    /// What both studies are told.
    #[command(flatten)]
    pub common: NetworkArgs,
    /// Sets or tasks; by default all whose files are there
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = image_set)]
    sets: Option<Vec<Meant<Task>>>,
    /// Tables: fnr, roc-auc, or all
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = table, default_value = "all")]
    goals: Vec<Meant<Table>>,
    /// The network: the paper's, or one of a hundredth of its work
    #[arg(long, value_name = "NETWORK", value_parser = cnn(), default_value = "small")]
    cnn: Cnn,
    /// What to spend: epochs, images and grids, never a time-out
    #[arg(long, value_name = "BUDGET", value_parser = budget(), default_value = "half-hour")]
    budget: Budget,
}

/// Networks at equal compute.
#[derive(Args, Clone, Debug)]
pub struct NetworksArgs {
    /// What both studies are told.
    #[command(flatten)]
    pub common: NetworkArgs,
    /// Tasks
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = network_set, default_value = "ijcnn1,adult,utkface-age60,utkface-race4,ijcnn1-flipped")]
    sets: Vec<Meant<Task>>,
    /// What to spend: epochs and rows, never a time-out
    #[arg(long, value_name = "BUDGET", value_parser = budget(), default_value = "full")]
    budget: Budget,
}

impl NetworkArgs {
    fn study(
        &self,
        protocol: Protocol,
        tasks: Vec<Task>,
        tables: &[Table],
        usual: &[Method],
    ) -> (StudyPlan, Networks) {
        let all = protocol.study.methods();
        let plan = self.study.plan(protocol.study, tasks, protocol.trials());
        let study = Networks {
            goals: tables.iter().flat_map(|table| protocol.goals(*table)).collect(),
            methods: self.methods.as_ref().map_or_else(|| usual.to_vec(), |words| asked(all, words)),
            anew: asked(all, &self.anew),
            protocol,
        };
        (plan, study)
    }
}

impl ImagesArgs {
    /// The study asked for, by default of the sets whose files are there.
    pub fn study(&self) -> Result<(StudyPlan, Networks), String> {
        if self.cnn == Cnn::Paper && self.budget != Budget::Full {
            return Err(
                "--cnn paper has a hundred times the work of --cnn small: expected --budget full, or --cnn small"
                    .to_owned(),
            );
        }
        let (experiment, data) = (Experiment::Images, &self.common.study.data);
        let tasks: Vec<Task> = match &self.sets {
            Some(sets) => asked(experiment.tasks(), sets),
            None => {
                let there = |task: &&Task| task.main && task.source.is_in(data);
                experiment.tasks().iter().filter(there).copied().collect()
            }
        };
        if tasks.is_empty() {
            return Err(format!(
                "{} has none of the image sets; expected utkface32.bin.gz, cifar10-train8k.bin.gz and cifar10-test2k.bin.gz, or folders celeba or bigearthnet",
                data.display()
            ));
        }
        let protocol = Protocol::images(self.budget, self.cnn);
        let tables = asked(experiment.tables(), &self.goals);
        Ok(self.common.study(protocol, tasks, &tables, experiment.methods()))
    }
}

impl NetworksArgs {
    /// The study asked for, by default of the methods with the same epochs.
    pub fn study(&self) -> (StudyPlan, Networks) {
        let experiment = Experiment::Networks;
        let usual = [&Method::RIVALS[..], &[Method::Once, Method::Setpoint]].concat();
        let tasks = asked(experiment.tasks(), &self.sets);
        self.common.study(Protocol::networks(self.budget), tasks, experiment.tables(), &usual)
    }
}

fn cnn() -> impl TypedValueParser<Value = Cnn> {
    let values = [("small", "A hundredth of the paper's work"), ("paper", "That of the paper's code")];
    let values = values.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).map(|name| if name == "paper" { Cnn::Paper } else { Cnn::Small })
}

fn budget() -> impl TypedValueParser<Value = Budget> {
    let values = [
        ("quick", "A look, in minutes"),
        ("half-hour", "Half an hour on two quiet cores"),
        ("full", "All rows and epochs"),
    ];
    let values = values.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).map(|name| match name.as_str() {
        "quick" => Budget::Quick,
        "half-hour" => Budget::HalfHour,
        _ => Budget::Full,
    })
}

fn image_set(text: &str) -> Result<Meant<Task>, String> {
    Meant::task(Experiment::Images, text)
}

fn network_set(text: &str) -> Result<Meant<Task>, String> {
    Meant::task(Experiment::Networks, text)
}

fn method(text: &str) -> Result<Meant<Method>, String> {
    Meant::method(Experiment::Networks, text)
}

fn table(text: &str) -> Result<Meant<Table>, String> {
    Meant::table(Experiment::Images, text)
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
        assert_eq!(names("celeba").len(), 8);
        assert!(image_set("mnist").unwrap_err().contains("expected some of utkface-age60"));
        assert_eq!(network_set("ijcnn1").unwrap().0.len(), 1);
    }
}
