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

/// Those that give a user the rights of root, and those that look around.
const U2R: [&str; 4] = ["buffer_overflow", "loadmodule", "perl", "rootkit"];
const PROBE: [&str; 4] = ["ipsweep", "nmap", "portsweep", "satan"];

/// A side of an image of Fashion-MNIST.
const SIDE: usize = 28;

impl Source {
    /// Reads the rows of a table with a label of two classes.
    pub fn table(self, directory: &Path) -> Result<Table, ExperimentError> {
        let mut bytes = Vec::new();
        for file in self.files() {
            let more = bytes_of(&directory.join(file))?;
            if self == Self::Kdd {
                let text = String::from_utf8_lossy(&more);
                bytes
                    .extend(once(&text, |attack| if R2L.contains(&attack) { "1" } else { "0" }).into_bytes());
            } else {
                bytes.extend(more);
            }
        }
        Ok(Table::from_bytes(self.files()[0], bytes, &ReadOptions::default(), &self.roles(), None)?)
    }

    /// Reads the rows of a table with a label of several classes, which are its groups.
    pub fn class_table(self, directory: &Path) -> Result<Table, ExperimentError> {
        let files = self.files().iter().map(|file| bytes_of(&directory.join(file)));
        let files = files.collect::<Result<Vec<_>, _>>()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        // One text, comma separated.
        let rows = match (self, &files[..]) {
            (Self::Fashion, [images, labels]) => pooled(images, labels),
            (Self::Kdd, [whole]) => once(&text(whole), kind_of_attack),
            (Self::Satimage | Self::Shuttle, _) => {
                files.iter().map(|file| text(file).replace(' ', ",")).collect()
            }
            _ => files.iter().map(|file| text(file).replace(' ', "")).collect(),
        };
        let first = rows.lines().next().map_or(0, |line| line.matches(',').count() + 1);
        let label = if self == Self::Letter { 1 } else { first };
        let roles = Roles { group: Some(label.to_string()), ..Roles::default() };
        let name = format!("{}.csv", self.files()[0]);
        Ok(Table::from_bytes(&name, rows.into_bytes(), &ReadOptions::default(), &roles, None)?)
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

/// A file's bytes, unpacked.
fn bytes_of(path: &Path) -> Result<Vec<u8>, ExperimentError> {
    let refused = |error| ExperimentError::File { path: path.to_owned(), error };
    let bytes = fs::read(path).map_err(refused)?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut unpacked = Vec::new();
    MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut unpacked).map_err(refused)?;
    Ok(unpacked)
}

/// Sums of 2 x 2 pixels and the class, line by line.
fn pooled(images: &[u8], labels: &[u8]) -> String {
    let mut out = String::new();
    // After the headers of the two files.
    let (images, labels) = (images.get(16..).unwrap_or_default(), labels.get(8..).unwrap_or_default());
    for (image, label) in images.chunks_exact(SIDE * SIDE).zip(labels) {
        for at in 0..SIDE * SIDE / 4 {
            let corner = at / (SIDE / 2) * 2 * SIDE + at % (SIDE / 2) * 2;
            let sum: u32 =
                [0, 1, SIDE, SIDE + 1].iter().map(|offset| u32::from(image[corner + offset])).sum();
            out += &format!("{sum},");
        }
        out += &format!("{label}\n");
    }
    out
}

fn kind_of_attack(attack: &str) -> &'static str {
    match attack {
        "normal" => "normal",
        attack if R2L.contains(&attack) => "r2l",
        attack if U2R.contains(&attack) => "u2r",
        attack if PROBE.contains(&attack) => "probe",
        _ => "dos",
    }
}

/// Every line once, with the class of its label.
fn once<'c>(text: &str, class: impl Fn(&str) -> &'c str) -> String {
    let mut seen = HashSet::new();
    let mut out = String::with_capacity(text.len() / 3);
    for (features, label) in text.lines().filter_map(|line| line.rsplit_once(',')) {
        let class = class(label.trim_end_matches('.'));
        if seen.insert((features, class)) {
            out += &format!("{features},{class}\n");
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
        let classes = once(text, kind_of_attack);
        assert_eq!(classes, "0,tcp,1,normal\n0,tcp,1,r2l\n0,udp,1,dos\n");
    }

    #[test]
    fn a_missing_file_is_named() {
        for (source, file) in [(Source::Spambase, "spambase.data"), (Source::Kdd, "kddcup")] {
            let error = source.table(Path::new("no-such-directory")).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains("SETPOINT_DATA"), "{error}");
        }
    }
}
