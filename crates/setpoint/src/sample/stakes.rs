//! What decisions pay: an amount for each row and decision.
//!
//! With amounts a⁺ and a⁻ for the two decisions about a row, and the better of them for each,
//!
//! ```text
//! paid = Σ w max(a⁺, a⁻) - Σ w |a⁺ - a⁻| [decided for the worse]
//! ```
//!
//! so money is an error of decisions: its labels say which decision is the better one, its weights how much hangs on
//! it. Counts of such rows are sums like all others, and smooth counts serve money as they serve rates.

use super::{ClassTotals, Groups, totals_of};

/// Amounts, and the error of decisions that they come down to.
#[derive(Clone, Debug)]
pub struct Stakes {
    profit: bool,
    pub(super) pays: Vec<[f64; 2]>,
    better: Vec<bool>,
    weights: Vec<f32>,
    /// Of all rows, then of each group.
    totals: Vec<ClassTotals>,
    best: f64,
}

impl Stakes {
    pub(super) fn new(profit: bool, pays: Vec<[f64; 2]>) -> Self {
        let (better, weights, totals) = (Vec::new(), Vec::new(), Vec::new());
        Self { profit, pays, better, weights, totals, best: 0.0 }
    }

    /// The amounts of stakes of the same kind, to be filled.
    pub(super) fn like<'s>(slot: &'s mut Option<Self>, other: &Self) -> &'s mut Vec<[f64; 2]> {
        &mut slot.get_or_insert_with(|| Self::new(other.profit, Vec::new())).pays
    }

    /// Brings all else up to date with the amounts, the weights and the groups.
    pub(super) fn weigh(&mut self, weights: Option<&[f32]>, groups: Option<&Groups>) {
        let weight = |row: usize| weights.map_or(1.0, |weights| f64::from(weights[row]));
        let sign = if self.profit { 1.0 } else { -1.0 };
        self.better.clear();
        self.weights.clear();
        self.best = 0.0;
        for (row, [negative, positive]) in self.pays.iter().enumerate() {
            let better = sign * (positive - negative) > 0.0;
            self.better.push(better);
            self.weights.push((weight(row) * (positive - negative).abs()) as f32);
            self.best += weight(row) * if better { positive } else { negative };
        }
        self.totals.clear();
        self.totals.push(totals_of(&self.better, Some(&self.weights), 0..self.pays.len()));
        for group in 0..groups.map_or(0, |groups| groups.names().len()) {
            let rows = groups.into_iter().flat_map(|groups| groups.rows(group)).map(|row| *row as usize);
            self.totals.push(totals_of(&self.better, Some(&self.weights), rows));
        }
    }

    /// Whether more is better.
    #[must_use]
    pub fn profit(&self) -> bool {
        self.profit
    }

    /// What each row pays if it is decided negative, and if it is decided positive.
    #[must_use]
    pub fn pays(&self) -> &[[f64; 2]] {
        &self.pays
    }

    /// Whether the better decision about each row is the positive one.
    #[must_use]
    pub fn better(&self) -> &[bool] {
        &self.better
    }

    /// What hangs on the decision about each row, times the row's weight.
    #[must_use]
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// What is paid if all decisions are the better ones.
    #[must_use]
    pub fn best(&self) -> f64 {
        self.best
    }

    /// What hangs on rows better decided positive, and negative: of all rows, or by group.
    pub(crate) fn totals(&self, by_group: bool) -> &[ClassTotals] {
        if by_group { &self.totals[1..] } else { &self.totals[..1] }
    }
}
