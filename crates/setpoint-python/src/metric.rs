//! Exact metrics of 64-bit scores and weights.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use setpoint::class::shift;
use setpoint::goal::{Area, Counts, Curve, Direction, Goal, Objective, ParseError, Rate};
use setpoint::metric::interval::{Bootstrap, delong, of_rate};
use setpoint::metric::{At, Cut, Cuts, MetricError, Ranked, confusion, value_of};
use setpoint::problem::ProblemOptions;
use setpoint::threshold::exact;
use setpoint_run::class_goal;

use crate::array::{GroupArrays, class_sample, paid, sample, slice};
use crate::error::{Wrong, goal, goal_text};
use crate::thread::work;

/// Starts of a search for shifts.
const STARTS: usize = 4;

/// The goal as it is printed, its group column, and whether more of its objective is better.
#[pyfunction]
pub fn check_goal(text: &str) -> PyResult<(String, Option<String>, bool)> {
    let goal = goal(text)?;
    let up = goal.objective.direction() == Direction::Up;
    Ok((goal.to_string(), goal.column().map(str::to_owned), up))
}

/// The columns that amounts of a goal in money come from; none where it is not in money.
#[pyfunction]
pub fn amount_columns(text: &str) -> PyResult<Option<Vec<String>>> {
    let text = goal_text(text)?;
    let money = text.two().and_then(Goal::money);
    Ok(money.map(|money| money.columns().into_iter().map(str::to_owned).collect()))
}

/// What each row pays if it is decided negative, and if positive, one after the other.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "extracted from Python")]
pub fn pays<'py>(
    py: Python<'py>,
    text: &str,
    labels: PyReadonlyArray1<'py, bool>,
    columns: Vec<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (goal, labels) = (goal(text)?, slice(&labels)?);
    let money = goal.money().ok_or_else(|| Wrong::input(format!("{goal} is not in money")))?;
    let columns: Vec<Vec<f64>> =
        columns.iter().map(|column| slice(column).map(<[f64]>::to_vec)).collect::<Result<_, _>>()?;
    let fits =
        columns.len() == money.columns().len() && columns.iter().all(|column| column.len() == labels.len());
    if !fits {
        return Err(Wrong::input("amounts: expected a value for each row").into());
    }
    Ok(money.pays(labels, &columns).into_iter().flatten().collect::<Vec<f64>>().into_pyarray(py))
}

/// Whether a text is a goal of two classes, whether it may be one of several, and whether it is per query.
#[pyfunction]
pub fn kinds_of_goal(text: &str) -> PyResult<(bool, bool, bool)> {
    let goal = goal_text(text)?;
    Ok((goal.two().is_some(), goal.may_be_of_classes(), goal.queries().is_some()))
}

/// The best value that a goal of classes has of scores at any shifts; less a cost, so that more is better.
#[pyfunction]
pub fn value_of_classes(
    py: Python<'_>,
    text: &str,
    classes: GroupArrays<'_>,
    scores: PyReadonlyArray1<'_, f32>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<f64> {
    let text = goal_text(text)?;
    let sample = class_sample(&classes, weights.as_ref().map(slice).transpose()?)?;
    let scores = slice(&scores)?;
    let found = work(py, || {
        let goal = class_goal(&text, &classes.1)?;
        let value = shift::best(&goal, &sample, scores, STARTS)?.value;
        Ok(if goal.objective.direction() == Direction::Down { -value } else { value })
    });
    Ok(found?)
}

/// The goal's value where its conditions hold, the thresholds that attain it (none for an area), and
/// their true positives, false negatives, false positives and true negatives.
type ValueAt = (f64, Vec<f64>, Option<[f64; 4]>);

/// The best value that a goal's conditions allow.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called from two places in Python, by position")]
pub fn value_at(
    py: Python<'_>,
    text: &str,
    labels: PyReadonlyArray1<'_, bool>,
    scores: PyReadonlyArray1<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    groups: Option<GroupArrays<'_>>,
    shared_threshold: bool,
    pays: Option<PyReadonlyArray1<'_, f64>>,
) -> PyResult<ValueAt> {
    let goal = goal(text)?;
    let (labels, scores) = (slice(&labels)?, slice(&scores)?);
    let weights = weights.as_ref().map(slice).transpose()?;
    if goal.column().is_some() {
        let sample = paid(sample(labels, weights, groups.as_ref())?, &goal, pays.as_ref())?;
        let found = work(py, || {
            let ranked = Ranked::new(scores)?;
            let options = ProblemOptions { shared_threshold, ..ProblemOptions::default() };
            let solved = exact::solve(&goal, &sample, &ranked.ranks()?, &options)?;
            let thresholds = solved.thresholds.iter().map(|one| ranked.score(*one)).collect();
            Ok((solved.value, thresholds, None))
        });
        return Ok(found?);
    }
    let paid = match goal.money() {
        Some(_) => Some(paid(sample(labels, weights, None)?, &goal, pays.as_ref())?),
        None => None,
    };
    let found = work(py, || {
        let ranked = Ranked::new(scores)?;
        let cuts = match &paid {
            Some(sample) => Cuts::new(sample, &ranked.ranks()?)?,
            None => ranked.cuts(labels, weights)?,
        };
        let value = value_of(&goal, &cuts)?;
        Ok(match value.at {
            At::Threshold(point) => {
                (value.value, vec![ranked.threshold(point.cut)], Some(counted(&point.counts)))
            }
            At::Band(band) => {
                let thresholds = band.cuts.map(|cut| ranked.threshold(cut)).to_vec();
                (value.value, thresholds, Some(counted(&band.counts)))
            }
            At::Top(top) => (value.value, vec![ranked.threshold(top.cut)], None),
            _ => (value.value, vec![], None),
        })
    });
    Ok(found?)
}

fn counted(counts: &Counts) -> [f64; 4] {
    [counts.true_positives, counts.false_negatives, counts.false_positives, counts.true_negatives]
}

type Columns<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// True and false positives at every different score, from the highest, after a row for nobody.
#[pyfunction]
pub fn curve<'py>(
    py: Python<'py>,
    labels: PyReadonlyArray1<'py, bool>,
    scores: PyReadonlyArray1<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Columns<'py>> {
    let (labels, scores) = (slice(&labels)?, slice(&scores)?);
    let weights = weights.as_ref().map(slice).transpose()?;
    let (cuts, thresholds) = work(py, || {
        let ranked = Ranked::new(scores)?;
        let thresholds: Vec<f64> = (0..=ranked.distinct()).map(|cut| ranked.up_to(cut)).collect();
        Ok((ranked.cuts(labels, weights)?, thresholds))
    })?;
    let of = |column: fn(&Cut) -> f64| {
        cuts.walk(0..cuts.len()).map(|cut| column(&cut)).collect::<Vec<f64>>().into_pyarray(py)
    };
    Ok((of(|cut| cut.true_positives), of(|cut| cut.false_positives), thresholds.into_pyarray(py)))
}

/// Each rate's name and value at a threshold; none where it is undefined.
#[pyfunction]
pub fn rates_at(
    labels: PyReadonlyArray1<'_, bool>,
    scores: PyReadonlyArray1<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    threshold: f64,
) -> PyResult<Vec<(String, Option<f64>)>> {
    let (labels, scores) = (slice(&labels)?, slice(&scores)?);
    let weights = weights.as_ref().map(slice).transpose()?;
    let mut counts = Counts::default();
    for (row, (label, score)) in labels.iter().zip(scores).enumerate() {
        let cell = match (*label, *score >= threshold) {
            (true, true) => &mut counts.true_positives,
            (true, false) => &mut counts.false_negatives,
            (false, true) => &mut counts.false_positives,
            (false, false) => &mut counts.true_negatives,
        };
        *cell += weights.map_or(1.0, |weights| weights[row]);
    }
    counts.positives = counts.true_positives + counts.false_negatives;
    counts.negatives = counts.false_positives + counts.true_negatives;
    Ok(confusion::rates(&counts).into_iter().map(|(rate, value)| (rate.to_string(), value)).collect())
}

/// Value, lower and upper end, and the method's name, of a goal, or of a rate at a threshold.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "called from one place in Python, by position")]
pub fn interval(
    py: Python<'_>,
    text: &str,
    labels: PyReadonlyArray1<'_, bool>,
    scores: PyReadonlyArray1<'_, f64>,
    weights: Option<PyReadonlyArray1<'_, f64>>,
    threshold: Option<f64>,
    confidence: f64,
    replicates: usize,
    seed: u64,
) -> PyResult<(f64, f64, f64, &'static str)> {
    let scores = slice(&scores)?;
    let weights = weights.as_ref().map(slice).transpose()?;
    let sample = sample(slice(&labels)?, weights, None)?;
    let bootstrap = Bootstrap { replicates, confidence, seed };
    let rate: Option<(Rate, f64)> = match threshold {
        Some(threshold) => {
            let rate = text.parse().map_err(|error: ParseError| {
                Wrong::input(format!("goal at a threshold: expected a rate such as recall: {error}"))
            })?;
            Some((rate, threshold))
        }
        None => None,
    };
    let goal: Option<Goal> = if rate.is_none() { Some(goal(text)?) } else { None };
    let found = work(py, || {
        let drawn = |scores: &[f32], metric: &(dyn Fn(&Cuts) -> Result<f64, MetricError> + Sync)| {
            let estimate = bootstrap.estimate(&sample, scores, metric)?;
            let ends = estimate.interval;
            Ok::<_, Wrong>((estimate.value, ends.lower, ends.upper, "stratified bootstrap"))
        };
        if let Some((rate, threshold)) = rate {
            // Decisions as scores: 1 for positive, 0 for negative.
            let decisions: Vec<f32> = scores.iter().map(|score| f32::from(*score >= threshold)).collect();
            let undefined = || MetricError::Undefined {
                metric: rate.to_string(),
                reason: "its denominator is zero".to_owned(),
            };
            let value = rate.of(&confusion::at(&sample, &decisions, 0.5)?).ok_or_else(undefined)?;
            return match of_rate(rate, &sample, &decisions, 0.5, confidence) {
                Ok(ends) => Ok((value, ends.lower, ends.upper, "Clopper-Pearson")),
                Err(_) => drawn(&decisions, &|cuts| {
                    rate.of(&cuts.counts_at(cuts.cut_of(0.5))).ok_or_else(undefined)
                }),
            };
        }
        let ranks = Ranked::new(scores)?.ranks()?;
        let goal = goal.as_ref().ok_or_else(|| Wrong::input("no goal"))?;
        if goal.objective == Objective::Area(Area::whole(Curve::Roc))
            && let Ok(found) = delong(&sample, &ranks, confidence)
        {
            return Ok((found.auc, found.interval.lower, found.interval.upper, "DeLong"));
        }
        drawn(&ranks, &|cuts| value_of(goal, cuts).map(|value| value.value))
    });
    Ok(found?)
}
