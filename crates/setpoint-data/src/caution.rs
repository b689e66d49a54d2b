//! Columns that someone should look at before a model is trusted: one that gives the label away, or is there twice.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::chunk::{Chunk, MISSING};
use crate::layout::ColumnKind;
use crate::table::{Body, FeatureColumn, Table};

/// Rows looked at, so that wide tables cost little; and at first.
const ROWS: usize = 20_000;
const FIRST: usize = 2_000;
/// A column that by itself puts so many of the pairs of a positive and a negative in order gives the label away.
const AREA: f64 = 0.99;
/// What a first look must come to for a second.
const FIRST_AREA: f64 = 0.97;
/// Columns whose ranks agree so far with those of the times are the order of the rows.
const RISES: f64 = 0.99;
/// Rows of each label that a look needs.
const LEAST: usize = 20;

/// A column that nearly gives the label away.
#[derive(Clone, Debug, PartialEq)]
pub struct Telling {
    /// Its name.
    pub column: String,
    /// The share of pairs of a positive and a negative that it puts in order.
    pub area: f64,
    /// Some rows of the table.
    pub rows: Vec<u32>,
    /// The score that the column gives each of them.
    pub scores: Vec<f32>,
}

impl Table {
    /// Columns that nearly give a label of two classes away by themselves, told by some of these rows, which ascend.
    #[must_use]
    pub fn telling(&self, rows: &[u32]) -> Vec<Telling> {
        let (Body::Dense { columns, chunks, texts }, Some(labels), None) =
            (&self.body, &self.labels, self.classes())
        else {
            return Vec::new();
        };
        let some = |most: usize| -> Vec<u32> {
            rows.iter().copied().step_by(rows.len().div_ceil(most).max(1)).collect()
        };
        let (first, second) = (some(FIRST), some(ROWS));
        let look = |column: &FeatureColumn, rows: &[u32]| {
            let labels: Vec<bool> = rows.iter().map(|row| labels[*row as usize]).collect();
            let scores = match column.kind {
                ColumnKind::Number => {
                    by_number(&pick(chunks, rows, |chunk| chunk.number(column.slot)), &labels)
                }
                ColumnKind::Category => {
                    let codes = pick(chunks, rows, |chunk| chunk.code(column.slot));
                    by_rate(&codes, &labels, texts[column.slot].values.len())
                }
            };
            (area(&scores, &labels).unwrap_or(0.5), scores)
        };
        let of = |column: &FeatureColumn| {
            if look(column, &first).0 < FIRST_AREA {
                return None;
            }
            let (area, scores) = look(column, &second);
            let (column, rows) = (column.name.clone(), second.clone());
            (area >= AREA).then_some(Telling { column, area, rows, scores })
        };
        columns.par_iter().filter_map(of).collect()
    }

    /// Columns of numbers that rise, or fall, with the times of the rows: all but the order of them.
    #[must_use]
    pub fn following_time(&self) -> Vec<String> {
        let (Body::Dense { columns, chunks, .. }, Some(times)) = (&self.body, &self.times) else {
            return Vec::new();
        };
        let rows: Vec<u32> = (0..self.rows as u32).step_by(self.rows.div_ceil(FIRST).max(1)).collect();
        let times: Vec<f64> = rows.iter().map(|row| times[*row as usize]).collect();
        let of = |column: &FeatureColumn| {
            let values = pick(chunks, &rows, |chunk| chunk.number(column.slot));
            let pairs = values.iter().zip(&times).filter(|(value, _)| !value.is_nan());
            let (values, times): (Vec<f64>, Vec<f64>) =
                pairs.map(|(value, time)| (f64::from(*value), *time)).unzip();
            let follows = values.len() >= 2 * LEAST && agreement(&values, &times).abs() >= RISES;
            follows.then(|| column.name.clone())
        };
        columns.par_iter().filter(|column| column.kind == ColumnKind::Number).filter_map(of).collect()
    }

    /// Columns that are the same as an earlier one in every row, and which.
    #[must_use]
    pub fn doubled(&self) -> Vec<(String, String)> {
        let Body::Dense { columns, chunks, .. } = &self.body else { return Vec::new() };
        let same = |one: &FeatureColumn, other: &FeatureColumn| {
            one.kind == other.kind
                && one.offset == other.offset
                && one.form == other.form
                && chunks.iter().all(|chunk| match one.kind {
                    ColumnKind::Number => {
                        let (one, other) = (chunk.number(one.slot), chunk.number(other.slot));
                        one.iter().zip(&*other).all(|(one, other)| one.to_bits() == other.to_bits())
                    }
                    // Codes count texts as they occur: equal ones are equal up to their names.
                    ColumnKind::Category => chunk.code(one.slot) == chunk.code(other.slot),
                })
        };
        let twice = (0..columns.len()).into_par_iter().filter_map(|at| {
            let before = columns[..at].iter().find(|other| same(&columns[at], other))?;
            Some((columns[at].name.clone(), before.name.clone()))
        });
        twice.collect()
    }
}

/// The values of some rows, which ascend.
fn pick<'a, T: Copy + 'a>(
    chunks: &'a [Chunk],
    rows: &[u32],
    column: impl Fn(&'a Chunk) -> Cow<'a, [T]>,
) -> Vec<T> {
    let (mut picked, mut start, mut next) = (Vec::with_capacity(rows.len()), 0, 0);
    for chunk in chunks {
        let values = column(chunk);
        while next < rows.len() && (rows[next] as usize) < start + chunk.rows {
            picked.push(values[rows[next] as usize - start]);
            next += 1;
        }
        start += chunk.rows;
    }
    picked
}

/// A number is its own score, from below or above, and missing ones are below or above all, whichever tells most.
fn by_number(values: &[f32], labels: &[bool]) -> Vec<f32> {
    let missing = values.iter().any(|value| value.is_nan());
    let fill = |end: f32| values.iter().map(|value| if value.is_nan() { end } else { *value }).collect();
    let mut best = (0.0, values.to_vec());
    for end in [f32::MIN, f32::MAX].into_iter().take(1 + usize::from(missing)) {
        let scores: Vec<f32> = fill(end);
        let area = area(&scores, labels).unwrap_or(0.5);
        for (area, sign) in [(area, 1.0), (1.0 - area, -1.0)] {
            if area > best.0 {
                best = (area, scores.iter().map(|score| sign * score).collect());
            }
        }
    }
    best.1
}

/// The share of positives among every other row of the same category, so that no row tells of itself.
fn by_rate(codes: &[u32], labels: &[bool], categories: usize) -> Vec<f32> {
    let place = |code: u32| if code == MISSING { categories } else { code as usize };
    let mut counts = [vec![[0.0_f32; 2]; categories + 1], vec![[0.0; 2]; categories + 1]];
    for (row, (code, label)) in codes.iter().zip(labels).enumerate() {
        counts[row % 2][place(*code)][usize::from(*label)] += 1.0;
    }
    let share = labels.iter().filter(|label| **label).count() as f32 / labels.len().max(1) as f32;
    let score = |(row, code): (usize, &u32)| {
        let [negative, positive] = counts[1 - row % 2][place(*code)];
        (positive + share) / (positive + negative + 1.0)
    };
    codes.iter().enumerate().map(score).collect()
}

/// The correlation of ranks, ties in the middle of theirs (Spearman's); 0 where one does not vary.
fn agreement(one: &[f64], other: &[f64]) -> f64 {
    let ranks = |values: &[f64]| {
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
        let (mut ranks, mut below) = (vec![0.0; values.len()], 0);
        for tied in order.chunk_by(|a, b| values[*a] == values[*b]) {
            let middle = below as f64 + (tied.len() as f64 - values.len() as f64) / 2.0;
            tied.iter().for_each(|row| ranks[*row] = middle);
            below += tied.len();
        }
        ranks
    };
    let (one, other) = (ranks(one), ranks(other));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let scale = (product(&one, &one) * product(&other, &other)).sqrt();
    if scale > 0.0 { product(&one, &other) / scale } else { 0.0 }
}

/// The share of pairs of a positive and a negative in order, ties as halves; `None` with few of either.
fn area(scores: &[f32], labels: &[bool]) -> Option<f64> {
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    order.sort_unstable_by(|one, other| scores[*one as usize].total_cmp(&scores[*other as usize]));
    let (mut below, mut right, mut positives) = (0.0, 0.0, 0.0);
    for tied in order.chunk_by(|one, other| scores[*one as usize] == scores[*other as usize]) {
        let own = tied.iter().filter(|row| labels[**row as usize]).count() as f64;
        let negatives = tied.len() as f64 - own;
        right += own * (below + negatives / 2.0);
        below += negatives;
        positives += own;
    }
    (positives.min(below) >= LEAST as f64).then(|| right / (positives * below))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::{ReadOptions, Roles};

    fn table(text: String) -> Table {
        let roles = Roles { label: Some("y".into()), ..Roles::default() };
        Table::from_bytes("t.csv", text.into(), &ReadOptions::default(), &roles, None).unwrap()
    }

    #[test]
    fn columns_that_give_the_label_away_are_found_with_their_scores() {
        let mut text = "closed,fee,code,note,x,y\n".to_owned();
        for row in 0..600_u32 {
            let positive = row % 5 == 0;
            // Missing in positives alone; lower for them; one code of theirs; nothing; nothing.
            let closed = if positive { String::new() } else { (row % 7).to_string() };
            let fee = if positive { 3 - row as i64 } else { 10 + i64::from(row % 90) };
            let code = if positive { "fraud" } else { ["a", "b"][row as usize % 2] };
            let x = row.wrapping_mul(2_654_435_761) >> 16;
            writeln!(text, "{closed},{fee},{code},n{},{x},{}", x % 9, u8::from(positive)).unwrap();
        }
        let table = table(text);
        let rows: Vec<u32> = (0..500).collect();
        let found = table.telling(&rows);
        let names: Vec<&str> = found.iter().map(|telling| telling.column.as_str()).collect();
        assert_eq!(names, ["closed", "fee", "code"]);
        for telling in &found {
            let mean = |positive: bool| {
                let of =
                    telling.rows.iter().zip(&telling.scores).filter(|(row, _)| (*row % 5 == 0) == positive);
                let (sum, count) =
                    of.fold((0.0, 0.0), |sum, (_, score)| (sum.0 + f64::from(*score), sum.1 + 1.0));
                sum / count
            };
            assert!(mean(true) > mean(false) && telling.area >= AREA, "{}", telling.column);
        }
    }

    #[test]
    fn columns_that_follow_the_time_of_a_split_are_named() {
        let mut text = "when,number,left,steps,x,y\n".to_owned();
        for row in 0..300_u32 {
            let x = row.wrapping_mul(2_654_435_761) >> 20;
            let left = if row % 10 == 0 { String::new() } else { (9000 - row * row / 20).to_string() };
            writeln!(text, "{},{},{left},{},{x},{}", 5 * row, row + x % 3, row / 2 % 9, row % 2).unwrap();
        }
        let roles = Roles { label: Some("y".into()), split_time: Some("when".into()), ..Roles::default() };
        let table =
            Table::from_bytes("t.csv", text.clone().into(), &ReadOptions::default(), &roles, None).unwrap();
        assert_eq!(table.following_time(), ["number", "left"]);
        assert!(super::tests::table(text).following_time().is_empty(), "no split by time");
        // scipy.stats.spearmanr([1, 2, 2, 4], [1, 3, 2, 4])
        assert!(
            (agreement(&[1.0, 2.0, 2.0, 4.0], &[1.0, 3.0, 2.0, 4.0]) - 0.948_683_298_050_513_8).abs() < 1e-12
        );
    }

    #[test]
    fn categories_of_one_row_each_tell_nothing() {
        let mut text = "id,y\n".to_owned();
        for row in 0..400 {
            writeln!(text, "u{row},{}", row % 2).unwrap();
        }
        assert!(table(text).telling(&(0..400).collect::<Vec<_>>()).is_empty());
    }

    #[test]
    fn columns_that_are_there_twice_are_named() {
        let mut text = "a,b,c,d,e,y\n".to_owned();
        for row in 0..40 {
            let (one, two) = (row * 37 % 11, row % 3);
            writeln!(text, "{one},{one},{two}t,{two}u,{},{}", if row == 39 { 1 } else { one }, row % 2)
                .unwrap();
        }
        let expected = [("b".to_owned(), "a".to_owned()), ("d".to_owned(), "c".to_owned())];
        assert_eq!(table(text).doubled(), expected);
    }
}
