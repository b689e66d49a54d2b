//! Counted decisions among several classes, and every rate that follows from them.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{ClassError, Classes};
use crate::algebra::dot;
use crate::goal::{ClassCondition, ClassGoal, ClassObjective, ClassRate, Counts, Over, Rate, Relation};
use crate::metric::MetricError;
use crate::metric::interval::{self, Interval};

/// Rows counted as one unit, so that sums do not depend on the number of threads.
const CHUNK: usize = 8_192;
/// How far a coverage may be from the share it is to equal, beside one row: on a sample it is rarely met.
const EQUAL: f64 = 0.001;
/// Draws of the bootstrap.
const DRAWS: usize = 200;

/// Weight of the rows of each true class (first index) decided as each class.
#[derive(Clone, Debug, PartialEq)]
pub struct Confusion {
    classes: usize,
    matrix: Vec<f64>,
    weighted: bool,
    /// The largest weight of a row.
    row: f64,
}

/// The class that a row is decided as: the largest score minus shift, the first among equals.
#[must_use]
pub fn decide(scores: &[f32], shifts: &[f64]) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (class, (score, shift)) in scores.iter().zip(shifts).enumerate() {
        let margin = f64::from(*score) - shift;
        if margin > best.1 {
            best = (class, margin);
        }
    }
    best.0
}

impl Confusion {
    /// The decisions of these scores at these shifts.
    ///
    /// # Errors
    /// If there is not one finite score for each class of each row.
    pub fn at(classes: &Classes<'_>, scores: &[f32], shifts: &[f64]) -> Result<Self, ClassError> {
        classes.check_scores(scores)?;
        let count = classes.count();
        let partial = |(chunk, scores): (usize, &[f32])| {
            let mut matrix = vec![0.0; count * count];
            for (row, scores) in (chunk * CHUNK..).zip(scores.chunks_exact(count)) {
                let y = classes.codes[row] as usize;
                matrix[y * count + decide(scores, shifts)] += classes.weight(row);
            }
            matrix
        };
        let partials: Vec<Vec<f64>> = scores.par_chunks(CHUNK * count).enumerate().map(partial).collect();
        let mut found = Self::none(classes);
        partials
            .iter()
            .for_each(|partial| found.matrix.iter_mut().zip(partial).for_each(|(sum, more)| *sum += more));
        Ok(found)
    }

    fn none(classes: &Classes<'_>) -> Self {
        Self {
            classes: classes.count(),
            matrix: vec![0.0; classes.count().pow(2)],
            weighted: classes.weights.is_some(),
            row: classes
                .weights
                .map_or(1.0, |weights| f64::from(weights.iter().copied().fold(0.0, f32::max))),
        }
    }

    /// Weight of the rows of class `y` that are decided as `class`.
    #[must_use]
    pub fn of(&self, y: usize, class: usize) -> f64 {
        self.matrix[y * self.classes + class]
    }

    /// The counts of deciding for a class against all others.
    #[must_use]
    pub fn counts(&self, class: usize) -> Counts {
        let all: f64 = self.matrix.iter().sum();
        let positives: f64 = self.matrix[class * self.classes..][..self.classes].iter().sum();
        let decided: f64 = self.matrix.iter().skip(class).step_by(self.classes).sum();
        one_against_rest(self.of(class, class), decided, positives, all)
    }

    /// A rate; `None` where it is undefined.
    #[must_use]
    pub fn rate(&self, rate: ClassRate) -> Option<f64> {
        rate.of(|class| self.counts(class), self.classes)
    }

    /// The mean of a rate over the classes, each counting by its rows.
    #[must_use]
    pub fn weighted(&self, rate: Rate) -> Option<f64> {
        let mut sums = (0.0, 0.0);
        for class in 0..self.classes {
            let counts = self.counts(class);
            if counts.positives > 0.0 {
                sums.0 += counts.positives * rate.of(&counts)?;
                sums.1 += counts.positives;
            }
        }
        Some(sums.0 / sums.1)
    }

    /// The exact interval of a rate of a class, at shifts that were fixed without these rows.
    ///
    /// # Errors
    /// If rows have weights, the rate is no share of rows (f-beta), or there are none that it is a share of.
    pub fn interval(&self, rate: Rate, class: usize, confidence: f64) -> Result<Interval, MetricError> {
        if self.weighted {
            return Err(MetricError::Weighted { method: "a binomial interval" });
        }
        let share = interval::share(rate, &self.counts(class)).ok_or(MetricError::NotAProportion { rate })?;
        interval::clopper_pearson(share.0 as u64, share.1 as u64, confidence)
    }

    /// The exact interval of the accuracy, in the same way.
    ///
    /// # Errors
    /// If rows have weights.
    pub fn accuracy_interval(&self, confidence: f64) -> Result<Interval, MetricError> {
        if self.weighted {
            return Err(MetricError::Weighted { method: "a binomial interval" });
        }
        let right: f64 = (0..self.classes).map(|class| self.of(class, class)).sum();
        interval::clopper_pearson(right as u64, self.matrix.iter().sum::<f64>() as u64, confidence)
    }

    /// The goal's objective; `None` where it is undefined.
    #[must_use]
    pub fn objective(&self, goal: &ClassGoal) -> Option<f64> {
        match &goal.objective {
            ClassObjective::Rate(rate) => self.rate(*rate),
            ClassObjective::Cost { table, .. } => {
                Some(dot(table, &self.matrix) / self.matrix.iter().sum::<f64>())
            }
        }
    }

    /// By how much a condition is missed; 0 where it holds. A rate that is undefined misses by all.
    #[must_use]
    pub fn missed(&self, condition: &ClassCondition) -> f64 {
        let all: f64 = self.matrix.iter().sum();
        let classes = match condition.rate.over {
            Over::Class(class) => class..class + 1,
            _ => 0..self.classes,
        };
        let of = |class: usize| {
            let counts = self.counts(class);
            missed(condition, condition.rate.rate.of(&counts), counts.positives / all, self.row / all)
        };
        classes.map(of).fold(0.0, f64::max)
    }

    /// The goal's value at these decisions.
    ///
    /// # Errors
    /// If a condition is missed, or the objective undefined.
    pub fn value(&self, goal: &ClassGoal) -> Result<f64, ClassError> {
        let missed = goal.conditions.iter().map(|condition| (self.missed(condition), condition));
        if let Some((violation, condition)) =
            missed.filter(|(missed, _)| *missed > 0.0).max_by(|a, b| a.0.total_cmp(&b.0))
        {
            return Err(ClassError::Infeasible { condition: goal.condition(condition), violation });
        }
        self.objective(goal).ok_or_else(|| ClassError::Undefined { quantity: goal.objective() })
    }
}

/// Counts from the rows of a class decided as it, all decided as it, all of the class, and all.
pub(super) fn one_against_rest(right: f64, decided: f64, positives: f64, all: f64) -> Counts {
    let false_positives = decided - right;
    let negatives = all - positives;
    Counts {
        money: 0.0,
        true_positives: right,
        false_negatives: positives - right,
        false_positives,
        true_negatives: negatives - false_positives,
        positives,
        negatives,
    }
}

/// By how much a condition on a class is missed by a rate, given the shares of the class and of one row.
pub(super) fn missed(condition: &ClassCondition, value: Option<f64>, prior: f64, row: f64) -> f64 {
    let Some(value) = value else { return 1.0 };
    let target = condition.target.of(prior);
    let past = match (condition.relation, condition.rate.rate) {
        (Relation::Equal, Rate::PositiveRate) => (value - target).abs() - EQUAL - row,
        _ if condition.side() == Relation::AtMost => value - target,
        _ => target - value,
    };
    // A target such as 0.9 is met by 9 of 10.
    if past <= 1e-12 { 0.0 } else { past }
}

/// Standard error of the difference between the objectives of two sets of decisions, by drawing rows again.
///
/// # Errors
/// If the scores do not fit.
pub fn standard_error(
    goal: &ClassGoal,
    classes: &Classes<'_>,
    first: (&[f32], &[f64]),
    second: (&[f32], &[f64]),
    seed: u64,
) -> Result<Option<f64>, ClassError> {
    let count = classes.count();
    let decisions = |(scores, shifts): (&[f32], &[f64])| -> Result<Vec<usize>, ClassError> {
        classes.check_scores(scores)?;
        Ok(scores.par_chunks_exact(count).map(|scores| decide(scores, shifts)).collect())
    };
    let (first, second) = (decisions(first)?, decisions(second)?);
    let rows = classes.codes.len();
    let draw = |draw: usize| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_add(draw as u64));
        let (mut a, mut b) = (Confusion::none(classes), Confusion::none(classes));
        for _ in 0..rows {
            let row = rng.random_range(0..rows);
            let (y, weight) = (classes.codes[row] as usize, classes.weight(row));
            a.matrix[y * count + first[row]] += weight;
            b.matrix[y * count + second[row]] += weight;
        }
        Some(a.objective(goal)? - b.objective(goal)?)
    };
    let differences: Vec<f64> =
        (0..DRAWS).into_par_iter().map(draw).collect::<Vec<_>>().into_iter().flatten().collect();
    let many = differences.len() as f64;
    if many < 2.0 {
        return Ok(None);
    }
    let mean = differences.iter().sum::<f64>() / many;
    let square: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
    Ok(Some((square / (many - 1.0)).sqrt()))
}
