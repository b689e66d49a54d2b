//! How sure each condition must be, so that all hold together.

use super::claim::Claim;
use super::cohort::Cohort;
use super::error::CertifyError;

/// A confidence shared equally by several claims (Bonferroni).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    pub confidence: f64,
    /// Conditions times groups.
    pub shared_by: usize,
}

impl Level {
    /// The chance that one claim may fail.
    pub fn delta(&self) -> f64 {
        (1.0 - self.confidence) / self.shared_by as f64
    }

    pub fn too_few(&self, claim: &Claim, part: &Cohort, found: u64, needed: u64) -> CertifyError {
        CertifyError::TooFew {
            group: part.name().map(str::to_owned),
            found,
            noun: if claim.is_predictive() { "examples" } else { claim.noun() },
            condition: claim.text(),
            confidence: self.confidence,
            shared_by: self.shared_by,
            needed,
        }
    }

    /// The refusal of the tests, with the one that came nearest: (counted, examples, p-value).
    pub fn none_certified(
        &self,
        claim: &Claim,
        part: &Cohort,
        tested: usize,
        nearest: (u64, u64, f64),
        level: f64,
    ) -> CertifyError {
        let (counted, examples, p_value) = nearest;
        CertifyError::NoneCertified {
            group: part.name().map(str::to_owned),
            condition: claim.text(),
            confidence: self.confidence,
            shared_by: self.shared_by,
            tested,
            counted,
            examples,
            noun: claim.noun(),
            p_value,
            level,
        }
    }
}
