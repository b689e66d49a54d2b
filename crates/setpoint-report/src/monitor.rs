//! Where a watched model stands: as text, as JSON, and as a page with the evidence over time.

use std::fmt;

use serde::Serialize;
use setpoint::message::{self, counted, quote};

use crate::chart::{Axis, Chart, Dot, Join, Scale, Tone};
use crate::evaluate::said_of_mix;
use crate::html::{Chapter, Page};
use crate::number::percent;
use crate::table::Table;

/// A watched model after the last batch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MonitorRecord {
    /// The model file.
    pub artifact: String,
    /// The goal, as goals print.
    pub goal: String,
    /// The chance of a false alarm, ever, over all conditions and groups.
    pub alpha: f64,
    /// Labelled rows so far.
    pub rows: u64,
    /// Rows without a label so far.
    pub unlabelled: u64,
    /// Whether a condition is broken, or was at some time.
    pub alarm: bool,
    /// Whether rows without labels hint at a change.
    pub hint: bool,
    /// Every certified condition in every group.
    pub conditions: Vec<WatchedRecord>,
    /// What rows without labels tell.
    pub hints: Vec<HintRecord>,
    /// After each batch without labels.
    pub hint_history: Vec<HintPointRecord>,
    /// What a reader should know besides.
    pub notes: Vec<String>,
}

/// One condition in one group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WatchedRecord {
    /// The condition.
    pub condition: String,
    /// The group.
    pub group: Option<String>,
    /// Its target.
    pub target: f64,
    /// What the rate counts.
    pub counted: f64,
    /// Out of how many.
    pub examples: f64,
    /// Which examples those are.
    pub of: &'static str,
    /// The rate so far.
    pub rate: Option<f64>,
    /// Its interval, valid at every look.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// The evidence against the condition.
    pub evidence: f64,
    /// The evidence at which the alarm is raised.
    pub alarm_at: f64,
    /// After how many labelled rows it was, if it was.
    pub alarm_after: Option<u64>,
    /// The rate that the numbers still needed are about.
    pub told: f64,
    /// Examples still needed to tell that rate.
    pub needed: Option<u64>,
    /// About as many rows.
    pub needed_rows: Option<u64>,
    /// Whether the condition survives another mix of classes, each class scoring as before.
    pub survives_mix: bool,
    /// After each batch.
    pub history: Vec<WatchedPoint>,
}

/// A condition after a batch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WatchedPoint {
    /// Labelled rows so far.
    pub rows: u64,
    /// The rate in the batch alone.
    pub rate: Option<f64>,
    /// Logarithm of the evidence, to base 10.
    pub log10_evidence: f64,
    /// The interval for the rate so far.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

/// What rows without labels hint at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HintRecord {
    /// What may have changed.
    pub what: String,
    /// The score at which scores differ most.
    pub score: Option<f64>,
    /// The share of calibration rows.
    pub expected: f64,
    /// The share of these rows.
    pub observed: Option<f64>,
    /// The evidence of a change.
    pub evidence: f64,
    /// The evidence at which the hint is given.
    pub alarm_at: f64,
    /// After how many rows without labels it was, if it was.
    pub alarm_after: Option<u64>,
}

/// The hints after a batch without labels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HintPointRecord {
    /// Rows without a label so far.
    pub rows: u64,
    /// The share of the batch that was decided positive; of several classes, as the one that changed most.
    pub decided: Option<f64>,
    /// Logarithms of the evidence to base 10, of each hint.
    pub log10_evidence: Vec<f64>,
}

impl WatchedRecord {
    /// `fpr<=1%`, with its group.
    fn name(&self) -> String {
        match &self.group {
            Some(group) => format!("{} in group {}", self.condition, quote(group)),
            None => self.condition.clone(),
        }
    }
}

impl MonitorRecord {
    /// Its sentences, in which a front end spells the settings.
    pub fn sentences(&mut self) -> impl Iterator<Item = &mut String> {
        self.notes.iter_mut()
    }

    /// The broken conditions, in words.
    ///
    /// # Errors
    /// Those words, if there are any.
    pub fn check(&self) -> Result<(), String> {
        let broken: Vec<String> = self.conditions.iter().filter_map(WatchedRecord::broken).collect();
        if broken.is_empty() { Ok(()) } else { Err(broken.join("; ")) }
    }

    /// The page.
    #[must_use]
    pub fn to_html(&self, title: &str, version: &str) -> String {
        let standing = match (self.alarm, self.hint) {
            (true, _) => "A certified condition is broken.",
            (false, true) => "Quiet; rows without labels hint at a change.",
            (false, false) => "Quiet.",
        };
        let lede = format!(
            "{standing} {} with labels and {} without, since the watch began. The chance of ever raising a false \
             alarm is at most {}, however often one looks.",
            rows(self.rows),
            rows(self.unlabelled),
            percent(self.alpha)
        );
        let mut page = Page::new(format!("{}, watched: {title}", self.goal), lede, version);
        if !self.conditions.is_empty() {
            let mut chapter = Chapter::new("Conditions").table("Every certified condition", self.table());
            for watched in &self.conditions {
                chapter = chapter.charts(watched.charts());
            }
            page = page.chapter(chapter.text(
                "Evidence is what a capital of 1 became that was betted against the condition. While the condition holds \
                 it reaches the line with the chance above at the most.",
            ));
        }
        if !self.hints.is_empty() {
            let chapter = Chapter::new("Rows without labels")
                .text(
                    "Hints that rows are no longer like the calibration rows. A hint is not a broken certificate: \
                     it is a reason to have some rows labelled.",
                )
                .table("Hints", self.hint_table())
                .charts(self.hint_charts());
            page = page.chapter(chapter);
        }
        if !self.notes.is_empty() {
            let chapter = self.notes.iter().fold(Chapter::new("Notes"), |chapter, note| chapter.text(note));
            page = page.chapter(chapter);
        }
        page.to_html()
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["condition", "rate", "interval", "evidence", "alarm at", "still needed"]);
        for one in &self.conditions {
            table.row([
                one.name(),
                one.rate.map_or_else(|| "-".to_owned(), percent),
                format!("[{}, {}]", percent(one.lower), percent(one.upper)),
                number(one.evidence),
                number(one.alarm_at),
                one.still_needed(),
            ]);
        }
        table
    }

    fn hint_table(&self) -> Table {
        let mut table = Table::new(["hint", "calibration", "here", "evidence", "given at"]);
        for one in &self.hints {
            table.row([
                one.name(),
                percent(one.expected),
                one.observed.map_or_else(|| "-".to_owned(), percent),
                number(one.evidence),
                number(one.alarm_at),
            ]);
        }
        table
    }

    fn hint_charts(&self) -> Vec<(Chart, String)> {
        let history = &self.hint_history;
        let Some(last) = history.last() else { return Vec::new() };
        let values: Vec<f64> = history.iter().flat_map(|point| point.log10_evidence.clone()).collect();
        let limit = self.hints[0].alarm_at.log10();
        let along = Axis::number("rows without a label", Scale::linear(0.0, last.rows as f64));
        let mut evidence =
            Chart::new("Evidence of a change", "The evidence that rows are other than the calibration rows.")
                .axes(along.clone(), Axis::number("evidence, powers of ten", evidence_scale(&values, limit)));
        for (place, (hint, tone)) in self.hints.iter().zip([Tone::Main, Tone::Other]).enumerate() {
            let curve = history
                .iter()
                .map(|point| (point.rows as f64, point.log10_evidence.get(place).copied().unwrap_or(0.0)))
                .collect();
            evidence = evidence.curve(&hint.what, tone, curve, Join::Line);
        }
        let evidence = evidence.level("hint", Tone::Limit, limit);
        let shares: Vec<Dot> =
            history.iter().filter_map(|point| Some(Dot::new(point.rows as f64, point.decided?))).collect();
        let highest = history.iter().filter_map(|point| point.decided).fold(self.hints[0].expected, f64::max);
        let what = &self.hints[0].what;
        let share = Chart::new(what.replacen('s', "S", 1), format!("The {what} in each batch."))
            .axes(along, Axis::percent("share", Scale::linear(0.0, (1.2 * highest).clamp(1e-6, 1.0))))
            .dots("batches", Tone::Main, shares)
            .level("calibration", Tone::Quiet, self.hints[0].expected);
        vec![
            (evidence, "At the line, rows are other than the calibration rows.".to_owned()),
            (share, "Each batch, and what the calibration rows had.".to_owned()),
        ]
    }
}

/// A scale for logarithms of evidence that shows the line.
fn evidence_scale(values: &[f64], limit: f64) -> Scale {
    let (low, high) =
        values.iter().fold((-1.0_f64, limit), |ends, value| (ends.0.min(*value), ends.1.max(*value)));
    Scale::linear(low.max(-6.0), (high + 0.5).min(limit + 12.0))
}

impl WatchedRecord {
    fn broken(&self) -> Option<String> {
        let after = self.alarm_after?;
        Some(format!(
            "{} is broken: the alarm was raised after {}; so far {} ({} of {} {})",
            self.name(),
            rows(after),
            self.rate.map_or_else(|| "-".to_owned(), percent),
            number(self.counted),
            number(self.examples),
            self.of
        ))
    }

    fn still_needed(&self) -> String {
        match (self.needed, self.needed_rows) {
            (Some(0), _) => "none".to_owned(),
            (Some(needed), Some(rows)) if rows != needed => {
                format!("{needed} {} (about {rows} rows)", self.of)
            }
            (Some(needed), _) => format!("{needed} {}", self.of),
            (None, _) => "-".to_owned(),
        }
    }

    fn charts(&self) -> Vec<(Chart, String)> {
        let Some(last) = self.history.last() else { return Vec::new() };
        let along = || Axis::number("labelled rows", Scale::linear(0.0, last.rows as f64));
        let (name, limit) = (self.name(), self.alarm_at.log10());
        let evidence: Vec<(f64, f64)> =
            self.history.iter().map(|point| (point.rows as f64, point.log10_evidence)).collect();
        let values: Vec<f64> = evidence.iter().map(|point| point.1).collect();
        let first =
            Chart::new(format!("{name}: evidence"), format!("The evidence against {name} over time."))
                .axes(along(), Axis::number("evidence, powers of ten", evidence_scale(&values, limit)))
                .curve("evidence", Tone::Main, evidence, Join::Line)
                .level("alarm", Tone::Limit, limit);
        let band: Vec<(f64, f64, f64)> =
            self.history.iter().map(|point| (point.rows as f64, point.lower, point.upper)).collect();
        let dots: Vec<Dot> =
            self.history.iter().filter_map(|point| Some(Dot::new(point.rows as f64, point.rate?))).collect();
        let seen =
            dots.iter().map(|dot| dot.y).chain(self.history.iter().skip(2).flat_map(|p| [p.lower, p.upper]));
        let (low, high) = seen.fold((self.target, self.target), |ends, y| (ends.0.min(y), ends.1.max(y)));
        let room = 0.1 * (high - low).max(1e-4);
        let second = Chart::new(format!("{name}: rate"), format!("The rate of {name} in each batch."))
            .axes(
                along(),
                Axis::percent("rate", Scale::linear((low - room).max(0.0), (high + room).min(1.0))),
            )
            .band("interval of all so far", Tone::Quiet, band)
            .dots("batches", Tone::Main, dots)
            .level("target", Tone::Limit, self.target);
        let caption = if self.alarm_after.is_some() {
            "The alarm was raised where the evidence reached the line."
        } else {
            "Quiet while the evidence stays below the line."
        };
        vec![
            (first, caption.to_owned()),
            (second, "Each batch by itself, and an interval for the rate over all so far that holds at every look.".to_owned()),
        ]
    }
}

impl HintRecord {
    fn name(&self) -> String {
        match self.score {
            Some(score) => format!("{} (most at {} and above)", self.what, message::number(score)),
            None => self.what.clone(),
        }
    }
}

/// An amount as people read it.
fn number(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{value:.1e}"),
        value if value.fract() == 0.0 || value >= 100.0 => format!("{value:.0}"),
        value => format!("{value:.2}"),
    }
}

fn rows(count: u64) -> String {
    counted(count as usize, "row")
}

/// The status on a terminal.
impl fmt::Display for MonitorRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "goal      {}", self.goal)?;
        writeln!(f, "rows      {} with labels, {} without", self.rows, self.unlabelled)?;
        let standing = if self.alarm { "ALARM" } else { "quiet" };
        writeln!(f, "standing  {standing}; a false alarm, ever: at most {}\n", percent(self.alpha))?;
        if !self.conditions.is_empty() {
            writeln!(f, "{}", self.table())?;
        }
        if self.unlabelled > 0 {
            writeln!(f, "{}", self.hint_table())?;
        }
        for one in &self.conditions {
            if let Some(broken) = one.broken() {
                writeln!(f, "alarm     {broken}")?;
            }
        }
        for one in self.hints.iter().filter(|one| one.alarm_after.is_some()) {
            let after = rows(one.alarm_after.unwrap_or_default());
            writeln!(f, "hint      the {} changed, told after {after}: have some rows labelled", one.name())?;
        }
        let each = self.conditions.iter().map(|one| (one.condition.as_str(), one.survives_mix));
        f.write_str(&said_of_mix(each, "the mix of classes it was certified at"))
    }
}
