//! What each column of a file holds, told by its values, in one way for all formats.

use super::{Raw, ReadError};
use crate::Error;
use crate::chunk::{Chunk, values};
use crate::form::Form;
use crate::layout::{ColumnKind, Layout, Use};
use crate::offset;
use crate::role::{RoleError, Roles, find_all};
use crate::tally::{Reading, Tally};

/// What texts are called that are all plain numbers, in a format that has types for both.
pub(crate) const NUMBERS: &str = "numbers, which all its texts are; categorical keeps them texts";

/// ColumnKind, form and offset of every column, as far as known.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    pub kinds: Vec<ColumnKind>,
    pub forms: Vec<Option<Form>>,
    /// What is subtracted from its numbers.
    offsets: Vec<f64>,
}

impl Columns {
    pub fn new(kinds: Vec<ColumnKind>) -> Self {
        Self { forms: vec![None; kinds.len()], offsets: vec![0.0; kinds.len()], kinds }
    }

    /// What the first rows of columns say that were read as plain numbers.
    pub fn of_head(tallies: impl Iterator<Item = Option<Tally>>) -> Self {
        let tallies: Vec<Option<Tally>> = tallies.collect();
        let mut columns = Self::new(vec![ColumnKind::Number; tallies.len()]);
        for (column, tally) in tallies.into_iter().enumerate() {
            tally.into_iter().for_each(|tally| columns.set(column, tally.reading()));
        }
        columns
    }

    fn set(&mut self, column: usize, reading: Reading) {
        (self.kinds[column], self.forms[column]) = match reading {
            Reading::Plain => (ColumnKind::Number, None),
            Reading::Form(form) => (ColumnKind::Number, Some(form)),
            // As texts, all values can be looked at.
            Reading::Category | Reading::Mixed => (ColumnKind::Category, None),
        };
    }

    /// The plan for training.
    pub fn plan(&self, file: &str, names: &[String], roles: &Roles) -> Result<Layout, RoleError> {
        let mut layout = Layout::plan(file, names, roles, &self.kinds)?;
        for column in 0..names.len() {
            if let Use::Number(_) = layout.uses[column] {
                layout.forms[column] = self.forms[column];
                layout.shift(column, self.offsets[column]);
            }
        }
        Ok(layout)
    }

    /// After rows were read for training: whether some columns need another offset.
    pub fn shift(&mut self, layout: &Layout, chunks: &[Chunk], rounded: &[bool]) -> bool {
        let more = offset::of_columns(chunks, rounded, &layout.offsets);
        for (slot, more) in &more {
            self.offsets[layout.number_column(*slot)] = layout.offsets[*slot] + more;
        }
        !more.is_empty()
    }

    /// After all rows were read for training: whether some columns turned out to be something else, so
    /// that they must be read again. `tallies` are those of number columns, where they have any.
    pub fn revise(
        &mut self,
        file: &str,
        raw: &Raw,
        tallies: &mut [Tally],
        roles: &Roles,
    ) -> Result<bool, Error> {
        let layout = &raw.layout;
        let forced = find_all(file, &layout.names, &roles.categorical, "categorical")?;
        let mut again = false;
        for column in &layout.features {
            match layout.uses[*column] {
                Use::Number(slot) => {
                    let Some(tally) = tallies.get_mut(slot).filter(|tally| !tally.is_empty()) else {
                        continue;
                    };
                    let reading = match layout.forms[*column] {
                        Some(_) => Reading::Category,
                        None => {
                            let kept = values(&raw.chunks, |chunk| chunk.number(slot));
                            tally.count(kept.map(|value| f64::from(value) + layout.offsets[slot]));
                            tally.reading()
                        }
                    };
                    self.set(*column, reading);
                    again |= reading != Reading::Plain;
                }
                Use::Text(slot) if layout.group != Some(*column) && !forced.contains(column) => {
                    let tally = &raw.texts[slot].tally;
                    match tally.reading() {
                        Reading::Category => {}
                        Reading::Mixed => {
                            let hint = "name those that mean a missing value (‹missing›), write all numbers alike, \
                                        or take the column for categories (‹categorical›)";
                            return Err(mixed(file, &layout.names[*column], tally, hint).into());
                        }
                        reading => {
                            self.set(*column, reading);
                            again = true;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(again | self.shift(layout, &raw.chunks, &raw.rounded))
    }
}

/// The refusal of a column that is mostly numbers.
pub(crate) fn mixed(file: &str, column: &str, tally: &Tally, hint: &'static str) -> ReadError {
    let (line, texts) = tally.examples();
    ReadError::Mixed { file: file.to_owned(), line, column: column.to_owned(), texts, hint }
}
