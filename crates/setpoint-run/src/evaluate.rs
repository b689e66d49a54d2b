//! A model on labelled data: rates with intervals, and whether its certificate still holds.

use setpoint::metric::Rows;
use setpoint_report::EvaluateRecord;

use crate::examples::Examples;
use crate::failure::Failure;
use crate::importance::Subject;
use crate::model::Opened;

/// Columns whose importance is shown, where no other number is asked for.
pub const COLUMNS: usize = 10;

/// Measures a model, and how much it owes to so many of its columns; the file's name, the data's hash and notes on reading it are for the caller to add.
///
/// # Errors
/// If the data lacks the model's groups, or a rate cannot be measured on it.
pub fn evaluate(
    model: &Opened,
    examples: &mut Examples,
    columns: usize,
    confidence: f64,
) -> Result<EvaluateRecord, Failure> {
    let (rule, goal) = (model.decision.rule(), &model.document.goal);
    let (mut record, unknown) = if let Some(rows) = examples.stored() {
        // Goals with thresholds by group are not measured there, so that groups are called as they are.
        let record = rule.measure(goal, rows, None, confidence);
        rows.check()?;
        (record?, None)
    } else {
        let (sample, unknown) = rule.as_trained(model.pooled().as_deref(), &examples.sample)?;
        examples.sample = sample;
        let scores = examples.scores(&model.scorer)?;
        let baseline = model.baseline.as_ref().filter(|_| rule.compares());
        let base = baseline.map(|baseline| examples.scores(baseline)).transpose()?;
        let base = base.as_deref().map(Vec::as_slice);
        let rows = (&examples.sample, &scores[..]);
        (rule.measure(goal, &rows, base, confidence)?, unknown)
    };
    if record.at_condition.is_some() {
        let kind = model.decision.kind();
        let subject = Subject { kind: &*kind, scorer: &model.scorer, schema: &model.schema, goal };
        record.importance = subject.importance(examples, columns, confidence)?;
    }
    record.label = model.schema.label_record();
    let caution =
        model.certificate_caution().map(|caution| format!("the certificate has a caution: {caution}"));
    let alike = record.decided_alike();
    record.notes.extend(unknown.into_iter().chain(caution).chain(alike));
    Ok(record)
}
