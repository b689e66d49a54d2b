//! Which examples belong together: groups, by a column that a goal may name, and entities.

use std::collections::HashMap;

use super::ClassTotals;

/// Which examples belong together: those of one patient, customer or query.
///
/// Entities are the independent draws then, not examples.
#[derive(Clone, Debug)]
pub struct Entities {
    pub(super) column: String,
    /// From 0 in the order in which entities first occur, so that each number below `len` does.
    pub(super) of: Vec<u32>,
    pub(super) len: usize,
}

/// Which group each example belongs to.
#[derive(Clone, Debug)]
pub struct Groups {
    pub(super) column: String,
    pub(super) names: Vec<String>,
    pub(super) of: Vec<u32>,
    /// Row numbers sorted by group (stable), so that a group's rows can be visited alone.
    pub(super) order: Vec<u32>,
    /// Where each group starts in `order`; one more entry than groups.
    pub(super) starts: Vec<usize>,
    pub(super) totals: Vec<ClassTotals>,
}

impl Entities {
    /// Numbers the entities anew, in the order in which they occur.
    pub(super) fn new(column: String, of: impl Iterator<Item = u32>) -> Self {
        let mut numbers = HashMap::new();
        let of = of.map(|code| {
            let next = numbers.len() as u32;
            *numbers.entry(code).or_insert(next)
        });
        Self { column, of: of.collect(), len: numbers.len() }
    }

    /// The column the entities come from.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.column
    }

    /// Each example's entity, from 0.
    #[must_use]
    pub fn of(&self) -> &[u32] {
        &self.of
    }

    /// Number of entities, at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a sample is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }
}

impl Groups {
    /// Every code must have a name; the rows are yet to be sorted.
    pub(super) fn new(column: String, names: Vec<String>, of: Vec<u32>) -> Self {
        let mut groups =
            Self { column, names, of, order: Vec::new(), starts: Vec::new(), totals: Vec::new() };
        groups.sort();
        groups
    }

    /// Sorts the rows by group.
    pub(super) fn sort(&mut self) {
        let Self { names, of, order, starts, .. } = self;
        starts.clear();
        starts.resize(names.len() + 1, 0);
        for code in &*of {
            starts[*code as usize + 1] += 1;
        }
        for group in 0..names.len() {
            starts[group + 1] += starts[group];
        }
        order.clear();
        order.resize(of.len(), 0);
        // Each start moves on to its end, and is set back.
        for (row, code) in of.iter().enumerate() {
            order[starts[*code as usize]] = row as u32;
            starts[*code as usize] += 1;
        }
        starts.rotate_right(1);
        starts[0] = 0;
    }

    /// The column the groups come from.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.column
    }

    /// The groups' names, by code.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Each example's group code.
    #[must_use]
    pub fn codes(&self) -> &[u32] {
        &self.of
    }

    /// Summed weight of each class, by group.
    #[must_use]
    pub fn totals(&self) -> &[ClassTotals] {
        &self.totals
    }

    /// Row numbers of one group, ascending.
    #[must_use]
    pub fn rows(&self, group: usize) -> &[u32] {
        &self.order[self.starts[group]..self.starts[group + 1]]
    }
}

/// The codes of groups that take the names of others, to be filled.
pub(super) fn codes_like<'g>(groups: &'g mut Option<Groups>, others: &Groups) -> &'g mut Vec<u32> {
    let groups = groups.get_or_insert_with(|| Groups::new(String::new(), Vec::new(), Vec::new()));
    groups.column.clone_from(&others.column);
    groups.names.clone_from(&others.names);
    &mut groups.of
}

/// The part of each entity, by each row's entity and kind (label, class) and the parts' shares.
///
/// Entities come largest first, in this order among equals, and each goes where it brings the kinds' counts of the parts
/// closest to their shares: where it lowers sum (count - target)^2 / target the most.
#[must_use]
pub fn share_out(
    of: &[u32],
    mut order: Vec<usize>,
    (kinds, kind): (usize, &dyn Fn(usize) -> usize),
    shares: &[f64],
) -> Vec<usize> {
    let mut sizes = vec![vec![0.0; kinds]; order.len()];
    let mut totals = vec![0.0; kinds];
    for (row, entity) in of.iter().enumerate() {
        sizes[*entity as usize][kind(row)] += 1.0;
        totals[kind(row)] += 1.0;
    }
    order.sort_by(|a, b| sizes[*b].iter().sum::<f64>().total_cmp(&sizes[*a].iter().sum::<f64>()));
    let mut counts = vec![vec![0.0; kinds]; shares.len()];
    let mut part_of_entity = vec![0; order.len()];
    for entity in order {
        let size = &sizes[entity];
        let cost = |part: usize| -> f64 {
            (0..kinds)
                .filter(|kind| totals[*kind] > 0.0)
                .map(|kind| {
                    let target = shares[part] * totals[kind];
                    let away = counts[part][kind] - target;
                    ((away + size[kind]).powi(2) - away.powi(2)) / target
                })
                .sum()
        };
        let mut chosen = 0;
        for part in 1..shares.len() {
            if cost(part) < cost(chosen) {
                chosen = part;
            }
        }
        part_of_entity[entity] = chosen;
        (0..kinds).for_each(|kind| counts[chosen][kind] += size[kind]);
    }
    part_of_entity
}
