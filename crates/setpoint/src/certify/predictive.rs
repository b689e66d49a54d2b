//! Thresholds at which precision, fdr, npv or for is certified.
//!
//! Precision is not monotone in the threshold, so no order statistic limits it. Instead single
//! thresholds are tested: of M examples predicted positive at a threshold t that does not depend
//! on them, the true ones are Binomial(M, precision(t)) given M, and
//!
//! ```text
//! p-value = P[Binomial(M, p) >= true positives]      under "precision(t) < p"
//! ```
//!
//! Two ways to choose what to test, both exact for any distribution:
//!
//! **A rank grid**, when there is nothing but the sample. Ranks r are fixed by n, the target and
//! the confidence: n - 1 and down by 5% each, to the fewest that could pass. Rank r tests the rule
//! "score > T", T the (r + 1)-th highest score. That threshold depends on the data, but given T,
//! and given how many scores lie above it (M, which is r without ties) and at it, those above are
//! independent draws from the population above T. So each test is exact given T, and whatever T
//! turns out to be, a rank whose precision is too low passes with probability at most delta / J,
//! J the number of ranks. All J together (Bonferroni): at most delta. Every rank that passes is
//! certified, so any of them may be chosen.
//!
//! Walking down the ranks with the full delta at each, up to the first failure, has no such proof:
//! which rank is the first with too low a precision depends on the thresholds before it, and given
//! *those* the examples above it are no longer draws from the population above it.
//!
//! **A fixed sequence**, when the caller brings thresholds that were chosen without this sample
//! (quantiles of the validation scores, say). They are tested from strict to loose, each with the
//! full delta, up to the first failure: the first threshold whose precision is truly too low is
//! then a fixed one, and nothing past it is certified unless its own test fails us, which has
//! probability at most delta.
//!
//! Npv and for are the same with scores and labels turned around.

use super::claim::{Claim, Slice};
use super::cohort::Cohort;
use super::error::CertifyError;
use super::level::Level;
use rayon::prelude::*;

/// Thresholds that passed their tests.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Passed {
    /// From strict to loose, as the claim sees it.
    pub thresholds: Vec<f32>,
    /// How many were to be tested.
    pub tested: usize,
}

/// Each rank is this much below the one before it.
const STEP: f64 = 1.05;

/// The ranks to test: they depend on the number of examples, not on the examples.
fn ranks(claim: &Claim, examples: u64, delta: f64) -> Vec<u64> {
    let mut ranks = Vec::new();
    let mut rank = examples.saturating_sub(1);
    while rank > 0 && rank >= claim.needed(delta / (ranks.len() + 1) as f64) {
        ranks.push(rank);
        rank = ((rank as f64 / STEP) as u64).min(rank - 1);
    }
    ranks.reverse();
    ranks
}

/// Tests the thresholds of a rank grid.
pub(super) fn rank_grid(claim: &Claim, cohort: &Cohort, level: &Level) -> Result<Passed, CertifyError> {
    let examples = cohort.len() as u64;
    let ranks = ranks(claim, examples, level.delta());
    if ranks.is_empty() {
        return Err(level.too_few(claim, cohort, examples, claim.needed(level.delta()).saturating_add(1)));
    }
    let each = level.delta() / ranks.len() as f64;
    let upper = claim.slice == Slice::PredictedPositives;
    let keys = sorted(cohort, upper);
    let mut passed = Vec::new();
    let mut nearest = (0, 0, f64::INFINITY);
    let (mut counted_to, mut bad) = (0, 0);
    for rank in &ranks {
        let last = keys[*rank as usize] >> 1;
        let inside = keys[..*rank as usize].partition_point(|key| key >> 1 < last);
        bad += keys[counted_to..inside].iter().map(|key| key & 1).sum::<u64>();
        counted_to = inside;
        let p_value = claim.tail(inside as u64, bad);
        if p_value < nearest.2 {
            nearest = (claim.bad(bad, inside as u64), inside as u64, p_value);
        }
        if p_value <= each {
            let score = score_of(last, upper);
            let threshold = if upper { score.next_up() } else { score };
            if passed.last() != Some(&threshold) {
                passed.push(threshold);
            }
        }
    }
    if passed.is_empty() {
        return Err(level.none_certified(claim, cohort, ranks.len(), nearest, each));
    }
    Ok(Passed { thresholds: passed, tested: ranks.len() })
}

/// Tests thresholds that were fixed in advance, from strict to loose, up to the first failure.
pub(super) fn fixed_sequence(
    claim: &Claim,
    cohort: &Cohort,
    level: &Level,
    grid: &[f32],
) -> Result<Passed, CertifyError> {
    let upper = claim.slice == Slice::PredictedPositives;
    let mut grid = grid.to_vec();
    grid.sort_unstable_by(|a, b| if upper { b.total_cmp(a) } else { a.total_cmp(b) });
    grid.dedup();
    // Examples and bad ones by the first threshold that takes them in.
    let mut cells = vec![(0_u64, 0_u64); grid.len() + 1];
    cohort.visit(|score, label| {
        let first = grid.partition_point(|t| if upper { *t > score } else { *t <= score });
        cells[first].0 += 1;
        cells[first].1 += u64::from(label != upper);
    });
    let (mut examples, mut bad) = (0, 0);
    let mut passed = 0;
    for cell in &cells[..grid.len()] {
        examples += cell.0;
        bad += cell.1;
        if examples == 0 || claim.tail(examples, bad) > level.delta() {
            break;
        }
        passed += 1;
    }
    if passed == 0 {
        let needed = claim.needed(level.delta());
        let found = cohort.len() as u64;
        if found < needed {
            return Err(level.too_few(claim, cohort, found, needed));
        }
        let nearest = (claim.bad(bad, examples), examples, claim.tail(examples, bad));
        return Err(level.none_certified(claim, cohort, 1, nearest, level.delta()));
    }
    let tested = grid.len();
    grid.truncate(passed);
    Ok(Passed { thresholds: grid, tested })
}

/// Scores from strict to loose, each as an integer that sorts so, with a last bit that says
/// whether the example would be a mistake.
fn sorted(cohort: &Cohort, upper: bool) -> Vec<u64> {
    let mut keys = Vec::with_capacity(cohort.len());
    cohort.visit(|score, label| {
        let bits = score.to_bits();
        let ascending = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
        let strict_first = if upper { !ascending } else { ascending };
        keys.push(u64::from(strict_first) << 1 | u64::from(label != upper));
    });
    keys.par_sort_unstable();
    keys
}

fn score_of(strict_first: u64, upper: bool) -> f32 {
    let bits = strict_first as u32;
    let ascending = if upper { !bits } else { bits };
    f32::from_bits(if ascending >> 31 == 1 { ascending & !(1 << 31) } else { !ascending })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::parse_conditions;
    use crate::sample::Sample;

    const LEVEL: Level = Level { confidence: 0.9, shared_by: 1 };

    fn claim(condition: &str) -> Claim {
        Claim::of(&parse_conditions(condition).unwrap()[0]).unwrap()
    }

    /// `good` positives at the top, then `bad` negatives, distinct scores from high to low.
    fn separated(good: usize, bad: usize) -> (Sample, Vec<f32>) {
        let sample = Sample::new((0..good + bad).map(|i| i < good).collect()).unwrap();
        (sample, (0..good + bad).map(|i| -(i as f32)).collect())
    }

    #[test]
    fn ranks_are_as_many_as_could_pass() {
        let claim = claim("precision>=0.9");
        for n in [24, 100, 5000, 1_000_000] {
            let ranks = ranks(&claim, n, 0.1);
            assert!(ranks.is_sorted_by(|a, b| a < b) && *ranks.last().unwrap() == n - 1);
            assert!(ranks[0] >= claim.needed(0.1 / ranks.len() as f64));
        }
        // ceil(ln 0.1 / ln 0.9) = 22 predicted positives, and one more for the threshold.
        assert!(ranks(&claim, 22, 0.1).is_empty());
        assert_eq!(ranks(&claim, 23, 0.1), [22]);
    }

    #[test]
    fn certified_ranks_are_those_an_exhaustive_count_certifies() {
        for condition in ["precision>=0.7", "fdr<=30%", "npv>=0.7", "for<=30%"] {
            let claim = claim(condition);
            let upper = claim.slice == Slice::PredictedPositives;
            let labels: Vec<bool> = (0..400).map(|i| (i % 7 == 0) != (i < 200)).collect();
            let scores: Vec<f32> = (0..400).map(|i| ((200 - i) / 5) as f32).collect();
            let sample = Sample::new(labels).unwrap();
            let cohort = Cohort { sample: &sample, scores: &scores, group: None };
            let passed = rank_grid(&claim, &cohort, &LEVEL).unwrap();
            let mut ordered = scores.clone();
            ordered.sort_by(|a, b| if upper { b.total_cmp(a) } else { a.total_cmp(b) });
            let ranks = ranks(&claim, 400, 0.1_f64.min(1.0 - 0.9));
            let mut expected: Vec<f32> = Vec::new();
            for rank in &ranks {
                let score = ordered[*rank as usize];
                let threshold = if upper { score.next_up() } else { score };
                let (counted, examples) = claim.share(&cohort.tally(threshold));
                let p_value = claim.tail(examples, claim.bad(counted, examples));
                if p_value <= LEVEL.delta() / ranks.len() as f64 && expected.last() != Some(&threshold) {
                    expected.push(threshold);
                }
            }
            assert!(passed.thresholds.len() > 3, "{condition}");
            assert_eq!(passed, Passed { thresholds: expected, tested: ranks.len() }, "{condition}");
        }
    }

    #[test]
    fn a_fixed_sequence_stops_at_its_first_failure() {
        let (sample, scores) = separated(60, 60);
        let cohort = Cohort { sample: &sample, scores: &scores, group: None };
        // At -49.5 fifty examples, all true; at -65.5 sixty of 66; at -90.5 sixty of 91.
        let grid = [-90.5, -49.5, -65.5, -55.5];
        let passed = fixed_sequence(&claim("precision>=0.8"), &cohort, &LEVEL, &grid).unwrap();
        assert_eq!(passed.thresholds, [-49.5, -55.5, -65.5]);
        let passed = fixed_sequence(&claim("npv>=0.8"), &cohort, &LEVEL, &grid).unwrap();
        assert_eq!(passed.thresholds, [-90.5, -65.5, -55.5]);
        // Five examples are too few: the first test fails and nothing else is tried.
        let refused = fixed_sequence(&claim("precision>=0.8"), &cohort, &LEVEL, &[-4.5, -49.5]).unwrap_err();
        assert!(
            matches!(refused, CertifyError::NoneCertified { tested: 1, counted: 5, examples: 5, .. }),
            "{refused}"
        );
    }

    #[test]
    fn nothing_certified_names_the_nearest_and_too_few_the_number() {
        let (sample, scores) = separated(0, 300);
        let cohort = Cohort { sample: &sample, scores: &scores, group: None };
        let refused = rank_grid(&claim("precision>=0.5"), &cohort, &LEVEL).unwrap_err().to_string();
        assert!(
            refused.starts_with("no threshold certifies precision >= 0.5 at 90% confidence: of "),
            "{refused}"
        );
        let (sample, scores) = separated(20, 2);
        let cohort = Cohort { sample: &sample, scores: &scores, group: None };
        assert_eq!(
            rank_grid(&claim("precision>=0.9"), &cohort, &LEVEL).unwrap_err().to_string(),
            "22 examples cannot certify precision >= 0.9 at 90% confidence; at least 23 are needed"
        );
    }

    #[test]
    fn scores_survive_the_sort() {
        for score in [f32::MIN, -1.5, -1e-45, 0.0, 1e-45, 2.0, f32::MAX] {
            let sample = Sample::new(vec![true]).unwrap();
            for upper in [true, false] {
                let cohort = Cohort { sample: &sample, scores: &[score], group: None };
                assert_eq!(score_of(sorted(&cohort, upper)[0] >> 1, upper), score);
            }
        }
    }
}
