//! What a certificate claims, and how a batch of rows is counted for it, whatever decides.

use crate::certify::certificate::{Certificate, CertifiedCondition};
use crate::certify::claim::Claim;
use crate::certify::class;
use crate::certify::cohort::Cohort;
use crate::certify::drift::{check, check_entities, cohorts, condition_of, threshold_of};
use crate::certify::error::CertifyError;
use crate::class::{Classes, decide};
use crate::goal::ClassGoal;
use crate::sample::Sample;

/// A certificate, with what it takes to decide rows.
#[derive(Clone, Copy, Debug)]
pub enum Certified<'a> {
    /// Of one score against its thresholds.
    Thresholds(&'a Certificate),
    /// Of one score against an upper and a lower threshold, between which rows are left undecided.
    Band(&'a Certificate),
    /// Of several classes.
    Shifts {
        /// The goal.
        goal: &'a ClassGoal,
        /// The certificate.
        certificate: &'a Certificate,
        /// One for each class.
        shifts: &'a [f64],
    },
}

impl<'a> From<&'a Certificate> for Certified<'a> {
    fn from(certificate: &'a Certificate) -> Self {
        Self::Thresholds(certificate)
    }
}

/// What one condition claims.
pub(super) struct Terms {
    pub(super) claim: Claim,
    pub(super) noun: &'static str,
    pub(super) survives_mix: bool,
    cut: Cut,
}

/// What it takes for positive.
#[derive(Clone, Copy)]
enum Cut {
    /// Scores from the upper threshold on; those below the lower one are negative. They may be one.
    Scores { upper: f32, lower: f32 },
    /// A class.
    Class(u32),
}

/// Rows of a batch, decided.
pub(super) enum Batch<'a> {
    Cohorts(Vec<Cohort<'a>>),
    Classes { codes: &'a [u32], decided: Vec<u32> },
}

impl<'a> Certified<'a> {
    pub(super) fn certificate(&self) -> &'a Certificate {
        match *self {
            Self::Thresholds(certificate) | Self::Band(certificate) | Self::Shifts { certificate, .. } => {
                certificate
            }
        }
    }

    /// What its conditions claim, in their order.
    pub(super) fn terms(&self) -> Result<Vec<Terms>, CertifyError> {
        let certificate = self.certificate();
        let of_scores = |certified: &CertifiedCondition, upper: f32, lower: f32| {
            let condition = condition_of(certified)?;
            let claim = Claim::at_decisions(&condition)
                .map_err(|_| CertifyError::CannotWatch { condition: condition.to_string() })?;
            let survives_mix = claim.rate.survives_mix();
            Ok(Terms { claim, noun: claim.noun(), survives_mix, cut: Cut::Scores { upper, lower } })
        };
        match self {
            Self::Thresholds(_) => {
                check(certificate)?;
                let of = |certified| {
                    let threshold = threshold_of(certificate, certified)?;
                    of_scores(certified, threshold, threshold)
                };
                certificate.conditions.iter().map(of).collect()
            }
            Self::Band(_) => match certificate.thresholds[..] {
                [upper, lower] if upper >= lower => {
                    certificate.conditions.iter().map(|one| of_scores(one, upper, lower)).collect()
                }
                _ => Err(CertifyError::Damaged { reason: "it has no upper and lower threshold" }),
            },
            Self::Shifts { goal, .. } => {
                let claims = class::claims(goal)?;
                let of = |certified: &CertifiedCondition| {
                    let one = class::named(&claims, &certified.condition)?;
                    Ok(Terms {
                        claim: one.claim,
                        noun: one.noun(),
                        survives_mix: one.survives_mix(),
                        cut: Cut::Class(one.class as u32),
                    })
                };
                certificate.conditions.iter().map(of).collect()
            }
        }
    }

    /// Decides the rows of a batch.
    pub(super) fn batch(&self, sample: &'a Sample, scores: &'a [f32]) -> Result<Batch<'a>, CertifyError> {
        match self {
            Self::Thresholds(certificate) => cohorts(certificate, sample, scores).map(Batch::Cohorts),
            Self::Band(certificate) => {
                check_entities(certificate, sample)?;
                sample.check_scores(scores)?;
                Cohort::all(sample, scores, None).map(Batch::Cohorts)
            }
            Self::Shifts { goal, shifts, .. } => {
                let classes = Classes::of(goal, sample)?;
                classes.check_scores(scores)?;
                let rows = scores.chunks_exact(shifts.len());
                let decided = rows.map(|scores| decide(scores, shifts) as u32).collect();
                Ok(Batch::Classes { codes: classes.codes(), decided })
            }
        }
    }
}

impl Batch<'_> {
    /// Every row that a condition is about: its number, whether it is positive, and whether it is decided so, if at all.
    pub(super) fn visit(
        &self,
        certified: &CertifiedCondition,
        terms: &Terms,
        mut visit: impl FnMut(usize, bool, Option<bool>),
    ) {
        match (self, terms.cut) {
            (Self::Cohorts(cohorts), Cut::Scores { upper, lower }) => {
                let cohort = cohorts.iter().find(|cohort| cohort.name() == certified.group.as_deref());
                let Some(cohort) = cohort else { return };
                cohort.visit_rows(|row, score, label| {
                    let decision = (score >= upper).then_some(true).or((score < lower).then_some(false));
                    visit(row, label, decision);
                });
            }
            (Self::Classes { codes, decided }, Cut::Class(class)) => {
                let rows = codes.iter().zip(decided).enumerate();
                rows.for_each(|(row, (code, decided))| visit(row, *code == class, Some(*decided == class)));
            }
            _ => {}
        }
    }
}
