//! Goals in money: what each kind of decision pays or costs, as a constant or from a column.
//!
//! ```text
//! profit(tp=100, fp=-5)       profit(tp=amount, fp=-5)       cost(fp=30, fn=balance)
//! ```
//!
//! Amounts are values and not weights: a rate beside them counts rows. A row pays one amount if it is decided
//! positive and another if it is decided negative, whatever its label says these are.

use std::fmt::{self, Display, Formatter};

use super::{Direction, Rate, column, number};

/// What decisions pay (`profit`) or cost (`cost`).
#[derive(Clone, Debug, PartialEq)]
pub struct Money {
    /// Whether more is better.
    pub profit: bool,
    /// Of a positive that is found.
    pub true_positive: Amount,
    /// Of a negative that is taken for a positive.
    pub false_positive: Amount,
    /// Of a positive that is missed.
    pub false_negative: Amount,
    /// Of a negative that is left alone.
    pub true_negative: Amount,
}

/// What one decision pays, in the user's units.
#[derive(Clone, Debug, PartialEq)]
pub enum Amount {
    /// The same for every row.
    Fixed(f64),
    /// What a column of the data says of the row.
    Column {
        /// The column.
        name: String,
        /// Whether it is what the column says with the other sign.
        negated: bool,
    },
}

impl Default for Amount {
    fn default() -> Self {
        Self::Fixed(0.0)
    }
}

impl Money {
    /// Nothing is paid for any decision.
    #[must_use]
    pub fn none(profit: bool) -> Self {
        let [true_positive, false_positive, false_negative, true_negative] = Default::default();
        Self { profit, true_positive, false_positive, false_negative, true_negative }
    }

    /// The mean amount of a row, as a rate of counts.
    #[must_use]
    pub fn rate(&self) -> Rate {
        if self.profit { Rate::Profit } else { Rate::Cost }
    }

    /// Which way it gets better.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.rate().direction()
    }

    /// The amounts by the names that goals have for them.
    #[must_use]
    pub fn amounts(&self) -> [(&'static str, &Amount); 4] {
        [
            ("tp", &self.true_positive),
            ("fp", &self.false_positive),
            ("fn", &self.false_negative),
            ("tn", &self.true_negative),
        ]
    }

    pub(super) fn amount_mut(&mut self, name: &str) -> Option<&mut Amount> {
        Some(match name {
            "tp" => &mut self.true_positive,
            "fp" => &mut self.false_positive,
            "fn" => &mut self.false_negative,
            "tn" => &mut self.true_negative,
            _ => return None,
        })
    }

    /// The columns that amounts come from, each once.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        let mut columns = Vec::new();
        for (_, amount) in self.amounts() {
            if let Amount::Column { name, .. } = amount
                && !columns.contains(&name.as_str())
            {
                columns.push(name.as_str());
            }
        }
        columns
    }

    /// What each row pays if it is decided negative, and if it is decided positive; `columns` are the values of
    /// [`columns`](Self::columns), in their order.
    ///
    /// # Panics
    /// If there is not a value for every label in as many columns.
    #[must_use]
    pub fn pays(&self, labels: &[bool], columns: &[Vec<f64>]) -> Vec<[f64; 2]> {
        let names = self.columns();
        let of = |amount: &Amount, row: usize| match amount {
            Amount::Fixed(amount) => *amount,
            Amount::Column { name, negated } => {
                let place = names.iter().position(|known| known == name).unwrap_or_default();
                if *negated { -columns[place][row] } else { columns[place][row] }
            }
        };
        let pays = |(row, label): (usize, &bool)| match label {
            true => [of(&self.false_negative, row), of(&self.true_positive, row)],
            false => [of(&self.true_negative, row), of(&self.false_positive, row)],
        };
        labels.iter().enumerate().map(pays).collect()
    }

    /// Whether a row of each class is sure to be decided alike by a threshold at an extreme: no amount speaks for
    /// one of the two decisions.
    pub(super) fn extreme(&self) -> bool {
        let same = |a: &Amount, b: &Amount| a == b;
        let sign = if self.profit { 1.0 } else { -1.0 };
        // What a positive decision is worth more than a negative one, where that is the same for all rows.
        let worth = |positive: &Amount, negative: &Amount| match (positive, negative) {
            (Amount::Fixed(a), Amount::Fixed(b)) => Some(sign * (a - b)),
            _ => same(positive, negative).then_some(0.0),
        };
        worth(&self.true_positive, &self.false_negative).is_some_and(|worth| worth <= 0.0)
            || worth(&self.false_positive, &self.true_negative).is_some_and(|worth| worth >= 0.0)
    }
}

impl Display for Money {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let named = self.amounts().into_iter().filter(|(_, amount)| **amount != Amount::default());
        let named: Vec<String> = named.map(|(name, amount)| format!("{name}={amount}")).collect();
        write!(f, "{}({})", self.rate(), named.join(", "))
    }
}

impl Display for Amount {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(amount) => f.write_str(&number::fraction(*amount)),
            Self::Column { name, negated } => {
                write!(f, "{}{}", if *negated { "-" } else { "" }, column::quote(name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::{Goal, Objective};

    fn money(text: &str) -> Money {
        match text.parse::<Goal>().unwrap_or_else(|error| panic!("{error}")).objective {
            Objective::Money(money) => money,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn amounts_print_as_they_are_written() {
        for text in [
            "cost(fp=1, fn=20)",
            "profit(tp=100, fp=-5)",
            "profit(tp=amount, fp=-5) @ positive-rate<=2%",
            "cost(fp=30, fn=balance) @ fpr(sex)<=2%",
            "profit(tp=\"net gain\", fp=-fee, fn=-0.5) @ k=100",
        ] {
            let goal: Goal = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(goal.to_string(), text);
        }
        assert_eq!(money("Cost( FN = balance , fp = 30 )").to_string(), "cost(fp=30, fn=balance)");
    }

    #[test]
    fn rows_pay_by_label_and_decision() {
        let money = money("profit(tp=a, fp=-5, fn=-a, tn=b)");
        assert_eq!(money.columns(), ["a", "b"]);
        let pays = money.pays(&[true, false], &[vec![7.0, 8.0], vec![1.0, 2.0]]);
        assert_eq!(pays, [[-7.0, 7.0], [2.0, -5.0]]);
    }

    #[test]
    fn what_makes_no_sense_is_pointed_at() {
        for (text, said) in [
            ("profit(tp=100)", "profit(tp=100) alone is best at an extreme threshold"),
            ("cost(fp=1, fn=-20)", "alone is best at an extreme threshold"),
            ("cost(tn=5, fn=20)", "alone is best at an extreme threshold"),
            ("profit(tp=100, tp=5)", "tp has an amount already"),
            ("profit(hit=100)", "expected tp, fp, fn or tn, found \"hit\""),
            ("profit()", "expected tp, fp, fn or tn, found \")\""),
            ("profit", "expected \"(\" and amounts, as in profit(tp=100, fp=-5), found the end"),
            ("profit(tp=1e999, fp=-1)", "amount tp=inf is not a finite number"),
            ("profit(tp=0) @ positive-rate<=2%", "every amount of profit is 0"),
            ("cost(fp=0, fn=-0)", "every amount of cost is 0"),
            ("profit(tp=5%, fp=-1)", "an amount is a number or a column"),
            ("recall @ profit(tp=1)>=5", "can be improved but not held"),
        ] {
            let error = text.parse::<Goal>().unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert!("profit(tp=100) @ positive-rate<=2%".parse::<Goal>().is_ok());
    }
}
