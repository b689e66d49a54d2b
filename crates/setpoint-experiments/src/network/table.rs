//! The results as tables.

use serde::Serialize;

use super::Fitted;
use crate::goals::{Table, parse, sign};
use crate::statistic::{mean, paired};
use crate::table::{Column, Comparison};
use crate::{Cells, Experiment, Grid, Method, Results};

/// What a study of networks came to.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Which study.
    #[serde(skip)]
    pub study: Experiment,
    /// How networks were fitted.
    pub protocol: String,
    /// The cells.
    #[serde(flatten)]
    pub cells: Cells<Fitted>,
}

impl Results for Compared {
    fn title(&self) -> &'static str {
        match self.study {
            Experiment::Images => "The paper's image experiments",
            _ => "Networks at equal compute",
        }
    }

    fn procedure(&self, seeds: &str) -> Vec<String> {
        let common = format!(
            "Seeds {seeds}; {}. Settings, and the epoch to stop at, are chosen on validation; the tables hold the value\n\
             at the condition on the test rows, in %, mean ± sd over the seeds. All methods: Adam, the same batches,\n\
             a moving average of the weights. Grids: `setpoint_experiments::network::grid`. Every single cell:\n\
             `{}.json`. Cells are taken from `journal.jsonl` in the output directory where data, version and settings\n\
             are the same; `--anew METHOD` runs a method again after a change to its code.",
            self.protocol,
            self.study.name(),
        );
        let own = match self.study {
            Experiment::Images => {
                "Of each method the best fit by validation, as in the paper; Setpoint is what it comes to by itself:\n\
                 three fits of cross-entropy, each refined and averaged (one for each rotation of train and validation rows; once: three starts), or the average of the\n\
                 fits of cross-entropy where the gain on validation does not exceed its standard error."
            }
            _ => {
                "Every method has the epochs of four fits. The rivals spend them on a grid and on restarts, and are\n\
                 taken at their better use by the mean on test: the best fit by validation, or the average of their\n\
                 three best. Setpoint spends them on three fits of cross-entropy, one for each rotation of train and validation rows (once: three starts), and a refinement of each."
            }
        };
        vec![common, own.to_owned()]
    }

    fn grids(&self) -> Vec<Grid> {
        let tables = Table::of(&self.cells.goals()).into_iter();
        let mut grids: Vec<Grid> =
            tables.map(|(table, goals)| comparison(self, table, goals).grid()).collect();
        if self.cells.methods().contains(&Method::Setpoint) {
            grids.push(own_gain(&self.cells));
        }
        grids.push(compute(&self.cells));
        grids
    }
}

/// Test values, and the gain over the best rival: of the best fit by validation, and where methods have
/// the same epochs, of the average of the three best too.
fn comparison(results: &Compared, table: Table, goals: Vec<String>) -> Comparison<'_, (Method, bool)> {
    let Compared { study, cells, .. } = results;
    let mut columns = Vec::new();
    for method in cells.methods() {
        let alone = matches!(method, Method::Once | Method::Setpoint | Method::CrossEntropy);
        let uses: &[bool] = if alone || *study == Experiment::Images { &[false] } else { &[false, true] };
        columns.extend(uses.iter().map(|average| {
            let end = if *average { ", average" } else { "" };
            let rival = || format!("{}{end}", method.name(*study));
            Column {
                of: (method, *average),
                title: format!("{}{end}", method.title()),
                rival: Method::RIVALS.contains(&method).then(rival),
            }
        }));
    }
    Comparison {
        title: table.title(),
        heading: &["task", "goal"],
        tasks: cells.tasks(None),
        goals,
        columns,
        subject: Method::Setpoint.title(),
        values: Box::new(|task, goal, (method, average)| {
            cells.values(task, goal, *method, |fitted| match average {
                true => fitted.average.map(|average| average.test),
                false => Some(fitted.test),
            })
        }),
    }
}

/// What Setpoint says of its gain on validation, and what it turned out to be on test.
fn own_gain(cells: &Cells<Fitted>) -> Grid {
    let mut rows = Vec::new();
    for task in cells.tasks(None) {
        for goal in cells.goals() {
            let fitted = cells.of(&task, goal, Method::Setpoint).into_iter();
            let gains: Vec<_> = fitted.filter_map(|fitted| Some((fitted.test, fitted.gain?))).collect();
            if gains.is_empty() {
                continue;
            }
            let told = gains.iter().map(|(_, gain)| {
                let error =
                    gain.standard_error.map_or_else(String::new, |se| format!(" ± {:.2}", 100.0 * se));
                let kept = if gain.kept { "" } else { " (kept cross-entropy)" };
                format!("{:+.2}{error}{kept}", 100.0 * gain.difference)
            });
            let ours: Vec<f64> = gains.iter().map(|(test, _)| 100.0 * test).collect();
            let base: Vec<f64> = gains.iter().map(|(_, gain)| 100.0 * gain.baseline).collect();
            let (difference, error) = paired(&ours, &base);
            rows.push(vec![
                task.title.to_owned(),
                goal.to_owned(),
                told.collect::<Vec<_>>().join("; "),
                format!("{} of {}", gains.iter().filter(|(_, gain)| !gain.kept).count(), gains.len()),
                format!("{:+.2} ± {error:.2}", sign(&parse(goal)) * difference + 0.0),
            ]);
        }
    }
    let heading = ["task", "goal", "gain on validation, seed by seed", "fell back", "gain on test"];
    Grid {
        title: "Setpoint over its own average of cross-entropy".to_owned(),
        holds: "Points, positive is better",
        heading: heading.map(str::to_owned).to_vec(),
        rows,
        note: "Gain on validation ± its standard error from a paired bootstrap, as `setpoint train` prints it; where it\n\
               does not exceed that error, the average of the fits of cross-entropy is what Setpoint comes to. Gain on\n\
               test: mean of the paired differences ± its standard error, 0 where it fell back."
            .to_owned(),
    }
}

/// Epochs and seconds per cell.
fn compute(cells: &Cells<Fitted>) -> Grid {
    let (heading, rows) = Grid::by_method(cells, "task", |fitted| {
        let average =
            |value: fn(&Fitted) -> f64| mean(&fitted.iter().map(|fitted| value(fitted)).collect::<Vec<_>>());
        let told =
            || format!("{:.0} / {:.1}", average(|fitted| fitted.epochs), average(|fitted| fitted.seconds));
        (!fitted.is_empty()).then(told)
    });
    Grid {
        title: "Compute".to_owned(),
        holds: "Epochs / seconds per cell",
        heading,
        rows,
        note: "Epochs / wall-clock seconds on one thread of all fits behind a cell, mean over goals and seeds; fits of\n\
               cross-entropy that several cells share are counted in each."
            .to_owned(),
    }
}

#[cfg(test)]
mod tests;
