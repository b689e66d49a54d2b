//! What every page has around its content: the policy, the style, the way to its sections.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{policy, style};

/// A part of the page under a heading.
pub(super) struct Section {
    id: String,
    heading: String,
    content: Markup,
}

impl Section {
    pub(super) fn new(id: impl Into<String>, heading: impl Into<String>, content: Markup) -> Self {
        Self { id: id.into(), heading: heading.into(), content }
    }
}

/// A page before it is put together.
pub(super) struct Shell<'a> {
    /// For the browser's window.
    pub title: String,
    /// Setpoint's version.
    pub version: &'a str,
    /// The heading, and what stands with it.
    pub header: Markup,
    /// What comes before the way to the sections.
    pub first: Markup,
    pub sections: Vec<Section>,
    /// A sentence to end with.
    pub footer: &'a str,
    /// All that runs on the page.
    pub script: &'a str,
}

impl Shell<'_> {
    pub(super) fn to_html(&self) -> String {
        let style = style::sheet();
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy::policy(self.script, &style));
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="generator" content={ "Setpoint " (self.version) };
                    title { (self.title) }
                    link rel="icon" href="data:,";
                    style { (PreEscaped(&style)) }
                }
                body {
                    a class="skip" href="#main" { "Skip to the report" }
                    (self.header)
                    main id="main" {
                        (self.first)
                        nav aria-label="Sections" {
                            @for section in &self.sections { a href={ "#" (section.id) } { (section.heading) } }
                        }
                        @for section in &self.sections {
                            section id=(section.id) aria-labelledby={ (section.id) "-heading" } {
                                h2 id={ (section.id) "-heading" } { (section.heading) }
                                (section.content)
                            }
                        }
                    }
                    footer { p { "Written by Setpoint " (self.version) ". " (self.footer) } }
                    script { (PreEscaped(self.script)) }
                }
            }
        };
        page.into_string()
    }
}
