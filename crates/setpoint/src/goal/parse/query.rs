//! Goals per query.
//!
//! ```text
//! goal   = ( "precision" | "recall" | "ndcg" [ "(" "linear" ")" ] ) "@" top "per" "query"
//!        | "map" "per" "query"
//! top    = "k" "=" count | "top" "=" number
//! ```

use std::str::FromStr;

use super::{Kind, ParseError, ParseErrorKind, Parsed, Parser, Subject};
use crate::goal::check::{Clause, Fault};
use crate::goal::query::{Gain, QueryGoal, QueryMetric, QueryTop};
use crate::goal::{GoalError, Top, name};

impl FromStr for QueryGoal {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Parser::new(text, Subject::Goal).query_goal()
    }
}

/// Whether a text is meant as a goal per query, rightly or not.
pub(in crate::goal) fn is_per_query(text: &str) -> bool {
    let tokens = super::token::cut(text);
    let word = |token: &super::token::Token<'_>, word| {
        token.kind == Kind::Word && token.text.eq_ignore_ascii_case(word)
    };
    tokens.iter().any(|token| word(token, "per"))
        || matches!(name::normalise(tokens[0].text).as_str(), "ndcg" | "map")
}

impl Parser<'_> {
    fn query_goal(&mut self) -> Parsed<QueryGoal> {
        let metric = self.query_metric()?;
        let name = QueryGoal { metric, top: None }.objective();
        let at = self.text.peek().clone();
        let takes_top = metric != QueryMetric::AveragePrecision;
        let top = match (at.kind, takes_top) {
            (Kind::At, true) => {
                self.text.advance();
                Some(self.query_top(&name)?)
            }
            (Kind::At, false) => {
                let form = format!("{name} looks at all results of a query; write {name} per query");
                return Err(self.text.error(at.span, ParseErrorKind::PerQuery { form }));
            }
            (_, true) if at.kind == Kind::End || self.text.peek_keyword("per") => {
                let form =
                    format!("{name} is of the first results; say of how many, as in {name} @ k=10 per query");
                return Err(self.text.error(at.span, ParseErrorKind::PerQuery { form }));
            }
            (_, true) => return Err(self.text.unexpected("\"@\" and k=10 or top=5%")),
            (_, false) => None,
        };
        if self.text.peek().kind == Kind::Comma {
            let form =
                "k or top alone decides which results are shown; a goal per query takes no other condition";
            let span = self.text.peek().span.clone();
            return Err(self.text.error(span, ParseErrorKind::PerQuery { form: form.to_owned() }));
        }
        let only = matches!(metric, QueryMetric::Ndcg(_) | QueryMetric::AveragePrecision);
        if self.text.peek().kind == Kind::End && only {
            let goal = QueryGoal { metric, top };
            let form = format!("{name} is of the results of queries: write {goal}");
            return Err(self.text.error(self.text.peek().span.clone(), ParseErrorKind::PerQuery { form }));
        }
        self.text.keyword("per", "\"per query\"")?;
        self.text.keyword("query", "\"query\"")?;
        self.text.expect(Kind::End, "the end")?;
        Ok(QueryGoal { metric, top })
    }

    fn query_metric(&mut self) -> Parsed<QueryMetric> {
        let word = self.text.peek().clone();
        let metric = match name::normalise(word.text).as_str() {
            "precision" | "ppv" => QueryMetric::Precision,
            "recall" | "tpr" | "sensitivity" => QueryMetric::Recall,
            "map" | "average-precision" => QueryMetric::AveragePrecision,
            "ndcg" => {
                self.text.advance();
                return Ok(QueryMetric::Ndcg(self.gain()?));
            }
            other => {
                let form = match name::rate(other).is_some() || name::curve(other).is_some() {
                    true => {
                        format!("{other} has no form per query; precision, recall, ndcg and map have one")
                    }
                    false => "a goal per query begins with precision, recall, ndcg or map".to_owned(),
                };
                return Err(self.text.error(word.span, ParseErrorKind::PerQuery { form }));
            }
        };
        self.text.advance();
        Ok(metric)
    }

    fn gain(&mut self) -> Parsed<Gain> {
        if self.text.peek().kind != Kind::Open {
            return Ok(Gain::Exponential);
        }
        self.text.advance();
        self.text.keyword("linear", "\"linear\"; without parentheses gains are 2^y - 1")?;
        self.text.expect(Kind::Close, "\")\"")?;
        Ok(Gain::Linear)
    }

    fn query_top(&mut self, metric: &str) -> Parsed<QueryTop> {
        let first = self.text.peek().clone();
        let name = name::normalise(first.text);
        if !matches!(name.as_str(), "k" | "top") {
            let form =
                format!("a goal per query is of the first results of each: write {metric} @ k=10 per query");
            let span = first.span.start..self.text.condition_end();
            return Err(self.text.error(span, ParseErrorKind::PerQuery { form }));
        }
        self.text.advance();
        self.places.conditions.push(super::ConditionPlaces::default());
        let mut places = super::ConditionPlaces::default();
        let top = self.top(name == "k", &mut places)?;
        self.places.conditions[0] = places;
        let fault = |error| Fault { clause: Clause::Target(0), error };
        match top {
            Top::Count { k: 0, .. } => Err(self.place(fault(GoalError::NoneTaken))),
            Top::Count { k, of: None } => Ok(QueryTop::Count(k)),
            Top::Count { of: Some(_), .. } => {
                let form =
                    "k is of each query, whatever its size; write k=10, or top=5% for a share".to_owned();
                let span = self.places.conditions[0].target.clone();
                Err(self.text.error(span, ParseErrorKind::PerQuery { form }))
            }
            Top::Fraction(share) if share > 0.0 && share < 1.0 => Ok(QueryTop::Fraction(share)),
            Top::Fraction(target) => {
                let quantity = "top".to_owned();
                Err(self.place(fault(GoalError::Target { quantity, target, interval: "(0, 1)" })))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_per_query_read_and_print() {
        for (text, printed) in [
            ("precision @ k=10 per query", ""),
            ("recall @ k=3 per query", ""),
            ("recall @ top=5% per query", ""),
            ("ndcg @ k=10 per query", ""),
            ("ndcg(linear) @ k=1 per query", ""),
            ("map per query", ""),
            ("NDCG @ K = 10 Per Query", "ndcg @ k=10 per query"),
            ("tpr @ top=0.05 per query", "recall @ top=5% per query"),
            ("average-precision per query", "map per query"),
        ] {
            let goal: QueryGoal = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(goal.to_string(), if printed.is_empty() { text } else { printed });
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_at_its_place() {
        for (text, said, place) in [
            ("fpr<=1% per query", "fpr has no form per query", "fpr"),
            ("recall @ fpr<=1% per query", "write recall @ k=10 per query", "fpr<=1% per query"),
            ("precision per query", "say of how many, as in precision @ k=10 per query", "per"),
            ("ndcg", "say of how many", ""),
            ("ndcg @ k=10", "write ndcg @ k=10 per query", ""),
            ("map", "write map per query", ""),
            ("map @ k=10 per query", "map looks at all results", "@"),
            ("recall @ k=0 per query", "k=0 takes nothing", "0"),
            ("recall @ k=1.5 per query", "not a whole number", "1.5"),
            ("recall @ k=10 of 100 per query", "k is of each query", "10 of 100"),
            ("recall @ top=1.5 per query", "target top 1.5 is outside (0, 1)", "1.5"),
            ("recall @ k=10, fpr<=1% per query", "takes no other condition", ","),
            ("ndcg(log) @ k=10 per query", "expected \"linear\"", "log"),
            ("ndcg @ k=10 per page", "expected \"query\"", "page"),
            ("ndcg @ k=10 per query now", "expected the end", "now"),
            ("f1 @ k=10 per query", "f1 has no form per query; precision", "f1"),
            ("banana per query", "begins with precision, recall, ndcg or map", "banana"),
        ] {
            let error = text.parse::<QueryGoal>().unwrap_err();
            assert!(error.to_string().contains(said), "{text}: {error}");
            assert_eq!(&error.input[error.span.clone()], place, "{text}");
        }
    }
}
