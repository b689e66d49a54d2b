//! The goal on validation as training goes on, against epochs and against time (the paper's appendix B).

use setpoint_report::chart::{Axis, Chart, Join, Scale, Tone};

use super::protocol::Method;
use super::record::{CellRecord, Record};
use super::trial::Look;
use crate::Picture;
use crate::document::room;

/// Two pictures for each task and kind of goal, of the first seed.
pub fn draw(record: &Record) -> Vec<Picture> {
    let goals = record.goals();
    let kind = |goal: &str| goal.split(' ').next().unwrap_or_default().to_owned();
    let mut pictures = Vec::new();
    for (task, title) in record.tasks() {
        let mut drawn = Vec::new();
        for goal in &goals {
            // The paper's pictures are of one limit; ours of the first of each kind.
            if drawn.contains(&kind(goal)) {
                continue;
            }
            drawn.push(kind(goal));
            pictures.extend(progress(record, task, title, goal));
        }
    }
    pictures
}

fn tone(method: Method) -> Tone {
    match method {
        Method::Mixed => Tone::Main,
        Method::Ico => Tone::Third,
        Method::Lagrangian => Tone::Other,
        Method::Weighted => Tone::Fourth,
        Method::Pairwise => Tone::Limit,
        Method::CrossEntropy | Method::Once | Method::Auto => Tone::Quiet,
    }
}

/// The best fit of each method, epoch by epoch.
fn progress(record: &Record, task: &str, title: &str, goal: &str) -> Vec<Picture> {
    let first = record.seeds.first().copied();
    let of = |cell: &&CellRecord| {
        let here = cell.task == task && cell.goal == goal && Some(cell.seed) == first;
        here && !cell.fitted.looks.is_empty()
    };
    let lines: Vec<&CellRecord> = record.cells.iter().filter(of).collect();
    let all = || lines.iter().flat_map(|cell| &cell.fitted.looks);
    let heights: Vec<f64> = all().map(|look| look.validation).collect();
    let Some(seed) = first.filter(|_| !heights.is_empty()) else { return Vec::new() };
    let kind = goal.split(' ').next().unwrap_or_default();
    let picture = |what: &str, label: &str, place: fn(&Look) -> f64| {
        let caption = format!(
            "{title}, seed {seed}: {goal} on validation against {what}, best epoch so far of each method's best fit"
        );
        let end = all().map(place).fold(0.0, f64::max);
        let mut chart = Chart::new(format!("{title}: {goal}"), caption.clone())
            .axes(Axis::number(label, Scale::linear(0.0, end)), Axis::percent(kind, room(&heights)))
            .size(520.0, 360.0);
        for cell in &lines {
            let points = cell.fitted.looks.iter().map(|look| (place(look), look.validation)).collect();
            chart = chart.curve(cell.method.title(), tone(cell.method), points, Join::After);
        }
        Picture { file: format!("progress-{task}-{kind}-{what}.svg"), caption, chart }
    };
    vec![
        picture("epochs", "epochs", |look| look.epoch as f64),
        picture("seconds", "seconds, one thread", |look| look.seconds),
    ]
}
