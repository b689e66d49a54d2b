//! Enough to run it again.

use maud::html;

use super::Section;
use crate::record::ReportRecord;

pub(super) fn section(record: &ReportRecord) -> Section {
    let run = &record.run;
    let notes = record.training.as_ref().map_or(&[][..], |training| &training.notes);
    let content = html! {
        @if let Some(command) = &run.command { pre class="command" tabindex="0" { code { (command) } } }
        dl class="facts" {
            div { dt { "goal" } dd { code { (record.goal) } } }
            @if record.operating != record.goal {
                div { dt { "threshold chosen for" } dd { code { (record.operating) } ", " (record.operating_words) } }
            }
            @if let Some(model) = &run.model { div { dt { "model" } dd { (model) } } }
            @if let Some(method) = &run.method { div { dt { "method" } dd { (method) } } }
            @if let Some(seed) = run.seed { div { dt { "seed" } dd { (seed) } } }
            @if let Some(training) = &record.training {
                div { dt { "model file" } dd { code { (training.artifact) } } }
                div { dt { "columns" } dd { (training.columns) } }
                div { dt { "gradient evaluations" } dd { (training.steps) } }
                @if let Some(passes) = training.passes { div { dt { "passes over the rows" } dd { (passes) } } }
                div { dt { "time" } dd { (format!("{:.1} s, of which {:.1} s reading and {:.1} s training",
                    training.seconds.total, training.seconds.load, training.seconds.train)) } }
            } @else if let Some(evaluation) = record.evaluation() {
                div { dt { @if run.model.is_some() { "model file" } @else { "scores" } }
                    dd { code { (evaluation.artifact) } } }
            }
            @for (what, hash) in [("training data", &run.trained_on), ("data shown", &run.measured_on)] {
                @if let Some(hash) = hash {
                    div { dt { "SHA-256 of the " (what) } dd { code class="hash" { (hash) } } }
                }
            }
            @if let Some(version) = &run.trained_with {
                div { dt { "trained with" } dd { "Setpoint " (version) } }
            }
            div { dt { "report by" } dd { "Setpoint " (run.version) } }
            @for (name, value) in &run.settings { div { dt { (name) } dd { (value) } } }
        }
        @if !notes.is_empty() {
            h3 { "Notes" }
            ul { @for note in notes { li { (note) } } }
        }
    };
    Section::new("again", "Run it again", content)
}
