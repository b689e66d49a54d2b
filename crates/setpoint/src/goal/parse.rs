//! The goal language: text to [`Goal`].
//!
//! ```text
//! goal       = rate [ "@" condition { "," condition } ]
//!            | ( "cost" | "profit" ) "(" amount { "," amount } ")" [ "@" condition { "," condition } ]
//!            | area [ "@" rate "in" number ".." number ]
//! area       = "roc-auc" | "pr-auc"
//! condition  = rate [ "(" column ")" ] relation number
//!            | ( "gap" | "ratio" ) "(" rate "," column ")" relation number
//!            | "k" "=" count [ "of" count ]
//!            | "top" "=" number
//! amount     = ( "tp" | "fp" | "fn" | "tn" ) "=" ( number | [ "-" ] column )
//! rate       = "recall" | "fpr" | ... | "f" number | "f-beta" "(" number ")"
//! relation   = "=" | "<=" | ">="              also "==", "≤", "≥"
//! column     = word | quoted
//! ```
//!
//! Case and spaces do not matter outside of column names; `_` may stand for `-`.
//! What the grammar allows must also make sense: see [`Goal::check`].

mod class;
mod cursor;
mod error;
mod money;
mod query;
mod token;

use std::ops::Range;
use std::str::FromStr;

pub use error::{ParseError, ParseErrorKind};
pub(super) use query::is_per_query;

use self::cursor::{Cursor, Parsed};
use self::error::Subject;
use self::token::Kind;
use super::check::{self, Clause, Fault};
use super::{Area, Constraint, Curve, Goal, Objective, Rate, Relation, Top, column, name};

/// Where rows are taken one by one.
const NOT_HERE: &str = "a goal per query needs rows that come in queries";

/// Names that begin a condition and are no rates.
const CONDITIONS: [&str; 4] = ["gap", "ratio", "top", "k"];

impl FromStr for Goal {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        whole(text)
    }
}

fn whole(text: &str) -> Result<Goal, ParseError> {
    let mut parser = Parser::new(text, Subject::Goal);
    let goal = parser.goal()?;
    check::goal(&goal).map_err(|fault| parser.place(fault))?;
    Ok(goal)
}

/// The goal of a text with words in the place of signs: `recall at fpr < 5%`.
fn meant(text: &str) -> Option<String> {
    let mut signs = String::new();
    for token in token::cut(text) {
        signs += match name::normalise(token.text).as_str() {
            "at" | "where" | "when" | "with" | "given" | "if" if !signs.contains('@') => "@",
            "and" | "&" => ",",
            "<" | "below" | "under" => "<=",
            ">" | "above" | "over" => ">=",
            _ => token.text,
        };
        signs.push(' ');
    }
    whole(&signs).ok().map(|goal| goal.to_string())
}

/// The rate of a name such as `fpr`, `tpr` or `f0.5`.
impl FromStr for Rate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser::new(text, Subject::Rate);
        let (rate, span) = parser.rate(&[])?;
        parser.text.expect(Kind::End, "nothing more")?;
        parser.places.objective = span;
        check::beta(rate, Clause::Objective).map_err(|fault| parser.place(fault))?;
        Ok(rate)
    }
}

/// Conditions without an objective, such as `fpr<=1%, recall(sex)>=0.9`; at least one.
///
/// ```
/// use setpoint::goal::parse_conditions;
///
/// let conditions = parse_conditions("fpr<=1%, recall(sex)>=0.9")?;
/// assert_eq!(conditions[1].to_string(), "recall(sex)>=0.9");
/// # Ok::<(), setpoint::goal::ParseError>(())
/// ```
///
/// # Errors
///
/// [`ParseError`] with the place in the text.
pub fn parse_conditions(text: &str) -> Result<Vec<Constraint>, ParseError> {
    let mut parser = Parser::new(text, Subject::Conditions);
    let constraints = parser.conditions()?;
    check::conditions(&constraints).map_err(|fault| parser.place(fault))?;
    Ok(constraints)
}

struct Parser<'a> {
    text: Cursor<'a>,
    places: Places,
}

/// Where the parts of the goal stand in the text.
#[derive(Default)]
struct Places {
    objective: Range<usize>,
    axis: Range<usize>,
    range: Range<usize>,
    conditions: Vec<ConditionPlaces>,
}

#[derive(Default)]
struct ConditionPlaces {
    whole: Range<usize>,
    rate: Range<usize>,
    column: Range<usize>,
    relation: Range<usize>,
    target: Range<usize>,
}

impl<'a> Parser<'a> {
    fn new(input: &'a str, subject: Subject) -> Self {
        Self { text: Cursor::new(input, subject), places: Places::default() }
    }

    fn goal(&mut self) -> Parsed<Goal> {
        let first = self.text.peek().clone();
        let name = name::normalise(first.text);
        if first.kind == Kind::Word && CONDITIONS.contains(&name.as_str()) {
            return Err(self.text.error(first.span, ParseErrorKind::NoObjective));
        }
        if let Some(curve) = name::curve(&name) {
            self.text.advance();
            self.places.objective = first.span;
            return self.area(curve);
        }
        let objective = match name.as_str() {
            "cost" | "profit" if first.kind == Kind::Word => Objective::Money(self.money(name == "profit")?),
            _ => Objective::Rate(self.rate(&["roc-auc", "pr-auc", "profit", "cost"])?.0),
        };
        self.places.objective = first.span.start..self.text.read_to();
        let constraints = match self.text.peek().kind {
            Kind::At => {
                self.text.advance();
                self.conditions()?
            }
            Kind::Relation(_) | Kind::Strict => {
                let span = self.places.objective.start..self.text.peek().span.end;
                return Err(self.text.error(span, ParseErrorKind::NoObjective));
            }
            Kind::Open => {
                let form = format!("{objective} of a class");
                return Err(self
                    .text
                    .error(self.text.peek().span.clone(), ParseErrorKind::SeveralClasses { form }));
            }
            _ => {
                self.not_per_query()?;
                self.text.expect(Kind::End, "\"@\" or the end")?;
                Vec::new()
            }
        };
        Ok(Goal { objective, constraints })
    }

    /// The range of an area, and the conditions beside it that no area takes.
    fn area(&mut self, curve: Curve) -> Parsed<Goal> {
        let mut area = Area::whole(curve);
        let mut constraints = Vec::new();
        if self.text.peek().kind == Kind::At {
            self.text.advance();
            let first = self.text.peek().clone();
            let needs_range = ParseErrorKind::AreaNeedsRange {
                curve,
                example: match curve {
                    Curve::Roc => "roc-auc @ fpr in 0..5%",
                    Curve::PrecisionRecall => "pr-auc @ recall in 0.95..1",
                },
            };
            if CONDITIONS.contains(&name::normalise(first.text).as_str()) {
                return Err(self.text.error(first.span, needs_range));
            }
            (area.axis, self.places.axis) = self.rate(&[])?;
            if matches!(self.text.peek().kind, Kind::Relation(_) | Kind::Strict | Kind::Open) {
                let span = first.span.start..self.text.peek().span.end;
                return Err(self.text.error(span, needs_range));
            }
            self.text.keyword("in", "\"in\" and a range")?;
            let (from, start) = self.text.number()?;
            self.text.expect(Kind::To, "\"..\"")?;
            let (to, end) = self.text.number()?;
            (area.from, area.to) = (from, to);
            self.places.range = start.start..end.end;
            if self.text.peek().kind == Kind::Comma {
                self.text.advance();
                constraints = self.conditions()?;
            }
        }
        self.not_per_query()?;
        let expected = if self.places.range.is_empty() { "\"@\" or the end" } else { "the end" };
        self.text.expect(Kind::End, expected)?;
        Ok(Goal { objective: Objective::Area(area), constraints })
    }

    /// Conditions separated by commas, up to the end.
    fn conditions(&mut self) -> Parsed<Vec<Constraint>> {
        let mut constraints = Vec::new();
        loop {
            constraints.push(self.condition()?);
            self.not_per_query()?;
            if self.text.peek().kind != Kind::Comma {
                self.text.expect(Kind::End, "\",\" or the end")?;
                return Ok(constraints);
            }
            self.text.advance();
        }
    }

    fn condition(&mut self) -> Parsed<Constraint> {
        let first = self.text.peek().clone();
        if first.kind != Kind::Word {
            return Err(self.text.unexpected("a condition such as fpr<=1%"));
        }
        let mut places = ConditionPlaces::default();
        let name = name::normalise(first.text);
        let constraint = match name.as_str() {
            "k" | "top" => {
                self.text.advance();
                Constraint::Top(self.top(name == "k", &mut places)?)
            }
            "gap" | "ratio" => {
                self.text.advance();
                self.compared(name == "gap", &mut places)?
            }
            _ => self.held_rate(&mut places)?,
        };
        places.whole = first.span.start..self.text.read_to();
        self.places.conditions.push(places);
        Ok(constraint)
    }

    /// `k=100`, `k=100 of 5000`, `top=5%`, behind the name.
    fn top(&mut self, counted: bool, places: &mut ConditionPlaces) -> Parsed<Top> {
        self.text.expect(Kind::Relation(Relation::Equal), "\"=\"")?;
        if !counted {
            let fraction;
            (fraction, places.target) = self.text.number()?;
            return Ok(Top::Fraction(fraction));
        }
        let (k, span) = self.text.count()?;
        places.target = span;
        let mut of = None;
        if self.text.peek_keyword("of") {
            self.text.advance();
            let (rows, span) = self.text.count()?;
            places.target.end = span.end;
            of = Some(rows);
        }
        Ok(Top::Count { k, of })
    }

    /// `(rate, column) relation number`, behind `gap` or `ratio`.
    fn compared(&mut self, gap: bool, places: &mut ConditionPlaces) -> Parsed<Constraint> {
        self.text.expect(Kind::Open, "\"(\", a rate and a column, as in gap(recall, sex)<=0.02")?;
        let rate;
        (rate, places.rate) = self.rate(&[])?;
        self.text.expect(Kind::Comma, "\",\" and a column")?;
        let column = self.column(places)?;
        let (relation, target) = self.relation_and_target(places)?;
        Ok(if gap {
            Constraint::Gap { rate, column, relation, target }
        } else {
            Constraint::Ratio { rate, column, relation, target }
        })
    }

    /// `rate relation number`, `rate(column) relation number`.
    fn held_rate(&mut self, places: &mut ConditionPlaces) -> Parsed<Constraint> {
        let start = self.text.peek().span.start;
        let rate;
        (rate, places.rate) = self.rate(&CONDITIONS)?;
        if self.text.peek_keyword("in") {
            let end = self.text.condition_end();
            return Err(self.text.error(start..end, ParseErrorKind::RangeWithoutArea));
        }
        if self.text.peek().kind != Kind::Open {
            let (relation, target) = self.relation_and_target(places)?;
            return Ok(Constraint::Rate { rate, relation, target });
        }
        if rate == Rate::Coverage {
            let form = "coverage of a class".to_owned();
            return Err(self.text.error(places.rate.clone(), ParseErrorKind::SeveralClasses { form }));
        }
        self.text.advance();
        let column = self.column(places)?;
        let (relation, target) = self.relation_and_target(places)?;
        Ok(Constraint::PerGroup { rate, column, relation, target })
    }

    /// A rate's name and its place. `more` names would be known here beside the rates.
    fn rate(&mut self, more: &[&'static str]) -> Parsed<(Rate, Range<usize>)> {
        let word = self.text.peek().clone();
        if word.kind != Kind::Word {
            return Err(self.text.unexpected("a rate such as recall"));
        }
        let name = name::normalise(word.text);
        if matches!(name.as_str(), "f-beta" | "fbeta") {
            return self.f_beta();
        }
        let Some(rate) = name::rate(&name) else {
            let kind = match (name.as_str(), name::curve(&name)) {
                (_, Some(curve)) => ParseErrorKind::AreaAsCondition { curve },
                ("ndcg" | "map", _) => ParseErrorKind::PerQuery { form: NOT_HERE.to_owned() },
                ("worst", _) => ParseErrorKind::SeveralClasses { form: name },
                ("cost" | "profit", _) => ParseErrorKind::MoneyAsCondition { form: name },
                _ if name.starts_with("macro-") => ParseErrorKind::SeveralClasses { form: name },
                _ => ParseErrorKind::UnknownRate {
                    suggestion: name::nearest(&name, more),
                    name: word.text.to_owned(),
                },
            };
            return Err(self.text.error(word.span, kind));
        };
        self.text.advance();
        Ok((rate, word.span))
    }

    /// `f-beta(0.5)`.
    fn f_beta(&mut self) -> Parsed<(Rate, Range<usize>)> {
        let name = self.text.advance().span;
        if self.text.peek().kind != Kind::Open {
            return Err(self.text.error(name, ParseErrorKind::NoBeta));
        }
        self.text.advance();
        if self.text.peek().kind != Kind::Number {
            return Err(self.text.error(name, ParseErrorKind::NoBeta));
        }
        let (beta, _) = self.text.number()?;
        let close = self.text.expect(Kind::Close, "\")\"")?.span;
        Ok((Rate::FBeta(beta), name.start..close.end))
    }

    /// A column's name and the parenthesis behind it.
    fn column(&mut self, places: &mut ConditionPlaces) -> Parsed<String> {
        let column = self.column_name(places)?;
        self.text.expect(Kind::Close, "\")\" (a name of several words goes in quotes)")?;
        Ok(column)
    }

    fn column_name(&mut self, places: &mut ConditionPlaces) -> Parsed<String> {
        let token = self.text.peek().clone();
        let column = match token.kind {
            Kind::Word => token.text.to_owned(),
            Kind::Quoted => column::unquote(token.text).map_err(|bad| {
                let start = token.span.start;
                self.text.error(start + bad.start..start + bad.end, ParseErrorKind::Escape)
            })?,
            _ => return Err(self.text.unexpected("a name (in quotes unless it is one word)")),
        };
        self.text.advance();
        places.column = token.span;
        Ok(column)
    }

    fn relation_and_target(&mut self, places: &mut ConditionPlaces) -> Parsed<(Relation, f64)> {
        let relation = self.relation(places)?;
        let target;
        (target, places.target) = self.text.number()?;
        Ok((relation, target))
    }

    fn relation(&mut self, places: &mut ConditionPlaces) -> Parsed<Relation> {
        let token = self.text.peek().clone();
        let relation = match token.kind {
            Kind::Relation(relation) => relation,
            Kind::Strict => {
                let found = if token.text == "<" { '<' } else { '>' };
                return Err(self.text.error(token.span, ParseErrorKind::Strict { found }));
            }
            _ => return Err(self.text.unexpected("<=, >= or =")),
        };
        self.text.advance();
        places.relation = token.span;
        Ok(relation)
    }

    fn not_per_query(&self) -> Parsed<()> {
        if !self.text.peek_keyword("per") {
            return Ok(());
        }
        let span = self.text.peek().span.start..self.text.peek_second().span.end;
        Err(self.text.error(span, ParseErrorKind::PerQuery { form: NOT_HERE.to_owned() }))
    }

    fn place(&self, fault: Fault) -> ParseError {
        let condition = |index: usize, pick: fn(&ConditionPlaces) -> &Range<usize>| {
            self.places.conditions.get(index).map_or(0..self.text.input.len(), |places| pick(places).clone())
        };
        let span = match fault.clause {
            Clause::Objective => self.places.objective.clone(),
            Clause::Axis => self.places.axis.clone(),
            Clause::Range => self.places.range.clone(),
            Clause::Condition(index) => condition(index, |places| &places.whole),
            Clause::Rate(index) => condition(index, |places| &places.rate),
            Clause::Column(index) => condition(index, |places| &places.column),
            Clause::Relation(index) => condition(index, |places| &places.relation),
            Clause::Target(index) => condition(index, |places| &places.target),
        };
        self.text.error(span, fault.error.into())
    }
}

#[cfg(test)]
mod tests;
