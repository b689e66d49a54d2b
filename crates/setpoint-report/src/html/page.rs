//! A page of texts, tables and charts, for records that have no page of their own.

use maud::{Markup, html};

use super::shell::{Section, Shell};
use super::{figure, table};
use crate::Table;
use crate::chart::Chart;

/// A self-contained page: the look, the policy and the escaping of the report.
///
/// ```
/// use setpoint_report::{Page, Chapter, Table};
///
/// let mut table = Table::new(["set", "recall"]);
/// table.row(["Letter".to_owned(), "70.00%".to_owned()]);
/// let chapter = Chapter::new("Recall").table("On the test rows", table).text("Counted by `setpoint evaluate`.");
/// let page = Page::new("Two methods", "Five splits.", "0.1.0").chapter(chapter).to_html();
/// assert!(page.contains("<td>70.00%</td>") && page.contains("<code>setpoint evaluate</code>"));
/// ```
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    lede: String,
    version: String,
    chapters: Vec<Chapter>,
}

/// What stands under one heading of a [`Page`].
#[derive(Clone, Debug)]
pub struct Chapter {
    heading: String,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
enum Block {
    Text(String),
    Command(String),
    Table { caption: String, table: Table },
    Charts(Vec<(Chart, String)>),
}

impl Page {
    /// A page with a title, a sentence under it, and the version of Setpoint that it is from.
    #[must_use]
    pub fn new(title: impl Into<String>, lede: impl Into<String>, version: impl Into<String>) -> Self {
        Self { title: title.into(), lede: lede.into(), version: version.into(), chapters: Vec::new() }
    }

    /// Adds a chapter.
    #[must_use]
    pub fn chapter(mut self, chapter: Chapter) -> Self {
        self.chapters.push(chapter);
        self
    }

    /// The page.
    #[must_use]
    pub fn to_html(&self) -> String {
        let section = |(place, chapter): (usize, &Chapter)| {
            let content = html! { @for block in &chapter.blocks { (block.markup()) } };
            Section::new(format!("chapter-{}", place + 1), &chapter.heading, content)
        };
        let shell = Shell {
            title: format!("{} · Setpoint", self.title),
            version: &self.version,
            header: html! {
                header {
                    p class="eyebrow" { "Setpoint report" }
                    h1 { (self.title) }
                    p class="lede" { (self.lede) }
                }
            },
            first: html! {},
            sections: self.chapters.iter().enumerate().map(section).collect(),
            footer: "",
            script: include_str!("copy.js"),
        };
        shell.to_html()
    }
}

impl Chapter {
    /// A chapter with nothing but its heading.
    #[must_use]
    pub fn new(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), blocks: Vec::new() }
    }

    /// Adds a paragraph. What stands between backticks is set as code.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.block(Block::Text(text.into()))
    }

    /// Adds a command to type.
    #[must_use]
    pub fn command(self, command: impl Into<String>) -> Self {
        self.block(Block::Command(command.into()))
    }

    /// Adds a table; the first cell of a row is what the row is about.
    #[must_use]
    pub fn table(self, caption: impl Into<String>, table: Table) -> Self {
        self.block(Block::Table { caption: caption.into(), table })
    }

    /// Adds charts side by side, each with what to see in it.
    #[must_use]
    pub fn charts(self, charts: Vec<(Chart, String)>) -> Self {
        self.block(Block::Charts(charts))
    }

    fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }
}

impl Block {
    fn markup(&self) -> Markup {
        html! {
            @match self {
                Self::Text(text) => p { (with_code(text)) },
                Self::Command(command) => pre class="command" tabindex="0" { code { (command) } },
                Self::Table { caption, table } => div class="unbroken" { (rows(caption, table)) },
                Self::Charts(charts) => div class="figures" {
                    @for (chart, caption) in charts { (figure(chart.title(), chart, &html! { (caption) })) }
                },
            }
        }
    }
}

pub(super) fn rows(caption: &str, cells: &Table) -> Markup {
    let rows = html! {
        @for row in cells.body() {
            tr {
                @for (place, cell) in row.iter().enumerate() {
                    @if place == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                }
            }
        }
    };
    let columns: Vec<&str> = cells.heading().iter().map(String::as_str).collect();
    table(caption, &html! { (caption) }, &columns, &rows)
}

fn with_code(text: &str) -> Markup {
    html! {
        @for (place, words) in text.split('`').enumerate() {
            @if place % 2 == 1 { code { (words) } } @else { (words) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Join, Tone};

    /// Something that must stay text wherever it is put.
    const HOSTILE: &str = "<script>alert(\"1\")</script>";

    fn page() -> String {
        let mut table = Table::new(["set", HOSTILE]);
        table.row([HOSTILE.to_owned(), HOSTILE.to_owned()]);
        let chart = Chart::new(HOSTILE, HOSTILE).curve(HOSTILE, Tone::Main, vec![(0.0, 1.0)], Join::Line);
        let chapter = Chapter::new(HOSTILE)
            .text(format!("a `{HOSTILE}` b {HOSTILE}"))
            .command(HOSTILE)
            .table(HOSTILE, table)
            .charts(vec![(chart, HOSTILE.to_owned())]);
        Page::new(HOSTILE, HOSTILE, HOSTILE).chapter(chapter).to_html()
    }

    #[test]
    fn every_text_stays_text() {
        let page = page();
        assert!(page.contains("<code>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;</code>"));
        assert!(!page.contains("<script>alert") && !page.contains("alert(\"1\")"));
        assert_eq!(page.matches("<script>").count(), 1);
    }

    #[test]
    fn nothing_is_fetched_and_only_the_own_script_and_style_count() {
        let page = page();
        assert!(page.contains("default-src 'none'; script-src 'sha256-") && !page.contains("unsafe"));
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn tables_have_row_headings_and_charts_have_words() {
        let mut table = Table::new(["set", "recall"]);
        table.row(["Letter".to_owned(), "70%".to_owned()]);
        let charts = vec![(Chart::new("ROC curve", "It rises."), "Up is better.".to_owned())];
        let chapter = Chapter::new("Recall").table("On test", table).charts(charts);
        let page = Page::new("Methods", "Five splits.", "1.2.3").chapter(chapter).to_html();
        for markup in [
            "<h1>Methods</h1>",
            "<a href=\"#chapter-1\">Recall</a>",
            "<h2 id=\"chapter-1-heading\">Recall</h2>",
            "<caption>On test</caption>",
            "<th scope=\"col\">recall</th>",
            "<th scope=\"row\">Letter</th><td>70%</td>",
            "<h3>ROC curve</h3>",
            "aria-label=\"ROC curve. It rises.\"",
            "<figcaption>Up is better.</figcaption>",
            "Written by Setpoint 1.2.3",
        ] {
            assert!(page.contains(markup), "{markup}");
        }
    }
}
