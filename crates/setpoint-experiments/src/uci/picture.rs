//! The paper's figures 2 and 3 and its appendix B, on the two sets they are about.

use setpoint::metric::{Cuts, pr};
use setpoint::train::{Combined, TrainError};
use setpoint_report::chart::{Axis, Chart, Join, Scale};

use super::cell::{Fitted, Outcome};
use super::protocol::grid;
use super::study::split;
use super::table::test;
use super::trace::trace;
use crate::goals::{RANGES, Table, parse};
use crate::picture::{Picture, progress, room};
use crate::problem::failed;
use crate::statistic::mean;
use crate::task::{Source, Task};
use crate::{Cells, ExperimentError, Look, Method, Problem, StudyPlan, Watch};

/// Draws what the results allow.
pub fn draw(
    plan: &StudyPlan,
    cells: &Cells<Outcome>,
    watch: &dyn Watch,
) -> Result<Vec<Picture>, ExperimentError> {
    let mut pictures = Vec::new();
    let goal = &Table::PrAuc.goals()[0];
    for task in cells.tasks(None) {
        if !matches!(task.source, Source::Letter | Source::Ijcnn1) {
            continue;
        }
        let failed = || failed(format!("a picture of {}", task.title));
        // What the methods chose on the first split.
        let first = plan.seeds.first().copied();
        let chosen: Vec<(Method, &Fitted)> = cells
            .cells
            .iter()
            .filter(|entry| entry.cell.task == task && entry.cell.goal == *goal)
            .filter(|entry| Some(entry.cell.seed) == first)
            .filter_map(|entry| Some((entry.cell.method, entry.outcome.fitted()?)))
            .collect();
        let split = match first.filter(|_| !chosen.is_empty()) {
            Some(seed) => Some((seed, split(&plan.data, &task, seed)?)),
            None => None,
        };
        if let Some((seed, split)) = &split {
            pictures.extend(curves(&task, *seed, split, &chosen).map_err(failed())?);
        }
        pictures.extend(ranges(cells, &task));
        if let Some((seed, split)) = &split {
            pictures.extend(traces(&task, *seed, split, &chosen, watch).map_err(failed())?);
        }
    }
    Ok(pictures)
}

/// Figure 2: precision against recall on the first split's test rows, whole and where it matters.
fn curves(
    task: &Task,
    seed: u64,
    split: &Problem,
    chosen: &[(Method, &Fitted)],
) -> Result<[Picture; 2], TrainError> {
    let mut lines = Vec::new();
    for (method, fitted) in chosen {
        let scores = split.test.scores(&Combined::single(fitted.parameters.clone()))?;
        let cuts = Cuts::new(&split.test.sample, &scores)?;
        let points: Vec<(f64, f64)> =
            pr::points(&cuts)?.map(|point| (point.recall, point.precision)).collect();
        lines.push((*method, points));
    }
    let title = task.title;
    let picture = |end: &str, caption: String, from: f64, top: f64| {
        let recall = Axis::percent("recall", Scale::linear(from, 1.0));
        let precision = Axis::percent("precision", Scale::linear(0.0, top));
        let heading = format!("{title}: precision against recall");
        let mut chart = Chart::new(heading, caption.clone()).axes(recall, precision).size(520.0, 360.0);
        for (method, points) in &lines {
            chart = chart.curve(method.title(), method.tone(), points.clone(), Join::Before);
        }
        Picture { file: format!("curve-{}{end}.svg", task.name), chart, caption }
    };
    let within = lines.iter().flat_map(|(_, points)| points).filter(|(recall, _)| *recall >= 0.95);
    let top = (1.1 * within.map(|(_, precision)| *precision).fold(0.0, f64::max)).min(1.0);
    let whole =
        format!("{title}, seed {seed}: precision against recall on test, trained for recall in 0.95..1");
    let zoom = format!("{title}, seed {seed}: the range of recall that was asked for");
    Ok([picture("", whole, 0.0, 1.0), picture("-zoom", zoom, 0.95, top)])
}

/// Figure 3: pr-auc over recall in b..1 against b, mean over the splits.
fn ranges(cells: &Cells<Outcome>, task: &Task) -> Option<Picture> {
    let goals = Table::Range.goals();
    let mut lines = Vec::new();
    for method in cells.methods() {
        let values = goals.iter().map(|goal| Some(mean(&test(cells, task, goal, method)?) / 100.0));
        let points: Option<Vec<(f64, f64)>> =
            RANGES.iter().zip(values).map(|(from, value)| Some((*from, value?))).collect();
        lines.extend(points.map(|points| (method, points)));
    }
    let heights: Vec<f64> =
        lines.iter().flat_map(|(_, points)| points.iter().map(|(_, height)| *height)).collect();
    if heights.is_empty() {
        return None;
    }
    let title = format!("{}: pr-auc over recall in b..1", task.title);
    let caption = format!("{title} against b, mean over the splits");
    let from = Axis::percent("b", Scale::linear(RANGES[0], 1.0));
    let value = Axis::percent("pr-auc", room(&heights));
    let mut chart = Chart::new(title, caption.clone()).axes(from, value).size(520.0, 360.0);
    for (method, points) in lines {
        chart = chart.curve(method.title(), method.tone(), points, Join::Line);
    }
    Some(Picture { file: format!("range-{}.svg", task.name), chart, caption })
}

/// Appendix B: the goal as training goes on, for ico and lagrangian with the settings chosen.
fn traces(
    task: &Task,
    seed: u64,
    split: &Problem,
    chosen: &[(Method, &Fitted)],
    watch: &dyn Watch,
) -> Result<Vec<Picture>, TrainError> {
    let goal = parse(&Table::PrAuc.goals()[0]);
    let mut lines: Vec<(Method, Vec<Look>)> = Vec::new();
    for (method, fitted) in chosen {
        if let Method::Ico | Method::Lagrangian = method
            && let Some(choice) =
                grid(*method, &goal, seed).iter().find(|choice| choice.name == fitted.setting)
        {
            lines.push((*method, trace(&goal, split, choice, watch)?));
        }
    }
    let lines: Vec<(Method, &[Look])> = lines.iter().map(|(method, looks)| (*method, &looks[..])).collect();
    let what = "pr-auc over recall in 0.95..1";
    Ok(progress(task, &format!("progress-{}", task.name), what, &lines, |against| {
        let title = task.title;
        format!("{title}, seed {seed}: {what} against {against}, at the best step so far by validation")
    }))
}
