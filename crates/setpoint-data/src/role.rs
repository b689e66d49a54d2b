//! What the columns of a table are for, as a person says it.

use setpoint::goal::Money;
use setpoint::message::quote;
use thiserror::Error;

use crate::class::ClassOptions;
use crate::label::Positive;
use crate::query::QuerySource;

/// What the columns are for. Columns are named, or numbered from 1.
///
/// Everything without a role is a feature. `drop`, `categorical` and `text` also take
/// ranges of numbers (`6-10`).
#[derive(Clone, Debug)]
pub struct Roles {
    /// The label; SVMLight files have theirs, and for predicting none is needed.
    pub label: Option<String>,
    /// Which labels are positive.
    pub positive: Positive,
    /// Whether they are of several classes instead, where `positive` is not given.
    pub classes: ClassOptions,
    /// Texts that mean a missing value, whatever their case; an empty field
    /// always does. `None`: [`DEFAULT_MISSING`].
    pub missing: Option<Vec<String>>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Weight of each row.
    pub weight: Option<String>,
    /// What decisions pay. Columns that amounts come from are features as well, unless dropped.
    pub money: Option<Money>,
    /// Group of each row, for conditions per group.
    pub group: Option<String>,
    /// The same where none is named, if there is such a column.
    pub group_if_there: Option<String>,
    /// Whether the group column is a feature as well.
    pub group_is_feature: bool,
    /// Rows with the same value here stay in the same part of a split.
    pub split_by: Option<String>,
    /// The same, if the file has such a column and no other is given.
    pub split_by_if_there: Option<String>,
    /// Where the queries of ranking data are written: the label is then of grades, and queries stay whole in a split.
    pub queries: Option<QuerySource>,
    /// Rows with later values here are held out.
    pub split_time: Option<String>,
    /// A model's score of each row. Columns without a role are then not looked at.
    pub score: Option<String>,
    /// Columns to keep as they are written. Columns without a role are then not looked at.
    pub keep: Vec<String>,
    /// Columns to treat as categories even if they look like numbers.
    pub categorical: Vec<String>,
    /// Columns to read as texts, word by word, even if they do not look like it.
    pub text: Vec<String>,
}

/// Texts that mean a missing value unless others are given; a label may be called `None` all the same.
pub const DEFAULT_MISSING: [&str; 9] = ["NA", "N/A", "#N/A", "<NA>", "NaN", "NaT", "None", "null", "?"];

impl Default for Roles {
    fn default() -> Self {
        Self {
            label: None,
            positive: Positive::Auto,
            classes: ClassOptions::default(),
            missing: None,
            drop: Vec::new(),
            weight: None,
            money: None,
            group: None,
            group_if_there: None,
            group_is_feature: false,
            split_by: None,
            split_by_if_there: None,
            queries: None,
            split_time: None,
            score: None,
            keep: Vec::new(),
            categorical: Vec::new(),
            text: Vec::new(),
        }
    }
}

impl Roles {
    /// The missing-value texts in force.
    #[must_use]
    pub fn missing_texts(&self) -> Vec<String> {
        match &self.missing {
            Some(texts) => texts.clone(),
            None => DEFAULT_MISSING.map(str::to_owned).to_vec(),
        }
    }
}

/// Why a column could not be given its role.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum RoleError {
    /// No such column.
    #[error("{file}: no column {} (‹{setting}›); {hint}", quote(column))]
    Unknown {
        /// The file.
        file: String,
        /// What was asked for.
        column: String,
        /// The setting that asked.
        setting: &'static str,
        /// Which columns there are.
        hint: String,
    },
    /// One column, two uses that exclude each other.
    #[error("{file}: column {} cannot be both {first} and {second}", quote(column))]
    TwoRoles {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// One use.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// Groups of rows whose label has several classes.
    #[error("{file}: ‹group›: groups are for labels of two classes, and this one has several; leave it out")]
    GroupsOfClasses {
        /// The file.
        file: String,
    },
    /// A role was asked for that this kind of file cannot give.
    #[error("{file}: ‹{setting}› does not apply to this SVMLight file: {hint}")]
    Sparse {
        /// The file.
        file: String,
        /// The setting.
        setting: &'static str,
        /// What holds instead.
        hint: &'static str,
    },
    /// Ranking data without queries.
    #[error("{file}: {found}, and a goal per query needs to know which rows are of one: {hint}")]
    NoQueries {
        /// The file.
        file: String,
        /// What it lacks.
        found: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// Nothing left to learn from.
    #[error("{file}: no feature columns are left; {hint}")]
    NoFeatures {
        /// The file.
        file: String,
        /// What to do.
        hint: String,
    },
    /// The model needs a column that the file lacks.
    #[error("{file}: the model needs column {}, which is not there; {hint}", quote(column))]
    Lacking {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// Which columns there are.
        hint: String,
    },
    /// Without a header, columns are matched by position.
    #[error(
        "{file}: {found} columns, but the model was trained on a file without a header and with {expected}; columns are matched by position, so give them all{hint}"
    )]
    Width {
        /// The file.
        file: String,
        /// Columns found.
        found: usize,
        /// Columns in the training file.
        expected: usize,
        /// Which may be left out.
        hint: String,
    },
    /// A sparse model with a dense table, or the other way round.
    #[error("{file}: is {found}, but the model was trained on {expected}")]
    Layout {
        /// The file.
        file: String,
        /// What the file is.
        found: &'static str,
        /// What the model needs.
        expected: &'static str,
    },
}

impl RoleError {
    /// The same, with more to try.
    pub(crate) fn or_else_try(mut self, more: &str) -> Self {
        match &mut self {
            Self::Unknown { hint, .. }
            | Self::Lacking { hint, .. }
            | Self::Width { hint, .. }
            | Self::NoFeatures { hint, .. } => hint.push_str(more),
            Self::TwoRoles { .. }
            | Self::GroupsOfClasses { .. }
            | Self::Sparse { .. }
            | Self::Layout { .. }
            | Self::NoQueries { .. } => {}
        }
        self
    }
}

/// Splits `a,b,1-5` at its commas; a name with a comma goes in double quotes.
#[must_use]
pub fn list(text: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut item = String::new();
    let mut quoted = false;
    for character in text.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => items.push(std::mem::take(&mut item)),
            _ => item.push(character),
        }
    }
    items.push(item);
    items.into_iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}

/// The column called `wanted`: by name, else by number from 1.
pub(crate) fn find(
    file: &str,
    names: &[String],
    wanted: &str,
    setting: &'static str,
) -> Result<usize, RoleError> {
    let number = || wanted.parse::<usize>().ok().filter(|n| (1..=names.len()).contains(n)).map(|n| n - 1);
    names.iter().position(|name| name == wanted).or_else(number).ok_or_else(|| RoleError::Unknown {
        file: file.to_owned(),
        column: wanted.to_owned(),
        setting,
        hint: if is_number(wanted) { numbers(names.len()) } else { hint(names, wanted) },
    })
}

/// Whether a column, or a range of them, is asked for by number.
fn is_number(wanted: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.trim().bytes().all(|byte| byte.is_ascii_digit());
    let (first, last) = wanted.split_once('-').unwrap_or((wanted, wanted));
    (first.is_empty() || digits(first)) && digits(last)
}

/// Which numbers columns have.
fn numbers(columns: usize) -> String {
    match columns {
        1 => "columns are numbered from 1, and there is only one".to_owned(),
        _ => format!("columns are numbered from 1 to {columns}"),
    }
}

/// The columns called `wanted`: names, numbers and ranges of numbers.
pub(crate) fn find_all(
    file: &str,
    names: &[String],
    wanted: &[String],
    setting: &'static str,
) -> Result<Vec<usize>, RoleError> {
    let mut found = Vec::new();
    for one in wanted {
        match find(file, names, one, setting) {
            Ok(column) => found.push(column),
            Err(error) => {
                match range(one).filter(|(from, to)| *from >= 1 && from <= to && *to <= names.len()) {
                    Some((from, to)) => found.extend(from - 1..to),
                    None => return Err(error),
                }
            }
        }
    }
    Ok(found)
}

fn range(text: &str) -> Option<(usize, usize)> {
    let (from, to) = text.split_once('-')?;
    Some((from.trim().parse().ok()?, to.trim().parse().ok()?))
}

/// `did you mean "x"?`, or the columns there are.
pub(crate) fn hint(names: &[String], wanted: &str) -> String {
    // Names that nobody types are not compared: that takes the product of their lengths.
    const TYPED: usize = 200;
    let wanted = wanted.to_lowercase();
    let closest = names
        .iter()
        .filter(|name| name.len().max(wanted.len()) <= TYPED)
        .map(|name| (strsim::damerau_levenshtein(&name.to_lowercase(), &wanted), name))
        .min_by_key(|(distance, _)| *distance);
    if let Some((distance, name)) = closest
        && distance <= (wanted.chars().count() / 3).max(1)
    {
        return format!("did you mean {}?", quote(name));
    }
    const SHOWN: usize = 12;
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(|name| quote(name)).collect();
    if names.len() > SHOWN {
        shown.push("...".to_owned());
    }
    match names.len() {
        1 => format!("its only column is {}", shown.join(", ")),
        count => format!("its {count} columns are {}", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["age", "income", "7", "two words"].map(str::to_owned).to_vec()
    }

    #[test]
    fn columns_go_by_name_then_by_number() {
        let find = |wanted: &str| find("t", &names(), wanted, "label");
        assert_eq!(find("income"), Ok(1));
        assert_eq!(find("7"), Ok(2));
        assert_eq!(find("4"), Ok(3));
        assert!(find("5").is_err());
        assert!(find("0").is_err());
        let all = find_all("t", &names(), &list("age, 2-3,two words"), "drop");
        assert_eq!(all, Ok(vec![0, 1, 2, 3]));
        assert!(find_all("t", &names(), &list("3-9"), "drop").is_err());
        for wanted in ["0", "5", "-1", "3-9", "99999999999999999999999"] {
            let error = find_all("t", &names(), &list(wanted), "drop").unwrap_err().to_string();
            assert!(error.ends_with("(‹drop›); columns are numbered from 1 to 4"), "{error}");
        }
    }

    #[test]
    fn a_slip_of_the_pen_gets_a_suggestion() {
        let error = find("t.csv", &names(), "incone", "label").unwrap_err();
        assert_eq!(error.to_string(), "t.csv: no column \"incone\" (‹label›); did you mean \"income\"?");
        let error = find("t.csv", &names(), "zebra", "label").unwrap_err().to_string();
        assert!(error.ends_with("its 4 columns are \"age\", \"income\", \"7\", \"two words\""), "{error}");
    }

    #[test]
    fn quoted_names_keep_their_commas() {
        assert_eq!(list("a,\"b, c\",,d "), ["a", "b, c", "d"]);
        assert!(list(" ").is_empty());
    }
}
