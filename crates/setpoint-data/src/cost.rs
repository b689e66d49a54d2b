//! What each decision costs for each true class: a table with the decided classes as columns.
//!
//! ```text
//! true,normal,probe,r2l
//! normal,0,1,2
//! probe,5,0,5
//! r2l,20,20,0
//! ```

use std::path::Path;

use setpoint::message::{list, quote};
use thiserror::Error;

use crate::dataset::Codes;
use crate::form::number;
use crate::label::same;
use crate::read::ReadOptions;
use crate::role::Roles;
use crate::table::Table;

/// Why a file is no table of costs.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CostError {
    /// It cannot be read.
    #[error("the table of costs: {0}")]
    Read(#[from] Box<crate::Error>),
    /// A class that is missing, or named twice.
    #[error(
        "{file}: expected one {what} for each of the classes {}, found {}",
        list(expected),
        if found.is_empty() { "none".to_owned() } else { list(found) }
    )]
    Classes {
        /// The file.
        file: String,
        /// `row` or `column`.
        what: &'static str,
        /// The classes.
        expected: Vec<String>,
        /// What is there.
        found: Vec<String>,
    },
    /// Costs that say nothing.
    #[error("{file}: whatever the true class, every decision costs the same: there is nothing to choose")]
    Alike {
        /// The file.
        file: String,
    },
    /// A cost that is no number.
    #[error(
        "{file}: the cost of deciding {} where {} is true is {}; expected a number that 32 bits can hold",
        quote(decided),
        quote(truth),
        quote(found)
    )]
    Cost {
        /// The file.
        file: String,
        /// The true class.
        truth: String,
        /// The decided class.
        decided: String,
        /// What is there.
        found: String,
    },
}

/// Reads the costs of the decisions for these classes, true class by true class.
///
/// The first column names the true classes, the header the decided ones; both in any order.
///
/// # Errors
/// If the file cannot be read, a class is missing or unknown, a cost is no number, or all decisions cost the same.
pub fn cost_table(path: &Path, classes: &[String]) -> Result<Vec<f64>, CostError> {
    let file = path.display().to_string();
    // The first row names the classes, whatever they are called: it is read as one of the others.
    let read = |keep: Vec<String>| {
        let options = ReadOptions { header: Some(false), ..ReadOptions::default() };
        let roles = Roles { keep, missing: Some(Vec::new()), ..Roles::default() };
        Table::read(path, &options, &roles).map_err(Box::new)
    };
    let table = read(read(vec!["1".to_owned()])?.names().to_vec())?;
    let texts = |codes: &Codes| -> Vec<String> {
        codes.of.iter().map(|code| codes.names.get(*code as usize).cloned().unwrap_or_default()).collect()
    };
    let mut columns: Vec<Vec<String>> = table.kept().iter().map(texts).collect();
    let heads: Vec<String> = columns.iter_mut().map(|column| column.remove(0)).collect();
    let places = |what, found: &[String]| -> Result<Vec<usize>, CostError> {
        let of = |class: &String| found.iter().position(|name| same(name, class));
        let places: Option<Vec<usize>> = classes.iter().map(of).collect();
        match places {
            Some(places) if found.len() == classes.len() => Ok(places),
            _ => {
                let (expected, found) = (classes.to_vec(), found.to_vec());
                Err(CostError::Classes { file: file.clone(), what, expected, found })
            }
        }
    };
    let truths = places("row", &columns[0])?;
    let decided = places("column", &heads[1..])?;
    let mut costs = Vec::with_capacity(classes.len().pow(2));
    for (truth, row) in classes.iter().zip(&truths) {
        for (class, column) in classes.iter().zip(&decided) {
            let text = &columns[1 + column][*row];
            let cost = number(text.as_bytes()).filter(|cost| (*cost as f32).is_finite());
            costs.push(cost.ok_or_else(|| CostError::Cost {
                file: file.clone(),
                truth: truth.clone(),
                decided: class.clone(),
                found: text.clone(),
            })?);
        }
    }
    if costs.chunks_exact(classes.len()).all(|row| row.iter().all(|cost| *cost == row[0])) {
        return Err(CostError::Alike { file });
    }
    Ok(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, classes: &[&str]) -> Result<Vec<f64>, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("costs.csv");
        std::fs::write(&path, text).unwrap();
        let classes: Vec<String> = classes.iter().map(|class| (*class).to_owned()).collect();
        let said = |error: CostError| error.to_string().replace(&path.display().to_string(), "costs.csv");
        cost_table(&path, &classes).map_err(said)
    }

    #[test]
    fn costs_go_by_the_names_of_rows_and_columns() {
        let text = "true,b,a\na,3,0\nb,0,-1.5\n";
        assert_eq!(read(text, &["a", "b"]), Ok(vec![0.0, 3.0, -1.5, 0.0]));
        // A header of numbers is one all the same.
        assert_eq!(read(",0,1\n0,0,1\n1,20,0\n", &["0", "1"]), Ok(vec![0.0, 1.0, 20.0, 0.0]));
    }

    #[test]
    fn what_is_wrong_with_a_table_is_said() {
        for (text, message) in [
            ("true,a\na,0\nb,1\n", "costs.csv: expected one column for each of the classes a, b, found a"),
            ("true,a,b\na,0,1\n", "costs.csv: expected one row for each of the classes a, b, found a"),
            (
                "true,a,c\na,0,1\nb,1,0\n",
                "costs.csv: expected one column for each of the classes a, b, found a, c",
            ),
            (
                "true,a,b\na,0,much\nb,1,0\n",
                "costs.csv: the cost of deciding \"b\" where \"a\" is true is \"much\"; expected a number that 32 bits can hold",
            ),
            (
                "true,a,b\na,0,1e39\nb,1,0\n",
                "costs.csv: the cost of deciding \"b\" where \"a\" is true is \"1e39\"; expected a number that 32 bits can hold",
            ),
            (
                "true,a,b\na,2,2\nb,0,0\n",
                "costs.csv: whatever the true class, every decision costs the same: there is nothing to choose",
            ),
            (
                "true,a,b\na,0,\nb,1,0\n",
                "costs.csv: the cost of deciding \"b\" where \"a\" is true is \"\"; expected a number that 32 bits can hold",
            ),
        ] {
            assert_eq!(read(text, &["a", "b"]).unwrap_err(), message, "{text}");
        }
        assert!(read("", &["a", "b"]).unwrap_err().starts_with("the table of costs: costs.csv"));
    }
}
