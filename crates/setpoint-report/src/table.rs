//! Columns of text, aligned: words to the left, numbers to the right.

use std::fmt;

/// A table of text with a heading.
#[derive(Clone, Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this heading and no rows yet.
    #[must_use]
    pub fn new<const N: usize>(heading: [&str; N]) -> Self {
        Self { rows: vec![heading.map(str::to_owned).to_vec()] }
    }

    /// A table whose number of columns is known only when it runs.
    #[must_use]
    pub fn with_heading(heading: Vec<String>) -> Self {
        Self { rows: vec![heading] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn heading(&self) -> &[String] {
        &self.rows[0]
    }

    pub(crate) fn body(&self) -> &[Vec<String>] {
        &self.rows[1..]
    }
}

/// The first column is flush left, the others flush right, two blanks between.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                let pad = " ".repeat(width - cell.chars().count());
                match column {
                    0 => line += &format!("{cell}{pad}"),
                    _ => line += &format!("  {pad}{cell}"),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["who", "recall"]);
        table.row(["cross-entropy".to_owned(), "9 ± 1".to_owned()]);
        table.row(["us".to_owned(), "10.5".to_owned()]);
        assert_eq!(
            table.to_string(),
            "who            recall\ncross-entropy   9 ± 1\nus               10.5\n"
        );
    }
}
