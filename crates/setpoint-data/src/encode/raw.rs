//! A table's columns as they were read, for programs that encode them on their own.

use setpoint::features::Sparse;

use crate::chunk::{MISSING, values};
use crate::layout::ColumnKind;
use crate::table::{Body, Table};

/// A feature column as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct RawColumn {
    /// Its name; its number from 1 where there is no header.
    pub name: String,
    /// Its values.
    pub values: RawValues,
}

/// The values of a column as they were read.
#[derive(Clone, Debug, PartialEq)]
pub enum RawValues {
    /// Numbers, NaN where one is missing; what a table keeps of them, which is 32 bits beyond an offset.
    Numbers(Vec<f64>),
    /// Texts: for each row an index into `texts`, `u32::MAX` where it is missing.
    Texts {
        /// The different texts.
        texts: Vec<String>,
        /// One for each row.
        of: Vec<u32>,
    },
}

impl Table {
    /// Its feature columns as they were read; `None` of an SVMLight file, which has rows.
    #[must_use]
    pub fn raw_columns(&self) -> Option<Vec<RawColumn>> {
        let Body::Dense { columns, chunks, texts } = &self.body else { return None };
        let raw = |slot: usize, kind: ColumnKind, offset: f64| match kind {
            ColumnKind::Number => {
                let numbers = values(chunks, |chunk| chunk.number(slot));
                RawValues::Numbers(numbers.map(|value| f64::from(value) + offset).collect())
            }
            ColumnKind::Category => RawValues::Texts {
                texts: texts[slot].values.clone(),
                of: values(chunks, |chunk| chunk.code(slot)).collect(),
            },
        };
        let columns = columns.iter().map(|column| RawColumn {
            name: column.name.clone(),
            values: raw(column.slot, column.kind, column.offset),
        });
        Some(columns.collect())
    }

    /// The rows of an SVMLight file in memory, less the offsets of its columns, and those.
    #[must_use]
    pub fn raw_entries(&self) -> Option<(&Sparse, Vec<f64>)> {
        let Body::Sparse { matrix, offsets, .. } = &self.body else { return None };
        let mut all = vec![0.0; matrix.columns];
        offsets.iter().for_each(|(column, offset)| all[*column as usize] = *offset);
        Some((matrix.here()?, all))
    }
}

impl RawValues {
    /// The text of a row; `None` where it is missing, or the column holds numbers.
    #[must_use]
    pub fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Texts { texts, of } if of[row] != MISSING => Some(&texts[of[row] as usize]),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, Roles};

    #[test]
    fn columns_come_back_as_the_file_has_them() {
        let text = "when,town,y\n1700000001,York,1\n1700000002.5,,0\nNA,Leeds,1\n1700000000,York,0\n";
        let roles = Roles { label: Some("y".into()), ..Roles::default() };
        let table = Table::from_bytes("t.csv", text.into(), &ReadOptions::default(), &roles, None).unwrap();
        let raw = table.raw_columns().unwrap();
        let RawValues::Numbers(when) = &raw[0].values else { panic!("{raw:?}") };
        assert_eq!(when[..2], [1700000001.0, 1700000002.5]);
        assert!(when[2].is_nan());
        let towns: Vec<_> = (0..4).map(|row| raw[1].values.text(row)).collect();
        assert_eq!(towns, [Some("York"), None, Some("Leeds"), Some("York")]);
        assert!(table.raw_entries().is_none());
    }
}
