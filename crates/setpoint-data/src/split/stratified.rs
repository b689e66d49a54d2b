//! Each part gets its share of every stratum.

use super::shuffle;

/// The part of each row.
///
/// Rows are shuffled, then lined up stratum by stratum, and each in turn goes to
/// the part that is furthest behind its share. Along such a line no part is ever
/// more than about a row away from its share, so that holds for every stratum
/// and for the whole.
pub(super) fn split(
    rows: usize,
    labels: Option<&[bool]>,
    groups: Option<&[u32]>,
    shares: &[f64],
    seed: u64,
) -> Vec<u8> {
    let mut order: Vec<u32> = (0..rows as u32).collect();
    shuffle(&mut order, seed);
    let groups_there = groups.and_then(|groups| groups.iter().max()).map_or(1, |last| *last as usize + 1);
    let stratum = |row: u32| {
        let row = row as usize;
        // Positives first: they are rarer, and the first rows of the line are the most even.
        let negative = labels.is_some_and(|labels| !labels[row]);
        usize::from(negative) * groups_there + groups.map_or(0, |groups| groups[row] as usize)
    };
    let mut next = vec![0; 2 * groups_there + 1];
    order.iter().for_each(|row| next[stratum(*row) + 1] += 1);
    for place in 1..next.len() {
        next[place] += next[place - 1];
    }
    let mut line = vec![0; rows];
    for row in order {
        let place = &mut next[stratum(row)];
        line[*place] = row;
        *place += 1;
    }
    let mut part_of = vec![0; rows];
    let mut counts = vec![0.0; shares.len()];
    for (done, row) in line.iter().enumerate() {
        let behind = |part: usize| shares[part] * (done + 1) as f64 - counts[part];
        let mut chosen = 0;
        for part in 1..shares.len() {
            if behind(part) > behind(chosen) {
                chosen = part;
            }
        }
        counts[chosen] += 1.0;
        part_of[*row as usize] = chosen as u8;
    }
    part_of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stratum_keeps_its_shares_to_within_two_rows() {
        let rows = 1000;
        let labels: Vec<bool> = (0..rows).map(|row| row % 17 == 0).collect();
        let groups: Vec<u32> = (0..rows as u32).map(|row| row * row % 5).collect();
        let shares = [0.6, 0.2, 0.2];
        let part_of = split(rows, Some(&labels), Some(&groups), &shares, 9);
        for label in [true, false] {
            for group in 0..5 {
                let stratum: Vec<usize> =
                    (0..rows).filter(|row| labels[*row] == label && groups[*row] == group).collect();
                for (part, share) in shares.iter().enumerate() {
                    let count =
                        stratum.iter().filter(|row| usize::from(part_of[**row]) == part).count() as f64;
                    // Off by less than one row at each end of the stratum.
                    assert!((count - share * stratum.len() as f64).abs() <= 2.0);
                }
            }
        }
    }
}
