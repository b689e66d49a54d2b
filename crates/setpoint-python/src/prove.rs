//! Certified thresholds for any model's scores.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use setpoint::metric::Ranked;
use setpoint::problem::ProblemOptions;
use setpoint::threshold::exact;
use setpoint_run::{Asked, Kind};

use crate::array::{GroupArrays, sample, slice};
use crate::error::{Wrong, goal};

/// A certificate as JSON, and in words.
#[pyfunction]
pub fn certify(
    py: Python<'_>,
    asked: &str,
    scores: PyReadonlyArray1<'_, f64>,
    labels: PyReadonlyArray1<'_, bool>,
    groups: Option<GroupArrays<'_>>,
    confidence: f64,
) -> PyResult<(String, String)> {
    let asked = Asked::new(asked).map_err(Wrong::from)?;
    let (scores, sample) = (slice(&scores)?, sample(slice(&labels)?, None, groups.as_ref())?);
    let found = py.detach(|| -> Result<_, Wrong> {
        let certified = setpoint_run::certify(&asked, &sample, scores, confidence)?;
        Ok((serde_json::to_string(&certified.record)?, certified.text))
    });
    Ok(found?)
}

/// The thresholds of a goal: certified where that can be done, else exact, with the reason.
///
/// Thresholds, their groups, the certificate as JSON, and why there is none.
pub type Chosen = (Vec<f64>, Vec<String>, Option<String>, Option<String>);

/// Chooses the thresholds of a goal on held-out scores.
#[pyfunction]
pub fn choose(
    py: Python<'_>,
    text: &str,
    scores: PyReadonlyArray1<'_, f64>,
    labels: PyReadonlyArray1<'_, bool>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    groups: Option<GroupArrays<'_>>,
    confidence: Option<f64>,
) -> PyResult<Chosen> {
    let goal = goal(text)?.operating();
    let weights = weights.as_ref().map(slice).transpose()?;
    let (scores, sample) = (slice(&scores)?, sample(slice(&labels)?, weights, groups.as_ref())?);
    let found = py.detach(|| -> Result<Chosen, Wrong> {
        let mut refused = None;
        if let Some(confidence) = confidence {
            let asked = Asked {
                conditions: goal.constraints.clone(),
                objective: Some(goal.objective.clone()),
                shared_threshold: false,
            };
            match setpoint_run::certify(&asked, &sample, scores, confidence) {
                Ok(certified) => {
                    let record = serde_json::to_string(&certified.record)?;
                    return Ok((certified.thresholds, certified.by_rank.groups, Some(record), None));
                }
                Err(failure) if failure.kind == Kind::Interrupted => return Err(failure.into()),
                Err(failure) => refused = Some(failure.message),
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
        Ok((thresholds, groups, None, refused))
    });
    Ok(found?)
}
