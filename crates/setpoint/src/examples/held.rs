//! Examples here: in memory, or in a scratch file.

use std::sync::{Arc, OnceLock};

use super::{Answer, Examples, Function, Moments, Question};
use crate::count::{CHUNK, Cell, Counter, Counts, Workspace};
use crate::features::{Features, Kept, Slopes, Stored, StoredScores, Turn};
use crate::model::{Linear, Model, ModelError, Rows, StoredLinear, check_length};
use crate::sample::Sample;
use crate::shard::{Shard, add, moments};
use crate::train::{Part, TrainError};

/// Counts of a chunk, and whether all its scores are finite.
type Counted = OnceLock<(bool, Vec<Cell>)>;

/// A model with its rows, and the scores that are kept.
pub struct Held<'a> {
    part: Part<'a>,
    columns: Vec<Column>,
}

/// Scores that are kept.
pub(super) enum Column {
    Here(Vec<f32>),
    /// Where features are on disk.
    There(StoredScores),
}

/// Features that can be walked over once for several questions.
enum Walked {
    Here(Arc<Features>),
    There(Arc<Stored>),
}

impl Walked {
    fn rows(&self) -> usize {
        match self {
            Self::Here(features) => features.rows(),
            Self::There(features) => features.rows(),
        }
    }

    fn pass(&self, turns: &mut [Turn<'_>]) -> Result<(), ModelError> {
        match self {
            Self::Here(features) => features.pass(turns),
            Self::There(features) => features.pass(turns),
        }
    }
}

impl<'a> Held<'a> {
    /// The rows of one part.
    #[must_use]
    pub fn new(part: Part<'a>) -> Self {
        Self { part, columns: Vec::new() }
    }

    /// The same with scores that were kept before.
    pub(super) fn keeping(part: Part<'a>, columns: Vec<Column>) -> Self {
        Self { part, columns }
    }

    /// The scores that are kept.
    pub(super) fn into_kept(self) -> Vec<Column> {
        self.columns
    }

    /// Where rows can be walked over once for several questions: linear scores, all labels in one place.
    fn shared(&self) -> Option<(Walked, &'a Sample)> {
        let model = self.part.model.as_any()?;
        let walked = match model.downcast_ref::<StoredLinear>() {
            Some(stored) => Walked::There(Arc::clone(stored.features())),
            None => {
                let linear: &Linear = model.downcast_ref()?;
                Walked::Here((linear.outputs() == 1).then(|| Arc::clone(linear.features()))?)
            }
        };
        Some((walked, self.part.sample.alone()?))
    }

    /// Makes room for scores.
    fn make_room(&mut self, column: usize, size: usize) {
        if self.columns.len() <= column {
            self.columns.resize_with(column + 1, || Column::Here(Vec::new()));
        }
        let stored = self.part.model.as_any().and_then(|model| model.downcast_ref::<StoredLinear>());
        match (&mut self.columns[column], stored) {
            (Column::Here(column), None) => column.resize(size, 0.0),
            // Of a chunk or less there are no walks.
            (Column::Here(column), Some(_)) if size <= CHUNK => column.resize(size, 0.0),
            (kept @ Column::Here(_), Some(stored)) => {
                *kept = Column::There(StoredScores::beside(stored.features()));
            }
            (Column::There(_), _) => {}
        }
    }

    /// A question that needs no features, or all scores at once.
    fn one(&mut self, question: &Question) -> Result<Answer, TrainError> {
        let Self { part: Part { model, sample }, columns } = self;
        let sample = *sample;
        let mut answer = Answer::default();
        let size = sample.rows() * model.outputs();
        match question {
            Question::Score { column, parameters } => {
                let Column::Here(scores) = &mut columns[*column] else {
                    return Err(ModelError::NoForward.into());
                };
                model.scores(parameters, Rows::All, scores)?;
                answer.moments = Some(columns[*column].moments(sample)?);
            }
            Question::Count { column, counts } => match &columns[*column] {
                Column::Here(scores) => {
                    answer.cells = vec![Cell::default(); counts.cells];
                    sample.add_counts(&mut counts.counter(), counts.ask(scores, 0), &mut answer.cells)?;
                }
                Column::There(scores) => answer.cells = count(scores, sample.whole(), counts)?,
            },
            Question::Slopes { column, of, standard } => {
                let counter = of.counter();
                let from = standard.mean;
                let sums = match &columns[*column] {
                    Column::Here(scores) => {
                        let mut v = vec![0.0; scores.len()];
                        sample.spread(&counter, of.counts.ask(scores, 0), &mut v);
                        moments(scores, Some(&v), from)
                    }
                    Column::There(scores) => {
                        let sample = sample.whole();
                        let sums = scores.by_chunk(|first, scores| {
                            let mut v = vec![0.0; scores.len()];
                            let ask = of.counts.ask(scores, first);
                            counter.gradient_chunk(sample, first / CHUNK, ask, &mut Workspace::new(), &mut v);
                            moments(scores, Some(&v), from)
                        });
                        sums.map_err(ModelError::from)?.into_iter().fold([0.0; 3], add)
                    }
                };
                answer.slopes = standard.slopes(sums);
            }
            Question::Gradient { column, parameters, of } => {
                // Also where scores are kept: the backward pass belongs to the last forward pass.
                let scores = &mut vec![0.0; size];
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
        features: &Walked,
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
        let mut columns: Vec<Option<&mut Column>> = self.columns.iter_mut().map(Some).collect();
        let mut kept = |column: usize| {
            columns[column].take().map(|column| match column {
                Column::Here(scores) => Kept::Here(&mut scores[..]),
                Column::There(scores) => Kept::There(scores),
            })
        };
        let mut turns = Vec::with_capacity(questions.len());
        for ((question, answer), counted) in questions.iter().zip(&mut answers).zip(&counted) {
            let (parameters, kept, slopes): (Option<&[f32]>, _, Option<Slopes<'_>>) = match question {
                Question::Score { column, parameters } => (Some(parameters), kept(*column), None),
                Question::Scores { parameters } => {
                    answer.scores = vec![0.0; features.rows()];
                    (Some(parameters), Some(Kept::Here(&mut answer.scores)), None)
                }
                Question::Gradient { column: Some(column), of, .. } => {
                    let counter = of.counter();
                    let slopes: Slopes<'_> =
                        Box::new(move |first, scores, v| of.spread(&counter, sample, first, scores, v));
                    (None, kept(*column), Some(slopes))
                }
                Question::Gradient { column: None, parameters, of } => {
                    let counter = of.counter();
                    let slopes: Slopes<'_> = Box::new(move |first, scores, v| {
                        let mut cells = vec![Cell::default(); of.counts.cells];
                        let ask = of.counts.ask(scores, first);
                        let finite = counter.count_chunk(
                            sample,
                            first / CHUNK,
                            ask,
                            &mut Workspace::new(),
                            &mut cells,
                        );
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
            turns.push(Turn { parameters, kept, slopes, gradient: Vec::new() });
        }
        features.pass(&mut turns)?;
        let gradients: Vec<Vec<f64>> = turns.into_iter().map(|turn| turn.gradient).collect();
        for (place, question) in questions.iter().enumerate() {
            let answer = &mut answers[place];
            answer.gradient.clone_from(&gradients[place]);
            match question {
                Question::Score { column, .. } => {
                    answer.moments = Some(self.columns[*column].moments(sample)?);
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
                self.make_room(*column, size);
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
        let ask = self.counts.ask(scores, first);
        counter.gradient_chunk(sample, first / CHUNK, ask, &mut Workspace::new(), v);
        self.lines.iter().for_each(|[a, b]| sample.add_line_from(first, scores, *a, *b, v));
    }
}

impl Column {
    fn len(&self) -> usize {
        match self {
            Self::Here(scores) => scores.len(),
            Self::There(scores) => scores.rows(),
        }
    }

    fn moments(&self, sample: &dyn Shard) -> Result<Moments, ModelError> {
        match self {
            Self::Here(scores) => {
                let pivot = scores.first().map_or(0.0, |score| f64::from(*score));
                Ok(Moments { pivot, sums: sample.moments(scores, pivot) })
            }
            Self::There(scores) => {
                let (mut first, sample) = ([0.0], sample.whole());
                scores.read(0, &mut first)?;
                let pivot = f64::from(first[0]);
                let sums = scores.by_chunk(|first, scores| sample.moments_from(first, scores, pivot))?;
                Ok(Moments { pivot, sums: sums.into_iter().fold([0.0; 3], add) })
            }
        }
    }
}

/// Smooth counts of scores on disk.
fn count(scores: &StoredScores, sample: &Sample, counts: &Counts) -> Result<Vec<Cell>, TrainError> {
    let counter = counts.counter();
    let counted = scores.by_chunk(|first, scores| {
        let mut cells = vec![Cell::default(); counts.cells];
        let finite = counter.count_chunk(
            sample,
            first / CHUNK,
            counts.ask(scores, first),
            &mut Workspace::new(),
            &mut cells,
        );
        (finite, cells)
    });
    let counted = counted.map_err(ModelError::from)?;
    if counted.iter().any(|(finite, _)| !finite) {
        let mut all = vec![0.0; scores.rows()];
        scores.read(0, &mut all).map_err(ModelError::from)?;
        sample.check_scores(&all)?;
    }
    let mut cells = vec![Cell::default(); counts.cells];
    for (_, more) in &counted {
        cells.iter_mut().zip(more).for_each(|(cell, more)| cell.merge(more));
    }
    Ok(cells)
}

fn backward(model: &mut dyn Model, parameters: &[f32], v: &[f32]) -> Result<Vec<f64>, TrainError> {
    let mut gradient = vec![0.0; parameters.len()];
    model.backward(parameters, v, &mut gradient)?;
    Ok(gradient.into_iter().map(f64::from).collect())
}
