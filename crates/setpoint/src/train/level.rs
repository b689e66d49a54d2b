//! Fewer rows to come close on: where there are many, most steps of a fit need only some of them.
//!
//! Each level has every tenth row of each label and group of the one before. A fit begins on the last and goes on to
//! all rows, where a few steps are left. Rows of queries have none: what a loss keeps of each query belongs to its rows.

use super::{Part, TrainError};
use crate::model::Model;
use crate::sample::Sample;

/// Of how many rows a level takes one.
const SHARE: usize = 10;
/// A level has at least so many rows, and so many of each label of each group.
const LEAST: usize = 20_000;
const LEAST_OF_LABEL: usize = 500;

/// A level: a model over some of the rows, and their labels.
pub(super) type Fewer = (Box<dyn Model>, Sample);

/// The levels after all rows, each a share of the one before.
pub(super) fn levels(part: &Part<'_>) -> Result<Vec<Fewer>, TrainError> {
    let mut levels: Vec<Fewer> = Vec::new();
    let Some(all) = part.sample.alone().filter(|all| all.queries().is_none()) else { return Ok(levels) };
    loop {
        let (model, sample) = levels.last().map_or((&*part.model, all), |(model, sample)| (&**model, sample));
        if sample.len() / SHARE < LEAST {
            return Ok(levels);
        }
        let Some((rows, model)) = model.thinned(sample, SHARE)? else { return Ok(levels) };
        let fewer = sample.select(&rows);
        let few = |count: &usize| (1..LEAST_OF_LABEL).contains(count);
        if rows.len() < LEAST || counts(&fewer).iter().flatten().any(few) {
            return Ok(levels);
        }
        levels.push((model, fewer));
    }
}

/// Rows of each label, by group.
fn counts(sample: &Sample) -> Vec<[usize; 2]> {
    let groups = sample.groups();
    let mut counts = vec![[0; 2]; groups.map_or(1, |groups| groups.names().len())];
    for (row, label) in sample.labels().iter().enumerate() {
        counts[groups.map_or(0, |groups| groups.codes()[row] as usize)][usize::from(*label)] += 1;
    }
    counts
}
