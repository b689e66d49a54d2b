//! One random half of a table to train on, a quarter to choose by, a quarter to report.
//!
//! Linear models and networks see each column centred and scaled by the mean and deviation of the
//! training rows. (Setpoint's own encoding of sparse files leaves their zeros in place.) Trees see numbers
//! as they are, and categories as codes.

use std::path::Path;

use setpoint::Sample;
use setpoint::features::Features;
use setpoint_data::{Encoder, Parts, SplitPlan, Table, select_sample};

use crate::ExperimentError;
use crate::task::Source;

/// The parts of a split, in their order.
pub const PARTS: [&str; 3] = ["train", "validation", "test"];

/// A share of a table's rows, as numbers.
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

/// The three parts with their columns standardised.
pub fn standardised(source: Source, directory: &Path, seed: u64) -> Result<[Matrix; 3], ExperimentError> {
    Ok(Encoded::new(source.table(directory)?, seed, false)?.standardised()?)
}

/// The three parts as they are, and which columns hold codes.
pub fn plain(
    source: Source,
    directory: &Path,
    seed: u64,
) -> Result<([Matrix; 3], Vec<u32>), ExperimentError> {
    let encoded = Encoded::new(source.table(directory)?, seed, true)?;
    let [train, validation, test] = PARTS.map(|part| encoded.matrix(part));
    Ok(([train?, validation?, test?], encoded.coded))
}

/// A table as numbers, and which of its rows are in which part.
struct Encoded {
    features: Features,
    labels: Sample,
    rows: Parts,
    coded: Vec<u32>,
}

impl Encoded {
    fn new(table: Table, seed: u64, plain: bool) -> Result<Self, setpoint_data::Error> {
        let plan: SplitPlan = "train=0.5,validation=0.25,test=0.25".parse()?;
        let rows = plan.split(&table, seed)?;
        let labels = Sample::new(table.labels().unwrap_or_default().to_vec())?;
        let encoder = Encoder::fit(&table, rows.rows("train"))?;
        let encoder = if plain { encoder.plain()? } else { encoder };
        let coded = encoder.coded_columns().into_iter().map(|column| column as u32).collect();
        Ok(Self { features: encoder.encode(table)?.features, labels, rows, coded })
    }

    fn matrix(&self, part: &str) -> Result<Matrix, setpoint_data::Error> {
        let rows = self.rows.rows(part);
        let values = self.features.select(rows)?.into_row_major();
        let sample = select_sample(&self.labels, rows)?;
        Ok(Matrix { values, columns: self.features.columns(), sample, zero: None })
    }

    fn standardised(&self) -> Result<[Matrix; 3], setpoint_data::Error> {
        // Tables are centred and scaled by the encoder already.
        let scaling = match self.features.entries() {
            None => None,
            Some(_) => Some(Scaling::of(&self.matrix("train")?)),
        };
        let scaled = |part: &str| -> Result<Matrix, setpoint_data::Error> {
            let mut matrix = self.matrix(part)?;
            matrix.zero = scaling.as_ref().map(|scaling| {
                let mut zero = vec![0.0; matrix.columns];
                scaling.apply(&mut zero);
                scaling.apply(&mut matrix.values);
                zero
            });
            Ok(matrix)
        };
        let [train, validation, test] = PARTS.map(scaled);
        Ok([train?, validation?, test?])
    }
}

/// Mean and deviation of each column.
struct Scaling {
    columns: Vec<(f64, f64)>,
}

impl Scaling {
    /// Of these rows; a column with a single value is only centred.
    fn of(rows: &Matrix) -> Self {
        let count = rows.sample.len() as f64;
        let column = |column: usize| {
            let values =
                || rows.values.iter().skip(column).step_by(rows.columns).map(|value| f64::from(*value));
            let mean = values().sum::<f64>() / count;
            let deviation = (values().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
            (mean, if deviation > 0.0 { deviation } else { 1.0 })
        };
        Self { columns: (0..rows.columns).map(column).collect() }
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
            Table::from_bytes(name, text.into_bytes(), &ReadOptions::default(), &roles, None).unwrap()
        };
        let roles = Roles { label: Some("y".to_owned()), ..Roles::default() };
        [read("t.svm", sparse, Roles::default()), read("t.csv", dense, roles)]
    }

    fn split(table: Table, seed: u64) -> [Matrix; 3] {
        Encoded::new(table, seed, false).unwrap().standardised().unwrap()
    }

    #[test]
    fn columns_have_mean_0_and_deviation_1_on_the_training_rows() {
        for table in tables() {
            let [train, validation, test] = split(table, 3);
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
        let [sparse, dense] = tables().map(|table| split(table, 3));
        for (sparse, dense) in sparse.iter().zip(&dense) {
            assert_eq!(sparse.sample.labels(), dense.sample.labels());
            let apart = sparse.values.iter().zip(&dense.values).map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f32::max) < 1e-5);
        }
    }

    #[test]
    fn another_seed_gives_another_split_and_the_same_seed_the_same() {
        let labels = |seed| split(tables().into_iter().next().unwrap(), seed)[0].values.clone();
        assert_eq!(labels(0), labels(0));
        assert_ne!(labels(0), labels(1));
    }
}
