//! Whether the parts of a split by time can be of one population, which a certificate assumes.
//!
//! The scores of each class, and the share of positives where a condition depends on it, are compared
//! between the parts that the model has not been fitted to, in the order of time. Of several classes it is, for
//! each that has a condition, by how much a row is decided as it or not.

use setpoint::Sample;
use setpoint::goal::{ClassCondition, Constraint, Goal, Over};
use setpoint::metric::two_sample::{TwoSample, kolmogorov_smirnov, shares};
use setpoint_report::{ByPart, ComparedRecord, PopulationRecord};

use crate::examples::Loaded;
use crate::kind::ByShift;

/// The chance of a caution where there is no change, at the most.
const LEVEL: f64 = 0.01;

/// Rows of one time.
struct Era<'a> {
    name: &'static str,
    sample: &'a Sample,
    scores: &'a [f32],
    rows: Vec<usize>,
}

/// Whether a row is positive, and its score; `None` for rows that do not count.
type Look<'v> = Box<dyn Fn(&Sample, &[f32], usize) -> Option<(bool, f32)> + 'v>;

/// What is compared: scores of rows that are positive in some sense and of others, and how many there are.
pub(crate) struct View<'v> {
    /// `scores of negatives`, `scores of positives`, and `share of positives` where that counts.
    what: [String; 3],
    shares: bool,
    group: Option<String>,
    row: Look<'v>,
}

/// What conditions of two classes depend on, group by group where they are on groups.
pub(crate) fn of_two<'v>(goal: &Goal, calibration: Option<&Sample>) -> Vec<View<'v>> {
    let groups: Vec<Option<String>> = match calibration.and_then(Sample::groups) {
        Some(groups) if goal.column().is_some() => groups.names().iter().cloned().map(Some).collect(),
        _ => vec![None],
    };
    let view = |group: Option<String>| View {
        what: ["scores of negatives", "scores of positives", "share of positives"].map(str::to_owned),
        shares: !goal.constraints.iter().all(Constraint::survives_mix),
        group: group.clone(),
        row: Box::new(move |sample, scores, row| {
            let own = |name: &String| {
                sample.groups().is_some_and(|of| of.names()[of.codes()[row] as usize] == *name)
            };
            group.as_ref().is_none_or(own).then(|| (sample.labels()[row], scores[row]))
        }),
    };
    groups.into_iter().map(view).collect()
}

/// What conditions on classes depend on.
pub(crate) fn of_classes(decision: &ByShift) -> Vec<View<'_>> {
    let limits = decision.limits();
    let on = |class: usize| -> Vec<&ClassCondition> {
        limits.iter().filter(|limit| limit.rate.over == Over::Class(class)).collect()
    };
    let view = |class: usize| {
        let (own, name) = (on(class), &decision.goal.classes[class]);
        (!own.is_empty()).then(|| View {
            what: [
                format!("margins of rows other than {name:?}"),
                format!("margins of {name:?}"),
                format!("share of {name:?}"),
            ],
            shares: !own.iter().all(|limit| limit.rate.rate.survives_mix()),
            group: None,
            row: Box::new(move |sample, scores, row| {
                let count = decision.shifts.len();
                let margins = scores[row * count..][..count].iter().zip(&decision.shifts);
                let margins: Vec<f64> = margins.map(|(score, shift)| f64::from(*score) - shift).collect();
                let others = margins.iter().enumerate().filter(|(other, _)| *other != class);
                let best = others.map(|(_, margin)| *margin).fold(f64::NEG_INFINITY, f64::max);
                let code = sample.groups()?.codes()[row] as usize;
                Some((code == class, (margins[class] - best) as f32))
            }),
        })
    };
    (0..decision.goal.classes.len()).filter_map(view).collect()
}

/// Compares the parts; `None` where the split is not by time, or nothing was held out.
///
/// Parts are compared where the rows of both come from that split and neither has trained the model:
/// validation, unless it was used, with calibration; the halves of calibration; calibration with test.
pub(crate) fn compare(
    views: &[View<'_>],
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
        views.iter().for_each(|view| comparisons.extend(between(view, first, second)));
    }
    Some(PopulationRecord::new(LEVEL, comparisons))
}

/// The comparisons between two times.
fn between(view: &View<'_>, first: &Era<'_>, second: &Era<'_>) -> Vec<ComparedRecord> {
    let [one, other] = [first, second].map(|era| era.seen(view));
    let count = |[negatives, positives]: &[Vec<f32>; 2]| {
        (positives.len() as u64, (positives.len() + negatives.len()) as u64)
    };
    let found: [Option<TwoSample>; 3] = [
        kolmogorov_smirnov(&one[0], &other[0]),
        kolmogorov_smirnov(&one[1], &other[1]),
        if view.shares { shares(count(&one), count(&other)) } else { None },
    ];
    let record = |(what, found): (&String, TwoSample)| ComparedRecord {
        first: first.name,
        second: second.name,
        what: what.clone(),
        group: view.group.clone(),
        difference: found.difference,
        p_value: found.p_value,
        differs: false,
    };
    view.what.iter().zip(found).filter_map(|(what, found)| Some(record((what, found?)))).collect()
}

impl Era<'_> {
    /// The scores of the negatives and of the positives.
    fn seen(&self, view: &View<'_>) -> [Vec<f32>; 2] {
        let mut seen = [Vec::new(), Vec::new()];
        for (positive, score) in self.rows.iter().filter_map(|row| (view.row)(self.sample, self.scores, *row))
        {
            seen[usize::from(positive)].push(score);
        }
        seen
    }
}
