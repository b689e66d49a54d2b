//! What trees read of texts, and of columns with more categories than have a place each: numbers that the labels of other rows gave.
//!
//! ```text
//! category   (Σ y + m ȳ) / (n + m) over the rows that have it, ȳ over all rows, m = 20
//!            one for all categories of a single row, which those never seen have too
//! text       w·x + b, x its terms (see `text`), by cross-entropy, λ |w|² / 2 added
//! missing    NaN
//! ```
//!
//! A row's own label has no part in its number: training rows are dealt into folds, rows that belong together into the
//! same one, and each fold has its numbers of the others. All other rows have theirs of all training rows.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use setpoint::Sample;
use setpoint::features::{Features, Sparse};
use setpoint::model::{Linear, Model, Rows};
use setpoint::optimizer::{Lbfgs, LbfgsConfig};
use setpoint::sample::SampleError;
use setpoint::train::TrainError;
use setpoint::train::method::{CrossEntropy, Loss};

use super::apply::places;
use super::text::Words;
use super::{EncodeError, Encoder, Encoding, Input, Inputs};
use crate::chunk::{Chunk, MISSING};
use crate::table::{Body, Table};

/// Parts of the training rows.
const FOLDS: usize = 5;
/// Rows of the mean of all that are added to those of a category.
const PRIOR: f64 = 20.0;
/// λ of texts, and evaluations.
const SHRINKAGE: f64 = 1e-3;
const EVALUATIONS: u64 = 60;

/// What a mean or a score is looked up by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Learnt {
    /// The mean of the label by category.
    Means {
        /// The categories of at least two training rows, in alphabetical order.
        values: Vec<String>,
        /// The mean of each.
        means: Vec<f32>,
        /// That of all others.
        other: f32,
    },
    /// The score of a text.
    Score {
        /// Its terms.
        words: Words,
        /// The weight of each.
        weights: Vec<f32>,
        /// What is added.
        bias: f32,
    },
}

/// The numbers of the training rows that their own labels had no part in.
#[derive(Clone, Debug, Default)]
pub struct OutOfFold {
    /// The columns of the matrix, each with a number for each training row.
    columns: Vec<(usize, Vec<f32>)>,
}

impl OutOfFold {
    /// Puts them into the training rows, which are encoded as others are.
    pub fn put(&self, features: &mut Features) {
        self.columns.iter().for_each(|(column, values)| features.set_numbers(*column, values));
    }
}

/// Training rows of a column: codes of its texts, labels, and folds.
struct Column<'a> {
    texts: &'a [String],
    codes: Vec<u32>,
    rows: &'a Labelled,
}

/// The labels of the training rows, their weights, and the fold of each.
struct Labelled {
    labels: Vec<bool>,
    weights: Option<Vec<f32>>,
    folds: Vec<usize>,
}

impl Encoder {
    /// The same as trees read it, and the numbers of the training rows: texts and categories with many values by
    /// what the labels of two classes say of them, the rest as [`Encoder::plain`] has it.
    ///
    /// # Errors
    /// As [`Encoder::plain`].
    pub fn for_trees(self, table: &Table, rows: &[u32]) -> Result<(Self, OutOfFold), EncodeError> {
        let (Body::Dense { columns, chunks, texts }, Some(labels), None, None) =
            (&table.body, &table.labels, table.classes(), &table.grades)
        else {
            return Ok((self.plain()?, OutOfFold::default()));
        };
        let mut learnt: Vec<(String, Learnt, Vec<f32>)> = Vec::new();
        if let (Inputs::Table(inputs), Some(labelled)) = (&self.inputs, &Labelled::new(table, labels, rows)) {
            let wanted = inputs.iter().filter(|input| is_learnt(input)).filter_map(|input| {
                let column = columns.iter().find(|column| column.name == input.name)?;
                Some((input, column.slot))
            });
            let wanted: Vec<(&Input, usize)> = wanted.collect();
            let learn = |(input, slot): (&Input, usize)| {
                let codes = pick(chunks, rows, slot);
                let column = Column { texts: &texts[slot].values, codes, rows: labelled };
                let (learnt, held_out) = match &input.encoding {
                    // Where a fold's texts are all of one label, there is nothing to fit.
                    Encoding::Text(words) => column.score(words).ok()?,
                    _ => column.means(),
                };
                Some((input.name.clone(), learnt, held_out))
            };
            learnt = wanted.into_par_iter().filter_map(learn).collect();
        }
        let mut encoder = self;
        let mut held_out = Vec::new();
        if let Inputs::Table(inputs) = &mut encoder.inputs {
            for (name, learnt, values) in learnt {
                let Some(input) = inputs.iter_mut().find(|input| input.name == name) else { continue };
                input.complete = !values.iter().any(|value| value.is_nan());
                input.encoding = Encoding::Learnt(learnt);
                held_out.push((name, values));
            }
        }
        let encoder = encoder.plain()?;
        let Inputs::Table(inputs) = &encoder.inputs else { return Ok((encoder, OutOfFold::default())) };
        let place = |name: &str| inputs.iter().take_while(|input| input.name != name).map(Input::width).sum();
        let columns = held_out.into_iter().map(|(name, values)| (place(&name), values)).collect();
        Ok((encoder, OutOfFold { columns }))
    }
}

/// Whether trees read numbers in place of what a column has.
fn is_learnt(input: &Input) -> bool {
    match &input.encoding {
        Encoding::Text(_) => true,
        Encoding::Category { rare, .. } => rare.is_some(),
        _ => false,
    }
}

/// The codes of some rows, which ascend.
fn pick(chunks: &[Chunk], rows: &[u32], slot: usize) -> Vec<u32> {
    let (mut start, mut next, mut picked) = (0, 0, Vec::with_capacity(rows.len()));
    for chunk in chunks {
        let end = next + rows[next..].partition_point(|row| (*row as usize) < start + chunk.rows);
        let codes = chunk.code(slot);
        picked.extend(rows[next..end].iter().map(|row| codes[*row as usize - start]));
        (start, next) = (start + chunk.rows, end);
    }
    picked
}

impl Labelled {
    /// `None` where a fold would lack one of the labels.
    fn new(table: &Table, labels: &[bool], rows: &[u32]) -> Option<Self> {
        let labels: Vec<bool> = rows.iter().map(|row| labels[*row as usize]).collect();
        let mut dealt = [0, 0];
        let folds: Vec<usize> = match &table.entities {
            Some(entities) => rows.iter().map(|row| entities.of[*row as usize] as usize % FOLDS).collect(),
            None => labels
                .iter()
                .map(|label| {
                    let turn = &mut dealt[usize::from(*label)];
                    *turn += 1;
                    *turn % FOLDS
                })
                .collect(),
        };
        let there: BTreeSet<(usize, bool)> = folds.iter().copied().zip(labels.iter().copied()).collect();
        let weights =
            table.weights.as_ref().map(|weights| rows.iter().map(|row| weights[*row as usize]).collect());
        (there.len() == 2 * FOLDS).then_some(Self { labels, weights, folds })
    }

    fn weight(&self, row: usize) -> f32 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// These of the rows as a sample.
    fn sample(&self, rows: &[usize]) -> Result<Sample, SampleError> {
        let sample = Sample::new(rows.iter().map(|row| self.labels[*row]).collect())?;
        match self.weights {
            Some(_) => sample.with_weights(rows.iter().map(|row| self.weight(*row)).collect()),
            None => Ok(sample),
        }
    }
}

impl Column<'_> {
    /// The number that each row's code has outside of its fold.
    fn out_of_fold(&self, of: impl Fn(u32, usize) -> f32) -> Vec<f32> {
        let number =
            |(code, fold): (&u32, &usize)| if *code == MISSING { f32::NAN } else { of(*code, *fold) };
        self.codes.iter().zip(&self.rows.folds).map(number).collect()
    }

    fn means(&self) -> (Learnt, Vec<f32>) {
        let several = {
            let mut rows = vec![0u64; self.texts.len()];
            self.codes.iter().filter(|code| **code != MISSING).for_each(|code| rows[*code as usize] += 1);
            rows.into_iter().map(|rows| rows > 1).collect::<Vec<bool>>()
        };
        // Categories of one row share the place after all.
        let rest = self.texts.len();
        let place = |code: u32| if several[code as usize] { code as usize } else { rest };
        let of = |without: Option<usize>| -> Vec<f32> {
            let mut sums = vec![[0.0f64; 2]; rest + 1];
            let mut all = [0.0f64; 2];
            for (row, code) in self.codes.iter().enumerate() {
                if without == Some(self.rows.folds[row]) {
                    continue;
                }
                let weight = f64::from(self.rows.weight(row));
                let add = [if self.rows.labels[row] { weight } else { 0.0 }, weight];
                all.iter_mut().zip(add).for_each(|(sum, more)| *sum += more);
                if *code != MISSING {
                    sums[place(*code)].iter_mut().zip(add).for_each(|(sum, more)| *sum += more);
                }
            }
            let mean = all[0] / all[1];
            sums.iter().map(|[sum, weight]| ((sum + PRIOR * mean) / (weight + PRIOR)) as f32).collect()
        };
        let by_fold: Vec<Vec<f32>> = (0..FOLDS).map(|fold| of(Some(fold))).collect();
        let held_out = self.out_of_fold(|code, fold| by_fold[fold][place(code)]);
        let means = of(None);
        let mut known: Vec<usize> = (0..rest).filter(|code| several[*code]).collect();
        known.sort_by(|one, other| self.texts[*one].cmp(&self.texts[*other]));
        let values = known.iter().map(|code| self.texts[*code].clone()).collect();
        let learnt = Learnt::Means {
            values,
            means: known.iter().map(|code| means[*code]).collect(),
            other: means[rest],
        };
        (learnt, held_out)
    }

    fn score(&self, words: &Words) -> Result<(Learnt, Vec<f32>), TrainError> {
        let terms = Features::from_csr(words.encode(self.texts))?;
        let fit = |without: Option<usize>| {
            let rows: Vec<usize> = (0..self.codes.len())
                .filter(|row| self.codes[*row] != MISSING && without != Some(self.rows.folds[*row]))
                .collect();
            let codes: Vec<u32> = rows.iter().map(|row| self.codes[*row]).collect();
            fit(terms.select(&codes)?, &self.rows.sample(&rows)?)
        };
        let (all, by_fold) = rayon::join(
            || fit(None),
            || (0..FOLDS).into_par_iter().map(|fold| fit(Some(fold))).collect::<Result<Vec<_>, _>>(),
        );
        let scores = |parameters: &Vec<f32>| terms.entries().map(|terms| score(terms, parameters));
        let by_fold: Vec<Vec<f32>> = by_fold?.iter().filter_map(scores).collect();
        let held_out = self.out_of_fold(|code, fold| by_fold[fold][code as usize]);
        let mut weights = all?;
        let bias = weights.pop().unwrap_or_default();
        Ok((Learnt::Score { words: words.clone(), weights, bias }, held_out))
    }
}

/// Weights, and last a bias, by cross-entropy.
fn fit(features: Features, sample: &Sample) -> Result<Vec<f32>, TrainError> {
    let mut model = Linear::new(features);
    let (mut scores, mut v) = (vec![0.0; sample.len()], vec![0.0; sample.len()]);
    let start = model.initial(0);
    let (mut loss, mut single) = (CrossEntropy::new(1.0), vec![0.0; start.len()]);
    let config =
        LbfgsConfig { max_evaluations: EVALUATIONS, decrease_tolerance: 1e-5, ..LbfgsConfig::default() };
    let mut lbfgs = Lbfgs::new(config, start)?;
    lbfgs.minimize(&mut |parameters: &[f32], gradient: &mut [f64]| {
        model.scores(parameters, Rows::All, &mut scores)?;
        let value = loss.evaluate(sample, &scores, &mut v)?;
        model.backward(parameters, &v, &mut single)?;
        gradient.iter_mut().zip(&single).for_each(|(wide, narrow)| *wide = f64::from(*narrow));
        let weights = &parameters[..parameters.len() - 1];
        let pulls = weights.iter().map(|weight| SHRINKAGE * f64::from(*weight));
        gradient.iter_mut().zip(pulls).for_each(|(gradient, pull)| *gradient += pull);
        let squares: f64 = weights.iter().map(|weight| f64::from(*weight).powi(2)).sum();
        Ok::<f64, TrainError>(value + 0.5 * SHRINKAGE * squares)
    })?;
    Ok(lbfgs.parameters().to_vec())
}

/// The score of each row of terms by weights with a bias after them.
fn score(terms: &Sparse, parameters: &[f32]) -> Vec<f32> {
    let bias = f64::from(parameters[terms.columns]);
    let of_row = |row: usize| {
        let (columns, values) = terms.entries(row);
        let products = columns.iter().zip(values);
        let sum: f64 = products.map(|(at, value)| f64::from(parameters[*at as usize] * value)).sum();
        (sum + bias) as f32
    };
    (0..terms.rows()).into_par_iter().map(of_row).collect()
}

impl Learnt {
    /// The number of each of these texts.
    pub(super) fn of(&self, texts: &[String]) -> Vec<f32> {
        match self {
            Self::Means { values, means, other } => {
                let known: Vec<&str> = values.iter().map(String::as_str).collect();
                places(&known, texts)
                    .into_iter()
                    .map(|place| place.map_or(*other, |place| means[place]))
                    .collect()
            }
            Self::Score { words, weights, bias } => {
                score(&words.encode(texts), &[&weights[..], &[*bias]].concat())
            }
        }
    }

    /// What cannot be right in what was stored.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        match self {
            Self::Means { values, means, other } => {
                let sound = values.len() == means.len() && finite(means) && other.is_finite();
                (!sound || !values.is_sorted_by(|one, other| one < other))
                    .then_some("categories must be in alphabetical order, each with a mean")
            }
            Self::Score { words, weights, bias } => words.problem().or_else(|| {
                let sound = weights.len() == words.terms.len() && finite(weights) && bias.is_finite();
                (!sound).then_some("each term must have a weight")
            }),
        }
    }
}
