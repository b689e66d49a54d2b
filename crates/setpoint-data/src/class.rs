//! Labels of several classes: which there are, and which of them a row has.
//!
//! A class goes by its text as any format has it, without a full stop at the end: `1` for `1.0`, `normal` for
//! `normal.`. Texts that are [the same](crate::label) are one class. Classes are in alphabetical order, numbers
//! by size, unless the user names them.

use serde::{Deserialize, Serialize};
use setpoint::goal::GoalText;

use crate::form::{canonical_name, number};
use crate::label::{LabelError, listed, same};

/// The class that takes in the small ones.
pub const OTHER_CLASSES: &str = "(other)";
/// Most classes of a label: more different values are numbers, or names.
const MOST: usize = 1000;

/// Whether a label is taken for one of several classes, and which of them count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassOptions {
    /// When it is.
    pub when: Several,
    /// These classes alone, in this order; rows of others are left out. Empty: all there are.
    pub keep: Vec<String>,
    /// Classes with fewer rows become one.
    pub least: Option<u64>,
}

/// When a label is of several classes, rather than positive or negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Several {
    /// Never.
    #[default]
    Never,
    /// Where it has more than two values.
    IfMore,
    /// Always.
    Always,
}

impl Several {
    /// When a label is of several classes, by what its goal may be about.
    #[must_use]
    pub fn for_goal(goal: &GoalText) -> Self {
        match (goal.two().is_some(), goal.may_be_of_classes()) {
            (true, true) => Self::IfMore,
            (false, true) => Self::Always,
            (_, false) => Self::Never,
        }
    }
}

/// Which class a text is; stored with the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassRule {
    /// The classes, in the order of their codes.
    pub names: Vec<String>,
    /// Those that became one, the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pooled: Vec<String>,
    /// Whether rows of other classes are left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub others_left_out: bool,
}

impl ClassOptions {
    /// The classes of a label column, given its texts with their counts; `None` where it is not taken for one
    /// of several.
    pub(crate) fn decide(
        &self,
        file: &str,
        column: &str,
        texts: &[(&str, u64)],
    ) -> Result<Option<ClassRule>, LabelError> {
        let mut classes: Vec<(&str, u64)> = Vec::new();
        for (text, rows) in texts {
            match classes.iter().position(|(class, _)| same(class, text)) {
                Some(place) => classes[place].1 += rows,
                None if classes.len() > MOST => break,
                None => classes.push((text, *rows)),
            }
        }
        match self.when {
            _ if !self.keep.is_empty() => {}
            Several::Never => return Ok(None),
            Several::IfMore if classes.len() <= 2 => return Ok(None),
            Several::IfMore | Several::Always => {}
        }
        let (file, column) = (file.to_owned(), column.to_owned());
        let values = || listed(texts);
        if classes.len() > MOST || classes.len() < 2 {
            let count = texts.len();
            return Err(LabelError::NotSeveral { file, column, count, most: MOST, values: values() });
        }
        if self.keep.is_empty() {
            let numbers = classes.iter().all(|(text, _)| number(text.as_bytes()).is_some());
            let key = |text: &str| if numbers { number(text.as_bytes()).unwrap_or_default() } else { 0.0 };
            classes.sort_by(|(a, _), (b, _)| key(a).total_cmp(&key(b)).then(a.cmp(b)));
        } else {
            let find = |name: &String| classes.iter().find(|(class, _)| same(class, name)).copied();
            classes = self
                .keep
                .iter()
                .map(|name| {
                    let unknown = || LabelError::NoClass {
                        file: file.clone(),
                        column: column.clone(),
                        class: name.clone(),
                        values: values(),
                    };
                    find(name).ok_or_else(unknown)
                })
                .collect::<Result<_, _>>()?;
            let twice = |at: usize| classes[..at].iter().any(|(other, _)| same(other, classes[at].0));
            if let Some(at) = (0..classes.len()).find(|at| twice(*at)) {
                return Err(LabelError::TwiceNamed { class: self.keep[at].clone() });
            }
        }
        let named = |classes: &[(&str, u64)]| classes.iter().map(|(text, _)| name(text)).collect();
        let (small, mut kept): (Vec<_>, Vec<_>) =
            classes.into_iter().partition(|(_, rows)| self.least.is_some_and(|least| *rows < least));
        let pooled = small.iter().map(|(_, rows)| rows).sum::<u64>();
        if let Some(least) = self.least.filter(|least| pooled < *least && !small.is_empty()) {
            let (classes, rows) = (listed(&small), pooled);
            return Err(LabelError::SmallPool { file, column, classes, rows, least });
        }
        if !small.is_empty() {
            kept.push((OTHER_CLASSES, pooled));
        }
        if kept.len() < 2 {
            let count = kept.len();
            return Err(LabelError::NotSeveral { file, column, count, most: MOST, values: listed(&kept) });
        }
        Ok(Some(ClassRule {
            names: named(&kept),
            pooled: named(&small),
            others_left_out: !self.keep.is_empty(),
        }))
    }
}

/// What a class is called.
fn name(text: &str) -> String {
    let name = canonical_name(text);
    match name.strip_suffix('.') {
        Some(bare) if !bare.is_empty() => bare.to_owned(),
        _ => name.to_owned(),
    }
}

impl ClassRule {
    /// The class of each text; `None` where its rows are left out.
    pub(crate) fn apply(
        &self,
        file: &str,
        column: &str,
        texts: &[&str],
    ) -> Result<Vec<Option<u32>>, LabelError> {
        let own = self.names.len() - usize::from(!self.pooled.is_empty());
        let class = |text: &&str| {
            let place = self.names[..own].iter().position(|name| same(name, text));
            let pooled = || self.pooled.iter().any(|name| same(name, text)).then_some(own);
            match place.or_else(pooled) {
                Some(place) => Ok(Some(place as u32)),
                None if self.others_left_out => Ok(None),
                None => Err(LabelError::StrangeClass {
                    file: file.to_owned(),
                    column: column.to_owned(),
                    class: (*text).to_owned(),
                    values: setpoint::message::list(&self.names),
                }),
            }
        };
        texts.iter().map(class).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(options: &ClassOptions, texts: &[(&str, u64)]) -> Result<Option<ClassRule>, String> {
        options.decide("t.csv", "y", texts).map_err(|error| error.to_string())
    }

    fn several(when: Several) -> ClassOptions {
        ClassOptions { when, ..ClassOptions::default() }
    }

    #[test]
    fn classes_are_in_order_and_spelled_in_one_way() {
        let rule = decide(&several(Several::IfMore), &[("10", 3), ("2.0", 1), ("1", 1), ("2", 4)]);
        assert_eq!(rule.unwrap().unwrap().names, ["1", "2", "10"]);
        let texts = [("normal.", 5), ("b c", 1), ("a.", 2)];
        let rule = decide(&several(Several::IfMore), &texts).unwrap().unwrap();
        assert_eq!(rule.names, ["a", "b c", "normal"]);
        assert_eq!(rule.apply("t", "y", &["normal", "a."]), Ok(vec![Some(2), Some(0)]));
        let error = rule.apply("t.csv", "y", &["smurf"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "t.csv: label column \"y\" has rows of class \"smurf\", which the model does not know: leave them out, or train \
             with them; its classes are a, b c, normal"
        );
        let json = serde_json::to_string(&rule).unwrap();
        assert_eq!(json, r#"{"names":["a","b c","normal"]}"#);
    }

    #[test]
    fn two_values_are_two_classes_only_where_that_is_asked_for() {
        let texts = [("no", 5), ("yes", 2)];
        assert_eq!(decide(&several(Several::IfMore), &texts), Ok(None));
        assert_eq!(decide(&several(Several::Never), &[("a", 1), ("b", 1), ("c", 1)]), Ok(None));
        assert_eq!(decide(&several(Several::Always), &texts).unwrap().unwrap().names, ["no", "yes"]);
        assert!(
            decide(&several(Several::Always), &texts[..1]).unwrap_err().contains("holds 1 different value")
        );
    }

    #[test]
    fn named_classes_are_kept_in_their_order_and_small_ones_pooled() {
        let texts = [("a", 50), ("b", 3), ("c", 4), ("d", 80)];
        let keep = |names: &[&str], least| ClassOptions {
            keep: names.iter().map(|name| (*name).to_owned()).collect(),
            least,
            ..ClassOptions::default()
        };
        let rule = decide(&keep(&["d", "a"], None), &texts).unwrap().unwrap();
        assert_eq!(rule.names, ["d", "a"]);
        assert_eq!(rule.apply("t", "y", &["a", "c"]), Ok(vec![Some(1), None]));
        let rule = decide(&keep(&[], Some(5)), &texts);
        assert_eq!(rule, Ok(None), "not asked for several classes");
        let options = ClassOptions { when: Several::IfMore, least: Some(5), ..ClassOptions::default() };
        let rule = decide(&options, &texts).unwrap().unwrap();
        assert_eq!(
            (&rule.names[..], &rule.pooled[..]),
            (&["a", "d", "(other)"].map(str::to_owned)[..], &["b", "c"].map(str::to_owned)[..])
        );
        assert_eq!(rule.apply("t", "y", &["c", "d"]), Ok(vec![Some(2), Some(1)]));
        let error = decide(&ClassOptions { least: Some(9), ..options }, &texts).unwrap_err();
        assert!(error.contains("have 7 rows together, fewer than ‹min-class 9›"), "{error}");
        let error = decide(&keep(&["a", "q"], None), &texts).unwrap_err();
        assert!(
            error.contains("has no class \"q\"; the classes are \"d\" (80 rows), \"a\" (50 rows)"),
            "{error}"
        );
        let error = decide(&keep(&["a"], None), &texts).unwrap_err();
        assert!(error.contains("holds 1 different value (\"a\" (50 rows)); expected two classes"), "{error}");
        assert!(decide(&keep(&["a", "b", "a"], None), &texts).unwrap_err().contains("\"a\" is named twice"));
    }
}
