//! Which rows are results of the same query, and how relevant each is.

use super::RankError;
use crate::sample::{Sample, SampleError};

/// The queries of rows, and their grades. Rows of a query need not follow each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Queries {
    column: String,
    /// From 0 in the order in which queries first occur.
    of: Vec<u32>,
    /// Row numbers by query, ascending within each.
    order: Vec<u32>,
    /// Where each query starts in `order`; one more entry than queries.
    starts: Vec<u32>,
    grades: Vec<f32>,
    positive: Vec<bool>,
    /// By query; none where nobody named them.
    names: Vec<String>,
}

impl Queries {
    /// Rows with equal keys are of one query; grades above 0 are relevant.
    ///
    /// ```
    /// use setpoint::rank::Queries;
    ///
    /// let queries = Queries::new("qid", &[7, 3, 7], vec![2.0, 0.0, 0.0])?;
    /// assert_eq!((queries.len(), queries.rows(0)), (2, &[0, 2][..]));
    /// # Ok::<(), setpoint::rank::RankError>(())
    /// ```
    ///
    /// # Errors
    /// If there are no rows, the lengths differ, or a grade is negative or no number.
    pub fn new(column: &str, keys: &[u32], grades: Vec<f32>) -> Result<Self, RankError> {
        if keys.is_empty() {
            return Err(SampleError::Empty.into());
        }
        if keys.len() != grades.len() {
            let (expected, got) = (keys.len(), grades.len());
            return Err(SampleError::Length { what: "grades", expected, got }.into());
        }
        if let Some(index) = grades.iter().position(|grade| !(grade.is_finite() && *grade >= 0.0)) {
            return Err(RankError::Grade { index, value: grades[index] });
        }
        let positive = grades.iter().map(|grade| *grade > 0.0).collect();
        Ok(Self::build(column, keys, grades, positive))
    }

    fn build(column: &str, keys: &[u32], grades: Vec<f32>, positive: Vec<bool>) -> Self {
        let mut numbers = std::collections::HashMap::new();
        let mut starts = vec![0];
        let mut of = Vec::with_capacity(keys.len());
        for key in keys {
            let next = numbers.len() as u32;
            let query = *numbers.entry(*key).or_insert(next);
            if query == next {
                starts.push(0);
            }
            starts[query as usize + 1] += 1;
            of.push(query);
        }
        for query in 1..starts.len() {
            starts[query] += starts[query - 1];
        }
        let mut next = starts.clone();
        let mut order = vec![0; of.len()];
        for (row, query) in (0..).zip(&of) {
            order[next[*query as usize] as usize] = row;
            next[*query as usize] += 1;
        }
        Self { column: column.to_owned(), of, order, starts, grades, positive, names: Vec::new() }
    }

    /// The same with these rows relevant, where a metric needs yes or no.
    ///
    /// # Errors
    /// If the lengths differ.
    pub fn with_positive(mut self, positive: Vec<bool>) -> Result<Self, RankError> {
        let (expected, got) = (self.of.len(), positive.len());
        if expected != got {
            return Err(SampleError::Length { what: "relevant rows", expected, got }.into());
        }
        self.positive = positive;
        Ok(self)
    }

    /// The same with names for the queries, by the keys they were made of.
    #[must_use]
    pub fn named(mut self, keys: &[u32], names: &[String]) -> Self {
        let first = (0..self.len()).map(|query| keys.get(self.rows(query)[0] as usize));
        let found = first.map(|key| names.get(*key? as usize).cloned()).collect::<Option<_>>();
        self.names = found.unwrap_or_default();
        self
    }

    /// Those of a sample.
    ///
    /// # Errors
    /// If its rows come in no queries.
    pub fn of_sample(sample: &Sample) -> Result<&Self, RankError> {
        sample.queries().ok_or(RankError::NoQueries)
    }

    /// These rows alone, in this order, repeats allowed; queries are numbered anew as they occur.
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Self {
        let rows = || rows.iter().map(|row| *row as usize);
        let keys: Vec<u32> = rows().map(|row| self.of[row]).collect();
        let grades = rows().map(|row| self.grades[row]).collect();
        let positive = rows().map(|row| self.positive[row]).collect();
        Self::build(&self.column, &keys, grades, positive).named(&keys, &self.names)
    }

    /// The queries of several parts, one after another; those of different parts are different ones.
    #[must_use]
    pub fn join(parts: &[&Self]) -> Self {
        let (mut keys, mut grades, mut positive, mut next) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for part in parts {
            keys.extend(part.of.iter().map(|query| next + query));
            grades.extend_from_slice(&part.grades);
            positive.extend_from_slice(&part.positive);
            next += part.len() as u32;
        }
        Self::build(parts.first().map_or("", |part| &part.column), &keys, grades, positive)
    }

    /// The column that the queries come from.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.column
    }

    /// The names of the queries, by number; none where nobody named them.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many queries there are, at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// How many rows there are.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.of.len()
    }

    /// Each row's query, from 0.
    #[must_use]
    pub fn of(&self) -> &[u32] {
        &self.of
    }

    /// Row numbers of one query, ascending.
    #[must_use]
    pub fn rows(&self, query: usize) -> &[u32] {
        &self.order[self.starts[query] as usize..self.starts[query + 1] as usize]
    }

    /// Each row's grade.
    #[must_use]
    pub fn grades(&self) -> &[f32] {
        &self.grades
    }

    /// Whether each row is relevant, where a metric needs yes or no.
    #[must_use]
    pub fn positive(&self) -> &[bool] {
        &self.positive
    }

    /// Root of the mean square of the scores about the mean of their query: what an order within queries sees of their
    /// scale. Never zero.
    #[must_use]
    pub fn spread(&self, scores: &[f32]) -> f64 {
        let of = |row: &u32| f64::from(scores[*row as usize]);
        let of_query = |query: usize| {
            let rows = self.rows(query);
            let mean = rows.iter().map(of).sum::<f64>() / rows.len() as f64;
            rows.iter().map(|row| (of(row) - mean).powi(2)).sum::<f64>()
        };
        let spread = ((0..self.len()).map(of_query).sum::<f64>() / scores.len() as f64).sqrt();
        if spread > 0.0 && spread.is_finite() { spread } else { 1.0 }
    }

    pub(super) fn check_scores(&self, scores: &[f32]) -> Result<(), RankError> {
        let (expected, got) = (self.of.len(), scores.len());
        if expected != got {
            return Err(SampleError::Length { what: "scores", expected, got }.into());
        }
        match scores.iter().position(|score| !score.is_finite()) {
            Some(index) => Err(SampleError::Score { index, value: scores[index] }.into()),
            None => Ok(()),
        }
    }
}
