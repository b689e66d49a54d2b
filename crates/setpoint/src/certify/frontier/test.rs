//! Every kind of condition at decisions that are given.

use super::bet;
use crate::certify::certificate::Proof;
use crate::certify::claim::TOP;
use crate::certify::error::CertifyError;
use crate::goal::{Constraint, Counts, Fraction, Goal, Rate, Relation};
use crate::metric::Condition;
use crate::metric::interval::{at_least, at_most, lower_tail, upper_tail};
use crate::sample::Sample;

/// P-values below this are told as this.
const LEAST: f64 = 1e-9;

/// Rows to be decided.
#[derive(Clone, Copy)]
pub(in crate::certify) struct Decided<'a> {
    sample: &'a Sample,
    scores: &'a [f32],
    abstains: bool,
    by_group: bool,
    /// Whether weights are one over chances of inclusion.
    sampled: bool,
    /// Rows of a slice that an entity may have, at least.
    largest: u64,
}

/// The largest p-value, and what each condition came to.
pub(super) struct Tested {
    pub(super) p_value: f64,
    pub(super) conditions: Vec<One>,
}

/// One condition, in one group where it is on groups.
#[derive(Clone, Debug)]
pub(super) struct One {
    pub(super) condition: String,
    pub(super) group: Option<String>,
    pub(super) target: f64,
    pub(super) examples: u64,
    pub(super) counted: u64,
    pub(super) observed: f64,
    pub(super) p_value: f64,
    pub(super) proof: Proof,
    /// The most rows of the slice that an entity is assumed to have, where entities are betted on.
    pub(super) largest: Option<u64>,
    /// Whether it holds as observed.
    pub(super) holds: bool,
}

/// Decisions: for each row, what it adds to the counts.
pub(in crate::certify) struct At<'a> {
    rows: Decided<'a>,
    counts: Vec<Counts>,
}

impl<'a> Decided<'a> {
    pub(in crate::certify) fn new(
        goal: &Goal,
        sample: &'a Sample,
        scores: &'a [f32],
        shared_threshold: bool,
    ) -> Result<Self, CertifyError> {
        sample.check_scores(scores)?;
        if let Some(column) = goal.column()
            && sample.groups().is_none_or(|groups| groups.column() != column)
        {
            return Err(CertifyError::NoGroups { column: column.to_owned() });
        }
        let by_group = goal.column().is_some() && !shared_threshold;
        Ok(Self { sample, scores, abstains: goal.abstains(), by_group, sampled: false, largest: 0 })
    }

    pub(super) fn sampled(self, sampled: bool) -> Self {
        Self { sampled, ..self }
    }

    pub(super) fn with_largest(self, largest: u64) -> Self {
        Self { largest, ..self }
    }

    /// The decisions of thresholds: upper and lower, one for each group, or one.
    pub(in crate::certify) fn at(&self, thresholds: &[f32]) -> At<'a> {
        let codes = self.sample.groups().filter(|_| self.by_group).map(|groups| groups.codes());
        let decide = |row: usize| {
            let score = self.scores[row];
            let upper = codes.map_or(0, |codes| codes[row] as usize);
            let lower = if self.abstains { 1 } else { upper };
            match (thresholds.get(upper), thresholds.get(lower)) {
                (Some(upper), _) if score >= *upper => Some(true),
                (_, Some(lower)) if score < *lower => Some(false),
                _ => None,
            }
        };
        let counts = (0..self.scores.len()).map(|row| {
            let label = self.sample.labels()[row];
            let one = |is: bool| if is { 1.0 } else { 0.0 };
            let mut counts =
                decide(row).map_or_else(Counts::default, |decision| Counts::decision(label, decision));
            (counts.positives, counts.negatives) = (one(label), one(!label));
            if let (Some(stakes), Some(decision)) = (self.sample.stakes(), decide(row)) {
                counts.money = stakes.pays()[row][usize::from(decision)];
            }
            counts
        });
        At { rows: *self, counts: counts.collect() }
    }
}

/// The rows of a slice: whether each counts, and what it stands for.
type Slice = Vec<f64>;

impl At<'_> {
    /// What each row pays.
    pub(in crate::certify) fn paid(&self) -> Vec<f64> {
        self.counts.iter().map(|counts| counts.money).collect()
    }

    /// The largest p-value for a condition being past its target.
    pub(super) fn worst(&self, constraints: &[Constraint]) -> Result<Tested, CertifyError> {
        let mut tested = Tested { p_value: 0.0, conditions: Vec::new() };
        for constraint in constraints {
            let ones = self.test(constraint, false)?;
            tested.p_value = ones.iter().map(|one| one.p_value).fold(tested.p_value, f64::max);
            tested.conditions.extend(ones);
        }
        Ok(tested)
    }

    /// P-values for a condition being past its target, or within it where a violation is to be shown.
    pub(super) fn test(&self, constraint: &Constraint, violation: bool) -> Result<Vec<One>, CertifyError> {
        match constraint {
            Constraint::Rate { rate, relation, target } => {
                let condition = Condition { rate: *rate, relation: *relation, target: *target };
                Ok(vec![self.rate(constraint, &condition, None, violation)?])
            }
            Constraint::PerGroup { rate, relation, target, .. } => {
                let condition = Condition { rate: *rate, relation: *relation, target: *target };
                let groups = 0..self.groups().len();
                groups.map(|group| self.rate(constraint, &condition, Some(group), violation)).collect()
            }
            Constraint::Gap { rate, target, .. } | Constraint::Ratio { rate, target, .. } => {
                let gap = matches!(constraint, Constraint::Gap { .. });
                Ok(vec![self.compared(constraint, *rate, *target, gap, violation)?])
            }
            Constraint::Top(_) => {
                Err(CertifyError::CannotCertify { condition: constraint.to_string(), reason: TOP })
            }
        }
    }

    fn groups(&self) -> &[String] {
        self.rows.sample.groups().map_or(&[], |groups| groups.names())
    }

    fn rows_of(&self, group: Option<usize>) -> Vec<usize> {
        match (self.rows.sample.groups(), group) {
            (Some(groups), Some(group)) => groups.rows(group).iter().map(|row| *row as usize).collect(),
            _ => (0..self.counts.len()).collect(),
        }
    }

    fn fractions(&self, rate: Rate) -> Vec<Fraction> {
        if self.rows.abstains { rate.fractions_of_decided() } else { rate.fractions() }
    }

    /// A rate within a group, or over all rows.
    fn rate(
        &self,
        constraint: &Constraint,
        condition: &Condition,
        group: Option<usize>,
        violation: bool,
    ) -> Result<One, CertifyError> {
        let rows = self.rows_of(group);
        let mut all = Counts::default();
        rows.iter().for_each(|row| all.add(&self.counts[*row], self.rows.sample.weight(*row)));
        let fractions = self.fractions(condition.rate);
        let known: Option<f64> = fractions.iter().map(|fraction| fraction.of(&all)).sum();
        let observed = known.map(|sum| sum / fractions.len() as f64);
        let at_most = condition.side() == Relation::AtMost;
        let sign = if at_most == violation { 1.0 } else { -1.0 };
        let mut one = One {
            condition: constraint.to_string(),
            group: group.map(|group| self.groups()[group].clone()),
            target: condition.target,
            examples: rows.len() as u64,
            counted: 0,
            observed: observed.unwrap_or(f64::NAN),
            p_value: 1.0,
            proof: if fractions.len() > 1 { Proof::Bounds } else { Proof::Bets },
            largest: None,
            holds: observed.is_some_and(|observed| condition.allows(observed)),
        };
        let [fraction] = fractions[..] else {
            // Balanced accuracy: the rates of both classes.
            let [positives, negatives] = [&fractions[0], &fractions[1]].map(|f| self.slice(f, &rows));
            let twice = 2.0 * condition.target;
            one.p_value =
                self.two(&positives, &negatives, |[low, high], [other_low, other_high]| match sign > 0.0 {
                    true => low + other_low >= twice,
                    false => high + other_high <= twice,
                })?;
            return Ok(one);
        };
        if !matches!(condition.rate, Rate::FBeta(_)) && !self.rows.sampled {
            let slice = self.slice(&fraction, &rows);
            let (examples, counted) = (slice.len() as u64, slice.iter().sum::<f64>() as u64);
            (one.examples, one.counted) = (examples, counted);
            if self.rows.sample.together().is_none() {
                one.proof = Proof::Tests;
                if examples > 0 {
                    one.p_value = match at_most != violation {
                        true => lower_tail(examples, counted, condition.target),
                        false => upper_tail(examples, counted, condition.target),
                    };
                }
                return Ok(one);
            }
        }
        // X above 0 is what is to be shown.
        let mut form = Counts::default();
        form.add(&fraction.numerator, sign);
        form.add(&fraction.denominator, -sign * condition.target);
        let decisions = [(false, false), (false, true), (true, false), (true, true)];
        let lost = |label: bool, decision: bool| -form.dot(&Counts::decision(label, decision));
        let worst = decisions.iter().map(|(label, decision)| lost(*label, *decision)).fold(0.0, f64::max);
        let undecided = [true, false].map(|label| {
            let (positives, negatives) = if label { (1.0, 0.0) } else { (0.0, 1.0) };
            -form.dot(&Counts { positives, negatives, ..Counts::default() })
        });
        let worst = undecided.into_iter().fold(worst, f64::max);
        let weight = |row: usize| if self.rows.sampled { self.rows.sample.weight(row) } else { 1.0 };
        let values: Vec<f64> = rows.iter().map(|row| weight(*row) * form.dot(&self.counts[*row])).collect();
        let inside = |row: &usize| fraction.denominator.dot(&self.counts[*row]) > 0.0;
        one.examples = rows.iter().filter(|row| inside(row)).count() as u64;
        one.p_value = if worst == 0.0 || one.examples == 0 {
            1.0
        } else if self.rows.sampled {
            let weights = rows.iter().map(|row| weight(*row));
            let least = weights.clone().fold(f64::INFINITY, f64::min);
            // A row may be lost if it would be under one of the labels, decided as it is.
            let risky = |row: &usize| {
                let Counts {
                    true_positives: tp,
                    false_positives: fp,
                    false_negatives: r#fn,
                    true_negatives: tn,
                    ..
                } = self.counts[*row];
                match (tp + fp > 0.0, r#fn + tn > 0.0) {
                    (true, _) => lost(true, true).max(lost(false, true)) > 0.0,
                    (_, true) => lost(true, false).max(lost(false, false)) > 0.0,
                    _ => undecided.iter().any(|lost| *lost > 0.0),
                }
            };
            let at_risk = rows.iter().filter(|row| risky(row)).map(|row| weight(*row)).fold(0.0, f64::max);
            bet::p_value_sampled(&values, worst, least, at_risk)
        } else if let Some(entities) = self.rows.sample.together() {
            // The draws are entities, each with what its rows come to; others than these count for nothing.
            let (mut sums, mut sizes) = (vec![0.0; entities.len()], vec![0_u64; entities.len()]);
            for (row, value) in rows.iter().zip(&values) {
                let entity = entities.of()[*row] as usize;
                sums[entity] += value;
                sizes[entity] += u64::from(inside(row));
            }
            let largest = sizes.into_iter().fold(self.rows.largest, u64::max);
            one.largest = Some(largest);
            bet::p_value(&sums, worst * largest as f64)
        } else {
            bet::p_value(&values, worst)
        };
        Ok(one)
    }

    /// Whether each row of the slice that a fraction is of counts.
    fn slice(&self, fraction: &Fraction, rows: &[usize]) -> Slice {
        let inside = rows.iter().filter(|row| fraction.denominator.dot(&self.counts[**row]) > 0.0);
        inside.map(|row| fraction.numerator.dot(&self.counts[*row])).collect()
    }

    /// The least delta at which exact bounds on the rates of two slices, each at half of it, show something.
    fn two(
        &self,
        first: &[f64],
        second: &[f64],
        shown: impl Fn([f64; 2], [f64; 2]) -> bool,
    ) -> Result<f64, CertifyError> {
        if self.rows.sampled || self.rows.sample.together().is_some() {
            return Err(CertifyError::CannotCertify {
                condition: "a comparison of slices".to_owned(),
                reason: "rows that stand for unequal numbers, or come in entities, have no test for it; hold rates instead",
            });
        }
        if first.is_empty() || second.is_empty() {
            return Ok(1.0);
        }
        let bounds = |slice: &[f64], delta: f64| -> Result<[f64; 2], CertifyError> {
            let (counted, examples) = (slice.iter().sum::<f64>() as u64, slice.len() as u64);
            let confidence = 1.0 - delta / 2.0;
            Ok([at_least(counted, examples, confidence)?, at_most(counted, examples, confidence)?])
        };
        let shown = |delta: f64| Ok::<_, CertifyError>(shown(bounds(first, delta)?, bounds(second, delta)?));
        let (mut hidden, mut seen) = (LEAST, 1.0 - 1e-9);
        if !shown(seen)? {
            return Ok(1.0);
        }
        if shown(hidden)? {
            return Ok(hidden);
        }
        // Bounds part as delta falls: by its logarithm, to a thousandth.
        while seen / hidden > 1.001 {
            let middle = (hidden * seen).sqrt();
            if shown(middle)? { seen = middle } else { hidden = middle }
        }
        Ok(seen)
    }

    /// A gap or ratio, over all ordered pairs of groups.
    fn compared(
        &self,
        constraint: &Constraint,
        rate: Rate,
        target: f64,
        gap: bool,
        violation: bool,
    ) -> Result<One, CertifyError> {
        let fractions = self.fractions(rate);
        let [fraction] = &fractions[..] else { return Err(no_share(constraint)) };
        if matches!(rate, Rate::FBeta(_)) {
            return Err(no_share(constraint));
        }
        let slices: Vec<Slice> =
            (0..self.groups().len()).map(|group| self.slice(fraction, &self.rows_of(Some(group)))).collect();
        let mean = |slice: &Slice| slice.iter().sum::<f64>() / slice.len() as f64;
        let rates: Vec<f64> = slices.iter().map(mean).collect();
        let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let high = rates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let observed = if gap { high - low } else { low / high };
        let holds = if gap { observed <= target } else { low >= target * high };
        let mut p_values = Vec::new();
        for a in 0..slices.len() {
            for b in (0..slices.len()).filter(|b| *b != a) {
                p_values.push(self.two(
                    &slices[a],
                    &slices[b],
                    |[low, high], [other_low, other_high]| match (gap, violation) {
                        (true, false) => high - other_low <= target,
                        (true, true) => low - other_high > target,
                        (false, false) => low >= target * other_high,
                        (false, true) => high < target * other_low,
                    },
                )?);
            }
        }
        let p_value = match violation {
            // Any pair past its target is a violation, and all of them share the level.
            true => p_values.iter().copied().fold(1.0, f64::min) * p_values.len() as f64,
            false => p_values.iter().copied().fold(0.0, f64::max),
        };
        Ok(One {
            condition: constraint.to_string(),
            group: None,
            target,
            examples: slices.iter().map(|slice| slice.len() as u64).sum(),
            counted: 0,
            observed,
            p_value: if p_values.is_empty() { 1.0 } else { p_value.min(1.0) },
            proof: Proof::Bounds,
            largest: None,
            holds,
        })
    }
}

fn no_share(constraint: &Constraint) -> CertifyError {
    CertifyError::CannotCertify {
        condition: constraint.to_string(),
        reason: "only shares of rows can be compared between groups; compare recall, fpr, precision or accuracy",
    }
}
