//! Rows in several places shared out where they are: by a hash of each row's place, or of its entity, or by time. Each
//! place knows its own rows' parts, and nothing has to move.

use serde::{Deserialize, Serialize};

use super::{Kinds, PARTS, Parts, SplitError, SplitPlan, time};
use crate::dataset::Codes;

/// How rows in several places are shared out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Places {
    /// The shares, of parts by their index in [`PARTS`].
    shares: Vec<(usize, f64)>,
    seed: u64,
    /// The last time of each part but the last one, of a split by time.
    until: Option<Vec<f64>>,
}

impl Places {
    /// A split by hash, or by time where the times of all rows are given.
    #[must_use]
    pub fn new(plan: &SplitPlan, seed: u64, times: Option<&[f64]>) -> Self {
        let place = |name: &str| PARTS.iter().position(|known| *known == name).unwrap_or(0);
        let shares: Vec<(usize, f64)> =
            plan.parts.iter().map(|(name, share)| (place(name), *share)).collect();
        let until = times.map(|times| {
            let parts = time::split(times, &shares.iter().map(|(_, share)| *share).collect::<Vec<_>>());
            let mut until = vec![f64::NEG_INFINITY; shares.len() - 1];
            for (part, time) in parts.into_iter().zip(times) {
                // A part without rows ends where the one before it does.
                until.iter_mut().skip(part.into()).for_each(|until| *until = until.max(*time));
            }
            until
        });
        Self { shares, seed, until }
    }

    /// The parts of so many rows in one of the places; some may be empty.
    #[must_use]
    pub fn parts(&self, place: u64, rows: usize, entities: Option<&Codes>, times: Option<&[f64]>) -> Parts {
        let entities = entities.map(|codes| {
            let hashes: Vec<u64> = codes.names.iter().map(|name| mix(self.seed ^ text_hash(name))).collect();
            (hashes, &codes.of)
        });
        let start = mix(mix(self.seed).wrapping_add(place));
        let mut lists = vec![Vec::new(); self.shares.len()];
        for row in 0..rows {
            let part = match (&self.until, times, &entities) {
                (Some(until), Some(times), _) => {
                    until.iter().take_while(|until| times[row] > **until).count()
                }
                (_, _, Some((hashes, of))) => self.part(hashes[of[row] as usize]),
                _ => self.part(mix(start.wrapping_add(row as u64))),
            };
            lists[part].push(row as u32);
        }
        Parts { names: self.shares.iter().map(|(part, _)| PARTS[*part]).collect(), rows: lists }
    }

    /// The parts of the rows of all places, numbered through, by the size of each place.
    ///
    /// # Errors
    /// If a part would hold no rows, no positives or no negatives.
    pub fn all(
        &self,
        sizes: &[usize],
        labels: &[bool],
        entities: Option<&Codes>,
        times: Option<&[f64]>,
    ) -> Result<Parts, SplitError> {
        let names = self.shares.iter().map(|(part, _)| PARTS[*part]).collect();
        let mut all = Parts { names, rows: vec![Vec::new(); self.shares.len()] };
        let mut first = 0;
        for (place, rows) in sizes.iter().enumerate() {
            let here = first..first + rows;
            let own = entities.map(|codes| Codes { of: codes.of[here.clone()].to_vec(), ..codes.clone() });
            let parts = self.parts(place as u64, *rows, own.as_ref(), times.map(|times| &times[here]));
            for (all, rows) in all.rows.iter_mut().zip(parts.rows) {
                all.extend(rows.iter().map(|row| row + first as u32));
            }
            first += rows;
        }
        all.check(Kinds::Labels(labels), first)?;
        Ok(all)
    }

    fn part(&self, hash: u64) -> usize {
        // 53 bits: all that a share has.
        let at = (hash >> 11) as f64 / (1u64 << 53) as f64;
        let mut below = 0.0;
        let cuts = self.shares[..self.shares.len() - 1].iter();
        cuts.take_while(|(_, share)| {
            below += share;
            at >= below
        })
        .count()
    }
}

/// The finalizer of SplitMix64, written out: a split must be the same in every version.
#[must_use]
pub fn mix(value: u64) -> u64 {
    let mut mixed = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// FNV-1a.
fn text_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_one_part_and_shares_are_kept() {
        let places = Places::new(&SplitPlan::default(), 7, None);
        let parts = places.parts(3, 100_000, None, None);
        let mut all: Vec<u32> = parts.iter().flat_map(|(_, rows)| rows).copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..100_000).collect::<Vec<u32>>());
        for (part, share) in [("train", 0.6), ("validation", 0.2), ("calibration", 0.2)] {
            // Six standard deviations of a binomial count.
            assert!(
                (parts.rows(part).len() as f64 / 1e5 - share).abs()
                    < 6.0 * (share * (1.0 - share) / 1e5).sqrt()
            );
        }
        assert_ne!(parts, places.parts(4, 100_000, None, None));
        assert_eq!(parts, Places::new(&SplitPlan::default(), 7, None).parts(3, 100_000, None, None));
    }

    #[test]
    fn entities_stay_together_wherever_they_are() {
        let places = Places::new(&SplitPlan::default(), 1, None);
        let part_of = |names: [&str; 3], place| {
            let codes =
                Codes { names: names.map(str::to_owned).to_vec(), of: vec![0, 1, 2], ..Codes::default() };
            let parts = places.parts(place, 3, Some(&codes), None);
            let part = |name: &str| {
                let row = names.iter().position(|other| *other == name).unwrap() as u32;
                parts.iter().find(|(_, rows)| rows.contains(&row)).unwrap().0
            };
            ["a", "b", "c"].map(part)
        };
        assert_eq!(part_of(["a", "b", "c"], 0), part_of(["c", "a", "b"], 9));
    }

    #[test]
    fn a_split_by_time_is_that_of_one_table() {
        let times: Vec<f64> = (0..200).map(|row| f64::from(row * 37 % 61)).collect();
        let places = Places::new(&SplitPlan::default(), 0, Some(&times));
        let expected = time::split(&times, &[0.6, 0.2, 0.2]);
        let first = places.parts(0, 120, None, Some(&times[..120]));
        let second = places.parts(1, 80, None, Some(&times[120..]));
        for (part, name) in (0..).zip(["train", "validation", "calibration"]) {
            let found = first.rows(name).iter().copied().chain(second.rows(name).iter().map(|row| row + 120));
            let rows = (0..200u32).filter(|row| expected[*row as usize] == part);
            assert_eq!(found.collect::<Vec<u32>>(), rows.collect::<Vec<u32>>());
        }
    }
}
