//! A task split by a seed: a network over the rows of each part.

use std::sync::Arc;

use rand::seq::index;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use setpoint::features::Features;
use setpoint::model::{Architecture, Inputs, Network};
use setpoint::train::selection::value;
use setpoint::train::{self, Combined, TrainError};
use setpoint::{Goal, Sample};

use super::protocol::HIDDEN;
use crate::ExperimentError;
use crate::uci::Matrix;

/// Some examples, held by a network; a clone shares them.
#[derive(Clone, Debug)]
pub struct Part {
    /// The network over them.
    pub network: Network,
    /// The labels.
    pub sample: Sample,
}

/// A task split by a seed.
#[derive(Clone, Debug)]
pub struct Problem {
    /// To train on.
    pub train: Part,
    /// To stop and to choose by.
    pub validation: Part,
    /// To report, once.
    pub test: Part,
}

/// Share of wrong labels in a flipped task.
const FLIPPED: f64 = 0.1;

impl Part {
    /// The part as training takes it.
    pub fn part(&mut self) -> train::Part<'_> {
        train::Part { model: &mut self.network, sample: &self.sample }
    }

    /// The scores of some fits together.
    pub fn scores(&self, combined: &Combined) -> Result<Vec<f32>, TrainError> {
        let mut scores = vec![0.0; self.sample.len()];
        combined.scores(&mut self.network.clone(), &mut scores)?;
        Ok(scores)
    }

    /// The goal's exact value with some fits together.
    pub fn value(&self, goal: &Goal, combined: &Combined) -> Result<f64, TrainError> {
        value(goal, &self.sample, &self.scores(combined)?)
    }

    /// At most this many of the rows, drawn by a seed.
    fn at_most(self, rows: usize, seed: u64) -> Result<Self, TrainError> {
        if self.sample.len() <= rows {
            return Ok(self);
        }
        let drawn = index::sample(&mut ChaCha8Rng::seed_from_u64(seed), self.sample.len(), rows);
        let mut drawn: Vec<u32> = drawn.into_iter().map(|row| row as u32).collect();
        drawn.sort_unstable();
        Ok(Self { network: self.network.selected(&drawn)?, sample: self.sample.select(&drawn) })
    }

    /// The same with some labels wrong.
    fn flipped(self, seed: u64) -> Result<Self, TrainError> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let flip = |label: &bool| *label != random.random_bool(FLIPPED);
        Ok(Self { sample: Sample::new(self.sample.labels().iter().map(flip).collect())?, ..self })
    }
}

impl Problem {
    /// Networks over the rows of a table, all views of one matrix: rows can then change places.
    ///
    /// # Errors
    /// If the rows are not ones that a network takes.
    pub fn of_tables(matrices: [Matrix; 3]) -> Result<Self, TrainError> {
        let columns = matrices[0].columns;
        let values: Vec<f32> = matrices.iter().flat_map(|matrix| matrix.values.iter().copied()).collect();
        let features: Arc<Features> = Features::from_row_major(values, columns)?.into();
        let network = Network::new(Architecture::mlp(columns, &HIDDEN, 0.0), Inputs::from(features))?;
        let mut first = 0;
        let part = |Matrix { sample, .. }: Matrix| -> Result<Part, TrainError> {
            let rows: Vec<u32> = (first..first + sample.len() as u32).collect();
            first += sample.len() as u32;
            Ok(Part { network: network.selected(&rows)?, sample })
        };
        let [train, validation, test] = matrices.map(part);
        Ok(Self { train: train?, validation: validation?, test: test? })
    }

    /// The same with no more training rows than these, and half as many to validate and to test on.
    ///
    /// # Errors
    /// If rows cannot be selected.
    pub fn at_most(self, rows: Option<usize>, seed: u64) -> Result<Self, TrainError> {
        let Some(rows) = rows else { return Ok(self) };
        let half = rows.div_ceil(2);
        Ok(Self {
            train: self.train.at_most(rows, seed)?,
            validation: self.validation.at_most(half, seed.wrapping_add(1 << 32))?,
            test: self.test.at_most(half, seed.wrapping_add(2 << 32))?,
        })
    }

    /// The same with a tenth of the labels to learn from and to choose by wrong; the test rows are right.
    ///
    /// # Errors
    /// If a part is left with one class.
    pub fn flipped(self, seed: u64) -> Result<Self, TrainError> {
        let (train, validation) =
            (self.train.flipped(seed)?, self.validation.flipped(seed.wrapping_add(1 << 32))?);
        Ok(Self { train, validation, ..self })
    }
}

/// An error of a problem, with its name.
pub fn failed(what: impl Into<String>) -> impl FnOnce(TrainError) -> ExperimentError {
    move |error| match error {
        TrainError::Stopped => ExperimentError::Stopped,
        error => ExperimentError::Train { what: what.into(), error: Box::new(error) },
    }
}
