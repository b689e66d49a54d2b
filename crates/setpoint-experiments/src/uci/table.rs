//! The results as tables.

use super::cell::{Fitted, Outcome};
use super::expected::{METHODS, TRIALS, expected};
use super::protocol::STEPS;
use crate::goals::Table;
use crate::statistic::{deviation, mean};
use crate::table::{Column, Comparison, spread};
use crate::task::Task;
use crate::{Cells, Experiment, Grid, Method, Results};

impl Results for Cells<Outcome> {
    fn title(&self) -> &'static str {
        "The paper's UCI experiments"
    }

    fn procedure(&self, seeds: &str) -> Vec<String> {
        vec![
            format!(
                "Linear models; random splits 50/25/25 with seeds {seeds}; columns standardised on the training rows.\n\
                 Settings, and the step to stop at, are chosen on validation; the tables hold the value at the\n\
                 condition on the test rows, in %, mean ± sd over the splits. First-order methods take {STEPS} full-batch\n\
                 steps. Grids: `setpoint_experiments::uci::protocol`. Every single cell: `uci.json`. Cells are taken from\n\
                 `journal.jsonl` in the output directory where data, version and grid are the same; `--anew METHOD` runs\n\
                 a method again after a change to its code.",
            ),
            "Setpoint lets train and validation rows change places three times and averages the fits, so it learns\n\
             from both (its threshold then comes from a calibration part, which these tables do not need).\n\
             \"Setpoint, once\" does not: like the others it learns from the training rows and chooses on validation."
                .to_owned(),
        ]
    }

    fn grids(&self) -> Vec<Grid> {
        let mut grids = Vec::new();
        for (table, goals) in Table::of(&self.goals()) {
            let first = goals[0].clone();
            grids.push(comparison(self, table, goals).grid());
            if table == Table::PrAuc {
                grids.push(beside_the_paper(self, &first));
            }
        }
        grids.push(seconds(self));
        grids
    }
}

/// The test values of a method in percent, seed by seed; `None` where it has no cells or no loss.
pub(super) fn test(cells: &Cells<Outcome>, task: &Task, goal: &str, method: Method) -> Option<Vec<f64>> {
    cells.values(task, goal, method, |outcome| outcome.fitted().map(|fitted| fitted.test))
}

/// Test values, and the gain over the best rival.
fn comparison(cells: &Cells<Outcome>, table: Table, goals: Vec<String>) -> Comparison<'_, Method> {
    let methods = cells.methods();
    let subject = if methods.contains(&Method::Setpoint) { Method::Setpoint } else { Method::Ico };
    let column = |method: Method| Column {
        of: method,
        title: method.title().to_owned(),
        rival: Method::RIVALS.contains(&method).then(|| method.name(Experiment::Uci).to_owned()),
    };
    Comparison {
        title: table.title(),
        heading: if goals.len() > 1 { &["set", "goal"] } else { &["set"] },
        tasks: cells.tasks(Some(&goals[0])),
        goals,
        columns: methods.into_iter().map(column).collect(),
        subject: subject.title(),
        values: Box::new(|task, goal, method| test(cells, task, goal, *method)),
    }
}

/// Our runs of the paper's three methods beside its own figures.
fn beside_the_paper(cells: &Cells<Outcome>, goal: &str) -> Grid {
    let row = |task: &Task| {
        let mut row = vec![task.title.to_owned()];
        for (method, paper) in METHODS.into_iter().zip(expected(task.source)?) {
            let ours = test(cells, task, goal, method);
            row.push(ours.as_deref().map_or_else(|| "-".to_owned(), spread));
            row.push(format!("{:.2} ± {:.2}", paper.0, paper.1));
            if method == Method::Ico {
                row.push(ours.map_or_else(|| "-".to_owned(), |ours| from_paper(&ours, paper)));
            }
        }
        Some(row)
    };
    let heading = [
        "set",
        "cross-entropy",
        "paper's",
        "lagrangian",
        "paper's TFCO",
        "ico",
        "paper's ICO",
        "ico less paper's",
    ];
    Grid {
        title: "Beside the paper's figures".to_owned(),
        holds: "Pr-auc over recall in 0.95..1, in %: mean ± sd over the splits",
        heading: heading.map(str::to_owned).to_vec(),
        rows: cells.tasks(Some(goal)).iter().filter_map(row).collect(),
        note: "Ico less paper's: in points, and in standard errors of the difference of the two means\n\
               (other splits of the same data: not paired)."
            .to_owned(),
    }
}

/// The difference to the paper's mean, in points and in standard errors.
fn from_paper(ours: &[f64], (paper, sd): (f64, f64)) -> String {
    let difference = mean(ours) - paper;
    let error = (deviation(ours).powi(2) / ours.len() as f64 + sd.powi(2) / TRIALS).sqrt();
    format!("{difference:+.2} ({:+.1} se)", difference / error)
}

/// Seconds per fitted model, and per whole grid.
fn seconds(cells: &Cells<Outcome>) -> Grid {
    let (heading, rows) = Grid::by_method(cells, "set", |outcomes| {
        let fitted: Vec<&Fitted> = outcomes.iter().filter_map(|outcome| outcome.fitted()).collect();
        let seconds: f64 = fitted.iter().map(|fitted| fitted.seconds).sum();
        let fits: usize = fitted.iter().map(|fitted| fitted.fits).sum();
        (fits > 0).then(|| format!("{:.3} / {:.2}", seconds / fits as f64, seconds / fitted.len() as f64))
    });
    Grid {
        title: "Seconds".to_owned(),
        holds: "Seconds per fitted model / per whole grid",
        heading,
        rows,
        note: "Wall-clock seconds on one thread, mean over all cells: per fitted model / per whole grid. Setpoint's\n\
               defaults are one run of several stages."
            .to_owned(),
    }
}

#[cfg(test)]
mod tests;
