//! The paper's figures 2 and 3 and its appendix B, on the two sets they are about.

use setpoint::metric::{Cuts, pr};
use setpoint::train::TrainError;
use setpoint_report::chart::{Axis, Chart, Join, Scale, Tone};

use super::cell::{Cell, Outcome};
use super::goals::{RANGES, Table, parse};
use super::protocol::Method;
use super::run::Results;
use super::trace::{Look, trace};
use super::{Set, Split};
use crate::document::{Picture, room};
use crate::statistic::mean;
use crate::{ExperimentError, Watch};

/// Draws what the results allow.
///
/// # Errors
/// If a fit fails, or the caller stops.
pub fn draw(results: &Results, watch: &dyn Watch) -> Result<Vec<Picture>, ExperimentError> {
    let mut pictures = Vec::new();
    for set in [Set::Letter, Set::Ijcnn1] {
        let failed = |error| match error {
            TrainError::Stopped => ExperimentError::Stopped,
            error => ExperimentError::Train {
                what: format!("a picture of {}", set.title()),
                error: Box::new(error),
            },
        };
        pictures.extend(curves(results, set).map_err(failed)?);
        pictures.extend(ranges(results, set));
        pictures.extend(progress(results, set, watch).map_err(failed)?);
    }
    Ok(pictures)
}

fn tone(method: Method) -> Tone {
    match method {
        Method::Setpoint => Tone::Main,
        Method::Ico => Tone::Third,
        Method::Lagrangian => Tone::Other,
        Method::Weighted => Tone::Fourth,
        Method::Once => Tone::Limit,
        // Never in one picture: pairwise has no loss for goals over recall.
        Method::CrossEntropy | Method::Pairwise => Tone::Quiet,
    }
}

/// What the methods chose for a goal on the first split of a set.
fn chosen<'r>(results: &'r Results, set: Set, goal: &str) -> Vec<(&'r Cell, &'r str, &'r [f32])> {
    let first = results.record.seeds.first().copied();
    let of = |(cell, outcome): &'r (Cell, Outcome)| match outcome {
        Outcome::Fitted(fitted) if cell.set == set && Some(cell.seed) == first && cell.goal == goal => {
            Some((cell, fitted.setting.as_str(), fitted.parameters.as_slice()))
        }
        _ => None,
    };
    results.outcomes.iter().filter_map(of).collect()
}

fn split_of<'r>(results: &'r Results, cell: &Cell) -> &'r Split {
    &results.splits[&(cell.set, cell.seed)]
}

/// Figure 2: precision against recall on the first split's test rows, whole and where it matters.
fn curves(results: &Results, set: Set) -> Result<Vec<Picture>, TrainError> {
    let goal = &Table::PrAuc.goals()[0];
    let mut lines = Vec::new();
    for (cell, _, parameters) in chosen(results, set, goal) {
        let test = &split_of(results, cell).test;
        let cuts = Cuts::new(&test.sample, &test.scores(parameters)?)?;
        let points: Vec<(f64, f64)> =
            pr::points(&cuts)?.map(|point| (point.recall, point.precision)).collect();
        lines.push((cell.method, points));
    }
    if lines.is_empty() {
        return Ok(Vec::new());
    }
    let seed = results.record.seeds[0];
    let within = |lines: &[(Method, Vec<(f64, f64)>)], from: f64| {
        let points = lines.iter().flat_map(|(_, points)| points);
        points.filter(|(recall, _)| *recall >= from).map(|(_, precision)| *precision).fold(0.0, f64::max)
    };
    let picture = |file: String, caption: String, from: f64, top: f64| {
        let recall = Axis::percent("recall", Scale::linear(from, 1.0));
        let precision = Axis::percent("precision", Scale::linear(0.0, top));
        let title = format!("{}: precision against recall", set.title());
        let mut chart = Chart::new(title, caption.clone()).axes(recall, precision).size(520.0, 360.0);
        for (method, points) in &lines {
            chart = chart.curve(method.title(), tone(*method), points.clone(), Join::Before);
        }
        Picture { file, chart, caption }
    };
    let name = set.title();
    let top = (1.1 * within(&lines, 0.95)).min(1.0);
    Ok(vec![
        picture(
            format!("curve-{}.svg", set.name()),
            format!("{name}, seed {seed}: precision against recall on test, trained for recall in 0.95..1"),
            0.0,
            1.0,
        ),
        picture(
            format!("curve-{}-zoom.svg", set.name()),
            format!("{name}, seed {seed}: the range of recall that was asked for"),
            0.95,
            top,
        ),
    ])
}

/// Figure 3: pr-auc over recall in b..1 against b, mean over the splits.
fn ranges(results: &Results, set: Set) -> Vec<Picture> {
    let record = &results.record;
    let goals = Table::Range.goals();
    let mut lines = Vec::new();
    for method in record.methods() {
        let values = goals.iter().map(|goal| Some(mean(&record.test(set, goal, method)?) / 100.0));
        let points: Option<Vec<(f64, f64)>> =
            RANGES.iter().zip(values).map(|(from, value)| Some((*from, value?))).collect();
        lines.extend(points.map(|points| (method, points)));
    }
    if lines.is_empty() {
        return Vec::new();
    }
    let heights: Vec<f64> =
        lines.iter().flat_map(|(_, points)| points.iter().map(|(_, height)| *height)).collect();
    let caption = format!("{}: pr-auc over recall in b..1 against b, mean over the splits", set.title());
    let from = Axis::percent("b", Scale::linear(RANGES[0], 1.0));
    let value = Axis::percent("pr-auc", room(&heights));
    let title = format!("{}: pr-auc over recall in b..1", set.title());
    let mut chart = Chart::new(title, caption.clone()).axes(from, value).size(520.0, 360.0);
    for (method, points) in lines {
        chart = chart.curve(method.title(), tone(method), points, Join::Line);
    }
    vec![Picture { file: format!("range-{}.svg", set.name()), chart, caption }]
}

/// Appendix B: the goal against epochs and against time, for ico and lagrangian with the settings chosen.
fn progress(results: &Results, set: Set, watch: &dyn Watch) -> Result<Vec<Picture>, TrainError> {
    let text = &Table::PrAuc.goals()[0];
    let goal = parse(text);
    let mut lines: Vec<(Method, Vec<Look>)> = Vec::new();
    for (cell, setting, _) in chosen(results, set, text) {
        if !matches!(cell.method, Method::Ico | Method::Lagrangian) {
            continue;
        }
        let grid = cell.method.grid(&goal, cell.seed);
        if let Some(choice) = grid.iter().find(|choice| choice.name == setting) {
            lines.push((cell.method, trace(&goal, split_of(results, cell), choice, watch)?));
        }
    }
    if lines.iter().all(|(_, looks)| looks.is_empty()) {
        return Ok(Vec::new());
    }
    let all = || lines.iter().flat_map(|(_, looks)| looks);
    let heights: Vec<f64> = all().flat_map(|look| [look.validation, look.test]).collect();
    let seed = results.record.seeds[0];
    let picture = |what: &str, label: &str, place: fn(&Look) -> f64| {
        let caption = format!(
            "{}, seed {seed}: pr-auc over recall in 0.95..1 against {what}, at the best step so far by validation",
            set.title()
        );
        let end = all().map(place).fold(0.0, f64::max);
        let across = Axis::number(label, Scale::linear(0.0, end));
        let title = format!("{}: pr-auc over recall in 0.95..1", set.title());
        let mut chart = Chart::new(title, caption.clone())
            .axes(across, Axis::percent("pr-auc", room(&heights)))
            .size(520.0, 360.0);
        for (method, looks) in &lines {
            let points =
                |value: fn(&Look) -> f64| looks.iter().map(|look| (place(look), value(look))).collect();
            let (title, tone) = (method.title(), tone(*method));
            chart = chart
                .curve(format!("{title}, test"), tone, points(|look| look.test), Join::After)
                .dashed(format!("{title}, validation"), tone, points(|look| look.validation));
        }
        Picture { file: format!("progress-{}-{what}.svg", set.name()), chart, caption }
    };
    Ok(vec![
        picture("epochs", "epochs (full-batch steps)", |look| look.step as f64),
        picture("seconds", "seconds, one thread", |look| look.seconds),
    ])
}
