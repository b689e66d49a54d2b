//! The results as tables.

use serde::Serialize;

use super::cell::{CONFIDENCE, DRAWS, Outcome, Point, STARTS};
use super::study::{Class, Family, GOALS};
use crate::record::unique;
use crate::statistic::{mean, paired};
use crate::table::spread;
use crate::task::Task;
use crate::{Entry, Grid, Results};

/// What the study came to.
#[derive(Clone, Debug, Serialize)]
pub struct Decided {
    /// Goal by goal.
    pub cells: Vec<Entry<Class, Outcome>>,
}

/// How Setpoint stands to the best of its rivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lead {
    /// Mean of the paired differences, in points.
    pub(super) difference: f64,
    /// Its standard error.
    pub(super) error: f64,
    /// Whether the rival is the adjustment by one parameter.
    pub(super) adjusted: bool,
}

/// Values in percent, of the splits on which Setpoint and the exact shifts both have one.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) setpoint: Vec<f64>,
    pub(super) exact: Vec<f64>,
    /// Shorter where it met the conditions on fewer of these splits.
    pub(super) adjusted: Vec<f64>,
    pub(super) splits: usize,
}

impl Row {
    pub(super) fn lead(&self) -> Option<Lead> {
        if self.setpoint.is_empty() {
            return None;
        }
        let adjusted = self.adjusted.len() == self.exact.len() && mean(&self.adjusted) > mean(&self.exact);
        let (difference, error) = paired(&self.setpoint, if adjusted { &self.adjusted } else { &self.exact });
        Some(Lead { difference, error, adjusted })
    }
}

impl Decided {
    pub(super) fn of(&self, family: Family, task: &Task, goal: &str) -> Vec<&Outcome> {
        let here = |cell: &Class| cell.family == family && cell.task == *task && cell.goal == goal;
        self.cells.iter().filter(|entry| here(&entry.cell)).map(|entry| &entry.outcome).collect()
    }

    pub(super) fn row(&self, family: Family, task: &Task, goal: &str) -> Row {
        let mut row = Row::default();
        for Outcome { setpoint, exact, adjusted, .. } in self.of(family, task, goal) {
            row.splits += 1;
            if let (Some(setpoint), Some(exact)) = (setpoint, exact) {
                row.setpoint.push(100.0 * setpoint.value);
                row.exact.push(100.0 * exact.value);
                row.adjusted.extend(adjusted.map(|point| 100.0 * point.value));
            }
        }
        row
    }

    fn tasks(&self, family: Family) -> Vec<Task> {
        let cells = self.cells.iter().filter(|entry| entry.cell.family == family);
        unique(cells.map(|entry| entry.cell.task))
    }

    fn values(&self, family: Family) -> Grid {
        let (title, rival) = match family {
            Family::Linear => ("Linear models", "weighted cross-entropy, exact shifts"),
            Family::Trees => ("Trees", "LightGBM, exact shifts"),
        };
        let mut rows = Vec::new();
        let mut tally = [0; 3];
        for task in self.tasks(family) {
            for goal in GOALS {
                let row = self.row(family, &task, goal);
                let Some(lead) = row.lead() else { continue };
                let place = match lead {
                    // One split has no standard error.
                    _ if row.setpoint.len() < 2 => 1,
                    Lead { difference, error, .. } if difference > 2.0 * error => 0,
                    Lead { difference, error, .. } if difference < -2.0 * error => 2,
                    _ => 1,
                };
                tally[place] += 1;
                let mut what = goal.replace("(c)", &format!("({})", task.positive));
                if row.setpoint.len() < row.splits {
                    what += &format!(" ({} of {})", row.setpoint.len(), row.splits);
                }
                let adjusted =
                    if row.adjusted.len() == row.exact.len() { spread(&row.adjusted) } else { "n/a".into() };
                let best = if lead.adjusted { "adjustment" } else { "exact shifts" };
                rows.push(vec![
                    task.title.to_owned(),
                    what,
                    adjusted,
                    spread(&row.exact),
                    spread(&row.setpoint),
                    format!("{:+.2} ± {:.2} ({best})", lead.difference + 0.0, lead.error),
                ]);
            }
        }
        let [ahead, level, behind] = tally;
        Grid {
            title: title.to_owned(),
            holds: "The goal's objective on the test rows, in %: mean ± sd over the splits",
            heading: ["task", "goal", "logit adjustment", rival, "Setpoint", "Setpoint over the best rival"]
                .map(str::to_owned)
                .to_vec(),
            rows,
            note: format!(
                "d is the rarest class beside the one that is named, half is half of its share; cost: a row of it that is\n\
                 missed costs 10, any other mistake 1, and minus the cost of 100 rows is shown.\n\
                 Setpoint over the best rival: mean of the paired differences ± its standard error; the rival is the one\n\
                 with the best mean on these very test rows. By two standard errors: {ahead} ahead, {level} level,\n\
                 {behind} behind. Where conditions could not be met on validation by both, the splits that are left are\n\
                 counted behind the goal; n/a: one parameter did not meet them on some split."
            ),
        }
    }

    fn conditions(&self) -> Grid {
        let mut rows = Vec::new();
        let mut sums = [[0; 2]; 4];
        for family in Family::ALL {
            for task in self.tasks(family) {
                for goal in GOALS.iter().filter(|goal| goal.contains(">=") || goal.contains("<=")) {
                    let outcomes = self.of(family, &task, goal);
                    if outcomes.is_empty() {
                        continue;
                    }
                    let certified = || outcomes.iter().filter_map(|outcome| outcome.certified);
                    let counts = [
                        held(outcomes.iter().map(|outcome| outcome.exact)),
                        held(outcomes.iter().map(|outcome| outcome.setpoint)),
                        held(certified().map(|certified| certified.point)),
                        certified().fold([0, 0], |[held, of], found| [held + found.held, of + found.draws]),
                    ];
                    let mut row = vec![
                        if family == Family::Linear {
                            task.title.to_owned()
                        } else {
                            format!("{}, trees", task.title)
                        },
                        goal.replace("(c)", &format!("({})", task.positive)),
                    ];
                    row.extend(counts.map(of));
                    let value =
                        |points: Vec<f64>| if points.is_empty() { "-".to_owned() } else { spread(&points) };
                    let both: Vec<(f64, f64)> = outcomes
                        .iter()
                        .filter_map(|outcome| {
                            Some((outcome.setpoint?.value, outcome.certified?.point?.value))
                        })
                        .collect();
                    row.push(value(both.iter().map(|both| 100.0 * (both.1 - both.0)).collect()));
                    rows.push(row);
                    sums.iter_mut()
                        .zip(counts)
                        .for_each(|(sum, [held, of])| *sum = [sum[0] + held, sum[1] + of]);
                }
            }
        }
        let mut last = vec!["all".to_owned(), String::new()];
        last.extend(sums.map(of));
        last.push(String::new());
        rows.push(last);
        Grid {
            title: "How often conditions hold".to_owned(),
            holds: "Splits on which every condition holds on rows that were not used, of those that had shifts",
            heading: [
                "task",
                "goal",
                "exact shifts",
                "Setpoint, plain",
                "Setpoint, certified",
                "certified, draws",
                "objective, certified less plain",
            ]
            .map(str::to_owned)
            .to_vec(),
            rows,
            note: format!(
                "On the test rows, of the splits that had shifts at all. A certificate speaks of the rows' population, and\n\
                 the test rows are a sample of it: of conditions that hold just so, half are missed there. \"Draws\" shows\n\
                 the promise itself: calibration and test rows together are the population, {DRAWS} times as many rows as\n\
                 calibration has are drawn from it with replacement, shifts certified on them at {:.0}%, and what is\n\
                 counted is whether the conditions hold on the population.",
                100.0 * CONFIDENCE
            ),
        }
    }

    fn seconds(&self) -> Grid {
        let mut rows = Vec::new();
        for family in Family::ALL {
            for task in self.tasks(family) {
                let mut row = vec![format!("{}, {}", task.title, family.name())];
                row.extend(GOALS.map(|goal| {
                    let seconds: Vec<f64> =
                        self.of(family, &task, goal).iter().map(|outcome| outcome.seconds).collect();
                    let back =
                        self.of(family, &task, goal).iter().filter(|outcome| outcome.fell_back).count();
                    format!("{:.1}, {back}", mean(&seconds))
                }));
                rows.push(row);
            }
        }
        let mut heading = vec!["task".to_owned()];
        heading.extend(GOALS.map(str::to_owned));
        Grid {
            title: "Seconds".to_owned(),
            holds: "Seconds of training for each goal, and how often the gain was too small and cross-entropy was kept",
            heading,
            rows,
            note: "Wall-clock seconds of a run of `auto` on one thread, all of its fits of cross-entropy included, mean over\n\
                   the splits; then on how many splits its gain was within a standard error and cross-entropy was kept. For\n\
                   trees: what comes after the search that all goals share."
                .to_owned(),
        }
    }
}

fn of([held, of]: [u64; 2]) -> String {
    if of == 0 { "-".to_owned() } else { format!("{held} of {of} ({:.0}%)", 100.0 * held as f64 / of as f64) }
}

fn held(points: impl Iterator<Item = Option<Point>>) -> [u64; 2] {
    points.flatten().fold([0, 0], |[held, of], point| [held + u64::from(point.held), of + 1])
}

impl Results for Decided {
    fn title(&self) -> &'static str {
        "Several classes"
    }

    fn procedure(&self, seeds: &str) -> Vec<String> {
        vec![
            format!(
                "Random splits 50/20/10/20 (train, validation, calibration, test) with seeds {seeds}, stratified by class.\n\
                 Models, settings and shifts are chosen on validation; the tables hold what they come to on the test rows.\n\
                 Classes of fewer than 40 rows are left out (Shuttle's 6 and 7). Fashion is 10,000 images, its 784 pixels\n\
                 as the 196 sums of 2 x 2; KDD is the tenth of KDD Cup 1999 in five classes, without repeated rows."
            ),
            format!(
                "The rivals of linear models are the fits of cross-entropy that Setpoint makes too: classes weighted by\n\
                 their shares to the power of 0, -1/2 and -1, with and without shrinkage, stopped where the goal is best on\n\
                 validation; the best of them there with a shift for each class, searched from {STARTS} starts. Logit\n\
                 adjustment takes those that are not weighted, and shifts that are one multiple of the logarithms of the\n\
                 classes' shares."
            ),
        ]
    }

    fn grids(&self) -> Vec<Grid> {
        let families = Family::ALL.into_iter().filter(|family| !self.tasks(*family).is_empty());
        let mut grids: Vec<Grid> = families.map(|family| self.values(family)).collect();
        grids.extend([self.conditions(), self.seconds()]);
        grids
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::Certified;
    use crate::task::CLASSES;

    fn point(value: f64, held: bool) -> Option<Point> {
        Some(Point { value, held })
    }

    fn decided(outcomes: Vec<Outcome>) -> Decided {
        let cell = |seed| Class { family: Family::Linear, task: CLASSES[0], goal: GOALS[5], seed };
        let cells = (0..).zip(outcomes).map(|(seed, outcome)| Entry { cell: cell(seed), outcome });
        Decided { cells: cells.collect() }
    }

    fn outcome(setpoint: f64, exact: Option<Point>, adjusted: Option<Point>) -> Outcome {
        let certified = Certified { point: point(setpoint - 0.1, true), draws: 40, held: 39 };
        Outcome {
            setpoint: point(setpoint, false),
            exact,
            adjusted,
            certified: Some(certified),
            winner: "ico".to_owned(),
            fell_back: false,
            seconds: 1.0,
        }
    }

    #[test]
    fn the_lead_is_over_the_better_rival_on_the_splits_that_both_have() {
        let decided = decided(vec![
            outcome(0.8, point(0.7, true), point(0.72, true)),
            outcome(0.6, point(0.5, false), point(0.56, true)),
            outcome(0.9, None, point(0.9, true)),
        ]);
        let lead = decided.row(Family::Linear, &CLASSES[0], GOALS[5]).lead().unwrap();
        // 8 and 4 points over one parameter, which is ahead of the search.
        assert!(lead.adjusted && (lead.difference - 6.0).abs() < 1e-9 && (lead.error - 2.0).abs() < 1e-9);
        let values = decided.values(Family::Linear);
        assert_eq!(values.rows.len(), 1);
        assert_eq!(values.rows[0][1], "accuracy @ recall(H)>=0.9 (2 of 3)");
        assert!(values.note.contains("1 ahead, 0 level"), "{}", values.note);
        let held = decided.conditions();
        assert_eq!(held.rows[0][2..6], ["1 of 2 (50%)", "0 of 3 (0%)", "3 of 3 (100%)", "117 of 120 (98%)"]);
        assert_eq!(held.rows.len(), 2, "and the sum of all");
    }

    #[test]
    fn one_parameter_that_missed_a_split_is_no_rival() {
        let decided = decided(vec![
            outcome(0.8, point(0.7, true), None),
            outcome(0.6, point(0.5, true), point(0.9, true)),
        ]);
        let row = decided.row(Family::Linear, &CLASSES[0], GOALS[5]);
        assert!(!row.lead().unwrap().adjusted);
        assert_eq!(decided.values(Family::Linear).rows[0][2], "n/a");
    }
}
