//! Records as HTML files: nothing is fetched, nothing runs but one small script, and the
//! page says all it has to say without that.
//!
//! Every text from outside (names of files, columns, groups) goes through the templates' escaping.
//! Should that ever fail, the page's security policy names its only script and style by their
//! hashes: nothing else would run, and nothing at all can be loaded.

mod classes;
mod curve;
mod explore;
mod first;
mod group;
mod money;
mod number;
mod page;
mod policy;
mod queries;
mod run;
mod score;
mod shell;
mod style;
mod table;
mod training;

pub use page::{Chapter, Page};

use maud::{Markup, html};
use shell::{Section, Shell};

use crate::chart::Chart;
use crate::record::ReportRecord;

/// Reads values off the pictures of rates by threshold, and copies tables.
const SCRIPT: &str = concat!(include_str!("sweep.js"), include_str!("copy.js"));

/// The report as a page.
#[must_use]
pub fn to_html(record: &ReportRecord) -> String {
    let pictures = record.pictures.as_ref();
    let sections: Vec<Section> = [
        classes::section(record),
        queries::section(record),
        money::who(record),
        money::section(record),
        pictures.map(|pictures| curve::section(record, pictures)),
        pictures.map(score::section),
        pictures.map(|pictures| explore::section(record, pictures)),
        group::section(record),
        importance(record),
        training::section(record),
        Some(table::section(record)),
        Some(run::section(record)),
    ]
    .into_iter()
    .flatten()
    .collect();
    let shell = Shell {
        title: format!("{} · {} · Setpoint", record.goal, record.title),
        version: &record.run.version,
        header: first::header(record),
        first: first::cards(record),
        sections,
        footer: match record.evaluation() {
            Some(evaluation) if evaluation.queries.is_some() => {
                "The results of a query come by score, the highest first; equal scores share their places in \
                 expectation. The words are explained in docs/glossary.md."
            }
            evaluation if evaluation.is_none_or(|one| one.classes.is_none()) => {
                "An example is predicted positive when its score is at or above the threshold. \
                 The words are explained in docs/glossary.md."
            }
            _ => {
                "An example is decided as the class whose score, less the shift of the class, is largest. \
                 The words are explained in docs/glossary.md."
            }
        },
        script: SCRIPT,
    };
    shell.to_html()
}

/// Which columns the goal's value is owed to.
fn importance(record: &ReportRecord) -> Option<Section> {
    let importance = record.evaluation()?.importance.as_ref()?;
    let content = html! {
        p {
            "How much of the goal's value at its condition is lost when the values of one column are dealt out among \
             the rows anew: what the model knows from that column alone. Columns that say the same share what they \
             are worth, and each by itself may seem to matter little."
            @if importance.columns.iter().any(|column| !column.weights.is_empty()) {
                " Beside it what a value adds to the score: a unit of a number, a category or a word where it is there."
            }
        }
        (page::rows(&crate::number::capital(&importance.caption()), &importance.table(crate::importance::ON_PAGE)))
    };
    Some(Section::new("columns", "What the model uses", content))
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
