//! Who goes where, and what decisions pay by threshold.

use maud::html;

use super::{Section, figure, table};
use crate::chart::{Axis, Chart, Join, Scale, Tone};
use crate::record::ReportRecord;

/// The rows that two thresholds decide, and those left to people.
pub(super) fn who(record: &ReportRecord) -> Option<Section> {
    let band = record.evaluation()?.band.as_ref()?;
    let heading = band.heading();
    let columns: Vec<&str> = heading.iter().map(String::as_str).collect();
    let rows = html! {
        @for line in band.lines() {
            tr {
                @for (place, cell) in line.iter().enumerate() {
                    @if place == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                }
            }
        }
    };
    let caption =
        html! { "Positive at or above the upper threshold, negative below the lower, on the rows shown" };
    Some(Section::new("who", "Who goes where", table("Who goes where", &caption, &columns, &rows)))
}

/// What a row pays at each threshold, with its interval.
pub(super) fn section(record: &ReportRecord) -> Option<Section> {
    let paid = record.evaluation()?.money.as_ref()?;
    let pictures = record.pictures.as_ref()?;
    let money = pictures.money.as_ref()?;
    let thresholds = pictures.sweep.thresholds.iter().map(|one| f64::from(*one));
    let bands: Vec<(f64, f64, f64)> =
        thresholds.zip(&money.intervals).map(|(at, (low, high))| (at, *low, *high)).collect();
    let points = bands.iter().zip(&money.values).map(|((at, ..), value)| (*at, *value)).collect();
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(one), high.max(one)))
    };
    let (from, to) = ends(&mut bands.iter().map(|(at, ..)| *at));
    let (low, high) = ends(&mut bands.iter().flat_map(|(_, low, high)| [*low, *high]));
    let chart =
        Chart::new(format!("{} by threshold", paid.name), format!("{} a row at each threshold.", paid.name))
            .axes(
                Axis::number("threshold", Scale::linear(from, to)),
                Axis::number(format!("{} a row", paid.name), Scale::linear(low, high)),
            )
            .band("", Tone::Main, bands)
            .curve(paid.name.clone(), Tone::Main, points, Join::Line)
            .upright("ships", Tone::Limit, f64::from(pictures.threshold));
    let caption =
        html! { "The mean of the rows shown, with its interval as a band. " (paid.to_string()) "." };
    Some(Section::new(
        "money",
        "Money",
        html! { div class="figures" { (figure(chart.title(), &chart, &caption)) } },
    ))
}
