//! The record as tables.

use std::path::Path;

use setpoint::goal::Direction;

use super::goals::parse;
use super::picture;
use super::protocol::{Method, Study};
use super::record::{Record, Use};
use crate::document::{self, Document, Grid, spread};
use crate::statistic::{mean, paired};
use crate::{ExperimentError, Picture};

/// The record as text.
#[must_use]
pub fn text(record: &Record) -> String {
    document::text(&grids(record))
}

/// Writes the record as `images.md` (or `networks.md`), `.html` and `.json`, and the pictures.
///
/// # Errors
/// If a file cannot be written.
pub fn save(record: &Record, output: &Path) -> Result<(), ExperimentError> {
    let pictures = picture::draw(record);
    document(record, &pictures).save(output, record.experiment, record)
}

/// The record as a document.
fn document<'r>(record: &'r Record, pictures: &'r [Picture]) -> Document<'r> {
    let Record { date, version, threads, .. } = record;
    Document {
        title: match record.study() {
            Study::Images => "The paper's image experiments",
            Study::Networks => "Networks at equal compute",
        },
        circumstances: format!("{date}, setpoint {version}, {threads} cells at a time, one thread each."),
        version,
        command: &record.command,
        procedure: procedure(record),
        grids: grids(record),
        pictures,
        files: record.files.values().flatten().collect(),
    }
}

/// What was run, in paragraphs; code stands between backticks.
fn procedure(record: &Record) -> Vec<String> {
    let seeds: Vec<String> = record.seeds.iter().map(u64::to_string).collect();
    let common = format!(
        "Seeds {}; {}. Settings, and the epoch to stop at, are chosen on validation; the tables hold the value\n\
         at the condition on the test rows, in %, mean ± sd over the seeds. All methods: Adam, the same batches,\n\
         a moving average of the weights. Grids: `setpoint_experiments::network::grid`. Every single cell:\n\
         `{}.json`. Cells are taken from `journal.jsonl` in the output directory where data, version and settings\n\
         are the same; `--anew METHOD` runs a method again after a change to its code.",
        seeds.join(", "),
        record.protocol,
        record.experiment,
    );
    let own = match record.study() {
        Study::Images => {
            "Of each method the best fit by validation, as in the paper; Setpoint is what it comes to by itself:\n\
             three fits of cross-entropy, each refined and averaged (one for each rotation of train and validation rows; once: three starts), or the average of the\n\
             fits of cross-entropy where the gain on validation does not exceed its standard error."
        }
        Study::Networks => {
            "Every method has the epochs of four fits. The rivals spend them on a grid and on restarts, and are\n\
             taken at their better use by the mean on test: the best fit by validation, or the average of their\n\
             three best. Setpoint spends them on three fits of cross-entropy, one for each rotation of train and validation rows (once: three starts), and a refinement of each."
        }
    };
    vec![common, own.to_owned()]
}

fn grids(record: &Record) -> Vec<Grid> {
    let mut grids = Vec::new();
    let goals = record.goals();
    for (kind, title) in [
        ("fnr", "Fnr at a limit on fpr (lower is better)"),
        ("roc-auc", "Roc-auc over fpr in 0..b, McClish"),
        ("recall", "Recall at a limit on fpr"),
    ] {
        let of_kind: Vec<&str> =
            goals.iter().filter(|goal| goal.split(' ').next() == Some(kind)).copied().collect();
        if !of_kind.is_empty() {
            grids.push(values(record, title, &of_kind));
        }
    }
    if record.methods().contains(&Method::Auto) {
        grids.push(own_gain(record));
    }
    grids.push(compute(record));
    grids
}

/// The uses of a method's fits that the study's tables have.
fn uses(study: Study, method: Method) -> &'static [Use] {
    match (study, method) {
        (Study::Images, _) | (_, Method::Once | Method::Auto | Method::CrossEntropy) => &[Use::Best],
        (Study::Networks, _) => &[Use::Best, Use::Average],
    }
}

fn dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// Test values, and the gain over the best rival.
fn values(record: &Record, title: &str, goals: &[&str]) -> Grid {
    let methods = record.methods();
    let mut heading = vec!["task".to_owned(), "goal".to_owned()];
    for method in &methods {
        for way in uses(record.study(), *method) {
            heading.push(match way {
                Use::Best => method.title().to_owned(),
                Use::Average => format!("{}, average", method.title()),
            });
        }
    }
    heading.push("Setpoint over the best rival".to_owned());
    let mut rows = Vec::new();
    for (task, title) in record.tasks() {
        for goal in goals {
            let mut row = vec![title.to_owned(), (*goal).to_owned()];
            for method in &methods {
                let value = |way: &Use| dash(record.test(task, goal, *method, *way).map(|all| spread(&all)));
                row.extend(uses(record.study(), *method).iter().map(value));
            }
            row.push(dash(rival(record, task, goal).map(|rival| rival.to_string())));
            rows.push(row);
        }
    }
    Grid {
        title: title.to_owned(),
        holds: "On the test rows, in %: mean ± sd over the seeds",
        heading,
        rows,
        note: "Setpoint over the best rival: mean of the paired differences ± its standard error, positive is better;\n\
               the rival is the one with the best mean on these very test rows, which favours it."
            .to_owned(),
    }
}

/// Setpoint against the best of the rivals.
#[derive(Clone, Debug, PartialEq)]
pub struct Rival {
    /// The rival with the best mean on test.
    pub method: Method,
    /// How its fits are used.
    pub way: Use,
    /// Mean of the paired differences, in points; positive is better for Setpoint.
    pub difference: f64,
    /// Its standard error.
    pub error: f64,
}

impl std::fmt::Display for Rival {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let way = if self.way == Use::Average { ", average" } else { "" };
        write!(f, "{:+.2} ± {:.2} ({}{way})", self.difference, self.error, self.method.title())
    }
}

/// Setpoint against the best of the rivals that have values.
#[must_use]
pub fn rival(record: &Record, task: &str, goal: &str) -> Option<Rival> {
    let sign = sign(goal);
    let ours = record.test(task, goal, Method::Auto, Use::Best)?;
    let ways = Method::RIVALS
        .into_iter()
        .flat_map(|method| uses(record.study(), method).iter().map(move |way| (method, *way)));
    let valued = ways.filter_map(|(method, way)| Some((method, way, record.test(task, goal, method, way)?)));
    let (method, way, theirs) = valued.max_by(|a, b| (sign * mean(&a.2)).total_cmp(&(sign * mean(&b.2))))?;
    let (difference, error) = paired(&ours, &theirs);
    // Adding 0 turns -0 into 0.
    Some(Rival { method, way, difference: sign * difference + 0.0, error })
}

fn sign(goal: &str) -> f64 {
    if parse(goal).objective.direction() == Direction::Up { 1.0 } else { -1.0 }
}

/// What Setpoint says of its gain on validation, and what it turned out to be on test.
fn own_gain(record: &Record) -> Grid {
    let mut rows = Vec::new();
    for (task, title) in record.tasks() {
        for goal in record.goals() {
            let cells = record.cells(task, goal, Method::Auto);
            let gains: Vec<_> =
                cells.iter().filter_map(|cell| Some((cell.fitted.test, cell.fitted.gain?))).collect();
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
                title.to_owned(),
                goal.to_owned(),
                told.collect::<Vec<_>>().join("; "),
                format!("{} of {}", gains.iter().filter(|(_, gain)| !gain.kept).count(), gains.len()),
                format!("{:+.2} ± {error:.2}", sign(goal) * difference + 0.0),
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
fn compute(record: &Record) -> Grid {
    let methods = record.methods();
    let mut rows = Vec::new();
    for (task, title) in record.tasks() {
        let mut row = vec![title.to_owned()];
        for method in &methods {
            let cells: Vec<_> =
                record.cells.iter().filter(|cell| cell.task == task && cell.method == *method).collect();
            let average = |value: fn(&super::Fitted) -> f64| {
                mean(&cells.iter().map(|cell| value(&cell.fitted)).collect::<Vec<_>>())
            };
            row.push(if cells.is_empty() {
                "-".to_owned()
            } else {
                format!("{:.0} / {:.1}", average(|fitted| fitted.epochs), average(|fitted| fitted.seconds))
            });
        }
        rows.push(row);
    }
    let heading = std::iter::once("task").chain(methods.iter().map(|method| method.title()));
    Grid {
        title: "Compute".to_owned(),
        holds: "Epochs / seconds per cell",
        heading: heading.map(str::to_owned).collect(),
        rows,
        note: "Epochs / wall-clock seconds on one thread of all fits behind a cell, mean over goals and seeds; fits of\n\
               cross-entropy that several cells share are counted in each."
            .to_owned(),
    }
}

#[cfg(test)]
mod tests;
