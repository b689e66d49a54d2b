//! Ranking data: which rows are results of the same query, and how relevant each is.
//!
//! Queries come in a column, as `qid:` of SVMLight, or as a file of their sizes. Labels that are all numbers from 0
//! on are grades, and a row is relevant above 0 unless the user says otherwise; other labels are yes or no.

use std::io::Read;
use std::path::PathBuf;

use crate::dataset::Codes;
use crate::form::number;
use crate::label::{self, LabelError, LabelRule, Positive};
use crate::meaning::Meaning;
use crate::read::ReadError;
use crate::read::source::Source;

/// Where queries are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum QuerySource {
    /// As `qid:` in an SVMLight file.
    #[default]
    Own,
    /// In this column.
    Column(String),
    /// In this file: the number of rows of each, one a line and in their order, as LightGBM has it beside its data.
    Sizes(PathBuf),
}

/// The column of queries that have none.
const COLUMN: &str = "";

impl QuerySource {
    /// The queries of so many rows by their sizes; `None` where they are written in the data itself.
    pub(crate) fn sized(&self, file: &str, rows: usize) -> Result<Option<Codes>, ReadError> {
        let Self::Sizes(path) = self else { return Ok(None) };
        let (source, mut text) = (Source::open(path)?, String::new());
        source.text()?.read_to_string(&mut text).map_err(|error| source.io(error))?;
        let (mut names, mut of) = (Vec::new(), Vec::with_capacity(rows));
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let mut total = 0_u64;
        for (line, size) in lines {
            let found = size.trim().parse::<u32>().map_err(|_| ReadError::QuerySize {
                file: source.name().to_owned(),
                line: line as u64 + 1,
                found: size.trim().to_owned(),
            })?;
            total += u64::from(found);
            if total <= rows as u64 {
                of.resize(of.len() + found as usize, names.len() as u32);
                names.push((names.len() + 1).to_string());
            }
        }
        if total != rows as u64 {
            let (sizes, file) = (source.name().to_owned(), file.to_owned());
            return Err(ReadError::QuerySizes { sizes, total, file, rows });
        }
        Ok(Some(Codes { column: COLUMN.to_owned(), names, of }))
    }
}

/// The grades of label texts, given with their counts: by a rule that was stored, or by what the user says.
pub(crate) fn of_texts(
    file: &str,
    column: &str,
    stored: Option<&LabelRule>,
    positive: &Positive,
    texts: &[(&str, u64)],
) -> Result<(LabelRule, Meaning), LabelError> {
    let alone: Vec<&str> = texts.iter().map(|(text, _)| *text).collect();
    let numbers: Vec<Option<f64>> = texts.iter().map(|(text, _)| number(text.as_bytes())).collect();
    let strange = numbers.iter().position(|value| !value.is_some_and(is_grade));
    let refused = |place: usize| LabelError::Grade {
        file: file.to_owned(),
        column: column.to_owned(),
        value: texts[place].0.to_owned(),
    };
    let two = |(rule, relevant): (LabelRule, Vec<bool>)| {
        let grade = |relevant: bool| (relevant, f32::from(u8::from(relevant)));
        (rule, Meaning::Grades(relevant.into_iter().map(grade).collect()))
    };
    match (stored, strange) {
        (Some(LabelRule::Grades(_)), Some(place)) => return Err(refused(place)),
        (Some(rule @ (LabelRule::Pair { .. } | LabelRule::Given(_))), _) => {
            return Ok(two((rule.clone(), rule.apply(file, column, &alone)?)));
        }
        (_, Some(place)) => {
            let decided = label::decide(file, column, positive, texts);
            let in_place = |error| if *positive == Positive::Auto { refused(place) } else { error };
            return decided.map(two).map_err(in_place);
        }
        (_, None) => {}
    }
    let rule = LabelRule::Grades(positive.clone());
    // Of a new file nothing is asked; of training rows, that what the user says makes a difference.
    let relevant = match (stored, positive) {
        (None, Positive::Value(_) | Positive::Not(_) | Positive::Rule(..)) => {
            label::decide(file, column, positive, texts)?.1
        }
        _ => rule.apply(file, column, &alone)?,
    };
    let grades = numbers.iter().map(|value| value.unwrap_or_default() as f32);
    Ok((rule, Meaning::Grades(relevant.into_iter().zip(grades).collect())))
}

/// The grades of labels that were read as numbers to be compared with one: themselves, or 1 and 0 where one of them is
/// negative.
pub(crate) fn of_numbers(
    file: &str,
    column: &str,
    stored: Option<&LabelRule>,
    (rule, relevant): (LabelRule, &[bool]),
    values: &[f64],
) -> Result<(LabelRule, Vec<f32>), LabelError> {
    match (rule, values.iter().position(|value| !is_grade(*value))) {
        (LabelRule::Given(positive), None) => {
            Ok((LabelRule::Grades(positive), values.iter().map(|value| *value as f32).collect()))
        }
        (_, Some(place)) if matches!(stored, Some(LabelRule::Grades(_))) => {
            let (file, column) = (file.to_owned(), column.to_owned());
            Err(LabelError::Grade { file, column, value: values[place].to_string() })
        }
        (rule, _) => Ok((rule, relevant.iter().map(|relevant| f32::from(u8::from(*relevant))).collect())),
    }
}

fn is_grade(value: f64) -> bool {
    value >= 0.0 && (value as f32).is_finite()
}
