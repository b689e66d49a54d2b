//! The engine on any scores, labels, weights, groups, classes and queries: finite or refused.

use setpoint::certify::{certify_classes, certify_goal};
use setpoint::class::{Classes, Confusion, ShiftEngine};
use setpoint::engine::{Engine, EngineOptions, Inequality, Solve};
use setpoint::goal::{ClassGoal, Goal, QueryGoal};
use setpoint::rank::{Convention, Empty, Queries, QueryEngine, QueryOptions, Ties, Values, places};
use setpoint::surrogate::Surrogate;
use setpoint::{Sample, metric};

use crate::rows::{Rows, finite};

/// One score a row against thresholds: steps of training, exact values, certificates.
pub fn engine(bytes: &[u8]) {
    let Some(rows) = Rows::read(bytes, 1) else { return };
    let Ok(goal) = rows.goal.parse::<Goal>() else { return };
    let sample = Sample::new(rows.labels.clone())
        .and_then(|sample| rows.sample(sample, goal.column()))
        .and_then(|sample| sample.paid_by(&goal));
    let Ok(sample) = sample else { return };
    let options = EngineOptions {
        surrogate: if rows.chosen(2) { Surrogate::Softplus } else { Surrogate::Sigmoid },
        sharpness: [1.0, 1e-3, 50.0, 1e6][usize::from(rows.choice >> 3 & 3)],
        solve: if rows.chosen(5) { Solve::Exact } else { Solve::Smooth },
        inequality: if rows.chosen(6) { Inequality::Slack } else { Inequality::ActiveSet },
        ..EngineOptions::default()
    };
    if let Ok(mut engine) = Engine::new(&goal, &sample, options) {
        let mut gradient = vec![0.0; rows.scores.len()];
        // The second step starts where the first one ended.
        for _ in 0..2 {
            let Ok(step) = engine.step(&sample, &rows.scores, &mut gradient) else { break };
            finite("loss, objective or penalty", [step.loss, step.objective, step.penalty]);
            finite("threshold", step.thresholds.iter().copied());
            finite("gradient", gradient.iter().map(|v| f64::from(*v)));
        }
    }
    if let Ok(value) = metric::value_at(&goal, &sample, &rows.scores) {
        finite("value", [value.value]);
    }
    if let Ok(certificate) = certify_goal(&goal, &sample, &rows.scores, 0.9) {
        assert!(certificate.thresholds.iter().all(|threshold| !threshold.is_nan()));
    }
}

/// A score for each of three classes.
pub fn classes(bytes: &[u8]) {
    let Some(mut rows) = Rows::read(bytes, 3) else { return };
    let names = ["a", "b", "shirt"].map(str::to_owned);
    let Ok(goal) = ClassGoal::parse(rows.goal, &names) else { return };
    rows.groups.iter_mut().for_each(|class| *class %= 3);
    let Ok(sample) = Sample::of_classes("label", names.to_vec(), rows.groups.clone()) else { return };
    let Ok(sample) = rows.sample(sample, None) else { return };
    let Ok(classes) = Classes::of(&goal, &sample) else { return };
    let sharpness = [1.0, 1e-3, 50.0, 1e6][usize::from(rows.choice >> 3 & 3)];
    let mut shifts = vec![0.0; names.len()];
    if let Ok(mut engine) = ShiftEngine::new(&goal, &classes, sharpness) {
        let mut gradient = vec![0.0; rows.scores.len()];
        for _ in 0..2 {
            let Ok(step) = engine.step(&classes, &rows.scores, &mut gradient) else { break };
            finite("loss or objective", [step.loss, step.objective]);
            finite("shift", step.shifts.iter().copied());
            finite("gradient", gradient.iter().map(|v| f64::from(*v)));
            shifts.copy_from_slice(step.shifts);
        }
    }
    if let Ok(confusion) = Confusion::at(&classes, &rows.scores, &shifts)
        && let Ok(value) = confusion.value(&goal)
    {
        finite("value", [value]);
    }
    if let Ok(certificate) = certify_classes(&goal, &sample, &rows.scores, &[shifts], 0.9) {
        finite("shift", certificate.shifts.iter().copied());
    }
}

/// One score a row, by which the rows of each query are put in order.
pub fn queries(bytes: &[u8]) {
    let Some(rows) = Rows::read(bytes, 1) else { return };
    let Ok(goal) = rows.goal.parse::<QueryGoal>() else { return };
    let Ok(mut queries) = Queries::new("qid", &rows.keys, rows.grades.clone()) else { return };
    if rows.chosen(0)
        && let Ok(other) = queries.clone().with_positive(rows.labels.clone())
    {
        queries = other;
    }
    let sharpness = [8.0, 1e-3, 1e3, 1e9][usize::from(rows.choice >> 3 & 3)];
    let least_spread = if rows.chosen(2) { 1e-3 } else { 0.0 };
    if let Ok(mut engine) = QueryEngine::new(&goal, &queries, QueryOptions { sharpness, least_spread }) {
        let mut gradient = vec![0.0; rows.scores.len()];
        for _ in 0..2 {
            let Ok(step) = engine.step(&rows.scores, &mut gradient) else { break };
            finite("value", [step.value]);
            finite("gradient", gradient.iter().map(|v| f64::from(*v)));
        }
    }
    let ties = if rows.chosen(6) { Ties::Order } else { Ties::Expected };
    let empty = if rows.chosen(5) { Empty::Zero } else { Empty::Skip };
    if let Ok(values) = Values::new(&goal, &queries, &rows.scores, Convention { empty, ties }) {
        finite("value", values.counted());
        assert!(values.counted().iter().all(|value| (-1e-9..=1.0 + 1e-9).contains(value)));
    }
    let _ = places(&queries, &rows.scores);
}
