//! What held-out data proved about thresholds, as plain data for model files and reports.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::error::{of_group, percent};
use crate::goal::{Constraint, parse_conditions};
use crate::message::number;
use crate::sample::Sample;

/// Thresholds and what is proved about them.
///
/// With probability `confidence` over the draw of the calibration sample, *all* conditions hold on
/// the population it was drawn from; of thresholds that are [approximate](Self::is_approximate), only
/// about so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The chance that every condition holds.
    pub confidence: f64,
    /// The confidence of each condition in each group by itself, so that all hold together.
    pub confidence_each: f64,
    /// Examples of the calibration sample.
    pub examples: u64,
    /// The entities that the examples belong to, where those are the draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entities: Option<CertifiedEntities>,
    /// The column whose groups have a threshold each.
    pub column: Option<String>,
    /// The groups' names, in the order of the thresholds; empty where one threshold serves all.
    pub groups: Vec<String>,
    /// One, or one for each group: predict positive when `score >= threshold`.
    pub thresholds: Vec<f32>,
    /// What is certified: each condition, in each group.
    pub conditions: Vec<CertifiedCondition>,
    /// What is certified of the mean amount of a row, of a goal in money.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<CertifiedAmount>,
}

/// A bound on the mean amount of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CertifiedAmount {
    /// `profit` or `cost`.
    pub quantity: String,
    /// The least profit, or the largest cost, that the calibration sample does not refute.
    pub bound: f64,
    /// The mean of the calibration sample.
    pub observed: f64,
    /// What is assumed where amounts come from a column: none is worse than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumed: Option<f64>,
}

/// The entities of a calibration sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertifiedEntities {
    /// The column that tells them apart.
    pub column: String,
    /// How many there are.
    pub count: u64,
}

/// One condition that was certified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CertifiedCondition {
    /// The condition as goals write it: `fpr<=1%`.
    pub condition: String,
    /// The group it was certified in.
    pub group: Option<String>,
    /// The value asked for.
    pub target: f64,
    /// Calibration examples that the rate is a share of.
    pub examples: u64,
    /// How many of them the rate counts, at the threshold.
    pub counted: u64,
    /// The rate on the calibration sample: counted / examples.
    pub observed: f64,
    /// How it was proved.
    pub method: Method,
}

/// How a condition was proved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
#[non_exhaustive]
pub enum Method {
    /// The threshold keeps to the safe side of one order statistic of the slice's scores.
    OrderStatistic {
        /// Above the k-th smallest (fpr, tnr, positive-rate at most), or at or below the k-th
        /// largest (recall, fnr, positive-rate at least).
        k: u64,
        /// The certified limit; the threshold is at it or on its safe side.
        limit: f32,
    },
    /// An exact binomial test at thresholds on a grid of ranks, the level shared among them.
    RankGrid {
        /// Ranks tested.
        tested: u64,
        /// The p-value at the threshold.
        p_value: f64,
    },
    /// Exact binomial tests at thresholds fixed in advance, from strict to loose, to the first
    /// failure.
    FixedSequence {
        /// Thresholds in the sequence.
        tested: u64,
        /// The p-value at the threshold.
        p_value: f64,
    },
    /// Bets on the entities, each against the rate being past its target, all won together.
    Betting {
        /// Entities with examples that the rate is a share of.
        entities: u64,
        /// What is assumed: no entity has more such examples than this.
        largest: u64,
        /// One over what the bets came to, at the threshold.
        p_value: f64,
    },
    /// Bets on rows that were sampled with known chances, each standing for as many as its chance says.
    InverseProbability {
        /// Rows that the rate is a share of.
        rows: u64,
        /// What is assumed: no row that could be a mistake stands for more than this.
        heaviest: f64,
        /// One over what the bets came to, at the threshold.
        p_value: f64,
    },
    /// Exact bounds on recall and fpr, put together for a share of positives that these rows need not have.
    AtPrevalence {
        /// The least share of positives it holds for.
        lower: f64,
        /// The largest.
        upper: f64,
        /// Thresholds in the sequence.
        tested: u64,
        /// The worst that the rate can be at the threshold, by those bounds.
        bound: f64,
    },
    /// Tests at decisions fixed in advance on other rows, from safe to bold, to the first failure.
    Frontier {
        /// Decisions in the sequence.
        tested: u64,
        /// The p-value at the decisions taken.
        p_value: f64,
        /// What each is.
        proof: Proof,
        /// What is assumed where entities are betted on: none has more examples that the rate is a share of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        largest: Option<u64>,
    },
    /// No proof: draws of whole entities put the rate within its target about as often as was asked for.
    Approximate {
        /// Entities with examples that the rate is a share of.
        entities: u64,
        /// The chance of a rate so good, were the true one at its target, as far as the draws tell.
        p_value: f64,
    },
}

/// What a test at given decisions is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Proof {
    /// Exact binomial tests.
    Tests,
    /// Exact bounds on the rates that are compared.
    Bounds,
    /// Bets on rows.
    Bets,
}

impl Certificate {
    /// Whether it is no certificate at all: its limits are approximate, and nothing is proved.
    #[must_use]
    pub fn is_approximate(&self) -> bool {
        self.conditions.iter().any(|one| matches!(one.method, Method::Approximate { .. }))
    }

    /// The threshold of a group; without one, the only threshold, where groups do not differ in it.
    #[must_use]
    pub fn threshold(&self, group: Option<&str>) -> Option<f32> {
        if self.column.is_none() || group.is_none() {
            let first = self.thresholds.first().copied();
            return first.filter(|first| self.thresholds.iter().all(|threshold| threshold == first));
        }
        let place = self.groups.iter().position(|name| Some(name.as_str()) == group)?;
        self.thresholds.get(place).copied()
    }
}

impl CertifiedCondition {
    /// Whether it was proved for the share of positives, or the mix of classes, of the calibration rows alone.
    fn depends_on_mix(&self) -> bool {
        match self.method {
            Method::AtPrevalence { .. } => false,
            // Of the rates of a class, those within it.
            Method::FixedSequence { .. } => {
                !["recall(", "fnr("].iter().any(|rate| self.condition.starts_with(rate))
            }
            _ => parse_conditions(&self.condition)
                .is_ok_and(|parsed| !parsed.iter().all(Constraint::survives_mix)),
        }
    }
}

impl CertifiedEntities {
    /// The entities of a sample, where some have several examples.
    pub(super) fn of(sample: &Sample) -> Option<Self> {
        let entities = sample.together()?;
        Some(Self { column: entities.column().to_owned(), count: entities.len() as u64 })
    }
}

impl Method {
    /// The most examples that an entity is assumed to have, where entities are betted on.
    #[must_use]
    pub fn largest(&self) -> Option<u64> {
        match self {
            Self::Betting { largest, .. } => Some(*largest),
            Self::Frontier { largest, .. } => *largest,
            _ => None,
        }
    }

    /// The method's name in reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::OrderStatistic { .. } => "order statistic",
            Self::RankGrid { .. } => "exact tests on a grid of ranks",
            Self::FixedSequence { .. } => "exact tests in a fixed sequence",
            Self::Betting { .. } => "bets on entities",
            Self::InverseProbability { .. } => "bets on sampled rows",
            Self::AtPrevalence { .. } => "exact bounds on recall and fpr",
            Self::Frontier { proof: Proof::Tests, .. } => "exact tests along the validation frontier",
            Self::Frontier { proof: Proof::Bounds, .. } => "exact bounds along the validation frontier",
            Self::Frontier { largest: Some(_), .. } => "bets on entities along the validation frontier",
            Self::Frontier { proof: Proof::Bets, .. } => "bets on rows along the validation frontier",
            Self::Approximate { .. } => "draws of entities (no proof)",
        }
    }
}

/// One line for each condition, after one that says what they are worth together.
impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let approximate = self.is_approximate();
        let standing = if approximate { "approximate, not certified: meant for" } else { "certified at" };
        write!(f, "{standing} {} confidence on {} examples", percent(self.confidence), self.examples)?;
        if let Some(entities) = &self.entities {
            write!(f, " of {} entities (column {:?})", entities.count, entities.column)?;
        }
        if self.conditions.len() > 1 {
            let each = percent(self.confidence_each);
            write!(f, ", {each} for each of {} conditions", self.conditions.len())?;
        }
        for condition in &self.conditions {
            write!(f, "\n  {condition}")?;
            if let Some(threshold) = self.threshold(condition.group.as_deref()) {
                write!(f, " at threshold {threshold}")?;
            }
        }
        if let Some(amount) = &self.amount {
            write!(f, "\n  {amount}")?;
        }
        let mut mixed: Vec<&str> = Vec::new();
        for condition in self.conditions.iter().filter(|condition| condition.depends_on_mix()) {
            if !mixed.contains(&condition.condition.as_str()) {
                mixed.push(&condition.condition);
            }
        }
        if !mixed.is_empty() {
            write!(f, "\n  {} at the mix of classes of these examples only", mixed.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for CertifiedAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { quantity, bound, observed, assumed } = self;
        let (side, worse) = if quantity == "cost" { ("at most", "more") } else { ("at least", "less") };
        write!(f, "{quantity}: {side} {bound:.4} a row (observed {observed:.4}), by bets on rows")?;
        match assumed {
            Some(assumed) => write!(f, ", assuming that no row has {worse} than {}", number(*assumed)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for CertifiedCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (counted, examples) = (self.counted, self.examples);
        write!(
            f,
            "{}{}: observed {}",
            of_group(self.group.as_deref()),
            self.condition,
            percent(self.observed)
        )?;
        match self.method {
            // The rate is not that of the rows as they are.
            Method::InverseProbability { .. }
            | Method::AtPrevalence { .. }
            | Method::Frontier { proof: Proof::Bounds | Proof::Bets, .. } => {
                write!(f, " from {examples} rows")?
            }
            _ => write!(f, " ({counted} of {examples})")?,
        }
        write!(f, ", by {}", self.method.name())?;
        match self.method {
            Method::Betting { entities, largest, .. } => {
                write!(f, ": {entities} of them, assuming that none has more than {largest} such examples")
            }
            Method::Frontier { largest: Some(largest), .. } => {
                write!(f, ", assuming that none has more than {largest} such examples")
            }
            Method::InverseProbability { heaviest, .. } => {
                write!(f, ", assuming that none that could be a mistake stands for more than {heaviest:.1}")
            }
            Method::AtPrevalence { lower, upper, .. } => {
                let range = if lower == upper {
                    percent(lower)
                } else {
                    format!("{} to {}", percent(lower), percent(upper))
                };
                write!(f, ", for a share of positives of {range} and each class scoring as here")
            }
            _ => Ok(()),
        }
    }
}
