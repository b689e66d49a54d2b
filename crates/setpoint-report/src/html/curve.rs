//! ROC and precision-recall curves of both methods, whole and zoomed to the goal.

use maud::{Markup, html};

use super::number::{rate, threshold};
use super::{Section, figure, table};
use crate::chart::{Axis, Chart, Dot, Join, Scale, Tone};
use crate::evaluate::EvaluateRecord;
use crate::number::{percent, widened};
use crate::picture::{CurveRecord, Pictures, Window};
use crate::record::ReportRecord;

const UNIT: Window = Window { x: (0.0, 1.0), y: (0.0, 1.0) };

/// One of the two kinds of curve.
struct Kind {
    title: &'static str,
    axes: [&'static str; 2],
    /// The same as goals name them.
    rates: [&'static str; 2],
}

const ROC: Kind =
    Kind { title: "ROC curve", axes: ["false positive rate", "recall"], rates: ["fpr", "recall"] };
const PR: Kind =
    Kind { title: "Precision and recall", axes: ["recall", "precision"], rates: ["recall", "precision"] };

pub(super) fn section(record: &ReportRecord, pictures: &Pictures) -> Section {
    let of = |curve: fn(&CurveRecord) -> &[(f64, f64)]| -> Vec<(&str, Vec<(f64, f64)>)> {
        pictures.curves.iter().map(|one| (one.name.as_str(), curve(one).to_vec())).collect()
    };
    let roc = chart(record, pictures, &ROC, UNIT, of(|one| &one.roc), false);
    let roc_zoom = chart(record, pictures, &ROC, pictures.roc_window, of(|one| &one.roc_zoom), true);
    let pr = chart(record, pictures, &PR, UNIT, of(|one| &one.pr), false);
    let pr_zoom = chart(record, pictures, &PR, pictures.pr_window, of(|one| &one.pr_zoom), true);
    let whole = html! { "Every threshold at once; up and to the left is better." };
    let up = html! { "Every threshold at once; up and to the right is better." };
    let zoomed = html! {
        "The stretch that the goal is about. The dot is the threshold that ships, with the intervals of both its rates."
    };
    let content = html! {
        div class="figures" {
            (figure(ROC.title, &roc, &whole))
            (figure("ROC curve, zoomed to the goal", &roc_zoom, &zoomed))
            (figure(PR.title, &pr, &up))
            (figure("Precision and recall, zoomed to the goal", &pr_zoom, &zoomed))
        }
        (area(pictures))
    };
    Section::new("curves", "Curves", content)
}

fn chart(
    record: &ReportRecord,
    pictures: &Pictures,
    kind: &Kind,
    window: Window,
    curves: Vec<(&str, Vec<(f64, f64)>)>,
    zoomed: bool,
) -> Chart {
    let [x, y] = kind.axes;
    let mut chart = Chart::new(kind.title, description(kind, &curves)).axes(
        Axis::percent(x, Scale::linear(window.x.0, window.x.1)),
        Axis::percent(y, Scale::linear(window.y.0, window.y.1)),
    );
    if !zoomed {
        chart = match kind.axes[0] {
            "recall" => {
                let share = record
                    .evaluation()
                    .map_or(0.0, |one| one.positives.unwrap_or_default() as f64 / one.rows as f64);
                chart.dashed("chance", Tone::Quiet, vec![(0.0, share), (1.0, share)])
            }
            _ => chart.dashed("chance", Tone::Quiet, vec![(0.0, 0.0), (1.0, 1.0)]),
        };
    }
    for condition in record.conditions.iter().filter(|_| zoomed) {
        match condition.rate.as_deref() {
            Some(rate) if rate == kind.rates[0] => {
                chart = chart.upright(condition.condition.clone(), Tone::Limit, condition.target);
            }
            Some(rate) if rate == kind.rates[1] => {
                chart = chart.level(condition.condition.clone(), Tone::Limit, condition.target);
            }
            _ => {}
        }
    }
    // The model's curve over the other's.
    for (place, (name, points)) in curves.into_iter().enumerate().rev() {
        let tone = if place == 0 { Tone::Main } else { Tone::Other };
        chart = chart.curve(name, tone, points, Join::Line);
    }
    let area: Vec<Dot> = pictures
        .area
        .iter()
        .filter(|_| zoomed)
        .filter(|point| [point.axis.as_str(), point.rate.as_str()] == kind.rates)
        .map(|point| Dot::new(point.target, point.value))
        .collect();
    if !area.is_empty() {
        chart = chart.dots("of the area", Tone::Third, area);
    }
    match record.evaluation().and_then(|evaluation| shipped(evaluation, kind)) {
        Some(dot) => chart.dots("what ships", Tone::Main, vec![dot]),
        None => chart,
    }
}

fn description(kind: &Kind, curves: &[(&str, Vec<(f64, f64)>)]) -> String {
    let names: Vec<&str> = curves.iter().map(|(name, _)| *name).collect();
    format!("{} against {} at every threshold, for {}.", kind.axes[1], kind.axes[0], names.join(" and "))
}

fn shipped(evaluation: &EvaluateRecord, kind: &Kind) -> Option<Dot> {
    let find = |name: &str| evaluation.at_threshold.iter().find(|one| one.name == name);
    let (x, y) = (find(kind.rates[0])?, find(kind.rates[1])?);
    let ends = |one: &crate::evaluate::Measured| one.interval.as_ref().map(|ends| (ends.lower, ends.upper));
    Some(Dot { across: ends(x), along: ends(y), ..Dot::new(x.value, y.value) })
}

/// The thresholds that stand for an area.
fn area(pictures: &Pictures) -> Markup {
    let points = &pictures.area;
    let Some(first) = points.first() else { return html! {} };
    let rows = html! {
        @for point in points {
            tr {
                th scope="row" { (percent(point.target)) }
                td { (threshold(widened(point.threshold))) }
                td { (rate(point.value)) }
            }
        }
    };
    let caption = html! { "Thresholds that stand for the area, on the rows shown" };
    table("Thresholds of the area", &caption, &[&first.axis, "threshold", &first.rate], &rows)
}
