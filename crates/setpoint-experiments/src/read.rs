//! Reading the tables: which columns they have, and what is positive in them.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use setpoint_data::{Comparison, Positive, ReadOptions, Roles, Table};

use crate::ExperimentError;
use crate::task::Source;

/// The attacks of KDD Cup 1999 that count as R2L.
const R2L: [&str; 8] =
    ["ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient", "warezmaster"];

impl Source {
    /// Reads the rows of a table.
    pub fn table(self, directory: &Path) -> Result<Table, ExperimentError> {
        let mut bytes = Vec::new();
        for file in self.files() {
            let path = directory.join(file);
            let refused = |error| ExperimentError::File { path: path.clone(), error };
            let more = fs::read(&path).map_err(refused)?;
            if self == Self::Kdd {
                let mut text = String::new();
                MultiGzDecoder::new(more.as_slice()).read_to_string(&mut text).map_err(refused)?;
                bytes.extend(once(&text).into_bytes());
            } else {
                bytes.extend(more);
            }
        }
        Ok(Table::from_bytes(self.files()[0], bytes, &ReadOptions::default(), &self.roles(), None)?)
    }

    fn roles(self) -> Roles {
        let label =
            |column: &str, positive| Roles { label: Some(column.to_owned()), positive, ..Roles::default() };
        match self {
            Self::Letter => label("1", Positive::Value("U".to_owned())),
            Self::Spambase => label("58", Positive::Auto),
            Self::Crime => Roles {
                drop: vec!["1-5".to_owned()],
                ..label("128", Positive::Rule(Comparison::Above, 0.28))
            },
            Self::Kdd => label("42", Positive::Auto),
            _ => Roles::default(),
        }
    }
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
    fn a_row_that_is_repeated_counts_once() {
        let text = "0,tcp,1,normal.\n0,tcp,1,normal.\n0,tcp,1,spy.\n0,udp,1,smurf.\n0,tcp,1,phf.\n";
        assert_eq!(once(text), "0,tcp,1,0\n0,tcp,1,1\n0,udp,1,0\n");
    }

    #[test]
    fn a_missing_file_is_named() {
        for (source, file) in [(Source::Spambase, "spambase.data"), (Source::Kdd, "kddcup")] {
            let error = source.table(Path::new("no-such-directory")).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains("SETPOINT_DATA"), "{error}");
        }
    }
}
