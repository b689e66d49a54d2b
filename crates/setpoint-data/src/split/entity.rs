//! An entity's rows stay together.

use setpoint::sample::share_out;

use super::{Kinds, shuffle};

/// The part of each row, the largest entities first, in random order among equals.
pub(super) fn split(of: &[u32], entities: usize, kinds: Kinds<'_>, shares: &[f64], seed: u64) -> Vec<u8> {
    let mut order: Vec<usize> = (0..entities).collect();
    shuffle(&mut order, seed);
    let part_of_entity = share_out(of, order, (kinds.count(), &|row| kinds.of(row)), shares);
    of.iter().map(|entity| part_of_entity[*entity as usize] as u8).collect()
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
