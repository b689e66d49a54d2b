//! Several labels: what their certificates are worth together.

use serde::Serialize;
use setpoint::message::{clip, list};

use crate::certificate::CertificateRecord;
use crate::number::level;

/// The records of several labels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LabelsRecord<R> {
    /// One for each label.
    pub runs: Vec<R>,
    /// What is proved of them together; none where nothing is proved of any.
    pub together: Option<Together>,
}

/// A proof of the conditions of several labels: each fails with its own chance, so that one of them fails with the
/// sum of these at most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Together {
    /// The chance that all conditions of these labels hold.
    pub confidence: f64,
    /// The labels.
    pub labels: Vec<String>,
    /// Those without a certificate.
    pub without: Vec<String>,
    /// All that in words.
    pub text: String,
}

impl Together {
    /// What certificates of labels are worth together; `None` where there is none.
    #[must_use]
    pub fn of(certificates: &[(String, Option<&CertificateRecord>)]) -> Option<Self> {
        let (proved, without): (Vec<_>, Vec<_>) = certificates.iter().partition(|(_, one)| one.is_some());
        let failing: f64 =
            proved.iter().filter_map(|(_, one)| Some(1.0 - one.as_ref()?.full.confidence)).sum();
        let confidence = 1.0 - failing;
        let named = |of: &[&(String, Option<_>)]| of.iter().map(|(label, _)| label.clone()).collect();
        let (labels, without): (Vec<String>, Vec<String>) = (named(&proved), named(&without));
        let text = match (&labels[..], &without[..]) {
            ([], _) => return None,
            ([only], _) => {
                format!("the conditions of {} hold at {} confidence", clip(only), level(confidence))
            }
            (all, []) => {
                format!("the conditions of all {} labels hold at {} confidence", all.len(), level(confidence))
            }
            (some, _) => format!("the conditions of {} hold at {} confidence", list(some), level(confidence)),
        };
        let text = match &without[..] {
            [] => text,
            none => format!("{text}; without a certificate: {}", list(none)),
        };
        Some(Self { confidence, labels, without, text })
    }
}
