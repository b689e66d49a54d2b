//! The scores of any model: certified thresholds, what they come to on labelled rows, and the page of that.

use std::path::PathBuf;

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde_json::json;
use setpoint::artifact::{Groups, write_atomically};
use setpoint::goal::Goal;
use setpoint_report::{CertificateRecord, LabelRecord, ReportRecord, to_html, to_json};
use setpoint_run::{Asked, Chosen, Described, ScoredRows, report_scores};

use crate::array::{GroupArrays, paid, sample, slice, together};
use crate::error::{Wrong, goal, in_python};
use crate::thread::work;

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

/// Thresholds, their groups, the certificate as JSON, the approximate limits in its place, and why there
/// is none.
pub type Parts = (Vec<f64>, Vec<String>, Option<String>, Option<String>, Option<String>);

/// Chooses the thresholds of a goal on held-out scores: certified where that can be done, else exact.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called from one place in Python, by position")]
pub fn choose(
    py: Python<'_>,
    text: &str,
    labels: PyReadonlyArray1<'_, bool>,
    scores: PyReadonlyArray1<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    groups: Option<GroupArrays<'_>>,
    entities: Option<GroupArrays<'_>>,
    pays: Option<PyReadonlyArray1<'_, f64>>,
    confidence: Option<f64>,
) -> PyResult<Parts> {
    let goal = goal(text)?;
    let weights = weights.as_ref().map(slice).transpose()?;
    let sample = together(sample(slice(&labels)?, weights, groups.as_ref())?, entities.as_ref())?;
    let sample = paid(sample, &goal, pays.as_ref())?;
    let scores = slice(&scores)?;
    let found = work(py, || {
        let Chosen { thresholds, groups, certificate, approximate, refused, caution } =
            Chosen::on(&goal, false, &sample, scores, confidence)?;
        let record = |found: Option<CertificateRecord>| -> Result<Option<String>, Wrong> {
            let Some(found) = found else { return Ok(None) };
            let mut record = serde_json::to_value(found)?;
            record["caution"] = json!(caution);
            Ok(Some(record.to_string()))
        };
        let names = groups.map(|groups| groups.names).unwrap_or_default();
        let refused = refused.as_deref().map(in_python);
        Ok((thresholds, names, record(certificate)?, record(approximate)?, refused))
    });
    Ok(found?)
}

/// What [`choose`] found, or was found elsewhere.
fn chosen(goal: &Goal, parts: Parts) -> Result<Chosen, Wrong> {
    let (thresholds, names, certificate, approximate, refused) = parts;
    if let Some(record) = certificate.or(approximate) {
        let known = Chosen::certified(&serde_json::from_str(&record)?)?;
        return Ok(Chosen { refused: refused.or(known.refused), ..known });
    }
    let column = goal.column().filter(|_| !names.is_empty());
    let groups = column.map(|column| Groups { column: column.to_owned(), names });
    Ok(Chosen { thresholds, groups, certificate: None, approximate: None, refused, caution: None })
}

/// Measures scores, at thresholds from elsewhere or chosen on these rows, and writes the page if one is
/// wanted; returns the record as JSON, and why there is no certificate.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called from one place in Python, by position")]
pub fn evaluate_scores(
    py: Python<'_>,
    text: &str,
    labels: PyReadonlyArray1<'_, bool>,
    scores: PyReadonlyArray1<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    groups: Option<GroupArrays<'_>>,
    entities: Option<GroupArrays<'_>>,
    pays: Option<PyReadonlyArray1<'_, f64>>,
    positive: Option<String>,
    parts: Option<Parts>,
    here: bool,
    shared_threshold: bool,
    confidence: f64,
    page: Option<Page>,
) -> PyResult<(String, Option<String>)> {
    let goal = goal(text)?;
    let weights = weights.as_ref().map(slice).transpose()?;
    let sample = together(sample(slice(&labels)?, weights, groups.as_ref())?, entities.as_ref())?;
    let sample = paid(sample, &goal, pays.as_ref())?;
    let scores = slice(&scores)?;
    let found = work(py, || {
        let chosen_here = here || parts.is_none();
        let chosen = match parts {
            Some(parts) => chosen(&goal, parts)?,
            None => Chosen::on(&goal, shared_threshold, &sample, scores, Some(confidence))?,
        };
        let rows = ScoredRows { goal: &goal, sample: &sample, scores, chosen: &chosen, chosen_here };
        let mut record = setpoint_run::evaluate_scores(&rows, confidence)?;
        record.label = positive.map(|positive| LabelRecord {
            column: "y".to_owned(),
            positive: Some(positive),
            classes: Vec::new(),
        });
        if let Some(page) = page {
            let report = report_scores(&rows, &record, &described(&page, confidence))?;
            write_page(page, report)?;
        }
        record.sentences().for_each(|text| *text = in_python(text));
        Ok((to_json(&record)?, chosen.refused.as_deref().map(in_python)))
    });
    Ok(found?)
}

/// What to say of thresholds (of several classes: shifts) without a certificate, in the words of every front end.
#[pyfunction]
pub fn uncertified(classes: bool, reason: &str) -> String {
    setpoint_report::uncertified(classes, false, reason)
}

/// Where a report goes, and what it is of.
pub type Page = (PathBuf, String);

/// What a report says about itself.
pub fn described(page: &Page, confidence: f64) -> Described {
    Described { title: page.1.clone(), command: None, confidence }
}

/// Writes a report: whole, or not at all.
pub fn write_page((path, _): Page, mut report: ReportRecord) -> Result<(), Wrong> {
    report.sentences().for_each(|text| *text = in_python(text));
    let page = to_html(&report);
    Ok(write_atomically(&path, |out| out.write_all(page.as_bytes()))?)
}

/// Writes a file: whole, or not at all.
#[pyfunction]
pub fn write_file(path: PathBuf, content: &[u8]) -> PyResult<()> {
    Ok(write_atomically(&path, |out| out.write_all(content)).map_err(Wrong::from)?)
}
