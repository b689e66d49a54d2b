//! A certificate as reports show it.

use std::fmt;

use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use setpoint::certify::{Certificate, Method};
use setpoint::message::number;

use crate::number::widened;

/// A certificate, with what most readers want of it in front, and its thresholds as 64-bit numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct CertificateRecord {
    /// Every condition it proves, as goals write them.
    pub condition: String,
    /// The threshold; `None` where each group has its own.
    pub threshold: Option<f64>,
    /// One, or one for each group.
    pub thresholds: Vec<f64>,
    /// The limit of each condition that an order statistic proves.
    limits: Vec<Option<f64>>,
    /// All of it, with thresholds and limits rounded to 32 bits.
    pub full: Certificate,
}

/// What every front end says where a threshold ships without a certificate that was asked for; a model of several classes
/// has shifts, one of queries neither.
#[must_use]
pub fn uncertified(classes: bool, queries: bool, reason: &str) -> String {
    match (classes, queries) {
        (_, true) => format!("nothing is certified about new queries: {reason}"),
        (true, false) => format!("the shifts are not certified: {reason}"),
        (false, false) => format!("the threshold is not certified: {reason}"),
    }
}

impl CertificateRecord {
    /// The record of a certificate for scores of 32 bits.
    #[must_use]
    pub fn new(full: Certificate) -> Self {
        Self::of_scores(full, widened)
    }

    /// The record of a certificate for scores of 64 bits, of which it has the ranks.
    #[must_use]
    pub fn of_scores(mut full: Certificate, score: impl Fn(f32) -> f64) -> Self {
        let mut conditions: Vec<&str> = Vec::new();
        for certified in &full.conditions {
            if !conditions.contains(&certified.condition.as_str()) {
                conditions.push(&certified.condition);
            }
        }
        let condition = conditions.join(", ");
        let threshold = full.threshold(None).map(&score);
        let thresholds: Vec<f64> = full.thresholds.iter().map(|one| score(*one)).collect();
        full.thresholds = thresholds.iter().map(|one| *one as f32).collect();
        let limits = full.conditions.iter_mut().map(|certified| match &mut certified.method {
            Method::OrderStatistic { limit, .. } => {
                let exact = score(*limit);
                *limit = exact as f32;
                Some(exact)
            }
            _ => None,
        });
        let limits = limits.collect();
        Self { condition, threshold, thresholds, limits, full }
    }

    /// Reads what [`serialize`](Serialize::serialize) wrote.
    ///
    /// # Errors
    /// If it is not a certificate.
    pub fn from_json(value: &Value) -> Result<Self, serde_json::Error> {
        let full: Certificate = serde_json::from_value(value.clone())?;
        let exact = Self::new(full);
        let thresholds: Vec<f64> = serde_json::from_value(value["thresholds"].clone())?;
        let threshold = serde_json::from_value(value["threshold"].clone())?;
        let limit = |place: usize| value["conditions"][place]["method"]["limit"].as_f64();
        let limits = (0..exact.limits.len()).map(limit).collect();
        Ok(Self { threshold, thresholds, limits, ..exact })
    }

    /// The threshold of a group, or the only one.
    fn of_group(&self, group: Option<&str>) -> Option<f64> {
        match group.filter(|_| self.full.column.is_some()) {
            None => self.threshold,
            Some(group) => {
                let place = self.full.groups.iter().position(|name| name == group)?;
                self.thresholds.get(place).copied()
            }
        }
    }
}

impl Serialize for CertificateRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut value = serde_json::to_value(&self.full).map_err(S::Error::custom)?;
        value["condition"] = json!(self.condition);
        value["threshold"] = json!(self.threshold);
        value["thresholds"] = json!(self.thresholds);
        for (place, limit) in self.limits.iter().enumerate() {
            if let Some(limit) = limit {
                value["conditions"][place]["method"]["limit"] = json!(limit);
            }
        }
        value.serialize(serializer)
    }
}

/// One line for each condition, after one that says what they are worth together.
impl fmt::Display for CertificateRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.full.to_string().lines().next().unwrap_or_default())?;
        for condition in &self.full.conditions {
            write!(f, "\n  {condition}")?;
            if let Some(threshold) = self.of_group(condition.group.as_deref()) {
                write!(f, " at threshold {}", number(threshold))?;
            }
        }
        self.full.amount.as_ref().map_or(Ok(()), |amount| write!(f, "\n  {amount}"))
    }
}
