//! Goals of rows that come in queries: what is wanted of the first few results of each.
//!
//! | goal | mean over the queries of |
//! |---|---|
//! | `precision @ k=10 per query` | the share of relevant rows among the first 10 |
//! | `recall @ k=10 per query` | the share of the query's relevant rows that is among the first 10 |
//! | `recall @ top=5% per query` | the same of the first 5% of its rows, rounded up |
//! | `ndcg @ k=10 per query` | the discounted gain of the first 10 over the largest possible; gains are 2^y - 1 |
//! | `ndcg(linear) @ k=10 per query` | the same with gains y |
//! | `map per query` | the average precision |

use std::fmt::{self, Display, Formatter};

use super::number;

/// A goal of rows that come in queries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryGoal {
    /// What to improve in each query; its mean over the queries is the goal.
    pub metric: QueryMetric,
    /// How many results of a query are looked at; `None` for all of them, which is average precision's.
    pub top: Option<QueryTop>,
}

/// What a goal per query improves. Always better high, and between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryMetric {
    /// Relevant rows among the first k, over k.
    Precision,
    /// Relevant rows among the first k, over all relevant rows.
    Recall,
    /// Discounted gain of the first k, over the largest possible.
    Ndcg(Gain),
    /// Mean over the relevant rows of the precision at their place.
    AveragePrecision,
}

/// What a row of a grade is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gain {
    /// 2^y - 1.
    #[default]
    Exponential,
    /// y.
    Linear,
}

impl Gain {
    /// The gain of a grade.
    #[must_use]
    pub fn of(self, grade: f32) -> f64 {
        match self {
            Self::Exponential => f64::from(grade).exp2() - 1.0,
            Self::Linear => f64::from(grade),
        }
    }
}

/// How many results of a query are looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueryTop {
    /// So many.
    Count(u64),
    /// This share of the query's rows, rounded up; strictly between 0 and 1.
    Fraction(f64),
}

impl QueryGoal {
    /// How many places of a query with so many rows are looked at. May be more than it has rows.
    #[must_use]
    pub fn places(&self, rows: usize) -> usize {
        match self.top {
            None => rows,
            Some(QueryTop::Count(k)) => usize::try_from(k).unwrap_or(usize::MAX),
            // 7% of 100 comes out an ulp above 7; it means 7.
            Some(QueryTop::Fraction(share)) => {
                (share * rows as f64 * (1.0 - 4.0 * f64::EPSILON)).ceil() as usize
            }
        }
    }

    /// What a row of a grade is worth to losses that know no places. Where the metric knows yes and no alone, grades
    /// still say more of which rows are alike.
    #[must_use]
    pub fn gain(&self) -> Gain {
        match self.metric {
            QueryMetric::Ndcg(gain) => gain,
            _ => Gain::Linear,
        }
    }

    /// What is improved in each query, as goals write it: `ndcg @ k=10`.
    #[must_use]
    pub fn objective(&self) -> String {
        let name = match self.metric {
            QueryMetric::Precision => "precision",
            QueryMetric::Recall => "recall",
            QueryMetric::Ndcg(Gain::Exponential) => "ndcg",
            QueryMetric::Ndcg(Gain::Linear) => "ndcg(linear)",
            QueryMetric::AveragePrecision => "map",
        };
        match self.top {
            None => name.to_owned(),
            Some(QueryTop::Count(k)) => format!("{name} @ k={k}"),
            Some(QueryTop::Fraction(share)) => format!("{name} @ top={}", number::target(share)),
        }
    }

    /// The goal in words, as reports say it.
    ///
    /// ```
    /// use setpoint::goal::QueryGoal;
    ///
    /// let goal: QueryGoal = "ndcg @ k=10 per query".parse()?;
    /// assert_eq!(goal.describe(), "the highest NDCG of the first 10 results of a query, on average");
    /// # Ok::<(), setpoint::goal::ParseError>(())
    /// ```
    #[must_use]
    pub fn describe(&self) -> String {
        let words = match self.metric {
            QueryMetric::Precision => "precision among",
            QueryMetric::Recall => "recall by",
            QueryMetric::Ndcg(Gain::Exponential) => "NDCG of",
            QueryMetric::Ndcg(Gain::Linear) => "NDCG (linear gains) of",
            QueryMetric::AveragePrecision => {
                return "the highest mean average precision of the queries".to_owned();
            }
        };
        let first = match self.top {
            None => "results".to_owned(),
            Some(QueryTop::Count(1)) => "first result".to_owned(),
            Some(QueryTop::Count(k)) => format!("first {k} results"),
            Some(QueryTop::Fraction(share)) => format!("first {} of the results", number::words(share)),
        };
        format!("the highest {words} the {first} of a query, on average")
    }
}

impl Display for QueryGoal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} per query", self.objective())
    }
}
