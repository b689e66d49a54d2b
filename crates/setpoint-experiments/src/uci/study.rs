//! The study: which cells, and what they depend on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::cell::{self, Outcome};
use super::picture;
use super::protocol::{grid, starts};
use crate::goals::{Table, parse};
use crate::problem::failed;
use crate::record::unique;
use crate::split::standardised;
use crate::task::{Source, Task};
use crate::{
    Cell, Cells, Entry, Experiment, ExperimentError, Method, Picture, Problem, Sources, Study, StudyPlan,
    Watch, export,
};

/// Linear models on the paper's tables.
#[derive(Clone, Debug)]
pub struct Uci {
    /// Tables.
    pub tables: Vec<Table>,
    /// Methods.
    pub methods: Vec<Method>,
    /// Methods to run again although the journal has them.
    pub anew: Vec<Method>,
}

/// Writes `<set>-<seed>.safetensors` for other tools. Returns the file's path.
///
/// # Errors
/// If the data cannot be read or the file not be written.
pub fn export(data: &Path, task: &Task, seed: u64, to: &Path) -> Result<PathBuf, ExperimentError> {
    let path = to.join(format!("{}-{seed}.safetensors", task.name));
    export::write(&path, &standardised(task.source, data, seed)?, BTreeMap::new())?;
    Ok(path)
}

/// Linear models over a set split by a seed.
pub(super) fn split(data: &Path, task: &Task, seed: u64) -> Result<Problem, ExperimentError> {
    let what = format!("{} with seed {seed}", task.title);
    Problem::linear(standardised(task.source, data, seed)?).map_err(failed(what))
}

impl Study for Uci {
    type Cell = Cell;
    type Outcome = Outcome;
    type Problem = Problem;
    type Results = Cells<Outcome>;

    fn cells(&self, plan: &StudyPlan) -> Vec<Cell> {
        let mut cells = Vec::new();
        for table in &self.tables {
            // The paper's figure 3 is of two sets.
            let covers = |task: &&Task| {
                *table != Table::Range || matches!(task.source, Source::Letter | Source::Ijcnn1)
            };
            for goal in table.goals() {
                for task in plan.tasks.iter().filter(covers) {
                    cells.extend(Cell::each(Experiment::Uci, *task, &goal, &self.methods, &plan.seeds));
                }
            }
        }
        unique(cells)
    }

    fn place(&self, cell: &Cell) -> (Task, u64) {
        (cell.task, cell.seed)
    }

    fn settings(&self, cell: &Cell) -> String {
        let grid = grid(cell.method, &parse(&cell.goal), cell.seed);
        format!("{:?}", (starts(cell.method, cell.seed), grid))
    }

    fn anew(&self, cell: &Cell) -> bool {
        self.anew.contains(&cell.method)
    }

    fn fits(&self, cells: &[&Cell]) -> u64 {
        let fits = |Cell { method, goal, seed, .. }: &&Cell| {
            grid(*method, &parse(goal), *seed).len() + starts(*method, *seed).len()
        };
        cells.iter().map(fits).sum::<usize>() as u64
    }

    fn problem(&self, sources: &Sources, task: &Task, seed: u64) -> Result<Problem, ExperimentError> {
        split(&sources.data, task, seed)
    }

    fn run(
        &self,
        cells: &[&Cell],
        problem: &Problem,
        watch: &dyn Watch,
    ) -> Result<Vec<Outcome>, ExperimentError> {
        cells.iter().map(|cell| cell::run(cell, problem, watch)).collect()
    }

    fn results(&self, cells: Vec<Entry<Cell, Outcome>>) -> Cells<Outcome> {
        Cells { cells }
    }

    fn pictures(
        &self,
        plan: &StudyPlan,
        results: &mut Cells<Outcome>,
        watch: &dyn Watch,
    ) -> Result<Vec<Picture>, ExperimentError> {
        let pictures = picture::draw(plan, results, watch)?;
        for entry in &mut results.cells {
            if let Outcome::Fitted(fitted) = &mut entry.outcome {
                fitted.parameters.clear();
            }
        }
        Ok(pictures)
    }
}

#[cfg(test)]
mod tests;
