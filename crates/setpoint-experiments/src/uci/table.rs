//! The record as tables.

use setpoint::goal::Direction;

use super::Set;
use super::expected::{Expected, Figure, TRIALS};
use super::goals::{Table, parse};
use super::protocol::{Method, STEPS};
use super::record::Record;
use crate::document::{self, Document, Grid, Picture, spread};
use crate::statistic::{deviation, mean, paired};

/// The record as text.
#[must_use]
pub fn text(record: &Record) -> String {
    document::text(&grids(record))
}

/// The record as a document.
pub(super) fn document<'r>(record: &'r Record, pictures: &'r [Picture]) -> Document<'r> {
    let Record { date, version, threads, .. } = record;
    Document {
        title: "The paper's UCI experiments",
        circumstances: format!("{date}, setpoint {version}, {threads} cells at a time, one thread each."),
        version,
        command: &record.command,
        procedure: procedure(record).to_vec(),
        grids: grids(record),
        pictures,
        files: record.files.values().flatten().collect(),
    }
}

/// What was run, in paragraphs; code stands between backticks.
fn procedure(record: &Record) -> [String; 2] {
    let seeds: Vec<String> = record.seeds.iter().map(u64::to_string).collect();
    [
        format!(
            "Linear models; random splits 50/25/25 with seeds {}; columns standardised on the training rows.\n\
             Settings, and the step to stop at, are chosen on validation; the tables hold the value at the\n\
             condition on the test rows, in %, mean ± sd over the splits. First-order methods take {STEPS} full-batch\n\
             steps. Grids: `setpoint_experiments::uci::protocol`. Every single cell: `uci.json`. Cells are taken from\n\
             `journal.jsonl` in the output directory where data, version and grid are the same; `--anew METHOD` runs\n\
             a method again after a change to its code.",
            seeds.join(", ")
        ),
        "Setpoint lets train and validation rows change places three times and averages the fits, so it learns\n\
         from both (its threshold then comes from a calibration part, which these tables do not need).\n\
         \"Setpoint, once\" does not: like the others it learns from the training rows and chooses on validation."
            .to_owned(),
    ]
}

pub(super) fn grids(record: &Record) -> Vec<Grid> {
    let present = |table: &Table| table.goals().iter().all(|goal| !record.sets(goal).is_empty());
    let mut grids = Vec::new();
    for table in Table::ALL.into_iter().filter(present) {
        grids.push(values(record, table));
        if table == Table::PrAuc {
            grids.push(beside_the_paper(record));
        }
    }
    grids.push(seconds(record));
    grids
}

/// Test values, and the gain over the best rival.
fn values(record: &Record, table: Table) -> Grid {
    let methods = record.methods();
    let subject = if methods.contains(&Method::Setpoint) { Method::Setpoint } else { Method::Ico };
    let goals = table.goals();
    let mut heading = vec!["set".to_owned()];
    if goals.len() > 1 {
        heading.push("goal".to_owned());
    }
    heading.extend(methods.iter().map(|method| method.title().to_owned()));
    heading.push(format!("{} over the best rival", subject.title()));
    let mut rows = Vec::new();
    for set in record.sets(&goals[0]) {
        for goal in &goals {
            let mut row = vec![set.title().to_owned()];
            if goals.len() > 1 {
                row.push(goal.clone());
            }
            let value = |method: &Method| record.test(set, goal, *method);
            row.extend(
                methods
                    .iter()
                    .map(|method| value(method).map_or_else(|| "n/a".to_owned(), |values| spread(&values))),
            );
            row.push(
                gain(record, set, goal, subject).map_or_else(|| "-".to_owned(), |gain| gain.to_string()),
            );
            rows.push(row);
        }
    }
    let title = match table {
        Table::PrAuc => "Pr-auc over recall in 0.95..1",
        Table::Fnr => "Fnr at a limit on fpr (lower is better)",
        Table::RocAuc => "Roc-auc over fpr in 0..b, McClish",
        Table::Range => "Pr-auc over recall in b..1",
    };
    let note = format!(
        "{} over the best rival: mean of the paired differences ± its standard error, positive is better; the\n\
         rival is the one with the best mean on these very test rows, which favours it.",
        subject.title()
    );
    Grid {
        title: title.to_owned(),
        holds: "On the test rows, in %: mean ± sd over the splits",
        heading,
        rows,
        note,
    }
}

/// How much better than the best rival.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// The rival with the best mean on test.
    pub rival: Method,
    /// Mean of the paired differences, in points; positive is better.
    pub difference: f64,
    /// Its standard error.
    pub error: f64,
}

impl std::fmt::Display for Gain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:+.2} ± {:.2} ({})", self.difference, self.error, self.rival.name())
    }
}

/// A method against the best of the rivals that have values.
#[must_use]
pub fn gain(record: &Record, set: Set, goal: &str, subject: Method) -> Option<Gain> {
    let sign = if parse(goal).objective.direction() == Direction::Up { 1.0 } else { -1.0 };
    let ours = record.test(set, goal, subject)?;
    let rivals = Method::RIVALS.into_iter().filter(|rival| *rival != subject);
    let valued = rivals.filter_map(|rival| Some((rival, record.test(set, goal, rival)?)));
    let (rival, theirs) = valued.max_by(|a, b| (sign * mean(&a.1)).total_cmp(&(sign * mean(&b.1))))?;
    let (difference, error) = paired(&ours, &theirs);
    Some(Gain { rival, difference: sign * difference, error })
}

/// Our runs of the paper's three methods beside its own figures.
fn beside_the_paper(record: &Record) -> Grid {
    let goal = &Table::PrAuc.goals()[0];
    let mut rows = Vec::new();
    for set in record.sets(goal) {
        let expected = Expected::of(set);
        let mut row = vec![set.title().to_owned()];
        for (method, paper) in [
            (Method::CrossEntropy, expected.cross_entropy),
            (Method::Lagrangian, expected.tfco),
            (Method::Ico, expected.ico),
        ] {
            let ours = record.test(set, goal, method);
            row.push(ours.as_deref().map_or_else(|| "-".to_owned(), spread));
            row.push(format!("{:.2} ± {:.2}", paper.mean, paper.deviation));
            if method == Method::Ico {
                row.push(ours.map_or_else(|| "-".to_owned(), |ours| from_paper(&ours, paper)));
            }
        }
        rows.push(row);
    }
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
        rows,
        note: "Ico less paper's: in points, and in standard errors of the difference of the two means\n\
               (other splits of the same data: not paired)."
            .to_owned(),
    }
}

/// The difference to the paper's mean, in points and in standard errors.
fn from_paper(ours: &[f64], paper: Figure) -> String {
    let difference = mean(ours) - paper.mean;
    let error = (deviation(ours).powi(2) / ours.len() as f64 + paper.deviation.powi(2) / TRIALS).sqrt();
    format!("{difference:+.2} ({:+.1} se)", difference / error)
}

/// Seconds per fitted model, and per whole grid.
fn seconds(record: &Record) -> Grid {
    let methods = record.methods();
    let mut rows = Vec::new();
    for set in Set::ALL {
        let mut row = vec![set.title().to_owned()];
        for method in &methods {
            let cells =
                record.cells.iter().filter(|cell| cell.set == set.name() && cell.method == method.name());
            let (mut seconds, mut fits, mut grids) = (0.0, 0, 0);
            for cell in cells {
                if let super::cell::Outcome::Fitted(fitted) = &cell.outcome {
                    seconds += fitted.seconds;
                    fits += fitted.fits;
                    grids += 1;
                }
            }
            row.push(if grids == 0 {
                "n/a".to_owned()
            } else {
                format!("{:.3} / {:.2}", seconds / fits as f64, seconds / f64::from(grids))
            });
        }
        if row.iter().skip(1).any(|cell| cell != "n/a") {
            rows.push(row);
        }
    }
    let heading = std::iter::once("set").chain(methods.iter().map(|method| method.title()));
    Grid {
        title: "Seconds".to_owned(),
        holds: "Seconds per fitted model / per whole grid",
        heading: heading.map(str::to_owned).collect(),
        rows,
        note: "Wall-clock seconds on one thread, mean over all cells: per fitted model / per whole grid. Setpoint's\n\
               defaults are one run of several stages."
            .to_owned(),
    }
}

#[cfg(test)]
mod tests;
