//! Rows shared out between training, validation, calibration and test.
//!
//! - By default stratified by label or class, and by group where there is one: each part
//!   gets its share of every stratum, to within a row.
//! - By entity (`--split-by`): an entity's rows stay together, and the shares of
//!   positives and negatives, or of the classes, are kept as closely as a greedy choice can.
//! - By time (`--split-time`): the earliest rows train; rows of the same time stay together.
//!
//! The same seed gives the same parts, on any machine, with any number of threads.

mod entity;
mod place;
mod stratified;
mod time;

use std::fmt;
use std::str::FromStr;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use setpoint::message::{list, number, quote};
use thiserror::Error;

use crate::dataset::Codes;
use crate::table::Table;

pub use place::{Places, mix};
pub use time::later_half;

/// The parts there can be, in the order of time.
pub const PARTS: [&str; 4] = ["train", "validation", "calibration", "test"];

/// Shares of the rows: `train=0.6,validation=0.2,calibration=0.2`.
#[derive(Clone, Debug, PartialEq)]
pub struct SplitPlan {
    /// Parts in the order of [`PARTS`], with shares that sum to 1.
    parts: Vec<(&'static str, f64)>,
}

/// Which rows went where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    names: Vec<&'static str>,
    rows: Vec<Vec<u32>>,
}

/// Why rows could not be split.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SplitError {
    /// Not `name=share`.
    #[error(
        "‹split {}›: {} is not name=share; write train=0.6,validation=0.2,calibration=0.2",
        quote(text),
        quote(found)
    )]
    Syntax {
        /// The whole plan.
        text: String,
        /// The piece that does not read.
        found: String,
    },
    /// Not a part.
    #[error(
        "‹split {}›: unknown part {}; expected train, validation, calibration or test",
        quote(text),
        quote(found)
    )]
    Unknown {
        /// The whole plan.
        text: String,
        /// The name given.
        found: String,
    },
    /// A part is named twice.
    #[error("‹split {}›: {part} is given twice", quote(text))]
    Twice {
        /// The whole plan.
        text: String,
        /// The part.
        part: &'static str,
    },
    /// A share outside (0, 1].
    #[error("‹split {}›: {part}={} is outside (0, 1]; leave out a part that is not wanted", quote(text), number(*share))]
    Share {
        /// The whole plan.
        text: String,
        /// The part.
        part: &'static str,
        /// Its share.
        share: f64,
    },
    /// Shares that do not make a whole.
    #[error("‹split {}›: the shares sum to {}, expected 1", quote(text), number(*sum))]
    Sum {
        /// The whole plan.
        text: String,
        /// Their sum.
        sum: f64,
    },
    /// Nothing to train on.
    #[error("‹split {}›: no train part; give it a share", quote(text))]
    NoTrain {
        /// The whole plan.
        text: String,
    },
    /// Both ways of keeping rows together.
    #[error("‹split-by› and ‹split-time› cannot be combined; give one of them")]
    ByAndTime,
    /// Fewer things that stay whole than parts.
    #[error(
        "there are {found} different values of the {}, whose rows stay together: too few for {parts} parts",
        if column.is_empty() { "query".to_owned() } else { format!("column {}", quote(column)) }
    )]
    TooFewWhole {
        /// The column.
        column: String,
        /// Its values.
        found: usize,
        /// The parts.
        parts: usize,
    },
    /// A part that would be useless.
    #[error(
        "the {part} part would hold no {missing} ({rows} rows of {total}); give it a larger share, or another ‹seed›, or leave it out"
    )]
    OneClass {
        /// The part.
        part: &'static str,
        /// `rows`, `positives` or `negatives`.
        missing: &'static str,
        /// Rows it would hold.
        rows: usize,
        /// Rows in all.
        total: usize,
    },
    /// A part that lacks classes.
    #[error(
        "the {part} part would hold no rows of {} {} ({rows} rows of {total}); give it a larger share, or another ‹seed›, pool small classes with ‹min-class›, or name those to keep with ‹classes›",
        if classes.len() == 1 { "class" } else { "the classes" },
        list(classes)
    )]
    NoClass {
        /// The part.
        part: &'static str,
        /// The classes.
        classes: Vec<String>,
        /// Rows it would hold.
        rows: usize,
        /// Rows in all.
        total: usize,
    },
}

impl Default for SplitPlan {
    /// `train=0.6,validation=0.2,calibration=0.2`.
    fn default() -> Self {
        Self { parts: vec![("train", 0.6), ("validation", 0.2), ("calibration", 0.2)] }
    }
}

impl FromStr for SplitPlan {
    type Err = SplitError;

    fn from_str(text: &str) -> Result<Self, SplitError> {
        let whole = || text.to_owned();
        let mut parts: Vec<(&'static str, f64)> = Vec::new();
        for piece in text.split(',') {
            let syntax = || SplitError::Syntax { text: whole(), found: piece.trim().to_owned() };
            let (name, share) = piece.split_once('=').ok_or_else(syntax)?;
            let name = name.trim();
            let part = PARTS.iter().find(|part| **part == name);
            let part = *part.ok_or_else(|| SplitError::Unknown { text: whole(), found: name.to_owned() })?;
            let share = share.trim();
            let (digits, unit) =
                share.strip_suffix('%').map_or((share, 1.0), |digits| (digits.trim(), 100.0));
            let share = digits.parse::<f64>().map_err(|_| syntax())? / unit;
            if !(share > 0.0 && share <= 1.0) {
                return Err(SplitError::Share { text: whole(), part, share });
            }
            if parts.iter().any(|(other, _)| *other == part) {
                return Err(SplitError::Twice { text: whole(), part });
            }
            parts.push((part, share));
        }
        let sum: f64 = parts.iter().map(|(_, share)| share).sum();
        if (sum - 1.0).abs() > 1e-6 {
            return Err(SplitError::Sum { text: whole(), sum: (sum * 1e9).round() / 1e9 });
        }
        if !parts.iter().any(|(part, _)| *part == "train") {
            return Err(SplitError::NoTrain { text: whole() });
        }
        parts.sort_by_key(|(part, _)| PARTS.iter().position(|other| other == part));
        Ok(Self { parts })
    }
}

impl fmt::Display for SplitPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (part, share)) in self.parts.iter().enumerate() {
            write!(f, "{}{part}={share}", if index > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

impl SplitPlan {
    /// The parts and their shares.
    #[must_use]
    pub fn shares(&self) -> &[(&'static str, f64)] {
        &self.parts
    }

    /// Shares out the rows of a table, by time or entity if it was read with such a column.
    ///
    /// # Errors
    /// If a part would hold no rows, or, where the table has labels, no
    /// positives or no negatives.
    pub fn split(&self, table: &Table, seed: u64) -> Result<Parts, SplitError> {
        let shares: Vec<f64> = self.parts.iter().map(|(_, share)| *share).collect();
        let (labels, kinds) = (table.labels(), Kinds::of_table(table));
        let part_of = match (table.times(), table.entities()) {
            (Some(_), Some(_)) => return Err(SplitError::ByAndTime),
            (Some(times), None) => time::split(times, &shares),
            (None, Some(entities)) if entities.names.len() < shares.len() => {
                let (column, found) = (entities.column.clone(), entities.names.len());
                return Err(SplitError::TooFewWhole { column, found, parts: shares.len() });
            }
            (None, Some(entities)) => entity::split(&entities.of, entities.names.len(), kinds, &shares, seed),
            (None, None) => {
                let groups = table.groups().map(|groups| groups.of.as_slice());
                stratified::split(table.rows(), labels, groups, &shares, seed)
            }
        };
        let mut rows = vec![Vec::new(); shares.len()];
        for (part, own) in (0..).zip(&mut rows) {
            let here = |(row, of): (u32, &u8)| (*of == part).then_some(row);
            own.reserve_exact(part_of.iter().filter(|of| **of == part).count());
            own.extend((0..).zip(&part_of).filter_map(here));
        }
        let parts = Parts { names: self.parts.iter().map(|(part, _)| *part).collect(), rows };
        parts.check(kinds, table.rows())?;
        Ok(parts)
    }
}

/// What every part must have rows of.
#[derive(Clone, Copy)]
pub(crate) enum Kinds<'a> {
    /// Any.
    Unknown,
    /// Positives and negatives.
    Labels(&'a [bool]),
    /// Each class.
    Classes(&'a Codes),
    /// Relevant ones, of ranking data.
    Relevant(&'a [bool]),
}

impl<'a> Kinds<'a> {
    fn of_table(table: &'a Table) -> Self {
        match (table.classes(), table.labels()) {
            (Some(classes), _) => Self::Classes(classes),
            (None, Some(labels)) if table.grades().is_some() => Self::Relevant(labels),
            (None, Some(labels)) => Self::Labels(labels),
            (None, None) => Self::Unknown,
        }
    }

    fn count(self) -> usize {
        if let Self::Classes(classes) = self { classes.names.len() } else { 2 }
    }

    fn of(self, row: usize) -> usize {
        match self {
            Self::Unknown => 0,
            Self::Labels(labels) | Self::Relevant(labels) => usize::from(labels[row]),
            Self::Classes(classes) => classes.of[row] as usize,
        }
    }
}

impl Parts {
    /// The rows of a part, ascending; none if there is no such part.
    #[must_use]
    pub fn rows(&self, part: &str) -> &[u32] {
        let found = self.names.iter().position(|name| *name == part);
        found.map_or(&[], |index| &self.rows[index])
    }

    /// Each part with its rows.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &[u32])> {
        self.names.iter().copied().zip(self.rows.iter().map(Vec::as_slice))
    }

    /// The same with these rows for a part, in the place of those it had.
    #[must_use]
    pub fn with(mut self, part: &'static str, rows: Vec<u32>) -> Self {
        let order = |name: &str| PARTS.iter().position(|known| *known == name);
        match self.names.iter().position(|name| *name == part) {
            Some(index) => self.rows[index] = rows,
            None => {
                let place = self.names.partition_point(|name| order(name) < order(part));
                self.names.insert(place, part);
                self.rows.insert(place, rows);
            }
        }
        self
    }

    /// Parts as the data gives them: rows, ascending, each with an index into [`PARTS`].
    ///
    /// `kinds` are those of all rows by number.
    pub(crate) fn given(
        rows: impl Iterator<Item = (u32, usize)>,
        kinds: Kinds<'_>,
    ) -> Result<Self, SplitError> {
        let mut lists = vec![Vec::new(); PARTS.len()];
        rows.for_each(|(row, part)| lists[part].push(row));
        let total = lists.iter().map(Vec::len).sum();
        // Without rows to train on there is nothing to do; the check says so.
        let (names, rows) = (PARTS.into_iter().zip(lists))
            .filter(|(part, rows)| *part == "train" || !rows.is_empty())
            .unzip();
        let parts = Self { names, rows };
        parts.check(kinds, total)?;
        Ok(parts)
    }

    /// The same parts, of rows that are themselves listed: each row is a place in the list.
    pub(crate) fn of_rows(mut self, list: &[u32]) -> Self {
        self.rows.iter_mut().flatten().for_each(|row| *row = list[*row as usize]);
        self
    }

    fn check(&self, kinds: Kinds<'_>, total: usize) -> Result<(), SplitError> {
        for (part, rows) in self.iter() {
            let lacks = |missing| SplitError::OneClass { part, missing, rows: rows.len(), total };
            if rows.is_empty() {
                return Err(lacks("rows"));
            }
            let mut there = vec![false; kinds.count()];
            rows.iter().for_each(|row| there[kinds.of(*row as usize)] = true);
            let absent = |kind: &usize| !there[*kind];
            match kinds {
                Kinds::Unknown => {}
                Kinds::Labels(_) if !there[1] => return Err(lacks("positives")),
                Kinds::Labels(_) if !there[0] => return Err(lacks("negatives")),
                Kinds::Relevant(_) if !there[1] => return Err(lacks("relevant rows")),
                Kinds::Classes(codes) if there.contains(&false) => {
                    let absent = (0..there.len()).filter(absent).map(|class| codes.names[class].clone());
                    return Err(SplitError::NoClass {
                        part,
                        classes: absent.collect(),
                        rows: rows.len(),
                        total,
                    });
                }
                Kinds::Labels(_) | Kinds::Classes(_) | Kinds::Relevant(_) => {}
            }
        }
        Ok(())
    }
}

/// Puts `items` in a random order that depends on the seed alone.
///
/// Written out, because library shuffles may change from version to version,
/// and a split must not.
pub fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for last in (1..items.len()).rev() {
        let pick = (u128::from(random.next_u64()) * (last as u128 + 1)) >> 64;
        items.swap(last, pick as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::ReadOptions;
    use crate::role::Roles;

    fn table(rows: usize, roles: Roles) -> Table {
        let mut text = "y,x,who,when,g\n".to_owned();
        for row in 0..rows {
            let label = u8::from(row % 10 == 0);
            text += &format!(
                "{label},{},p{},2024-01-{:02},{}\n",
                row * 7 % 13,
                row / 4,
                1 + row * 28 / rows,
                row % 3
            );
        }
        let roles = Roles { label: Some("y".into()), drop: vec!["who".into(), "when".into()], ..roles };
        Table::from_bytes("t.csv", text.into_bytes(), &ReadOptions::default(), &roles, None).unwrap()
    }

    #[test]
    fn plans_are_parsed_and_refused_with_reasons() {
        let plan: SplitPlan = "test=20%, train=0.8".parse().unwrap();
        assert_eq!(plan.to_string(), "train=0.8,test=0.2");
        for (text, message) in [
            ("train", "‹split \"train\"›: \"train\" is not name=share"),
            ("train=x", "is not name=share"),
            ("train=0.5,valid=0.5", "unknown part \"valid\""),
            ("train=0.5,train=0.5", "train is given twice"),
            ("train=0.5,test=0.4", "the shares sum to 0.9, expected 1"),
            ("train=1,test=0", "test=0 is outside (0, 1]"),
            ("train=nan", "outside (0, 1]"),
            ("test=1", "no train part"),
        ] {
            let error = text.parse::<SplitPlan>().unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn every_way_to_split_is_repeatable_and_complete() {
        for roles in [
            Roles::default(),
            Roles { group: Some("g".into()), ..Roles::default() },
            Roles { split_by: Some("who".into()), ..Roles::default() },
            Roles { split_time: Some("when".into()), ..Roles::default() },
        ] {
            let table = table(400, roles);
            let plan = SplitPlan::default();
            let parts = plan.split(&table, 1).unwrap();
            assert_eq!(parts, plan.split(&table, 1).unwrap());
            let mut all: Vec<u32> = parts.iter().flat_map(|(_, rows)| rows.to_vec()).collect();
            all.sort_unstable();
            assert_eq!(all, (0..400).collect::<Vec<u32>>());
            let train = parts.rows("train").len();
            assert!((220..=260).contains(&train), "{train}");
        }
    }

    #[test]
    fn another_seed_gives_other_rows() {
        let table = table(400, Roles::default());
        let plan = SplitPlan::default();
        assert_ne!(plan.split(&table, 1).unwrap(), plan.split(&table, 2).unwrap());
    }

    #[test]
    fn the_number_of_threads_does_not_matter() {
        let split = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| SplitPlan::default().split(&table(400, Roles::default()), 3).unwrap())
        };
        assert_eq!(split(1), split(4));
    }

    #[test]
    fn the_rows_of_a_seed_never_change() {
        // Recorded once: a changed list would break every stored experiment.
        let mut rows: Vec<u32> = (0..8).collect();
        shuffle(&mut rows, 0);
        assert_eq!(rows, [7, 2, 1, 6, 0, 4, 3, 5]);
    }

    #[test]
    fn a_part_without_positives_is_refused() {
        let table = table(20, Roles::default());
        let error = SplitPlan::default().split(&table, 0).unwrap_err().to_string();
        assert!(error.contains("would hold no positives"), "{error}");
    }

    #[test]
    fn time_and_entity_exclude_each_other() {
        let roles =
            Roles { split_by: Some("who".into()), split_time: Some("when".into()), ..Roles::default() };
        assert_eq!(SplitPlan::default().split(&table(40, roles), 0), Err(SplitError::ByAndTime));
    }
}
