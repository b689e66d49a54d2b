//! Label columns from values, and from tables of any format.

use std::collections::HashMap;

use crate::Error;
use crate::assemble::codes;
use crate::chunk::MISSING;
use crate::dataset::Codes;
use crate::read::source::Source;
use crate::read::{Format, ReadOptions, Request, column_names, delimited, parquet, sniff};
use crate::role::Roles;

use super::error::ImageError;

/// A column of texts in the order they come; `None` is missing.
pub(super) fn of_texts<T: AsRef<str>>(column: &str, texts: impl IntoIterator<Item = Option<T>>) -> Codes {
    let mut index: HashMap<String, u32> = HashMap::new();
    let mut names = Vec::new();
    let mut code = |text: T| match index.get(text.as_ref()) {
        Some(code) => *code,
        None => {
            let code = names.len() as u32;
            names.push(text.as_ref().to_owned());
            index.insert(text.as_ref().to_owned(), code);
            code
        }
    };
    let of = texts.into_iter().map(|text| text.map_or(MISSING, &mut code)).collect();
    Codes { column: column.to_owned(), names, of }
}

/// A column of bytes.
pub(super) fn of_bytes(column: &str, bytes: impl Iterator<Item = u8> + Clone) -> Codes {
    let mut place = [None; 256];
    bytes.clone().for_each(|byte| place[byte as usize] = Some(0));
    let mut names = Vec::new();
    for (byte, place) in place.iter_mut().enumerate().filter(|(_, place)| place.is_some()) {
        *place = Some(names.len() as u32);
        names.push(byte.to_string());
    }
    let of = bytes.filter_map(|byte| place[byte as usize]).collect();
    Codes { column: column.to_owned(), names, of }
}

/// A column of truths: `1` and `0`.
pub(super) fn of_bools(column: &str, truths: impl Iterator<Item = bool>) -> Codes {
    let names = ["0", "1"].map(str::to_owned).to_vec();
    Codes { column: column.to_owned(), names, of: truths.map(u32::from).collect() }
}

/// Every column of a table, as texts.
pub(super) fn of_table(source: &Source, missing: Option<&[String]>) -> Result<Vec<Codes>, Error> {
    const HEAD: usize = 1 << 20;
    let file = source.name();
    let options = ReadOptions::default();
    let (head, all) = source.head(HEAD)?;
    let format = sniff::format(file, &head)?;
    let missing = missing.map(<[String]>::to_vec);
    let mut roles = Roles { missing, ..Roles::default() };
    let raw = match format {
        Format::Delimited => {
            let names = column_names(file, &head, all)?;
            roles.categorical = vec![format!("1-{}", names.len())];
            delimited::read(
                source,
                Request { options: &options, roles: &roles, expected: None, pieces: None },
            )?
        }
        Format::Parquet => {
            let columns = |roles: &Roles| {
                parquet::read(source, Request { options: &options, roles, expected: None, pieces: None })
            };
            roles.categorical = vec![format!("1-{}", columns(&roles)?.layout.names.len())];
            columns(&roles)?
        }
        Format::SvmLight => {
            let problem = "an SVMLight file; expected a label table in CSV or Parquet".to_owned();
            return Err(ImageError::Labels { file: file.to_owned(), problem }.into());
        }
    };
    Ok((0..raw.layout.names.len()).map(|at| codes(raw.layout.names[at].clone(), &raw, at)).collect())
}

/// The text of a row of a column.
pub(super) fn text(column: &Codes, row: usize) -> Option<&str> {
    column.names.get(column.of[row] as usize).map(String::as_str)
}

/// The part that a text names: an index into [`PARTS`](crate::PARTS).
pub(super) fn part(text: &str) -> Option<u8> {
    match text.trim().to_ascii_lowercase().as_str() {
        "0" | "train" | "training" => Some(0),
        "1" | "val" | "valid" | "validation" | "dev" => Some(1),
        "calibration" => Some(2),
        "2" | "test" => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_keep_texts_and_what_is_missing() {
        let column = of_texts("y", [Some("b"), None, Some("a"), Some("b")]);
        assert_eq!((column.of.as_slice(), column.names.len()), ([0, MISSING, 1, 0].as_slice(), 2));
        assert_eq!((text(&column, 0), text(&column, 1)), (Some("b"), None));
        let column = of_bytes("y", [9, 2, 9].into_iter());
        assert_eq!((column.of, column.names), (vec![1, 0, 1], vec!["2".to_owned(), "9".to_owned()]));
    }

    #[test]
    fn a_table_comes_as_texts_whatever_it_holds() {
        let table = "file,age,who\n001,3,a\n002,?,b\n003,4.50,\n".to_owned();
        let columns = of_table(&Source::from_bytes("t.csv", table.into_bytes()), None).unwrap();
        let row = |row| columns.iter().map(|column| text(column, row)).collect::<Vec<_>>();
        assert_eq!(row(0), [Some("001"), Some("3"), Some("a")]);
        assert_eq!(row(1), [Some("002"), None, Some("b")]);
        assert_eq!(row(2), [Some("003"), Some("4.50"), None]);
    }
}
