//! Why a metric has no value. Undefined is an error, never a silent NaN.

use thiserror::Error;

use super::Condition;
use crate::goal::{Curve, Rate, Relation};
use crate::message::{number, quote};
use crate::sample::SampleError;
use crate::scratch::ScratchError;

/// Why a metric or an interval was refused.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum MetricError {
    /// The sample and the scores do not fit, or the sample lacks a class.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// Rows on disk cannot be kept, or read.
    #[error(transparent)]
    Scratch(#[from] ScratchError),
    /// No threshold satisfies a condition.
    #[error("{}", infeasible(condition, *best, *recall, given))]
    Infeasible {
        /// The first condition that cannot hold together with those before it.
        condition: Condition,
        /// The best value of its rate where the conditions before it hold; none where it is
        /// undefined at each such threshold.
        best: Option<f64>,
        /// Recall at the threshold that attains the best value.
        recall: Option<f64>,
        /// The conditions before it.
        given: Vec<Condition>,
    },
    /// The metric has no value at any threshold the conditions allow.
    #[error("{metric} is undefined: {reason}")]
    Undefined {
        /// The metric asked for.
        metric: String,
        /// Why it has no value here.
        reason: String,
    },
    /// The rate gets better neither upwards nor downwards.
    #[error("{rate} is neither better high nor low: use it as a condition, not as the objective")]
    NoDirection {
        /// The rate.
        rate: Rate,
    },
    /// The condition couples groups, each with a threshold of its own.
    #[error("the condition on column {} needs a threshold for each group, not one for all", quote(column))]
    GroupCondition {
        /// The group column.
        column: String,
    },
    /// Groups were asked for and the sample has none.
    #[error("the sample has no groups: name a group column")]
    NoGroups,
    /// An area was asked for under further conditions.
    #[error("an area spans many thresholds: further conditions on it are not supported")]
    AreaWithConditions,
    /// More than one `k=` or `top=`.
    #[error("k= and top= fix the decisions: give only one of them")]
    TwoTops,
    /// The curve has no such axis.
    #[error("{curve} has no range over {axis}")]
    Axis {
        /// The curve.
        curve: Curve,
        /// The rate whose range was asked for.
        axis: Rate,
    },
    /// The range is not part of the unit interval.
    #[error("range {from}..{to} is not within 0..1 with its lower end first")]
    Range {
        /// Lower end given.
        from: f64,
        /// Upper end given.
        to: f64,
    },
    /// More places than the sample can fill, or none.
    #[error("the top {places} of a sample of total weight {total}: expected more than 0 and at most {total}")]
    Places {
        /// Places asked for.
        places: f64,
        /// Total weight of the sample.
        total: f64,
    },
    /// Two conditions on positive and negative decisions together.
    #[error(
        "{second} and {first} are both on positive and negative decisions together; beside coverage, keep one"
    )]
    TwoTogether {
        /// The one written first.
        first: String,
        /// The other.
        second: String,
    },
    /// More different scores than ranks in a 32-bit float.
    #[error(
        "{found} different scores; at most {limit} can be told apart: round them, or take a random part of the rows"
    )]
    TooManyScores {
        /// Different scores given.
        found: usize,
        /// Most that can be ranked.
        limit: usize,
    },
    /// The threshold is NaN.
    #[error("threshold NaN makes no decisions: expected a number")]
    Threshold,
    /// A probability is outside [0, 1].
    #[error(
        "probability {} of example {index} is outside [0, 1]; pass scores to the version for scores", number(*value)
    )]
    Probability {
        /// Position, from 0.
        index: usize,
        /// What was found.
        value: f32,
    },
    /// A probability of exactly 0 or 1 that turned out wrong.
    #[error(
        "probability {value} of example {index}, a {label}, makes the log loss infinite; compute it from scores, or clip"
    )]
    CertainAndWrong {
        /// Position, from 0.
        index: usize,
        /// What was found.
        value: f32,
        /// `positive` or `negative`.
        label: &'static str,
    },
    /// The confidence is not a probability.
    #[error("confidence {} is outside (0, 1); write 95% as 0.95", number(*value))]
    Confidence {
        /// What was given.
        value: f64,
    },
    /// Not `k` of `n`.
    #[error("{successes} of {trials} is not a proportion: expected at least one trial and no more successes")]
    Proportion {
        /// Successes given.
        successes: u64,
        /// Trials given.
        trials: u64,
    },
    /// The rate is not a share of examples, so no binomial interval applies.
    #[error("{rate} is not a share of examples: use the bootstrap for its interval")]
    NotAProportion {
        /// The rate.
        rate: Rate,
    },
    /// The method counts examples and cannot take weights.
    #[error("{method} counts examples, each once, and the sample has weights: use the bootstrap")]
    Weighted {
        /// The method.
        method: &'static str,
    },
    /// Too few entities to tell how they differ.
    #[error("{found} entities are too few to tell how they differ; at least {needed} are needed")]
    Entities {
        /// Entities with examples.
        found: usize,
        /// The fewest it takes.
        needed: usize,
    },
    /// A method for independent examples, where examples belong together.
    #[error("{method} is for independent examples, and these come in entities")]
    Together {
        /// The method.
        method: &'static str,
    },
    /// Too few bootstrap replicates for the confidence.
    #[error("{replicates} bootstrap replicates are too few: at least {needed} for confidence {confidence}")]
    Replicates {
        /// Replicates asked for.
        replicates: usize,
        /// Smallest number that puts a replicate in each tail.
        needed: usize,
        /// Confidence asked for.
        confidence: f64,
    },
    /// The metric has no value on too many bootstrap replicates.
    #[error(
        "the metric is undefined on {failed} of {replicates} bootstrap replicates; the first time: {first}"
    )]
    Bootstrap {
        /// Replicates without a value.
        failed: usize,
        /// All replicates.
        replicates: usize,
        /// Why the first of them has none.
        first: Box<MetricError>,
    },
}

impl MetricError {
    /// Whether these scores have no value, rather than the question being wrong: no threshold meets
    /// the conditions, or the metric is undefined at each that does. Other scores may have one.
    #[must_use]
    pub fn is_no_value(&self) -> bool {
        matches!(self, Self::Infeasible { .. } | Self::Undefined { .. })
    }
}

pub(super) fn list(conditions: &[Condition]) -> String {
    conditions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn infeasible(condition: &Condition, best: Option<f64>, recall: Option<f64>, given: &[Condition]) -> String {
    let mut text = format!("{condition} is out of reach");
    if !given.is_empty() {
        text += &format!(" with {}", list(given));
    }
    let Some(best) = best else {
        return text + &format!(": {} is undefined at every threshold left", condition.rate);
    };
    let extreme = if condition.side() == Relation::AtMost { "lowest" } else { "highest" };
    text += &format!(": the {extreme} attainable is {}", apart(best, condition.target));
    match recall {
        Some(recall) if condition.rate != Rate::Recall => text + &format!(" at recall {}", short(recall)),
        _ => text,
    }
}

/// Two decimals, or as many as show two digits of a rate near 0 or near 1.
fn short(value: f64) -> String {
    (2..17)
        .map(|digits| format!("{value:.digits$}"))
        .find(|text| shows(value, text))
        .unwrap_or(value.to_string())
}

fn shows(value: f64, text: &str) -> bool {
    let near = value.min(1.0 - value).abs();
    text.parse::<f64>().is_ok_and(|shown| (shown - value).abs() <= 0.05 * near)
}

/// The value with enough digits not to look like the target it misses.
fn apart(value: f64, target: f64) -> String {
    let least = short(value).split('.').nth(1).map_or(2, str::len);
    (least..17)
        .map(|digits| format!("{value:.digits$}"))
        .find(|text| text.parse() != Ok(target))
        .unwrap_or(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_infeasible_condition_says_what_can_be_had() {
        let condition = Condition { rate: Rate::Precision, relation: Relation::AtLeast, target: 0.9 };
        let error = |best, given: &[Condition]| {
            MetricError::Infeasible { condition, best, recall: Some(0.02), given: given.to_vec() }.to_string()
        };
        assert_eq!(
            error(Some(0.71), &[]),
            "precision>=0.9 is out of reach: the highest attainable is 0.71 at recall 0.02"
        );
        assert!(error(Some(0.8999), &[]).contains("is 0.8999 at"));
        let fpr = Condition { rate: Rate::FalsePositiveRate, relation: Relation::AtMost, target: 0.02 };
        assert_eq!(
            error(None, &[fpr]),
            "precision>=0.9 is out of reach with fpr<=2%: precision is undefined at every threshold left"
        );
    }

    #[test]
    fn rates_near_zero_and_one_keep_their_digits() {
        assert_eq!(short(0.0), "0.00");
        assert_eq!(short(1.0), "1.00");
        assert_eq!(short(0.000_123), "0.00012");
        assert_eq!(short(0.995), "0.995");
    }
}
