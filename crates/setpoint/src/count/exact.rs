//! Unrelaxed counts: the same cells as the smooth ones, with the decision `score >= threshold`.
//!
//! No sort: a row falls into one of m + 1 buckets between the m thresholds of its group, and the
//! counts at a threshold are sums over the buckets on either side. One pass over the rows, with
//! log m comparisons each.

use rayon::prelude::*;

use super::{CHUNK, Cell, WORTH_SHARING};
use crate::sample::{Sample, SampleError, Stakes};

/// Counts decisions at these thresholds (one row of them for each of the groups), written to `cells` as by
/// [`Counter::count`](super::Counter::count); slopes and curvatures are 0.
///
/// The same bits for any number of threads.
///
/// # Errors
/// If there is not one finite score for each example.
pub fn count_exact(
    sample: &Sample,
    groups: usize,
    scores: &[f32],
    thresholds: &[f64],
    cells: &mut [Cell],
) -> Result<(), SampleError> {
    sample.check_scores(scores)?;
    let columns = thresholds.len() / groups;
    let groups = sample.groups().filter(|_| groups > 1);
    // Per group, the thresholds in ascending order, with the column that each comes from.
    let order = |row: &[f64]| {
        let mut order: Vec<usize> = (0..columns).collect();
        order.sort_by(|a, b| row[*a].total_cmp(&row[*b]));
        order
    };
    let orders: Vec<Vec<usize>> = thresholds.chunks(columns).map(order).collect();
    let ascending: Vec<f64> = (thresholds.chunks(columns).zip(&orders))
        .flat_map(|(row, order)| order.iter().map(|column| row[*column]))
        .collect();
    let buckets = columns + 1;
    cells.fill(Cell::default());
    for (layer, cells) in cells.chunks_mut(2 * thresholds.len()).enumerate() {
        let stakes = sample.stakes().filter(|_| layer > 0);
        let labels = stakes.map_or(sample.labels(), Stakes::better);
        let weight =
            |row: usize| stakes.map_or(sample.weight(row), |stakes| f64::from(stakes.weights()[row]));
        let weigh = |chunk: usize| {
            let mut sums = vec![[0.0f64; 2]; orders.len() * buckets];
            for row in chunk * CHUNK..((chunk + 1) * CHUNK).min(scores.len()) {
                let group = groups.map_or(0, |groups| groups.codes()[row] as usize);
                let score = f64::from(scores[row]);
                let bucket = ascending[group * columns..][..columns].partition_point(|t| *t <= score);
                sums[group * buckets + bucket][usize::from(labels[row])] += weight(row);
            }
            sums
        };
        let chunks = scores.len().div_ceil(CHUNK);
        let parts: Vec<Vec<[f64; 2]>> = if scores.len() <= WORTH_SHARING {
            (0..chunks).map(weigh).collect()
        } else {
            (0..chunks).into_par_iter().map(weigh).collect()
        };
        let mut sums = vec![[0.0f64; 2]; orders.len() * buckets];
        for (sum, part) in parts.iter().flat_map(|part| part.iter().enumerate()) {
            sums[sum][0] += part[0];
            sums[sum][1] += part[1];
        }
        for (group, order) in orders.iter().enumerate() {
            let sums = &sums[group * buckets..][..buckets];
            for (rank, column) in order.iter().enumerate() {
                for label in 0..2 {
                    let total = |range: &[[f64; 2]]| range.iter().map(|sum| sum[label]).sum();
                    let cell = &mut cells[(group * columns + column) * 2 + label];
                    (cell.negative, cell.positive) = (total(&sums[..=rank]), total(&sums[rank + 1..]));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_comparing_every_score_with_every_threshold(
            rows in proptest::collection::vec((-3i8..4, any::<bool>(), 1u8..5, 0u32..2), 2..60),
            thresholds in proptest::collection::vec(-4i8..5, 6),
            by_group: bool,
        ) {
            let scores: Vec<f32> = rows.iter().map(|row| f32::from(row.0)).collect();
            let mut codes: Vec<u32> = rows.iter().map(|row| row.3).collect();
            codes[..2].copy_from_slice(&[0, 1]);
            let sample = Sample::new(rows.iter().map(|row| row.1).collect()).unwrap()
                .with_weights(rows.iter().map(|row| f32::from(row.2)).collect()).unwrap()
                .with_groups("g", vec!["a".into(), "b".into()], codes.clone()).unwrap();
            let thresholds: Vec<f64> = thresholds.iter().map(|t| f64::from(*t)).collect();
            let columns = if by_group { 3 } else { 6 };
            let mut expected = vec![Cell::default(); 12];
            for (row, score) in scores.iter().enumerate() {
                let group = if by_group { codes[row] as usize } else { 0 };
                for column in 0..columns {
                    let at = group * columns + column;
                    let cell = &mut expected[at * 2 + usize::from(sample.labels()[row])];
                    let positive = f64::from(*score) >= thresholds[at];
                    *if positive { &mut cell.positive } else { &mut cell.negative } += sample.weight(row);
                }
            }
            let mut cells = vec![Cell::default(); 12];
            count_exact(&sample, if by_group { 2 } else { 1 }, &scores, &thresholds, &mut cells).unwrap();
            prop_assert_eq!(cells, expected);
        }
    }
}
