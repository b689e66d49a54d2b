//! What a report shows of decisions among several classes: the goal in words, the comparison, the price of each
//! condition, cautions.

use setpoint::goal::Direction;
use setpoint_report::{AtCondition, ComparisonRecord, ConditionRecord, ReportRecord};

use crate::failure::Failure;
use crate::kind::ByShift;
use crate::report::{BASELINE, Scene};

/// Completes the report of a decision by shifts.
pub(crate) fn show(decision: &ByShift, scene: &Scene<'_>, record: &mut ReportRecord) -> Result<(), Failure> {
    let Scene { shown, known, confidence, .. } = scene;
    let goal = &decision.goal;
    let value =
        record.evaluation().and_then(|evaluation| evaluation.at_condition.as_ref()).map(|at| at.value);
    record.goal_words = goal.describe();
    record.operating = goal.to_string();
    record.operating_words = goal.describe();
    record.conditions = decision
        .limits()
        .iter()
        .map(|limit| ConditionRecord {
            condition: goal.condition(limit),
            words: goal.describe_condition(limit),
            rate: Some(goal.quantity(limit.rate)),
            target: limit.target.of(0.0),
        })
        .collect();
    record.comparison = shown.base.and_then(|base| {
        let (model, other) = (value?, decision.value(shown.sample, base)?);
        let (gain, first, second) = match goal.objective.direction() {
            Direction::Down => (other - model, base, shown.scores),
            _ => (model - other, shown.scores, base),
        };
        let interval =
            known.clone().unwrap_or_else(|| decision.difference(shown.sample, first, second, *confidence));
        let at = |value| AtCondition { value, interval: None, examples: decision.behind_goal(shown.sample) };
        Some(ComparisonRecord {
            name: BASELINE.to_owned(),
            model: at(model),
            baseline: at(other),
            gain,
            interval,
            counts: None,
            baseline_ships: Vec::new(),
        })
    });
    if let (Some(value), Some(part)) = (value, record.parts.iter_mut().find(|part| part.name == shown.name))
        && let Some(classes) = &mut part.evaluation.classes
    {
        classes.prices = decision.prices(shown.sample, shown.scores, value);
    }
    record.cautions = scene.cautions(record, decision.refused.as_deref());
    Ok(())
}
