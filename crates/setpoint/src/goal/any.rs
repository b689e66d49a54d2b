//! Goals of any kind of decision, and texts that are read as goals once the label is known.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use super::parse::is_per_query;
use super::{ClassGoal, Direction, Goal, ParseError, ParseErrorKind, QueryGoal};

/// A goal of some kind of decision.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyGoal {
    /// One score against thresholds.
    Two(Goal),
    /// A score for each class, the largest of score minus shift.
    Classes(ClassGoal),
    /// One score, by which the rows of each query are put in order.
    Queries(QueryGoal),
}

impl AnyGoal {
    /// Which way its objective gets better.
    #[must_use]
    pub fn direction(&self) -> Direction {
        match self {
            Self::Two(goal) => goal.objective.direction(),
            Self::Classes(goal) => goal.objective.direction(),
            Self::Queries(_) => Direction::Up,
        }
    }

    /// Scores that a row has for it: one, or one for each class.
    #[must_use]
    pub fn outputs(&self) -> usize {
        match self {
            Self::Two(_) | Self::Queries(_) => 1,
            Self::Classes(goal) => goal.classes.len(),
        }
    }
}

impl From<Goal> for AnyGoal {
    fn from(goal: Goal) -> Self {
        Self::Two(goal)
    }
}

impl From<ClassGoal> for AnyGoal {
    fn from(goal: ClassGoal) -> Self {
        Self::Classes(goal)
    }
}

impl From<QueryGoal> for AnyGoal {
    fn from(goal: QueryGoal) -> Self {
        Self::Queries(goal)
    }
}

impl Display for AnyGoal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Two(goal) => goal.fmt(f),
            Self::Classes(goal) => goal.fmt(f),
            Self::Queries(goal) => goal.fmt(f),
        }
    }
}

/// A text that is a goal of two classes, of several, of either, or of queries.
///
/// A name in parentheses is a class where the label has more than two, and a group column where it has two: so
/// a text is read as a goal once the label is known.
///
/// ```
/// use setpoint::goal::GoalText;
///
/// let text: GoalText = "accuracy @ recall(sex)>=0.9".parse()?;
/// assert_eq!(text.column(), Some("sex"));
/// assert!("accuracy @ recall(sex)>=0.9".parse::<GoalText>()?.of(Some(&["a".to_owned(), "b".to_owned()])).is_err());
/// # Ok::<(), setpoint::goal::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GoalText {
    text: String,
    two: Result<Goal, ParseError>,
    /// Whether it is a goal of several classes too, if those it names are there.
    of_classes: bool,
    queries: Option<QueryGoal>,
}

impl FromStr for GoalText {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let two = text.parse::<Goal>();
        if is_per_query(text) {
            let queries = Some(text.parse()?);
            return Ok(Self { text: text.to_owned(), two, of_classes: false, queries });
        }
        let of_classes = ClassGoal::of_any_classes(text);
        if let (Err(error), Err(of_classes)) = (&two, &of_classes) {
            let several = match error.kind {
                ParseErrorKind::SeveralClasses { .. } => true,
                // A name that only a class can have, such as a number: what is wrong comes later, or is the sense.
                ParseErrorKind::Expected { .. } => {
                    let sense = matches!(of_classes.kind, ParseErrorKind::Goal(_));
                    sense || of_classes.span.start > error.span.start
                }
                _ => false,
            };
            return Err(if several { of_classes } else { error }.clone());
        }
        Ok(Self { text: text.to_owned(), two, of_classes: of_classes.is_ok(), queries: None })
    }
}

impl From<Goal> for GoalText {
    fn from(goal: Goal) -> Self {
        let text = goal.to_string();
        Self { of_classes: ClassGoal::of_any_classes(&text).is_ok(), text, two: Ok(goal), queries: None }
    }
}

impl GoalText {
    /// The goal of two classes, if it is one.
    #[must_use]
    pub fn two(&self) -> Option<&Goal> {
        self.two.as_ref().ok()
    }

    /// The goal per query, if it is one; it is then of no other kind.
    #[must_use]
    pub fn queries(&self) -> Option<&QueryGoal> {
        self.queries.as_ref()
    }

    /// Whether it is a goal of several classes, if the label has those it names.
    #[must_use]
    pub fn may_be_of_classes(&self) -> bool {
        self.of_classes
    }

    /// The group column that it names as a goal of two classes.
    #[must_use]
    pub fn column(&self) -> Option<&str> {
        self.two()?.column()
    }

    /// Whether it has conditions where it ships, which a certificate would speak of.
    #[must_use]
    pub fn has_conditions(&self) -> bool {
        match &self.two {
            _ if self.queries.is_some() => false,
            Ok(goal) => !goal.operating().constraints.is_empty(),
            Err(_) => self.text.contains('@'),
        }
    }

    /// The goal for a label with these classes, or with a positive and a negative value; a goal per query is one for
    /// any label.
    ///
    /// # Errors
    /// If it is no goal of that kind.
    pub fn of(&self, classes: Option<&[String]>) -> Result<AnyGoal, ParseError> {
        if let Some(goal) = self.queries {
            return Ok(AnyGoal::Queries(goal));
        }
        let Some(classes) = classes else { return self.two.clone().map(AnyGoal::Two) };
        match (ClassGoal::parse(&self.text, classes), &self.two) {
            (Ok(goal), _) => Ok(AnyGoal::Classes(goal)),
            // What is no goal of two classes either says so first.
            (Err(_), Err(error)) if !matches!(error.kind, ParseErrorKind::SeveralClasses { .. }) => {
                Err(error.clone())
            }
            (Err(error), _) => Err(error),
        }
    }
}

impl Display for GoalText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (&self.queries, &self.two) {
            (Some(goal), _) => goal.fmt(f),
            (None, Ok(goal)) => goal.fmt(f),
            (None, Err(_)) => f.write_str(&self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_says_what_a_text_means() {
        let classes = ["a", "b", "c"].map(str::to_owned);
        for (text, two, several) in [
            ("recall @ fpr<=1%", true, false),
            ("accuracy", true, true),
            ("accuracy @ recall(a)>=0.9", true, true),
            ("macro-f1", false, true),
            ("recall(a) @ precision(a)>=0.9", false, true),
            ("accuracy @ recall(sex)>=0.9", true, false),
        ] {
            let goal: GoalText = text.parse().unwrap();
            assert_eq!((goal.of(None).is_ok(), goal.of(Some(&classes)).is_ok()), (two, several), "{text}");
            assert_eq!(goal.to_string(), text);
            assert_eq!(goal.has_conditions(), text.contains('@'));
        }
    }

    #[test]
    fn a_text_that_is_no_goal_of_either_kind_is_refused_at_once() {
        for (text, said) in [
            ("recal @ fpr<=1%", "unknown rate \"recal\""),
            ("recall @ fpr<=1.5", "target fpr 1.5 is outside"),
            ("macro-f1 @ recal(a)>=0.9", "unknown rate \"recal\""),
            ("worst(recall", "expected \")\""),
            ("accuracy @ recall(3)>=1.5", "target recall(3) 1.5 is outside"),
            ("accuracy @ recall(3)<=0.5", "recall(3) is better high"),
            ("accuracy @ recall(3)>0.5", "write \">=\""),
            ("accuracy @ gap(recall, 3)<=0.1", "expected a name"),
            (
                "accuracy @ recall((other))>=0.5",
                "expected a name (in quotes unless it is one word), found \"(\"",
            ),
            ("ndcg @ k=10", "write ndcg @ k=10 per query"),
            ("recall @ fpr<=1% per query", "write recall @ k=10 per query"),
        ] {
            let error = text.parse::<GoalText>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
