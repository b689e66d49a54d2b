//! Goals of several classes: the same words, with classes where goals of two have columns.
//!
//! ```text
//! goal       = objective [ "@" condition { "," condition } ]
//! objective  = rate [ "(" class ")" ] | "macro-" rate | "worst" "(" rate ")" | "cost" "(" file ")"
//! condition  = rate "(" ( class | "each" ) ")" relation ( number | "prior" )
//! ```
//!
//! A name in parentheses is a class where the label has more than two, and a group column where it has two
//! ([`Goal`](crate::goal::Goal)): so a text is read as a goal once the label is known.

use std::ops::Range;

use super::{CONDITIONS, ConditionPlaces, Kind, ParseError, ParseErrorKind, Parsed, Parser, Subject};
use crate::goal::class::{ClassCondition, ClassGoal, ClassObjective, ClassRate, Over, Target};
use crate::goal::{Rate, column, name};

impl ClassGoal {
    /// Reads a goal for a label with these classes.
    ///
    /// ```
    /// use setpoint::goal::ClassGoal;
    ///
    /// let classes = ["bag", "coat", "shirt"].map(str::to_owned);
    /// let goal = ClassGoal::parse("recall(shirt) @ precision(shirt)>=0.9", &classes)?;
    /// assert_eq!(goal.to_string(), "recall(shirt) @ precision(shirt)>=0.9");
    /// # Ok::<(), setpoint::goal::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// [`ParseError`] with the place in the text.
    pub fn parse(text: &str, classes: &[String]) -> Result<Self, ParseError> {
        Self::read(text, &mut Known::These(classes))
    }

    /// Reads a goal for a label that has whatever classes it names.
    ///
    /// # Errors
    /// [`ParseError`] with the place in the text.
    pub(in crate::goal) fn of_any_classes(text: &str) -> Result<Self, ParseError> {
        Self::read(text, &mut Known::Any(Vec::new()))
    }

    fn read(text: &str, classes: &mut Known<'_>) -> Result<Self, ParseError> {
        let mut parser = Parser::new(text, Subject::Goal);
        let goal = parser.class_goal(classes)?;
        goal.check_parts().map_err(|fault| parser.place(fault))?;
        Ok(goal)
    }
}

/// The classes that a goal may name.
enum Known<'a> {
    These(&'a [String]),
    /// Any; those it has named so far.
    Any(Vec<String>),
}

impl Known<'_> {
    fn names(&self) -> &[String] {
        match self {
            Self::These(names) => names,
            Self::Any(names) => names,
        }
    }

    fn position(&mut self, name: &str) -> Option<usize> {
        if let Self::Any(names) = self
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
        self.names().iter().position(|known| known == name)
    }
}

impl Parser<'_> {
    fn class_goal(&mut self, classes: &mut Known<'_>) -> Parsed<ClassGoal> {
        let start = self.text.peek().span.start;
        let objective = self.class_objective(classes)?;
        self.places.objective = start..self.text.read_to();
        let mut conditions = Vec::new();
        if self.text.peek().kind == Kind::At {
            while conditions.is_empty() || self.text.peek().kind == Kind::Comma {
                self.text.advance();
                conditions.push(self.class_condition(classes)?);
            }
            self.text.expect(Kind::End, "\",\" or the end")?;
        }
        self.text.expect(Kind::End, "\"@\" or the end")?;
        Ok(ClassGoal { classes: classes.names().to_vec(), objective, conditions })
    }

    fn class_objective(&mut self, classes: &mut Known<'_>) -> Parsed<ClassObjective> {
        let word = self.text.peek().clone();
        let name = name::normalise(word.text);
        match name.as_str() {
            "cost" => {
                self.text.advance();
                self.text.expect(Kind::Open, "\"(\" and a file of costs, as in cost(table.csv)")?;
                let file = self.column(&mut ConditionPlaces::default())?;
                Ok(ClassObjective::Cost { file, table: Vec::new() })
            }
            "worst" => {
                self.text.advance();
                self.text.expect(Kind::Open, "\"(\" and a rate, as in worst(recall)")?;
                let (rate, span) = self.rate(&[])?;
                self.refuse_whole(rate, span)?;
                self.text.expect(Kind::Close, "\")\"")?;
                Ok(ClassObjective::Rate(ClassRate { rate, over: Over::Worst }))
            }
            _ => {
                let rate = self.class_rate(classes, &mut ConditionPlaces::default())?;
                if rate.over == Over::Each {
                    let form = "each is for conditions; improve worst(recall), balanced-accuracy or macro-f1";
                    return Err(self.text.error(word.span, ParseErrorKind::OfClasses { form: form.into() }));
                }
                Ok(ClassObjective::Rate(rate))
            }
        }
    }

    fn class_condition(&mut self, classes: &mut Known<'_>) -> Parsed<ClassCondition> {
        let first = self.text.peek().clone();
        let name = name::normalise(first.text);
        if first.kind == Kind::Word && CONDITIONS.contains(&name.as_str()) {
            return Err(self.text.error(first.span, ParseErrorKind::OfTwoClasses { form: name }));
        }
        let mut places = ConditionPlaces::default();
        let rate = self.class_rate(classes, &mut places)?;
        if matches!(rate.over, Over::All | Over::Mean) {
            let form = format!(
                "{name} can be improved but not held; hold rates of classes, as in recall(each)>=0.7"
            );
            return Err(self.text.error(first.span, ParseErrorKind::OfClasses { form }));
        }
        let relation = self.relation(&mut places)?;
        let target = if self.text.peek_keyword("prior") && rate.rate == Rate::PositiveRate {
            places.target = self.text.advance().span;
            Target::Prior
        } else {
            let (value, span) = self.text.number()?;
            places.target = span;
            Target::Value(value)
        };
        places.whole = first.span.start..self.text.read_to();
        self.places.conditions.push(places);
        Ok(ClassCondition { rate, relation, target })
    }

    /// A rate with the class that it is of, if it is of one.
    fn class_rate(&mut self, classes: &mut Known<'_>, places: &mut ConditionPlaces) -> Parsed<ClassRate> {
        let word = self.text.peek().clone();
        let name = name::normalise(word.text);
        places.rate = word.span.clone();
        if let Some(rate) = name.strip_prefix("macro-").and_then(name::rate) {
            self.text.advance();
            self.refuse_whole(rate, word.span)?;
            return Ok(ClassRate { rate, over: Over::Mean });
        }
        let rate = if name == "coverage" {
            self.text.advance();
            Rate::PositiveRate
        } else if name::curve(&name).is_some() {
            return Err(self.text.error(word.span, ParseErrorKind::OfTwoClasses { form: name }));
        } else {
            self.rate(&["coverage", "macro-f1", "worst", "cost"])?.0
        };
        if self.text.peek().kind == Kind::Open {
            self.refuse_whole(rate, word.span)?;
            self.text.advance();
            let over = self.class(classes, places)?;
            return Ok(ClassRate { rate, over });
        }
        match rate {
            Rate::Accuracy | Rate::Error => Ok(ClassRate { rate, over: Over::All }),
            Rate::BalancedAccuracy => Ok(ClassRate { rate: Rate::Recall, over: Over::Mean }),
            _ => {
                let example =
                    classes.names().first().map_or_else(|| "each".to_owned(), |class| column::quote(class));
                let form = format!("{name} is of one class here: write {name}({example})");
                Err(self.text.error(word.span, ParseErrorKind::OfClasses { form }))
            }
        }
    }

    /// Accuracy and its like are of all classes at once.
    fn refuse_whole(&self, rate: Rate, span: Range<usize>) -> Parsed<()> {
        if !matches!(rate, Rate::Accuracy | Rate::Error | Rate::BalancedAccuracy | Rate::Coverage) {
            return Ok(());
        }
        let form =
            format!("{rate} is of all classes at once and takes none; recall and precision are of one");
        Err(self.text.error(span, ParseErrorKind::OfClasses { form }))
    }

    /// A class by its name, or `each`, and the parenthesis behind it.
    fn class(&mut self, classes: &mut Known<'_>, places: &mut ConditionPlaces) -> Parsed<Over> {
        let token = self.text.peek().clone();
        let name = match token.kind {
            Kind::Number => {
                self.text.advance();
                self.text.expect(Kind::Close, "\")\" (a class of several words goes in quotes)")?;
                token.text.to_owned()
            }
            _ => self.column(places)?,
        };
        places.column = token.span.clone();
        if token.kind == Kind::Word && token.text == "each" {
            return Ok(Over::Each);
        }
        if let Some(class) = classes.position(&name) {
            return Ok(Over::Class(class));
        }
        let kind = ParseErrorKind::UnknownClass { name, classes: classes.names().to_vec() };
        Err(self.text.error(token.span, kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::Goal;

    fn classes() -> Vec<String> {
        ["normal", "r2l", "u2r", "T shirt", "each", "4"].map(str::to_owned).to_vec()
    }

    #[test]
    fn goals_of_classes_print_as_they_are_written() {
        for text in [
            "accuracy @ coverage(each)=prior",
            "accuracy @ coverage(r2l)<=5%",
            "balanced-accuracy",
            "macro-f1",
            "macro-precision",
            "worst(recall)",
            "accuracy @ recall(r2l)>=0.9, recall(u2r)>=0.8",
            "recall(\"T shirt\") @ precision(\"T shirt\")>=0.9",
            "accuracy @ recall(each)>=0.7",
            "f1(4)",
            "error @ recall(\"each\")>=0.7",
            "cost(table.csv)",
            "cost(\"my costs/a.csv\") @ fpr(r2l)<=1%",
            "macro-f1 @ coverage(r2l)>=5%, coverage(r2l)<=10%",
            "macro-f2 @ fdr(each)<=10%",
        ] {
            let goal = ClassGoal::parse(text, &classes()).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(goal.to_string(), text);
        }
        let goal = ClassGoal::parse("Recall( 'u2r' ) @ positive_rate(u2r) ≤ 0.05", &classes()).unwrap();
        assert_eq!(goal.to_string(), "recall(u2r) @ coverage(u2r)<=5%");
    }

    #[test]
    fn what_makes_no_sense_is_pointed_at() {
        for (text, place, message) in [
            (
                "accuracy @ recall(u2l)>=0.9",
                "u2l",
                "unknown class \"u2l\"; the classes are normal, r2l, u2r, T shirt, each, 4",
            ),
            ("recall", "recall", "recall is of one class here: write recall(normal)"),
            (
                "recall(r2l)",
                "recall(r2l)",
                "recall(r2l) alone is best at an extreme threshold, which is of no use; add a condition, as in \"recall(r2l) @ precision(r2l)>=0.9\"",
            ),
            (
                "accuracy @ recall(r2l)<=0.9",
                "<=",
                "recall(r2l) is better high: write recall(r2l)>=0.9 or recall(r2l)=0.9",
            ),
            (
                "accuracy @ recall(r2l)>=2",
                "2",
                "target recall(r2l) 2 is outside (0, 1); write 2% as 0.02 or 2%",
            ),
            (
                "accuracy @ recall(r2l)>=0.5, recall(each)>=0.7",
                "recall(each)>=0.7",
                "recall(each)>=0.7 and recall(r2l)>=0.5 hold the same thing; keep one",
            ),
            (
                "recall(r2l) @ recall(r2l)>=0.7",
                "recall(r2l)>=0.7",
                "recall(r2l)>=0.7 already settles recall(r2l), so nothing is left to improve; condition on another rate, or improve one",
            ),
            ("accuracy @ gap(recall, sex)<=0.1", "gap", "gap is for labels of two classes"),
            ("roc-auc", "roc-auc", "roc-auc is for labels of two classes"),
            (
                "accuracy(r2l)",
                "accuracy",
                "accuracy is of all classes at once and takes none; recall and precision are of one",
            ),
            (
                "recall(each)",
                "recall",
                "each is for conditions; improve worst(recall), balanced-accuracy or macro-f1",
            ),
            (
                "accuracy @ recall(r2l)=prior",
                "prior",
                "expected a number such as 0.05 or 5%, found \"prior\"",
            ),
            (
                "macro-f1 @ macro-f2>=0.7",
                "macro-f2",
                "macro-f2 can be improved but not held; hold rates of classes, as in recall(each)>=0.7",
            ),
            ("acuracy", "acuracy", "unknown rate \"acuracy\"; did you mean accuracy?"),
            ("worst(recall", "", "expected \")\", found the end"),
        ] {
            let error = ClassGoal::parse(text, &classes()).unwrap_err();
            assert_ne!(error.meant().as_deref(), Some(text), "what was typed was not meant");
            assert_eq!(
                (error.kind.to_string().as_str(), &text[error.span.clone()]),
                (message, place),
                "{text}"
            );
        }
    }

    #[test]
    fn two_classes_refuse_what_only_several_have() {
        for text in [
            "recall(shirt) @ precision>=0.9",
            "macro-f1",
            "worst(recall)",
            "cost(a.csv)",
            "f1 @ coverage(a)<=5%",
        ] {
            let error = text.parse::<Goal>().unwrap_err();
            assert!(matches!(error.kind, ParseErrorKind::SeveralClasses { .. }), "{text}: {error}");
        }
        assert_eq!("accuracy @ recall(each)>=0.7".parse::<Goal>().unwrap().column(), Some("each"));
    }

    #[test]
    fn costs_are_one_for_each_pair_of_classes() {
        let goal = ClassGoal::parse("cost(a.csv)", &classes()[..2]).unwrap();
        assert!(goal.clone().with_costs(vec![0.0, 1.0, 5.0, 0.0]).is_ok());
        let error = goal.with_costs(vec![0.0, 1.0]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the costs of 2 classes are 4 finite numbers, one for each pair of true and decided class"
        );
        let other = ClassGoal::parse("accuracy", &classes()[..2]).unwrap();
        assert!(other.with_costs(vec![0.0; 4]).is_err());
    }
}
