//! The tables: every part at the condition and at the shipped threshold, with intervals and counts.

use maud::{Markup, html};

use super::number::{count, maybe_rate, measured, rows, with_interval};
use super::{Section, table};
use crate::evaluate::{AtCondition, Measured};
use crate::few::alone;
use crate::number::{amount, is_money};
use crate::record::{PartRecord, ReportRecord};

pub(super) fn section(record: &ReportRecord) -> Section {
    let content = html! {
        (at_condition(record))
        (at_threshold(record))
        @if record.pictures.is_some() { (confusion(record)) }
        (drift(record))
    };
    Section::new("tables", "Tables", content)
}

/// The goal's value where its condition holds on each part, for both methods.
fn at_condition(record: &ReportRecord) -> Markup {
    let base = |part: &PartRecord| match (&record.training, &record.comparison) {
        (Some(training), _) => training.baseline.objective.get(&part.name).copied().flatten(),
        (None, Some(comparison)) => Some(comparison.baseline.value),
        _ => None,
    };
    let compared = record.run.model.is_some();
    let rotated = record.training.as_ref().is_some_and(|training| training.rotations > 1);
    let caption = html! {
        @if record.parts.iter().any(|part| part.evaluation.queries.is_some()) { "The goal: " } @else { "At the condition: " }
        code { (record.goal) }
        @if rotated {
            span class="label" { " (validation: the mean over rotations, each on rows it was held out from)" }
        }
    };
    let rows = html! {
        @for part in &record.parts {
            @let evaluation = &part.evaluation;
            tr class=[(part.name == record.shown).then_some("shipped")] {
                th scope="row" { (part.name) }
                td { (rows(evaluation.rows)) }
                @if let Some(positives) = evaluation.positives { td { (rows(positives)) } }
                td {
                    @match &evaluation.at_condition {
                        Some(at) if is_money(&record.goal) => (paid(at)),
                        Some(at) => (with_interval(at.told(), at.interval.as_ref())),
                        None => "\u{2013}",
                    }
                }
                @if compared {
                    td {
                        @match alone(base(part), evaluation.at_condition.as_ref().map_or(0, |at| at.examples)) {
                            Some(value) if is_money(&record.goal) => (amount(value)),
                            value => (maybe_rate(value)),
                        }
                    }
                }
            }
        }
    };
    let mut columns = vec!["part", "rows"];
    let positives = record.parts.iter().any(|part| part.evaluation.positives.is_some());
    columns.extend(positives.then_some("positives"));
    columns.push(if compared { "Setpoint" } else { "value" });
    let other = record.comparison.as_ref().map_or("cross-entropy", |comparison| &comparison.name);
    columns.extend(compared.then_some(other));
    table("At the condition", &caption, &columns, &rows)
}

/// An amount, with its interval below.
fn paid(at: &AtCondition) -> Markup {
    html! {
        @match at.told() { Some(value) => (amount(value)), None => "\u{2013}" }
        @if let Some(bounds) = &at.interval {
            span class="interval" { (amount(bounds.lower)) " to " (amount(bounds.upper)) }
        }
    }
}

/// Every rate and area of a part.
fn all(part: &PartRecord) -> impl Iterator<Item = &Measured> {
    part.evaluation.at_threshold.iter().chain(&part.evaluation.ranking)
}

/// Rates as rows, parts as columns.
fn at_threshold(record: &ReportRecord) -> Markup {
    let mut names: Vec<&str> = Vec::new();
    for one in record.parts.iter().flat_map(all) {
        if !names.contains(&one.name.as_str()) {
            names.push(&one.name);
        }
    }
    let many = record.parts.iter().any(|part| part.evaluation.thresholds.len() > 1);
    let caption = html! {
        @if record.pictures.is_some() { "At the shipped threshold" @if many { "s" } ", and areas that need none" }
        @else if record.parts.iter().any(|part| part.evaluation.queries.is_some()) { "Means over the queries" }
        @else { "As it ships, over all classes" }
    };
    let rows = html! {
        @for name in &names {
            tr {
                th scope="row" { (name) }
                @for part in &record.parts {
                    td {
                        @match all(part).find(|one| one.name == *name) {
                            Some(one) => (measured(one)),
                            None => "\u{2013}",
                        }
                    }
                }
                td { (method(record, name)) }
            }
        }
    };
    let mut columns = vec!["rate"];
    columns.extend(record.parts.iter().map(|part| part.name.as_str()));
    columns.push("interval by");
    table("At the shipped threshold", &caption, &columns, &rows)
}

fn method(record: &ReportRecord, name: &str) -> String {
    let named = record.parts.iter().flat_map(all).filter(|one| one.name == name);
    let bounds = named.filter_map(|one| one.interval.as_ref()).next();
    bounds.map_or_else(
        || "\u{2013}".to_owned(),
        |bounds| format!("{}, {}", bounds.method, crate::number::level(bounds.confidence)),
    )
}

fn confusion(record: &ReportRecord) -> Markup {
    let rows = html! {
        @for part in &record.parts {
            @if let Some(found) = part.evaluation.confusion {
                tr class=[(part.name == record.shown).then_some("shipped")] {
                    th scope="row" { (part.name) }
                    td { (count(found.true_positives)) }
                    td { (count(found.false_negatives)) }
                    td { (count(found.false_positives)) }
                    td { (count(found.true_negatives)) }
                }
            }
        }
    };
    let columns = ["part", "caught", "missed", "false alarms", "left alone"];
    table("Decisions, counted", &html! { "Decisions, counted" }, &columns, &rows)
}

/// The certificate, and whether it holds here.
fn drift(record: &ReportRecord) -> Markup {
    html! {
        @if let Some(evaluation) = record.evaluation() {
            @if let Some(certificate) = &evaluation.certificate {
                h3 { "The certificate" }
                pre { (certificate) }
            }
            @if let Some(bound) = &evaluation.bound {
                h3 { "The certificate" }
                pre { (bound) }
            }
            @if let Some(limits) = &evaluation.approximate {
                h3 { "The limit" }
                pre { (limits) }
            }
            @if !evaluation.drift.is_empty() {
                p { "On the rows shown:" }
                ul { @for drift in &evaluation.drift { li { (drift.text) } } }
            }
            @if !evaluation.notes.is_empty() {
                h3 { "Notes" }
                ul { @for note in &evaluation.notes { li { (note) } } }
            }
        }
    }
}
