//! Pictures of results.

use setpoint_report::chart::{Axis, Chart, Join, Scale};

use crate::Method;
use crate::task::Task;
use crate::trial::Look;

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

/// A range that holds these heights, with some room.
pub(crate) fn room(heights: &[f64]) -> Scale {
    let low = heights.iter().copied().fold(f64::INFINITY, f64::min);
    let high = heights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let room = 0.05 * (high - low);
    Scale::linear((low - room).max(0.0), (high + room).min(1.0))
}

/// The paper's appendix B: a goal as training goes on, against epochs and against time.
pub(crate) fn progress(
    task: &Task,
    file: &str,
    goal: &str,
    lines: &[(Method, &[Look])],
    caption: impl Fn(&str) -> String,
) -> Vec<Picture> {
    let all = || lines.iter().flat_map(|(_, looks)| *looks);
    let heights: Vec<f64> = all().flat_map(|look| [Some(look.validation), look.test]).flatten().collect();
    if heights.is_empty() {
        return Vec::new();
    }
    let kind = goal.split(' ').next().unwrap_or_default();
    let picture = |what: &str, label: &str, place: fn(&Look) -> f64| {
        let caption = caption(what);
        let end = all().map(place).fold(0.0, f64::max);
        let mut chart = Chart::new(format!("{}: {goal}", task.title), caption.clone())
            .axes(Axis::number(label, Scale::linear(0.0, end)), Axis::percent(kind, room(&heights)))
            .size(520.0, 360.0);
        for (method, looks) in lines {
            let (title, tone) = (method.title(), method.tone());
            let validation = looks.iter().map(|look| (place(look), look.validation)).collect();
            let test: Vec<(f64, f64)> =
                looks.iter().filter_map(|look| Some((place(look), look.test?))).collect();
            chart = if test.is_empty() {
                chart.curve(title, tone, validation, Join::After)
            } else {
                let chart = chart.curve(format!("{title}, test"), tone, test, Join::After);
                chart.dashed(format!("{title}, validation"), tone, validation)
            };
        }
        Picture { file: format!("{file}-{what}.svg"), caption, chart }
    };
    vec![
        picture("epochs", "epochs", |look| look.epoch as f64),
        picture("seconds", "seconds, one thread", |look| look.seconds),
    ]
}
