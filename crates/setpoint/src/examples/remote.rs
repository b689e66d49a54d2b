//! Examples elsewhere: rows in shards that others hold, asked through whoever reaches them.
//!
//! ```text
//!  driver: Remote ── Request ──▶ Reach ──▶ Share, Share, ...      one for each shard
//!                 ◀── answers in the order of the shards, added up in it
//! ```
//!
//! Scores that a shard keeps are a cache: each request brings the parameters of the columns that it is about, and a
//! shard that does not have them, because whoever held it is gone, scores its rows anew. So an answer depends on the
//! shards alone.
//!
//! To come close on fewer rows, the driver takes some to itself: where rows are few, a round takes as long as a message does. Each
//! shard thins its own by the rule that the driver knows as well: which rows these are never has to be said.

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use super::held::Column;
use super::{Answer, Examples, Held, Question};
use crate::features::Features;
use crate::model::{Linear, Model, ModelError, Rows, Thinned, check_length};
use crate::sample::Sample;
use crate::train::{Part, TrainError};

/// What every shard is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Columns that the questions are about, and the parameters by which they were scored.
    pub columns: Vec<(usize, Vec<f32>)>,
    /// The questions.
    pub questions: Vec<Question>,
}

/// Whoever reaches the shards.
pub trait Reach {
    /// The answers of each shard, in the order of the shards.
    ///
    /// # Errors
    /// If one cannot be had, with the reason.
    fn ask(&mut self, request: &Request) -> Result<Vec<Vec<Answer>>, String>;

    /// One of so many rows of each shard, in the order of the shards; none of one that has no rows.
    ///
    /// # Errors
    /// If they cannot be had, with the reason.
    fn fewer(&mut self, share: usize) -> Result<Vec<Option<Features>>, String>;
}

/// A linear model of one score over rows elsewhere.
pub struct Remote {
    reach: RefCell<Box<dyn Reach>>,
    /// Rows of each shard.
    sizes: Vec<usize>,
    parameters: usize,
    room: usize,
    /// The parameters of the scores that shards keep.
    columns: Vec<Vec<f32>>,
}

impl Remote {
    /// A model with so many parameters, over so many rows of each shard, and room here for so many rows.
    #[must_use]
    pub fn new(reach: Box<dyn Reach>, sizes: Vec<usize>, parameters: usize, room: usize) -> Self {
        Self { reach: RefCell::new(reach), sizes, parameters, room, columns: Vec::new() }
    }
}

impl Examples for Remote {
    fn answer(&mut self, questions: &[Question]) -> Result<Vec<Answer>, TrainError> {
        let elsewhere = |message: String| TrainError::Elsewhere { message };
        let mut columns: Vec<(usize, Vec<f32>)> = Vec::new();
        for question in questions {
            match question {
                Question::Count { column, .. }
                | Question::Slopes { column, .. }
                | Question::Gradient { column: Some(column), .. } => {
                    columns.extend(self.columns.get(*column).map(|parameters| (*column, parameters.clone())));
                }
                Question::Backward { .. } => {
                    let message =
                        "this method needs the scores of all rows at once; choose auto, ico or cross-entropy";
                    return Err(elsewhere(message.to_owned()));
                }
                _ => {}
            }
        }
        let request = Request { columns, questions: questions.to_vec() };
        let mut merged = vec![Answer::default(); questions.len()];
        for answers in self.reach.get_mut().ask(&request).map_err(elsewhere)? {
            check_length("answers", questions.len(), answers.len())?;
            merged.iter_mut().zip(answers).for_each(|(sum, next)| sum.merge(next));
        }
        for question in request.questions {
            if let Question::Score { column, parameters } = question {
                self.columns.resize(self.columns.len().max(column + 1), Vec::new());
                self.columns[column] = parameters;
            }
        }
        Ok(merged)
    }
}

impl Model for Remote {
    fn rows(&self) -> usize {
        self.sizes.iter().sum()
    }

    fn parameter_count(&self) -> usize {
        self.parameters
    }

    fn linear(&self) -> bool {
        true
    }

    fn examples(&mut self) -> Option<&mut dyn Examples> {
        Some(self)
    }

    /// In memory here; where there is no room for one of so many, one of ten times as many.
    fn thinned(&self, sample: &Sample, share: usize) -> Result<Option<Thinned>, ModelError> {
        check_length("rows", self.rows(), sample.len())?;
        let elsewhere = |message: String| ModelError::Elsewhere { message };
        let mut share = share.max(1);
        while sample.len() / share > self.room {
            share *= 10;
        }
        let (mut rows, mut features, mut first) = (Vec::new(), None::<Features>, 0);
        let shards = self.reach.borrow_mut().fewer(share).map_err(elsewhere)?;
        check_length("shards", self.sizes.len(), shards.len())?;
        for (size, fewer) in self.sizes.iter().zip(shards) {
            let own: Vec<u32> = (first as u32..(first + size) as u32).collect();
            let left = sample.select(&own).deal(share).swap_remove(0);
            check_length("rows of a shard", left.len(), fewer.as_ref().map_or(0, Features::rows))?;
            features = match (features, fewer) {
                (Some(mut features), Some(fewer)) => {
                    let other = || elsewhere("a shard has other columns".to_owned());
                    features.append(&fewer).ok_or_else(other)?;
                    Some(features)
                }
                (features, fewer) => features.or(fewer),
            };
            rows.extend(left.iter().map(|row| own[*row as usize]));
            first += size;
        }
        Ok(features.map(|features| (rows, Box::new(Linear::new(features)) as Box<dyn Model>)))
    }

    fn scores(&mut self, parameters: &[f32], rows: Rows<'_>, scores: &mut [f32]) -> Result<(), ModelError> {
        let elsewhere = |message: String| ModelError::Elsewhere { message };
        check_length("parameters", self.parameters, parameters.len())?;
        if rows != Rows::All {
            return Err(elsewhere("rows elsewhere are not learnt from in batches".to_owned()));
        }
        let question = Question::Scores { parameters: parameters.to_vec() };
        let answers = self.answer(&[question]).map_err(|error| elsewhere(error.to_string()))?;
        let found = answers.into_iter().next().unwrap_or_default().scores;
        check_length("scores", scores.len(), found.len())?;
        scores.copy_from_slice(&found);
        Ok(())
    }

    fn backward(&mut self, _: &[f32], _: &[f32], _: &mut [f32]) -> Result<(), ModelError> {
        Err(ModelError::NoForward)
    }
}

/// The rows of one shard that are of one part, with the scores kept of them.
pub struct Share {
    model: Linear,
    sample: Sample,
    scores: Vec<Column>,
    /// The parameters of those scores.
    columns: Vec<Vec<f32>>,
}

impl Share {
    /// These rows.
    #[must_use]
    pub fn new(model: Linear, sample: Sample) -> Self {
        Self { model, sample, scores: Vec::new(), columns: Vec::new() }
    }

    /// One of so many of these rows.
    ///
    /// # Errors
    /// If there are more than can be numbered.
    pub fn fewer(&self, share: usize) -> Result<Features, ModelError> {
        self.model.features().select(&self.sample.deal(share.max(1)).swap_remove(0))
    }

    /// Its answers.
    ///
    /// # Errors
    /// As [`Examples::answer`].
    pub fn answer(&mut self, request: Request) -> Result<Vec<Answer>, TrainError> {
        let Request { columns, questions } = request;
        let lost = columns.into_iter().filter(|(column, by)| self.columns.get(*column) != Some(by));
        let lost = lost.map(|(column, parameters)| Question::Score { column, parameters });
        let lost: Vec<Question> = lost.collect();
        let mut known = std::mem::take(&mut self.columns);
        let part = Part { model: &mut self.model, sample: &self.sample };
        let mut held = Held::keeping(part, std::mem::take(&mut self.scores));
        if !lost.is_empty() {
            held.answer(&lost)?;
        }
        let answers = held.answer(&questions)?;
        self.scores = held.into_kept();
        for question in lost.into_iter().chain(questions) {
            if let Question::Score { column, parameters } = question {
                known.resize(known.len().max(column + 1), Vec::new());
                known[column] = parameters;
            }
        }
        self.columns = known;
        Ok(answers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{questions, rows};
    use super::*;

    /// Shares in this process; `forgets` what they keep before each request.
    struct Here {
        shares: Vec<Share>,
        forgets: bool,
    }

    impl Reach for Here {
        fn ask(&mut self, request: &Request) -> Result<Vec<Vec<Answer>>, String> {
            let ask = |share: &mut Share| {
                if self.forgets {
                    (share.scores, share.columns) = (Vec::new(), Vec::new());
                }
                share.answer(request.clone()).map_err(|error| error.to_string())
            };
            self.shares.iter_mut().map(ask).collect()
        }

        fn fewer(&mut self, share: usize) -> Result<Vec<Option<Features>>, String> {
            Ok(self.shares.iter().map(|shard| shard.fewer(share).ok()).collect())
        }
    }

    /// 10,000 rows in three shards.
    fn remote(forgets: bool) -> Remote {
        let share = |(first, count)| {
            let (model, sample) = rows(first, count);
            Share::new(model, sample)
        };
        let shares = [(0, 5_000), (5_000, 1), (5_001, 4_999)].map(share).into();
        Remote::new(Box::new(Here { shares, forgets }), vec![5_000, 1, 4_999], 4, 2_000)
    }

    #[test]
    fn shards_thin_their_rows_as_the_driver_thinks() {
        let (_, sample) = rows(0, 10_000);
        let (left, mut fewer) = remote(true).thinned(&sample, 1).unwrap().unwrap();
        assert!((1_000..1_006).contains(&left.len()), "{}", left.len());
        let parameters = [1.0, -0.5, 0.25, 0.1];
        let (mut scores, mut expected) = (vec![0.0; left.len()], vec![0.0; left.len()]);
        fewer.scores(&parameters, Rows::All, &mut scores).unwrap();
        rows(0, 10_000).0.scores(&parameters, Rows::At(&left), &mut expected).unwrap();
        assert_eq!(scores, expected);
    }

    #[test]
    fn shards_that_lose_what_they_kept_answer_the_same() {
        let (mut keeps, mut forgets) = (remote(false), remote(true));
        for batch in questions() {
            assert_eq!(keeps.answer(&batch).unwrap(), forgets.answer(&batch).unwrap());
        }
        let (mut scores, parameters) = (vec![0.0; 10_000], [1.0, -0.5, 0.25, 0.1]);
        keeps.scores(&parameters, Rows::All, &mut scores).unwrap();
        let mut expected = scores.clone();
        rows(0, 10_000).0.scores(&parameters, Rows::All, &mut expected).unwrap();
        assert_eq!(scores, expected);
        assert!(keeps.answer(&[Question::Backward { parameters: parameters.to_vec(), v: scores }]).is_err());
        assert!(keeps.scores(&parameters, Rows::At(&[1]), &mut [0.0]).is_err());
    }
}
