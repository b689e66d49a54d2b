//! The study: which cells, and what they depend on.

use serde::{Serialize, Serializer};
use setpoint::Sample;
use setpoint::goal::ClassGoal;
use setpoint::model::Linear;
use setpoint::train::TrainError;
use setpoint_data::{Encoder, SplitPlan, Table};
use setpoint_trees::{Data, Rows, TreesError};

use super::cell::{self, Outcome};
use super::table::Decided;
use super::trees;
use crate::problem::failed;
use crate::task::Task;
use crate::{Entry, ExperimentError, Sources, Study, StudyPlan, Watch};

/// What is wanted of the decisions; `c` is the class that the task names, `d` the rarest of the others, `half` half of
/// the share of c. Of the costs, a row of c that is missed costs 10, and any other mistake 1.
pub const GOALS: [&str; 10] = [
    "accuracy @ coverage(each)=prior",
    "accuracy @ coverage(c)<=half",
    "balanced-accuracy",
    "macro-f1",
    "worst(recall)",
    "accuracy @ recall(c)>=0.9",
    "accuracy @ recall(c)>=0.9, recall(d)>=0.8",
    "accuracy @ recall(each)>=0.7",
    "recall(c) @ precision(c)>=0.9",
    "cost(c)",
];
const MISSED: f64 = 10.0;

/// Fewer rows of a class than these leave none to certify, or to test: such classes are left out.
const LEAST: usize = 40;

/// Which models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Linear softmax.
    Linear,
    /// LightGBM.
    Trees,
}

impl Family {
    /// In the order of the tables.
    pub const ALL: [Self; 2] = [Self::Linear, Self::Trees];

    /// Its name in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Trees => "trees",
        }
    }
}

/// Several classes.
#[derive(Clone, Debug)]
pub struct Classes {
    /// Which models.
    pub families: Vec<Family>,
    /// Which of [`GOALS`].
    pub goals: Vec<&'static str>,
    /// Whether to run again what the journal has.
    pub anew: bool,
}

/// A goal on a task split by a seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Class {
    /// Which models.
    pub family: Family,
    /// The task.
    #[serde(serialize_with = "name")]
    pub task: Task,
    /// The goal.
    pub goal: &'static str,
    /// The seed.
    pub seed: u64,
}

impl Class {
    fn title(&self) -> String {
        format!("{} with seed {}, {}", self.task.title, self.seed, self.goal)
    }
}

fn name<S: Serializer>(task: &Task, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(task.name)
}

/// Some rows, as linear models and as trees take them.
#[derive(Clone, Debug)]
pub struct StudyPart {
    /// Numbers scaled, categories as columns.
    pub model: Linear,
    /// Numbers as they are, categories as codes.
    pub rows: Rows,
    /// Their classes.
    pub sample: Sample,
}

/// A task split by a seed.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The classes.
    pub names: Vec<String>,
    /// Trees' columns of codes.
    pub categorical: Vec<u32>,
    /// To train on.
    pub train: StudyPart,
    /// To choose by.
    pub validation: StudyPart,
    /// To certify on.
    pub calibration: StudyPart,
    /// To report, once.
    pub test: StudyPart,
    /// The classes of the calibration and the test rows, one after the other.
    pub rest: Sample,
}

impl Problem {
    fn new(table: Table, again: Table, seed: u64) -> Result<Self, setpoint_data::Error> {
        let plan: SplitPlan = "train=0.5,validation=0.2,calibration=0.1,test=0.2".parse()?;
        let parts = plan.split(&table, seed)?;
        let (names, codes) = classes(&table);
        // Rows of classes that are too small are in no part.
        let rows = |part: &str| -> Vec<u32> {
            parts.rows(part).iter().copied().filter(|row| codes[*row as usize] != u32::MAX).collect()
        };
        let encoder = Encoder::fit(&table, &rows("train"))?;
        let features = encoder.encode(table)?.features;
        let encoder = encoder.plain()?;
        let plain = encoder.encode(again)?.features;
        let sample = |rows: &[u32]| {
            let of = rows.iter().map(|row| codes[*row as usize]).collect();
            Sample::of_classes("class", names.clone(), of)
        };
        let part = |name: &str| -> Result<StudyPart, setpoint_data::Error> {
            let rows = rows(name);
            let model = Linear::new(features.select(&rows)?).with_outputs(names.len());
            Ok(StudyPart { model, rows: plain.select(&rows)?.into(), sample: sample(&rows)? })
        };
        Ok(Self {
            train: part("train")?,
            validation: part("validation")?,
            calibration: part("calibration")?,
            test: part("test")?,
            rest: sample(&[rows("calibration"), rows("test")].concat())?,
            names: names.clone(),
            categorical: encoder.coded_columns().into_iter().map(|column| column as u32).collect(),
        })
    }

    /// A part as trees take it.
    pub fn data<'p>(&'p self, part: &'p StudyPart) -> Data<'p> {
        Data { features: part.rows.view(), sample: &part.sample, categorical: &self.categorical }
    }

    /// The goal of a task, with its class and all others by name.
    pub fn goal(&self, cell: &Class) -> Result<ClassGoal, ExperimentError> {
        let wrong = |reason: String| ExperimentError::Goal { what: cell.title(), reason };
        let (count, positive) = (self.names.len(), cell.task.positive);
        let class = self.names.iter().position(|name| name == positive);
        let class = class.ok_or_else(|| wrong(format!("no class {positive:?} has {LEAST} rows")))?;
        let codes = self.train.sample.groups().map_or(&[][..], |groups| groups.codes());
        let rows = |class: usize| codes.iter().filter(|code| **code as usize == class).count();
        let rarest = (0..count).filter(|other| *other != class).min_by_key(|other| rows(*other));
        let half = 50.0 * rows(class) as f64 / codes.len() as f64;
        let text = match cell.goal {
            "cost(c)" => "cost(table.csv)".to_owned(),
            goal => goal
                .replace("(c)", &format!("({positive:?})"))
                .replace("(d)", &format!("({:?})", self.names[rarest.unwrap_or(class)]))
                .replace("half", &format!("{half:.2}%")),
        };
        let costs = (0..count * count).map(|at| match (at / count, at % count) {
            (y, decided) if y == decided => 0.0,
            (y, _) if y == class => MISSED,
            _ => 1.0,
        });
        let goal = ClassGoal::parse(&text, &self.names).map_err(|error| wrong(error.to_string()))?;
        match cell.goal {
            "cost(c)" => goal.with_costs(costs.collect()).map_err(|error| wrong(error.to_string())),
            _ => Ok(goal),
        }
    }
}

/// The names of the classes in order, and the class of each row; `MAX` for those of too few rows.
fn classes(table: &Table) -> (Vec<String>, Vec<u32>) {
    let Some(groups) = table.groups() else { return (Vec::new(), Vec::new()) };
    let mut rows = vec![0; groups.names.len()];
    groups.of.iter().for_each(|code| rows[*code as usize] += 1);
    let mut kept: Vec<usize> = (0..rows.len()).filter(|code| rows[*code] >= LEAST).collect();
    kept.sort_by(|a, b| groups.names[*a].cmp(&groups.names[*b]));
    let place = |code: usize| kept.iter().position(|kept| *kept == code).map_or(u32::MAX, |at| at as u32);
    let places: Vec<u32> = (0..rows.len()).map(place).collect();
    let names = kept.iter().map(|code| groups.names[*code].clone()).collect();
    (names, groups.of.iter().map(|code| places[*code as usize]).collect())
}

impl Study for Classes {
    type Cell = Class;
    type Outcome = Outcome;
    type Problem = Problem;
    type Results = Decided;

    fn cells(&self, plan: &StudyPlan) -> Vec<Class> {
        let mut cells = Vec::new();
        for family in &self.families {
            for task in &plan.tasks {
                for seed in &plan.seeds {
                    let class =
                        |goal: &&'static str| Class { family: *family, task: *task, goal, seed: *seed };
                    cells.extend(self.goals.iter().map(class));
                }
            }
        }
        cells
    }

    fn place(&self, cell: &Class) -> (Task, u64) {
        (cell.task, cell.seed)
    }

    fn settings(&self, _: &Class) -> String {
        format!("{:?}", (cell::STARTS, cell::CONFIDENCE, cell::DRAWS, trees::SEARCH, trees::ROUNDS))
    }

    fn anew(&self, _: &Class) -> bool {
        self.anew
    }

    fn shares(&self, cell: &Class) -> bool {
        cell.family == Family::Trees
    }

    fn fits(&self, cells: &[&Class]) -> u64 {
        cells.len() as u64
    }

    fn problem(&self, sources: &Sources, task: &Task, seed: u64) -> Result<Problem, ExperimentError> {
        let table = || task.source.class_table(&sources.data);
        Ok(Problem::new(table()?, table()?, seed)?)
    }

    fn run(
        &self,
        cells: &[&Class],
        problem: &Problem,
        watch: &dyn Watch,
    ) -> Result<Vec<Outcome>, ExperimentError> {
        if let [first, ..] = cells
            && first.family == Family::Trees
        {
            let goals = |cells: &[Class]| -> Result<Vec<ClassGoal>, ExperimentError> {
                cells.iter().map(|cell| problem.goal(cell)).collect()
            };
            // Boosters are grown for all goals, so that a cell does not depend on which others are run with it.
            let all = GOALS.map(|goal| Class { goal, ..(*first).clone() });
            let cells: Vec<Class> = cells.iter().map(|cell| (*cell).clone()).collect();
            return trees::run((&goals(&all)?, &goals(&cells)?), problem, first.seed, watch).map_err(
                |error| match error {
                    TreesError::Train(TrainError::Stopped) => ExperimentError::Stopped,
                    error => ExperimentError::Trees { what: first.title(), error: Box::new(error) },
                },
            );
        }
        let one = |cell: &&Class| {
            cell::linear(&problem.goal(cell)?, problem, cell.seed, watch).map_err(failed(cell.title()))
        };
        cells.iter().map(one).collect()
    }

    fn results(&self, cells: Vec<Entry<Class, Outcome>>) -> Decided {
        Decided { cells }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;
    use crate::study::collect;
    use crate::task::CLASSES;
    use crate::watch::Counter;

    /// Files with the shape of Pendigits: classes 1, 2 and 9, and some rows of a class that is too small.
    fn made() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let text = |rows: std::ops::Range<usize>| -> String {
            let line = |row: usize| {
                let class = if row % 50 == 49 { 5 } else { [1, 2, 9, 1][row % 4] };
                let value = |column: usize| {
                    let noise = ((row * 16 + column) as f64 * 12.9898).sin() * 43_758.547;
                    (100.0 * noise.fract().abs()) as i64 + if column == class { 40 } else { 0 }
                };
                let values: Vec<String> = (0..16).map(|column| format!("{:3}", value(column))).collect();
                format!("{}, {class}\n", values.join(","))
            };
            rows.map(line).collect()
        };
        std::fs::write(directory.path().join("pendigits.tra"), text(0..500)).unwrap();
        std::fs::write(directory.path().join("pendigits.tes"), text(500..800)).unwrap();
        directory
    }

    #[test]
    fn a_study_is_kept_goes_on_and_does_not_depend_on_threads() {
        let (data, one, two) = (made(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let plan = |output: &tempfile::TempDir, threads| StudyPlan {
            threads,
            seeds: vec![3],
            ..StudyPlan::made(Experiment::Classes, data.path(), output.path(), &[CLASSES[1]])
        };
        let study = Classes { families: vec![Family::Linear], goals: GOALS.to_vec(), anew: false };
        let stopped = collect(&plan(&one, 1), &study, &Counter::new(3));
        assert!(matches!(stopped, Err(ExperimentError::Stopped)));
        let resumed = collect(&plan(&one, 1), &study, &Counter::new(u64::MAX)).unwrap().results;
        let whole = collect(&plan(&two, 2), &study, &Counter::new(u64::MAX)).unwrap().results;
        assert_eq!(whole.cells.len(), GOALS.len());
        for (a, b) in resumed.cells.iter().zip(&whole.cells) {
            let points =
                |outcome: &Outcome| (outcome.setpoint, outcome.exact, outcome.adjusted, outcome.certified);
            assert_eq!(points(&a.outcome), points(&b.outcome), "{}", a.cell.goal);
            let values = if a.cell.goal.starts_with("cost") { -MISSED..=0.0 } else { 0.0..=1.0 };
            // Two conditions at once are more than these rows allow cross-entropy.
            let fits =
                a.outcome.exact.map_or(a.cell.goal.contains("(d)"), |point| values.contains(&point.value));
            assert!(fits, "{}", a.cell.goal);
            // What can be proved are limits, where shifts meet them at all.
            let limit = a.cell.goal.contains(">=") || a.cell.goal.contains("<=");
            let met = a.outcome.setpoint.is_some();
            assert!(met || a.cell.goal.contains("(d)"), "{}", a.cell.goal);
            assert_eq!(a.outcome.certified.is_some(), limit && met, "{}", a.cell.goal);
        }
        let known = Counter::new(u64::MAX);
        collect(&plan(&one, 2), &study, &known).unwrap();
        assert_eq!(known.fits(), 0);
    }

    #[test]
    fn classes_of_too_few_rows_are_in_no_part() {
        let data = made();
        let table = || CLASSES[1].source.class_table(data.path()).unwrap();
        let problem = Problem::new(table(), table(), 0).unwrap();
        assert_eq!(problem.names, ["1", "2", "9"]);
        let parts = [&problem.train, &problem.validation, &problem.calibration, &problem.test];
        let rows: usize = parts.iter().map(|part| part.sample.len()).sum();
        assert_eq!(rows, 800 - 16);
        assert_eq!(problem.rest.len(), problem.calibration.sample.len() + problem.test.sample.len());
        // A file that lacks the class of the goals is no reason to panic.
        let cell = |task| Class { family: Family::Linear, task, goal: GOALS[5], seed: 0 };
        assert!(problem.goal(&cell(CLASSES[1])).is_ok());
        let error = problem.goal(&cell(CLASSES[0])).unwrap_err().to_string();
        assert!(error.contains("no class \"H\" has 40 rows"), "{error}");
    }
}
