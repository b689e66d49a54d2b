//! The best decisions that a condition allows.
//!
//! *Value at a condition*: among all cuts of the sample that satisfy every condition exactly, the
//! best value of the objective. `=` is read on the safe side of its target
//! ([`safe_side`](crate::goal::safe_side)). A rate that is undefined at a cut satisfies no condition there. There is no
//! tolerance: 3 of 100 and a target of 0.03 round to the same float, and 4 of 100 is above it.
//!
//! Recall, fnr, fpr, tnr and positive-rate are monotone along the cuts, so their conditions leave
//! one stretch of cuts, found by bisection; other rates are read at every cut of that stretch.
//! Where several cuts are equally good, the one with the largest recall - fpr is taken, then the
//! one with the largest threshold.

use std::ops::Range;

use super::cuts::ThresholdRange;
use super::error::list;
use super::{Condition, Cut, Cuts, MetricError};
use crate::goal::{Counts, Direction, Fraction, Rate, Relation};

/// Decisions on a sample, the thresholds that make them, and what they are worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperatingPoint {
    /// The objective's value.
    pub value: f64,
    /// How many distinct scores are predicted positive.
    pub cut: usize,
    /// A threshold in the middle of `range`.
    pub threshold: f32,
    /// All thresholds that make the same decisions.
    pub range: ThresholdRange,
    /// The counts behind every rate.
    pub counts: Counts,
}

impl OperatingPoint {
    /// A rate of these decisions, or `None` where it is undefined.
    #[must_use]
    pub fn rate(&self, rate: Rate) -> Option<f64> {
        rate.of(&self.counts)
    }
}

/// The best cut that satisfies every condition.
///
/// # Errors
/// If the sample lacks a class that a rate needs, no cut satisfies the conditions, or the
/// objective is undefined wherever they hold.
pub fn best(cuts: &Cuts, objective: Rate, conditions: &[Condition]) -> Result<OperatingPoint, MetricError> {
    let up = match objective.direction() {
        Direction::Up => true,
        Direction::Down => false,
        Direction::Neither => return Err(MetricError::NoDirection { rate: objective }),
    };
    cuts.require_for(objective)?;
    for condition in conditions {
        cuts.require_for(condition.rate)?;
    }
    let feasible = Feasible::new(cuts, conditions);
    let formula = Formula::new(objective);
    let cut = match trend(objective) {
        Some(trend) if feasible.others.is_empty() && !feasible.range.is_empty() => {
            Some(end_of(cuts, &formula, trend, up, feasible.range.clone()))
        }
        _ => sweep(cuts, &formula, up, &feasible),
    };
    match cut {
        Some(cut) => Ok(at(cuts, cut, objective, formula.of(&cuts.counts_at(cut)))?),
        None => Err(explain(cuts, objective, conditions)),
    }
}

fn at(cuts: &Cuts, cut: usize, objective: Rate, value: Option<f64>) -> Result<OperatingPoint, MetricError> {
    let value = value.ok_or_else(|| MetricError::Undefined {
        metric: objective.to_string(),
        reason: "its denominator is zero".to_owned(),
    })?;
    Ok(OperatingPoint {
        value,
        cut,
        threshold: cuts.threshold(cut),
        range: cuts.range(cut),
        counts: cuts.counts_at(cut),
    })
}

/// A rate whose fractions are looked up once rather than at every cut.
enum Formula {
    One(Fraction),
    Mean(Vec<Fraction>),
}

impl Formula {
    fn new(rate: Rate) -> Self {
        let fractions = rate.fractions();
        if let [fraction] = fractions[..] { Self::One(fraction) } else { Self::Mean(fractions) }
    }

    /// The same bits as [`Rate::of`].
    fn of(&self, counts: &Counts) -> Option<f64> {
        match self {
            Self::One(fraction) => fraction.of(counts),
            Self::Mean(fractions) => {
                let sum: Option<f64> = fractions.iter().map(|fraction| fraction.of(counts)).sum();
                sum.map(|sum| sum / fractions.len() as f64)
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Trend {
    Rising,
    Falling,
}

/// How a rate moves along the cuts, where it always moves the same way.
fn trend(rate: Rate) -> Option<Trend> {
    match rate {
        Rate::Recall | Rate::FalsePositiveRate | Rate::PositiveRate => Some(Trend::Rising),
        Rate::FalseNegativeRate | Rate::TrueNegativeRate => Some(Trend::Falling),
        _ => None,
    }
}

/// The cuts that satisfy some conditions: a stretch, less where the other conditions fail.
struct Feasible {
    range: Range<usize>,
    others: Vec<(Condition, Formula)>,
}

impl Feasible {
    fn new(cuts: &Cuts, conditions: &[Condition]) -> Self {
        let mut feasible = Self { range: 0..cuts.len(), others: Vec::new() };
        for condition in conditions {
            let formula = Formula::new(condition.rate);
            let Some(trend) = trend(condition.rate) else {
                feasible.others.push((*condition, formula));
                continue;
            };
            let holds =
                |cut: &Cut| formula.of(&cuts.counts_of(cut)).is_some_and(|value| condition.allows(value));
            let first = (trend == Trend::Rising) == (condition.side() == Relation::AtMost);
            let Range { start, end } = feasible.range;
            feasible.range = if first {
                start..cuts.partition_point(start..end, holds)
            } else {
                cuts.partition_point(start..end, |cut| !holds(cut))..end
            };
        }
        feasible
    }

    fn cuts<'a>(&'a self, cuts: &'a Cuts) -> impl Iterator<Item = (usize, Counts)> + 'a {
        cuts.walk(self.range.clone()).map(|cut| (cut.place, cuts.counts_of(&cut))).filter(|(_, counts)| {
            self.others
                .iter()
                .all(|(condition, formula)| formula.of(counts).is_some_and(|value| condition.allows(value)))
        })
    }
}

/// The best cut of a stretch for an objective that is monotone along it.
fn end_of(cuts: &Cuts, formula: &Formula, trend: Trend, up: bool, range: Range<usize>) -> usize {
    let loosest = (trend == Trend::Rising) == up;
    if loosest {
        // Recall or fnr, best where most is predicted positive: the strictest cut that does as
        // well has the fewest false positives.
        let last = range.end - 1;
        let goal = formula.of(&cuts.counts_at(last));
        cuts.partition_point(range, |cut| formula.of(&cuts.counts_of(cut)) != goal)
    } else {
        // Fpr or tnr, best where least is predicted positive: the loosest cut that does as well
        // has the most true positives.
        let goal = formula.of(&cuts.counts_at(range.start));
        let start = range.start;
        let last = cuts.partition_point(range, |cut| formula.of(&cuts.counts_of(cut)) == goal) - 1;
        let found = cuts.at(last).true_positives;
        cuts.partition_point(start..last, |cut| cut.true_positives < found)
    }
}

fn sweep(cuts: &Cuts, formula: &Formula, up: bool, feasible: &Feasible) -> Option<usize> {
    let mut best: Option<(f64, f64, usize)> = None;
    for (i, counts) in feasible.cuts(cuts) {
        let Some(value) = formula.of(&counts) else { continue };
        let value = if up { value } else { -value };
        if best.is_some_and(|(most, ..)| value < most) {
            continue;
        }
        let margin = counts.true_positives * counts.negatives - counts.false_positives * counts.positives;
        if best.is_none_or(|(most, widest, _)| value > most || margin > widest) {
            best = Some((value, margin, i));
        }
    }
    best.map(|(.., i)| i)
}

/// Why no cut was found: the first condition that fails after those before it.
fn explain(cuts: &Cuts, objective: Rate, conditions: &[Condition]) -> MetricError {
    let held = (1..=conditions.len()).find(|n| {
        let feasible = Feasible::new(cuts, &conditions[..*n]);
        feasible.cuts(cuts).next().is_none()
    });
    let Some(held) = held else {
        let place = if conditions.is_empty() { String::new() } else { format!(" with {}", list(conditions)) };
        return MetricError::Undefined {
            metric: objective.to_string(),
            reason: format!("its denominator is zero at every threshold{place}"),
        };
    };
    let (condition, given) = (conditions[held - 1], &conditions[..held - 1]);
    let formula = Formula::new(condition.rate);
    let up = condition.side() == Relation::AtLeast;
    let nearest = sweep(cuts, &formula, up, &Feasible::new(cuts, given)).map(|i| cuts.counts_at(i));
    MetricError::Infeasible {
        condition,
        best: nearest.and_then(|counts| formula.of(&counts)),
        recall: nearest.and_then(|counts| Rate::Recall.of(&counts)),
        given: given.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::data::random_case;
    use crate::sample::Sample;

    /// Every cut, every rate, no cleverness.
    fn oracle(cuts: &Cuts, objective: Rate, conditions: &[Condition]) -> Option<(f64, usize)> {
        let sign = if objective.direction() == Direction::Up { 1.0 } else { -1.0 };
        let candidates = (0..cuts.len()).filter_map(|i| {
            let counts = cuts.counts_at(i);
            let margin = counts.true_positives / counts.positives - counts.false_positives / counts.negatives;
            let value = objective.of(&counts)?;
            conditions.iter().all(|c| c.holds(&counts)).then_some((sign * value, margin, i))
        });
        let best = candidates.reduce(|a, b| {
            // Margins here are quotients, so equal ones may differ in the last bits.
            if b.0 > a.0 || (b.0 == a.0 && b.1 > a.1 + 1e-12) { b } else { a }
        })?;
        Some((sign * best.0, best.2))
    }

    #[test]
    fn the_best_cut_is_the_one_an_exhaustive_search_finds() {
        let relations = [Relation::AtMost, Relation::AtLeast, Relation::Equal];
        let (mut found, mut refused) = (0, 0);
        for seed in 0..60 {
            let (sample, scores) = random_case(seed, 40);
            let cuts = Cuts::new(&sample, &scores).unwrap();
            let target = [0.05, 0.3, 0.5, 0.75, 0.9][(seed % 5) as usize];
            for objective in Rate::ALL.into_iter().filter(|rate| *rate != Rate::PositiveRate) {
                for (n, rate) in Rate::ALL.into_iter().enumerate() {
                    let relation = relations[(seed as usize + n) % 3];
                    let first = Condition { rate, relation, target };
                    let second = Condition {
                        rate: Rate::ALL[(n + seed as usize) % 13],
                        relation: Relation::Equal,
                        target: 0.5,
                    };
                    for conditions in [&[][..], &[first], &[first, second]] {
                        let expected = oracle(&cuts, objective, conditions);
                        let got = best(&cuts, objective, conditions);
                        match (&got, expected) {
                            (Ok(point), Some((value, cut))) => {
                                assert_eq!(
                                    (point.value, point.cut),
                                    (value, cut),
                                    "{objective:?} {conditions:?}"
                                );
                                found += 1;
                            }
                            (Err(_), None) => refused += 1,
                            _ => panic!("{objective:?} {conditions:?}: {got:?}, expected {expected:?}"),
                        }
                    }
                }
            }
        }
        assert!(found > 1000 && refused > 1000, "{found} found, {refused} refused");
    }

    fn small() -> Cuts {
        //              0.9   0.8    0.7   0.6    0.5   0.4
        let labels = vec![false, true, false, true, false, false];
        Cuts::new(&Sample::new(labels).unwrap(), &[0.9, 0.8, 0.7, 0.6, 0.5, 0.4]).unwrap()
    }

    #[test]
    fn a_point_carries_its_thresholds_and_its_other_rates() {
        let condition = Condition { rate: Rate::FalsePositiveRate, relation: Relation::AtMost, target: 0.25 };
        let point = best(&small(), Rate::Recall, &[condition]).unwrap();
        assert_eq!((point.value, point.cut), (0.5, 2));
        assert_eq!(point.range, ThresholdRange { above: 0.7, up_to: 0.8 });
        assert_eq!(point.threshold, 0.75);
        assert_eq!(point.rate(Rate::Precision), Some(0.5));
        assert_eq!(point.rate(Rate::FalsePositiveRate), Some(0.25));
    }

    #[test]
    fn out_of_reach_names_the_condition_and_the_best_there_is() {
        let condition = Condition { rate: Rate::Precision, relation: Relation::AtLeast, target: 0.9 };
        let error = best(&small(), Rate::Recall, &[condition]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "precision>=0.9 is out of reach: the highest attainable is 0.50 at recall 1.00"
        );
        let fpr = Condition { rate: Rate::FalsePositiveRate, relation: Relation::AtMost, target: 0.25 };
        let recall = Condition { rate: Rate::Recall, relation: Relation::AtLeast, target: 0.9 };
        let error = best(&small(), Rate::Precision, &[fpr, recall]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "recall>=0.9 is out of reach with fpr<=25%: the highest attainable is 0.50"
        );
    }

    #[test]
    fn an_objective_without_a_denominator_is_undefined() {
        let condition = Condition { rate: Rate::FalsePositiveRate, relation: Relation::AtMost, target: 0.1 };
        let error = best(&small(), Rate::Precision, &[condition]).unwrap_err();
        assert!(matches!(error, MetricError::Undefined { .. }), "{error}");
        let error = best(&small(), Rate::PositiveRate, &[]).unwrap_err();
        assert!(matches!(error, MetricError::NoDirection { .. }));
    }

    #[test]
    fn a_rate_without_its_class_is_refused() {
        let sample = Sample::new(vec![true; 3]).unwrap();
        let cuts = Cuts::new(&sample, &[1.0, 2.0, 3.0]).unwrap();
        let error = best(&cuts, Rate::FalsePositiveRate, &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "labels hold no negatives (0 of 3): fpr is undefined; use a larger or stratified sample"
        );
    }
}
