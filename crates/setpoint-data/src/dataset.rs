//! Rows ready for a model, and everything known about them.

use std::collections::HashMap;
use std::ops::Range;

use setpoint::Sample;
use setpoint::sample::SampleError;

use crate::chunk::MISSING;
use crate::encode::Notes;
use crate::features::Features;
use crate::form::canonical_name;
use crate::split::Parts;

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

/// Rows ready for a model: features, and what is known besides.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The encoded, standardised matrix.
    pub features: Features,
    /// Names of its columns.
    pub feature_names: Vec<String>,
    /// Labels, weights and groups; `None` where the file has no label.
    pub sample: Option<Sample>,
    /// What `--split-by` names.
    pub entities: Option<Codes>,
    /// Sort keys of what `--split-time` names.
    pub times: Option<Vec<f64>>,
    /// Queries of ranking data (`qid`).
    pub queries: Option<Codes>,
    /// SHA-256 of the file, if it was asked for.
    pub hash: Option<String>,
    /// What was left out or filled in on the way.
    pub notes: Notes,
}

impl Dataset {
    /// A copy of the rows listed, in that order.
    ///
    /// # Errors
    /// If no rows are listed although there are labels.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn select(&self, rows: &[u32]) -> Result<Self, SampleError> {
        Ok(Self {
            features: self.features.select(rows),
            feature_names: self.feature_names.clone(),
            sample: self.sample.as_ref().map(|sample| select_sample(sample, rows)).transpose()?,
            entities: self.entities.as_ref().map(|codes| codes.select(rows)),
            times: self.times.as_ref().map(|times| pick(times, rows)),
            queries: self.queries.as_ref().map(|codes| codes.select(rows)),
            hash: self.hash.clone(),
            notes: self.notes.clone(),
        })
    }

    /// Moves the rows so that each part is one range, and returns the ranges.
    ///
    /// A dense matrix is rearranged where it is: a part is then a slice of it,
    /// and no part is ever copied.
    ///
    /// # Errors
    /// Never for parts of this data set; kept for the checks of [`Sample`].
    ///
    /// # Panics
    /// If the parts are not of this data set.
    pub fn arrange(&mut self, parts: &Parts) -> Result<Vec<(&'static str, Range<usize>)>, SampleError> {
        let mut order = Vec::with_capacity(self.features.rows());
        let mut ranges = Vec::new();
        for (part, rows) in parts.iter() {
            ranges.push((part, order.len()..order.len() + rows.len()));
            order.extend_from_slice(rows);
        }
        self.features.reorder(&order);
        self.sample = self.sample.as_ref().map(|sample| select_sample(sample, &order)).transpose()?;
        self.entities = self.entities.as_ref().map(|codes| codes.select(&order));
        self.times = self.times.as_ref().map(|times| pick(times, &order));
        self.queries = self.queries.as_ref().map(|codes| codes.select(&order));
        Ok(ranges)
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
    let groups = sample.groups().map(|groups| Codes {
        column: groups.column().to_owned(),
        names: groups.names().to_vec(),
        of: pick(groups.codes(), rows),
    });
    let weights = sample.weights().map(|weights| pick(weights, rows));
    let selected = checked_sample(pick(sample.labels(), rows), weights, groups)?;
    match sample.entities() {
        Some(entities) => selected.with_entities(entities.column(), &pick(entities.of(), rows)),
        None => Ok(selected),
    }
}

/// Whether the system would give so much memory.
pub(crate) fn fits_memory(bytes: usize) -> bool {
    Vec::<u8>::new().try_reserve_exact(bytes).is_ok()
}

/// A checked sample; groups that no row has are left out, as the sample wants none.
pub(crate) fn checked_sample(
    labels: Vec<bool>,
    weights: Option<Vec<f32>>,
    groups: Option<Codes>,
) -> Result<Sample, SampleError> {
    let mut sample = Sample::new(labels)?;
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

    fn data() -> (Dataset, Parts) {
        let mut text = "y,w,g,x\n".to_owned();
        for row in 0..60 {
            text += &format!("{},{},{},{row}\n", row % 2, 1 + row % 5, row % 3);
        }
        let roles = Roles {
            label: Some("y".into()),
            weight: Some("w".into()),
            group: Some("g".into()),
            ..Roles::default()
        };
        let table = Table::from_bytes("t", text.into_bytes(), &ReadOptions::default(), &roles).unwrap();
        let parts = SplitPlan::default().split(&table, 0).unwrap();
        let encoder = Encoder::fit(&table, parts.rows("train")).unwrap();
        (encoder.encode(table).unwrap(), parts)
    }

    #[test]
    fn arranged_parts_equal_selected_ones() {
        let (original, parts) = data();
        let mut arranged = original.clone();
        for (part, range) in arranged.arrange(&parts).unwrap() {
            let rows: Vec<u32> = range.map(|row| row as u32).collect();
            let (slice, copy) = (arranged.select(&rows).unwrap(), original.select(parts.rows(part)).unwrap());
            assert_eq!(slice.features, copy.features);
            let (slice, copy) = (slice.sample.unwrap(), copy.sample.unwrap());
            assert_eq!(slice.labels(), copy.labels());
            assert_eq!(slice.weights(), copy.weights());
            assert_eq!(slice.groups().unwrap().codes(), copy.groups().unwrap().codes());
        }
    }

    #[test]
    fn a_group_without_rows_is_left_out() {
        let (data, _) = data();
        let sample = select_sample(data.sample.as_ref().unwrap(), &[1, 4, 2]).unwrap();
        assert_eq!(sample.groups().unwrap().names(), ["1", "2"]);
        assert_eq!(sample.groups().unwrap().codes(), [0, 0, 1]);
    }
}
