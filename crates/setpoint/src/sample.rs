//! What is known about the examples besides their scores: labels, weights, groups, entities.
//!
//! Checked once, at the door; everything behind it relies on it.

mod error;
mod stakes;
mod together;

pub use error::SampleError;
pub use stakes::Stakes;
pub use together::{Entities, Groups, share_out};

use together::codes_like;

use crate::goal::Goal;
use crate::rank::Queries;

/// Labels, weights, groups and entities of a set of examples, in the order of their scores.
#[derive(Clone, Debug)]
pub struct Sample {
    labels: Vec<bool>,
    weights: Option<Vec<f32>>,
    groups: Option<Groups>,
    entities: Option<Entities>,
    queries: Option<Queries>,
    stakes: Option<Stakes>,
    totals: ClassTotals,
}

/// Weight of the positives and negatives of a sample or of one of its groups.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassTotals {
    /// Summed weight of the positives.
    pub positives: f64,
    /// Summed weight of the negatives.
    pub negatives: f64,
}

impl ClassTotals {
    /// Adds those of other examples.
    pub fn merge(&mut self, other: &Self) {
        self.positives += other.positives;
        self.negatives += other.negatives;
    }
}

impl Sample {
    /// A sample with these labels, all weights 1, no groups.
    ///
    /// # Errors
    /// If there is no label at all, or more than `u32::MAX`.
    pub fn new(labels: Vec<bool>) -> Result<Self, SampleError> {
        if labels.is_empty() {
            return Err(SampleError::Empty);
        }
        let limit = u32::MAX as usize;
        if labels.len() > limit {
            return Err(SampleError::TooLarge { rows: labels.len(), limit });
        }
        let mut sample = Self { labels, ..Self::none() };
        sample.add_up();
        Ok(sample)
    }

    /// A sample of a label with several classes: `codes[i]` is an index into `names`. They are its groups, and
    /// it has no other labels.
    ///
    /// # Errors
    /// If there are no rows, a code has no name, or a class has no row.
    pub fn of_classes(label: &str, names: Vec<String>, codes: Vec<u32>) -> Result<Self, SampleError> {
        Self::new(vec![true; codes.len()])?.with_some_groups(label, names, codes)
    }

    /// A sample of rows that come in queries, which are its entities. Its labels say which rows are relevant.
    ///
    /// # Errors
    /// If there are more rows than a sample can have.
    pub fn of_queries(queries: Queries) -> Result<Self, SampleError> {
        let sample = Self::new(queries.positive().to_vec())?.with_entities(queries.column(), queries.of())?;
        Ok(Self { queries: Some(queries), ..sample })
    }

    /// The same sample with a weight for each example.
    ///
    /// # Errors
    /// If the lengths differ or a weight is not a positive finite number.
    pub fn with_weights(mut self, weights: Vec<f32>) -> Result<Self, SampleError> {
        self.check_length("weights", weights.len())?;
        if let Some(index) = weights.iter().position(|w| !(w.is_finite() && *w > 0.0)) {
            return Err(SampleError::Weight { index, value: weights[index] });
        }
        self.weights = Some(weights);
        self.add_up();
        Ok(self)
    }

    /// The same sample with a group for each example: `of[i]` is an index into `names`.
    ///
    /// # Errors
    /// If the lengths differ, a code has no name, or a name has no example.
    pub fn with_groups(self, column: &str, names: Vec<String>, of: Vec<u32>) -> Result<Self, SampleError> {
        let sample = self.with_some_groups(column, names, of)?;
        let empty = sample.groups.iter().find_map(|groups| {
            (0..groups.names.len()).find(|group| groups.rows(*group).is_empty()).map(|empty| (groups, empty))
        });
        match empty {
            Some((groups, empty)) => {
                let (column, group) = (groups.column.clone(), groups.names[empty].clone());
                Err(SampleError::EmptyGroup { column, group })
            }
            None => Ok(sample),
        }
    }

    /// The same where these are some of all rows: others may have the examples of a group.
    ///
    /// # Errors
    /// If the lengths differ, or a code has no name.
    pub fn with_some_groups(
        mut self,
        column: &str,
        names: Vec<String>,
        of: Vec<u32>,
    ) -> Result<Self, SampleError> {
        self.check_length("groups", of.len())?;
        if let Some(index) = of.iter().position(|code| *code as usize >= names.len()) {
            return Err(SampleError::GroupCode { index, code: of[index], names: names.len() });
        }
        self.groups = Some(Groups::new(column.to_owned(), names, of));
        self.add_up();
        Ok(self)
    }

    /// The same sample with an entity for each example; equal codes are one entity.
    ///
    /// # Errors
    /// If the lengths differ.
    pub fn with_entities(mut self, column: &str, of: &[u32]) -> Result<Self, SampleError> {
        self.check_length("entities", of.len())?;
        self.entities = Some(Entities::new(column.to_owned(), of.iter().copied()));
        Ok(self)
    }

    /// The same sample with what decisions about its rows pay, or cost: `pays[i]` if row i is decided negative,
    /// and if it is decided positive.
    ///
    /// # Errors
    /// If the lengths differ or an amount is not a finite number.
    pub fn with_stakes(mut self, profit: bool, pays: Vec<[f64; 2]>) -> Result<Self, SampleError> {
        self.check_length("amounts", pays.len())?;
        let sound = |pays: &[f64; 2]| ((pays[1] - pays[0]) as f32).is_finite();
        if let Some(index) = pays.iter().position(|pays| !sound(pays)) {
            return Err(SampleError::Amount { index });
        }
        self.stakes = Some(Stakes::new(profit, pays));
        self.add_up();
        Ok(self)
    }

    /// The same sample with what a goal in money says that decisions pay, where that takes no columns and is not
    /// known yet.
    ///
    /// # Errors
    /// If an amount is too large.
    pub fn paid_by(self, goal: &Goal) -> Result<Self, SampleError> {
        match goal.money().filter(|money| self.stakes.is_none() && money.columns().is_empty()) {
            Some(money) => {
                let pays = money.pays(&self.labels, &[]);
                self.with_stakes(money.profit, pays)
            }
            None => Ok(self),
        }
    }

    /// These rows as a sample of their own, in this order, repeats allowed. Groups keep their codes,
    /// also those that no longer occur.
    ///
    /// # Panics
    /// If a row number is not below [`len`](Self::len).
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Self {
        let mut selected = Self::none();
        selected.refill(self, rows);
        selected.entities = self.entities.as_ref().map(|entities| {
            Entities::new(entities.column.clone(), rows.iter().map(|row| entities.of[*row as usize]))
        });
        selected
    }

    /// The row numbers of each fold: every label of every group is dealt out in turn, or whole queries or entities.
    #[must_use]
    pub fn deal(&self, folds: usize) -> Vec<Vec<u32>> {
        if let Some(queries) = self.queries() {
            let of_fold = |fold| (fold..queries.len()).step_by(folds);
            return (0..folds)
                .map(|fold| of_fold(fold).flat_map(|query| queries.rows(query)).copied().collect())
                .collect();
        }
        let mut dealt = vec![Vec::new(); folds];
        let kinds = 2 * self.groups().map_or(1, |groups| groups.names().len());
        let kind = |row: usize| {
            2 * self.groups().map_or(0, |groups| groups.codes()[row] as usize) + usize::from(self.labels[row])
        };
        if let Some(entities) = self.together() {
            let order = (0..entities.len()).collect();
            let fold_of = share_out(entities.of(), order, (kinds, &kind), &vec![1.0 / folds as f64; folds]);
            (0..).zip(entities.of()).for_each(|(row, entity)| dealt[fold_of[*entity as usize]].push(row));
            return dealt;
        }
        let mut next = vec![0; kinds];
        for row in 0..self.len() {
            let turn = &mut next[kind(row)];
            dealt[*turn % folds].push(row as u32);
            *turn += 1;
        }
        dealt
    }

    /// No examples yet: a place for rows of others, or a share of a batch that has none.
    #[must_use]
    pub fn none() -> Self {
        Self {
            labels: Vec::new(),
            weights: None,
            groups: None,
            entities: None,
            queries: None,
            stakes: None,
            totals: ClassTotals::default(),
        }
    }

    /// Becomes these rows of another sample, without its entities and without allocating anew.
    pub(crate) fn refill(&mut self, from: &Self, rows: &[u32]) {
        fn pick<T: Copy>(from: &[T], rows: &[u32], into: &mut Vec<T>) {
            into.clear();
            into.extend(rows.iter().map(|row| from[*row as usize]));
        }
        pick(&from.labels, rows, &mut self.labels);
        match &from.weights {
            Some(weights) => pick(weights, rows, self.weights.get_or_insert_default()),
            None => self.weights = None,
        }
        match &from.groups {
            Some(groups) => pick(&groups.of, rows, codes_like(&mut self.groups, groups)),
            None => self.groups = None,
        }
        self.queries = from.queries.as_ref().map(|queries| queries.select(rows));
        match &from.stakes {
            Some(stakes) => pick(&stakes.pays, rows, Stakes::like(&mut self.stakes, stakes)),
            None => self.stakes = None,
        }
        self.add_up();
    }

    /// Drops the first `old` rows and takes those of another sample in at the end, without its entities.
    pub(crate) fn roll(&mut self, old: usize, new: &Self) {
        let before = self.len();
        if self.weights.is_none() && new.weights.is_some() {
            self.weights = Some(vec![1.0; self.len()]);
        }
        if let Some(weights) = &mut self.weights {
            weights.drain(..old);
            match &new.weights {
                Some(more) => weights.extend_from_slice(more),
                None => weights.resize(weights.len() + new.len(), 1.0),
            }
        }
        self.labels.drain(..old);
        self.labels.extend_from_slice(&new.labels);
        if let Some(groups) = &new.groups {
            codes_like(&mut self.groups, groups).extend_from_slice(&groups.of);
        }
        if let Some(groups) = &mut self.groups {
            groups.of.drain(..old);
        }
        if let Some(stakes) = &new.stakes {
            let pays = Stakes::like(&mut self.stakes, stakes);
            pays.resize(before, [0.0; 2]);
            pays.extend_from_slice(&stakes.pays);
        }
        // A batch without rows says nothing of these, and still takes the place of the old ones.
        if let Some(stakes) = &mut self.stakes {
            stakes.pays.drain(..old);
        }
        self.add_up();
    }

    /// The same with these group codes, whose names come with the next rows that [`roll`](Self::roll) takes in.
    pub(crate) fn with_codes(mut self, of: Vec<u32>) -> Result<Self, SampleError> {
        self.check_length("groups", of.len())?;
        let count = of.iter().max().map_or(0, |most| *most as usize + 1);
        self.groups = Some(Groups::new(String::new(), vec![String::new(); count], of));
        self.add_up();
        Ok(self)
    }

    /// Brings the totals, and the order of the groups' rows, up to date with the columns.
    fn add_up(&mut self) {
        let (labels, weights) = (&self.labels, &self.weights);
        self.totals = match weights {
            None => {
                let positives = labels.iter().filter(|label| **label).count();
                let negatives = labels.len() - positives;
                ClassTotals { positives: positives as f64, negatives: negatives as f64 }
            }
            Some(_) => totals_of(labels, weights.as_deref(), 0..labels.len()),
        };
        if let Some(groups) = &mut self.groups {
            groups.sort();
            groups.totals.clear();
            for group in 0..groups.names.len() {
                let rows = &groups.order[groups.starts[group]..groups.starts[group + 1]];
                let rows = rows.iter().map(|row| *row as usize);
                groups.totals.push(totals_of(labels, weights.as_deref(), rows));
            }
        }
        if let Some(stakes) = &mut self.stakes {
            stakes.weigh(weights.as_deref(), self.groups.as_ref());
        }
    }

    fn check_length(&self, what: &'static str, got: usize) -> Result<(), SampleError> {
        let expected = self.labels.len();
        if got == expected { Ok(()) } else { Err(SampleError::Length { what, expected, got }) }
    }

    /// Number of examples, at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a sample that is asked about is never empty")]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// True for positives.
    #[must_use]
    pub fn labels(&self) -> &[bool] {
        &self.labels
    }

    /// The weights, or `None` where all are 1.
    #[must_use]
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// The weight of one example.
    #[must_use]
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| f64::from(weights[row]))
    }

    /// The groups, if any were given.
    #[must_use]
    pub fn groups(&self) -> Option<&Groups> {
        self.groups.as_ref()
    }

    /// The entities, if any were given.
    #[must_use]
    pub fn entities(&self) -> Option<&Entities> {
        self.entities.as_ref()
    }

    /// The queries that the rows come in, if they do.
    #[must_use]
    pub fn queries(&self) -> Option<&Queries> {
        self.queries.as_ref()
    }

    /// What decisions pay, if that was given.
    #[must_use]
    pub fn stakes(&self) -> Option<&Stakes> {
        self.stakes.as_ref()
    }

    /// The entities where some have several examples, so that examples are no independent draws.
    #[must_use]
    pub fn together(&self) -> Option<&Entities> {
        self.entities.as_ref().filter(|entities| entities.len < self.labels.len())
    }

    /// Summed weight of each class.
    #[must_use]
    pub fn totals(&self) -> ClassTotals {
        self.totals
    }

    pub(crate) fn all_totals(&self) -> &[ClassTotals] {
        std::slice::from_ref(&self.totals)
    }

    /// Checks that there is one finite score for each example.
    ///
    /// # Errors
    /// If the lengths differ, or a score is NaN or infinite.
    pub fn check_scores(&self, scores: &[f32]) -> Result<(), SampleError> {
        self.check_length("scores", scores.len())?;
        match scores.iter().position(|score| !score.is_finite()) {
            Some(index) => Err(SampleError::Score { index, value: scores[index] }),
            None => Ok(()),
        }
    }
}

fn totals_of(labels: &[bool], weights: Option<&[f32]>, rows: impl Iterator<Item = usize>) -> ClassTotals {
    let mut totals = ClassTotals::default();
    for row in rows {
        let class = if labels[row] { &mut totals.positives } else { &mut totals.negatives };
        *class += weights.map_or(1.0, |weights| f64::from(weights[row]));
    }
    totals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Sample {
        Sample::new(vec![true, false, true, false]).unwrap()
    }

    #[test]
    fn an_empty_sample_is_refused() {
        assert_eq!(Sample::new(vec![]).unwrap_err(), SampleError::Empty);
    }

    #[test]
    fn weights_must_be_positive_and_finite() {
        for bad in [0.0, -1.0, f32::INFINITY] {
            let error = sample().with_weights(vec![1.0, bad, 1.0, 1.0]).unwrap_err();
            assert_eq!(error, SampleError::Weight { index: 1, value: bad });
        }
        assert!(matches!(
            sample().with_weights(vec![1.0, f32::NAN, 1.0, 1.0]),
            Err(SampleError::Weight { index: 1, .. })
        ));
    }

    #[test]
    fn columns_of_another_length_are_refused() {
        let error = sample().with_weights(vec![1.0; 3]).unwrap_err();
        assert_eq!(error.to_string(), "weights: expected 4 values, one for each label, got 3");
        assert!(sample().check_scores(&[0.0; 5]).is_err());
    }

    #[test]
    fn scores_must_be_finite() {
        let error = sample().check_scores(&[0.0, 1.0, f32::NEG_INFINITY, 2.0]).unwrap_err();
        assert_eq!(error.to_string(), "score -inf of example 2 is not a finite number");
        assert!(sample().check_scores(&[0.0, f32::NAN, 1.0, 2.0]).is_err());
    }

    #[test]
    fn groups_list_their_rows_and_totals() {
        let sample = sample()
            .with_weights(vec![1.0, 2.0, 4.0, 8.0])
            .unwrap()
            .with_groups("sex", vec!["f".into(), "m".into()], vec![1, 0, 0, 1])
            .unwrap();
        let groups = sample.groups().unwrap();
        assert_eq!(groups.rows(0), [1, 2]);
        assert_eq!(groups.rows(1), [0, 3]);
        assert_eq!(sample.totals(), ClassTotals { positives: 5.0, negatives: 10.0 });
        assert_eq!(groups.totals()[1], ClassTotals { positives: 1.0, negatives: 8.0 });
    }

    #[test]
    fn entities_are_dealt_whole_and_labels_about_evenly() {
        let labels: Vec<bool> = (0..600).map(|row| row * 7919 % 11 == 0).collect();
        let of: Vec<u32> = (0..600).map(|row| (row * row) % 97 % 40).collect();
        let sample = Sample::new(labels).unwrap().with_entities("who", &of).unwrap();
        let folds = sample.deal(3);
        let mut rows = folds.concat();
        rows.sort_unstable();
        assert_eq!(rows, (0..600).collect::<Vec<u32>>());
        for (fold, rows) in folds.iter().enumerate() {
            let others = folds.iter().enumerate().filter(|(other, _)| *other != fold);
            let others: Vec<u32> = others.flat_map(|(_, rows)| rows).map(|row| of[*row as usize]).collect();
            assert!(rows.iter().all(|row| !others.contains(&of[*row as usize])));
            // No entity has more than 3% of the rows.
            let positives = rows.iter().filter(|row| sample.labels()[**row as usize]).count();
            assert!(
                rows.len().abs_diff(200) <= 20 && positives.abs_diff(18) <= 4,
                "{positives} of {}",
                rows.len()
            );
        }
    }

    #[test]
    fn entities_are_numbered_as_they_occur() {
        let sample = sample().with_entities("who", &[7, 3, 7, 5]).unwrap();
        let entities = sample.entities().unwrap();
        assert_eq!((entities.of(), entities.len(), entities.column()), (&[0, 1, 0, 2][..], 3, "who"));
        let some = sample.select(&[3, 1, 3]);
        assert_eq!((some.entities().unwrap().of(), some.entities().unwrap().len()), (&[0, 1, 0][..], 2));
        assert!(super::Sample::new(vec![true]).unwrap().with_entities("who", &[]).is_err());
    }

    #[test]
    fn group_codes_need_names_and_names_need_rows() {
        let names = || vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(
            sample().with_groups("g", names(), vec![0, 1, 2, 0]).unwrap_err(),
            SampleError::GroupCode { index: 2, code: 2, names: 2 }
        );
        assert!(matches!(
            sample().with_groups("g", names(), vec![0; 4]),
            Err(SampleError::EmptyGroup { group, .. }) if group == "b"
        ));
    }
}
