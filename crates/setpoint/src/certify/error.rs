//! Why a certificate was refused.

use thiserror::Error;

use crate::class::ClassError;
use crate::goal::{GoalError, ParseError};
pub(super) use crate::message::percent;
use crate::message::{number, percent_but, quote};
use crate::metric::MetricError;
use crate::sample::SampleError;

/// Why a threshold could not be certified, or a certificate not tested.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CertifyError {
    /// The sample and the scores do not fit, or the sample lacks a class.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The conditions make no sense together.
    #[error(transparent)]
    Goal(#[from] GoalError),
    /// The objective has no value at the thresholds allowed.
    #[error(transparent)]
    Metric(#[from] MetricError),
    /// A condition inside a certificate cannot be read.
    #[error("the certificate's condition cannot be read: {0}")]
    Condition(#[from] ParseError),
    /// Rows of other classes, or scores that are not theirs.
    #[error(transparent)]
    Class(#[from] ClassError),
    /// Not even the safest shifts of a sequence pass.
    #[error(
        "no shifts of the sequence certify {condition} at {}: the safest have p-value {p_value:.2e}; relax the conditions, lower the confidence or bring more {draws}",
        percent(*confidence)
    )]
    NoShifts {
        /// The conditions.
        condition: String,
        /// The confidence asked for.
        confidence: f64,
        /// The largest p-value of a condition there.
        p_value: f64,
        /// What is drawn: `rows`, or `entities`.
        draws: &'static str,
    },
    /// Nothing on validation rows meets the goal, so that there is nothing to test.
    #[error("no decisions to test: {reason}")]
    NoDecision {
        /// Why not.
        reason: String,
    },
    /// Not even the safest decisions of a frontier pass.
    #[error(
        "no decisions along the validation frontier certify {condition} at {}: the safest have p-value {p_value:.2e}; relax the conditions, lower the confidence or bring more rows",
        percent(*confidence)
    )]
    NoneAlong {
        /// The conditions.
        condition: String,
        /// The confidence asked for.
        confidence: f64,
        /// The largest p-value of a condition there.
        p_value: f64,
    },
    /// No condition was given.
    #[error("no condition to certify: give at least one, such as fpr<=1%")]
    NoCondition,
    /// The confidence is not a probability.
    #[error("confidence {} is outside (0, 1); write 95% as 0.95", number(*value))]
    Confidence {
        /// What was given.
        value: f64,
    },
    /// The condition has no exact test.
    #[error("{condition} cannot be certified: {reason}")]
    CannotCertify {
        /// The condition.
        condition: String,
        /// Why not, and what can be held instead.
        reason: &'static str,
    },
    /// A condition that bets cannot watch.
    #[error(
        "{condition} is no share of rows, which is what a watch counts; test it on new labelled rows instead (evaluate ‹check›)"
    )]
    CannotWatch {
        /// The condition.
        condition: String,
    },
    /// A value whose mean cannot be bounded.
    #[error("{} is not between 0 and 1, so that no draws bound its mean", number(*value))]
    NotAShare {
        /// The value.
        value: f64,
    },
    /// Draws whose mean does not prove a target.
    #[error(
        "{draws} queries with a mean of {mean:.4} prove a mean of at least {lower:.4} at {}, not {}{}",
        percent(*confidence), number(*target), needed.map_or_else(String::new, needs)
    )]
    TooFewDraws {
        /// How many there are.
        draws: u64,
        /// Their mean.
        mean: f64,
        /// What they prove.
        lower: f64,
        /// What was asked for.
        target: f64,
        /// The confidence asked for.
        confidence: f64,
        /// How many like these would be needed; `None` where their mean is not above the target.
        needed: Option<u64>,
    },
    /// Fewer examples than any certificate of this condition takes.
    #[error(
        "{}{found} {noun} cannot certify {condition} at {}{}",
        of_group(group.as_deref()), at(*confidence, *shared_by), needs(*needed)
    )]
    TooFew {
        /// The group that is too small, where there are groups.
        group: Option<String>,
        /// Examples there are.
        found: u64,
        /// Which examples count.
        noun: &'static str,
        /// The condition.
        condition: String,
        /// The confidence asked for.
        confidence: f64,
        /// How many conditions and groups share it.
        shared_by: usize,
        /// The fewest examples that can certify the condition.
        needed: u64,
    },
    /// Fewer entities than any certificate of this condition takes.
    #[error(
        "{}{found} entities (column {}, up to {largest} {noun} each) cannot certify {condition} at {}; {}",
        of_group(group.as_deref()), quote(column), at(*confidence, *shared_by), entities_needed(*needed)
    )]
    TooFewEntities {
        /// The group that is too small, where there are groups.
        group: Option<Box<str>>,
        /// Entities with such examples.
        found: u64,
        /// The column that tells them apart.
        column: Box<str>,
        /// Most such examples of an entity.
        largest: u64,
        /// Which examples count.
        noun: &'static str,
        /// The condition.
        condition: Box<str>,
        /// The confidence asked for.
        confidence: f64,
        /// How many conditions and groups share it.
        shared_by: usize,
        /// Entities like these that could certify the condition, all without a bad example.
        needed: Option<u64>,
    },
    /// There are enough examples, but the rate is not good enough at any threshold tested.
    #[error(
        "{}no threshold certifies {condition} at {}: of {tested} tested the nearest has {counted} of {examples} {noun} ({:.1}%), p-value {p_value:.2e} where {level:.2e} is needed; relax the condition, lower the confidence or bring more examples",
        of_group(group.as_deref()), at(*confidence, *shared_by), 100.0 * *counted as f64 / (*examples).max(1) as f64
    )]
    NoneCertified {
        /// The group, where there are groups.
        group: Option<String>,
        /// The condition.
        condition: String,
        /// The confidence asked for.
        confidence: f64,
        /// How many conditions and groups share it.
        shared_by: usize,
        /// Thresholds tested.
        tested: usize,
        /// What the rate counts at the threshold with the smallest p-value.
        counted: u64,
        /// Out of how many.
        examples: u64,
        /// Which examples count.
        noun: &'static str,
        /// Its p-value.
        p_value: f64,
        /// The p-value at which the threshold would have been certified.
        level: f64,
    },
    /// Each condition can be certified, but at no common threshold.
    #[error(
        "{}the certified thresholds do not meet: {strict} needs a threshold of at least {}, {loose} one of at most {}; relax one of them, lower the confidence or bring more examples",
        of_group(group.as_deref()), number(*at_least), number(*at_most)
    )]
    Contradiction {
        /// The group, where there are groups.
        group: Option<String>,
        /// The condition that limits the threshold from below.
        strict: String,
        /// Its limit.
        at_least: f32,
        /// The condition that limits the threshold from above.
        loose: String,
        /// Its limit.
        at_most: f32,
    },
    /// Precision and npv at once, which are tested at different thresholds.
    #[error(
        "{first} and {second} are tested at different thresholds of this sample; give a grid of thresholds fixed in advance to test both on"
    )]
    TwoGrids {
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// A condition over all examples beside conditions within groups.
    #[error(
        "{overall} is over all examples while {grouped} gives each group its own threshold; hold it within each group, which implies it"
    )]
    OverallBesideGroups {
        /// The condition over all examples.
        overall: String,
        /// The condition within groups.
        grouped: String,
    },
    /// The conditions need groups and the sample has none.
    #[error(
        "the conditions are on groups of column {} and the sample has no groups; give the group of each row with ‹group›",
        quote(column)
    )]
    NoGroups {
        /// The column asked for.
        column: String,
    },
    /// The certificate is of entities and the sample has none.
    #[error(
        "the certificate counts entities (column {}) and the data does not say which rows belong together; say it with ‹split-by›",
        quote(column)
    )]
    NoEntities {
        /// The column of the calibration sample.
        column: String,
    },
    /// Batches of a watch that cannot be of one stream.
    #[error(
        "{}: what is watched is either rows or weights and entities; give this batch a watch of its own",
        if *before { "the batches before had weights or entities and this one has none" }
        else { "this batch has weights or entities and the batches before had none" }
    )]
    OtherDraws {
        /// Whether those before had.
        before: bool,
    },
    /// The sample has the groups of another column.
    #[error(
        "the conditions are on groups of column {} and the sample has those of {}",
        quote(expected),
        quote(found)
    )]
    OtherColumn {
        /// The column asked for.
        expected: String,
        /// The column there is.
        found: String,
    },
    /// A group for which no threshold was certified.
    #[error("the certificate has no threshold for group {} of column {}", quote(group), quote(column))]
    UnknownGroup {
        /// The group column.
        column: String,
        /// The group.
        group: String,
    },
    /// A certificate that contradicts itself, as one edited by hand may.
    #[error("the certificate is damaged: {reason}")]
    Damaged {
        /// What does not fit.
        reason: &'static str,
    },
    /// Weights that differ.
    #[error(
        "weights differ ({} for example 0, {} for example {index}): an exact certificate counts every example once; certify on an unweighted sample of the population meant",
        number(*first), number(*other)
    )]
    Weighted {
        /// The first weight.
        first: f32,
        /// The first example with another weight.
        index: usize,
        /// That weight.
        other: f32,
    },
    /// A condition across the classes that no threshold is certified for at another share of positives.
    #[error(
        "no threshold certifies {condition} at {} confidence for a share of positives of {}: the nearest has {}, and may have {}; relax the condition, lower the confidence or bring more examples",
        percent(*confidence), if lower == upper { percent(*lower) } else { format!("{} to {}", percent(*lower), percent(*upper)) },
        percent(*observed), percent(*bound)
    )]
    NoneAtPrevalence {
        /// The condition.
        condition: String,
        /// The confidence asked for.
        confidence: f64,
        /// The least share of positives.
        lower: f64,
        /// The largest.
        upper: f64,
        /// The rate at the strictest threshold.
        observed: f64,
        /// The worst that it can be.
        bound: f64,
    },
    /// A chance of inclusion that is none.
    #[error("row {}: it was included with a chance of {}; expected a number above 0 and up to 1", index + 1, number(*value))]
    Inclusion {
        /// Position, from 0.
        index: usize,
        /// What was found.
        value: f64,
    },
    /// Chances of inclusion for more or fewer rows.
    #[error("{chances} chances of inclusion for {rows} rows: expected one for each")]
    InclusionLength {
        /// How many there are.
        chances: usize,
        /// Rows.
        rows: usize,
    },
    /// A share of positives that is none.
    #[error("a share of positives of {} is outside (0, 1); write 2% as 0.02", number(*value))]
    Prevalence {
        /// What was given.
        value: f64,
    },
    /// A threshold of the grid is not a finite number.
    #[error("threshold {} of the grid (position {index}) is not a finite number", number(*value))]
    Grid {
        /// Position, from 0.
        index: usize,
        /// What was found.
        value: f32,
    },
    /// The only threshold that can be certified lies above every float.
    #[error(
        "the threshold must lie above a score of {score:e}, and no finite number does; rescale the scores"
    )]
    NoFiniteThreshold {
        /// The largest score.
        score: f32,
    },
    /// An area has no threshold to choose.
    #[error("an area spans many thresholds: give a rate as the objective, or none")]
    AreaObjective,
}

/// `group "f": ` or nothing.
pub(super) fn of_group(group: Option<&str>) -> String {
    group.map_or_else(String::new, |group| format!("group {}: ", quote(group)))
}

fn entities_needed(needed: Option<u64>) -> String {
    match needed {
        Some(needed) => format!("at least {needed} like these are needed"),
        None => "no number of them that there could be will".to_owned(),
    }
}

/// `95% confidence`, and how it is shared.
fn at(confidence: f64, shared_by: usize) -> String {
    match shared_by {
        0 | 1 => format!("{} confidence", percent(confidence)),
        _ => {
            let each = percent_but((1.0 - confidence) / shared_by as f64);
            format!("{each} confidence ({} shared by {shared_by})", percent(confidence))
        }
    }
}

/// What would be needed, where that many could ever be had.
fn needs(needed: u64) -> String {
    // Beyond, the number is not exact, and no matter.
    if needed < 1 << 53 {
        format!("; at least {needed} are needed")
    } else {
        ", nor does any number that could be had; relax the condition or lower the confidence".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_data_will_ever_prove_is_said_in_words() {
        let error = |needed| CertifyError::TooFew {
            group: None,
            found: 200,
            noun: "negatives",
            condition: "fpr <= 1e-300".to_owned(),
            confidence: 0.95,
            shared_by: 1,
            needed,
        };
        assert_eq!(
            error(u64::MAX).to_string(),
            "200 negatives cannot certify fpr <= 1e-300 at 95% confidence, nor does any number that could be had; relax the condition or lower the confidence"
        );
        assert!(error(1 << 52).to_string().ends_with("; at least 4503599627370496 are needed"));
    }

    #[test]
    fn a_shared_confidence_says_so() {
        assert_eq!(at(0.95, 1), "95% confidence");
        assert_eq!(at(0.95, 2), "97.5% confidence (95% shared by 2)");
        assert!(!at(1f64.next_down(), 7).contains("100"));
    }
}
