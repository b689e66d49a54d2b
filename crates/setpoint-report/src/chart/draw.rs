//! A chart as SVG.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::layout::{Plot, width_of};
use super::mark::{Dot, Mark, Note, Series};
use super::{Chart, Thinner, style};

pub(super) fn file(chart: &Chart) -> String {
    let Chart { width, height, .. } = chart;
    let drawing = html! {
        svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" width=(width) height=(height)
            viewBox=(format!("0 0 {width} {height}")) {
            title { (chart.title) }
            desc { (chart.description) }
            style { (maud::PreEscaped(style::light())) }
            rect class="paper" width=(width) height=(height) {}
            (body(chart, &Plot::of(chart, true)))
        }
    };
    drawing.into_string()
}

pub(super) fn inline(chart: &Chart) -> Markup {
    let Chart { width, height, .. } = chart;
    html! {
        svg class="chart" role="img" viewBox=(format!("0 0 {width} {height}"))
            aria-label=(format!("{}. {}", chart.title, chart.description)) {
            (body(chart, &Plot::of(chart, false)))
        }
    }
}

fn body(chart: &Chart, plot: &Plot) -> Markup {
    let view = [plot.left - 1.5, plot.top - 1.5, plot.width + 3.0, plot.height + 3.0].map(place).join(" ");
    html! {
        @if let Some(y) = plot.title {
            text class="title" x="4" y=(place(y)) { (chart.title) }
        }
        @for (series, x, y) in &plot.legend { (legend(&chart.series[*series], *x, *y)) }
        (axes(chart, plot))
        // A drawing within the drawing clips what lies outside of the plot, save half a line's width.
        svg x=(place(plot.left - 1.5)) y=(place(plot.top - 1.5)) width=(place(plot.width + 3.0))
            height=(place(plot.height + 3.0)) viewBox=(view) {
            @for series in &chart.series { (mark(chart, plot, series)) }
        }
        @for note in &chart.notes { (text_beside(chart, plot, note)) }
    }
}

/// A coordinate: a tenth of a unit is below what a screen shows.
fn place(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn axes(chart: &Chart, plot: &Plot) -> Markup {
    let (left, top) = (plot.left, plot.top);
    let (right, bottom) = (left + plot.width, top + plot.height);
    let x_of = |value: f64| place(plot.x(chart, value));
    let y_of = |value: f64| place(plot.y(chart, value));
    let mut grid = String::new();
    for tick in &plot.x_ticks {
        let _ = write!(grid, "M{} {}V{}", x_of(tick.value), place(top), place(bottom + 4.0));
    }
    for tick in &plot.y_ticks {
        let _ = write!(grid, "M{} {}H{}", place(left - 4.0), y_of(tick.value), place(right));
    }
    html! {
        path class="grid" d=(grid) {}
        path class="frame" d=(format!("M{} {}V{}H{}", place(left), place(top), place(bottom), place(right))) {}
        @for tick in &plot.x_ticks {
            text class="tick" text-anchor="middle" x=(x_of(tick.value)) y=(place(bottom + 17.0)) { (tick.text) }
        }
        @for tick in &plot.y_ticks {
            text class="tick" text-anchor="end" x=(place(left - 7.0)) y=(y_of(tick.value)) dy="4" { (tick.text) }
        }
        @if !chart.x.label.is_empty() {
            text text-anchor="end" x=(place(right)) y=(place(bottom + 35.0)) { (chart.x.label) }
        }
        @if !chart.y.label.is_empty() { text x="4" y=(place(top - 12.0)) { (chart.y.label) } }
    }
}

fn legend(series: &Series, x: f64, y: f64) -> Markup {
    let tone = series.tone.class();
    let line = format!("M{} {}h18", place(x), place(y));
    html! {
        @match &series.mark {
            Mark::Curve { dashed: false, .. } => path class={ "curve " (tone) } d=(line) {},
            Mark::Curve { dashed: true, .. } => path class={ "curve dashed " (tone) } d=(line) {},
            Mark::Upright(_) | Mark::Level(_) => path class={ "rule " (tone) } d=(line) {},
            Mark::Band(_) => rect class={ "band " (tone) } x=(place(x)) y=(place(y - 5.0)) width="18" height="10" {},
            Mark::Bars(_) => rect class={ "bar " (tone) } x=(place(x)) y=(place(y - 5.0)) width="18" height="10" {},
            Mark::Dots(_) => circle class={ "dot " (tone) } cx=(place(x + 9.0)) cy=(place(y)) r="4.5" {},
        }
        text x=(place(x + 24.0)) y=(place(y)) dy="4" { (series.name) }
    }
}

fn mark(chart: &Chart, plot: &Plot, series: &Series) -> Markup {
    let tone = series.tone.class();
    let (left, top) = (plot.left, plot.top);
    match &series.mark {
        Mark::Curve { points, join, dashed } => {
            let class = if *dashed { "curve dashed" } else { "curve" };
            let line = line(chart, plot, &Mark::vertices(points, *join));
            html! { path class={ (class) " " (tone) } d=(line) {} }
        }
        Mark::Band(points) => {
            let upper: Vec<(f64, f64)> = points.iter().map(|(x, _, high)| (*x, *high)).collect();
            let lower: Vec<(f64, f64)> = points.iter().rev().map(|(x, low, _)| (*x, *low)).collect();
            let (there, back) = (line(chart, plot, &upper), line(chart, plot, &lower));
            let outline =
                if there.is_empty() { there } else { format!("{there}{}Z", back.replace('M', "L")) };
            html! { path class={ "band " (tone) } d=(outline) {} }
        }
        Mark::Dots(dots) => html! { @for one in dots { (dot(chart, plot, one, tone)) } },
        Mark::Bars(bars) => {
            let mut outline = String::new();
            let foot = plot.y(chart, 0.0).clamp(top, top + plot.height);
            for (from, to, height) in bars.iter().filter(|bar| bar.2.is_finite()) {
                let (from, to, head) = (plot.x(chart, *from), plot.x(chart, *to), plot.y(chart, *height));
                let _ = write!(
                    outline,
                    "M{} {}V{}H{}V{}Z",
                    place(from),
                    place(foot),
                    place(head),
                    place(to),
                    place(foot)
                );
            }
            html! { path class={ "bar " (tone) } d=(outline) {} }
        }
        Mark::Upright(x) => {
            let line = format!("M{} {}v{}", place(plot.x(chart, *x)), place(top), place(plot.height));
            html! { path class={ "rule " (tone) } d=(line) {} }
        }
        Mark::Level(y) => {
            let line = format!("M{} {}h{}", place(left), place(plot.y(chart, *y)), place(plot.width));
            html! { path class={ "rule " (tone) } d=(line) {} }
        }
    }
}

fn line(chart: &Chart, plot: &Plot, points: &[(f64, f64)]) -> String {
    let mut thinner = Thinner::new(chart.x.scale, chart.y.scale);
    for (x, y) in points {
        thinner.push(*x, *y);
    }
    let mut path = String::new();
    for (x, y) in thinner.finish() {
        let start = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{start}{} {}", place(plot.x(chart, x)), place(plot.y(chart, y)));
    }
    path
}

fn dot(chart: &Chart, plot: &Plot, dot: &Dot, tone: &str) -> Markup {
    let (x, y) = (plot.x(chart, dot.x), plot.y(chart, dot.y));
    if !(x.is_finite() && y.is_finite()) {
        return html! {};
    }
    let mut error = String::new();
    if let Some((low, high)) = dot.across {
        let (low, high) = (plot.x(chart, low), plot.x(chart, high));
        for (from, to) in [(low, low), (high, high)] {
            let _ = write!(error, "M{} {}V{}", place(from), place(y - 4.0), place(y + 4.0));
            let _ = write!(error, "M{} {}H{}", place(x), place(y), place(to));
        }
    }
    if let Some((low, high)) = dot.along {
        for end in [low, high].map(|value| plot.y(chart, value)) {
            let _ = write!(error, "M{} {}H{}", place(x - 4.0), place(end), place(x + 4.0));
            let _ = write!(error, "M{} {}V{}", place(x), place(y), place(end));
        }
    }
    html! {
        @if !error.is_empty() { path class={ "error " (tone) } d=(error) {} }
        circle class={ "dot " (tone) } cx=(place(x)) cy=(place(y)) r="4.5" {}
    }
}

/// A note to the right of its place, or to the left where there is no room.
fn text_beside(chart: &Chart, plot: &Plot, note: &Note) -> Markup {
    let (x, y) = (plot.x(chart, note.x), plot.y(chart, note.y));
    let right = plot.left + plot.width;
    let (anchor, x) = if x + 8.0 + width_of(&note.text) > right && x - plot.left > right - x {
        ("end", x - 8.0)
    } else {
        ("start", x + 8.0)
    };
    let y = (y - 8.0).clamp(plot.top + 12.0, plot.top + plot.height - 6.0);
    html! { text class={ "note " (note.tone.class()) } text-anchor=(anchor) x=(place(x)) y=(place(y)) { (note.text) } }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Join, Scale, Tone};
    use super::*;

    fn full() -> Chart {
        let unit = Scale::linear(0.0, 1.0);
        Chart::new("A <title>", "Says \"what\" it & shows")
            .axes(Axis::percent("<b>x</b>", unit), Axis::percent("y", unit))
            .curve("curve", Tone::Main, vec![(0.0, 0.0), (0.5, 0.9), (1.0, 1.0)], Join::After)
            .dashed("chance", Tone::Quiet, vec![(0.0, 0.0), (1.0, 1.0)])
            .band("band", Tone::Other, vec![(0.0, 0.1, 0.2), (1.0, 0.5, 0.9)])
            .bars("bars", Tone::Third, vec![(0.0, 0.1, 0.4), (0.1, 0.2, 0.6)])
            .dots("dots", Tone::Main, vec![Dot { along: Some((0.4, 0.6)), ..Dot::new(0.3, 0.5) }])
            .upright("at", Tone::Limit, 0.4)
            .level("", Tone::Limit, 0.7)
            .note("</svg><script>alert(1)</script>", Tone::Main, 0.9, 0.9)
    }

    #[test]
    fn texts_are_escaped() {
        for drawing in [full().to_svg(), full().inline().into_string()] {
            assert!(!drawing.contains("<script") && !drawing.contains("<b>"), "{drawing}");
            assert!(drawing.contains("&lt;script&gt;") && drawing.contains("A &lt;title&gt;"));
        }
    }

    #[test]
    fn every_mark_is_drawn_and_named_once() {
        let drawing = full().inline().into_string();
        for class in ["curve main", "curve dashed quiet", "band other", "bar third", "dot main", "rule limit"]
        {
            assert!(drawing.contains(&format!("class=\"{class}\"")), "{class}");
        }
        for name in ["curve", "chance", "band", "bars", "dots", "at"] {
            assert_eq!(drawing.matches(&format!(">{name}</text>")).count(), 1, "{name}");
        }
    }

    #[test]
    fn no_number_of_a_drawing_is_bad_whatever_the_data() {
        let wild = vec![(f64::NAN, 0.1), (0.2, f64::INFINITY), (-1e300, 0.3), (0.4, 1e300)];
        let chart = Chart::new("", "")
            .axes(Axis::number("", Scale::log(1e-3, 1.0)), Axis::number("", Scale::linear(0.0, 0.0)))
            .curve("", Tone::Main, wild.clone(), Join::Before)
            .dots("", Tone::Main, wild.iter().map(|(x, y)| Dot::new(*x, *y)).collect())
            .bars("", Tone::Main, vec![(0.0, 1.0, f64::NAN)])
            .band("", Tone::Main, vec![]);
        let drawing = chart.to_svg();
        assert!(!drawing.contains("NaN") && !drawing.contains("inf"), "{drawing}");
    }
}
