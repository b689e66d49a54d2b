//! Examples in memory.

use std::sync::{Arc, OnceLock};

use super::{Answer, Examples, Function, Moments, Question};
use crate::count::{CHUNK, Cell, Counter};
use crate::features::{Features, Slopes, Turn};
use crate::model::{Linear, Model, ModelError, Rows, check_length};
use crate::sample::Sample;
use crate::shard::{Shard, sums};
use crate::train::{Part, TrainError};

/// Counts of a chunk, and whether all its scores are finite.
type Counted = OnceLock<(bool, Vec<Cell>)>;

/// A model with its rows, and the scores that are kept.
pub struct Held<'a> {
    part: Part<'a>,
    columns: Vec<Vec<f32>>,
}

impl<'a> Held<'a> {
    /// The rows of one part.
    #[must_use]
    pub fn new(part: Part<'a>) -> Self {
        Self { part, columns: Vec::new() }
    }

    /// The same with scores that were kept before.
    pub(super) fn keeping(part: Part<'a>, columns: Vec<Vec<f32>>) -> Self {
        Self { part, columns }
    }

    /// The scores that are kept.
    pub(super) fn into_kept(self) -> Vec<Vec<f32>> {
        self.columns
    }

    /// Where rows can be walked over once for several questions: linear scores, all labels in one place.
    fn shared(&self) -> Option<(Arc<Features>, &'a Sample)> {
        let linear: &Linear = self.part.model.as_any()?.downcast_ref()?;
        let features = (linear.outputs() == 1).then(|| Arc::clone(linear.features()))?;
        Some((features, self.part.sample.alone()?))
    }

    /// A question that needs no features, or all scores at once.
    fn one(&mut self, question: &Question) -> Result<Answer, TrainError> {
        let Self { part: Part { model, sample }, columns } = self;
        let sample = *sample;
        let mut answer = Answer::default();
        let size = sample.rows() * model.outputs();
        match question {
            Question::Score { column, parameters } => {
                let scores = column_of(columns, *column, size);
                model.scores(parameters, Rows::All, scores)?;
                answer.moments = Some(moments(sample, scores));
            }
            Question::Count { column, counts } => {
                answer.cells = vec![Cell::default(); counts.cells];
                let ask = counts.ask(&columns[*column], 0);
                sample.add_counts(&mut counts.counter(), ask, &mut answer.cells)?;
            }
            Question::Slopes { column, of, standard } => {
                let scores = &columns[*column];
                let mut v = vec![0.0; scores.len()];
                sample.spread(&of.counter(), of.counts.ask(scores, 0), &mut v);
                let (mean, deviation) = (standard.mean, standard.deviation);
                answer.slopes = sums(scores, Some(&v), |s, v| [v, v * (s - mean) / deviation]);
            }
            Question::Gradient { column, parameters, of } => {
                let mut own = Vec::new();
                // Also where scores are kept: the backward pass belongs to the last forward pass.
                let scores = match column {
                    Some(column) => column_of(columns, *column, size),
                    None => column_of(std::slice::from_mut(&mut own), 0, size),
                };
                model.scores(parameters, Rows::All, scores)?;
                let mut counter = of.counter();
                if column.is_none() {
                    answer.cells = vec![Cell::default(); of.counts.cells];
                    sample.add_counts(&mut counter, of.counts.ask(scores, 0), &mut answer.cells)?;
                }
                let mut v = vec![0.0; scores.len()];
                sample.spread(&counter, of.counts.ask(scores, 0), &mut v);
                of.lines.iter().for_each(|[a, b]| sample.add_line(scores, *a, *b, &mut v));
                answer.gradient = backward(&mut **model, parameters, &v)?;
            }
            Question::Scores { parameters } => {
                answer.scores = vec![0.0; size];
                model.scores(parameters, Rows::All, &mut answer.scores)?;
            }
            Question::Backward { parameters, v } => {
                model.scores(parameters, Rows::All, &mut vec![0.0; size])?;
                answer.gradient = backward(&mut **model, parameters, v)?;
            }
        }
        Ok(answer)
    }

    /// All questions about features by one walk over them.
    fn together(
        &mut self,
        features: &Features,
        sample: &Sample,
        questions: &[Question],
    ) -> Result<Vec<Answer>, TrainError> {
        let mut answers = vec![Answer::default(); questions.len()];
        let mut counted: Vec<Vec<Counted>> = Vec::new();
        let chunks = features.rows().div_ceil(CHUNK);
        for question in questions {
            let counts = matches!(question, Question::Gradient { column: None, .. });
            counted.push((0..if counts { chunks } else { 0 }).map(|_| OnceLock::new()).collect());
        }
        let mut kept: Vec<Option<&mut Vec<f32>>> = self.columns.iter_mut().map(Some).collect();
        let mut turns = Vec::with_capacity(questions.len());
        for ((question, answer), counted) in questions.iter().zip(&mut answers).zip(&counted) {
            let (parameters, scores, slopes): (Option<&[f32]>, _, Option<Slopes<'_>>) = match question {
                Question::Score { column, parameters } => {
                    (Some(parameters), kept[*column].take().map(|column| &mut column[..]), None)
                }
                Question::Scores { parameters } => {
                    answer.scores = vec![0.0; features.rows()];
                    (Some(parameters), Some(&mut answer.scores[..]), None)
                }
                Question::Gradient { column: Some(column), of, .. } => {
                    let counter = of.counter();
                    let slopes: Slopes<'_> =
                        Box::new(move |first, scores, v| of.spread(&counter, sample, first, scores, v));
                    (None, kept[*column].take().map(|column| &mut column[..]), Some(slopes))
                }
                Question::Gradient { column: None, parameters, of } => {
                    let counter = of.counter();
                    let slopes: Slopes<'_> = Box::new(move |first, scores, v| {
                        let mut cells = vec![Cell::default(); of.counts.cells];
                        let ask = of.counts.ask(scores, first);
                        let finite = counter.count_chunk(sample, first / CHUNK, ask, &mut cells);
                        let _ = counted[first / CHUNK].set((finite, cells));
                        of.spread(&counter, sample, first, scores, v);
                    });
                    (Some(parameters), None, Some(slopes))
                }
                Question::Backward { v: given, .. } => {
                    check_length("score gradient", features.rows(), given.len())?;
                    let slopes: Slopes<'_> =
                        Box::new(move |first, _, v| v.copy_from_slice(&given[first..][..v.len()]));
                    (None, None, Some(slopes))
                }
                Question::Count { .. } | Question::Slopes { .. } => (None, None, None),
            };
            turns.push(Turn { parameters, scores, slopes, gradient: Vec::new() });
        }
        features.pass(&mut turns);
        let gradients: Vec<Vec<f64>> = turns.into_iter().map(|turn| turn.gradient).collect();
        for (place, question) in questions.iter().enumerate() {
            let answer = &mut answers[place];
            answer.gradient.clone_from(&gradients[place]);
            match question {
                Question::Score { column, .. } => {
                    answer.moments = Some(moments(sample, &self.columns[*column]));
                }
                Question::Gradient { column: None, of, .. } => {
                    let counted = || counted[place].iter().filter_map(OnceLock::get);
                    if !counted().all(|(finite, _)| *finite) {
                        // Says which score is not.
                        *answer = self.one(question)?;
                        continue;
                    }
                    answer.cells = vec![Cell::default(); of.counts.cells];
                    for (_, cells) in counted() {
                        answer.cells.iter_mut().zip(cells).for_each(|(cell, more)| cell.merge(more));
                    }
                }
                Question::Count { .. } | Question::Slopes { .. } => *answer = self.one(question)?,
                _ => {}
            }
        }
        Ok(answers)
    }
}

impl Examples for Held<'_> {
    fn answer(&mut self, questions: &[Question]) -> Result<Vec<Answer>, TrainError> {
        if let Some(elsewhere) = self.part.model.examples() {
            return elsewhere.answer(questions);
        }
        let count = self.part.model.parameter_count();
        for question in questions {
            if let Question::Score { parameters, .. }
            | Question::Gradient { parameters, .. }
            | Question::Scores { parameters }
            | Question::Backward { parameters, .. } = question
            {
                check_length("parameters", count, parameters.len())?;
            }
            let size = self.part.sample.rows() * self.part.model.outputs();
            if let Question::Count { column, .. }
            | Question::Slopes { column, .. }
            | Question::Gradient { column: Some(column), .. } = question
                && self.columns.get(*column).is_none_or(|column| column.len() != size)
            {
                return Err(ModelError::NoForward.into());
            }
            if let Question::Score { column, .. } = question {
                self.columns.resize(self.columns.len().max(column + 1), Vec::new());
                self.columns[*column].resize(size, 0.0);
            }
        }
        match self.shared() {
            Some((features, sample)) => self.together(&features, sample, questions),
            None => questions.iter().map(|question| self.one(question)).collect(),
        }
    }
}

impl Function {
    fn counter(&self) -> Counter {
        let mut counter = self.counts.counter();
        counter.set_partials(&self.partials);
        counter
    }

    /// Writes the derivative by each score of a chunk.
    fn spread(&self, counter: &Counter, sample: &Sample, first: usize, scores: &[f32], v: &mut [f32]) {
        counter.gradient_chunk(sample, first / CHUNK, self.counts.ask(scores, first), v);
        self.lines.iter().for_each(|[a, b]| sample.add_line_from(first, scores, *a, *b, v));
    }
}

fn column_of(columns: &mut [Vec<f32>], column: usize, size: usize) -> &mut Vec<f32> {
    columns[column].resize(size, 0.0);
    &mut columns[column]
}

fn moments(sample: &dyn Shard, scores: &[f32]) -> Moments {
    let pivot = scores.first().map_or(0.0, |score| f64::from(*score));
    Moments { pivot, sums: sample.moments(scores, pivot) }
}

fn backward(model: &mut dyn Model, parameters: &[f32], v: &[f32]) -> Result<Vec<f64>, TrainError> {
    let mut gradient = vec![0.0; parameters.len()];
    model.backward(parameters, v, &mut gradient)?;
    Ok(gradient.into_iter().map(f64::from).collect())
}
