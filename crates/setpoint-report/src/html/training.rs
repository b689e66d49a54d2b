//! How training went: the goal on validation, and what its loss was made of.

use maud::{Markup, html};

use super::number::{count, maybe_rate, points};
use super::{Section, figure};
use crate::chart::{Axis, Chart, Join, Scale, Tone};
use crate::record::{ReportRecord, StageRecord, StepRecord};
use crate::train::TrainRecord;

pub(super) fn section(record: &ReportRecord) -> Option<Section> {
    let training = record.training.as_ref()?;
    let detailed: Vec<&StageRecord> = {
        let with_detail = |stage: &&StageRecord| stage.steps.iter().any(|step| step.threshold.is_some());
        let kept: Vec<&StageRecord> =
            record.history.iter().filter(|stage| stage.kept).filter(with_detail).collect();
        if kept.is_empty() { record.history.iter().filter(with_detail).collect() } else { kept }
    };
    let on_training =
        html! { "The smooth stand-in that is differentiated, on the training rows; stages that were kept." };
    let content = html! {
        p { "Kept: " strong { (training.winner) } ". " (gain(training)) }
        @if !record.history.is_empty() {
            div class="figures" {
                (figure("The goal on validation, by step", &validation(record),
                    &html! { "The exact value at the condition; each line is a stage, and its best step is its candidate." }))
                @if !detailed.is_empty() {
                    (figure("Objective, by step", &detail("Objective, by step", "smooth objective", &detailed, |step| step.objective, None), &on_training))
                    (figure("Constraint, by step", &detail("Constraint, by step", "past its limit", &detailed, |step| step.constraint, Some(0.0)),
                        &html! { "How far the condition is past its limit: 0 is at it, below is inside." }))
                    (figure("Threshold, by step", &detail("Threshold, by step", "standard deviations above the mean score", &detailed, |step| step.threshold, None),
                        &html! { "The threshold moves with the model: it is solved at every step." }))
                }
            }
        }
        (candidates(training))
    };
    Some(Section { id: "training", heading: "Training", content })
}

fn gain(training: &TrainRecord) -> Markup {
    html! {
        @if let Some(gain) = &training.gain {
            (points(gain.difference)) " points over " (training.baseline.name) " on validation"
            @if let Some(error) = gain.standard_error { ", standard error " (format!("{:.2}", 100.0 * error)) }
            "."
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
    let stages: Vec<(&StageRecord, Vec<(f64, f64)>)> =
        record.history.iter().map(|stage| (stage, by_step(stage, |step| step.validation))).collect();
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
        let (name, tone) = match (stage.kept, stage.name.starts_with("cross-entropy")) {
            (true, _) => ("kept", Tone::Main),
            (false, true) => ("cross-entropy", Tone::Other),
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
    level: Option<f64>,
) -> Chart {
    let curves: Vec<Vec<(f64, f64)>> = stages.iter().map(|stage| by_step(stage, value)).collect();
    let (low, high) = range(curves.iter().flatten().map(|point| point.1).chain(level));
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
    if let Some(level) = level {
        chart = chart.level("limit", Tone::Limit, level);
    }
    let tones = [Tone::Main, Tone::Third, Tone::Fourth, Tone::Other];
    for (place, (stage, points)) in stages.iter().zip(curves).enumerate() {
        let name = if stages.len() <= tones.len() { stage.name.clone() } else { String::new() };
        chart = chart.curve(name, tones[place % tones.len()], points, Join::Line);
    }
    chart
}

fn candidates(training: &TrainRecord) -> Markup {
    html! {
        details {
            summary { "All " (training.candidates.len()) " candidates" }
            div class="scroll" tabindex="0" role="region" aria-label="Candidates" {
                table {
                    caption { "Candidates, by the goal's value on validation" }
                    thead { tr { th scope="col" { "fit" } th scope="col" { "validation" } th scope="col" { "best step" } th scope="col" { "evaluations" } } }
                    tbody {
                        @for candidate in &training.candidates {
                            tr {
                                th scope="row" { (candidate.name) }
                                td { (maybe_rate(candidate.validation)) }
                                td { (count(candidate.step as f64)) }
                                td { (count(candidate.evaluations as f64)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
