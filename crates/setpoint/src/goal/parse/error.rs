//! Why a text is no goal, and where.

use std::ops::Range;

use thiserror::Error;

use crate::goal::{Curve, Goal, GoalError, caret};
use crate::message::{clip, list};

/// A text that is no goal, with the place that broke it.
///
/// Prints the message, then the text with carets under the place:
///
/// ```
/// # use setpoint::goal::Goal;
/// let error = "recall @ fpr<=1.5".parse::<Goal>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     r#"goal "recall @ fpr<=1.5": target fpr 1.5 is outside (0, 1); write 1.5% as 0.015 or 1.5%
///   recall @ fpr<=1.5
///                 ^^^"#
/// );
/// assert_eq!(&error.input[error.span.clone()], "1.5");
/// ```
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{} {}: {kind}{}\n{}", subject.name(), caret::quote(input), meant_text(self.meant()), caret::draw(input, span))]
#[non_exhaustive]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// The whole text.
    pub input: String,
    /// The bytes of the text that are wrong; empty at the end where something is missing.
    pub span: Range<usize>,
    /// What the text was meant to be.
    pub(super) subject: Subject,
}

/// What a text was meant to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Goal,
    Conditions,
    Rate,
}

impl Subject {
    fn name(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Conditions => "conditions",
            Self::Rate => "rate",
        }
    }
}

/// What is wrong with a text that is no goal.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Something else belongs here.
    #[error("expected {expected}, found {}", found_text(found))]
    Expected {
        /// What belongs here.
        expected: &'static str,
        /// What stands here; empty at the end of the text.
        found: String,
    },
    /// A name that no rate has.
    #[error("unknown rate {}{}", caret::quote(name), suggest(*suggestion))]
    UnknownRate {
        /// The name.
        name: String,
        /// A known name that is close to it.
        suggestion: Option<&'static str>,
    },
    /// `<` or `>`, which a sample cannot tell from `<=` and `>=`.
    #[error("\"{found}\" is not a relation of goals; write \"{found}=\", which includes the target itself")]
    Strict {
        /// The sign.
        found: char,
    },
    /// A condition where the objective belongs.
    #[error("a goal begins with what to improve, as in \"recall @ fpr<=1%\"; this is a condition")]
    NoObjective,
    /// An area where a condition belongs.
    #[error("{curve} can be improved but not held; make it the objective, as in \"{curve}\"")]
    AreaAsCondition {
        /// The curve.
        curve: Curve,
    },
    /// Money where a condition belongs.
    #[error("{form} can be improved but not held; make it the objective, as in \"{form}(tp=100, fp=-5)\"")]
    MoneyAsCondition {
        /// `cost` or `profit`.
        form: String,
    },
    /// Two amounts for one kind of decision.
    #[error("{name} has an amount already")]
    TwoAmounts {
        /// The kind.
        name: String,
    },
    /// A percentage where an amount belongs.
    #[error("an amount is a number or a column, and no percentage")]
    PercentOfAmount,
    /// A condition where the range of an area belongs.
    #[error("{curve} takes a range, not a condition; write \"{example}\"")]
    AreaNeedsRange {
        /// The curve.
        curve: Curve,
        /// A goal that would do.
        example: &'static str,
    },
    /// A range without an area.
    #[error("a range goes with an area, as in \"roc-auc @ fpr in 0..5%\"; elsewhere write <=, >= or =")]
    RangeWithoutArea,
    /// `f-beta` without its beta.
    #[error("f-beta needs its beta: write f1, f2, f0.5 or f-beta(3)")]
    NoBeta,
    /// A percentage above 100%.
    #[error("{} is more than 100%", clip(text))]
    OverHundredPercent {
        /// As written.
        text: String,
    },
    /// A `k` or number of rows that is no whole number.
    #[error("{} is not a whole number of examples; for a share of them write top=5%", caret::quote(text))]
    NotACount {
        /// As written.
        text: String,
    },
    /// A quote without its end.
    #[error("the quote that begins here has no end")]
    UnclosedQuote,
    /// A backslash before something that it does not go with.
    #[error("unknown escape; known are \\\" \\' \\\\ \\n \\r \\t and \\u{{e9}}")]
    Escape,
    /// A goal per query that makes no sense, or where rows come in none.
    #[error("{form}")]
    PerQuery {
        /// What is wrong, and what to write.
        form: String,
    },
    /// A form that a label of two classes has no use for.
    #[error("{form} is for labels of several classes")]
    SeveralClasses {
        /// The form.
        form: String,
    },
    /// A form that a label of several classes has no use for.
    #[error("{form} is for labels of two classes")]
    OfTwoClasses {
        /// The form.
        form: String,
    },
    /// A rate with or without the class that it is of.
    #[error("{form}")]
    OfClasses {
        /// What is wrong, and what to write.
        form: String,
    },
    /// A class that the label does not have.
    #[error("unknown class {}; the classes are {}", caret::quote(name), list(classes))]
    UnknownClass {
        /// The name.
        name: String,
        /// Those there are.
        classes: Vec<String>,
    },
    /// A goal that reads well and makes no sense.
    #[error(transparent)]
    Goal(#[from] GoalError),
}

impl ParseError {
    /// The goal that was probably meant, of what was typed.
    #[must_use]
    pub fn meant(&self) -> Option<String> {
        // A goal of two classes that is wrong for several was meant as it is.
        let as_it_is = || self.input.parse::<Goal>().is_ok();
        super::meant(&self.input).filter(|_| self.subject == Subject::Goal && !as_it_is())
    }
}

fn meant_text(meant: Option<String>) -> String {
    meant.map_or_else(String::new, |goal| format!("; did you mean {}?", caret::quote(&goal)))
}

fn found_text(found: &str) -> String {
    if found.is_empty() { "the end".to_owned() } else { caret::quote(found) }
}

fn suggest(suggestion: Option<&str>) -> String {
    match suggestion {
        Some(name) => format!("; did you mean {name}?"),
        None => {
            "; known are recall, fnr, fpr, tnr, precision, fdr, npv, for, accuracy, error, balanced-accuracy, f1, positive-rate"
                .to_owned()
        }
    }
}
