//! A task split by a seed: a model over the rows of each part.

use std::sync::Arc;

use rand::seq::index;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use setpoint::features::Features;
use setpoint::model::{Architecture, Inputs, Linear, Model, ModelError, Network};
use setpoint::train::{
    self, Candidate, Combined, Fit, Judge, Observer, Progress, Settings, Store, TrainError,
};
use setpoint::{Goal, Sample};

use crate::centred::Centred;
use crate::split::Matrix;
use crate::watch::control;
use crate::{ExperimentError, Watch};

/// A model over some examples; a clone shares them.
#[derive(Clone, Debug)]
pub enum Held {
    /// Linear, over rows of which every number is stored.
    Dense(Linear),
    /// Linear, over rows of which only what differs from the zeros of the file is stored.
    Centred(Centred),
    /// A network.
    Network(Network),
}

/// Some examples, held by a model.
#[derive(Clone, Debug)]
pub struct HeldRows {
    /// The model over them.
    pub held: Held,
    /// The labels.
    pub sample: Sample,
}

/// A task split by a seed.
#[derive(Clone, Debug)]
pub struct Problem {
    /// To train on.
    pub train: HeldRows,
    /// To stop and to choose by.
    pub validation: HeldRows,
    /// To report, once.
    pub test: HeldRows,
}

/// Hidden values of the network on tables.
const HIDDEN: [usize; 2] = [64, 32];
/// Share of wrong labels in a flipped task.
const FLIPPED: f64 = 0.1;
/// Share of numbers other than the file's zeros up to which they alone are stored.
const SPARSE: f64 = 0.25;

impl Held {
    /// A linear model, in the form that is faster for its rows; the numbers are the same.
    fn linear(values: Vec<f32>, columns: usize, zero: Option<Vec<f32>>) -> Result<Self, ModelError> {
        let stored = |zero: &[f32]| {
            let rows = values.chunks_exact(columns);
            rows.flat_map(|row| row.iter().zip(zero)).filter(|(value, zero)| value != zero).count()
        };
        Ok(match zero {
            Some(zero) if (stored(&zero) as f64) < SPARSE * values.len() as f64 => {
                Self::Centred(Centred::new(&values, &zero)?)
            }
            _ => Self::Dense(Linear::new(Features::from_row_major(values, columns)?)),
        })
    }

    /// The model.
    pub fn model(&self) -> Box<dyn Model> {
        match self {
            Self::Dense(linear) => Box::new(linear.clone()),
            Self::Centred(centred) => Box::new(centred.clone()),
            Self::Network(network) => Box::new(network.clone()),
        }
    }
}

impl HeldRows {
    /// The scores of some fits together.
    pub fn scores(&self, combined: &Combined) -> Result<Vec<f32>, TrainError> {
        let mut scores = vec![0.0; self.sample.len()];
        combined.scores(&mut *self.held.model(), &mut scores)?;
        Ok(scores)
    }

    /// The goal's exact value with some fits together.
    pub fn value(&self, goal: &Goal, combined: &Combined) -> Result<f64, TrainError> {
        Judge::new(goal, &self.sample).exact(&self.scores(combined)?)
    }

    /// At most this many of a network's rows, drawn by a seed.
    fn at_most(self, rows: usize, seed: u64) -> Result<Self, TrainError> {
        let Held::Network(network) = &self.held else { return Ok(self) };
        if self.sample.len() <= rows {
            return Ok(self);
        }
        let drawn = index::sample(&mut ChaCha8Rng::seed_from_u64(seed), self.sample.len(), rows);
        let mut drawn: Vec<u32> = drawn.into_iter().map(|row| row as u32).collect();
        drawn.sort_unstable();
        Ok(Self { held: Held::Network(network.selected(&drawn)?), sample: self.sample.select(&drawn) })
    }

    /// The same with some labels wrong.
    fn flipped(self, seed: u64) -> Result<Self, TrainError> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let flip = |label: &bool| *label != random.random_bool(FLIPPED);
        Ok(Self { sample: Sample::new(self.sample.labels().iter().map(flip).collect())?, ..self })
    }
}

impl Problem {
    /// Linear models over the rows of a table.
    pub fn linear(matrices: [Matrix; 3]) -> Result<Self, TrainError> {
        let part = |Matrix { values, columns, sample, zero }: Matrix| -> Result<HeldRows, TrainError> {
            Ok(HeldRows { held: Held::linear(values, columns, zero)?, sample })
        };
        let [train, validation, test] = matrices.map(part);
        Ok(Self { train: train?, validation: validation?, test: test? })
    }

    /// Networks over the rows of a table, all views of one matrix: rows can then change places.
    pub fn network(matrices: [Matrix; 3]) -> Result<Self, TrainError> {
        let columns = matrices[0].columns;
        let values: Vec<f32> = matrices.iter().flat_map(|matrix| matrix.values.iter().copied()).collect();
        let features: Arc<Features> = Features::from_row_major(values, columns)?.into();
        let network = Network::new(Architecture::mlp(columns, &HIDDEN, 0.0), Inputs::from(features))?;
        let mut first = 0;
        let part = |Matrix { sample, .. }: Matrix| -> Result<HeldRows, TrainError> {
            let rows: Vec<u32> = (first..first + sample.len() as u32).collect();
            first += sample.len() as u32;
            Ok(HeldRows { held: Held::Network(network.selected(&rows)?), sample })
        };
        let [train, validation, test] = matrices.map(part);
        Ok(Self { train: train?, validation: validation?, test: test? })
    }

    /// The same with no more training rows than these, and half as many to validate and to test on.
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
    pub fn flipped(self, seed: u64) -> Result<Self, TrainError> {
        let (train, validation) =
            (self.train.flipped(seed)?, self.validation.flipped(seed.wrapping_add(1 << 32))?);
        Ok(Self { train, validation, ..self })
    }

    /// A whole run of Setpoint.
    pub fn fit(
        &self,
        goal: &Goal,
        settings: &Settings,
        watch: &dyn Watch,
        store: Option<&mut dyn Store>,
    ) -> Result<Fit, TrainError> {
        let (mut train, mut validation) = (self.train.held.model(), self.validation.held.model());
        let train = train::Part { model: &mut *train, sample: &self.train.sample };
        let validation = train::Part { model: &mut *validation, sample: &self.validation.sample };
        let mut observer = |_: &Progress| control(watch);
        // A shorter life: that of the observer.
        let store = store.map(|store| store as &mut dyn Store);
        train::fit(goal, train, validation, settings, &mut observer, store)
    }

    /// One fit of a method, from this start or from zeros.
    pub fn fit_alone<'r>(
        &self,
        goal: &Goal,
        settings: &Settings,
        start: Option<&[f32]>,
        observer: &'r mut (dyn Observer + 'r),
        store: Option<&'r mut (dyn Store + 'r)>,
    ) -> Result<Candidate, TrainError> {
        let (mut train, mut validation) = (self.train.held.model(), self.validation.held.model());
        let train = train::Part { model: &mut *train, sample: &self.train.sample };
        let validation = train::Part { model: &mut *validation, sample: &self.validation.sample };
        train::fit_alone(goal, train, validation, settings, start, observer, store)
    }
}

/// An error of a problem, with its name.
pub fn failed(what: impl ToString) -> impl FnOnce(TrainError) -> ExperimentError {
    move |error| match error {
        TrainError::Stopped => ExperimentError::Stopped,
        error => ExperimentError::Train { what: what.to_string(), error: Box::new(error) },
    }
}
