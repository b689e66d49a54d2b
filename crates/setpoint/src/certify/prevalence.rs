//! Conditions across the classes, certified for a share of positives that the sample need not have.
//!
//! Where each class scores as in the sample and only the share of positives p is another (label shift), the cells
//! of the decisions are p recall, p (1 - recall), (1 - p) fpr and (1 - p) (1 - fpr), and every rate is a fraction of
//! them, monotone in each of recall, fpr and p. Recall and fpr at a threshold fixed in advance have exact bounds
//! (Clopper-Pearson), each with half of the chance to fail, so the worst rate over the corners
//!
//! ```text
//! {lower, upper} recall x {lower, upper} fpr x {least, largest} p
//! ```
//!
//! is a bound on it: of the two bounds on a rate only one can be where the worst is. A third of the rows fix a sequence
//! of thresholds, the others test it up to the first failure.

use super::CertifyOptions;
use super::claim::{Claim, Slice};
use super::cohort::{Cohort, check_weights};
use super::error::CertifyError;
use super::level::Level;
use super::predictive::Passed;
use crate::metric::interval::{at_least, at_most};
use crate::sample::Sample;

/// One row in this many fixes the sequence.
const CHOOSING: usize = 3;
/// Most thresholds that are looked at.
const MOST: usize = 300;

/// Which rows count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    All,
    Choosing,
    Testing,
}

/// The rows that test thresholds, where a grid of them is given and where not.
pub(super) fn tested_rows(grid: Option<&[f32]>) -> Rows {
    if grid.is_some() { Rows::All } else { Rows::Testing }
}

/// As [`CertifyOptions::weighed`].
pub(super) fn weighed(sample: &Sample, options: &CertifyOptions) -> Result<Option<Sample>, CertifyError> {
    if let Some(chances) = &options.inclusion {
        return weighed_by(sample, chances).map(Some);
    }
    check_weights(sample)?;
    let Some((lower, upper)) = options.prevalence else { return Ok(None) };
    for value in [lower, upper] {
        if !(value > 0.0 && value < 1.0) {
            return Err(CertifyError::Prevalence { value });
        }
    }
    Ok(Some(at_share(sample, 0.5 * (lower + upper))?))
}

/// The sample with one over each row's chance of inclusion for its weight.
pub(super) fn weighed_by(sample: &Sample, chances: &[f64]) -> Result<Sample, CertifyError> {
    if chances.len() != sample.len() {
        return Err(CertifyError::InclusionLength { chances: chances.len(), rows: sample.len() });
    }
    if let Some((index, value)) =
        chances.iter().copied().enumerate().find(|(_, chance)| !(*chance > 0.0 && *chance <= 1.0))
    {
        return Err(CertifyError::Inclusion { index, value });
    }
    let weights = chances.iter().map(|chance| (1.0 / chance) as f32).collect();
    Ok(sample.clone().with_weights(weights)?)
}

/// The sample with weights such that its positives have this share of the weight.
fn at_share(sample: &Sample, share: f64) -> Result<Sample, CertifyError> {
    let totals = sample.totals();
    let rows = totals.positives + totals.negatives;
    let of = |share: f64, class: f64| if class > 0.0 { (share * rows / class) as f32 } else { 1.0 };
    let (positive, negative) = (of(share, totals.positives), of(1.0 - share, totals.negatives));
    let weights = sample.labels().iter().map(|label| if *label { positive } else { negative }).collect();
    Ok(sample.clone().with_weights(weights)?)
}

/// Rows of each class, and how many of them are predicted positive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Classes {
    positives: (u64, u64),
    negatives: (u64, u64),
}

impl Classes {
    pub(super) fn count(cohort: &Cohort, threshold: f32, which: Rows) -> Self {
        let mut classes = Self::default();
        cohort.visit_rows(|row, score, label| {
            let counts = match which {
                Rows::All => true,
                Rows::Choosing => row.is_multiple_of(CHOOSING),
                Rows::Testing => !row.is_multiple_of(CHOOSING),
            };
            if counts {
                let class = if label { &mut classes.positives } else { &mut classes.negatives };
                class.0 += u64::from(score >= threshold);
                class.1 += 1;
            }
        });
        classes
    }

    /// The rate at a share of positives, by the rates within the classes.
    pub(super) fn rate(&self, claim: &Claim, share: f64) -> f64 {
        let part = |(above, rows): (u64, u64)| (above as f64 + 0.5) / (rows as f64 + 1.0);
        let bad = bad_share(claim, part(self.positives), part(self.negatives), share);
        if claim.bad(1, 1) == 1 { bad } else { 1.0 - bad }
    }

    /// The worst that the rate can be, with a chance of 1 - delta.
    pub(super) fn bound(&self, claim: &Claim, delta: f64, (lower, upper): (f64, f64)) -> f64 {
        let bad = self.worst(claim, delta, (lower, upper));
        if claim.bad(1, 1) == 1 { bad } else { 1.0 - bad }
    }

    fn worst(&self, claim: &Claim, delta: f64, (lower, upper): (f64, f64)) -> f64 {
        let ends = |(above, rows): (u64, u64)| {
            let confidence = 1.0 - delta / 2.0;
            // No rows say nothing.
            [
                at_least(above, rows, confidence).unwrap_or(0.0),
                at_most(above, rows, confidence).unwrap_or(1.0),
            ]
        };
        let mut worst = 0.0_f64;
        for recall in ends(self.positives) {
            for fpr in ends(self.negatives) {
                for share in [lower, upper] {
                    worst = worst.max(bad_share(claim, recall, fpr, share));
                }
            }
        }
        worst
    }
}

/// The share of bad examples; all of them where there are none to share.
fn bad_share(claim: &Claim, recall: f64, fpr: f64, share: f64) -> f64 {
    let cells = [
        (true, true, share * recall),
        (true, false, share * (1.0 - recall)),
        (false, true, (1.0 - share) * fpr),
        (false, false, (1.0 - share) * (1.0 - fpr)),
    ];
    let (mut bad, mut all) = (0.0, 0.0);
    for (label, predicted, cell) in cells {
        let (is_bad, inside) = claim.of_decision(label, predicted);
        bad += if is_bad { cell } else { 0.0 };
        all += if inside { cell } else { 0.0 };
    }
    if all > 0.0 { bad / all } else { 1.0 }
}

/// Whether the thresholds loosest in the claim's eyes are the low ones.
pub(super) fn loose_is_low(claim: &Claim) -> bool {
    match claim.slice {
        Slice::PredictedPositives => true,
        Slice::PredictedNegatives => false,
        _ => claim.wants_strict(),
    }
}

/// Thresholds at which a claim across the classes is certified.
pub(super) fn sequence(
    claim: &Claim,
    condition: &str,
    cohort: &Cohort,
    level: &Level,
    range: (f64, f64),
    grid: Option<&[f32]>,
) -> Result<Passed, CertifyError> {
    let refuse = |reason| Err(CertifyError::CannotCertify { condition: condition.to_owned(), reason });
    if cohort.group.is_some() {
        return refuse(
            "it is on groups, and the share of positives within each is not known; certify it on rows of the new mix",
        );
    }
    if cohort.sample.together().is_some() {
        return refuse(
            "it rests on exact bounds for both classes, and rows come in entities; certify it on rows of the new mix",
        );
    }
    let mut thresholds = grid.map_or_else(|| choose(claim, cohort, level, range), <[f32]>::to_vec);
    sort(claim, &mut thresholds);
    let rows = tested_rows(grid);
    let worst = |threshold: f32| Classes::count(cohort, threshold, rows).worst(claim, level.delta(), range);
    let passed =
        thresholds.iter().take_while(|threshold| worst(**threshold) <= claim.allowed_share()).count();
    let tested = thresholds.len();
    if passed > 0 {
        thresholds.truncate(passed);
        return Ok(Passed { thresholds, tested });
    }
    let first = thresholds.first().copied().unwrap_or(f32::MAX);
    let classes = Classes::count(cohort, first, rows);
    Err(CertifyError::NoneAtPrevalence {
        condition: claim.text(),
        confidence: level.confidence,
        lower: range.0,
        upper: range.1,
        observed: classes.rate(claim, 0.5 * (range.0 + range.1)),
        bound: classes.bound(claim, level.delta(), range),
    })
}

/// From strict to loose.
fn sort(claim: &Claim, thresholds: &mut Vec<f32>) {
    let low = loose_is_low(claim);
    thresholds.sort_unstable_by(|a, b| if low { b.total_cmp(a) } else { a.total_cmp(b) });
    thresholds.dedup();
}

/// Thresholds to test, by a third of the rows: from the one that passes most clearly to the loosest that meets the
/// target there at all.
fn choose(claim: &Claim, cohort: &Cohort, level: &Level, range: (f64, f64)) -> Vec<f32> {
    let mut scores = Vec::new();
    cohort.visit_rows(|row, score, _| {
        if row.is_multiple_of(CHOOSING) {
            scores.push(score);
        }
    });
    sort(claim, &mut scores);
    let step = scores.len().div_ceil(MOST).max(1);
    let looked: Vec<(f32, Classes)> = scores
        .iter()
        .step_by(step)
        .map(|threshold| (*threshold, Classes::count(cohort, *threshold, Rows::Choosing)))
        .collect();
    let worst = |(_, classes): &(f32, Classes)| classes.worst(claim, level.delta(), range);
    let start =
        (0..looked.len()).min_by(|a, b| worst(&looked[*a]).total_cmp(&worst(&looked[*b]))).unwrap_or(0);
    let share = 0.5 * (range.0 + range.1);
    let meets = |place: &usize| claim.allows(looked[*place].1.rate(claim, share));
    let end = (start..looked.len()).rev().find(meets).unwrap_or(start);
    looked.get(start..=end).unwrap_or_default().iter().map(|(threshold, _)| *threshold).collect()
}
