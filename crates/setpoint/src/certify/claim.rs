//! A condition as it is proved: a share of some examples, on one side of its target.
//!
//! Whatever the rate, a proof comes down to one number. Call an example *bad* if it is one that
//! the condition limits (a false positive for `fpr<=`, a missed positive for `recall>=`). If the
//! true rate were exactly at its target, `n` examples would hold at most `m` bad ones with
//! probability
//!
//! ```text
//! tail(n, m) = P[Binomial(n, a) <= m],      a = target for <=, 1 - target for >=
//! ```
//!
//! and a rate past its target makes that rarer still.

use super::cohort::Tally;
use super::error::CertifyError;
use crate::goal::{Constraint, Rate, Relation, safe_side};
use crate::metric::interval::{lower_tail, upper_tail};

/// The examples that a rate is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slice {
    Positives,
    Negatives,
    All,
    PredictedPositives,
    PredictedNegatives,
    Decided,
}

/// Why `k` and `top` have no certificate.
pub(super) const TOP: &str = "it counts off the highest scores of whatever data is scored, so no threshold is kept; hold positive-rate instead";

const NO_SHARE: &str =
    "it is no share of examples that an exact binomial test could count; hold its cohorts instead";

/// A rate that must stay on one side of a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Claim {
    pub rate: Rate,
    pub slice: Slice,
    /// `AtMost` or `AtLeast`.
    pub side: Relation,
    pub target: f64,
}

impl Claim {
    /// The claim of a condition that a threshold can be chosen for, or why it has none.
    pub fn of(condition: &Constraint) -> Result<Self, CertifyError> {
        let claim = Self::at_decisions(condition)?;
        let reason = match claim.rate {
            Rate::Accuracy | Rate::Error => {
                "it weighs both kinds of mistake, so no order statistic bounds it; hold fpr and recall instead"
            }
            Rate::Coverage => NO_SHARE,
            _ => return Ok(claim),
        };
        Err(CertifyError::CannotCertify { condition: condition.to_string(), reason })
    }

    /// The claim of a condition at decisions that are given: of any share of rows.
    pub fn at_decisions(condition: &Constraint) -> Result<Self, CertifyError> {
        let refuse = |reason| Err(CertifyError::CannotCertify { condition: condition.to_string(), reason });
        let (rate, relation, target) = match condition {
            Constraint::Rate { rate, relation, target }
            | Constraint::PerGroup { rate, relation, target, .. } => (*rate, *relation, *target),
            Constraint::Gap { .. } | Constraint::Ratio { .. } => {
                return refuse(
                    "it compares groups, and each group's rate is only bounded on one side; hold the rate within each group instead, as in recall(sex)>=0.9",
                );
            }
            Constraint::Top(_) => {
                return refuse(TOP);
            }
        };
        let slice = match rate {
            Rate::Recall | Rate::FalseNegativeRate => Slice::Positives,
            Rate::FalsePositiveRate | Rate::TrueNegativeRate => Slice::Negatives,
            Rate::PositiveRate | Rate::Coverage => Slice::All,
            Rate::Precision | Rate::FalseDiscoveryRate => Slice::PredictedPositives,
            Rate::NegativePredictiveValue | Rate::FalseOmissionRate => Slice::PredictedNegatives,
            Rate::Accuracy | Rate::Error => Slice::Decided,
            Rate::BalancedAccuracy | Rate::FBeta(_) | Rate::Cost | Rate::Profit => return refuse(NO_SHARE),
        };
        let side = if relation == Relation::Equal { safe_side(rate) } else { relation };
        Ok(Self { rate, slice, side, target })
    }

    /// `fpr <= 0.1%`, spaced as errors and reports write it.
    pub fn text(&self) -> String {
        let condition = Constraint::Rate { rate: self.rate, relation: self.side, target: self.target };
        condition.to_string().replacen(&self.side.to_string(), &format!(" {} ", self.side), 1)
    }

    /// Whether a higher threshold can only help: the limit on it is then a least threshold.
    /// Predictive claims have no such side.
    pub fn wants_strict(&self) -> bool {
        let counts_predicted_positives =
            matches!(self.rate, Rate::Recall | Rate::FalsePositiveRate | Rate::PositiveRate);
        counts_predicted_positives == (self.side == Relation::AtMost)
    }

    /// Whether the slice itself moves with the threshold.
    pub fn is_predictive(&self) -> bool {
        matches!(self.slice, Slice::PredictedPositives | Slice::PredictedNegatives)
    }

    /// What the rate counts and out of how many.
    pub fn share(&self, tally: &Tally) -> (u64, u64) {
        let Tally { true_positives: tp, false_negatives: r#fn, false_positives: fp, true_negatives: tn } =
            *tally;
        match self.rate {
            Rate::Recall => (tp, tp + r#fn),
            Rate::FalseNegativeRate => (r#fn, tp + r#fn),
            Rate::FalsePositiveRate => (fp, fp + tn),
            Rate::TrueNegativeRate => (tn, fp + tn),
            Rate::Precision => (tp, tp + fp),
            Rate::FalseDiscoveryRate => (fp, tp + fp),
            Rate::NegativePredictiveValue => (tn, tn + r#fn),
            Rate::FalseOmissionRate => (r#fn, tn + r#fn),
            Rate::Accuracy => (tp + tn, tp + r#fn + fp + tn),
            Rate::Error => (fp + r#fn, tp + r#fn + fp + tn),
            Rate::Coverage => (tp + r#fn + fp + tn, tp + r#fn + fp + tn),
            // Positive rate; `at_decisions` lets no other rate through.
            _ => (tp + fp, tp + r#fn + fp + tn),
        }
    }

    /// The share of bad examples that the claim allows.
    pub fn allowed_share(&self) -> f64 {
        if self.side == Relation::AtMost { self.target } else { 1.0 - self.target }
    }

    /// Whether an example so decided, or left undecided, is bad, and whether it is one that the rate is a share of.
    pub fn of_decision(&self, label: bool, decision: impl Into<Option<bool>>) -> (bool, bool) {
        let one = |is: bool| u64::from(is);
        let (counted, examples) = match decision.into() {
            Some(predicted) => self.share(&Tally {
                true_positives: one(label && predicted),
                false_negatives: one(label && !predicted),
                false_positives: one(!label && predicted),
                true_negatives: one(!label && !predicted),
            }),
            // No decision counts for nothing, among the examples of a label or all.
            None => match self.slice {
                Slice::Positives => (0, one(label)),
                Slice::Negatives => (0, one(!label)),
                Slice::All => (0, 1),
                _ => (0, 0),
            },
        };
        (self.bad(counted, examples) > 0, examples > 0)
    }

    /// How many of these are bad.
    pub fn bad(&self, counted: u64, examples: u64) -> u64 {
        if self.side == Relation::AtMost { counted } else { examples - counted }
    }

    /// Whether a rate is on the right side of the target.
    pub fn allows(&self, rate: f64) -> bool {
        if self.side == Relation::AtMost { rate <= self.target } else { rate >= self.target }
    }

    /// P\[at most `bad` of `examples` are bad\] if the true rate is at its target.
    pub fn tail(&self, examples: u64, bad: u64) -> f64 {
        match self.side {
            Relation::AtMost => lower_tail(examples, bad, self.target),
            _ => upper_tail(examples, examples - bad.min(examples), self.target),
        }
    }

    /// P\[at least `bad` of `examples` are bad\] if the true rate is at its target.
    pub fn opposite_tail(&self, examples: u64, bad: u64) -> f64 {
        match self.side {
            Relation::AtMost => upper_tail(examples, bad, self.target),
            _ => lower_tail(examples, examples - bad.min(examples), self.target),
        }
    }

    /// The most bad examples among `examples` that still prove the claim, if any number does.
    pub fn allowed(&self, examples: u64, delta: f64) -> Option<u64> {
        if examples == 0 || self.tail(examples, 0) > delta {
            return None;
        }
        let (mut most, mut past) = (0, examples);
        while past - most > 1 {
            let middle = most + (past - most) / 2;
            if self.tail(examples, middle) <= delta { most = middle } else { past = middle }
        }
        Some(most)
    }

    /// The fewest examples that can prove the claim, all of them good.
    pub fn needed(&self, delta: f64) -> u64 {
        let ln_good = if self.side == Relation::AtMost { (-self.target).ln_1p() } else { self.target.ln() };
        let mut needed = (delta.ln() / ln_good).ceil().max(1.0) as u64;
        // Past 2^53 the quotient itself is not exact to one.
        if needed < 1 << 53 {
            while needed > 1 && self.tail(needed - 1, 0) <= delta {
                needed -= 1;
            }
            while self.tail(needed, 0) > delta {
                needed += 1;
            }
        }
        needed
    }

    /// What the slice holds, in words.
    pub fn noun(&self) -> &'static str {
        match self.slice {
            Slice::Positives => "positives",
            Slice::Negatives => "negatives",
            Slice::All => "examples",
            Slice::PredictedPositives => "predicted positives",
            Slice::PredictedNegatives => "predicted negatives",
            Slice::Decided => "decided examples",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goal::parse_conditions;

    fn claim(text: &str) -> Claim {
        Claim::of(&parse_conditions(text).unwrap()[0]).unwrap()
    }

    #[test]
    fn the_examples_needed_are_the_fewest_that_can_prove_it() {
        // ceil(ln 0.05 / ln 0.999) = ceil(2994.2...)
        assert_eq!(claim("fpr<=0.1%").needed(0.05), 2995);
        assert_eq!(claim("recall>=0.95").needed(0.05), 59);
        assert_eq!(claim("recall>=0.5").needed(0.25), 2);
        assert_eq!(claim("fpr=90%").needed(0.5), 1);
        for text in ["fpr<=1%", "recall>=0.9", "tnr>=0.999", "fnr<=30%", "precision>=0.8", "for<=2%"] {
            for delta in [0.3, 0.05, 1e-6] {
                let claim = claim(text);
                let needed = claim.needed(delta);
                assert_eq!(claim.allowed(needed, delta), Some(0), "{text} {delta}");
                assert_eq!(claim.allowed(needed - 1, delta), None, "{text} {delta}");
            }
        }
        // No overflow where no data will ever do.
        assert!(claim("fpr<=1e-300").needed(0.05) > 1 << 60);
    }

    #[test]
    fn the_bad_examples_allowed_are_the_most_that_the_tail_allows() {
        for text in ["fpr<=10%", "recall>=0.7", "positive-rate>=2%"] {
            let claim = claim(text);
            for n in [5, 40, 333, 10_000] {
                let slow = (0..=n).take_while(|m| claim.tail(n, *m) <= 0.1).last();
                assert_eq!(claim.allowed(n, 0.1), slow, "{text} {n}");
            }
        }
        assert_eq!(claim("fpr<=1%").allowed(0, 0.5), None);
    }

    #[test]
    fn a_rate_and_its_complement_are_one_claim() {
        for (a, b) in [("fpr<=25%", "tnr>=0.75"), ("recall>=0.75", "fnr<=25%"), ("npv>=0.5", "for<=50%")] {
            let (a, b) = (claim(a), claim(b));
            assert_eq!(a.allowed(500, 0.05), b.allowed(500, 0.05));
            assert!(a.is_predictive() || a.wants_strict() == b.wants_strict());
            assert_eq!(a.slice, b.slice);
        }
        assert!(claim("positive-rate=10%").wants_strict());
        assert!(!claim("positive-rate>=10%").wants_strict());
    }

    #[test]
    fn decisions_count_as_the_fractions_of_a_rate_do() {
        use crate::goal::Counts;
        for text in [
            "coverage>=0.8",
            "accuracy>=0.9",
            "error<=5%",
            "precision>=0.9",
            "for<=2%",
            "recall>=0.5",
            "fnr<=10%",
            "fpr<=10%",
            "tnr>=0.5",
            "positive-rate<=5%",
        ] {
            let claim = Claim::at_decisions(&parse_conditions(text).unwrap()[0]).unwrap();
            let fraction = claim.rate.fractions_of_decided()[0];
            for (label, decision) in [true, false]
                .into_iter()
                .flat_map(|label| [Some(true), Some(false), None].map(|d| (label, d)))
            {
                let mut row = decision.map_or_else(Counts::default, |one| Counts::decision(label, one));
                (row.positives, row.negatives) = if label { (1.0, 0.0) } else { (0.0, 1.0) };
                let inside = fraction.denominator.dot(&row) > 0.0;
                let counted = inside && fraction.numerator.dot(&row) > 0.0;
                let bad = if claim.side == Relation::AtMost { counted } else { inside && !counted };
                assert_eq!(claim.of_decision(label, decision), (bad, inside), "{text} {label} {decision:?}");
            }
        }
    }

    #[test]
    fn claims_read_as_people_write_them() {
        assert_eq!(claim("fpr(sex)=0.1%").text(), "fpr <= 0.1%");
        assert_eq!(claim("recall>=0.95").text(), "recall >= 0.95");
    }

    #[test]
    fn what_has_no_exact_test_is_refused_with_the_reason() {
        for text in [
            "gap(recall, sex)<=0.02",
            "ratio(fpr, sex)>=0.8",
            "top=5%",
            "k=10",
            "accuracy>=0.9",
            "error<=5%",
            "f1>=0.5",
            "balanced-accuracy>=0.5",
            "coverage>=0.5",
        ] {
            let error = Claim::of(&parse_conditions(text).unwrap()[0]).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{text} cannot be certified: it ")), "{error}");
        }
    }
}
