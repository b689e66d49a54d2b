//! The tasks, split by seed, in the columns that trees want: no scaling, categories as codes.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use setpoint::Sample;
use setpoint_data::{Encoder, ReadOptions, Roles, SplitPlan, Table, select_sample};
use setpoint_trees::{Data, Features, Parameters, TreesError};

use crate::uci::{Matrix, PARTS, Set};
use crate::{ExperimentError, FileRecord, export as file};

/// A data set with something to find in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// One of the paper's.
    Uci(Set),
    /// KDD Cup 1999, a tenth of it, without repeated rows: intrusions from afar (R2L), 0.7% of the rows.
    Kdd,
}

const KDD: &str = "kddcup.data_10_percent.gz";
/// The attacks that count as R2L.
const R2L: [&str; 8] =
    ["ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient", "warezmaster"];

/// A task split by a seed.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Train, validation and test rows.
    pub parts: [Matrix; 3],
    /// The columns that hold codes.
    pub categorical: Vec<u32>,
}

impl Task {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Uci(Set::Letter),
        Self::Uci(Set::Ijcnn1),
        Self::Uci(Set::Adult),
        Self::Uci(Set::Spambase),
        Self::Kdd,
    ];

    /// Its name in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uci(set) => set.name(),
            Self::Kdd => "kdd-r2l",
        }
    }

    /// Its name in tables.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Uci(set) => set.title(),
            Self::Kdd => "KDD R2L",
        }
    }

    /// The names of its files.
    #[must_use]
    pub fn names(self) -> &'static [&'static str] {
        match self {
            Self::Uci(set) => set.files(),
            Self::Kdd => &[KDD],
        }
    }

    /// Its files and their hashes.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn files(self, directory: &Path) -> Result<Vec<FileRecord>, ExperimentError> {
        let record = |name: &&str| -> Result<FileRecord, ExperimentError> {
            let path = directory.join(name);
            let sha256 = setpoint_data::hash(&path).map_err(setpoint_data::Error::from)?;
            Ok(FileRecord { name: (*name).to_owned(), sha256 })
        };
        self.names().iter().map(record).collect()
    }

    fn table(self, directory: &Path) -> Result<Table, ExperimentError> {
        match self {
            Self::Uci(set) => set.table(directory),
            Self::Kdd => {
                let path = directory.join(KDD);
                let refused = |error| ExperimentError::File { path: path.clone(), error };
                let mut text = String::new();
                let packed = fs::read(&path).map_err(refused)?;
                MultiGzDecoder::new(packed.as_slice()).read_to_string(&mut text).map_err(refused)?;
                let roles = Roles { label: Some("42".to_owned()), ..Roles::default() };
                Ok(Table::from_bytes(KDD, once(&text).into_bytes(), &ReadOptions::default(), &roles)?)
            }
        }
    }

    /// Reads it and splits it: half to train on, a quarter to choose by, a quarter to report.
    ///
    /// # Errors
    /// If a file is missing or is not what it should be.
    pub fn problem(self, directory: &Path, seed: u64) -> Result<Problem, ExperimentError> {
        Ok(Problem::new(self.table(directory)?, seed)?)
    }
}

impl Problem {
    fn new(table: Table, seed: u64) -> Result<Self, setpoint_data::Error> {
        let plan: SplitPlan = "train=0.5,validation=0.25,test=0.25".parse()?;
        let rows = plan.split(&table, seed)?;
        let labels = Sample::new(table.labels().unwrap_or_default().to_vec())?;
        let encoder = Encoder::fit(&table, rows.rows("train"))?.plain();
        let categorical = encoder.coded_columns().into_iter().map(|column| column as u32).collect();
        let features = encoder.encode(table)?.features;
        let part = |part: &str| -> Result<Matrix, setpoint_data::Error> {
            let values = features.select(rows.rows(part))?.into_row_major();
            let sample = select_sample(&labels, rows.rows(part))?;
            Ok(Matrix { values, columns: features.columns(), sample, zero: None })
        };
        let [train, validation, test] = PARTS.map(part);
        Ok(Self { parts: [train?, validation?, test?], categorical })
    }

    /// A part as trees take it.
    pub(super) fn data(&self, part: usize) -> Result<Data<'_>, TreesError> {
        let Matrix { values, columns, sample, .. } = &self.parts[part];
        Ok(Data { features: Features::dense(values, *columns)?, sample, categorical: &self.categorical })
    }
}

/// Writes a split as `<task>-<seed>.safetensors` for other tools, with the columns that hold codes and the
/// search's configurations beside. Returns the file's path.
///
/// # Errors
/// If the data cannot be read or the file not be written.
pub fn export(
    task: Task,
    data: &Path,
    seed: u64,
    configurations: &[Parameters],
    to: &Path,
) -> Result<PathBuf, ExperimentError> {
    let Problem { parts, categorical } = task.problem(data, seed)?;
    let path = to.join(format!("{}-{seed}.safetensors", task.name()));
    let failed = |error: serde_json::Error| ExperimentError::File { path: path.clone(), error: error.into() };
    let notes = [
        ("categorical".to_owned(), serde_json::to_string(&categorical).map_err(failed)?),
        ("configurations".to_owned(), serde_json::to_string(configurations).map_err(failed)?),
    ];
    file::write(&path, &parts, BTreeMap::from(notes))?;
    Ok(path)
}

/// Every line once, its label 1 for R2L and 0 for anything else.
fn once(text: &str) -> String {
    let mut seen = HashSet::new();
    let mut out = String::with_capacity(text.len() / 3);
    for (features, label) in text.lines().filter_map(|line| line.rsplit_once(',')) {
        let positive = R2L.contains(&label.trim_end_matches('.'));
        if seen.insert((features, positive)) {
            out += features;
            out += if positive { ",1\n" } else { ",0\n" };
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_repeated_counts_once() {
        let text = "0,tcp,1,normal.\n0,tcp,1,normal.\n0,tcp,1,spy.\n0,udp,1,smurf.\n0,tcp,1,phf.\n";
        assert_eq!(once(text), "0,tcp,1,0\n0,tcp,1,1\n0,udp,1,0\n");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Task::Kdd.problem(Path::new("no-such-directory"), 0).unwrap_err().to_string();
        assert!(error.contains(KDD) && error.contains("SETPOINT_DATA"), "{error}");
    }
}
