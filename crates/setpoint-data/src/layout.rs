//! Where each column of a file goes.

use std::collections::{HashMap, HashSet};

use crate::form::Form;
use crate::label::Positive;
use crate::query::QuerySource;
use crate::role::{RoleError, Roles, find, find_all, hint};

/// What a feature column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// Numbers.
    Number,
    /// One of some texts.
    Category,
}

/// Where a value of a file column is stored in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Skip,
    Number(usize),
    Text(usize),
    /// As `f64`: a weight, a label for a numeric rule, a time, a score.
    Real(usize, RealKind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RealKind {
    Number,
    Time,
}

/// The plan for a file: one use for each of its columns.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub names: Vec<String>,
    pub uses: Vec<Use>,
    /// How the numbers of each column are written, where not plainly.
    pub forms: Vec<Option<Form>>,
    pub numbers: usize,
    /// What is subtracted from the numbers of each slot.
    pub offsets: Vec<f64>,
    pub texts: usize,
    pub reals: usize,
    /// File columns that are features, in order.
    pub features: Vec<usize>,
    pub label: Option<usize>,
    pub weight: Option<usize>,
    /// Columns with amounts.
    pub amounts: Vec<usize>,
    pub group: Option<usize>,
    pub entity: Option<usize>,
    pub time: Option<usize>,
    pub score: Option<usize>,
    pub kept: Vec<usize>,
    /// Number columns that may not turn into categories.
    pub strict: bool,
    /// Columns that a model does not know.
    pub extra: Vec<String>,
}

impl Layout {
    /// Bytes of a row in memory.
    pub fn width(&self) -> usize {
        size_of::<f32>() * (self.numbers + self.texts) + size_of::<f64>() * self.reals
    }
}

/// The columns a model was trained on.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub columns: Vec<(String, ColumnKind, Option<Form>)>,
    /// What is subtracted from the numbers of each.
    pub offsets: Vec<f64>,
    pub header: bool,
    /// Columns of the training file, and where its label stood.
    pub width: usize,
    pub label: Option<usize>,
    /// Its columns that were no features.
    pub known: Vec<String>,
}

impl Expected {
    /// No features: all that counts are the roles.
    pub fn nothing() -> Self {
        let (columns, offsets, known) = Default::default();
        Self { columns, offsets, header: true, width: 0, label: None, known }
    }
}

impl Layout {
    /// The plan for training; `kinds` are those of the file's columns as far as known.
    pub fn plan(
        file: &str,
        names: &[String],
        roles: &Roles,
        kinds: &[ColumnKind],
    ) -> Result<Self, RoleError> {
        let mut layout = Self::roles(file, names, roles)?;
        let dropped = find_all(file, names, &roles.drop, "drop")?;
        let mut forced = find_all(file, names, &roles.categorical, "categorical")?;
        forced.extend(find_all(file, names, &roles.text, "text")?);
        for (column, kind) in kinds.iter().enumerate().take(names.len()) {
            if dropped.contains(&column) || !layout.is_free(column, roles.group_is_feature) {
                continue;
            }
            layout.add_feature(column, if forced.contains(&column) { ColumnKind::Category } else { *kind });
        }
        layout.find_amounts(file, names, roles)?;
        if layout.features.is_empty() {
            return Err(RoleError::NoFeatures {
                file: file.to_owned(),
                hint: "drop fewer columns".to_owned(),
            });
        }
        Ok(layout)
    }

    /// The plan for a file that a trained model is applied to.
    pub fn plan_like(
        file: &str,
        names: &[String],
        roles: &Roles,
        expected: &Expected,
    ) -> Result<Self, RoleError> {
        let names = &positional(file, names, roles, expected)?;
        let mut layout = Self::roles(file, names, roles)?;
        layout.strict = true;
        let places: HashMap<&String, usize> =
            names.iter().enumerate().map(|(place, name)| (name, place)).rev().collect();
        for ((name, kind, form), offset) in expected.columns.iter().zip(&expected.offsets) {
            let column = places.get(name).copied().ok_or_else(|| RoleError::Lacking {
                file: file.to_owned(),
                column: name.clone(),
                hint: hint(names, name),
            })?;
            layout.add_feature(column, *kind);
            layout.forms[column] = *form;
            layout.shift(column, *offset);
            if let (Use::Real(..), _) | (Use::Text(_), ColumnKind::Number) = (layout.uses[column], kind) {
                let second = if *kind == ColumnKind::Number { "a number" } else { "a category" };
                return Err(layout.two_roles(file, column, "a role", second));
            }
        }
        layout.find_amounts(file, names, roles)?;
        let known: HashSet<&String> = expected.known.iter().collect();
        layout.extra = (0..names.len())
            .filter(|column| layout.uses[*column] == Use::Skip)
            .map(|column| names[column].clone())
            .filter(|name| !known.contains(name))
            .collect();
        Ok(layout)
    }

    fn roles(file: &str, names: &[String], roles: &Roles) -> Result<Self, RoleError> {
        let mut layout = Self {
            names: names.to_vec(),
            uses: vec![Use::Skip; names.len()],
            forms: vec![None; names.len()],
            numbers: 0,
            offsets: Vec::new(),
            texts: 0,
            reals: 0,
            features: Vec::new(),
            label: None,
            weight: None,
            amounts: Vec::new(),
            group: None,
            entity: None,
            time: None,
            score: None,
            kept: Vec::new(),
            strict: false,
            extra: Vec::new(),
        };
        let column = |wanted: &Option<String>, setting| {
            wanted.as_ref().map(|wanted| find(file, names, wanted, setting)).transpose()
        };
        layout.label = column(&roles.label, "label")?;
        layout.weight = column(&roles.weight, "weight")?;
        let column_if = |wanted: &Option<String>, if_there: &Option<String>, setting| match (wanted, if_there)
        {
            (None, Some(wanted)) => Ok(names.iter().position(|name| name == wanted)),
            (given, _) => column(given, setting),
        };
        layout.group = column_if(&roles.group, &roles.group_if_there, "group")?;
        let (mut entity, mut entity_is) = ("split-by", "what the split goes by");
        let by = match &roles.queries {
            None => roles.split_by.clone(),
            Some(QuerySource::Sizes(_)) => None,
            Some(QuerySource::Column(column)) => {
                (entity, entity_is) = ("query", "the query");
                Some(column.clone())
            }
            Some(QuerySource::Own) => {
                let hint = "name their column with ‹query›, or a file with their sizes with ‹query-sizes›";
                return Err(RoleError::NoQueries {
                    file: file.to_owned(),
                    found: "queries are not named",
                    hint,
                });
            }
        };
        layout.entity = column_if(&by, &roles.split_by_if_there, entity)?;
        layout.time = column(&roles.split_time, "split-time")?;
        layout.score = column(&roles.score, "score")?;
        let numeric_label = matches!(roles.positive, Positive::Rule(..));
        let label_use = if numeric_label { Some(RealKind::Number) } else { None };
        for (column, real, role) in [
            (layout.label, label_use, "the label"),
            (layout.weight, Some(RealKind::Number), "the weight"),
            (layout.group, None, "the group"),
            (layout.entity, None, entity_is),
            (layout.time, Some(RealKind::Time), "the time"),
            (layout.score, Some(RealKind::Number), "the score"),
        ] {
            let Some(column) = column else { continue };
            let new = match real {
                Some(kind) => Use::Real(layout.reals, kind),
                None => Use::Text(layout.texts),
            };
            match (layout.uses[column], new) {
                (Use::Skip, Use::Real(..)) => layout.reals += 1,
                (Use::Skip, _) => layout.texts += 1,
                (Use::Text(_), Use::Text(_)) => continue,
                _ => return Err(layout.two_roles(file, column, "another role", role)),
            }
            layout.uses[column] = new;
        }
        layout.kept = find_all(file, names, &roles.keep, "keep")?;
        for column in layout.kept.clone() {
            match layout.uses[column] {
                Use::Skip => {
                    layout.uses[column] = Use::Text(layout.texts);
                    layout.texts += 1;
                }
                Use::Text(_) => {}
                _ => return Err(layout.two_roles(file, column, "another role", "kept")),
            }
        }
        Ok(layout)
    }

    /// Finds the columns that amounts come from; of those that are no features they are read for that alone.
    fn find_amounts(&mut self, file: &str, names: &[String], roles: &Roles) -> Result<(), RoleError> {
        for wanted in roles.money.iter().flat_map(|money| money.columns()) {
            let column = find(file, names, wanted, "goal")?;
            match self.uses[column] {
                Use::Skip => {
                    self.uses[column] = Use::Real(self.reals, RealKind::Number);
                    self.reals += 1;
                }
                Use::Number(_) | Use::Real(_, RealKind::Number) => {}
                _ => return Err(self.two_roles(file, column, "text", "an amount")),
            }
            self.amounts.push(column);
        }
        Ok(())
    }

    fn two_roles(&self, file: &str, column: usize, first: &'static str, second: &'static str) -> RoleError {
        RoleError::TwoRoles { file: file.to_owned(), column: self.names[column].clone(), first, second }
    }

    fn is_free(&self, column: usize, group_is_feature: bool) -> bool {
        self.uses[column] == Use::Skip
            || (group_is_feature && self.group == Some(column) && self.entity != Some(column))
    }

    fn add_feature(&mut self, column: usize, kind: ColumnKind) {
        self.features.push(column);
        if self.uses[column] == Use::Skip {
            self.uses[column] = match kind {
                ColumnKind::Number => Use::Number(self.numbers),
                ColumnKind::Category => Use::Text(self.texts),
            };
            match kind {
                ColumnKind::Number => self.numbers += 1,
                ColumnKind::Category => self.texts += 1,
            }
            self.offsets.resize(self.numbers, 0.0);
        }
    }

    /// Sets what is subtracted from the numbers of a file column, if it holds any.
    pub fn shift(&mut self, column: usize, offset: f64) {
        if let Use::Number(slot) = self.uses[column] {
            self.offsets[slot] = offset;
        }
    }

    /// The file column stored in a number slot.
    pub fn number_column(&self, slot: usize) -> usize {
        self.uses.iter().position(|use_| *use_ == Use::Number(slot)).unwrap_or_default()
    }
}

/// Names of the columns of a headerless file, by their positions in the training file.
///
/// The label may be absent when it is not asked for.
fn positional(
    file: &str,
    names: &[String],
    roles: &Roles,
    expected: &Expected,
) -> Result<Vec<String>, RoleError> {
    if expected.header || names.len() == expected.width {
        return Ok(names.to_vec());
    }
    match expected.label {
        Some(label) if roles.label.is_none() && names.len() + 1 == expected.width => Ok((0..expected.width)
            .filter(|column| *column != label)
            .map(|column| (column + 1).to_string())
            .collect()),
        label => Err(RoleError::Width {
            file: file.to_owned(),
            found: names.len(),
            expected: expected.width,
            hint: match label {
                Some(label) if roles.label.is_none() => {
                    format!(" (column {}, the label, may be left out)", label + 1)
                }
                _ => String::new(),
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_column_without_a_role_is_a_feature() {
        let roles = Roles {
            label: Some("y".into()),
            group: Some("g".into()),
            drop: names(&["d"]),
            categorical: names(&["c"]),
            ..Roles::default()
        };
        let columns = names(&["a", "y", "g", "d", "c"]);
        let layout = Layout::plan("t", &columns, &roles, &[ColumnKind::Number; 5]).unwrap();
        assert_eq!(layout.features, [0, 4]);
        assert_eq!(layout.uses, [Use::Number(0), Use::Text(0), Use::Text(1), Use::Skip, Use::Text(2)]);
        let roles = Roles { group_is_feature: true, ..roles };
        assert_eq!(
            Layout::plan("t", &columns, &roles, &[ColumnKind::Number; 5]).unwrap().features,
            [0, 2, 4]
        );
    }

    #[test]
    fn a_headerless_file_may_leave_out_only_the_label() {
        let expected = Expected {
            columns: vec![("2".into(), ColumnKind::Number, None), ("3".into(), ColumnKind::Category, None)],
            offsets: vec![7.0, 0.0],
            header: false,
            width: 3,
            label: Some(0),
            known: names(&["1"]),
        };
        let layout = Layout::plan_like("t", &names(&["1", "2"]), &Roles::default(), &expected).unwrap();
        assert_eq!((layout.uses, layout.offsets), (vec![Use::Number(0), Use::Text(0)], vec![7.0]));
        let error = Layout::plan_like("t", &names(&["1"]), &Roles::default(), &expected).unwrap_err();
        assert!(error.to_string().contains("(column 1, the label, may be left out)"), "{error}");
    }

    #[test]
    fn a_column_the_model_needs_must_be_there() {
        let expected = Expected {
            columns: vec![("age".into(), ColumnKind::Number, None)],
            offsets: vec![0.0],
            header: true,
            width: 2,
            label: None,
            known: vec![],
        };
        let error = Layout::plan_like("t", &names(&["agee", "x"]), &Roles::default(), &expected).unwrap_err();
        assert_eq!(
            error.to_string(),
            "t: the model needs column \"age\", which is not there; did you mean \"agee\"?"
        );
        let layout = Layout::plan_like("t", &names(&["x", "age"]), &Roles::default(), &expected).unwrap();
        assert_eq!(layout.extra, ["x"]);
    }

    #[test]
    fn a_weight_cannot_be_the_group() {
        let roles = Roles { weight: Some("a".into()), group: Some("a".into()), ..Roles::default() };
        assert!(matches!(
            Layout::plan("t", &names(&["a", "b"]), &roles, &[ColumnKind::Number; 2]),
            Err(RoleError::TwoRoles { .. })
        ));
    }
}
