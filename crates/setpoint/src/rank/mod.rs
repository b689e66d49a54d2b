//! Decisions in queries: the first k results of each, by score.
//!
//! ```text
//! t_q(k):   Σ_i φ(a (s_i - t)) = k                          the threshold of query q, solved
//! H_q(k)  = Σ_i y_i φ(a (s_i - t_q(k)))                     smooth gain of its first k results
//! ```
//!
//! Precision, recall, discounted gain and average precision are sums of such terms ([`QueryEngine`] has their
//! gradient, through the thresholds and without pairs of rows). [`Values`] are the exact metrics, query by query;
//! [`certify_mean`](crate::certify::certify_mean) bounds their mean.

mod engine;
mod metric;
mod plan;
mod queries;
#[cfg(test)]
mod tests;

pub use engine::{QueryEngine, QueryOptions, QueryStep};
pub use metric::{Convention, Empty, Ties, Values, places};
pub use queries::Queries;

use thiserror::Error;

use crate::sample::SampleError;

/// Why a question about queries has no answer.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum RankError {
    /// A row or a score that is none.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// A grade that says nothing about relevance.
    #[error("grade {value} of example {index} is not a finite number of at least 0")]
    Grade {
        /// The row.
        index: usize,
        /// Its grade.
        value: f32,
    },
    /// A grade whose gain is beyond all bounds.
    #[error(
        "grade {value} of example {index} is worth 2^{value} - 1; grades that large are for ndcg(linear)"
    )]
    Gain {
        /// The row.
        index: usize,
        /// Its grade.
        value: f32,
    },
    /// Rows that come in no queries.
    #[error("a goal per query needs rows that come in queries")]
    NoQueries,
    /// No query has a relevant row.
    #[error("none of {queries} queries has a relevant row: {objective} is undefined")]
    NoneRelevant {
        /// How many queries there are.
        queries: usize,
        /// What was asked for.
        objective: String,
    },
}
