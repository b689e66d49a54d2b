//! The numbers of scikit-learn, scipy and mpmath; `tests/golden/metric.py` made them.

use super::interval::{at_most, clopper_pearson, upper_tail};
use super::operating_point::best;
use super::{Condition, Cuts, confusion, pr, proper, roc};
use crate::goal::{Rate, Relation};
use crate::sample::Sample;

const ROWS: &str = include_str!("../../tests/golden/metric.csv");
const VALUES: &str = include_str!("../../tests/golden/metric.txt");

struct Golden {
    sample: Sample,
    scores: Vec<f32>,
    probabilities: Vec<f32>,
}

fn golden(kind: &str) -> Golden {
    let rows: Vec<Vec<f32>> =
        ROWS.lines().skip(1).map(|row| row.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    let column = |c: usize| rows.iter().map(|row| row[c]).collect::<Vec<f32>>();
    let sample = Sample::new(column(0).iter().map(|label| *label == 1.0).collect()).unwrap();
    let sample = if kind == "weighted" { sample.with_weights(column(2)).unwrap() } else { sample };
    Golden { sample, scores: column(1), probabilities: column(3) }
}

fn lines() -> impl Iterator<Item = (Vec<&'static str>, f64)> {
    VALUES.lines().map(|line| {
        let (name, value) = line.split_once(" = ").unwrap();
        (name.split(' ').collect(), value.parse().unwrap())
    })
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().unwrap()
}

fn at_condition(cuts: &Cuts, objective: Rate, rate: Rate, relation: Relation, target: &str) -> f64 {
    let condition = Condition { rate, relation, target: number(target) };
    best(cuts, objective, &[condition]).unwrap().value
}

#[test]
fn metrics_are_those_of_scikit_learn() {
    let mut compared = 0;
    for (name, expected) in lines() {
        let [kind @ ("unit" | "weighted"), name @ ..] = name.as_slice() else { continue };
        let Golden { sample, scores, probabilities } = golden(kind);
        let cuts = Cuts::new(&sample, &scores).unwrap();
        let counts = |threshold: &str| confusion::at(&sample, &scores, number(threshold)).unwrap();
        let got = match name {
            ["roc-auc"] => roc::auc(&cuts).unwrap(),
            ["roc-auc", "max_fpr", to] => roc::area_over_fpr(&cuts, 0.0, number(to)).unwrap(),
            ["average-precision"] => pr::average_precision(&cuts).unwrap(),
            ["log-loss"] => proper::log_loss(&sample, &probabilities).unwrap(),
            ["brier"] => proper::brier(&sample, &probabilities).unwrap(),
            ["tn", "at", t] => counts(t).true_negatives,
            ["fp", "at", t] => counts(t).false_positives,
            ["fn", "at", t] => counts(t).false_negatives,
            ["tp", "at", t] => counts(t).true_positives,
            ["f1", "at", t] => Rate::FBeta(1.0).of(&counts(t)).unwrap(),
            ["f2", "at", t] => Rate::FBeta(2.0).of(&counts(t)).unwrap(),
            ["balanced-accuracy", "at", t] => Rate::BalancedAccuracy.of(&counts(t)).unwrap(),
            ["recall", "at", "fpr", target] => {
                at_condition(&cuts, Rate::Recall, Rate::FalsePositiveRate, Relation::AtMost, target)
            }
            ["precision", "at", "recall", target] => {
                at_condition(&cuts, Rate::Precision, Rate::Recall, Relation::AtLeast, target)
            }
            _ => panic!("{name:?} has no metric here"),
        };
        // Both sum 120 exact weights in f64.
        assert!(
            (got - expected).abs() <= 1e-13 * expected.abs().max(1.0),
            "{kind} {name:?}: {got} is not {expected}"
        );
        compared += 1;
    }
    assert_eq!(compared, 72);
}

#[test]
fn binomial_intervals_and_tails_are_those_of_scipy_and_mpmath() {
    let mut compared = 0;
    for (name, expected) in lines() {
        // scipy's beta quantiles are good to about 1e-11; the tails are from 40 digits.
        let (got, tolerance) = match name.as_slice() {
            ["clopper-pearson", end, k, n, confidence] => {
                let interval = clopper_pearson(number(k), number(n), number(confidence)).unwrap();
                (if *end == "lower" { interval.lower } else { interval.upper }, 1e-9)
            }
            ["at-most", k, n, confidence] => {
                (at_most(number(k), number(n), number(confidence)).unwrap(), 1e-9)
            }
            ["upper-tail", n, k, p] => (upper_tail(number(n), number(k), number(p)), 1e-12),
            _ => continue,
        };
        assert!((got - expected).abs() <= tolerance * expected, "{name:?}: {got:e} is not {expected:e}");
        compared += 1;
    }
    assert_eq!(compared, 76);
}
