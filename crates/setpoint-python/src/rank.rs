//! Rows that come in queries: exact metrics, and the engine of goals per query.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use setpoint::Sample;
use setpoint::goal::QueryGoal;
use setpoint::metric::Ranked;
use setpoint::rank::{Convention, Empty, Queries, QueryEngine, QueryOptions, Ties, Values};
use setpoint_data::Positive;
use setpoint_run::certify_order;

use crate::array::{GroupArrays, slice};
use crate::error::Wrong;
use crate::thread::work;

fn goal(text: &str) -> Result<QueryGoal, Wrong> {
    text.parse().map_err(|error: setpoint::goal::ParseError| Wrong::goal(error))
}

fn named(empty: &str) -> Result<Empty, Wrong> {
    Empty::named(empty)
        .ok_or_else(|| Wrong::input(format!("empty_queries={empty:?}: expected \"skip\", \"0\" or \"1\"")))
}

/// The goal per query as it is printed.
#[pyfunction]
pub fn check_query_goal(text: &str) -> PyResult<String> {
    Ok(goal(text)?.to_string())
}

/// Which grades are relevant, by a rule such as `>=2`; `auto` for those above 0.
#[pyfunction]
pub fn relevant<'py>(
    py: Python<'py>,
    positive: &str,
    grades: PyReadonlyArray1<'py, f32>,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let grades = slice(&grades)?.iter().copied().map(f64::from);
    let found: Vec<bool> = match positive.parse().map_err(Wrong::from)? {
        Positive::Auto => grades.map(|grade| grade > 0.0).collect(),
        Positive::Rule(comparison, target) => grades.map(|grade| comparison.holds(grade, target)).collect(),
        _ => {
            let message = format!("positive={positive:?}: expected a rule on grades, such as \">=2\"");
            return Err(Wrong::input(message).into());
        }
    };
    Ok(found.into_pyarray(py))
}

/// Queries of the rows, grades, and whether each is relevant.
type RankedArrays<'py> = (GroupArrays<'py>, PyReadonlyArray1<'py, f32>, PyReadonlyArray1<'py, bool>);

fn of_arrays((queries, grades, relevant): &RankedArrays<'_>) -> Result<Queries, Wrong> {
    ranked(queries, slice(grades)?, slice(relevant)?)
}

/// Rows in queries, with their grades and whether each is relevant.
pub fn ranked(queries: &GroupArrays<'_>, grades: &[f32], relevant: &[bool]) -> Result<Queries, Wrong> {
    let (column, names, of) = (&queries.0, &queries.1, slice(&queries.2)?);
    let found = Queries::new(column, of, grades.to_vec())?.with_positive(relevant.to_vec())?;
    Ok(found.named(of, names))
}

/// The same as a sample.
pub fn ranked_sample(queries: &GroupArrays<'_>, grades: &[f32], relevant: &[bool]) -> Result<Sample, Wrong> {
    Ok(Sample::of_queries(ranked(queries, grades, relevant)?)?)
}

/// What scores are worth in each query, in the order in which queries occur; NaN where one is left out. And the mean.
#[pyfunction]
pub fn query_values<'py>(
    py: Python<'py>,
    text: &str,
    rows: RankedArrays<'py>,
    scores: PyReadonlyArray1<'py, f64>,
    empty: &str,
    ordered: bool,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Option<f64>)> {
    let goal = goal(text)?;
    let rows = of_arrays(&rows)?;
    let convention =
        Convention { empty: named(empty)?, ties: if ordered { Ties::Order } else { Ties::Expected } };
    let scores = slice(&scores)?;
    let values = work(py, || {
        let ranked = Ranked::new(scores)?;
        Ok(Values::new(&goal, &rows, &ranked.ranks()?, convention)?)
    })?;
    let found: Vec<f64> = values.of().iter().map(|value| value.unwrap_or(f64::NAN)).collect();
    Ok((found.into_pyarray(py), values.mean()))
}

/// What the order of scores is worth at least, on average over new queries, as JSON and in words.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub fn certify_queries(
    py: Python<'_>,
    text: &str,
    rows: RankedArrays<'_>,
    scores: PyReadonlyArray1<'_, f64>,
    empty: &str,
    confidence: f64,
    at_least: Option<f64>,
) -> PyResult<(String, String)> {
    let (goal, empty) = (goal(text)?, named(empty)?);
    let rows = of_arrays(&rows)?;
    let scores = slice(&scores)?;
    let found = work(py, || {
        let bound = certify_order(&goal, &rows, scores, empty, confidence, at_least)?;
        Ok((serde_json::to_string(&bound)?, bound.to_string()))
    });
    Ok(found?)
}

/// The smooth metric of a goal per query, and the gradient of 1 less it by each score.
#[pyfunction]
pub fn query_step<'py>(
    py: Python<'py>,
    text: &str,
    rows: RankedArrays<'py>,
    scores: PyReadonlyArray1<'py, f32>,
    sharpness: f64,
    least_spread: f64,
) -> PyResult<(f64, Bound<'py, PyArray1<f32>>)> {
    let goal = goal(text)?;
    let rows = of_arrays(&rows)?;
    let scores = slice(&scores)?;
    let (value, v) = work(py, || {
        let mut v = vec![0.0; scores.len()];
        let options = QueryOptions { sharpness, least_spread };
        let step = QueryEngine::new(&goal, &rows, options)?.step(scores, &mut v)?;
        Ok((step.value, v))
    })?;
    Ok((value, v.into_pyarray(py)))
}
