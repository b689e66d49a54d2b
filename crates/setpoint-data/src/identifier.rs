//! Columns of numbers that look like row numbers or identifiers, from which nothing can be learnt that
//! holds on new rows.

use std::collections::HashSet;

use crate::chunk::values;
use crate::layout::ColumnKind;
use crate::table::{Body, Table};

/// Rows from which numbers that differ in each row are no accident.
const ROWS: usize = 100;
/// Values looked at first, so that most columns cost nothing.
const FIRST: usize = 1000;
/// Values looked at in all.
const MOST: usize = 1_000_000;
/// More different numbers than this under the name of an identifier are no codes of categories.
const CODES: usize = 100;

/// What a column of numbers looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identifier {
    /// One more in each row.
    RowNumbers,
    /// Whole numbers, (nearly) all different.
    Identifiers,
    /// Whole numbers that come again, under a name such as `Clothing ID`: of what several rows belong to.
    Repeated,
}

impl Table {
    /// The columns that look like row numbers or identifiers, and which of the two.
    #[must_use]
    pub fn identifiers(&self) -> Vec<(String, Identifier)> {
        let Body::Dense { columns, chunks, .. } = &self.body else { return Vec::new() };
        let plain =
            columns.iter().filter(|column| column.kind == ColumnKind::Number && column.form.is_none());
        let found = plain.filter_map(|column| {
            let numbers = || {
                let numbers = values(chunks, |chunk| chunk.number(column.slot));
                numbers.map(|value| f64::from(value) + column.offset)
            };
            let found = look(self.rows, numbers)
                .or_else(|| repeated(&column.name, numbers()).then_some(Identifier::Repeated))?;
            Some((column.name.clone(), found))
        });
        found.collect()
    }
}

fn look<I: Iterator<Item = f64>>(rows: usize, values: impl Fn() -> I) -> Option<Identifier> {
    // Large numbers are kept in 32 bits, where a few that differ may have become equal.
    let differ = |count: usize| {
        let mut seen = HashSet::with_capacity(count);
        let whole = values().take(count).all(|value| {
            seen.insert(value.to_bits());
            value.fract() == 0.0
        });
        whole && 200 * seen.len() >= 199 * count
    };
    if rows < ROWS || !differ(rows.min(FIRST)) {
        return None;
    }
    if values().zip(values().skip(1)).all(|(one, next)| next == one + 1.0) {
        return Some(Identifier::RowNumbers);
    }
    differ(rows.min(MOST)).then_some(Identifier::Identifiers)
}

/// Whether a column is called an identifier (`id`, `user_id`, `userId`) and holds as many whole numbers as one.
fn repeated(name: &str, mut values: impl Iterator<Item = f64>) -> bool {
    let Some((at, "id" | "Id" | "ID")) = name.len().checked_sub(2).and_then(|at| Some((at, name.get(at..)?)))
    else {
        return false;
    };
    let apart = name[..at].chars().last().is_none_or(|before| {
        !before.is_alphabetic() || (before.is_lowercase() && name[at..].starts_with('I'))
    });
    let mut seen = HashSet::new();
    apart
        && values.all(|value| {
            if seen.len() <= CODES {
                seen.insert(value.to_bits());
            }
            value.fract() == 0.0
        })
        && seen.len() > CODES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, Roles};

    #[test]
    fn row_numbers_and_identifiers_are_told_from_amounts_and_ages() {
        let mut text = "no,id,age,amount,Clothing ID,shopId,paid,y\n".to_owned();
        for row in 0..300u64 {
            let id = 5_000_000_000 + row * 7_919 % 300 * 1_000_003;
            let (item, shop, paid) = (row % 120, row % 4, row % 150);
            text += &format!(
                "{},{id},{},{}.5,{item},{shop},{paid},{}\n",
                row + 1,
                row % 60,
                row * 13 % 300,
                row % 2
            );
        }
        let roles = Roles { label: Some("y".to_owned()), ..Roles::default() };
        let table =
            Table::from_bytes("t.csv", text.into_bytes(), &ReadOptions::default(), &roles, None).unwrap();
        let found = table.identifiers();
        let expected = [
            ("no", Identifier::RowNumbers),
            ("id", Identifier::Identifiers),
            ("Clothing ID", Identifier::Repeated),
        ];
        assert_eq!(found, expected.map(|(name, kind)| (name.to_owned(), kind)));
    }
}
