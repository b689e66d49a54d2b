//! What a study came to, as plain data, and the same as text, Markdown, or a self-contained page.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use setpoint::artifact::write_atomically;
use setpoint_report::{Chapter, Page};

use crate::picture::Picture;
use crate::table::Grid;
use crate::task::Task;
use crate::{Experiment, ExperimentError, Method};

/// The record of a run: every single cell, and what it depends on.
#[derive(Clone, Debug, Serialize)]
pub struct Record<R> {
    /// Which study.
    pub experiment: Experiment,
    /// The day of the run.
    pub date: String,
    /// Setpoint's version.
    pub version: String,
    /// What was typed, but for the data directory.
    pub command: String,
    /// Cells at a time, each on one thread.
    pub threads: usize,
    /// Seeds of the splits.
    pub seeds: Vec<u64>,
    /// The files of each data set.
    pub files: BTreeMap<&'static str, Vec<FileRecord>>,
    /// The results.
    #[serde(flatten)]
    pub results: R,
}

/// A data file.
#[derive(Clone, Debug, Serialize)]
pub struct FileRecord {
    /// Its name in the data directory.
    pub name: String,
    /// Its SHA-256.
    pub sha256: String,
}

/// A cell and what it came to.
#[derive(Clone, Debug, Serialize)]
pub struct Entry<C, O> {
    /// Which.
    #[serde(flatten)]
    pub cell: C,
    /// What it came to.
    #[serde(flatten)]
    pub outcome: O,
}

/// One cell of a table that compares methods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The study.
    pub experiment: Experiment,
    /// The task.
    pub task: Task,
    /// The seed of its split, or of the network's start where the data gives the split.
    pub seed: u64,
    /// The goal, as text.
    pub goal: String,
    /// The method.
    pub method: Method,
}

impl Cell {
    /// The cells of a goal on a task, method by method and seed by seed.
    pub(crate) fn each(
        experiment: Experiment,
        task: Task,
        goal: &str,
        methods: &[Method],
        seeds: &[u64],
    ) -> Vec<Self> {
        let pairs = methods.iter().flat_map(|method| seeds.iter().map(|seed| (*method, *seed)));
        pairs.map(|(method, seed)| Self { experiment, task, seed, goal: goal.to_owned(), method }).collect()
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task = if self.experiment == Experiment::Uci { "set" } else { "task" };
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry(task, self.task.name)?;
        map.serialize_entry("seed", &self.seed)?;
        map.serialize_entry("goal", &self.goal)?;
        map.serialize_entry("method", self.method.name(self.experiment))?;
        map.end()
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} with seed {}, {}, {}", self.task.title, self.seed, self.goal, self.method.title())
    }
}

/// The cells of tables that compare methods.
#[derive(Clone, Debug, Serialize)]
pub struct Cells<O> {
    /// All of them.
    pub cells: Vec<Entry<Cell, O>>,
}

impl<O> Cells<O> {
    /// What a method came to, seed by seed.
    pub(crate) fn of(&self, task: &Task, goal: &str, method: Method) -> Vec<&O> {
        let here = |cell: &Cell| cell.task == *task && cell.goal == goal && cell.method == method;
        self.cells.iter().filter(|entry| here(&entry.cell)).map(|entry| &entry.outcome).collect()
    }

    /// Values of a method in percent, seed by seed; `None` where it has none, or lacks one.
    pub(crate) fn values(
        &self,
        task: &Task,
        goal: &str,
        method: Method,
        value: impl Fn(&O) -> Option<f64>,
    ) -> Option<Vec<f64>> {
        let outcomes = self.of(task, goal, method);
        let values: Option<Vec<f64>> = outcomes.iter().map(|outcome| Some(100.0 * value(outcome)?)).collect();
        values.filter(|values| !values.is_empty())
    }

    /// The tasks that have cells, of a goal or of any, in order.
    pub(crate) fn tasks(&self, goal: Option<&str>) -> Vec<Task> {
        let cells = self.cells.iter().map(|entry| &entry.cell);
        unique(cells.filter(|cell| goal.is_none_or(|goal| cell.goal == goal)).map(|cell| cell.task))
    }

    /// The goals that have cells, in order.
    pub(crate) fn goals(&self) -> Vec<&str> {
        unique(self.cells.iter().map(|entry| entry.cell.goal.as_str()))
    }

    /// The methods that have cells, in order.
    pub(crate) fn methods(&self) -> Vec<Method> {
        unique(self.cells.iter().map(|entry| entry.cell.method))
    }
}

/// Each value once, in order.
pub(crate) fn unique<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// The results of a study, to be read.
pub trait Results: Serialize {
    /// The title of the document.
    fn title(&self) -> &'static str;

    /// Other tools and their versions.
    fn beside(&self) -> Vec<String> {
        Vec::new()
    }

    /// What was run, in paragraphs; code stands between backticks.
    fn procedure(&self, seeds: &str) -> Vec<String>;

    /// The tables.
    fn grids(&self) -> Vec<Grid>;
}

impl<R: Results> Record<R> {
    /// The tables as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for grid in self.results.grids() {
            let _ = write!(out, "{}\n\n{}\n{}\n\n", grid.title, grid.columns(), grid.note);
        }
        out
    }

    /// When, with what and on how many threads.
    fn circumstances(&self) -> String {
        let Self { date, version, threads, .. } = self;
        let beside: String = self.results.beside().iter().map(|tool| format!(", {tool}")).collect();
        format!("{date}, setpoint {version}{beside}, {threads} cells at a time, one thread each.")
    }

    fn procedure(&self) -> Vec<String> {
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        self.results.procedure(&seeds.join(", "))
    }

    /// As Markdown; pictures are named as files beside it.
    pub(crate) fn markdown(&self, pictures: &[Picture]) -> String {
        let title = self.results.title();
        let mut out = format!("# {title}\n\n{}\n\n```sh\n{}\n```\n\n", self.circumstances(), self.command);
        for paragraph in self.procedure() {
            let _ = write!(out, "{paragraph}\n\n");
        }
        for grid in self.results.grids() {
            let _ = write!(out, "## {}\n\n| {} |\n", grid.title, grid.heading.join(" | "));
            let _ = writeln!(out, "|{}", "---|".repeat(grid.heading.len()));
            for row in &grid.rows {
                let _ = writeln!(out, "| {} |", row.join(" | "));
            }
            let _ = write!(out, "\n{}\n\n", grid.note);
        }
        if !pictures.is_empty() {
            out.push_str("## Pictures\n\n");
            for Picture { file, caption, .. } in pictures {
                let _ = write!(out, "![{caption}]({file})\n\n{caption}\n\n");
            }
        }
        out.push_str("## Files\n\n");
        for file in self.files.values().flatten() {
            let _ = writeln!(out, "- `{}` {}", file.name, file.sha256);
        }
        out
    }

    /// As a page with the pictures inside.
    pub(crate) fn html(&self, pictures: &[Picture]) -> String {
        let mut page = Page::new(self.results.title(), self.circumstances(), &self.version);
        for grid in self.results.grids() {
            page = page.chapter(Chapter::new(&grid.title).table(grid.holds, grid.columns()).text(&grid.note));
        }
        if !pictures.is_empty() {
            let charts = pictures.iter().map(|picture| (picture.chart.clone(), picture.caption.clone()));
            page = page.chapter(Chapter::new("Pictures").charts(charts.collect()));
        }
        let how = Chapter::new("How it was run").command(&self.command);
        page = page.chapter(self.procedure().iter().fold(how, Chapter::text));
        let mut files = setpoint_report::Table::new(["file", "SHA-256"]);
        for file in self.files.values().flatten() {
            files.row([file.name.clone(), file.sha256.clone()]);
        }
        page.chapter(Chapter::new("Files").table("The data files and their SHA-256", files)).to_html()
    }

    /// Writes `<experiment>.md`, `.html` and `.json`, and the pictures, each whole or not at all.
    pub(crate) fn save(&self, output: &Path, pictures: &[Picture]) -> Result<(), ExperimentError> {
        for picture in pictures {
            write(&output.join(&picture.file), &picture.chart.to_svg())?;
        }
        let path = |end| output.join(format!("{}.{end}", self.experiment.name()));
        write(&path("md"), &self.markdown(pictures))?;
        write(&path("html"), &self.html(pictures))?;
        let json = serde_json::to_string(self).map_err(std::io::Error::from);
        write(&path("json"), &json.map_err(|error| ExperimentError::File { path: path("json"), error })?)
    }
}

/// Writes a text, whole or not at all.
fn write(path: &Path, text: &str) -> Result<(), ExperimentError> {
    Ok(write_atomically(path, |out: &mut dyn Write| out.write_all(text.as_bytes()))?)
}

#[cfg(test)]
impl<R> Record<R> {
    /// Of two seeds, with markup in the command and in the name of a file.
    pub fn made(experiment: Experiment, results: R) -> Self {
        let file = FileRecord { name: "<i>crime.data".to_owned(), sha256: "0123abcd".repeat(8) };
        Self {
            experiment,
            date: "2026-02-28".to_owned(),
            version: "0.1.0".to_owned(),
            command: "setpoint reproduce uci --output <script>alert(1)</script>".to_owned(),
            threads: 2,
            seeds: vec![3, 7],
            files: [("crime", vec![file])].into(),
            results,
        }
    }
}
