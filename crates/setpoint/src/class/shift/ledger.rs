//! Counts of decisions that change row by row, and what they are worth.

use crate::class::Classes;
use crate::class::confusion::{missed, one_against_rest};
use crate::goal::{ClassGoal, ClassObjective, Direction, Fraction, Over, Rate};

/// What decisions are worth: conditions first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Merit {
    missed: f64,
    worth: f64,
}

impl Merit {
    /// Whether the conditions are met.
    pub(super) fn meets(&self) -> bool {
        self.missed <= 1e-12
    }

    pub(super) fn better_than(&self, other: &Self) -> bool {
        self.missed < other.missed - 1e-12
            || (self.missed <= other.missed + 1e-12 && self.worth > other.worth + 1e-12)
    }
}

/// Decisions of rows, counted.
#[derive(Clone)]
pub(super) struct Decided {
    right: Vec<f64>,
    pub(super) decided: Vec<f64>,
    cost: f64,
}

impl Decided {
    pub(super) fn none(classes: usize) -> Self {
        Self { right: vec![0.0; classes], decided: vec![0.0; classes], cost: 0.0 }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.right.iter_mut().zip(&other.right).for_each(|(sum, more)| *sum += more);
        self.decided.iter_mut().zip(&other.decided).for_each(|(sum, more)| *sum += more);
        self.cost += other.cost;
    }

    pub(super) fn add_row(&mut self, goal: &ClassGoal, y: usize, class: usize, weight: f64) {
        self.decided[class] += weight;
        if class == y {
            self.right[class] += weight;
        }
        if let ClassObjective::Cost { table, .. } = &goal.objective {
            self.cost += weight * table[y * self.right.len() + class];
        }
    }
}

/// Counts of decisions and what they come to, kept up as rows change their class.
pub(super) struct Ledger<'a> {
    goal: &'a ClassGoal,
    /// What the objective and the conditions are of a class.
    fraction: Option<Fraction>,
    held: Vec<Option<Fraction>>,
    totals: &'a [f64],
    total: f64,
    row: f64,
    decisions: Decided,
    /// The objective's rate and the miss of each class.
    terms: Vec<f64>,
    missed: Vec<f64>,
    term_sum: f64,
    missed_sum: f64,
    missing: usize,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(goal: &'a ClassGoal, classes: &'a Classes<'_>) -> Self {
        let count = classes.count();
        let most =
            classes.weights.map_or(1.0, |weights| f64::from(weights.iter().copied().fold(0.0, f32::max)));
        let fraction = |rate: Rate| rate.fractions().pop();
        Self {
            goal,
            fraction: match &goal.objective {
                ClassObjective::Rate(rate) => fraction(rate.rate),
                ClassObjective::Cost { .. } => None,
            },
            held: goal.conditions.iter().map(|condition| fraction(condition.rate.rate)).collect(),
            totals: &classes.totals,
            total: classes.total,
            row: most / classes.total,
            decisions: Decided::none(count),
            terms: vec![0.0; count],
            missed: vec![0.0; count],
            term_sum: 0.0,
            missed_sum: 0.0,
            missing: 0,
        }
    }

    /// Forgets all rows but those that are fixed.
    pub(super) fn begin(&mut self, fixed: Option<&Decided>) {
        self.decisions = fixed.cloned().unwrap_or_else(|| Decided::none(self.totals.len()));
    }

    /// Brings all classes up to date, and the sums over them.
    pub(super) fn update_all(&mut self) {
        (0..self.totals.len()).for_each(|class| self.update(class));
        self.term_sum = self.terms.iter().sum();
        self.missed_sum = self.missed.iter().sum();
    }

    pub(super) fn add_row(&mut self, y: usize, class: usize, weight: f64) {
        self.decisions.add_row(self.goal, y, class, weight);
    }

    pub(super) fn move_row(&mut self, y: usize, from: usize, to: usize, weight: f64) {
        self.add_row(y, from, -weight);
        self.add_row(y, to, weight);
    }

    /// Brings what a class comes to up to date with its counts.
    pub(super) fn update(&mut self, class: usize) {
        let Decided { right, decided, .. } = &self.decisions;
        let counts = one_against_rest(right[class], decided[class], self.totals[class], self.total);
        if let ClassObjective::Rate(rate) = &self.goal.objective {
            // Rates that are undefined count as the worst.
            let worst = if rate.rate.direction() == Direction::Up { 0.0 } else { 1.0 };
            let term = match rate.over {
                Over::All => counts.true_positives / self.total,
                Over::Class(of) if of != class => 0.0,
                _ => self.fraction.and_then(|fraction| fraction.of(&counts)).unwrap_or(worst),
            };
            self.term_sum += term - self.terms[class];
            self.terms[class] = term;
        }
        if self.goal.conditions.is_empty() {
            return;
        }
        let prior = self.totals[class] / self.total;
        let mut found = 0.0;
        for (condition, held) in self.goal.conditions.iter().zip(&self.held) {
            if matches!(condition.rate.over, Over::Class(of) if of != class) {
                continue;
            }
            let value = held.and_then(|held| held.of(&counts));
            found += missed(condition, value, prior, self.row);
        }
        self.missing = self.missing + usize::from(found > 0.0) - usize::from(self.missed[class] > 0.0);
        self.missed_sum += found - self.missed[class];
        self.missed[class] = found;
    }

    pub(super) fn merit(&self) -> Merit {
        let missed = if self.missing == 0 { 0.0 } else { self.missed_sum };
        let worth = match &self.goal.objective {
            ClassObjective::Cost { .. } => -self.decisions.cost / self.total,
            ClassObjective::Rate(rate) => {
                let up = rate.rate.direction() == Direction::Up;
                let value = match rate.over {
                    Over::All if !up => 1.0 - self.term_sum,
                    Over::All | Over::Class(_) => self.term_sum,
                    Over::Worst if up => self.terms.iter().copied().fold(f64::INFINITY, f64::min),
                    Over::Worst => self.terms.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    Over::Each | Over::Mean => self.term_sum / self.terms.len() as f64,
                };
                if up { value } else { -value }
            }
        };
        Merit { missed, worth }
    }
}
