//! A model on labelled data: rates with intervals, and whether its certificate still holds.

use setpoint::Sample;
use setpoint::metric::{Rows, StoredRows};
use setpoint_report::EvaluateRecord;

use crate::blueprint::{Held, Scored};
use crate::examples::Examples;
use crate::failure::Failure;
use crate::group::{spell_as, strangers_of};
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
    let (mut record, unknown) = if let Held::Scored(Scored { stored: Some(rows), .. }) = &mut examples.held {
        let unknown = call_groups(model, rows)?;
        let record = rule.measure(goal, rows, None, confidence);
        rows.check()?;
        (record?, unknown)
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

/// Calls the groups of rows on disk as the model does; with what to know of them.
fn call_groups(model: &Opened, rows: &mut StoredRows) -> Result<Option<String>, Failure> {
    let Some((column, found)) = rows.found() else { return Ok(None) };
    // A row for each.
    let (names, counts): (Vec<String>, Vec<usize>) = found.into_iter().unzip();
    let codes = (0..names.len() as u32).collect();
    let each = Sample::new(vec![true; names.len()])?.with_groups(column, names.clone(), codes)?;
    let pooled = model.pooled();
    let (called, _) = model.decision.rule().as_trained(pooled.as_deref(), &each)?;
    let unknown = match &model.decision.threshold()?.shipped.groups {
        None => None,
        Some(known) => {
            let spelled = spell_as(&each, &known.names)?;
            spelled.groups().and_then(|groups| {
                let mut rows = vec![0; groups.names().len()];
                groups.codes().iter().zip(&counts).for_each(|(code, count)| rows[*code as usize] += count);
                strangers_of(known, pooled.as_deref(), groups.names(), &rows)
            })
        }
    };
    if let Some(groups) = called.groups() {
        let place = |name: &str| Some(groups.codes()[names.iter().position(|other| other == name)?]);
        rows.call(groups.names().to_vec(), place);
    }
    Ok(unknown)
}
