//! The first screen: the goal, the answer, what ships, the comparison, and what to be careful about.

use maud::{Markup, html};
use setpoint::message::quote;

use super::number::{grouped, interval, maybe_rate, points, threshold};
use crate::evaluate::{Bounds, EvaluateRecord, Measured};
use crate::few::LEAST;
use crate::gain::NOTHING;
use crate::number::{amount, capital, level, number};
use crate::queries::QueriesRecord;
use crate::record::{ComparisonRecord, ReportRecord};

pub(super) fn header(record: &ReportRecord) -> Markup {
    let rows = record.evaluation().map(|evaluation| {
        let (rows, label) = (grouped(evaluation.rows as f64), evaluation.label.as_ref());
        if let Some(queries) = &evaluation.queries {
            return format!("{rows} rows in {}", queries.counted());
        }
        let Some(positives) = evaluation.positives else {
            let many = evaluation.classes.as_ref().map_or(0, |classes| classes.names.len());
            let of = label.map_or_else(String::new, |label| format!(" of {}", label.column));
            return format!("{rows} rows, {many} classes{of}");
        };
        let positives = grouped(positives as f64);
        let what = label
            .and_then(|label| Some(format!(" ({} is {})", label.column, quote(label.positive.as_ref()?))));
        format!("{rows} rows, {positives} of them positive{}", what.unwrap_or_default())
    });
    html! {
        header {
            p class="eyebrow" { "Setpoint report · " (record.title) }
            h1 { (capital(&record.goal_words)) }
            p class="lede" {
                code { (record.goal) } " · "
                @match &record.run.model { Some(model) => { (model) " model" }, None => "scores of any model" }
                " · shown on "
                @if record.shown == record.title { "this data" } @else { "the " (record.shown) " part" }
                @if let Some(rows) = rows { ": " (rows) }
            }
        }
    }
}

pub(super) fn cards(record: &ReportRecord) -> Markup {
    html! {
        div class="cards" {
            @if let Some(evaluation) = record.evaluation() {
                (answer(record, evaluation))
                (ships(record, evaluation))
            }
            @if record.run.model.is_some() { (against(record)) }
            @if let Some(evaluation) = record.evaluation() { (promise(record, evaluation)) }
            (careful(record))
        }
    }
}

/// Whether the goal is a cost, which is no share.
fn is_cost(record: &ReportRecord) -> bool {
    crate::number::is_money(&record.goal)
}

fn rows_shown(record: &ReportRecord) -> String {
    if record.shown == record.title { "these rows".to_owned() } else { format!("the {} rows", record.shown) }
}

fn answer(record: &ReportRecord, evaluation: &EvaluateRecord) -> Markup {
    let tested = !record.cautions.iter().any(|caution| caution.kind == "no-test");
    html! {
        section class="card answer" {
            h2 { "The answer" }
            @match (&evaluation.at_condition, &evaluation.at_condition_refused) {
                (Some(at), _) => {
                    p class="big" {
                        @match at.told() { Some(paid) if is_cost(record) => (number(paid)), told => (maybe_rate(told)) }
                    }
                    @if at.told().is_none() { p { (few(at.examples)) } }
                    p { code { (record.goal) } " on " (rows_shown(record)) "." }
                    @if let Some(bounds) = &at.interval {
                        p { (level(bounds.confidence)) " interval: " strong { (interval(bounds)) } "." }
                    }
                    dl class="rates" {
                        @for one in &evaluation.ranking {
                            (entry(&one.name, one.told(), one.interval.as_ref()))
                        }
                    }
                    p class="aside" {
                        @if evaluation.queries.is_some() {
                            "The mean over the queries; intervals by draws of whole queries."
                        } @else if evaluation.classes.is_some() {
                            "The best that shifts found on these very rows can make of the scores."
                            @if tested { " The shifts that ship were chosen on other rows." }
                        } @else {
                            "The best these scores allow where the condition holds exactly on these rows."
                            @if tested { " The threshold that ships was chosen on other rows." }
                        }
                    }
                }
                (None, reason) => {
                    p class="big" { "\u{2013}" }
                    p { code { (record.goal) } " has no value on " (rows_shown(record))
                        @if let Some(reason) = reason { ": " (reason) } "." }
                }
            }
        }
    }
}

/// Why a figure is not there.
fn few(examples: u64) -> String {
    format!(
        "It would rest on {examples} examples; figures of fewer than {LEAST} are shown with an interval or not at all."
    )
}

/// Of a goal per query: the order, and what is known of new queries.
fn ships_order(evaluation: &EvaluateRecord, queries: &QueriesRecord) -> Markup {
    let violated = evaluation.drift.iter().any(|drift| drift.verdict == "violated");
    html! {
        section class="card ships" {
            h2 { "What ships" }
            p class="big" { "order " span class="label" { "by score, within each " (queries.column) } }
            @match &evaluation.bound {
                Some(_) if violated => p class="badge bad" {
                    span aria-hidden="true" { "! " }
                    "Certified on the calibration queries, and violated on these: the data has changed."
                },
                Some(bound) => p class="badge good" { span aria-hidden="true" { "✓ " } "Certified: " (bound.words()) "." },
                None => p class="badge bad" {
                    span aria-hidden="true" { "! " }
                    "Not certified: nothing is proved about new queries."
                },
            }
            p class="aside" { "A row's place depends on the others of its query: score them all, and show the first." }
        }
    }
}

fn ships(record: &ReportRecord, evaluation: &EvaluateRecord) -> Markup {
    if let Some(queries) = &evaluation.queries {
        return ships_order(evaluation, queries);
    }
    let known = |name: &str| evaluation.at_threshold.iter().find(|one| one.name == name);
    let several = evaluation.classes.is_some();
    let mut names = if several {
        vec!["accuracy", "balanced-accuracy", "worst(recall)", "macro-f1", "weighted-f1"]
    } else {
        vec!["recall", "fpr", "precision"]
    };
    for condition in record.conditions.iter().filter_map(|condition| condition.rate.as_deref()) {
        if !names.contains(&condition) {
            names.push(condition);
        }
    }
    html! {
        section class="card ships" {
            h2 { "What ships" }
            p class="big" {
                @match &evaluation.thresholds[..] {
                    [] => { (evaluation.classes.as_ref().map_or(0, |classes| classes.names.len()))
                        span class="label" { " shifts, one for each class" } }
                    [one] => { span class="label" { "score ≥ " } (threshold(*one)) }
                    many => { (many.len()) span class="label" { " thresholds, one for each group" } }
                }
            }
            (certified(record, evaluation))
            dl class="rates" {
                @if let Some((name, Some(cost))) = evaluation.cost_of_classes() {
                    div { dt { (name) " a row" } dd { strong { (amount(cost)) } } }
                }
                @for one in names.iter().filter_map(|name| known(name)) {
                    (entry(&one.name, one.told(), one.interval.as_ref()))
                }
            }
            (in_counts(evaluation))
        }
    }
}

/// A rate with its interval, in a list of them.
fn entry(name: &str, told: Option<f64>, bounds: Option<&Bounds>) -> Markup {
    html! {
        div {
            dt { (name) }
            dd {
                strong { (maybe_rate(told)) }
                @if let Some(bounds) = bounds { span class="interval" { (interval(bounds)) } }
            }
        }
    }
}

fn certified(record: &ReportRecord, evaluation: &EvaluateRecord) -> Markup {
    let conditions: Vec<&str> = record.conditions.iter().map(|condition| condition.words.as_str()).collect();
    let violated = evaluation.drift.iter().any(|drift| drift.verdict == "violated");
    html! {
        @match &evaluation.certificate {
            Some(_) if violated => p class="badge bad" {
                span aria-hidden="true" { "! " }
                "Certified on the calibration rows, and violated on these: the data has changed."
            },
            Some(certificate) => p class="badge good" {
                span aria-hidden="true" { "✓ " }
                "Certified: " (conditions.join(" and ")) " on new rows, with "
                (level(certificate.full.confidence)) " confidence."
            },
            None if evaluation.approximate.is_some() => p class="badge bad" {
                span aria-hidden="true" { "! " }
                "Not certified: an approximate limit by entity, which nothing proves."
            },
            None => p class="badge bad" {
                span aria-hidden="true" { "! " }
                "Not certified: nothing is proved about new rows."
            },
        }
        @if let Some(unmet) = evaluation.not_met() {
            p class="badge bad" { span aria-hidden="true" { "! " } "Not met on these rows: " (unmet) "." }
        }
    }
}

/// What a certificate promises and what it does not, for those who decide.
fn promise(record: &ReportRecord, evaluation: &EvaluateRecord) -> Markup {
    let conditions: Vec<&str> = record.conditions.iter().map(|condition| condition.words.as_str()).collect();
    if let Some(bound) = &evaluation.bound {
        return html! {
            section class="card promise" {
                h2 { "What is promised" }
                p { strong { "The promise: " } (bound.words()) ": of queries of the same kind as those it was checked on, each "
                    "independent of the others; promises made in this way are kept " (level(bound.full.confidence))
                    " of the time." }
                p { strong { "No promise: " } "for queries of another kind, place or time; or for a single query." }
            }
        };
    }
    html! {
        section class="card promise" {
            h2 { "What is promised" }
            @match &evaluation.certificate {
                Some(certificate) => {
                    p { strong { "The promise: " } "on new rows of the same kind as those it was checked on, each "
                        "independent of the others, "
                        (if evaluation.classes.is_some() { "these shifts keep" } else { "this threshold keeps" })
                        " to " (conditions.join(" and "))
                        "; promises made in this way are kept " (level(certificate.full.confidence))
                        " of the time." }
                    p { strong { "No promise: " } "for rows of another kind, place or time; for a single row or a "
                        "small batch, which may do worse by chance; or for anything but that condition." }
                }
                None => {
                    p { strong { "The promise: " } "none for new rows; the numbers here describe the rows that were "
                        "looked at." }
                    p { strong { "No promise: " } "that the same "
                        (match (&evaluation.classes, &evaluation.queries) {
                            (Some(_), _) => "shifts do",
                            (None, Some(_)) => "model does",
                            (None, None) => "threshold does",
                        })
                        " as well elsewhere or later; measure it again there." }
                }
            }
        }
    }
}

/// The same in whole examples, which are easier to picture.
fn in_counts(evaluation: &EvaluateRecord) -> Markup {
    let share = |name: &str| {
        evaluation
            .at_threshold
            .iter()
            .find(|one| one.name == name)
            .and_then(Measured::alone)
            .map(|value| grouped((1000.0 * value).round()))
    };
    let sentence =
        |name: &str, of: &str, what: &str| share(name).map(|count| format!("of 1,000 {of}, {count} {what}"));
    let sentences: Vec<String> = [
        sentence("recall", "positives", "are caught"),
        sentence("fpr", "negatives", "raise an alarm"),
        sentence("precision", "alarms", "are right"),
    ]
    .into_iter()
    .flatten()
    .collect();
    html! { @if !sentences.is_empty() { p class="aside" { (capital(&sentences.join("; "))) "." } } }
}

fn against(record: &ReportRecord) -> Markup {
    html! {
        section class="card against" {
            h2 { "Against " (record.comparison.as_ref().map_or("cross-entropy", |comparison| &comparison.name)) }
            @match &record.comparison {
                Some(comparison) => (compared(record, comparison)),
                None => p { "There is nothing to compare with: "
                    @if record.training.is_none() { "this model file holds no baseline, or the goal has no value here." }
                    @else { "the goal has no value on these rows." } },
            }
        }
    }
}

fn compared(record: &ReportRecord, comparison: &ComparisonRecord) -> Markup {
    // Several splits say more than the one shown.
    let gain = record.repeats.map_or(comparison.gain, |repeats| repeats.gain);
    let better = if gain >= 0.0 { "more" } else { "fewer" };
    let same = record.training.as_ref().is_some_and(|training| training.winner == training.baseline.name);
    html! {
        @match &comparison.counts {
            _ if record.repeats.is_none() && !comparison.told() => {
                p class="big" { "\u{2013}" }
                p { (few(comparison.model.examples)) }
            }
            _ if same => {
                p class="big" { "The same" }
                p { "Training for the goal did not beat " (comparison.name) " on validation: its fit was kept." }
            }
            Some(counts) => {
                p class="big" { (signed(1000.0 * gain)) span class="label" { " in 1,000" } }
                p {
                    @match (1000.0 * gain).abs().round() {
                        0.0 => strong { "As many " (counts.noun) },
                        some => strong { (grouped(some)) " " (better) " " (counts.noun) },
                    }
                    " of every 1,000 " (counts.of) ", under the same condition"
                    @if let Some(repeats) = &record.repeats { ", on average over " (repeats.runs) " splits" }
                    "."
                }
            }
            None => {
                @if is_cost(record) {
                    p class="big" { (format!("{gain:+.4}")) span class="label" { " less" } }
                } @else {
                    p class="big" { (points(gain)) span class="label" { " points" } }
                }
                p { "In " code { (record.goal) } ", on the same rows"
                    @if let Some(repeats) = &record.repeats { ", on average over " (repeats.runs) " splits" } "." }
            }
        }
        @if chance(record, comparison) { p { strong { (capital(NOTHING)) } ": chance explains as much." } }
        (figures(record, comparison))
    }
}

/// Whether the gain shown may be none.
fn chance(record: &ReportRecord, comparison: &ComparisonRecord) -> bool {
    match (&record.repeats, &comparison.interval) {
        (Some(repeats), _) => repeats.gain.abs() <= 2.0 * repeats.standard_error,
        (None, Some(bounds)) => bounds.lower <= 0.0 && bounds.upper >= 0.0 && bounds.lower < bounds.upper,
        (None, None) => false,
    }
}

/// The values behind the gain.
fn figures(record: &ReportRecord, comparison: &ComparisonRecord) -> Markup {
    let at_own: Vec<String> = comparison
        .baseline_ships
        .iter()
        .filter(|one| ["recall", "fpr", "precision", "accuracy", "macro-f1"].contains(&one.name.as_str()))
        .filter_map(|one| Some(format!("{} {}", one.name, crate::number::percent(one.alone()?))))
        .collect();
    let baseline = &comparison.baseline;
    let here = if record.repeats.is_some() { ", this split" } else { "" };
    html! {
        dl class="rates" {
            @if let Some(repeats) = &record.repeats {
                div {
                    dt { "gain over " (repeats.runs) " splits, in points" }
                    dd {
                        strong { (points(repeats.gain)) }
                        span class="interval" { "standard error " (format!("{:.2}", 100.0 * repeats.standard_error)) }
                    }
                }
            }
            @if is_cost(record) {
                div { dt { "Setpoint" } dd { strong { (number(comparison.model.value)) } } }
                div { dt { (comparison.name) } dd { strong { (number(baseline.value)) } } }
            } @else {
                (entry(&format!("Setpoint{here}"), comparison.model.told(), comparison.model.interval.as_ref()))
                (entry(&format!("{}{here}", comparison.name), baseline.told(), baseline.interval.as_ref()))
            }
            @if record.repeats.is_none() && !is_cost(record) {
                div { dt { "gain, in points" } dd { strong { @if comparison.told() { (points(comparison.gain)) } @else { "\u{2013}" } }
                    @if let Some(bounds) = &comparison.interval {
                        span class="interval" { (points(bounds.lower)) " to " (points(bounds.upper)) } } } }
            }
        }
        p class="aside" {
            @if record.evaluation().is_some_and(|evaluation| evaluation.queries.is_some()) {
                "The other is the best of the usual losses by the validation queries."
            } @else if record.pictures.is_none() {
                "The other is cross-entropy with the weights of the classes chosen on validation and the best shifts "
                "found afterwards: both have that of these rows."
            } @else { "The other is cross-entropy with the weight of the positives chosen on validation." }
            @if !at_own.is_empty() && record.evaluation().is_none_or(|one| one.queries.is_none()) { (if record.pictures.is_some() { " At a threshold" } else { " With shifts" }) " of its own, chosen the same way: " (at_own.join(", ")) "." } }
    }
}

fn signed(value: f64) -> String {
    let rounded = value.round();
    if rounded > 0.0 { format!("+{}", grouped(rounded)) } else { grouped(rounded + 0.0) }
}

fn careful(record: &ReportRecord) -> Markup {
    html! {
        section class="card careful" {
            h2 { "Be careful" }
            @if record.cautions.is_empty() {
                p { "Nothing stands out: enough rows, "
                    (if record.pictures.is_some() { "no ties at the threshold, " } else { "" }) "no sign of drift." }
            } @else {
                ul { @for caution in &record.cautions { li { (caution.text) } } }
            }
        }
    }
}
