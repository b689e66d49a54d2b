//! Rates within each group.

use maud::{Markup, html};

use super::number::{measured, rows, threshold};
use super::{Section, figure, table};
use crate::chart::{Axis, Chart, Dot, Scale, Tone};
use crate::evaluate::Measured;
use crate::group::GroupRecord;
use crate::record::ReportRecord;

/// Most groups in a picture; the table has all.
const MOST: usize = 24;

pub(super) fn section(record: &ReportRecord) -> Option<Section> {
    let groups = &record.evaluation()?.groups;
    let first = groups.first()?;
    let mut names: Vec<&str> = Vec::new();
    for rate in groups.iter().flat_map(|group| &group.rates) {
        if !names.contains(&rate.name.as_str()) {
            names.push(&rate.name);
        }
    }
    let limit = |name: &str| {
        let condition = record.conditions.iter().find(|condition| condition.rate.as_deref() == Some(name))?;
        Some((condition.condition.as_str(), condition.target))
    };
    let drawn: Vec<&str> = ["recall", "fpr", "precision", "positive-rate"]
        .into_iter()
        .filter(|name| names.contains(name))
        .collect();
    let caption = html! { "Each group at its threshold, with the interval." };
    let label = format!("Rates by {}", first.column);
    let mut columns = vec![first.column.as_str(), "rows", "threshold"];
    columns.extend(&names);
    let content = html! {
        div class="figures" {
            @for name in &drawn {
                (figure(&format!("{name} by {}", first.column), &chart(groups, name, limit(name)), &caption))
            }
        }
        (table(&label, &html! { (label) ", at the shipped thresholds" }, &columns, &rows_of(groups, &names)))
    };
    Some(Section::new("groups", "Groups", content))
}

fn rows_of(groups: &[GroupRecord], names: &[&str]) -> Markup {
    html! {
        @for group in groups {
            tr {
                th scope="row" { (group.group) }
                td { (rows(group.rows)) }
                td { (threshold(group.threshold)) }
                @for name in names {
                    td { @match find(group, name) { Some(rate) => (measured(rate)), None => "\u{2013}" } }
                }
            }
        }
    }
}

fn find<'a>(group: &'a GroupRecord, name: &str) -> Option<&'a Measured> {
    group.rates.iter().find(|rate| rate.name == name)
}

/// A dot for each group, the first at the top.
fn chart(groups: &[GroupRecord], name: &str, limit: Option<(&str, f64)>) -> Chart {
    let shown: Vec<&GroupRecord> = groups.iter().take(MOST).rev().collect();
    let ends = |rate: &Measured| rate.interval.as_ref().map(|ends| (ends.lower, ends.upper));
    let dots: Vec<Dot> = shown
        .iter()
        .enumerate()
        .filter_map(|(place, group)| {
            let rate = find(group, name)?;
            Some(Dot { across: ends(rate), ..Dot::new(rate.told()?, place as f64) })
        })
        .collect();
    let reach =
        dots.iter().map(|dot| dot.across.map_or(dot.x, |ends| ends.1)).chain(limit.map(|limit| limit.1));
    let top = (1.1 * reach.fold(0.0, f64::max)).clamp(0.01, 1.0);
    let words: Vec<String> = groups
        .iter()
        .filter_map(|group| {
            Some(format!("{} {}", group.group, crate::number::percent(find(group, name)?.told()?)))
        })
        .collect();
    let names = shown.iter().map(|group| group.group.clone()).collect();
    let chart = Chart::new(format!("{name} by group"), format!("{}.", words.join(", ")))
        .axes(Axis::percent(name, Scale::linear(0.0, top)), Axis::names("", names))
        .size(440.0, 90.0 + 28.0 * shown.len() as f64);
    let chart = match limit {
        Some((condition, target)) => chart.upright(condition, Tone::Limit, target),
        None => chart,
    };
    chart.dots("", Tone::Main, dots)
}
