//! Whether the parts of a split by time can be of one population, which a certificate assumes.
//!
//! The scores of each class, and the share of positives where a condition depends on it, are compared
//! between the parts that the model has not been fitted to, in the order of time.

use setpoint::Sample;
use setpoint::goal::{Constraint, Goal};
use setpoint::metric::two_sample::{TwoSample, kolmogorov_smirnov, shares};
use setpoint_report::{ByPart, ComparedRecord, PopulationRecord};

use crate::examples::Loaded;

/// The chance of a caution where there is no change, at the most.
const LEVEL: f64 = 0.01;

/// Rows of one time.
struct Era<'a> {
    name: &'static str,
    sample: &'a Sample,
    scores: &'a [f32],
    rows: Vec<usize>,
}

/// Compares the parts; `None` where the split is not by time, or nothing was held out.
///
/// Parts are compared where the rows of both come from that split and neither has trained the model:
/// validation, unless it was used, with calibration; the halves of calibration; calibration with test.
pub(crate) fn compare(
    goal: &Goal,
    loaded: &Loaded,
    scores: &ByPart<Option<Vec<f32>>>,
    used_validation: bool,
) -> Option<PopulationRecord> {
    let later = loaded.later.as_ref()?;
    let era = |part: &'static str, name: &'static str, rows: &dyn Fn(usize) -> bool| {
        let sample = &loaded.parts.get(part)?.as_ref()?.sample;
        let scores = scores.get(part)?.as_deref()?;
        Some(Era { name, sample, scores, rows: (0..sample.len()).filter(|row| rows(*row)).collect() })
    };
    let calibration = era("calibration", "calibration", &|_| true)?;
    let before = era("validation", "validation", &|_| !used_validation)?;
    let early = era("calibration", "the earlier half", &|row| !later[row])?;
    let late = era("calibration", "the later half of calibration", &|row| later[row])?;
    let after = era("test", "test", &|_| loaded.test_hash.is_none());
    let mut comparisons = Vec::new();
    for (first, second) in [(&before, &calibration), (&early, &late)]
        .into_iter()
        .chain(after.as_ref().map(|after| (&calibration, after)))
    {
        comparisons.extend(between(goal, first, second));
    }
    Some(PopulationRecord::new(LEVEL, comparisons))
}

/// The comparisons between two times, group by group where the goal has conditions on groups.
fn between(goal: &Goal, first: &Era<'_>, second: &Era<'_>) -> Vec<ComparedRecord> {
    let groups: Vec<Option<&String>> = match second.sample.groups() {
        Some(groups) if goal.column().is_some() => groups.names().iter().map(Some).collect(),
        _ => vec![None],
    };
    let mut comparisons = Vec::new();
    for group in groups {
        let [one, other] = [first, second].map(|era| era.classes(group));
        let mut add = |what: &'static str, found: Option<TwoSample>| {
            comparisons.extend(found.map(|found| ComparedRecord {
                first: first.name,
                second: second.name,
                what,
                group: group.cloned(),
                difference: found.difference,
                p_value: found.p_value,
                differs: false,
            }));
        };
        add("scores of negatives", kolmogorov_smirnov(&one[0], &other[0]));
        add("scores of positives", kolmogorov_smirnov(&one[1], &other[1]));
        if !goal.constraints.iter().all(Constraint::survives_mix) {
            let [one, other] = [one, other].map(|[negatives, positives]| {
                (positives.len() as u64, (positives.len() + negatives.len()) as u64)
            });
            add("share of positives", shares(one, other));
        }
    }
    comparisons
}

impl Era<'_> {
    /// The scores of the negatives and of the positives, of one group or of all.
    fn classes(&self, group: Option<&String>) -> [Vec<f32>; 2] {
        let mut classes = [Vec::new(), Vec::new()];
        let code =
            |row: usize| self.sample.groups().map(|groups| &groups.names()[groups.codes()[row] as usize]);
        for row in self.rows.iter().copied().filter(|row| group.is_none() || code(*row) == group) {
            classes[usize::from(self.sample.labels()[row])].push(self.scores[row]);
        }
        classes
    }
}
