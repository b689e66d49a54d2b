//! Boosters cut at the rounds that a goal chose, and weighted sums of them.

use std::borrow::Cow;

use setpoint::train::{Judge, TrainError};

use crate::conclude::BoosterCandidate;
use crate::ensemble::Ensemble;
use crate::error::TreesError;
use crate::grow::Look;
use crate::head;
use crate::judge::{Promise, pick};
use crate::purpose::Referee;
use crate::session::Searched;

/// A booster cut at its best rounds.
#[derive(Clone)]
pub(crate) struct Chosen<'s> {
    pub(crate) searched: &'s Searched,
    /// Its scores of all validation rows there.
    pub(crate) scores: &'s [f32],
    /// What it was chosen by.
    promise: Promise,
    pub(crate) candidate: BoosterCandidate,
}

impl<'s> Chosen<'s> {
    /// Chooses the rounds; where `rows` are given, the judge's sample is those rows of validation.
    pub(crate) fn new(
        searched: &'s Searched,
        judge: &Referee<'_>,
        rows: Option<&[u32]>,
    ) -> Result<Self, TreesError> {
        let seen = |look: &'s Look| match rows {
            Some(rows) => Cow::Owned(pick(&look.scores, judge.purpose.outputs(), rows)),
            None => Cow::Borrowed(look.scores.as_slice()),
        };
        let known = if rows.is_none() { searched.promised(judge.purpose) } else { None };
        let mut best: Option<(Promise, &Look)> = None;
        for (at, look) in searched.looks.iter().enumerate() {
            let promise = match known {
                Some(known) => known[at],
                None => judge.promise(&seen(look))?,
            };
            if best.is_none_or(|(best, _)| promise.order(&best).is_lt()) {
                best = Some((promise, look));
            }
        }
        let (promise, look) = best.ok_or_else(|| TreesError::Shape {
            found: "a booster without a look at validation".into(),
            expected: "one that a search has grown",
        })?;
        let candidate =
            BoosterCandidate { name: searched.name.clone(), validation: promise.value, rounds: look.rounds };
        Ok(Self { searched, scores: &look.scores, promise, candidate })
    }

    pub(crate) fn ensemble(&self) -> Ensemble {
        self.searched.ensemble.first(self.candidate.rounds)
    }
}

/// The boosters that have a value, the best first; of equals the earlier.
pub(crate) fn ranked<'c, 's>(chosen: &'c [Chosen<'s>]) -> Vec<&'c Chosen<'s>> {
    let mut order: Vec<_> = chosen.iter().filter(|chosen| chosen.candidate.validation.is_some()).collect();
    order.sort_by(|a, b| a.promise.order(&b.promise));
    order
}

/// Boosters in units of their spread over validation, and weights for a sum of them.
pub(crate) struct Recipe {
    pub(crate) units: Vec<Vec<f32>>,
    pub(crate) spreads: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    /// Scores of a row.
    outputs: usize,
}

impl Recipe {
    /// The first booster alone. The judge's sample is that of all validation rows.
    pub(crate) fn new(judge: &Referee<'_>, order: &[&Chosen<'_>]) -> Result<Self, TrainError> {
        let spreads: Vec<f64> =
            order.iter().map(|chosen| judge.spread(chosen.scores)).collect::<Result<_, _>>()?;
        let unit = |(chosen, spread): (&&Chosen<'_>, &f64)| {
            chosen.scores.iter().map(|score| (f64::from(*score) / spread) as f32).collect()
        };
        let units = order.iter().zip(&spreads).map(unit).collect();
        let outputs = judge.purpose.outputs();
        let mut recipe = Self { units, spreads, weights: Vec::new(), outputs };
        recipe.weights = recipe.average_of(1);
        Ok(recipe)
    }

    /// The weights that average the first boosters.
    pub(crate) fn average_of(&self, count: usize) -> Vec<f64> {
        let count = count.min(self.units.len());
        (0..self.units.len()).map(|index| if index < count { 1.0 / count as f64 } else { 0.0 }).collect()
    }

    /// The weights of a head that is fitted on these rows, whose sample is the judge's.
    pub(crate) fn head_on(&self, judge: &Judge<'_>, rows: &[u32]) -> Result<Vec<f64>, TrainError> {
        let units: Vec<Vec<f32>> = self.units.iter().map(|unit| pick(unit, 1, rows)).collect();
        head::fit(judge.goal, judge.sample, &units, &self.weights)
    }

    /// The sum's scores of these rows.
    pub(crate) fn scores(&self, weights: &[f64], rows: &[u32]) -> Vec<f32> {
        let score = |at: usize| {
            let terms = self.units.iter().zip(weights);
            terms.map(|(unit, weight)| f64::from(unit[at]) * weight).sum::<f64>() as f32
        };
        let of_row = |row: &u32| *row as usize * self.outputs..(*row as usize + 1) * self.outputs;
        rows.iter().flat_map(of_row).map(score).collect()
    }
}
