//! The tables: every part at the condition and at the shipped threshold, with intervals and counts.

use maud::{Markup, html};

use super::Section;
use super::number::{count, maybe_rate, measured, with_interval};
use crate::record::{PartRecord, ReportRecord};

pub(super) fn section(record: &ReportRecord) -> Section {
    let content = html! {
        (at_condition(record))
        (at_threshold(record))
        (confusion(record))
        (drift(record))
    };
    Section { id: "tables", heading: "Tables", content }
}

fn scroll(label: &str, table: &Markup) -> Markup {
    html! { div class="scroll" tabindex="0" role="region" aria-label=(label) { (table) } }
}

/// The goal's value where its condition holds on each part, for both methods.
fn at_condition(record: &ReportRecord) -> Markup {
    let base = |part: &PartRecord| match (&record.training, &record.comparison) {
        (Some(training), _) => training.baseline.objective.get(&part.name).copied().flatten(),
        (None, Some(comparison)) => Some(comparison.baseline.value),
        _ => None,
    };
    let table = html! {
        table {
            caption { "At the condition: " code { (record.goal) } }
            thead { tr {
                th scope="col" { "part" } th scope="col" { "rows" } th scope="col" { "positives" }
                th scope="col" { "Setpoint" } th scope="col" { "cross-entropy" }
            } }
            tbody {
                @for part in &record.parts {
                    @let evaluation = &part.evaluation;
                    tr class=[(part.name == record.shown).then_some("shipped")] {
                        th scope="row" { (part.name) }
                        td { (count(evaluation.rows as f64)) }
                        td { (count(evaluation.positives as f64)) }
                        td { @match &evaluation.at_condition {
                            Some(at) => (with_interval(at.value, at.interval.as_ref())),
                            None => "\u{2013}",
                        } }
                        td { (maybe_rate(base(part))) }
                    }
                }
            }
        }
    };
    scroll("At the condition", &table)
}

/// Rates as rows, parts as columns.
fn at_threshold(record: &ReportRecord) -> Markup {
    let mut names: Vec<&str> = Vec::new();
    let all = |part: &'_ PartRecord| -> Vec<crate::evaluate::Measured> {
        part.evaluation.at_threshold.iter().chain(&part.evaluation.ranking).cloned().collect()
    };
    for one in record
        .parts
        .iter()
        .flat_map(|part| part.evaluation.at_threshold.iter().chain(&part.evaluation.ranking))
    {
        if !names.contains(&one.name.as_str()) {
            names.push(&one.name);
        }
    }
    let table = html! {
        table {
            caption { "At the shipped threshold" @if record.parts.iter().any(|part| part.evaluation.thresholds.len() > 1) { "s" }
                ", and areas that need none" }
            thead { tr { th scope="col" { "rate" } @for part in &record.parts { th scope="col" { (part.name) } } th scope="col" { "interval by" } } }
            tbody {
                @for name in &names {
                    tr {
                        th scope="row" { (name) }
                        @for part in &record.parts {
                            td { @match all(part).iter().find(|one| one.name == *name) {
                                Some(one) => (measured(one)),
                                None => "\u{2013}",
                            } }
                        }
                        td { (method(record, name)) }
                    }
                }
            }
        }
    };
    scroll("At the shipped threshold", &table)
}

fn method(record: &ReportRecord, name: &str) -> String {
    let all = record
        .parts
        .iter()
        .flat_map(|part| part.evaluation.at_threshold.iter().chain(&part.evaluation.ranking));
    let bounds = all.filter(|one| one.name == name).find_map(|one| one.interval.as_ref());
    bounds.map_or_else(
        || "\u{2013}".to_owned(),
        |bounds| format!("{}, {}%", bounds.method, 100.0 * bounds.confidence),
    )
}

fn confusion(record: &ReportRecord) -> Markup {
    let table = html! {
        table {
            caption { "Decisions, counted" }
            thead { tr {
                th scope="col" { "part" } th scope="col" { "caught" } th scope="col" { "missed" }
                th scope="col" { "false alarms" } th scope="col" { "left alone" }
            } }
            tbody {
                @for part in &record.parts {
                    @let found = part.evaluation.confusion;
                    tr class=[(part.name == record.shown).then_some("shipped")] {
                        th scope="row" { (part.name) }
                        td { (count(found.true_positives)) } td { (count(found.false_negatives)) }
                        td { (count(found.false_positives)) } td { (count(found.true_negatives)) }
                    }
                }
            }
        }
    };
    scroll("Decisions, counted", &table)
}

/// The certificate, and whether it holds here.
fn drift(record: &ReportRecord) -> Markup {
    html! {
        @if let Some(evaluation) = record.evaluation() {
            @if let Some(certificate) = &evaluation.certificate {
                h3 { "The certificate" }
                pre { (certificate.full) }
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
