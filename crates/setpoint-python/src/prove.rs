//! Certified thresholds for any model's scores.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use setpoint::metric::Ranked;
use setpoint::problem::ProblemOptions;
use setpoint::threshold::exact;
use setpoint_run::{Asked, FailureKind};

use crate::array::{GroupArrays, sample, slice, together};
use crate::error::{Wrong, goal, in_python};
use crate::pool::work;

/// A certificate as JSON, and in words.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called from one place in Python, by position")]
pub fn certify(
    py: Python<'_>,
    asked: &str,
    scores: PyReadonlyArray1<'_, f64>,
    labels: PyReadonlyArray1<'_, bool>,
    groups: Option<GroupArrays<'_>>,
    entities: Option<GroupArrays<'_>>,
    approximate: bool,
    confidence: f64,
) -> PyResult<(String, String)> {
    let asked = Asked { approximate, ..Asked::new(asked).map_err(Wrong::from)? };
    let sample = together(sample(slice(&labels)?, None, groups.as_ref())?, entities.as_ref())?;
    let scores = slice(&scores)?;
    let found = work(py, || {
        let certified = setpoint_run::certify(&asked, &sample, scores, confidence)?;
        Ok((serde_json::to_string(&certified.record)?, certified.text))
    });
    Ok(found?)
}

/// The thresholds of a goal: certified where that can be done, else exact, with the reason.
///
/// Thresholds, their groups, the certificate as JSON, the approximate limits in its place, and why there
/// is none.
pub type Chosen = (Vec<f64>, Vec<String>, Option<String>, Option<String>, Option<String>);

/// Chooses the thresholds of a goal on held-out scores.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called from one place in Python, by position")]
pub fn choose(
    py: Python<'_>,
    text: &str,
    scores: PyReadonlyArray1<'_, f64>,
    labels: PyReadonlyArray1<'_, bool>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    groups: Option<GroupArrays<'_>>,
    entities: Option<GroupArrays<'_>>,
    confidence: Option<f64>,
) -> PyResult<Chosen> {
    let goal = goal(text)?.operating();
    let weights = weights.as_ref().map(slice).transpose()?;
    let sample = together(sample(slice(&labels)?, weights, groups.as_ref())?, entities.as_ref())?;
    let scores = slice(&scores)?;
    let found = work(py, || {
        let mut refused = None;
        if let Some(confidence) = confidence {
            let proved = Asked::of(goal.constraints.clone(), Some(goal.objective.clone()));
            match setpoint_run::certify(&proved, &sample, scores, confidence) {
                Ok(certified) => {
                    let record = serde_json::to_string(&certified.record)?;
                    return Ok((certified.thresholds, certified.by_rank.groups, Some(record), None, None));
                }
                Err(failure) if failure.kind == FailureKind::Interrupted => return Err(failure.into()),
                Err(failure) => refused = Some(in_python(&failure.message)),
            }
            let near = Asked { approximate: true, ..proved };
            if let Ok(limits) = setpoint_run::certify(&near, &sample, scores, confidence)
                && limits.by_rank.is_approximate()
            {
                let record = serde_json::to_string(&limits.record)?;
                return Ok((limits.thresholds, limits.by_rank.groups, None, Some(record), refused));
            }
        }
        let ranked = Ranked::new(scores)?;
        let solved = exact::solve(&goal, &sample, &ranked.ranks()?, &ProblemOptions::default())?;
        let thresholds: Vec<f64> = solved.thresholds.iter().map(|one| ranked.score(*one)).collect();
        let groups = match sample.groups() {
            Some(groups) if goal.column().is_some() && groups.names().len() == thresholds.len() => {
                groups.names().to_vec()
            }
            _ => Vec::new(),
        };
        Ok((thresholds, groups, None, None, refused))
    });
    Ok(found?)
}
