//! Where the parts of a chart go.

use super::axis::Tick;
use super::{Chart, Tone};

/// Width of a character of the charts' text, about.
const CHARACTER: f64 = 7.6;
/// Height of a line of legend.
const LINE: f64 = 18.0;
/// Swatch of a legend entry, with the gap after it.
const SWATCH: f64 = 24.0;
const GAP: f64 = 10.0;

/// The rectangle that holds the marks, and what lies around it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plot {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(super) x_ticks: Vec<Tick>,
    pub(super) y_ticks: Vec<Tick>,
    /// By entry: which series, and where.
    pub(super) legend: Vec<(usize, f64, f64)>,
    /// Where the title goes, if it is drawn.
    pub(super) title: Option<f64>,
}

/// Width of a text, about.
pub(super) fn width_of(text: &str) -> f64 {
    CHARACTER * text.chars().count() as f64
}

impl Plot {
    pub(super) fn of(chart: &Chart, titled: bool) -> Self {
        let mut top = 6.0;
        let title = titled.then(|| {
            top += 22.0;
            top - 8.0
        });
        let (legend, rows) = legend(chart, top);
        top += LINE * rows as f64 + if rows > 0 { 6.0 } else { 0.0 };
        if !chart.y.label.is_empty() {
            top += LINE + 4.0;
        }
        let below = 22.0 + if chart.x.label.is_empty() { 0.0 } else { 18.0 };
        let height = (chart.height - top - below).max(40.0);
        let y_ticks = chart.y.ticks((height / 40.0) as usize);
        let widest = y_ticks.iter().map(|tick| width_of(&tick.text)).fold(0.0, f64::max);
        let left = (widest + 12.0).clamp(34.0, chart.width / 2.0);
        let width = chart.width - left - 18.0;
        let x_ticks = chart.x.ticks((width / 62.0) as usize);
        Self { left, top, width, height, x_ticks, y_ticks, legend, title }
    }

    /// Place of a value of the first axis in the drawing.
    pub(super) fn x(&self, chart: &Chart, value: f64) -> f64 {
        self.left + self.width * chart.x.scale.position(value)
    }

    /// Place of a value of the second axis in the drawing.
    pub(super) fn y(&self, chart: &Chart, value: f64) -> f64 {
        self.top + self.height * (1.0 - chart.y.scale.position(value))
    }
}

/// The entries' places, and how many lines they take.
fn legend(chart: &Chart, top: f64) -> (Vec<(usize, f64, f64)>, usize) {
    let mut entries = Vec::new();
    let (mut x, mut rows) = (0.0, 0);
    let mut named: Vec<_> =
        chart.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty()).collect();
    // What the chart is about comes first, wherever it was drawn.
    named.sort_by_key(|(_, series)| Tone::ALL.iter().position(|tone| *tone == series.tone));
    for (place, series) in named {
        let width = SWATCH + width_of(&series.name) + GAP;
        if rows == 0 || x + width > chart.width {
            (x, rows) = (4.0, rows + 1);
        }
        entries.push((place, x, top + LINE * (rows as f64 - 0.5)));
        x += width;
    }
    (entries, rows)
}
