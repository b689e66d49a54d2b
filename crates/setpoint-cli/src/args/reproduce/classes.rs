//! `setpoint reproduce classes`

use clap::Args;
use setpoint_experiments::classes::{Classes, Family, GOALS};
use setpoint_experiments::{Experiment, StudyPlan, Task};

use super::{Meant, StudyArgs, asked};

pub const EXAMPLES: &str = "\
Trees need LightGBM (pip install lightgbm). An interrupted run goes on where it was when the same command is given
again: finished cells are kept in the output directory.

Examples:
  setpoint reproduce classes --data data/
  setpoint reproduce classes --data data/ --sets pendigits,satimage --models linear --trials 3 --json";

/// Usual number of splits.
const TRIALS: u64 = 10;

/// Several classes, linear models and trees.
#[derive(Args, Clone, Debug)]
pub struct ClassesArgs {
    /// What every study is told.
    #[command(flatten)]
    pub study: StudyArgs,
    /// Tasks: letter, pendigits, satimage, shuttle, fashion, kdd
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = task, default_value = "letter,pendigits,satimage,shuttle,fashion,kdd")]
    sets: Vec<Meant<Task>>,
    /// Models: linear, trees
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = family, default_value = "linear,trees")]
    models: Vec<Meant<Family>>,
    /// Goals by their place in the tables: 1 to 10
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=10), default_value = "1,2,3,4,5,6,7,8,9,10")]
    goals: Vec<u8>,
    /// Run all cells anew, although an earlier run has them
    #[arg(long)]
    anew: bool,
}

impl ClassesArgs {
    /// The study asked for.
    pub fn study(&self) -> (StudyPlan, Classes) {
        let all = Experiment::Classes;
        let plan = self.study.plan(all, asked(all.tasks(), &self.sets), TRIALS);
        let places = (1..).zip(GOALS).filter(|(place, _)| self.goals.contains(place));
        let goals = places.map(|(_, goal)| goal).collect();
        (plan, Classes { families: asked(&Family::ALL, &self.models), goals, anew: self.anew })
    }
}

fn task(text: &str) -> Result<Meant<Task>, String> {
    Meant::task(Experiment::Classes, text)
}

fn family(text: &str) -> Result<Meant<Family>, String> {
    Meant::new("model", text, &Family::ALL, Family::name, |family, word| family.name() == word)
}
