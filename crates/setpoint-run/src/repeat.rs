//! Rows that are the same: copies among those that prove, and among those held out of those learnt from.

use std::hash::{DefaultHasher, Hasher};

use rayon::prelude::*;
use setpoint::Sample;
use setpoint::features::Features;
use setpoint_data::{Parts, Table};

use crate::examples::LEARNT;

/// A larger share of the rows held out than this that repeat others is worth a note.
const REPEATED: f64 = 0.1;
/// Values up to which rows are compared.
const MOST_HASHED: usize = 500_000_000;

/// A number for each row of features, equal for equal rows, of the lists of rows that are compared.
pub(crate) struct Hashes {
    of: Vec<Option<Vec<u64>>>,
    /// Which list the calibration rows are.
    calibration: Option<usize>,
}

impl Hashes {
    pub(crate) fn new(table: &Table, lists: &[&[u32]], parts: &Parts, columns: usize) -> Self {
        let cells = lists.iter().map(|rows| rows.len().saturating_mul(columns)).sum::<usize>();
        let all = cells <= MOST_HASHED && table.queries().is_none();
        let is_calibration = |rows: &&[u32]| !rows.is_empty() && *rows == parts.rows("calibration");
        let calibration = lists.iter().position(is_calibration);
        let wanted = |(list, rows): (usize, &&[u32])| {
            let wanted = table.entities().is_none() && (all || calibration == Some(list));
            wanted.then(|| Vec::with_capacity(rows.len()))
        };
        Self { of: lists.iter().enumerate().map(wanted).collect(), calibration }
    }

    pub(crate) fn add(&mut self, list: usize, block: &Features) {
        let hash = |row: usize| {
            let mut hasher = DefaultHasher::new();
            block.hash_row(row, &mut hasher);
            hasher.finish()
        };
        if let Some(hashes) = &mut self.of[list] {
            hashes.par_extend((0..block.rows()).into_par_iter().map(hash));
        }
    }

    /// A caution where most calibration rows repeat others: each counts as a draw in a certificate.
    pub(crate) fn copies(&self, lists: &[&[u32]], sample: &Sample) -> Option<String> {
        let list = self.calibration?;
        let rows = lists[list].iter().map(|row| sample.labels()[*row as usize]);
        let mut seen: Vec<u64> = self.of[list].as_ref()?.iter().zip(rows).map(with_label).collect();
        seen.sort_unstable();
        seen.dedup();
        (2 * seen.len() <= lists[list].len()).then(|| {
            format!(
                "of {} calibration rows only {} differ: a certificate counts each as a draw of its own; if copies are \
                 one case, or several rows belong to one, say so (split_by)",
                lists[list].len(),
                seen.len()
            )
        })
    }

    /// A note where many rows that are held out repeat rows that are learnt from: what is measured on them is memory too.
    pub(crate) fn repeated(&self, lists: &[&[u32]], sample: &Sample, parts: &Parts) -> Option<String> {
        let hashes: Vec<&Vec<u64>> = self.of.iter().map(Option::as_ref).collect::<Option<_>>()?;
        let mut held_out = vec![false; sample.len()];
        for (_, rows) in parts.iter().filter(|(name, _)| !LEARNT.contains(name)) {
            rows.iter().for_each(|row| held_out[*row as usize] = true);
        }
        let (mut learnt, mut others) = (Vec::new(), Vec::new());
        for (row, hash) in lists.iter().zip(hashes).flat_map(|(rows, hashes)| rows.iter().zip(hashes)) {
            let row = *row as usize;
            let group = sample.groups().map_or(0, |groups| u64::from(groups.codes()[row]) + 1);
            let hash = with_label((&hash.wrapping_add(group.wrapping_mul(MIX)), sample.labels()[row]));
            match held_out[row] {
                true => others.push(hash),
                false => learnt.push(hash),
            }
        }
        learnt.par_sort_unstable();
        learnt.dedup();
        others.par_sort_unstable();
        let mut behind = &learnt[..];
        let again = others.iter().filter(|hash| {
            behind = &behind[behind.partition_point(|learnt| learnt < hash)..];
            behind.first() == Some(hash)
        });
        let again = again.count();
        // Where few different rows are possible, they come again by themselves.
        let differ = 2 * learnt.len() > sample.len() - others.len();
        (differ && again as f64 > REPEATED * others.len() as f64).then(|| {
            format!(
                "{again} of the {} rows that are held out are the same, label included, as rows that are learnt from: if \
                 copies are one case, say which rows belong together (‹split-by›)",
                others.len()
            )
        })
    }
}

/// Any odd number with bits everywhere.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

fn with_label((hash, label): (&u64, bool)) -> u64 {
    if label { !hash } else { *hash }
}
