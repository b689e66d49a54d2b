//! Tables and pictures of an experiment as one document: text, Markdown, or a self-contained page.
//!
//! A document is plain data until it is written; all three hold the same tables.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use setpoint::artifact::write_atomically;
use setpoint_report::chart::{Chart, Scale};
use setpoint_report::{Page, Part, Table};

use crate::ExperimentError;
use crate::statistic::{deviation, mean};

/// A table with a heading, before it is drawn.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub title: String,
    /// What the cells hold, in short.
    pub holds: &'static str,
    pub heading: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// What the columns mean.
    pub note: String,
}

/// A picture of the results.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The name of its SVG file.
    pub file: String,
    /// What it shows.
    pub caption: String,
    /// The drawing.
    pub chart: Chart,
}

/// A data file.
#[derive(Clone, Debug, Serialize)]
pub struct FileRecord {
    /// Its name in the data directory.
    pub name: String,
    /// Its SHA-256.
    pub sha256: String,
}

/// What an experiment came to, to be read.
pub(crate) struct Document<'r> {
    pub title: &'static str,
    /// When, with what and on how many threads.
    pub circumstances: String,
    pub version: &'r str,
    pub command: &'r str,
    /// What was run, in paragraphs; code stands between backticks.
    pub procedure: Vec<String>,
    pub grids: Vec<Grid>,
    pub pictures: &'r [Picture],
    pub files: Vec<&'r FileRecord>,
}

impl Grid {
    fn columns(&self) -> Table {
        let mut columns = Table::with_heading(self.heading.clone());
        self.rows.iter().for_each(|row| columns.row(row.iter().cloned()));
        columns
    }
}

/// Tables as text.
pub(crate) fn text(grids: &[Grid]) -> String {
    let mut out = String::new();
    for grid in grids {
        let _ = write!(out, "{}\n\n{}\n{}\n\n", grid.title, grid.columns(), grid.note);
    }
    out
}

impl Document<'_> {
    /// As Markdown; pictures are named as files beside it.
    pub fn markdown(&self) -> String {
        let Self { title, circumstances, command, .. } = self;
        let mut out = format!("# {title}\n\n{circumstances}\n\n```sh\n{command}\n```\n\n");
        for paragraph in &self.procedure {
            let _ = write!(out, "{paragraph}\n\n");
        }
        for grid in &self.grids {
            let _ = write!(out, "## {}\n\n| {} |\n", grid.title, grid.heading.join(" | "));
            let _ = writeln!(out, "|{}", "---|".repeat(grid.heading.len()));
            for row in &grid.rows {
                let _ = writeln!(out, "| {} |", row.join(" | "));
            }
            let _ = write!(out, "\n{}\n\n", grid.note);
        }
        if !self.pictures.is_empty() {
            out.push_str("## Pictures\n\n");
            for Picture { file, caption, .. } in self.pictures {
                let _ = write!(out, "![{caption}]({file})\n\n{caption}\n\n");
            }
        }
        out.push_str("## Files\n\n");
        for file in &self.files {
            let _ = writeln!(out, "- `{}` {}", file.name, file.sha256);
        }
        out
    }

    /// As a page with the pictures inside.
    pub fn html(&self) -> String {
        let mut page = Page::new(self.title, self.circumstances.clone(), self.version);
        for grid in &self.grids {
            page = page.part(Part::new(&grid.title).table(grid.holds, grid.columns()).text(&grid.note));
        }
        if !self.pictures.is_empty() {
            let charts = self.pictures.iter().map(|picture| (picture.chart.clone(), picture.caption.clone()));
            page = page.part(Part::new("Pictures").charts(charts.collect()));
        }
        let how = Part::new("How it was run").command(self.command);
        page = page.part(self.procedure.iter().fold(how, Part::text));
        let mut files = Table::new(["file", "SHA-256"]);
        for file in &self.files {
            files.row([file.name.clone(), file.sha256.clone()]);
        }
        page.part(Part::new("Files").table("The data files and their SHA-256", files)).to_html()
    }

    /// Writes `<name>.md`, `<name>.html`, `<name>.json` of the record, and the pictures.
    pub fn save(&self, output: &Path, name: &str, record: &impl Serialize) -> Result<(), ExperimentError> {
        for picture in self.pictures {
            write(&output.join(&picture.file), &picture.chart.to_svg())?;
        }
        write(&output.join(format!("{name}.md")), &self.markdown())?;
        write(&output.join(format!("{name}.html")), &self.html())?;
        let json = serde_json::to_string(record).map_err(std::io::Error::from);
        let path = output.join(format!("{name}.json"));
        write(&path, &json.map_err(|error| ExperimentError::File { path: path.clone(), error })?)
    }
}

/// Writes a text, whole or not at all.
fn write(path: &Path, text: &str) -> Result<(), ExperimentError> {
    Ok(write_atomically(path, |out: &mut dyn Write| out.write_all(text.as_bytes()))?)
}

/// Mean ± sd.
pub(crate) fn spread(values: &[f64]) -> String {
    format!("{:.2} ± {:.2}", mean(values), deviation(values))
}

/// A range that holds these heights, with some room.
pub(crate) fn room(heights: &[f64]) -> Scale {
    let low = heights.iter().copied().fold(f64::INFINITY, f64::min);
    let high = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let room = 0.05 * (high - low);
    Scale::linear((low - room).max(0.0), (high + room).min(1.0))
}
