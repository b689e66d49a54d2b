//! The five sets: which files they are, and what is positive in them.

use std::fs;
use std::path::Path;

use setpoint_data::{Comparison, Positive, ReadOptions, Roles, Table};

use crate::ExperimentError;

/// A data set of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Set {
    /// Letter Recognition: U, the most frequent letter, against the rest.
    Letter,
    /// IJCNN1, the 49,990 rows of its training and validation files.
    Ijcnn1,
    /// Adult in its encoding as binary features (a9a), both parts: the paper's 48,842 rows.
    Adult,
    /// Spambase.
    Spambase,
    /// Communities and Crime: crime above the 70th percentile (0.28).
    Crime,
}

impl Set {
    /// In the paper's order.
    pub const ALL: [Self; 5] = [Self::Letter, Self::Ijcnn1, Self::Adult, Self::Spambase, Self::Crime];

    /// Its name in files and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Letter => "letter",
            Self::Ijcnn1 => "ijcnn1",
            Self::Adult => "adult",
            Self::Spambase => "spambase",
            Self::Crime => "crime",
        }
    }

    /// Its name in tables.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Letter => "Letter",
            Self::Ijcnn1 => "IJCNN1",
            Self::Adult => "Adult",
            Self::Spambase => "Spambase",
            Self::Crime => "Crime",
        }
    }

    /// The set of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == name)
    }

    /// Its files in the data directory; where there are two, the rows of the second follow the first's.
    #[must_use]
    pub fn files(self) -> &'static [&'static str] {
        match self {
            Self::Letter => &["letter-recognition.data"],
            Self::Ijcnn1 => &["ijcnn1.gz"],
            Self::Adult => &["a9a", "a9a.t"],
            Self::Spambase => &["spambase.data"],
            Self::Crime => &["communities.data"],
        }
    }

    /// Rows times columns: how much work it is, next to others.
    #[must_use]
    pub fn size(self) -> u64 {
        match self {
            Self::Letter => 20_000 * 16,
            Self::Ijcnn1 => 49_990 * 22,
            Self::Adult => 48_842 * 123,
            Self::Spambase => 4_601 * 57,
            Self::Crime => 1_994 * 145,
        }
    }

    /// SHA-256 of its files, in their order.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn hashes(self, directory: &Path) -> Result<Vec<String>, ExperimentError> {
        let hash =
            |file: &&str| setpoint_data::hash(&directory.join(file)).map_err(setpoint_data::Error::from);
        Ok(self.files().iter().map(hash).collect::<Result<_, _>>()?)
    }

    /// Reads its rows.
    ///
    /// # Errors
    /// If a file is missing or is not what it should be.
    pub fn table(self, directory: &Path) -> Result<Table, ExperimentError> {
        let mut bytes = Vec::new();
        for file in self.files() {
            let path = directory.join(file);
            let more = fs::read(&path).map_err(|error| ExperimentError::File { path, error })?;
            bytes.extend(more);
        }
        Ok(Table::from_bytes(self.files()[0], bytes, &ReadOptions::default(), &self.roles())?)
    }

    fn roles(self) -> Roles {
        let label =
            |column: &str, positive| Roles { label: Some(column.to_owned()), positive, ..Roles::default() };
        match self {
            Self::Letter => label("1", Positive::Value("U".to_owned())),
            Self::Ijcnn1 | Self::Adult => Roles::default(),
            Self::Spambase => label("58", Positive::Auto),
            Self::Crime => Roles {
                drop: vec!["1-5".to_owned()],
                ..label("128", Positive::Rule(Comparison::Above, 0.28))
            },
        }
    }
}

#[cfg(test)]
/// A directory with a small file that has the shape of Spambase.
pub(crate) fn made(rows: usize) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for row in 0..rows {
        let positive = row % 3 == 0;
        for column in 0..57 {
            let noise = ((row * 57 + column) as f64 * 12.9898).sin() * 43_758.547;
            let shift = if positive && column < 5 { 0.3 } else { 0.0 };
            text += &format!("{:.3},", noise.fract().abs() + shift);
        }
        text += if positive { "1\n" } else { "0\n" };
    }
    std::fs::write(directory.path().join("spambase.data"), text).unwrap();
    directory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_found_by_its_name() {
        assert!(Set::ALL.iter().all(|set| Set::named(set.name()) == Some(*set)));
        assert_eq!(Set::named("mnist"), None);
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Set::Spambase.table(Path::new("no-such-directory")).unwrap_err().to_string();
        assert!(error.contains("spambase.data") && error.contains("SETPOINT_DATA"), "{error}");
    }
}
