//! An entity's rows stay together.

use super::{Kinds, shuffle};

/// The part of each row.
///
/// Entities come largest first, in random order among equals, and each goes
/// where it brings the positives and negatives of the parts, or their classes, closest to their
/// shares: where it lowers sum (count - target)^2 / target the most.
pub(super) fn split(of: &[u32], entities: usize, kinds: Kinds<'_>, shares: &[f64], seed: u64) -> Vec<u8> {
    let count = kinds.count();
    let mut sizes = vec![vec![0.0; count]; entities];
    let mut totals = vec![0.0; count];
    for (row, entity) in of.iter().enumerate() {
        sizes[*entity as usize][kinds.of(row)] += 1.0;
        totals[kinds.of(row)] += 1.0;
    }
    let mut order: Vec<usize> = (0..entities).collect();
    shuffle(&mut order, seed);
    order.sort_by(|a, b| sizes[*b].iter().sum::<f64>().total_cmp(&sizes[*a].iter().sum::<f64>()));
    let mut counts = vec![vec![0.0; count]; shares.len()];
    let mut part_of_entity = vec![0; entities];
    for entity in order {
        let size = &sizes[entity];
        let cost = |part: usize| -> f64 {
            (0..count)
                .filter(|class| totals[*class] > 0.0)
                .map(|class| {
                    let target = shares[part] * totals[class];
                    let away = counts[part][class] - target;
                    ((away + size[class]).powi(2) - away.powi(2)) / target
                })
                .sum()
        };
        let mut chosen = 0;
        for part in 1..shares.len() {
            if cost(part) < cost(chosen) {
                chosen = part;
            }
        }
        part_of_entity[entity] = chosen as u8;
        (0..count).for_each(|class| counts[chosen][class] += size[class]);
    }
    of.iter().map(|entity| part_of_entity[*entity as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_stay_whole_and_shares_are_close() {
        let rows = 2000;
        let of: Vec<u32> =
            (0..rows as u32).map(|row| (row * 7919 % 211) * (row * 7919 % 211) % 150).collect();
        let labels: Vec<bool> =
            of.iter().enumerate().map(|(row, who)| (row as u32 + who).is_multiple_of(9)).collect();
        let shares = [0.6, 0.2, 0.2];
        let part_of = split(&of, 150, Kinds::Labels(&labels), &shares, 4);
        let mut part_of_entity = vec![None; 150];
        for (row, who) in of.iter().enumerate() {
            let part = part_of_entity[*who as usize].get_or_insert(part_of[row]);
            assert_eq!(*part, part_of[row]);
        }
        for (part, share) in shares.iter().enumerate() {
            for label in [true, false] {
                let all = labels.iter().filter(|one| **one == label).count() as f64;
                let here = (0..rows)
                    .filter(|row| usize::from(part_of[*row]) == part && labels[*row] == label)
                    .count() as f64;
                assert!((here / all - share).abs() < 0.05, "{part} {label} {here} of {all}");
            }
        }
    }
}
