//! Why a certificate was refused.

use thiserror::Error;

use crate::goal::{GoalError, ParseError};
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
    /// No condition was given.
    #[error("no condition to certify: give at least one, such as fpr<=1%")]
    NoCondition,
    /// The confidence is not a probability.
    #[error("confidence {value} is outside (0, 1); write 95% as 0.95")]
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
    /// Fewer examples than any certificate of this condition takes.
    #[error(
        "{}{found} {noun} cannot certify {condition} at {}; at least {needed} are needed",
        of_group(group.as_deref()), at(*confidence, *shared_by)
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
        "{}{found} entities (column {column:?}, up to {largest} {noun} each) cannot certify {condition} at {}; {}",
        of_group(group.as_deref()), at(*confidence, *shared_by), entities_needed(*needed)
    )]
    TooFewEntities {
        /// The group that is too small, where there are groups.
        group: Option<String>,
        /// Entities with such examples.
        found: u64,
        /// The column that tells them apart.
        column: String,
        /// Most such examples of an entity.
        largest: u64,
        /// Which examples count.
        noun: &'static str,
        /// The condition.
        condition: String,
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
        "{}the certified thresholds do not meet: {strict} needs a threshold of at least {at_least}, {loose} one of at most {at_most}; relax one of them, lower the confidence or bring more examples",
        of_group(group.as_deref())
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
        "the conditions are on groups of column {column:?} and the sample has no groups; name the column with --group"
    )]
    NoGroups {
        /// The column asked for.
        column: String,
    },
    /// The certificate is of entities and the sample has none.
    #[error(
        "the certificate counts entities (column {column:?}) and the data does not say which rows belong together; name the column (split_by)"
    )]
    NoEntities {
        /// The column of the calibration sample.
        column: String,
    },
    /// The sample has the groups of another column.
    #[error("the conditions are on groups of column {expected:?} and the sample has those of {found:?}")]
    OtherColumn {
        /// The column asked for.
        expected: String,
        /// The column there is.
        found: String,
    },
    /// A group for which no threshold was certified.
    #[error("the certificate has no threshold for group {group:?} of column {column:?}")]
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
        "weights differ ({first} for example 0, {other} for example {index}): an exact certificate counts every example once; certify on an unweighted sample of the population meant"
    )]
    Weighted {
        /// The first weight.
        first: f32,
        /// The first example with another weight.
        index: usize,
        /// That weight.
        other: f32,
    },
    /// A threshold of the grid is not a finite number.
    #[error("threshold {value} of the grid (position {index}) is not a finite number")]
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
    group.map_or_else(String::new, |group| format!("group {group:?}: "))
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
            let each = 1.0 - (1.0 - confidence) / shared_by as f64;
            format!("{} confidence ({} shared by {shared_by})", percent(each), percent(confidence))
        }
    }
}

/// A probability as a percentage, with the digits that tell it from 100%.
pub(super) fn percent(value: f64) -> String {
    let shown = |digits: usize| format!("{:.digits$}", 100.0 * value);
    let near = 100.0 * value.min(1.0 - value).abs();
    let close =
        |text: &String| text.parse::<f64>().is_ok_and(|shown| (shown - 100.0 * value).abs() <= 0.005 * near);
    let text = (0..12).map(shown).find(close).unwrap_or_else(|| shown(12));
    format!("{text}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_keep_the_digits_that_matter() {
        for (value, text) in [
            (0.95, "95%"),
            (0.975, "97.5%"),
            (0.999, "99.9%"),
            (0.0, "0%"),
            (1.0, "100%"),
            (0.99999, "99.999%"),
        ] {
            assert_eq!(percent(value), text);
        }
        assert_eq!(percent(1.0 - 0.05 / 3.0), "98.33%");
    }

    #[test]
    fn a_shared_confidence_says_so() {
        assert_eq!(at(0.95, 1), "95% confidence");
        assert_eq!(at(0.95, 2), "97.5% confidence (95% shared by 2)");
    }
}
