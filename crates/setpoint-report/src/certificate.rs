//! A certificate as reports show it.

use serde::Serialize;
use setpoint::certify::Certificate;

/// A certificate, with what most readers want of it in front.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CertificateRecord {
    /// Every condition it proves, as goals write them.
    pub condition: String,
    /// The threshold; `None` where each group has its own.
    pub threshold: Option<f32>,
    /// All of it.
    #[serde(flatten)]
    pub full: Certificate,
}

impl CertificateRecord {
    /// The record of a certificate.
    #[must_use]
    pub fn new(full: Certificate) -> Self {
        let mut conditions: Vec<&str> = Vec::new();
        for certified in &full.conditions {
            if !conditions.contains(&certified.condition.as_str()) {
                conditions.push(&certified.condition);
            }
        }
        let condition = conditions.join(", ");
        Self { condition, threshold: full.threshold(None), full }
    }
}
