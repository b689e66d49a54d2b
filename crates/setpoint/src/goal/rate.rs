//! The rates a goal can speak of, each defined once by its counts.
//!
//! A rate is a mean of linear fractions of six counts. The same definition
//! serves both faces of a rate: *exact*, from counted decisions, and *smooth*,
//! from surrogate sums. Whole-class totals are counts of their own, so that a
//! rate over a label slice keeps its true denominator under any surrogate
//! (with softplus, smooth true positives and smooth false negatives do not add
//! up to the positives).

/// Which way a rate gets better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// More is better (recall).
    Up,
    /// Less is better (fpr).
    Down,
    /// Neither: only meaningful as a condition (positive-rate).
    Neither,
}

/// A rate of decisions, by its full name. The goal language has the short forms.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rate {
    /// `recall`, `tpr`: true positives / positives.
    Recall,
    /// `fnr`: false negatives / positives.
    FalseNegativeRate,
    /// `fpr`: false positives / negatives.
    FalsePositiveRate,
    /// `tnr`, `specificity`: true negatives / negatives.
    TrueNegativeRate,
    /// `precision`, `ppv`: true positives / predicted positives.
    Precision,
    /// `fdr`: false positives / predicted positives.
    FalseDiscoveryRate,
    /// `npv`: true negatives / predicted negatives.
    NegativePredictiveValue,
    /// `for`: false negatives / predicted negatives.
    FalseOmissionRate,
    /// `accuracy`: right decisions / all.
    Accuracy,
    /// `error`: wrong decisions / all.
    Error,
    /// `balanced-accuracy`: the mean of recall and tnr.
    BalancedAccuracy,
    /// `f1`, `f2`, `f0.5`: (1 + b²) tp / (b² positives + predicted positives).
    FBeta(f64),
    /// `positive-rate`: predicted positives / all.
    PositiveRate,
    /// `coverage`: decided / all, where rows between two thresholds are left undecided.
    Coverage,
    /// `cost(...)`: what decisions cost / all; which amounts, the goal says.
    Cost,
    /// `profit(...)`: what decisions pay / all.
    Profit,
}

/// One number for each count that a rate can be made of.
///
/// Used for the counts themselves and for the coefficients on them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Positives predicted positive.
    pub true_positives: f64,
    /// Positives predicted negative.
    pub false_negatives: f64,
    /// Negatives predicted positive.
    pub false_positives: f64,
    /// Negatives predicted negative.
    pub true_negatives: f64,
    /// All positives.
    pub positives: f64,
    /// All negatives.
    pub negatives: f64,
    /// What the decisions pay or cost, in goals of money.
    pub money: f64,
}

impl Counts {
    const NONE: Self = Self {
        true_positives: 0.0,
        false_negatives: 0.0,
        false_positives: 0.0,
        true_negatives: 0.0,
        positives: 0.0,
        negatives: 0.0,
        money: 0.0,
    };

    /// One example that was decided.
    #[must_use]
    pub(crate) fn decision(label: bool, predicted: bool) -> Self {
        let one = |is: bool| f64::from(u8::from(is));
        Self {
            true_positives: one(label && predicted),
            false_negatives: one(label && !predicted),
            false_positives: one(!label && predicted),
            true_negatives: one(!label && !predicted),
            positives: one(label),
            negatives: one(!label),
            money: 0.0,
        }
    }

    /// Adds `factor` times another set of counts.
    pub fn add(&mut self, other: &Self, factor: f64) {
        self.true_positives += factor * other.true_positives;
        self.false_negatives += factor * other.false_negatives;
        self.false_positives += factor * other.false_positives;
        self.true_negatives += factor * other.true_negatives;
        self.positives += factor * other.positives;
        self.negatives += factor * other.negatives;
        self.money += factor * other.money;
    }

    /// Sum of products with another set of counts.
    #[must_use]
    pub fn dot(&self, other: &Self) -> f64 {
        self.true_positives * other.true_positives
            + self.false_negatives * other.false_negatives
            + self.false_positives * other.false_positives
            + self.true_negatives * other.true_negatives
            + self.positives * other.positives
            + self.negatives * other.negatives
            + self.money * other.money
    }
}

/// A linear fraction of counts: coefficients above and below the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fraction {
    /// Coefficients of the numerator.
    pub numerator: Counts,
    /// Coefficients of the denominator.
    pub denominator: Counts,
}

impl Fraction {
    /// The value for these counts, or `None` where the denominator is zero.
    #[must_use]
    pub fn of(&self, counts: &Counts) -> Option<f64> {
        let denominator = self.denominator.dot(counts);
        (denominator > 0.0).then(|| self.numerator.dot(counts) / denominator)
    }
}

const TP: Counts = Counts { true_positives: 1.0, ..Counts::NONE };
const FN: Counts = Counts { false_negatives: 1.0, ..Counts::NONE };
const FP: Counts = Counts { false_positives: 1.0, ..Counts::NONE };
const TN: Counts = Counts { true_negatives: 1.0, ..Counts::NONE };
const POSITIVES: Counts = Counts { positives: 1.0, ..Counts::NONE };
const NEGATIVES: Counts = Counts { negatives: 1.0, ..Counts::NONE };
const ALL: Counts = Counts { positives: 1.0, negatives: 1.0, ..Counts::NONE };
const PREDICTED_POSITIVE: Counts = Counts { true_positives: 1.0, false_positives: 1.0, ..Counts::NONE };
const PREDICTED_NEGATIVE: Counts = Counts { true_negatives: 1.0, false_negatives: 1.0, ..Counts::NONE };
const MONEY: Counts = Counts { money: 1.0, ..Counts::NONE };
const DECIDED: Counts = Counts { false_negatives: 1.0, true_negatives: 1.0, ..PREDICTED_POSITIVE };
const RIGHT: Counts = Counts { true_positives: 1.0, true_negatives: 1.0, ..Counts::NONE };
const WRONG: Counts = Counts { false_positives: 1.0, false_negatives: 1.0, ..Counts::NONE };

impl Rate {
    /// Every rate of decisions that leave no row out, with f1 for the f-beta family.
    pub const ALL: [Self; 13] = [
        Self::Recall,
        Self::FalseNegativeRate,
        Self::FalsePositiveRate,
        Self::TrueNegativeRate,
        Self::Precision,
        Self::FalseDiscoveryRate,
        Self::NegativePredictiveValue,
        Self::FalseOmissionRate,
        Self::Accuracy,
        Self::Error,
        Self::BalancedAccuracy,
        Self::FBeta(1.0),
        Self::PositiveRate,
    ];

    /// The fractions whose mean is this rate (one, but for balanced accuracy).
    #[must_use]
    pub fn fractions(self) -> Vec<Fraction> {
        let fraction = |numerator, denominator| Fraction { numerator, denominator };
        match self {
            Self::Recall => vec![fraction(TP, POSITIVES)],
            Self::FalseNegativeRate => vec![fraction(FN, POSITIVES)],
            Self::FalsePositiveRate => vec![fraction(FP, NEGATIVES)],
            Self::TrueNegativeRate => vec![fraction(TN, NEGATIVES)],
            Self::Precision => vec![fraction(TP, PREDICTED_POSITIVE)],
            Self::FalseDiscoveryRate => vec![fraction(FP, PREDICTED_POSITIVE)],
            Self::NegativePredictiveValue => vec![fraction(TN, PREDICTED_NEGATIVE)],
            Self::FalseOmissionRate => vec![fraction(FN, PREDICTED_NEGATIVE)],
            Self::Accuracy => vec![fraction(RIGHT, ALL)],
            Self::Error => vec![fraction(WRONG, ALL)],
            Self::BalancedAccuracy => vec![fraction(TP, POSITIVES), fraction(TN, NEGATIVES)],
            Self::FBeta(beta) => vec![fraction(
                Counts { true_positives: 1.0 + beta * beta, ..Counts::NONE },
                Counts { positives: beta * beta, ..PREDICTED_POSITIVE },
            )],
            Self::PositiveRate => vec![fraction(PREDICTED_POSITIVE, ALL)],
            Self::Coverage => vec![fraction(DECIDED, ALL)],
            Self::Cost | Self::Profit => vec![fraction(MONEY, ALL)],
        }
    }

    /// The same where some rows are left undecided: accuracy and error are then of the others.
    #[must_use]
    pub fn fractions_of_decided(self) -> Vec<Fraction> {
        match self {
            Self::Accuracy => vec![Fraction { numerator: RIGHT, denominator: DECIDED }],
            Self::Error => vec![Fraction { numerator: WRONG, denominator: DECIDED }],
            _ => self.fractions(),
        }
    }

    /// The value for these counts, or `None` where a denominator is zero.
    #[must_use]
    pub fn of(self, counts: &Counts) -> Option<f64> {
        mean(&self.fractions(), counts)
    }

    /// The same where some rows are left undecided.
    #[must_use]
    pub fn of_decided(self, counts: &Counts) -> Option<f64> {
        mean(&self.fractions_of_decided(), counts)
    }

    /// Which way this rate gets better.
    #[must_use]
    pub fn direction(self) -> Direction {
        match self {
            Self::Recall
            | Self::TrueNegativeRate
            | Self::Precision
            | Self::NegativePredictiveValue
            | Self::Accuracy
            | Self::BalancedAccuracy
            | Self::FBeta(_)
            | Self::Coverage
            | Self::Profit => Direction::Up,
            Self::FalseNegativeRate
            | Self::FalsePositiveRate
            | Self::FalseDiscoveryRate
            | Self::FalseOmissionRate
            | Self::Error
            | Self::Cost => Direction::Down,
            Self::PositiveRate => Direction::Neither,
        }
    }

    /// The rate that is one minus this one, where it has a name: fnr for recall, error for accuracy.
    #[must_use]
    pub fn complement(self) -> Option<Self> {
        Some(match self {
            Self::Recall => Self::FalseNegativeRate,
            Self::FalseNegativeRate => Self::Recall,
            Self::FalsePositiveRate => Self::TrueNegativeRate,
            Self::TrueNegativeRate => Self::FalsePositiveRate,
            Self::Precision => Self::FalseDiscoveryRate,
            Self::FalseDiscoveryRate => Self::Precision,
            Self::NegativePredictiveValue => Self::FalseOmissionRate,
            Self::FalseOmissionRate => Self::NegativePredictiveValue,
            Self::Accuracy => Self::Error,
            Self::Error => Self::Accuracy,
            Self::BalancedAccuracy
            | Self::FBeta(_)
            | Self::PositiveRate
            | Self::Coverage
            | Self::Cost
            | Self::Profit => return None,
        })
    }

    /// Whether the rate is undefined without positives or without negatives.
    ///
    /// Returns `(needs positives, needs negatives)`.
    #[must_use]
    pub fn needs(self) -> (bool, bool) {
        match self {
            Self::Recall | Self::FalseNegativeRate | Self::FBeta(_) => (true, false),
            Self::FalsePositiveRate | Self::TrueNegativeRate => (false, true),
            Self::BalancedAccuracy => (true, true),
            _ => (false, false),
        }
    }

    /// Whether the rate stays what it is under another share of positives, each class scoring as before.
    #[must_use]
    pub fn survives_mix(self) -> bool {
        matches!(
            self,
            Self::Recall
                | Self::FalseNegativeRate
                | Self::FalsePositiveRate
                | Self::TrueNegativeRate
                | Self::BalancedAccuracy
        )
    }
}

fn mean(fractions: &[Fraction], counts: &Counts) -> Option<f64> {
    let sum: Option<f64> = fractions.iter().map(|fraction| fraction.of(counts)).sum();
    sum.map(|sum| sum / fractions.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_survive_another_mix_are_the_same_with_twice_the_positives() {
        let Counts { true_positives, false_negatives, positives, .. } = COUNTS;
        let more = Counts {
            true_positives: 2.0 * true_positives,
            false_negatives: 2.0 * false_negatives,
            positives: 2.0 * positives,
            ..COUNTS
        };
        for rate in [
            Rate::Recall,
            Rate::FalseNegativeRate,
            Rate::FalsePositiveRate,
            Rate::TrueNegativeRate,
            Rate::BalancedAccuracy,
            Rate::Precision,
            Rate::FalseDiscoveryRate,
            Rate::NegativePredictiveValue,
            Rate::FalseOmissionRate,
            Rate::PositiveRate,
            Rate::Accuracy,
            Rate::Error,
            Rate::FBeta(1.0),
        ] {
            let (one, other) = (rate.of(&COUNTS).unwrap(), rate.of(&more).unwrap());
            assert_eq!((one - other).abs() < 1e-12, rate.survives_mix(), "{rate}");
        }
    }

    const COUNTS: Counts = Counts {
        true_positives: 30.0,
        false_negatives: 10.0,
        false_positives: 20.0,
        true_negatives: 140.0,
        positives: 40.0,
        negatives: 160.0,
        money: 0.0,
    };

    #[test]
    fn rates_are_the_textbook_fractions() {
        let expected = [
            0.75,
            0.25,
            0.125,
            0.875,
            0.6,
            0.4,
            140.0 / 150.0,
            10.0 / 150.0,
            0.85,
            0.15,
            0.8125,
            2.0 * 0.6 * 0.75 / (0.6 + 0.75),
            0.25,
        ];
        for (rate, expected) in Rate::ALL.into_iter().zip(expected) {
            let value = rate.of(&COUNTS).unwrap();
            assert!((value - expected).abs() < 1e-15, "{rate:?}: {value} is not {expected}");
        }
    }

    #[test]
    fn f_beta_weighs_recall_beta_times_as_much() {
        let (precision, recall) = (0.6, 0.75);
        for beta in [0.5, 2.0, 3.0] {
            let b2: f64 = beta * beta;
            let expected = (1.0 + b2) * precision * recall / (b2 * precision + recall);
            assert!((Rate::FBeta(beta).of(&COUNTS).unwrap() - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn a_rate_and_its_complement_add_up_to_one() {
        for rate in Rate::ALL {
            let Some(complement) = rate.complement() else { continue };
            assert_eq!(complement.complement(), Some(rate));
            assert_ne!(complement.direction(), rate.direction());
            let sum = rate.of(&COUNTS).unwrap() + complement.of(&COUNTS).unwrap();
            assert!((sum - 1.0).abs() < 1e-15, "{rate:?}");
        }
    }

    #[test]
    fn a_rate_without_its_denominator_is_undefined() {
        let no_positives = Counts { true_positives: 0.0, false_negatives: 0.0, positives: 0.0, ..COUNTS };
        assert_eq!(Rate::Recall.of(&no_positives), None);
        assert_eq!(Rate::BalancedAccuracy.of(&no_positives), None);
        let none_predicted = Counts { true_positives: 0.0, false_positives: 0.0, ..COUNTS };
        assert_eq!(Rate::Precision.of(&none_predicted), None);
    }
}
