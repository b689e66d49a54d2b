//! The studies: which cells, and what they depend on.

use super::cell::{self, Fitted};
use super::protocol::Protocol;
use super::shared::{self, is_shared};
use super::table::Compared;
use crate::goals::parse;
use crate::picture::progress;
use crate::task::Task;
use crate::{
    Cell, Cells, Entry, ExperimentError, Look, Method, Picture, Problem, Sources, Study, StudyPlan, Watch,
};

/// The paper's image experiments, or the comparison at equal compute.
#[derive(Clone, Debug)]
pub struct Networks {
    /// Which of the two, and what it spends.
    pub protocol: Protocol,
    /// Goals, as text.
    pub goals: Vec<String>,
    /// Methods.
    pub methods: Vec<Method>,
    /// Methods to run again although the journal has them.
    pub anew: Vec<Method>,
}

impl Study for Networks {
    type Cell = Cell;
    type Outcome = Fitted;
    type Problem = Problem;
    type Results = Compared;

    fn cells(&self, plan: &StudyPlan) -> Vec<Cell> {
        let pairs = plan.tasks.iter().flat_map(|task| self.goals.iter().map(move |goal| (task, goal)));
        let each = |(task, goal): (&Task, &String)| {
            Cell::each(plan.experiment, *task, goal, &self.methods, &plan.seeds)
        };
        pairs.flat_map(each).collect()
    }

    fn place(&self, cell: &Cell) -> (Task, u64) {
        (cell.task, cell.seed)
    }

    fn settings(&self, cell: &Cell) -> String {
        let (protocol, source) = (&self.protocol, cell.task.source);
        let grid = protocol.grid(cell.method, &parse(&cell.goal), source, cell.seed);
        format!("{:?}", (protocol.auto(source, cell.seed), grid, protocol.cnn, protocol.rows))
    }

    fn anew(&self, cell: &Cell) -> bool {
        self.anew.contains(&cell.method)
    }

    fn shares(&self, cell: &Cell) -> bool {
        is_shared(cell.method)
    }

    fn fits(&self, cells: &[&Cell]) -> u64 {
        let Cell { task, seed, goal, method, .. } = cells[0];
        if is_shared(*method) {
            return shared::fits(cells, &self.protocol);
        }
        // A run of Setpoint's stages counts as one.
        self.protocol.grid(*method, &parse(goal), task.source, *seed).len().max(1) as u64
    }

    fn problem(&self, sources: &Sources, task: &Task, seed: u64) -> Result<Problem, ExperimentError> {
        sources.problem(task, &self.protocol, seed)
    }

    fn run(
        &self,
        cells: &[&Cell],
        problem: &Problem,
        watch: &dyn Watch,
    ) -> Result<Vec<Fitted>, ExperimentError> {
        if is_shared(cells[0].method) {
            return shared::run(cells, problem, &self.protocol, watch);
        }
        cells.iter().map(|cell| cell::run(cell, problem, &self.protocol, watch)).collect()
    }

    fn results(&self, cells: Vec<Entry<Cell, Fitted>>) -> Compared {
        let cells = Cells { cells };
        Compared { study: self.protocol.study, protocol: self.protocol.describe(), cells }
    }

    /// Two pictures for each task and kind of goal, of the best fits of the first seed.
    fn pictures(
        &self,
        plan: &StudyPlan,
        results: &mut Compared,
        _: &dyn Watch,
    ) -> Result<Vec<Picture>, ExperimentError> {
        let (cells, seed, mut pictures) = (&results.cells, plan.seeds[0], Vec::new());
        let kind = |goal: &str| goal.split(' ').next().unwrap_or_default().to_owned();
        // The paper's pictures are of one limit; ours of the first of each kind.
        let mut goals = cells.goals();
        goals.dedup_by_key(|goal| kind(goal));
        for (task, goal) in
            cells.tasks(None).iter().flat_map(|task| goals.iter().map(move |goal| (task, goal)))
        {
            let here = cells.cells.iter().filter(|entry| entry.cell.task == *task);
            let here = here.filter(|entry| entry.cell.goal == *goal && entry.cell.seed == seed);
            let looks = here.map(|entry| (entry.cell.method, &entry.outcome.looks[..]));
            let lines: Vec<(Method, &[Look])> = looks.filter(|(_, looks)| !looks.is_empty()).collect();
            let (title, file) = (task.title, format!("progress-{}-{}", task.name, kind(goal)));
            pictures.extend(progress(task, &file, goal, &lines, |against| {
                format!(
                    "{title}, seed {seed}: {goal} on validation against {against}, best epoch so far of each method's best fit"
                )
            }));
        }
        Ok(pictures)
    }
}

#[cfg(test)]
mod tests;
