//! Figures that rest on few examples: shown with their interval, or not at all.

use serde::Serialize;

use crate::evaluate::{AtCondition, Measured};

/// Fewest examples (rows, or queries) that a figure may rest on where it is shown without an interval: of twenty, one more or
/// less is five points.
pub const LEAST: u64 = 20;

/// The value, unless there are too few examples for it to stand alone.
pub(crate) fn alone(value: Option<f64>, examples: u64) -> Option<f64> {
    value.filter(|_| examples >= LEAST)
}

/// What stands below a table with such dashes.
pub(crate) fn dashes() -> String {
    format!("-: of fewer than {LEAST} examples")
}

impl Measured {
    /// The value, where an interval or enough examples stand behind it.
    #[must_use]
    pub fn told(&self) -> Option<f64> {
        self.interval.as_ref().map(|_| self.value).or(self.alone())
    }

    /// The value, and the examples that it rests on.
    pub(crate) fn rests(&self) -> (f64, u64) {
        (self.value, self.examples)
    }

    /// The value where it is shown without its interval.
    #[must_use]
    pub fn alone(&self) -> Option<f64> {
        alone(Some(self.value), self.examples)
    }
}

impl AtCondition {
    /// The value, where an interval or enough examples stand behind it.
    #[must_use]
    pub fn told(&self) -> Option<f64> {
        self.interval.as_ref().map(|_| self.value).or(alone(Some(self.value), self.examples))
    }
}

/// How many examples the rates of two classes rest on: each counts once, whatever its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Support {
    /// Positives.
    pub positives: u64,
    /// Negatives.
    pub negatives: u64,
    /// Examples predicted positive.
    pub predicted_positive: u64,
    /// Examples predicted negative.
    pub predicted_negative: u64,
}

impl Support {
    /// Of labels and decisions.
    #[must_use]
    pub fn of(labels: &[bool], decided: impl Iterator<Item = bool>) -> Self {
        let (rows, positives) = (labels.len(), labels.iter().filter(|label| **label).count());
        let predicted = decided.filter(|yes| *yes).count();
        let [positives, negatives, predicted_positive, predicted_negative] =
            [positives, rows - positives, predicted, rows - predicted].map(|count| count as u64);
        Self { positives, negatives, predicted_positive, predicted_negative }
    }

    /// Adds that of other examples.
    pub fn add(&mut self, other: &Self) {
        self.positives += other.positives;
        self.negatives += other.negatives;
        self.predicted_positive += other.predicted_positive;
        self.predicted_negative += other.predicted_negative;
    }

    /// Examples that a rate is a share of; of a rate that is none, the fewer of both classes.
    #[must_use]
    pub fn behind(&self, rate: &str) -> u64 {
        match rate {
            "recall" | "fnr" => self.positives,
            "fpr" | "tnr" => self.negatives,
            "precision" | "fdr" => self.predicted_positive,
            "npv" | "for" => self.predicted_negative,
            "accuracy" | "error" => self.predicted_positive + self.predicted_negative,
            "positive-rate" | "coverage" | "cost" | "profit" => self.positives + self.negatives,
            _ => self.positives.min(self.negatives),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::Bounds;

    #[test]
    fn a_rate_of_few_examples_is_shown_with_its_interval_or_not_at_all() {
        let support =
            Support { positives: 19, negatives: 508, predicted_positive: 20, predicted_negative: 507 };
        let rates = ["recall", "fnr", "fpr", "precision", "accuracy", "f1"];
        assert_eq!(rates.map(|rate| support.behind(rate) >= LEAST), [false, false, true, true, true, false]);
        let bounds = Bounds { lower: 0.2, upper: 0.8, confidence: 0.95, method: "Clopper-Pearson" };
        let mut one = Measured { name: "recall".to_owned(), value: 0.5, interval: None, examples: 19 };
        assert_eq!((one.told(), one.alone()), (None, None));
        one.interval = Some(bounds);
        assert_eq!((one.told(), one.alone()), (Some(0.5), None));
        (one.interval, one.examples) = (None, 20);
        assert_eq!((one.told(), one.alone()), (Some(0.5), Some(0.5)));
    }

    #[test]
    fn an_example_counts_once() {
        let support = Support::of(&[true, false, false], [true, true, false].into_iter());
        let expected = Support { positives: 1, negatives: 2, predicted_positive: 2, predicted_negative: 1 };
        assert_eq!(support, expected);
    }
}
