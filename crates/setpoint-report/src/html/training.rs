//! How training went: the goal on validation, and what its loss was made of.

use maud::{Markup, html};
use setpoint::goal::{Direction, Goal};
use setpoint::train::StageKind;

use super::number::{maybe_rate, rows};
use super::{Section, figure, table};
use crate::chart::{Axis, Chart, Join, Scale, Tone};
use crate::record::{ReportRecord, StageRecord, StepRecord};
use crate::train::TrainRecord;

pub(super) fn section(record: &ReportRecord) -> Option<Section> {
    let training = record.training.as_ref()?;
    let detailed = detailed(record);
    // Full batches hold the condition to the last digits: nobody wants to see those.
    let near = record
        .conditions
        .first()
        .map_or(0.01, |condition| 0.25 * condition.target.min(1.0 - condition.target));
    let by_step = |label: &str, title: &str, value: fn(&StepRecord) -> Option<f64>, level, caption: &str| {
        figure(title, &detail(title, label, &detailed, value, level), &html! { (caption) })
    };
    let content = html! {
        @if !training.kinds.is_empty() {
            p { "Kinds of model that were tried, with what a later one gained over a simpler one:" }
            ul { @for line in training.tried() { li { (line) } } }
        }
        p { "Kept: " strong { (training.winner) } ". " (gain(training)) }
        @if !record.history.is_empty() {
            div class="figures" {
                (figure("The goal on validation, by step", &validation(record), &html! {
                    "The exact value at the condition; each line is a stage, with rotations the best of each. "
                    "Its best step is its candidate."
                }))
                @if !detailed.is_empty() {
                    (by_step("smooth objective", "Objective, by step", |step| step.objective, None,
                        "The smooth stand-in that is differentiated, on the training rows; stages that were \
                         kept, or the best of each rotation."))
                    (by_step("past its limit", "Constraint, by step", |step| step.constraint, Some([-near, near]),
                        "How far the condition is past its limit: 0 is at it, below is inside."))
                    (by_step("standard deviations above the mean score", "Threshold, by step",
                        |step| step.threshold, None,
                        "The threshold moves with the model: it is solved at every step."))
                }
            }
        }
        (candidates(training))
    };
    Some(Section::new("training", "Training", content))
}

/// The stages with thresholds to show: those kept, else the best of each rotation.
fn detailed(record: &ReportRecord) -> Vec<&StageRecord> {
    let has = |stage: &StageRecord| stage.steps.iter().any(|step| step.threshold.is_some());
    let kept: Vec<&StageRecord> = record.history.iter().filter(|stage| stage.kept && has(stage)).collect();
    if kept.is_empty() { best_by_rotation(record, has) } else { kept }
}

/// The best stage of each rotation by its value on validation, among some.
fn best_by_rotation(record: &ReportRecord, among: impl Fn(&StageRecord) -> bool) -> Vec<&StageRecord> {
    let goal: Option<Goal> = record.goal.parse().ok();
    let direction = goal.map_or(Direction::Up, |goal| goal.objective.direction());
    let merit = |stage: &StageRecord| {
        stage.steps.iter().map(|step| direction.merit(step.validation)).fold(f64::NEG_INFINITY, f64::max)
    };
    let mut best: Vec<&StageRecord> = Vec::new();
    for stage in record.history.iter().filter(|stage| among(stage)) {
        match best.iter_mut().find(|other| other.rotation == stage.rotation) {
            Some(other) if merit(stage) > merit(other) => *other = stage,
            Some(_) => {}
            None => best.push(stage),
        }
    }
    best
}

fn is_baseline(stage: &StageRecord) -> bool {
    stage.kind == StageKind::CrossEntropy
}

fn gain(training: &TrainRecord) -> Markup {
    html! {
        @if let Some(gain) = &training.gain {
            "Gain over cross-entropy: " (gain) "."
        }
    }
}

fn by_step(stage: &StageRecord, value: fn(&StepRecord) -> Option<f64>) -> Vec<(f64, f64)> {
    stage.steps.iter().filter_map(|step| Some((step.step as f64, value(step)?))).collect()
}

/// The range of some values, with a little room.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return (0.0, 1.0);
    }
    let room = (0.06 * (high - low)).max(1e-4 * high.abs()).max(1e-6);
    (low - room, high + room)
}

fn last_step<'a>(stages: impl Iterator<Item = &'a StageRecord>) -> f64 {
    stages.flat_map(|stage| &stage.steps).map(|step| step.step).max().unwrap_or(1) as f64
}

fn validation(record: &ReportRecord) -> Chart {
    // Three times the stages would be a tangle: with rotations, the best of each.
    let rotated = record.history.iter().any(|stage| stage.rotation > 1);
    let drawn: Vec<&StageRecord> = if rotated {
        let goal = best_by_rotation(record, |stage| !is_baseline(stage));
        best_by_rotation(record, is_baseline).into_iter().chain(goal).collect()
    } else {
        record.history.iter().collect()
    };
    let stages: Vec<(&StageRecord, Vec<(f64, f64)>)> =
        drawn.into_iter().map(|stage| (stage, by_step(stage, |step| step.validation))).collect();
    let values = || stages.iter().flat_map(|(_, points)| points.iter().map(|point| point.1));
    let (low, high) = range(values());
    // First steps from nothing would squeeze the rest: show the better half of the values' range.
    let mut sorted: Vec<f64> = values().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(low);
    let worse_is_low = record.training.as_ref().is_none_or(|training| {
        let objective = training.objective.validation.unwrap_or(high);
        objective >= middle
    });
    let (low, high) = if worse_is_low {
        (low.max(middle - 1.5 * (high - middle)), high)
    } else {
        (low, high.min(middle + 1.5 * (middle - low)))
    };
    let steps = last_step(record.history.iter());
    let mut chart = Chart::new(
        "The goal on validation, by step",
        format!("{} stages of training; exact values on the validation rows.", stages.len()),
    )
    .axes(
        Axis::number("gradient evaluations of the stage", Scale::linear(1.0, steps.max(2.0))),
        Axis::percent(record.goal.clone(), Scale::linear(low.max(0.0), high.min(1.0))),
    );
    let mut named: Vec<&str> = Vec::new();
    // What was kept is drawn last, over the rest.
    let order =
        [false, true].into_iter().flat_map(|kept| stages.iter().filter(move |(stage, _)| stage.kept == kept));
    for (stage, points) in order {
        let (name, tone) = match (stage.kept, is_baseline(stage)) {
            (true, _) => ("kept", Tone::Main),
            (false, true) => ("cross-entropy", Tone::Other),
            (false, false) if rotated => ("for the goal", Tone::Main),
            (false, false) => ("not kept", Tone::Quiet),
        };
        let label = if named.contains(&name) { "" } else { name };
        named.push(name);
        chart = chart.curve(label, tone, points.clone(), Join::Line);
    }
    chart
}

fn detail(
    title: &str,
    label: &str,
    stages: &[&StageRecord],
    value: fn(&StepRecord) -> Option<f64>,
    level: Option<[f64; 2]>,
) -> Chart {
    let curves: Vec<Vec<(f64, f64)>> = stages.iter().map(|stage| by_step(stage, value)).collect();
    let (low, high) = range(curves.iter().flatten().map(|point| point.1).chain(level.into_iter().flatten()));
    let ends = curves
        .iter()
        .filter_map(|points| Some(format!("from {:.4} to {:.4}", points.first()?.1, points.last()?.1)));
    let description = format!("{label}, stage by stage: {}.", ends.collect::<Vec<_>>().join("; "));
    let mut chart = Chart::new(title, description).axes(
        Axis::number(
            "gradient evaluations of the stage",
            Scale::linear(1.0, last_step(stages.iter().copied()).max(2.0)),
        ),
        Axis::number(label, Scale::linear(low, high)),
    );
    if level.is_some() {
        chart = chart.level("limit", Tone::Limit, 0.0);
    }
    let tones = [Tone::Main, Tone::Third, Tone::Fourth, Tone::Other];
    for (place, (stage, points)) in stages.iter().zip(curves).enumerate() {
        let rotated = stages.iter().any(|other| other.rotation > 1);
        let name = match (stages.len() <= tones.len(), rotated) {
            (true, true) => format!("rotation {}", stage.rotation),
            (true, false) => stage.name.clone(),
            (false, _) => String::new(),
        };
        chart = chart.curve(name, tones[place % tones.len()], points, Join::Line);
    }
    chart
}

fn candidates(training: &TrainRecord) -> Markup {
    let fits = html! {
        @for candidate in &training.candidates {
            tr {
                th scope="row" { (candidate.name) }
                td { (maybe_rate(candidate.validation)) }
                td { (rows(candidate.step)) }
                td { (rows(candidate.evaluations)) }
            }
        }
    };
    let caption = html! { "Candidates, by the goal's value on validation" };
    let columns = ["fit", "validation", "best step", "evaluations"];
    html! {
        details {
            summary { "All " (training.candidates.len()) " candidates" }
            (table("Candidates", &caption, &columns, &fits))
        }
    }
}
