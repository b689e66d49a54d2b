//! One random half of a set to train on, a quarter to choose by, a quarter to report.
//!
//! Every method sees the same numbers: each column centred and scaled by the mean and deviation of the
//! training rows. (Setpoint's own encoding of sparse files leaves their zeros in place.)

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use setpoint::model::{Linear, Model, Rows};
use setpoint::train::TrainError;
use setpoint::train::selection::value;
use setpoint::{Goal, Sample};
use setpoint_data::{Encoder, SplitPlan, Table, select_sample};

use super::Set;
use super::centred::Centred;
use crate::{ExperimentError, export};

/// The parts of a split, in their order.
pub const PARTS: [&str; 3] = ["train", "validation", "test"];

/// A share of a set's rows, as numbers.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Row after row.
    pub values: Vec<f32>,
    /// Numbers in a row.
    pub columns: usize,
    /// The labels.
    pub sample: Sample,
    /// What 0 became in each column of a sparse file.
    pub zero: Option<Vec<f32>>,
}

/// A share of a set's rows, held by a model.
#[derive(Clone, Debug)]
pub struct Part {
    /// The linear model over them.
    pub model: Features,
    /// The labels.
    pub sample: Sample,
}

/// A set split by a seed.
#[derive(Clone, Debug)]
pub struct Split {
    /// To train on.
    pub train: Part,
    /// To stop and to choose by.
    pub validation: Part,
    /// To report, once.
    pub test: Part,
}

/// A linear model, in the form that is faster for its rows; the numbers are the same.
#[derive(Clone, Debug)]
pub enum Features {
    /// Every number stored.
    Dense(Linear),
    /// Only what differs from the zeros of the file.
    Centred(Centred),
}

impl Features {
    /// A model of these features, which it shares.
    #[must_use]
    pub fn model(&self) -> Box<dyn Model> {
        match self {
            Self::Dense(linear) => Box::new(linear.clone()),
            Self::Centred(centred) => Box::new(centred.clone()),
        }
    }
}

/// Share of numbers other than the file's zeros up to which they alone are stored.
const SPARSE: f64 = 0.25;

impl Part {
    fn new(matrix: Matrix) -> Result<Self, TrainError> {
        let Matrix { values, columns, sample, zero } = matrix;
        let stored = |zero: &[f32]| {
            let rows = values.chunks_exact(columns);
            rows.flat_map(|row| row.iter().zip(zero)).filter(|(value, zero)| value != zero).count()
        };
        let model = match zero {
            Some(zero) if (stored(&zero) as f64) < SPARSE * values.len() as f64 => {
                Features::Centred(Centred::new(&values, &zero)?)
            }
            _ => Features::Dense(Linear::new(setpoint::features::Features::from_row_major(values, columns)?)),
        };
        Ok(Self { model, sample })
    }

    /// The scores of its rows.
    ///
    /// # Errors
    /// If the parameters are not this model's.
    pub fn scores(&self, parameters: &[f32]) -> Result<Vec<f32>, TrainError> {
        let mut scores = vec![0.0; self.sample.len()];
        self.model.model().scores(parameters, Rows::All, &mut scores)?;
        Ok(scores)
    }

    /// The goal's exact value on its rows.
    ///
    /// # Errors
    /// If the goal cannot be met there.
    pub fn value(&self, goal: &Goal, parameters: &[f32]) -> Result<f64, TrainError> {
        value(goal, &self.sample, &self.scores(parameters)?)
    }
}

impl Split {
    /// Reads a set and splits it.
    ///
    /// # Errors
    /// If a file is missing or is not what it should be.
    pub fn read(set: Set, directory: &Path, seed: u64) -> Result<Self, ExperimentError> {
        let [train, validation, test] = matrices(set, directory, seed)?;
        let part = |matrix| {
            let what = || format!("{} with seed {seed}", set.title());
            Part::new(matrix).map_err(|error| ExperimentError::Train { what: what(), error: Box::new(error) })
        };
        Ok(Self { train: part(train)?, validation: part(validation)?, test: part(test)? })
    }
}

/// The standardised rows of the three parts.
///
/// # Errors
/// If a file is missing or is not what it should be.
pub fn matrices(set: Set, directory: &Path, seed: u64) -> Result<[Matrix; 3], ExperimentError> {
    Ok(split(set.table(directory)?, seed)?)
}

/// Writes `<set>-<seed>.safetensors` for other tools. Returns the file's path.
///
/// # Errors
/// If the data cannot be read or the file not be written.
pub fn export(set: Set, data: &Path, seed: u64, to: &Path) -> Result<PathBuf, ExperimentError> {
    let path = to.join(format!("{}-{seed}.safetensors", set.name()));
    export::write(&path, &matrices(set, data, seed)?, BTreeMap::new())?;
    Ok(path)
}

fn split(table: Table, seed: u64) -> Result<[Matrix; 3], setpoint_data::Error> {
    let plan: SplitPlan = "train=0.5,validation=0.25,test=0.25".parse()?;
    let rows = plan.split(&table, seed)?;
    let labels = Sample::new(table.labels().unwrap_or_default().to_vec())?;
    let encoder = Encoder::fit(&table, rows.rows("train"))?;
    let features = encoder.encode(table)?.features;
    let columns = features.columns();
    let scaling = match features.entries() {
        // Centred and scaled by the encoder already.
        None => None,
        Some(_) => Some(Scaling::of(&features.select(rows.rows("train"))?.into_row_major(), columns)),
    };
    let matrix = |part: &str| -> Result<Matrix, setpoint_data::Error> {
        let mut values = features.select(rows.rows(part))?.into_row_major();
        let sample = select_sample(&labels, rows.rows(part))?;
        let zero = scaling.as_ref().map(|scaling| {
            let mut zero = vec![0.0; columns];
            scaling.apply(&mut zero);
            scaling.apply(&mut values);
            zero
        });
        Ok(Matrix { values, columns, sample, zero })
    };
    let [train, validation, test] = PARTS.map(matrix);
    Ok([train?, validation?, test?])
}

/// Mean and deviation of each column.
struct Scaling {
    columns: Vec<(f64, f64)>,
}

impl Scaling {
    /// Of these rows; a column with a single value is only centred.
    fn of(values: &[f32], columns: usize) -> Self {
        let count = (values.len() / columns) as f64;
        let column = |column: usize| {
            let values = || values.iter().skip(column).step_by(columns).map(|value| f64::from(*value));
            let mean = values().sum::<f64>() / count;
            let deviation = (values().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
            (mean, if deviation > 0.0 { deviation } else { 1.0 })
        };
        Self { columns: (0..columns).map(column).collect() }
    }

    fn apply(&self, values: &mut [f32]) {
        for row in values.chunks_exact_mut(self.columns.len()) {
            for (value, (mean, deviation)) in row.iter_mut().zip(&self.columns) {
                *value = ((f64::from(*value) - mean) / deviation) as f32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use setpoint_data::{ReadOptions, Roles};

    /// A table of two features, as sparse text and as columns.
    fn tables() -> [Table; 2] {
        let (mut sparse, mut dense) = (String::new(), "y,a,b\n".to_owned());
        for row in 0..80 {
            let (label, a, b) = (row % 4 == 0, row % 7, (row * row) % 11);
            sparse += &format!("{} 1:{a} 2:{b}\n", if label { "+1" } else { "-1" });
            dense += &format!("{},{a},{b}\n", u8::from(label));
        }
        let read = |name, text: String, roles| {
            Table::from_bytes(name, text.into_bytes(), &ReadOptions::default(), &roles).unwrap()
        };
        let roles = Roles { label: Some("y".to_owned()), ..Roles::default() };
        [read("t.svm", sparse, Roles::default()), read("t.csv", dense, roles)]
    }

    #[test]
    fn columns_have_mean_0_and_deviation_1_on_the_training_rows() {
        for table in tables() {
            let [train, validation, test] = split(table, 3).unwrap();
            assert_eq!([train.sample.len(), validation.sample.len(), test.sample.len()], [40, 20, 20]);
            for column in 0..2 {
                let values = || train.values.iter().skip(column).step_by(2).map(|value| f64::from(*value));
                let mean = values().sum::<f64>() / 40.0;
                let square = values().map(|value| value * value).sum::<f64>() / 40.0;
                // Rounding of the values to f32.
                assert!(mean.abs() < 1e-6 && (square - 1.0).abs() < 1e-6, "{mean} {square}");
            }
        }
    }

    #[test]
    fn sparse_text_and_columns_give_the_same_numbers() {
        let [sparse, dense] = tables().map(|table| split(table, 3).unwrap());
        for (sparse, dense) in sparse.iter().zip(&dense) {
            assert_eq!(sparse.sample.labels(), dense.sample.labels());
            let apart = sparse.values.iter().zip(&dense.values).map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f32::max) < 1e-5);
        }
    }

    #[test]
    fn another_seed_gives_another_split_and_the_same_seed_the_same() {
        let labels = |seed| split(tables().into_iter().next().unwrap(), seed).unwrap()[0].values.clone();
        assert_eq!(labels(0), labels(0));
        assert_ne!(labels(0), labels(1));
    }
}
