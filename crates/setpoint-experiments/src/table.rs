//! Tables of results, before they are drawn.

use crate::goals::{parse, sign};
use crate::statistic::{deviation, mean, paired};
use crate::task::Task;
use crate::{Cells, Method};

/// A table with a heading.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Its title.
    pub title: String,
    /// What the cells hold, in short.
    pub holds: &'static str,
    /// The heading of each column.
    pub heading: Vec<String>,
    /// Row by row.
    pub rows: Vec<Vec<String>>,
    /// What the columns mean.
    pub note: String,
}

impl Grid {
    pub(crate) fn columns(&self) -> setpoint_report::Table {
        let mut columns = setpoint_report::Table::with_heading(self.heading.clone());
        self.rows.iter().for_each(|row| columns.row(row.iter().cloned()));
        columns
    }

    /// A row for each task and a column for each method; `n/a` where there is nothing to tell.
    pub(crate) fn by_method<O>(
        cells: &Cells<O>,
        first: &str,
        told: impl Fn(&[&O]) -> Option<String>,
    ) -> (Vec<String>, Vec<Vec<String>>) {
        let methods = cells.methods();
        let all = |task, method: &Method| -> Vec<&O> {
            let here = cells.cells.iter().filter(|entry| entry.cell.task == task);
            here.filter(|entry| entry.cell.method == *method).map(|entry| &entry.outcome).collect()
        };
        let row = |task: Task| {
            let columns =
                methods.iter().map(|method| told(&all(task, method)).unwrap_or_else(|| "n/a".into()));
            std::iter::once(task.title.to_owned()).chain(columns).collect()
        };
        let heading = std::iter::once(first).chain(methods.iter().map(|method| method.title()));
        (heading.map(str::to_owned).collect(), cells.tasks(None).into_iter().map(row).collect())
    }
}

/// Values on the test rows, and the lead of one column over the best of its rivals.
pub(crate) struct Comparison<'r, C> {
    pub title: &'static str,
    /// What the first columns hold: the task and, unless the title says it, the goal.
    pub heading: &'static [&'static str],
    pub tasks: Vec<Task>,
    pub goals: Vec<String>,
    pub columns: Vec<Column<C>>,
    /// The title of the column that is compared with its rivals.
    pub subject: &'static str,
    /// The values of a column in percent, seed by seed; `None` where it has none.
    pub values: Values<'r, C>,
}

type Values<'r, C> = Box<dyn Fn(&Task, &str, &C) -> Option<Vec<f64>> + 'r>;

/// A column of a comparison.
pub(crate) struct Column<C> {
    pub of: C,
    pub title: String,
    /// What it is called as the best rival, if it is one.
    pub rival: Option<String>,
}

/// How much better than the best rival.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lead<'c> {
    /// The rival with the best mean on test.
    pub rival: &'c str,
    /// Mean of the paired differences, in points; positive is better.
    pub difference: f64,
    /// Its standard error.
    pub error: f64,
}

impl<C> Comparison<'_, C> {
    pub fn gain(&self, task: &Task, goal: &str) -> Option<Lead<'_>> {
        let sign = sign(&parse(goal));
        let values = |column: &Column<C>| (self.values)(task, goal, &column.of);
        let ours = values(self.columns.iter().find(|column| column.title == self.subject)?)?;
        let rivals = self.columns.iter().filter(|column| column.title != self.subject);
        let valued = rivals.filter_map(|column| Some((column.rival.as_deref()?, values(column)?)));
        let (rival, theirs) = valued.max_by(|a, b| (sign * mean(&a.1)).total_cmp(&(sign * mean(&b.1))))?;
        let (difference, error) = paired(&ours, &theirs);
        // Adding 0 turns -0 into 0.
        Some(Lead { rival, difference: sign * difference + 0.0, error })
    }

    pub fn grid(&self) -> Grid {
        let over = format!("{} over the best rival", self.subject);
        let mut heading: Vec<String> = self.heading.iter().map(|name| (*name).to_owned()).collect();
        heading.extend(self.columns.iter().map(|column| column.title.clone()));
        heading.push(over.clone());
        let mut rows = Vec::new();
        for task in &self.tasks {
            for goal in &self.goals {
                let mut row = vec![task.title.to_owned(), goal.clone()];
                row.truncate(self.heading.len());
                let values = self.columns.iter().map(|column| (self.values)(task, goal, &column.of));
                row.extend(values.map(|values| values.map_or_else(|| "n/a".to_owned(), |all| spread(&all))));
                row.push(self.gain(task, goal).map_or_else(
                    || "-".to_owned(),
                    |Lead { rival, difference, error }| format!("{difference:+.2} ± {error:.2} ({rival})"),
                ));
                rows.push(row);
            }
        }
        Grid {
            title: self.title.to_owned(),
            holds: "On the test rows, in %: mean ± sd over the seeds",
            heading,
            rows,
            note: format!(
                "{over}: mean of the paired differences ± its standard error, positive is better; the\n\
                 rival is the one with the best mean on these very test rows, which favours it."
            ),
        }
    }
}

/// Mean ± sd.
pub(crate) fn spread(values: &[f64]) -> String {
    format!("{:.2} ± {:.2}", mean(values), deviation(values))
}
