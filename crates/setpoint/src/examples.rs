//! What training asks of examples: sums at parameters, in batches that one walk over the rows answers.
//!
//! ```text
//!  stages of a run ──▶ questions ──▶ Examples::answer ──▶ answers          one walk for all that are waiting
//! ```
//!
//! A question names parameters, never scores of the asker's: whoever holds the rows scores them, and keeps the scores
//! of each candidate under way (a *column*) between the questions about them. Answers are sums over rows and
//! [merge](Answer::merge): [`Held`] answers in memory; rows on disk or on other machines answer by parts, added up in
//! their order. An answer does not depend on the questions beside it.

mod held;
mod remote;

pub use held::Held;
pub use remote::{Reach, Remote, Request, Share};

use serde::{Deserialize, Serialize};

use crate::count::{Cell, CellPartial, Counts};
use crate::train::{Standard, TrainError};

/// A question about all rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Question {
    /// Score the rows by these parameters, and keep the scores: their moments.
    Score {
        /// Where they are kept.
        column: usize,
        /// By which.
        parameters: Vec<f32>,
    },
    /// Smooth counts of the scores that are kept.
    Count {
        /// Where.
        column: usize,
        /// What is counted.
        counts: Counts,
    },
    /// Σ v and Σ v p, where v is the derivative by each kept score s of a function of such counts, and p is s in units
    /// of its spread.
    Slopes {
        /// Where.
        column: usize,
        /// The function's derivative by the counts.
        of: Function,
        /// The units.
        standard: Standard,
    },
    /// The gradient by the parameters of a function of counts.
    Gradient {
        /// Where scores are kept; without, rows are scored by the parameters, and counted as well.
        column: Option<usize>,
        /// The parameters.
        parameters: Vec<f32>,
        /// The function's derivative by the counts.
        of: Function,
    },
    /// The scores themselves.
    Scores {
        /// By which parameters.
        parameters: Vec<f32>,
    },
    /// The gradient by the parameters of what has this derivative by each score.
    Backward {
        /// The parameters.
        parameters: Vec<f32>,
        /// As many for each row as the model has outputs.
        v: Vec<f32>,
    },
}

/// A function of smooth counts and of the scores' mean and spread, by its derivatives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// The counts.
    pub counts: Counts,
    /// By each count.
    pub partials: Vec<CellPartial>,
    /// Lines w (a + b s), added to the derivative by each score s of weight w, one after another.
    pub lines: Vec<[f64; 2]>,
}

/// Sums over rows; which of them depends on the question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Smooth counts.
    pub cells: Vec<Cell>,
    /// Of scores just kept.
    pub moments: Option<Moments>,
    /// Σ v and Σ v p.
    pub slopes: [f64; 2],
    /// By the parameters.
    pub gradient: Vec<f64>,
    /// As many for each row as the model has outputs.
    pub scores: Vec<f32>,
}

/// Σ w, Σ w (s - pivot), Σ w (s - pivot)²: about some score, so that no digits are lost when the mean is far from 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// The score.
    pub pivot: f64,
    /// The sums.
    pub sums: [f64; 3],
}

impl Moments {
    /// The same about another score.
    #[must_use]
    pub fn about(self, pivot: f64) -> Self {
        let [total, sum, squares] = self.sums;
        let by = self.pivot - pivot;
        Self { pivot, sums: [total, sum + by * total, squares + 2.0 * by * sum + by * by * total] }
    }

    /// Mean and deviation; equal scores get a deviation of 1.
    #[must_use]
    pub fn standard(self) -> Standard {
        let [total, sum, squares] = self.sums;
        let mean = sum / total;
        let deviation = (squares / total - mean * mean).max(0.0).sqrt();
        let deviation = if deviation > 0.0 && deviation.is_finite() { deviation } else { 1.0 };
        Standard { mean: self.pivot + mean, deviation, total }
    }
}

impl Answer {
    /// Adds the answer of the rows that come next.
    pub fn merge(&mut self, next: Self) {
        fn add(sums: &mut Vec<f64>, more: &[f64]) {
            sums.resize(sums.len().max(more.len()), 0.0);
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        self.cells.resize(self.cells.len().max(next.cells.len()), Cell::default());
        self.cells.iter_mut().zip(&next.cells).for_each(|(cell, more)| cell.merge(more));
        self.moments = match (self.moments, next.moments) {
            (Some(moments), Some(more)) => {
                let more = more.about(moments.pivot).sums;
                let sums = std::array::from_fn(|k| moments.sums[k] + more[k]);
                Some(Moments { sums, ..moments })
            }
            (one, other) => one.or(other),
        };
        self.slopes.iter_mut().zip(next.slopes).for_each(|(sum, more)| *sum += more);
        add(&mut self.gradient, &next.gradient);
        self.scores.extend(next.scores);
    }
}

/// Rows with their features, wherever they are.
pub trait Examples {
    /// Answers all questions, by one walk over the features of the rows. Columns are numbered from 0; there are
    /// as many as candidates under way.
    ///
    /// # Errors
    /// If parameters do not fit the rows, a score that is counted is not finite, or rows cannot be had.
    fn answer(&mut self, questions: &[Question]) -> Result<Vec<Answer>, TrainError>;
}

#[cfg(test)]
mod tests;
