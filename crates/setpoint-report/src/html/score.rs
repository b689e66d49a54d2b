//! Where the scores of each class lie, and what a score is worth.

use maud::{Markup, html};

use super::number::{count, rate};
use super::{Section, figure, table};
use crate::chart::{Axis, Chart, Dot, Join, Scale, Tone};
use crate::number::percent;
use crate::picture::{Histogram, Pictures};

pub(super) fn section(pictures: &Pictures) -> Section {
    let whole = histogram("Scores of each class", pictures, &pictures.scores);
    let near = histogram("Scores about the threshold", pictures, &pictures.near);
    let share = |beyond: [f64; 2]| percent(beyond[0] + beyond[1]);
    let beside = html! {
        "Within a standard deviation of the threshold; "
        (share(pictures.near.positives_beyond)) " of the positives and " (share(pictures.near.negatives_beyond))
        " of the negatives lie beyond."
    };
    let caption = html! { "Each class by itself: its bars add up to 100%." };
    let worth = html! {
        "The share of positives among rows of neighbouring scores, with intervals."
        @if !pictures.margins {
            " The dashed line is where they would lie if scores were log-odds; training for an operating "
            "point asks for a good order, not for that."
        }
    };
    let content = html! {
        div class="figures" {
            (figure("Scores of each class", &whole, &caption))
            (figure("Scores about the threshold", &near, &beside))
            (figure("What a score is worth", &reliability(pictures), &worth))
            (worth_table(pictures))
        }
    };
    Section::new("scores", "Scores", content)
}

/// The same in numbers.
fn worth_table(pictures: &Pictures) -> Markup {
    let rows = html! {
        @for bin in &pictures.reliability {
            tr {
                th scope="row" { (format!("{:.3}", bin.score)) }
                td { (count(bin.rows)) }
                td { (count(bin.positives)) }
                td { (rate(bin.share)) }
            }
        }
    };
    let caption = html! { "What a score is worth, in numbers" };
    let columns = ["mean score", "rows", "positives", "share"];
    html! { div class="dense" { (table("What a score is worth, in numbers", &caption, &columns, &rows)) } }
}

/// What the scores of a picture are.
pub(super) fn score_label(pictures: &Pictures) -> &'static str {
    if pictures.margins { "score less the group's threshold" } else { "score" }
}

fn histogram(title: &str, pictures: &Pictures, histogram: &Histogram) -> Chart {
    let highest = histogram.positives.iter().chain(&histogram.negatives).copied().fold(0.0, f64::max);
    let above = |shares: &[f64], beyond: f64| {
        let bars = histogram.bars(shares);
        let inside: f64 =
            bars.iter().filter(|bar| bar.0 >= f64::from(pictures.threshold)).map(|bar| bar.2).sum();
        percent(inside + beyond)
    };
    let description = format!(
        "Shares of the positives and of the negatives by score. About {} of the positives and {} of the \
         negatives score above the threshold {}.",
        above(&histogram.positives, histogram.positives_beyond[1]),
        above(&histogram.negatives, histogram.negatives_beyond[1]),
        pictures.threshold
    );
    Chart::new(title, description)
        .axes(
            Axis::number(score_label(pictures), Scale::linear(histogram.from, histogram.to)),
            Axis::percent("share of the class", Scale::linear(0.0, 1.08 * highest)),
        )
        .bars("negatives", Tone::Other, histogram.bars(&histogram.negatives))
        .bars("positives", Tone::Main, histogram.bars(&histogram.positives))
        .upright("threshold", Tone::Limit, f64::from(pictures.threshold))
}

fn reliability(pictures: &Pictures) -> Chart {
    let bins = &pictures.reliability;
    let ends = (bins.first(), bins.last());
    let (from, to) = match ends {
        (Some(first), Some(last)) => (first.score, last.score),
        _ => (0.0, 1.0),
    };
    let room = 0.04 * (to - from);
    let (from, to) = (from - room, to + room);
    let description = match ends {
        (Some(first), Some(last)) => format!(
            "The share of positives rises from {} at the lowest scores to {} at the highest.",
            percent(first.share),
            percent(last.share)
        ),
        _ => String::new(),
    };
    let dots = bins
        .iter()
        .map(|bin| Dot { along: bin.lower.zip(bin.upper), ..Dot::new(bin.score, bin.share) })
        .collect();
    let line = bins.iter().map(|bin| (bin.score, bin.share)).collect();
    let mut chart = Chart::new("What a score is worth", description).axes(
        Axis::number(score_label(pictures), Scale::linear(from, to)),
        Axis::percent("share of positives", Scale::linear(0.0, 1.0)),
    );
    if !pictures.margins {
        let logistic = |place: i32| {
            let score = from + (to - from) * f64::from(place) / 100.0;
            (score, 1.0 / (1.0 + (-score).exp()))
        };
        chart = chart.dashed("if scores were log-odds", Tone::Quiet, (0..=100).map(logistic).collect());
    }
    chart.curve("", Tone::Main, line, Join::Line).dots("observed", Tone::Main, dots).upright(
        "threshold",
        Tone::Limit,
        f64::from(pictures.threshold),
    )
}
