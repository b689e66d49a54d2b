//! Queries: the metric by the number of results, its spread over the queries, the best and the worst of them.

use maud::{Markup, html};

use setpoint::message;

use super::number::{exact, maybe_rate, measured, points, rate, rows, threshold};
use super::{Section, figure, table};
use crate::chart::{Axis, Chart, Join, Scale, Tone};
use crate::few::LEAST;
use crate::number::percent;
use crate::queries::{QueriesRecord, QueryRecord};
use crate::record::ReportRecord;

/// Best and worst queries on the page; the record has a few more.
const SHOWN: usize = 3;

pub(super) fn section(record: &ReportRecord) -> Option<Section> {
    let queries = record.evaluation()?.queries.as_ref()?;
    let metric = record.goal.strip_suffix(" per query").unwrap_or(&record.goal);
    let content = html! {
        div class="figures" {
            @if !queries.by_k.is_empty() { (by_k(queries)) }
            @if !queries.tenths.is_empty() { (spread(queries, metric)) }
        }
        (gains(queries))
        @for (title, some) in [("worst", &queries.worst), ("best", &queries.best)] {
            @if !some.is_empty() {
                h3 { "The " (title) " queries" }
                @for one in some.iter().take(SHOWN) { (query(one, metric)) }
            }
        }
    };
    Some(Section::new("queries", "Queries", content))
}

/// The metric by the number of results looked at.
fn by_k(queries: &QueriesRecord) -> Markup {
    let name = &queries.by_k_metric;
    let of = |value: fn(&crate::queries::ByK) -> Option<f64>| -> Vec<(f64, f64)> {
        queries.by_k.iter().filter_map(|one| Some((one.k as f64, value(one)?))).collect()
    };
    let band: Vec<(f64, f64, f64)> = (queries.by_k.iter())
        .filter_map(|one| one.interval.as_ref().map(|bounds| (one.k as f64, bounds.lower, bounds.upper)))
        .collect();
    let ends = [queries.by_k.first(), queries.by_k.last()];
    let [Some(first), Some(last)] = ends else { return html! {} };
    let said = format!(
        "{name} is {} of the first {} and {} of the first {} results.",
        percent(first.value),
        first.k,
        percent(last.value),
        last.k
    );
    let heights = of(|one| Some(one.value)).into_iter().chain(of(|one| one.baseline)).map(|(_, y)| y);
    let top = band.iter().map(|(_, _, upper)| *upper).chain(heights).fold(0.0, f64::max);
    let scales = (
        Scale::linear(first.k as f64, (last.k as f64).max(first.k as f64 + 1.0)),
        Scale::linear(0.0, (1.1 * top).min(1.0)),
    );
    let mut chart = Chart::new(format!("{name} by the number of results"), said)
        .axes(Axis::number("results looked at (k)", scales.0), Axis::percent(name.as_str(), scales.1))
        .band("interval", Tone::Main, band)
        .curve("Setpoint", Tone::Main, of(|one| Some(one.value)), Join::Line);
    let base = of(|one| one.baseline);
    if !base.is_empty() && queries.metrics.first().is_some_and(|one| one.examples >= LEAST) {
        chart = chart.curve("baseline", Tone::Other, base, Join::Line);
    }
    let caption = html! { "Means over the queries, with intervals by draws of whole queries." };
    figure(&format!("{name} by the number of results"), &chart, &caption)
}

/// How many queries have which value.
fn spread(queries: &QueriesRecord, metric: &str) -> Markup {
    let count = queries.tenths.len() as f64;
    let bars: Vec<(f64, f64, f64)> = queries
        .tenths
        .iter()
        .enumerate()
        .map(|(place, some)| (place as f64 / count, (place + 1) as f64 / count, *some as f64))
        .collect();
    let most = queries.tenths.iter().copied().max().unwrap_or(0).max(1) as f64;
    let said: Vec<String> = queries.tenths.iter().map(u64::to_string).collect();
    let chart =
        Chart::new("Queries by value", format!("Queries in each tenth of {metric}: {}.", said.join(", ")))
            .axes(
                Axis::percent(metric, Scale::linear(0.0, 1.0)),
                Axis::number("queries", Scale::linear(0.0, 1.1 * most)),
            )
            .bars("", Tone::Main, bars);
    figure(
        "Queries by value",
        &chart,
        &html! { "How many queries have which value of " code { (metric) } "." },
    )
}

/// The gain over the baseline, metric by metric.
fn gains(queries: &QueriesRecord) -> Markup {
    let body = html! {
        @for one in &queries.gains {
            tr {
                th scope="row" { (one.name) }
                td { @match queries.metrics.iter().find(|metric| metric.name == one.name) {
                    Some(metric) => (measured(metric)), None => "\u{2013}" } }
                td { (points(one.value)) }
                td { @if let Some(bounds) = &one.interval { (points(bounds.lower)) " to " (points(bounds.upper)) } }
            }
        }
    };
    let columns = ["metric", "Setpoint", "over the baseline, in points", "interval"];
    let caption = html! { "Differences query by query, which have less noise than those of means" };
    html! { @if !queries.gains.is_empty() { (table("Gains", &caption, &columns, &body)) } }
}

/// A query and its results.
fn query(one: &QueryRecord, metric: &str) -> Markup {
    let caption = html! {
        strong { (one.query) } ": " (metric) " " (rate(one.value))
        @if one.baseline.is_some() { " (baseline " (maybe_rate(one.baseline)) ")" }
        ", " (rows(one.relevant)) " of " (rows(one.rows)) " results relevant"
    };
    let body = html! {
        @for result in &one.results {
            tr class=[result.relevant.then_some("shipped")] {
                th scope="row" { (result.place) }
                td { data value=(exact(result.grade)) { (message::number(result.grade)) } }
                td { (threshold(result.score)) }
                td { (rows(result.row)) }
            }
        }
    };
    table(
        &format!("Results of {}", one.query),
        &caption,
        &["place", "grade", "score", "row of the data"],
        &body,
    )
}
