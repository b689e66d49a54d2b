//! Several classes: the confusion matrix as a picture, rates by class before and after, the price of each
//! condition.

use maud::{Markup, html};

use super::number::{count, exact, maybe_rate, measured, points, rows};
use super::{Section, table};
use crate::classes::{ClassDecisions, ClassesRecord};
use crate::evaluate::Measured;
use crate::few::{LEAST, alone};
use crate::number::{number, percent};
use crate::record::ReportRecord;

/// Most classes whose matrix is drawn; the table of mistakes has the worst of all.
const MOST_DRAWN: usize = 40;
/// Mistakes in the table.
const MISTAKES: usize = 20;
/// Side of a cell, and width of a letter, in the units of the drawing.
const CELL: usize = 34;
const LETTER: usize = 8;
/// Most letters of a name beside the matrix.
const LETTERS: usize = 12;

pub(super) fn section(record: &ReportRecord) -> Option<Section> {
    let classes = record.evaluation()?.classes.as_ref()?;
    let content = html! {
        @if classes.names.len() <= MOST_DRAWN {
            div class="figures" {
                figure {
                    h3 { "Decisions by true class" }
                    (matrix(classes, &classes.decided))
                    figcaption { "Each row of cells is a true class, each column what its rows are decided as: the "
                        "darker, the larger the share of the true class. On the diagonal is the recall; shares of few rows have no number." }
                }
                @if let Some(plain) = &classes.plain {
                    figure {
                        h3 { "The same by cross-entropy's largest score" }
                        (matrix(classes, plain))
                        figcaption { "Cross-entropy's model with no shifts: what was there before." }
                    }
                }
            }
        }
        (by_class(classes))
        (mistakes(classes))
        (prices(record, classes))
    };
    Some(Section::new("classes", "Classes", content))
}

/// Shares of each true class, as cells whose darkness grows with the share.
fn matrix(classes: &ClassesRecord<ClassDecisions>, decided: &ClassDecisions) -> Markup {
    let longest = classes.names.iter().map(|name| name.chars().count().min(LETTERS + 1)).max().unwrap_or(0);
    let room = 16 + LETTER * longest;
    let side = room + classes.names.len() * CELL;
    let short = |name: &str| -> String {
        let mut letters = name.chars();
        let start: String = letters.by_ref().take(LETTERS).collect();
        if letters.next().is_some() { format!("{start}\u{2026}") } else { start }
    };
    let said: Vec<String> = classes
        .names
        .iter()
        .zip(&decided.by_class)
        .filter_map(|(name, one)| Some(format!("{name} {}", percent(one.rate("recall")?.alone()?))))
        .collect();
    html! {
        svg class="chart matrix" viewBox=(format!("0 0 {side} {side}")) role="img"
            aria-label=(format!("Confusion matrix. Recall by class: {}.", said.join(", "))) {
            @for (y, row) in decided.matrix.iter().enumerate() {
                @let all: f64 = row.iter().sum();
                @let top = room + y * CELL;
                text class="name" x=(room - 6) y=(top + CELL / 2 + 4) text-anchor="end" { (short(&classes.names[y])) }
                text class="name" text-anchor="start"
                    transform=(format!("translate({},{}) rotate(-60)", top + CELL / 2 + 4, room - 6)) {
                    (short(&classes.names[y]))
                }
                @for (class, cell) in row.iter().enumerate() {
                    @let share = if all > 0.0 { cell / all } else { 0.0 };
                    @let left = room + class * CELL;
                    rect class=(if y == class { "right" } else { "wrong" }) x=(left) y=(top)
                        width=(CELL - 1) height=(CELL - 1) fill-opacity=(format!("{share:.3}")) {
                        title { (classes.names[y]) " decided as " (classes.names[class]) ": " (count_text(*cell)) }
                    }
                    @if share >= 0.005 && decided.by_class[y].rows >= LEAST {
                        text class=(if share > 0.55 { "on-dark" } else { "on-light" }) x=(left + CELL / 2)
                            y=(top + CELL / 2 + 4) text-anchor="middle" { (format!("{:.0}", 100.0 * share)) }
                    }
                }
            }
        }
    }
}

fn count_text(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0} rows") } else { format!("{} by weight", number(value)) }
}

/// Rates of each class, before and after.
fn by_class(classes: &ClassesRecord<ClassDecisions>) -> Markup {
    let rates = ["recall", "precision", "f1", "coverage"];
    let body = html! {
        @for (place, one) in classes.decided.by_class.iter().enumerate() {
            @let before = classes.plain.as_ref().and_then(|plain| plain.by_class.get(place));
            tr {
                th scope="row" { (one.class) }
                td { (rows(one.rows)) }
                td { data value=(exact(classes.shifts[place])) { (number(classes.shifts[place])) } }
                @for name in rates {
                    td { @match one.rate(name) { Some(rate) => (measured(rate)), None => "\u{2013}" } }
                    @if let Some(before) = before {
                        td { (maybe_rate(before.rate(name).and_then(Measured::alone))) }
                    }
                }
            }
        }
    };
    let mut columns = vec!["class", "rows", "shift"];
    for name in rates {
        columns.push(name);
        if classes.plain.is_some() {
            columns.push("before");
        }
    }
    let caption = html! {
        "Rates by class, as it ships" @if classes.plain.is_some() { ", and before: cross-entropy's largest score" }
    };
    table("Rates by class", &caption, &columns, &body)
}

/// The most frequent mistakes.
fn mistakes(classes: &ClassesRecord<ClassDecisions>) -> Markup {
    let mut found: Vec<(usize, usize, f64, f64)> = Vec::new();
    for (y, row) in classes.decided.matrix.iter().enumerate() {
        let all: f64 = row.iter().sum();
        let wrong = row.iter().enumerate().filter(|(class, rows)| *class != y && **rows > 0.0);
        found.extend(wrong.map(|(class, rows)| (y, class, *rows, rows / all)));
    }
    found.sort_by(|a, b| b.2.total_cmp(&a.2));
    let body = html! {
        @for (y, class, wrong, share) in found.iter().take(MISTAKES) {
            tr {
                th scope="row" { (classes.names[*y]) }
                td { (classes.names[*class]) }
                td { (count(*wrong)) }
                td { (maybe_rate(alone(Some(*share), classes.decided.by_class[*y].rows))) }
            }
        }
    };
    let columns = ["true class", "decided as", "rows", "of the class"];
    html! { @if !found.is_empty() {
        (table("Mistakes", &html! { "The most frequent mistakes" }, &columns, &body))
    } }
}

/// What each condition costs.
fn prices(record: &ReportRecord, classes: &ClassesRecord<ClassDecisions>) -> Markup {
    let cost = record.goal.starts_with("cost(");
    let body = html! {
        @for one in &classes.prices {
            tr {
                th scope="row" { code { (one.condition) } }
                td { @if cost { (number(one.price)) } @else { (points(one.price)) } }
            }
        }
    };
    let unit = if cost { "cost without it, less" } else { "points without it, more" };
    let caption = html! { "What each condition costs: the goal's value on these rows if it were dropped" };
    html! { @if !classes.prices.is_empty() {
        (table("What each condition costs", &caption, &["condition", unit], &body))
    } }
}
