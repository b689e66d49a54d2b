//! What an encoding is learnt from, where rows are in several places: sums over training rows, which merge.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::fit::{Fitted, NumberSums, counts};
use super::{EncodeError, Encoder, Inputs, LabelSchema};
use crate::form::Form;
use crate::layout::ColumnKind;
use crate::offset;
use crate::role::DEFAULT_MISSING;
use crate::table::{Body, Table};

/// The quartiles of a normal distribution are so many deviations apart.
const QUARTILES: f64 = 1.35;

/// Sums over the training rows of some tables with the same columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    columns: Vec<Column>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Column {
    name: String,
    form: Option<Form>,
    /// Whether it was said to hold texts.
    text: bool,
    sums: Sums,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Sums {
    Number { offset: f64, several_offsets: bool, sums: NumberSums },
    Category { texts: Vec<String>, counts: Vec<u64>, missing: u64 },
}

impl Statistics {
    /// The sums over these rows of a table that is not sparse.
    #[must_use]
    pub fn of(table: &Table, rows: &[u32]) -> Self {
        let Body::Dense { columns, chunks, texts } = &table.body else { return Self::default() };
        let mut chosen = vec![false; table.rows];
        rows.iter().for_each(|row| chosen[*row as usize] = true);
        let columns = columns.iter().map(|column| {
            let sums = match column.kind {
                ColumnKind::Number => Sums::Number {
                    offset: column.offset,
                    several_offsets: false,
                    sums: NumberSums::of(chunks, column, &chosen),
                },
                ColumnKind::Category => {
                    let (counts, missing) = counts(chunks, column.slot, texts, &chosen);
                    let there = texts[column.slot].values.iter().zip(counts).filter(|(_, count)| *count > 0);
                    let (texts, counts) = there.map(|(text, count)| (text.clone(), count)).unzip();
                    Sums::Category { texts, counts, missing }
                }
            };
            Column { name: column.name.clone(), form: column.form, text: column.text, sums }
        });
        Self { columns: columns.collect() }
    }

    /// Adds those of the rows that come next.
    ///
    /// # Errors
    /// With the name of a column that the two do not have in common, with the same kind.
    pub fn merge(&mut self, next: Self) -> Result<(), String> {
        if self.columns.len() != next.columns.len() {
            let longer = if self.columns.len() < next.columns.len() { &next.columns } else { &self.columns };
            return Err(longer[self.columns.len().min(next.columns.len())].name.clone());
        }
        for (own, next) in self.columns.iter_mut().zip(next.columns) {
            if own.name != next.name || own.form != next.form || !own.sums.merge(next.sums) {
                return Err(next.name);
            }
        }
        Ok(())
    }

    /// The encoding that is learnt from them.
    ///
    /// # Errors
    /// If nothing varies in the rows.
    pub fn encoder(self, file: &str, label: LabelSchema) -> Result<Encoder, EncodeError> {
        let (mut constant, mut identifiers) = (Vec::new(), Vec::new());
        let names: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
        let fitted = self.columns.into_iter().map(|column| {
            let (offset, fitted) = column.sums.fitted(column.text);
            (column.name, column.form, offset, fitted)
        });
        let inputs = Encoder::inputs(file, fitted.collect(), &mut constant, &mut identifiers)?;
        let used = |name: &String| match &inputs {
            Inputs::Table(inputs) => inputs.iter().any(|input| input.name == *name),
            Inputs::Sparse { .. } => false,
        };
        let mut unused: Vec<String> = names.iter().filter(|name| !used(name)).cloned().collect();
        unused.push(label.column.clone());
        Ok(Encoder {
            inputs,
            beside: Vec::new(),
            header: true,
            width: names.len() + 1,
            unused,
            label: Some(label),
            missing: DEFAULT_MISSING.map(str::to_owned).to_vec(),
            constant,
            identifiers,
        })
    }
}

impl Sums {
    /// Adds others of the same kind; false where they are not.
    fn merge(&mut self, next: Self) -> bool {
        match (self, next) {
            (
                Self::Number { offset, several_offsets, sums },
                Self::Number { offset: other, several_offsets: more, sums: mut next },
            ) => {
                if sums.count == 0 {
                    // Whoever has no numbers has no say in their offset.
                    (*offset, *several_offsets) = (other, more);
                } else if next.count > 0 {
                    *several_offsets |= more || *offset != other;
                    next.shift(other - *offset);
                }
                sums.merge(&next);
                true
            }
            (
                Self::Category { texts, counts, missing },
                Self::Category { texts: more, counts: of_more, missing: next },
            ) => {
                *missing += next;
                let mut places: HashMap<String, usize> =
                    texts.iter().enumerate().map(|(place, text)| (text.clone(), place)).collect();
                for (text, count) in more.into_iter().zip(of_more) {
                    let place = *places.entry(text).or_insert_with_key(|text| {
                        texts.push(text.clone());
                        counts.push(0);
                        texts.len() - 1
                    });
                    counts[place] += count;
                }
                true
            }
            _ => false,
        }
    }

    /// The offset that is subtracted from numbers, and what becomes of the column.
    fn fitted(self, told: bool) -> (f64, Fitted) {
        match self {
            Self::Number { offset, several_offsets, mut sums } => {
                let mut shared = offset;
                if several_offsets {
                    let mean = sums.mean + offset;
                    let deviation = (sums.squares / sums.count.max(1) as f64).sqrt();
                    shared = if offset::is_large(mean, QUARTILES * deviation) { mean } else { 0.0 };
                    sums.shift(offset - shared);
                }
                (shared, Fitted::of_number(sums.encoding(), sums.date_parts()))
            }
            Self::Category { texts, counts, missing } => {
                (0.0, Fitted::of_category(&texts, &counts, missing, told))
            }
        }
    }
}

impl NumberSums {
    /// Moves the numbers that were summed.
    fn shift(&mut self, by: f64) {
        self.mean += by;
        self.ends.iter_mut().flatten().for_each(|end| *end += by);
    }

    fn merge(&mut self, next: &Self) {
        let (own, more) = (self.count as f64, next.count as f64);
        if next.count > 0 {
            let between = next.mean - self.mean;
            self.mean += between * more / (own + more);
            self.squares += next.squares + between * between * own * more / (own + more);
        }
        let ends = self.ends.iter().chain(&next.ends).copied();
        self.ends = ends.reduce(|[low, high], [lower, higher]| [low.min(lower), high.max(higher)]);
        self.count += next.count;
        self.missing += next.missing;
        if self.parts.is_empty() {
            self.parts.clone_from(&next.parts);
            return;
        }
        let counts = self.parts.iter_mut().flatten().zip(next.parts.iter().flatten());
        counts.for_each(|(count, more)| *count += more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::ReadOptions;
    use crate::role::Roles;

    /// Rows of a number, a large number, a category and a date, from one row on.
    fn table(rows: std::ops::Range<usize>) -> Table {
        let mut text = "y,x,stamp,town,day\n".to_owned();
        for row in rows {
            let x = if row % 11 == 5 { String::new() } else { format!("{}", row * row % 97) };
            let town = ["Leeds", "York", "Bath"][if row > 250 { 2 } else { row % 2 }];
            let stamp = 1_700_000_000 + row * 7 % 311;
            text += &format!("{},{x},{stamp},{town},2024-0{}-11\n", u8::from(row % 3 == 0), 1 + row % 4);
        }
        let roles = Roles { label: Some("y".into()), ..Roles::default() };
        Table::from_bytes("f.csv", text.into_bytes(), &ReadOptions::default(), &roles, None).unwrap()
    }

    #[test]
    fn sums_over_tables_merge_to_those_of_one() {
        let whole = table(0..300);
        let rows = |count: u32| (0..count).filter(|row| row % 5 != 4).collect::<Vec<u32>>();
        let expected = Encoder::fit(&whole, &rows(300)).unwrap();
        let label = whole.label().unwrap().clone();
        let alone = Statistics::of(&whole, &rows(300)).encoder("f.csv", label.clone()).unwrap();
        assert_eq!(alone.inputs, expected.inputs);
        let mut merged = Statistics::of(&table(0..100), &rows(100));
        merged.merge(Statistics::of(&table(100..105), &[])).unwrap();
        merged.merge(Statistics::of(&table(100..300), &rows(200))).unwrap();
        let read: Statistics = serde_json::from_str(&serde_json::to_string(&merged).unwrap()).unwrap();
        let merged = read.encoder("f.csv", label).unwrap();
        assert_eq!(merged.feature_names(), expected.feature_names());
        let (Inputs::Table(merged), Inputs::Table(expected)) = (merged.inputs, expected.inputs) else {
            panic!()
        };
        for (found, expected) in merged.iter().zip(&expected) {
            let absolute = |input: &super::super::Input| match &input.encoding {
                super::super::Encoding::Number { scaling, .. } => {
                    (f64::from(scaling.mean) + input.offset, f64::from(scaling.scale))
                }
                _ => (0.0, 1.0),
            };
            let ((mean, scale), (same, size)) = (absolute(found), absolute(expected));
            // Rounding of a mean to 32 bits, and of sums.
            assert!((mean - same).abs() < 1e-5 * size && (scale / size - 1.0).abs() < 1e-6, "{}", found.name);
        }
    }

    #[test]
    fn columns_of_other_kinds_do_not_merge() {
        let mut numbers = Statistics::of(&table(0..50), &[1, 2, 3]);
        let mut others = numbers.clone();
        others.columns.swap(0, 2);
        assert_eq!(numbers.merge(others), Err("town".to_owned()));
    }
}
