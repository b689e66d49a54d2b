//! Goals in money: `cost(fp=1, fn=20)`, `profit(tp=amount, fp=-5)`.

use super::cursor::Parsed;
use super::error::ParseErrorKind;
use super::token::Kind;
use super::{ConditionPlaces, Parser};
use crate::goal::{Amount, Money, Relation, name};

impl Parser<'_> {
    /// The amounts behind `cost` or `profit`. Costs of pairs of classes are in a file instead.
    pub(super) fn money(&mut self, profit: bool) -> Parsed<Money> {
        let word = self.text.advance();
        let expected = match profit {
            true => "\"(\" and amounts, as in profit(tp=100, fp=-5)",
            false => "\"(\" and amounts, as in cost(fp=1, fn=20)",
        };
        self.text.expect(Kind::Open, expected)?;
        let of_classes = matches!(self.text.peek().kind, Kind::Word | Kind::Quoted)
            && self.text.peek_second().kind == Kind::Close;
        if of_classes && !profit {
            let form = "cost of a file".to_owned();
            return Err(self.text.error(word.span, ParseErrorKind::SeveralClasses { form }));
        }
        let mut money = Money::none(profit);
        let mut given = Vec::new();
        loop {
            let token = self.text.peek().clone();
            let name = name::normalise(token.text);
            let Some(slot) = money.amount_mut(&name) else {
                return Err(self.text.unexpected("tp, fp, fn or tn"));
            };
            if given.contains(&name) {
                return Err(self.text.error(token.span, ParseErrorKind::TwoAmounts { name }));
            }
            self.text.advance();
            self.text.expect(Kind::Relation(Relation::Equal), "\"=\" and an amount")?;
            *slot = self.amount()?;
            given.push(name);
            if self.text.peek().kind != Kind::Comma {
                self.text.expect(Kind::Close, "\",\" or \")\"")?;
                return Ok(money);
            }
            self.text.advance();
        }
    }

    /// A number, or a column, perhaps with a minus.
    fn amount(&mut self) -> Parsed<Amount> {
        let token = self.text.peek().clone();
        if token.kind == Kind::Number {
            if token.text.ends_with('%') {
                return Err(self.text.error(token.span, ParseErrorKind::PercentOfAmount));
            }
            return Ok(Amount::Fixed(self.text.number()?.0));
        }
        let negated = token.kind == Kind::Other && token.text == "-";
        if negated {
            self.text.advance();
        }
        let name = self.column_name(&mut ConditionPlaces::default())?;
        Ok(Amount::Column { name, negated })
    }
}
