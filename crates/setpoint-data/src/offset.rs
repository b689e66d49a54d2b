//! Numbers in 32 bits, without losing what tells them apart.
//!
//! A table keeps its numbers as `f32`: 24 bits, of which those that its numbers have in common say
//! nothing. Time stamps of some hours are 1.7e9, where neighbours in `f32` are 128 apart. A column
//! whose numbers are large beside their spread is therefore kept as differences from an offset,
//! subtracted in 64 bits before they are narrowed. The offset is stored with the model, so that
//! the same is subtracted when it is applied. All other columns have the offset 0.

use rayon::prelude::*;

use crate::chunk::{Chunk, values};

/// A column gets an offset where its median is so many times larger than its spread: rounding would
/// cost more than a 65,000th of that.
const LARGE: f64 = 256.0;
/// Offsets are not larger than this, so that a difference from one does not overflow `f32`.
const LARGEST: f32 = 1e30;
/// So many rows, evenly spaced, tell the spread.
pub(crate) const SAMPLE: usize = 255;

/// What a table keeps of a number less the offset of its column, and whether it had to be rounded.
#[must_use]
#[inline]
pub fn narrow(value: f64, offset: f64) -> (f32, bool) {
    let exact = value - offset;
    let kept = exact as f32;
    (kept, f64::from(kept) != exact && !exact.is_nan())
}

/// What a column needs to be subtracted beyond the offset it has: its median, if that is large beside
/// the distance of the quartiles.
///
/// Where the quartiles agree, nobody knows whether the numbers do, or 32 bits made them. A median
/// taken off twice settles that: what is left is below what 64 bits tell apart.
pub(crate) fn needed(mut sample: Vec<f32>, offset: f64) -> Option<f64> {
    sample.retain(|value| !value.is_nan());
    sample.sort_unstable_by(f32::total_cmp);
    let quarter = |quarter: usize| sample.get(quarter * sample.len() / 4).copied();
    let (low, median, high) = (quarter(1)?, quarter(2)?, quarter(3)?);
    let spread = f64::from(high) - f64::from(low);
    let twice = f64::from(offset as f32) != offset;
    (is_large(median.into(), spread) && (spread > 0.0 || !twice)).then_some(median.into())
}

/// Whether numbers around this one are large beside their spread, and not too large.
pub(crate) fn is_large(middle: f64, spread: f64) -> bool {
    middle.abs() <= f64::from(LARGEST) && middle.abs() > LARGE * spread
}

/// What columns need beyond their offsets, by their slots; only those that were rounded can.
pub(crate) fn of_columns(chunks: &[Chunk], rounded: &[bool], offsets: &[f64]) -> Vec<(usize, f64)> {
    let rows: usize = chunks.iter().map(|chunk| chunk.rows).sum();
    let of = |slot: usize| {
        let numbers = || values(chunks, |chunk| chunk.number(slot));
        let mut sample: Vec<f32> = numbers().step_by(rows.div_ceil(SAMPLE).max(1)).collect();
        if sample.iter().all(|value| value.is_nan()) {
            sample = numbers().filter(|value| !value.is_nan()).take(SAMPLE).collect();
        }
        Some((slot, needed(sample, offsets[slot])?))
    };
    (0..rounded.len()).into_par_iter().filter(|slot| rounded[*slot]).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed_of(values: &[f64], offset: f64) -> Option<f64> {
        needed(values.iter().map(|value| narrow(*value, offset).0).collect(), offset)
    }

    fn around(middle: f64, spread: f64) -> Vec<f64> {
        (0..101).map(|at| middle + spread * (f64::from(at) / 50.0 - 1.0)).collect()
    }

    #[test]
    fn only_numbers_large_beside_their_spread_need_an_offset() {
        for ordinary in [around(0.5, 0.5), around(1e8, 1e7), around(-40.0, 1.0), around(0.0, 1e-9)] {
            assert_eq!(needed_of(&ordinary, 0.0), None);
        }
        assert_eq!(needed_of(&around(-1e5, 1.0), 0.0), Some(-1e5));
        assert_eq!(needed_of(&[f64::NAN; 9], 0.0), None);
        // Odd values hide nothing.
        for far in [around(1e8, 99.0), around(1e8, 1.0)] {
            let odd = [&far[..], &[0.0, -1.0, f64::NAN]].concat();
            assert_eq!(needed_of(&odd, 0.0), Some(1e8));
            assert_eq!(needed_of(&odd, 1e8), None);
        }
    }

    #[test]
    fn two_medians_are_enough() {
        for values in [around(1e15, 4.0), vec![0.1; 9], [&[0.1; 99][..], &[0.2; 9]].concat()] {
            let first = needed_of(&values, 0.0).unwrap();
            let second = first + needed_of(&values, first).unwrap();
            assert_eq!(needed_of(&values, second), None);
            assert!((second - values[0]).abs() <= 4.0);
        }
    }

    #[test]
    fn a_number_is_narrowed_after_its_offset_is_taken_off() {
        assert_eq!(narrow(0.5, 0.0), (0.5, false));
        assert_eq!(narrow(1e8 + 3.0, 0.0), (1e8, true));
        assert_eq!(narrow(1e8 + 3.0, 1e8), (3.0, false));
        assert!(!narrow(f64::NAN, 1e8).1);
    }
}
