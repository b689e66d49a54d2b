//! Which rows are positive.
//!
//! A label becomes binary in one of four ways: a value (or several) against the
//! rest, everything but a value, a numeric rule, or, where the column holds two
//! values and one of them is the obvious positive, by itself.
//!
//! Two label texts are *the same* when they are equal, when both are numbers or
//! truths and equal as numbers (`1`, `+1`, `1.0`, `True`), or when they are equal once a full
//! stop at the end is left off (`>50K` in `adult.data`, `>50K.` in `adult.test`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use setpoint::message::{self, quote};
use thiserror::Error;

use crate::class::ClassRule;
use crate::form::same_value;

/// What counts as positive, as a person writes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Positive {
    /// The obvious one of the column's two values: 1 over 0 or -1, true over false, yes over no.
    #[default]
    Auto,
    /// This value, or any of these (written with commas between).
    Value(String),
    /// Anything but this value, or these: `!=normal`.
    Not(String),
    /// Numbers that compare so: `>0.28`, `>=1`, `<5`, `<=5`.
    Rule(Comparison, f64),
}

/// How a label compares with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

/// What a label column's values mean; stored with the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelRule {
    /// Two values were found, and this one is the obvious positive.
    Pair {
        /// The positive value.
        positive: String,
        /// The negative value; anything else is refused.
        negative: String,
    },
    /// As the user said.
    Given(Positive),
    /// No row is positive or negative: each has one of several classes.
    Classes(ClassRule),
    /// Numbers from 0 on, how relevant a row is. Relevant are those that the user says, or all above 0.
    Grades(Positive),
}

/// Why a label column could not be made binary.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum LabelError {
    /// Other than two values, and no rule.
    #[error(
        "{file}: label column {} holds {count} different values ({values}); say which is positive with ‹positive› (a value, or a rule such as \">0.5\")",
        quote(column)
    )]
    NotTwo {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// Different values.
        count: usize,
        /// The most frequent of them.
        values: String,
    },
    /// Two values, neither of them obviously positive.
    #[error("{file}: label column {} holds {values}; say which is positive with ‹positive›", quote(column))]
    Ambiguous {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The two values.
        values: String,
    },
    /// The rule makes every row the same.
    #[error(
        "{file}: label column {}: no row is {missing} by ‹positive {}›; the values are {values}",
        quote(column),
        quote(rule)
    )]
    OneClass {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// `positive` or `negative`.
        missing: &'static str,
        /// The rule.
        rule: String,
        /// What the column holds.
        values: String,
    },
    /// A value that the training data did not have.
    #[error(
        "{file}: label column {} holds {}; the model was trained with {} (positive) and {}; say which is positive with ‹positive›",
        quote(column),
        quote(found),
        quote(positive),
        quote(negative)
    )]
    Unknown {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// What was found.
        found: String,
        /// The positive value.
        positive: String,
        /// The negative value.
        negative: String,
    },
    /// No classes, or too many.
    #[error(
        "{file}: label column {} holds {} ({values}); expected two classes to {most}",
        quote(column),
        message::counted(*count, "different value")
    )]
    NotSeveral {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// Different values.
        count: usize,
        /// Most classes there may be.
        most: usize,
        /// The most frequent of them.
        values: String,
    },
    /// A class that is none of the label's.
    #[error("{file}: label column {} has no class {}; the classes are {values}", quote(column), quote(class))]
    NoClass {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The class asked for.
        class: String,
        /// Those there are.
        values: String,
    },
    /// A class that the model was not trained with.
    #[error(
        "{file}: label column {} has rows of class {}, which the model does not know: leave them out, or train with them; its classes are {values}",
        quote(column),
        quote(class)
    )]
    StrangeClass {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The class found.
        class: String,
        /// Those of the model.
        values: String,
    },
    /// A class that is asked for twice.
    #[error("‹classes›: {} is named twice", quote(class))]
    TwiceNamed {
        /// The class.
        class: String,
    },
    /// Small classes that are too small together.
    #[error(
        "{file}: label column {}: the classes {classes} have {rows} rows together, fewer than ‹min-class {least}›; leave their rows out by naming the others with ‹classes›",
        quote(column)
    )]
    SmallPool {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The small classes.
        classes: String,
        /// Their rows.
        rows: u64,
        /// Fewest that a class may have.
        least: u64,
    },
    /// No grade.
    #[error(
        "{file}: label column {} holds {}, and grades are numbers from 0 on; where labels are no grades, say which are relevant with ‹positive›",
        quote(column),
        quote(value)
    )]
    Grade {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// What was found.
        value: String,
    },
    /// A rule that does not read as one.
    #[error(
        "‹positive {}›: expected a label value, or a rule such as \">0.28\", \">=1\" or \"!=normal\"",
        quote(text)
    )]
    Rule {
        /// What was given.
        text: String,
    },
}

impl FromStr for Positive {
    type Err = LabelError;

    /// `>50K` is a value, `>50` a rule: a comparison needs a number.
    fn from_str(text: &str) -> Result<Self, LabelError> {
        let text = text.trim();
        if text.is_empty() || text == "!=" {
            return Err(LabelError::Rule { text: text.to_owned() });
        }
        if text == "auto" {
            return Ok(Self::Auto);
        }
        if let Some(rest) = text.strip_prefix("!=") {
            return Ok(Self::Not(rest.trim().to_owned()));
        }
        let comparisons = [
            (">=", Comparison::AtLeast),
            ("<=", Comparison::AtMost),
            (">", Comparison::Above),
            ("<", Comparison::Below),
        ];
        for (sign, comparison) in comparisons {
            if let Some(target) = text.strip_prefix(sign).and_then(|rest| number(rest.trim())) {
                return Ok(Self::Rule(comparison, target));
            }
        }
        let value = text.strip_prefix("==").or_else(|| text.strip_prefix('=')).unwrap_or(text);
        Ok(Self::Value(value.trim().to_owned()))
    }
}

impl TryFrom<String> for Positive {
    type Error = LabelError;

    fn try_from(text: String) -> Result<Self, LabelError> {
        text.parse()
    }
}

impl From<Positive> for String {
    fn from(positive: Positive) -> Self {
        positive.to_string()
    }
}

impl fmt::Display for Positive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Value(value) => f.write_str(value),
            Self::Not(value) => write!(f, "!={value}"),
            Self::Rule(comparison, target) => {
                let sign = match comparison {
                    Comparison::Above => ">",
                    Comparison::AtLeast => ">=",
                    Comparison::Below => "<",
                    Comparison::AtMost => "<=",
                };
                write!(f, "{sign}{}", message::number(*target))
            }
        }
    }
}

impl Comparison {
    /// Whether `value` compares so with `target`.
    #[must_use]
    pub fn holds(self, value: f64, target: f64) -> bool {
        match self {
            Self::Above => value > target,
            Self::AtLeast => value >= target,
            Self::Below => value < target,
            Self::AtMost => value <= target,
        }
    }
}

fn number(text: &str) -> Option<f64> {
    crate::form::number(text.as_bytes())
}

/// Whether two label texts are the same; see the module's rule.
pub(crate) fn same(left: &str, right: &str) -> bool {
    if same_value(left, right) {
        return true;
    }
    let bare = |text: &'_ str| text.strip_suffix('.').unwrap_or(text).to_owned();
    bare(left) == bare(right)
}

fn any_same(value: &str, list: &str) -> bool {
    same(value, list) || list.split(',').any(|one| same(value, one.trim()))
}

/// Decides each of the texts a label column holds, given with their counts.
pub(crate) fn decide(
    file: &str,
    column: &str,
    positive: &Positive,
    texts: &[(&str, u64)],
) -> Result<(LabelRule, Vec<bool>), LabelError> {
    let (file, column) = (file.to_owned(), column.to_owned());
    let classes: Vec<bool> = match positive {
        Positive::Auto => {
            let mut kinds: Vec<(&str, u64)> = Vec::new();
            for (text, count) in texts {
                match kinds.iter_mut().find(|(kind, _)| same(kind, text)) {
                    Some((_, total)) => *total += count,
                    None => kinds.push((text, *count)),
                }
            }
            let [(a, _), (b, _)] = kinds[..] else {
                return Err(LabelError::NotTwo { file, column, count: kinds.len(), values: listed(&kinds) });
            };
            let (positive, negative) = match (obvious(a, b), obvious(b, a)) {
                (true, _) => (a, b),
                (_, true) => (b, a),
                _ => return Err(LabelError::Ambiguous { file, column, values: listed(&kinds) }),
            };
            let classes = texts.iter().map(|(text, _)| same(text, positive)).collect();
            let rule = LabelRule::Pair { positive: positive.to_owned(), negative: negative.to_owned() };
            return Ok((rule, classes));
        }
        Positive::Value(list) => texts.iter().map(|(text, _)| any_same(text, list)).collect(),
        Positive::Not(list) => texts.iter().map(|(text, _)| !any_same(text, list)).collect(),
        Positive::Rule(comparison, target) => texts
            .iter()
            .map(|(text, _)| number(text).is_some_and(|value| comparison.holds(value, *target)))
            .collect(),
    };
    for (class, missing) in [(true, "positive"), (false, "negative")] {
        if !classes.contains(&class) {
            let (rule, values) = (positive.to_string(), listed(texts));
            return Err(LabelError::OneClass { file, column, missing, rule, values });
        }
    }
    Ok((LabelRule::Given(positive.clone()), classes))
}

impl LabelRule {
    /// Decides each of the texts another file's label column holds by the stored rule.
    pub(crate) fn apply(&self, file: &str, column: &str, texts: &[&str]) -> Result<Vec<bool>, LabelError> {
        let class = |text: &&str| match self {
            Self::Pair { positive, .. } if same(text, positive) => Ok(true),
            Self::Pair { negative, .. } if same(text, negative) => Ok(false),
            Self::Pair { positive, negative } => Err(LabelError::Unknown {
                file: file.to_owned(),
                column: column.to_owned(),
                found: (*text).to_owned(),
                positive: positive.clone(),
                negative: negative.clone(),
            }),
            Self::Given(Positive::Value(list)) | Self::Grades(Positive::Value(list)) => {
                Ok(any_same(text, list))
            }
            Self::Given(Positive::Not(list)) | Self::Grades(Positive::Not(list)) => Ok(!any_same(text, list)),
            Self::Given(Positive::Rule(comparison, target))
            | Self::Grades(Positive::Rule(comparison, target)) => {
                Ok(number(text).is_some_and(|value| comparison.holds(value, *target)))
            }
            Self::Given(Positive::Auto) => Ok(same(text, "1")),
            Self::Grades(Positive::Auto) => Ok(number(text).is_some_and(|value| value > 0.0)),
            Self::Classes(_) => Ok(true),
        };
        texts.iter().map(class).collect()
    }

    /// The rule as `--positive` takes it; `None` for several classes.
    #[must_use]
    pub fn positive(&self) -> Option<Positive> {
        match self {
            Self::Pair { positive, .. } => Some(Positive::Value(positive.clone())),
            Self::Grades(Positive::Auto) => Some(Positive::Rule(Comparison::Above, 0.0)),
            Self::Given(positive) | Self::Grades(positive) => Some(positive.clone()),
            Self::Classes(_) => None,
        }
    }

    /// The classes, where there are several.
    #[must_use]
    pub fn classes(&self) -> Option<&ClassRule> {
        match self {
            Self::Classes(rule) => Some(rule),
            Self::Pair { .. } | Self::Given(_) | Self::Grades(_) => None,
        }
    }
}

fn obvious(positive: &str, negative: &str) -> bool {
    if let (Some(positive), Some(negative)) = (number(positive), number(negative)) {
        return positive == 1.0 && (negative == 0.0 || negative == -1.0);
    }
    let pairs = [("yes", "no"), ("t", "f"), ("y", "n"), ("positive", "negative"), ("pos", "neg")];
    let (positive, negative) = (positive.to_lowercase(), negative.to_lowercase());
    pairs.contains(&(positive.as_str(), negative.as_str()))
}

/// `"a" (12 rows), "b" (3 rows), ...`, the most frequent first.
pub(crate) fn listed(texts: &[(&str, u64)]) -> String {
    const SHOWN: usize = 8;
    let mut sorted = texts.to_vec();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let mut parts: Vec<String> = sorted
        .iter()
        .take(SHOWN)
        .map(|(text, count)| format!("{} ({})", quote(text), message::counted(*count as usize, "row")))
        .collect();
    if sorted.len() > SHOWN {
        parts.push("...".to_owned());
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(positive: &str, texts: &[&str]) -> Result<Vec<bool>, LabelError> {
        let counted: Vec<(&str, u64)> = texts.iter().map(|text| (*text, 1)).collect();
        decide("t.csv", "y", &positive.parse()?, &counted).map(|(_, classes)| classes)
    }

    #[test]
    fn a_comparison_needs_a_number() {
        assert_eq!(">0.28".parse(), Ok(Positive::Rule(Comparison::Above, 0.28)));
        assert_eq!(">50K".parse(), Ok(Positive::Value(">50K".into())));
        assert_eq!("!= normal.".parse(), Ok(Positive::Not("normal.".into())));
        assert!("".parse::<Positive>().is_err());
        for text in [">0.28", ">=1", "<5", "<=5", "!=x", "U", "auto", "a,b"] {
            assert_eq!(text.parse::<Positive>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn values_match_across_full_stops_and_spellings_of_numbers() {
        assert_eq!(classes(">50K", &["<=50K.", ">50K."]), Ok(vec![false, true]));
        assert_eq!(classes("1", &["-1", "+1", "1.0", "1."]), Ok(vec![false, true, true, true]));
        assert_eq!(classes("!=normal", &["normal.", "smurf."]), Ok(vec![false, true]));
        assert_eq!(classes("nmap,satan", &["nmap.", "satan.", "ipsweep."]), Ok(vec![true, true, false]));
        assert_eq!(classes(">0.28", &["0.28", "0.29"]), Ok(vec![false, true]));
    }

    #[test]
    fn the_obvious_positive_is_found_and_nothing_else_guessed() {
        assert_eq!(classes("auto", &["-1.0", "1.0"]), Ok(vec![false, true]));
        assert_eq!(classes("auto", &["0", "1", "0.0"]), Ok(vec![false, true, false]));
        assert_eq!(classes("auto", &["Yes", "No"]), Ok(vec![true, false]));
        let error = classes("auto", &["<=50K", ">50K"]).unwrap_err().to_string();
        assert!(error.contains("\">50K\" (1 row); say which is positive with ‹positive›"), "{error}");
        let error = classes("auto", &["A", "B", "C"]).unwrap_err().to_string();
        assert!(error.contains("holds 3 different values"), "{error}");
        assert!(matches!(classes("auto", &["1", "2"]), Err(LabelError::Ambiguous { .. })));
    }

    #[test]
    fn a_rule_that_leaves_one_class_is_refused() {
        let error = classes("Q", &["A", "B"]).unwrap_err().to_string();
        assert!(error.contains("no row is positive by ‹positive \"Q\"›"), "{error}");
        assert!(matches!(classes("!=Q", &["A"]), Err(LabelError::OneClass { missing: "negative", .. })));
    }

    #[test]
    fn a_stored_rule_survives_json_and_refuses_new_values() {
        let (rule, _) = decide("t", "y", &Positive::Auto, &[("0", 1), ("1", 1)]).unwrap();
        let json = serde_json::to_string(&rule).unwrap();
        let rule: LabelRule = serde_json::from_str(&json).unwrap();
        assert_eq!(rule.apply("t", "y", &["1", "0."]), Ok(vec![true, false]));
        assert!(matches!(rule.apply("t", "y", &["2"]), Err(LabelError::Unknown { .. })));
        let given = LabelRule::Given(">673.689".parse().unwrap());
        let json = serde_json::to_string(&given).unwrap();
        assert_eq!(json, r#"{"given":">673.689"}"#);
        assert_eq!(serde_json::from_str::<LabelRule>(&json).unwrap(), given);
    }
}
