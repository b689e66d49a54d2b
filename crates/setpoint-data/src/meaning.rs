//! What the texts of a label column mean: positive or not, one of several classes, or how relevant.

use crate::chunk::MISSING;
use crate::class::{ClassOptions, ClassRule};
use crate::dataset::Codes;
use crate::label::{self, LabelError, LabelRule, Positive};

/// What each text of a label column means.
pub(crate) enum Meaning {
    /// Whether it is positive.
    Two(Vec<bool>),
    /// Its class; `None` where its rows are left out.
    Classes(Vec<Option<u32>>),
    /// Whether it is relevant, and how much.
    Grades(Vec<(bool, f32)>),
}

/// The rule that says what the texts of a column mean, and what they do: by a rule that was stored, or by what
/// the user says.
pub(crate) fn of_texts(
    file: &str,
    column: &str,
    stored: Option<&LabelRule>,
    (positive, classes): (&Positive, &ClassOptions),
    texts: &[(&str, u64)],
) -> Result<(LabelRule, Meaning), LabelError> {
    let alone: Vec<&str> = texts.iter().map(|(text, _)| *text).collect();
    let of_classes = |rule: &ClassRule| {
        let found = rule.apply(file, column, &alone)?;
        Ok((LabelRule::Classes(rule.clone()), Meaning::Classes(found)))
    };
    match stored {
        Some(LabelRule::Classes(rule)) => return of_classes(rule),
        Some(rule) => return Ok((rule.clone(), Meaning::Two(rule.apply(file, column, &alone)?))),
        None => {}
    }
    if *positive == Positive::Auto
        && let Some(rule) = classes.decide(file, column, texts)?
    {
        return of_classes(&rule);
    }
    let (rule, found) = label::decide(file, column, positive, texts)?;
    Ok((rule, Meaning::Two(found)))
}

impl Meaning {
    /// Whether rows of a text stay.
    pub(crate) fn keeps(&self, code: u32) -> bool {
        match self {
            Self::Two(_) | Self::Grades(_) => true,
            Self::Classes(classes) => code != MISSING && classes[code as usize].is_some(),
        }
    }

    /// Whether any are left out.
    pub(crate) fn leaves_out(&self) -> bool {
        matches!(self, Self::Classes(classes) if classes.contains(&None))
    }

    /// True for positives, and for every row of several classes; false where there is no label.
    pub(crate) fn labels<'c>(&self, codes: impl Iterator<Item = &'c u32>) -> Vec<bool> {
        match self {
            Self::Two(positive) => {
                codes.map(|code| positive.get(*code as usize).copied().unwrap_or_default()).collect()
            }
            Self::Grades(grades) => {
                codes.map(|code| grades.get(*code as usize).is_some_and(|(relevant, _)| *relevant)).collect()
            }
            Self::Classes(_) => codes.map(|code| *code != MISSING).collect(),
        }
    }

    /// How relevant each row is, of ranking data.
    pub(crate) fn grades<'c>(&self, codes: impl Iterator<Item = &'c u32>) -> Option<Vec<f32>> {
        let Self::Grades(grades) = self else { return None };
        Some(codes.map(|code| grades.get(*code as usize).map_or(0.0, |(_, grade)| *grade)).collect())
    }

    /// The class of each row, where there are several; a row that is left out has the first.
    pub(crate) fn classes<'c>(
        &self,
        column: &str,
        rule: &LabelRule,
        codes: impl Iterator<Item = &'c u32>,
    ) -> Option<Codes> {
        let (Self::Classes(classes), LabelRule::Classes(rule)) = (self, rule) else { return None };
        let of = codes.map(|code| classes.get(*code as usize).copied().flatten().unwrap_or_default());
        Some(Codes { column: column.to_owned(), names: rule.names.clone(), of: of.collect() })
    }
}
