//! From columns as read to a table: labels decided, roles checked, rows without a label left out.

use setpoint::model::ModelError;
use setpoint::scratch::ScratchError;

use crate::Error;
use crate::chunk::{Chunk, MISSING, Texts, values};
use crate::dataset::Codes;
use crate::encode::{LabelSchema, Notes};
use crate::label::{LabelError, LabelRule, Positive};
use crate::layout::{ColumnKind, Use};
use crate::meaning::{self, Meaning};
use crate::query;
use crate::read::{Raw, ReadError, svmlight};
use crate::role::{RoleError, Roles, find_all};
use crate::table::{Body, FeatureColumn, Table};

/// Turns role columns into labels, weights, groups...
pub(crate) fn from_raw(
    file: &str,
    mut raw: Raw,
    roles: &Roles,
    rule: Option<&LabelRule>,
) -> Result<Table, Error> {
    let sized = roles.queries.as_ref().map(|source| source.sized(file, raw.held())).transpose()?;
    let mut sized = sized.flatten();
    let unlabelled = drop_unlabelled(&mut raw, sized.as_mut()).map_err(ModelError::from)?;
    let Labelled { label, labels, grades, classes, left_out } = match raw.layout.label {
        Some(column) => labelled(file, &mut raw, column, roles, rule)?,
        None => Labelled::default(),
    };
    if classes.is_some() && roles.group.is_some() {
        return Err(RoleError::GroupsOfClasses { file: file.to_owned() }.into());
    }
    let layout = &raw.layout;
    let name = |column: usize| layout.names[column].clone();
    let rows = raw.held();
    let weights = match layout.weight {
        Some(column) => Some(weights(file, &name(column), &reals(&raw, column))?),
        None => None,
    };
    let stakes = match (&roles.money, &labels) {
        (Some(money), Some(labels)) => {
            let amounts = |column: &usize| amounts(file, &name(*column), &raw, *column);
            let columns: Vec<Vec<f64>> = layout.amounts.iter().map(amounts).collect::<Result<_, _>>()?;
            Some((money.profit, money.pays(labels, &columns)))
        }
        _ => None,
    };
    let complete = |column: Option<usize>, role| -> Result<Option<Vec<f64>>, ReadError> {
        let Some(column) = column else { return Ok(None) };
        let values = reals(&raw, column);
        refuse_missing(file, &name(column), role, values.iter().position(|value| value.is_nan()))?;
        Ok(Some(values))
    };
    let (times, scores) = (complete(layout.time, "time")?, complete(layout.score, "score")?);
    let groups = classes.or_else(|| layout.group.map(|column| sorted_groups(name(column), &raw, column)));
    let entities = match layout.entity {
        Some(column) => {
            let entities = codes(name(column), &raw, column);
            let missing = entities.of.iter().position(|code| *code == MISSING);
            let role = if roles.queries.is_some() { "query" } else { "value that the split goes by" };
            refuse_missing(file, &name(column), role, missing)?;
            Some(entities)
        }
        None => sized,
    };
    let kept = layout.kept.iter().map(|column| written(name(*column), &raw, *column)).collect();
    let told = find_all(file, &layout.names, &roles.text, "text")?;
    let feature = |column: &usize| {
        let (kind, slot) = match layout.uses[*column] {
            Use::Text(slot) => (ColumnKind::Category, slot),
            Use::Number(slot) | Use::Real(slot, _) => (ColumnKind::Number, slot),
            Use::Skip => (ColumnKind::Number, 0),
        };
        let offset = if kind == ColumnKind::Number { layout.offsets[slot] } else { 0.0 };
        let (form, text) = (layout.forms[*column], told.contains(column));
        FeatureColumn { name: name(*column), kind, slot, form, offset, text }
    };
    let columns: Vec<FeatureColumn> = layout.features.iter().map(feature).collect();
    let mut read_as = raw.read_as;
    if !layout.strict {
        let formed =
            columns.iter().filter_map(|column| Some((column.name.clone(), column.form?.to_string())));
        read_as.extend(formed);
    }
    let notes = Notes {
        unlabelled,
        other_classes: left_out,
        extra_columns: layout.extra.clone(),
        read_as,
        ..Notes::default()
    };
    raw.chunks.iter().try_for_each(Chunk::check).map_err(ModelError::from)?;
    Ok(Table {
        file: file.to_owned(),
        rows,
        header: raw.header,
        names: raw.layout.names,
        missing: roles.missing_texts(),
        body: Body::Dense { columns, chunks: raw.chunks, texts: raw.texts },
        label,
        labels,
        grades,
        weights,
        stakes,
        groups,
        queries: entities.clone().filter(|_| roles.queries.is_some()),
        entities,
        times,
        scores,
        kept,
        hash: None,
        notes,
    })
}

pub(crate) fn from_sparse(
    file: &str,
    mut raw: svmlight::RawSparse,
    roles: &Roles,
    rule: Option<&LabelRule>,
) -> Result<Table, Error> {
    let column = "label";
    if !roles.keep.is_empty() {
        let (setting, hint) = ("keep", "its columns have no names");
        return Err(RoleError::Sparse { file: file.to_owned(), setting, hint }.into());
    }
    let missing = raw.labels.iter().position(|code| *code == MISSING);
    let sized = roles.queries.as_ref().map(|source| source.sized(file, raw.labels.len())).transpose()?;
    let decided = decided(file, column, roles, rule, &texts_of(&raw.label_texts));
    // Every row starts with a label, but in a file to predict for it may be a stand-in.
    let Labelled { label, labels, grades, classes, left_out } = if rule.is_some()
        && roles.label.is_none()
        && (decided.is_err() || missing.is_some())
    {
        Labelled::default()
    } else {
        refuse_missing(file, column, "label", missing)?;
        let (rule, found) = decided?;
        let mut left_out = 0;
        if found.leaves_out() {
            let keep: Vec<bool> = raw.labels.iter().map(|code| found.keeps(*code)).collect();
            left_out = raw.retain(&keep).map_err(ModelError::from)?;
        }
        Labelled::new(LabelSchema { column: column.to_owned(), position: 0, rule }, &found, left_out, || {
            raw.labels.iter()
        })
    };
    let stakes = match (&roles.money, &labels) {
        (Some(money), Some(labels)) if money.columns().is_empty() => {
            Some((money.profit, money.pays(labels, &[])))
        }
        (Some(_), Some(_)) => {
            let (setting, hint) = ("goal", "amounts come from columns by name, and its columns have none");
            return Err(RoleError::Sparse { file: file.to_owned(), setting, hint }.into());
        }
        _ => None,
    };
    let own = raw.queries.map(|(of, texts)| Codes { column: "qid".to_owned(), names: texts.values, of });
    let queries = sized.flatten().or(own);
    if roles.queries.is_some() && queries.is_none() {
        let (found, hint) = ("it has no qid", "give their sizes in a file with ‹query-sizes›");
        return Err(RoleError::NoQueries { file: file.to_owned(), found, hint }.into());
    }
    if roles.split_by.is_some() && queries.is_none() {
        let (setting, hint) = ("split-by qid", "this one has no qid");
        return Err(RoleError::Sparse { file: file.to_owned(), setting, hint }.into());
    }
    let by_query = roles.queries.is_some()
        || roles.split_by.is_some()
        || roles.split_by_if_there.as_deref() == Some("qid");
    let entities = if by_query { queries.clone() } else { None };
    Ok(Table {
        file: file.to_owned(),
        rows: raw.matrix.rows,
        header: false,
        names: Vec::new(),
        missing: roles.missing_texts(),
        label,
        labels,
        grades,
        weights: None,
        stakes,
        groups: classes,
        entities,
        times: None,
        scores: None,
        queries,
        kept: Vec::new(),
        hash: None,
        notes: Notes { unknown_entries: raw.unknown, other_classes: left_out, ..Notes::default() },
        body: Body::Sparse { matrix: raw.matrix, numbering: raw.numbering, offsets: raw.offsets },
    })
}

/// Removes the rows without a label, and their queries; returns how many there were.
fn drop_unlabelled(raw: &mut Raw, queries: Option<&mut Codes>) -> Result<u64, ScratchError> {
    let Some(column) = raw.layout.label else { return Ok(0) };
    let (mut dropped, mut all) = (0, Vec::new());
    for chunk in &mut raw.chunks {
        let keep: Vec<bool> = match raw.layout.uses[column] {
            Use::Text(slot) => chunk.code(slot).iter().map(|code| *code != MISSING).collect(),
            Use::Real(slot, _) => chunk.real(slot).iter().map(|value| !value.is_nan()).collect(),
            _ => continue,
        };
        let missing = keep.iter().filter(|kept| !**kept).count();
        if missing > 0 {
            chunk.retain(&keep)?;
            dropped += missing as u64;
        }
        if queries.is_some() {
            all.extend(keep);
        }
    }
    if let Some(queries) = queries {
        let mut kept = all.iter();
        queries.of.retain(|_| kept.next() == Some(&true));
    }
    Ok(dropped)
}

fn texts_of(texts: &Texts) -> Vec<(&str, u64)> {
    texts.values.iter().map(String::as_str).zip(texts.counts.iter().copied()).collect()
}

/// What the label column says.
#[derive(Default)]
struct Labelled {
    label: Option<LabelSchema>,
    labels: Option<Vec<bool>>,
    grades: Option<Vec<f32>>,
    classes: Option<Codes>,
    /// Rows of classes that were not asked for.
    left_out: u64,
}

impl Labelled {
    fn new<'c, C: Iterator<Item = &'c u32>>(
        label: LabelSchema,
        found: &Meaning,
        left_out: u64,
        codes: impl Fn() -> C,
    ) -> Self {
        let classes = found.classes(&label.column, &label.rule, codes());
        let grades = found.grades(codes());
        Self { label: Some(label), labels: Some(found.labels(codes())), grades, classes, left_out }
    }
}

/// What the texts of a label column mean.
fn decided(
    file: &str,
    column: &str,
    roles: &Roles,
    rule: Option<&LabelRule>,
    texts: &[(&str, u64)],
) -> Result<(LabelRule, Meaning), LabelError> {
    if roles.queries.is_some() {
        return query::of_texts(file, column, rule, &roles.positive, texts);
    }
    meaning::of_texts(file, column, rule, (&roles.positive, &roles.classes), texts)
}

/// Reads the label column; rows of classes that were not asked for are removed.
fn labelled(
    file: &str,
    raw: &mut Raw,
    column: usize,
    roles: &Roles,
    rule: Option<&LabelRule>,
) -> Result<Labelled, Error> {
    let name = raw.layout.names[column].clone();
    let Use::Text(slot) = raw.layout.uses[column] else {
        let values = reals(raw, column);
        let (mut found, labels) = rule_labels(file, &name, &values, &roles.positive, raw.layout.strict)?;
        let mut grades = None;
        if roles.queries.is_some() {
            let graded = query::of_numbers(file, &name, rule, (found, &labels), &values)?;
            (found, grades) = (graded.0, Some(graded.1));
        }
        let label = LabelSchema { column: name, position: column, rule: found };
        return Ok(Labelled { label: Some(label), labels: Some(labels), grades, ..Labelled::default() });
    };
    let (rule, found) = decided(file, &name, roles, rule, &texts_of(&raw.texts[slot]))?;
    let mut left_out = 0;
    for chunk in raw.chunks.iter_mut().filter(|_| found.leaves_out()) {
        let keep: Vec<bool> = chunk.code(slot).iter().map(|code| found.keeps(*code)).collect();
        left_out += keep.iter().filter(|kept| !**kept).count() as u64;
        chunk.retain(&keep).map_err(ModelError::from)?;
    }
    let label = LabelSchema { column: name, position: column, rule };
    let codes: Vec<u32> = values(&raw.chunks, |chunk| chunk.code(slot)).collect();
    Ok(Labelled::new(label, &found, left_out, || codes.iter()))
}

fn rule_labels(
    file: &str,
    column: &str,
    values: &[f64],
    positive: &Positive,
    strict: bool,
) -> Result<(LabelRule, Vec<bool>), LabelError> {
    let Positive::Rule(comparison, target) = positive else {
        return Err(LabelError::Rule { text: positive.to_string() });
    };
    let labels: Vec<bool> = values.iter().map(|value| comparison.holds(*value, *target)).collect();
    for (class, missing) in [(true, "positive"), (false, "negative")] {
        if !strict && !labels.contains(&class) {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            return Err(LabelError::OneClass {
                file: file.to_owned(),
                column: column.to_owned(),
                missing,
                rule: positive.to_string(),
                values: format!("{low} to {high}"),
            });
        }
    }
    Ok((LabelRule::Given(positive.clone()), labels))
}

fn reals(raw: &Raw, column: usize) -> Vec<f64> {
    match raw.layout.uses[column] {
        Use::Real(slot, _) => values(&raw.chunks, |chunk| chunk.real(slot)).collect(),
        _ => Vec::new(),
    }
}

pub(crate) fn codes(column: String, raw: &Raw, at: usize) -> Codes {
    written(column, raw, at).canonical()
}

/// The texts of a column as they are in the file.
fn written(column: String, raw: &Raw, at: usize) -> Codes {
    let Use::Text(slot) = raw.layout.uses[at] else { return Codes::default() };
    let of = values(&raw.chunks, |chunk| chunk.code(slot)).collect();
    Codes { column, names: raw.texts[slot].values.clone(), of }
}

/// Groups in alphabetical order, those that occur only; missing ones are a group.
fn sorted_groups(column: String, raw: &Raw, at: usize) -> Codes {
    codes(column, raw, at).alphabetical()
}

fn weights(file: &str, column: &str, values: &[f64]) -> Result<Vec<f32>, ReadError> {
    refuse_missing(file, column, "weight", values.iter().position(|value| value.is_nan()))?;
    let is_weight = |value: &f64| *value > 0.0 && (*value as f32).is_finite() && *value as f32 > 0.0;
    if let Some(row) = values.iter().position(|value| !is_weight(value)) {
        let (file, column) = (file.to_owned(), column.to_owned());
        return Err(ReadError::Weight { file, row: row + 1, column, value: values[row] });
    }
    Ok(values.iter().map(|value| *value as f32).collect())
}

/// The values of a column with amounts, whether it is a feature or not.
fn amounts(file: &str, column: &str, raw: &Raw, at: usize) -> Result<Vec<f64>, ReadError> {
    let values: Vec<f64> = match raw.layout.uses[at] {
        Use::Number(slot) => {
            let offset = raw.layout.offsets[slot];
            let numbers = values(&raw.chunks, |chunk| chunk.number(slot));
            numbers.map(|value| f64::from(value) + offset).collect()
        }
        _ => reals(raw, at),
    };
    refuse_missing(file, column, "amount", values.iter().position(|value| value.is_nan()))?;
    Ok(values)
}

fn refuse_missing(file: &str, column: &str, role: &'static str, row: Option<usize>) -> Result<(), ReadError> {
    match row {
        Some(row) => Err(ReadError::MissingRole {
            file: file.to_owned(),
            row: row + 1,
            column: column.to_owned(),
            role,
        }),
        None => Ok(()),
    }
}
