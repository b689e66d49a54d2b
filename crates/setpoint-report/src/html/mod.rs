//! The record as one HTML file: nothing is fetched, nothing runs but one small script, and the
//! page says all it has to say without that.
//!
//! Every text from outside (names of files, columns, groups) goes through the templates' escaping.
//! Should that ever fail, the page's security policy names its only script and style by their
//! hashes: nothing else would run, and nothing at all can be loaded.

mod curve;
mod explore;
mod first;
mod group;
mod number;
mod policy;
mod run;
mod score;
mod style;
mod table;
mod training;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::chart::Chart;
use crate::record::ReportRecord;

/// Reads values off the pictures of rates by threshold, and copies tables.
const SCRIPT: &str = include_str!("script.js");

/// The report as a page.
#[must_use]
pub fn to_html(record: &ReportRecord) -> String {
    let style = style::sheet();
    let sections: Vec<Section> = [
        Some(curve::section(record)),
        Some(score::section(record)),
        Some(explore::section(record)),
        group::section(record),
        training::section(record),
        Some(table::section(record)),
        Some(run::section(record)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy::policy(SCRIPT, &style));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "Setpoint " (record.run.version) };
                title { (record.goal) " · " (record.title) " · Setpoint" }
                link rel="icon" href="data:,";
                style { (PreEscaped(&style)) }
            }
            body {
                a class="skip" href="#main" { "Skip to the report" }
                (first::header(record))
                main id="main" {
                    (first::cards(record))
                    nav aria-label="Sections" {
                        @for section in &sections { a href={ "#" (section.id) } { (section.heading) } }
                    }
                    @for section in &sections {
                        section id=(section.id) aria-labelledby={ (section.id) "-heading" } {
                            h2 id={ (section.id) "-heading" } { (section.heading) }
                            (section.content)
                        }
                    }
                }
                footer {
                    p {
                        "Written by Setpoint " (record.run.version)
                        ". An example is predicted positive when its score is at or above the threshold."
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// A part of the page under a heading.
struct Section {
    id: &'static str,
    heading: &'static str,
    content: Markup,
}

/// A table that scrolls sideways where it must.
fn table(label: &str, caption: &Markup, columns: &[&str], rows: &Markup) -> Markup {
    html! {
        div class="scroll" tabindex="0" role="region" aria-label=(label) {
            table {
                caption { (caption) }
                thead { tr { @for column in columns { th scope="col" { (column) } } } }
                tbody { (rows) }
            }
        }
    }
}

/// A picture with its title and what to see in it.
fn figure(title: &str, chart: &Chart, caption: &Markup) -> Markup {
    html! {
        figure {
            h3 { (title) }
            (chart.inline())
            figcaption { (caption) }
        }
    }
}
