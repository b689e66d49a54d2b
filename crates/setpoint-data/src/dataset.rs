//! Rows ready for a model, and everything known about them.

use std::collections::HashMap;

use setpoint::Sample;
use setpoint::features::Features;
use setpoint::sample::SampleError;

use crate::chunk::MISSING;
use crate::encode::Notes;
use crate::form::canonical_name;

/// One of some names for each row: groups, entities, queries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Codes {
    /// The column they come from.
    pub column: String,
    /// The names.
    pub names: Vec<String>,
    /// For each row an index into `names`.
    pub of: Vec<u32>,
}

impl Codes {
    /// The rows listed; names stay, even those that no row has any more.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Self {
        Self { column: self.column.clone(), names: self.names.clone(), of: pick(&self.of, rows) }
    }

    /// Adds those of the rows that come next; names are matched.
    pub fn append(&mut self, next: Self) {
        let known: HashMap<&String, u32> = self.names.iter().zip(0..).collect();
        let mut new = Vec::new();
        let place = |name: String| match known.get(&name) {
            Some(place) => *place,
            None => {
                new.push(name);
                (known.len() + new.len()) as u32 - 1
            }
        };
        let places: Vec<u32> = next.names.into_iter().map(place).collect();
        self.names.extend(new);
        // A missing value has no name, and stays what it is.
        self.of.extend(next.of.iter().map(|code| places.get(*code as usize).copied().unwrap_or(*code)));
    }

    /// Names as any format has them (`true` for `True`, `1` for `1.0`), equal ones joined.
    pub(crate) fn canonical(mut self) -> Self {
        if self.names.iter().all(|name| canonical_name(name) == name) {
            return self;
        }
        let mut names: Vec<String> = Vec::new();
        let mut known = HashMap::new();
        let place: Vec<u32> = (self.names.iter())
            .map(|name| {
                *known.entry(canonical_name(name).to_owned()).or_insert_with_key(|name| {
                    names.push(name.clone());
                    names.len() as u32 - 1
                })
            })
            .collect();
        self.of.iter_mut().filter(|code| **code != MISSING).for_each(|code| *code = place[*code as usize]);
        self.names = names;
        self
    }

    /// Names in alphabetical order, those that occur only; missing ones get a name.
    pub(crate) fn alphabetical(&self) -> Self {
        let (column, mut names, mut of) = (self.column.clone(), self.names.clone(), self.of.clone());
        if of.contains(&MISSING) {
            let missing = names.len() as u32;
            names.push("(missing)".to_owned());
            of.iter_mut().filter(|code| **code == MISSING).for_each(|code| *code = missing);
        }
        let mut occurs = vec![false; names.len()];
        of.iter().for_each(|code| occurs[*code as usize] = true);
        let mut order: Vec<usize> = (0..occurs.len()).filter(|code| occurs[*code]).collect();
        order.sort_by(|a, b| names[*a].cmp(&names[*b]));
        let mut place = vec![0; occurs.len()];
        order.iter().enumerate().for_each(|(new, old)| place[*old] = new as u32);
        of.iter_mut().for_each(|code| *code = place[*code as usize]);
        Self { column, names: order.iter().map(|old| names[*old].clone()).collect(), of }
    }
}

/// Rows ready for a model: features, together or apart, and what is known besides.
#[derive(Clone, Debug)]
pub struct Dataset<F = Features> {
    /// The encoded, standardised rows.
    pub features: F,
    /// Labels, weights and groups; `None` where the file has no label.
    pub sample: Option<Sample>,
    /// Sort keys of what `--split-time` names.
    pub times: Option<Vec<f64>>,
    /// Queries of ranking data (`qid`).
    pub queries: Option<Codes>,
    /// SHA-256 of the file, if it was asked for.
    pub hash: Option<String>,
    /// What was left out or filled in on the way.
    pub notes: Notes,
}

impl<F> Dataset<F> {
    pub(crate) fn map<G>(self, change: impl FnOnce(F) -> G) -> Dataset<G> {
        let Self { features, sample, times, queries, hash, notes } = self;
        Dataset { features: change(features), sample, times, queries, hash, notes }
    }
}

pub(crate) fn pick<T: Copy>(values: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter().map(|row| values[*row as usize]).collect()
}

/// The sample of the rows listed, in that order; groups without a row are left out.
///
/// # Errors
/// If no rows are listed.
///
/// # Panics
/// If there is no such row.
pub fn select_sample(sample: &Sample, rows: &[u32]) -> Result<Sample, SampleError> {
    if sample.queries().is_some() {
        return Ok(sample.select(rows));
    }
    let groups = sample.groups().map(|groups| Codes {
        column: groups.column().to_owned(),
        names: groups.names().to_vec(),
        of: pick(groups.codes(), rows),
    });
    let weights = sample.weights().map(|weights| pick(weights, rows));
    let mut selected = checked_sample(pick(sample.labels(), rows), weights, groups, false)?;
    if let Some(stakes) = sample.stakes() {
        selected = selected.with_stakes(stakes.profit(), pick(stakes.pays(), rows))?;
    }
    match sample.entities() {
        Some(entities) => selected.with_entities(entities.column(), &pick(entities.of(), rows)),
        None => Ok(selected),
    }
}

/// Whether the system would give so much memory.
pub(crate) fn fits_memory(bytes: usize) -> bool {
    Vec::<u8>::new().try_reserve_exact(bytes).is_ok()
}

/// A checked sample; groups that no row has are left out, as the sample wants none, and classes are not.
pub(crate) fn checked_sample(
    labels: Vec<bool>,
    weights: Option<Vec<f32>>,
    groups: Option<Codes>,
    of_classes: bool,
) -> Result<Sample, SampleError> {
    let (mut sample, groups) = match groups {
        Some(classes) if of_classes => {
            (Sample::of_classes(&classes.column, classes.names, classes.of)?, None)
        }
        groups => (Sample::new(labels)?, groups),
    };
    if let Some(weights) = weights {
        sample = sample.with_weights(weights)?;
    }
    if let Some(groups) = groups {
        let mut place = vec![None; groups.names.len()];
        groups.of.iter().for_each(|code| place[*code as usize] = Some(0));
        let mut names = Vec::new();
        for (code, place) in place.iter_mut().enumerate().filter(|(_, place)| place.is_some()) {
            *place = Some(names.len() as u32);
            names.push(groups.names[code].clone());
        }
        let of = groups.of.iter().filter_map(|code| place[*code as usize]).collect();
        sample = sample.with_groups(&groups.column, names, of)?;
    }
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoder, ReadOptions, Roles, SplitPlan, Table};

    fn table() -> Table {
        let mut text = "y,w,g,x,c\n".to_owned();
        for row in 0..60 {
            text += &format!("{},{},{},{row},{}\n", row % 2, 1 + row % 5, row % 3, ["a", "b", ""][row % 3]);
        }
        let roles = Roles {
            label: Some("y".into()),
            weight: Some("w".into()),
            group: Some("g".into()),
            ..Roles::default()
        };
        Table::from_bytes("t", text.into_bytes(), &ReadOptions::default(), &roles, None).unwrap()
    }

    #[test]
    fn parts_encoded_apart_are_those_of_the_whole() {
        let parts = SplitPlan::default().split(&table(), 0).unwrap();
        let encoder = Encoder::fit(&table(), parts.rows("train")).unwrap();
        let whole = encoder.encode(table()).unwrap().features;
        let lists: Vec<&[u32]> = parts.iter().map(|(_, rows)| rows).collect();
        let apart = encoder.encode_parts(table(), &lists).unwrap().features;
        assert_eq!(apart.len(), 3);
        for (part, rows) in apart.iter().zip(lists) {
            assert_eq!(*part, whole.select(rows).unwrap());
        }
    }

    #[test]
    fn a_group_without_rows_is_left_out() {
        let (table, rows) = (table(), [1, 4, 2]);
        let data = Encoder::fit(&table, &rows).unwrap().encode(table).unwrap();
        let sample = select_sample(data.sample.as_ref().unwrap(), &rows).unwrap();
        assert_eq!(sample.groups().unwrap().names(), ["1", "2"]);
        assert_eq!(sample.groups().unwrap().codes(), [0, 0, 1]);
    }
}
