//! Rates against the threshold: what another threshold would give.
//!
//! Two pictures share their thresholds: recall and precision, which move over the whole range, and
//! the rates that the goal limits, which move near their target. A slider, or a pointer over the
//! pictures, reads off the values; the table below says the same without a script.

use maud::{Markup, PreEscaped, html};

use super::number::{count, maybe_rate, threshold};
use super::score::score_label;
use super::{Section, figure, table};
use crate::chart::{Axis, Chart, Join, Scale, Tone};
use crate::number::{percent, value_of, widened};
use crate::picture::{Pictures, RateSweep, Sweep};
use crate::record::ReportRecord;

/// Thresholds in the table, besides the shipped one.
const TABLED: usize = 10;

pub(super) fn section(record: &ReportRecord, pictures: &Pictures) -> Section {
    let sweep = &pictures.sweep;
    let limited = limited(record, pictures);
    let chart = rates_chart(pictures, &limited);
    let below = limit_chart(pictures, &limited);
    let caption = html! {
        "Exact rates on the rows shown, with their intervals as bands."
        @if sweep.certified.is_some() { " Every threshold in the shaded range is covered by the certificate." }
    };
    let limit_caption = html! { "The rate that the goal limits, near its target." };
    let content = html! {
        div class="explore" {
            div class="figures" {
                (with_place(&chart, &figure("Rates by threshold", &chart, &caption)))
                @if let Some(below) = &below {
                    (with_place(below, &figure("The limit by threshold", below, &limit_caption)))
                }
            }
            (slider(sweep))
        }
        (tabled(sweep))
    };
    Section::new("thresholds", "Another threshold?", content)
}

/// The rates that the goal's conditions are on, with their targets.
fn limited<'a>(record: &'a ReportRecord, pictures: &'a Pictures) -> Vec<(&'a RateSweep, &'a str, f64)> {
    record
        .conditions
        .iter()
        .filter_map(|condition| {
            let rate = pictures.sweep.rate(condition.rate.as_deref()?)?;
            Some((rate, condition.condition.as_str(), condition.target))
        })
        .collect()
}

fn along(sweep: &Sweep) -> Scale {
    let ends = (sweep.thresholds.first(), sweep.thresholds.last());
    match ends {
        (Some(from), Some(to)) => Scale::linear(f64::from(*from), f64::from(*to)),
        _ => Scale::linear(0.0, 1.0),
    }
}

fn values(sweep: &Sweep, rate: &RateSweep) -> Vec<(f64, f64)> {
    let pairs = sweep.thresholds.iter().zip(&rate.values);
    pairs.filter_map(|(threshold, value)| Some((f64::from(*threshold), (*value)?))).collect()
}

fn band(sweep: &Sweep, rate: &RateSweep) -> Vec<(f64, f64, f64)> {
    let pairs = sweep.thresholds.iter().zip(&rate.intervals);
    pairs.filter_map(|(threshold, ends)| ends.map(|(low, high)| (f64::from(*threshold), low, high))).collect()
}

fn with_certified(chart: Chart, sweep: &Sweep, top: f64) -> Chart {
    match sweep.certified {
        Some((from, to)) => chart.band("certified", Tone::Third, vec![(from, 0.0, top), (to, 0.0, top)]),
        None => chart,
    }
}

/// Recall and precision, and the limited rates that are neither small nor drawn below.
fn rates_chart(pictures: &Pictures, limited: &[(&RateSweep, &str, f64)]) -> Chart {
    let sweep = &pictures.sweep;
    let at = |name: &str| sweep.rate(name).and_then(|rate| rate.values[sweep.shipped]);
    let description = format!(
        "At the shipped threshold {}: recall {}, precision {}, false positive rate {}.",
        pictures.threshold,
        value_of(at("recall")),
        value_of(at("precision")),
        value_of(at("fpr"))
    );
    let chart = Chart::new("Rates by threshold", description).axes(
        Axis::number(score_label(pictures), along(sweep)),
        Axis::percent("rate", Scale::linear(0.0, 1.0)),
    );
    let mut chart = with_certified(chart, sweep, 1.0);
    for name in ["recall", "precision", "fpr"] {
        if let Some(rate) = sweep.rate(name) {
            let tone = tone_of(name);
            chart =
                chart.band("", tone, band(sweep, rate)).curve(name, tone, values(sweep, rate), Join::Line);
        }
    }
    for (_, condition, target) in
        limited.iter().filter(|(rate, ..)| ["recall", "precision"].contains(&rate.name.as_str()))
    {
        chart = chart.level(*condition, Tone::Limit, *target);
    }
    chart.upright("ships", Tone::Limit, f64::from(pictures.threshold))
}

/// A rate has the same colour in both pictures.
fn tone_of(rate: &str) -> Tone {
    match rate {
        "recall" => Tone::Main,
        "precision" => Tone::Fourth,
        _ => Tone::Other,
    }
}

/// The first limited rate, near its target.
fn limit_chart(pictures: &Pictures, limited: &[(&RateSweep, &str, f64)]) -> Option<Chart> {
    let (rate, condition, target) = limited.first()?;
    let sweep = &pictures.sweep;
    let (from, to) = if *target < 0.5 { (0.0, 3.0 * target) } else { (1.0 - 3.0 * (1.0 - target), 1.0) };
    let observed = rate.values[sweep.shipped];
    let description = format!(
        "{} against the threshold, near its target {}. At the shipped threshold it is {}.",
        rate.name,
        percent(*target),
        value_of(observed)
    );
    let chart = Chart::new("The limit by threshold", description).axes(
        Axis::number(score_label(pictures), along(sweep)),
        Axis::percent(rate.name.clone(), Scale::linear(from.max(0.0), to.min(1.0))),
    );
    let tone = tone_of(&rate.name);
    let chart = with_certified(chart, sweep, 1.0)
        .band("interval", tone, band(sweep, rate))
        .curve(rate.name.clone(), tone, values(sweep, rate), Join::Line)
        .level(*condition, Tone::Limit, *target)
        .upright("ships", Tone::Limit, f64::from(pictures.threshold));
    Some(chart)
}

/// Tells the script where the plot lies in the drawing.
fn with_place(chart: &Chart, figure: &Markup) -> Markup {
    let plot = chart.plot();
    let place = [plot.left, plot.top, plot.width, plot.height].map(|value| format!("{value:.1}")).join(" ");
    html! { div class="readable" data-plot=(place) { (figure) } }
}

/// Hidden until the script brings it to life.
fn slider(sweep: &Sweep) -> Markup {
    let last = sweep.thresholds.len().saturating_sub(1);
    // Inside a script element only `<` could end it.
    let data = serde_json::to_string(sweep).unwrap_or_default().replace('<', "\\u003c");
    html! {
        div class="slider" hidden {
            label for="threshold" { "Move the threshold (arrow keys, or drag over the pictures)" }
            input type="range" id="threshold" min="0" max=(last) step="1" value=(sweep.shipped);
            output for="threshold" aria-live="off" {}
            button type="button" { "Back to what ships" }
        }
        script type="application/json" id="sweep" { (PreEscaped(data)) }
    }
}

/// Some thresholds, evenly, and the shipped one.
fn tabled(sweep: &Sweep) -> Markup {
    let last = sweep.thresholds.len().saturating_sub(1);
    let mut places: Vec<usize> =
        (0..=TABLED).map(|place| place * last / TABLED).chain([sweep.shipped]).collect();
    places.sort_unstable();
    places.dedup();
    let rows = html! {
        @for place in places.into_iter().filter(|place| *place <= last) {
            tr class=[(place == sweep.shipped).then_some("shipped")] {
                th scope="row" {
                    (threshold(widened(sweep.thresholds[place])))
                    @if place == sweep.shipped { " ships" }
                }
                @for rate in &sweep.rates {
                    td {
                        (maybe_rate(rate.values[place]))
                        @if let Some((low, high)) = rate.intervals[place] {
                            span class="interval" { (percent(low)) " to " (percent(high)) }
                        }
                    }
                }
                td { (count(sweep.true_positives[place])) }
                td { (count(sweep.false_positives[place])) }
            }
        }
    };
    let mut columns = vec!["threshold"];
    columns.extend(sweep.rates.iter().map(|rate| rate.name.as_str()));
    columns.extend(["caught", "false alarms"]);
    table("Rates at some thresholds", &html! { "Rates at some thresholds" }, &columns, &rows)
}
