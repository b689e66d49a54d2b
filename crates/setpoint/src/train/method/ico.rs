//! Implicit constrained optimisation: the engine as a loss over a whole sample.
//!
//! The engine sees standardised scores, so that its sharpness means the same at every step
//! ([`Standard`]); the bandwidth 1 / sharpness is given in these units, or taken from the tail of
//! the scores that the goal's conditions look at.

use std::collections::BTreeMap;

use super::Loss;
use crate::engine::{Engine, EngineError, EngineOptions};
use crate::goal::{Goal, Rate};
use crate::optimizer::Values;
use crate::sample::Sample;
use crate::threshold::ThresholdError;
use crate::train::{Bandwidth, Standard, TrainError};

/// The goal's smooth loss through its thresholds, over a sample.
#[derive(Debug)]
pub struct Ico<'s> {
    sample: &'s Sample,
    engine: Engine<'s>,
    bandwidth: Bandwidth,
    goal: Goal,
    ready: bool,
    standardised: Vec<f32>,
    clamped: u64,
}

impl<'s> Ico<'s> {
    /// Ties a goal to a sample; `options.sharpness` is replaced by the bandwidth's.
    ///
    /// # Errors
    /// If the goal does not fit the sample.
    pub fn new(
        goal: &Goal,
        sample: &'s Sample,
        options: EngineOptions,
        bandwidth: Bandwidth,
    ) -> Result<Self, TrainError> {
        Ok(Self {
            sample,
            engine: Engine::new(goal, sample, options)?,
            bandwidth,
            goal: goal.clone(),
            ready: false,
            standardised: vec![0.0; sample.len()],
            clamped: 0,
        })
    }

    /// The engine, for slack variables and thresholds (in units of standardised scores).
    pub fn engine(&mut self) -> &mut Engine<'s> {
        &mut self.engine
    }

    /// How many slopes were raised to their floor so far.
    #[must_use]
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// Fixes the sharpness from the first scores seen, so that the objective stays one function.
    fn prepare(&mut self, standard: &Standard) {
        let bandwidth = match self.bandwidth {
            Bandwidth::Deviations(bandwidth) => bandwidth,
            Bandwidth::Tail(share) => share * tail_scale(&self.goal, self.sample, &self.standardised),
            Bandwidth::Score(bandwidth) => bandwidth / standard.deviation,
        };
        self.engine.set_sharpness(1.0 / bandwidth);
        self.ready = true;
    }
}

impl Loss for Ico<'_> {
    fn evaluate(&mut self, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        self.sample.check_scores(scores)?;
        let standard = Standard::of(self.sample, scores);
        standard.apply(scores, &mut self.standardised);
        if !self.ready {
            self.prepare(&standard);
        }
        let step = match self.engine.step(&self.standardised, v) {
            Ok(step) => step,
            // Thresholds that lost their way start again from the exact ones.
            Err(EngineError::Threshold(
                ThresholdError::NotSettled { .. } | ThresholdError::Infeasible { .. },
            )) => {
                self.engine.correct(&self.standardised)?;
                self.engine.step(&self.standardised, v)?
            }
            Err(error) => return Err(error.into()),
        };
        let loss = step.loss + step.penalty;
        self.clamped += step.clamped as u64;
        standard.pull_back(self.sample, &self.standardised, v);
        Ok(loss)
    }

    fn after_step(&mut self, before: &[f32], after: &[f32]) -> Result<(), TrainError> {
        // Both in the units of the old standardisation: the thresholds move with the scores.
        let standard = Standard::of(self.sample, before);
        let mut old = vec![0.0; before.len()];
        standard.apply(before, &mut old);
        let mut motion = vec![0.0; after.len()];
        Standard::of(self.sample, after).apply(after, &mut motion);
        motion.iter_mut().zip(&old).for_each(|(new, old)| *new -= old);
        Ok(self.engine.track(&old, &motion)?)
    }

    fn state(&self) -> BTreeMap<String, Values> {
        let mut state = BTreeMap::new();
        if let (true, Some(thresholds)) = (self.ready, self.engine.thresholds()) {
            state.insert("thresholds".to_owned(), Values::F64(thresholds.to_vec()));
            state.insert("sharpness".to_owned(), Values::F64(vec![self.engine.sharpness()]));
        }
        if let Some(slack) = self.engine.slack() {
            state.insert("slack".to_owned(), Values::F64(slack.to_vec()));
        }
        state
    }

    fn restore(&mut self, state: &BTreeMap<String, Values>) -> Result<(), TrainError> {
        if let (Some(Values::F64(thresholds)), Some(Values::F64(sharpness))) =
            (state.get("thresholds"), state.get("sharpness"))
        {
            self.engine.set_thresholds(thresholds)?;
            self.engine.set_sharpness(sharpness.first().copied().unwrap_or(1.0));
            self.ready = true;
        }
        if let Some(Values::F64(slack)) = state.get("slack") {
            self.engine.set_slack(slack);
        }
        Ok(())
    }

    fn correct(&mut self, scores: &[f32]) -> Result<(), TrainError> {
        Standard::of(self.sample, scores).apply(scores, &mut self.standardised);
        Ok(self.engine.correct(&self.standardised)?)
    }
}

/// The scale on which the tail of the conditioned class falls off, over the goal's targets.
///
/// With e the share of the class beyond the threshold and q its quantiles on that side,
/// (q\[e/2\] - q\[2e\]) / ln 4: the scale of an exponential tail there. The median over targets;
/// 0.2 where the goal has none.
#[must_use]
pub fn tail_scale(goal: &Goal, sample: &Sample, scores: &[f32]) -> f64 {
    let scale = |(rate, target): (Rate, f64)| {
        let (class, share) = match rate {
            Rate::FalsePositiveRate => (Some(false), target),
            Rate::TrueNegativeRate => (Some(false), 1.0 - target),
            Rate::Recall => (Some(true), target),
            Rate::FalseNegativeRate => (Some(true), 1.0 - target),
            Rate::PositiveRate => (None, target),
            _ => return None,
        };
        let members =
            scores.iter().zip(sample.labels()).filter(|(_, label)| class.is_none_or(|c| c == **label));
        let mut values: Vec<f32> = members.map(|(score, _)| *score).collect();
        values.sort_by(f32::total_cmp);
        let last = values.len().checked_sub(1)?;
        let e = share.min(1.0 - share).clamp(1e-4, 0.25);
        let quantile = |q: f64| {
            f64::from(values[((if share < 0.5 { 1.0 - q } else { q }) * last as f64).round() as usize])
        };
        let scale = (quantile(e / 2.0) - quantile(2.0 * e)).abs() / 4.0f64.ln();
        (scale > 0.0).then_some(scale)
    };
    let mut scales: Vec<f64> = targets(goal).into_iter().filter_map(scale).collect();
    scales.sort_by(f64::total_cmp);
    scales.get(scales.len() / 2).copied().unwrap_or(0.2)
}

/// The rates and targets that a goal holds.
fn targets(goal: &Goal) -> Vec<(Rate, f64)> {
    use crate::goal::{Constraint, Objective, Top};
    if let Objective::Area(area) = &goal.objective {
        return area.midpoints(area.default_bins()).map(|target| (area.axis, target)).collect();
    }
    let of = |constraint: &Constraint| match constraint {
        Constraint::Rate { rate, target, .. } | Constraint::PerGroup { rate, target, .. } => {
            Some((*rate, *target))
        }
        Constraint::Top(Top::Fraction(fraction)) => Some((Rate::PositiveRate, *fraction)),
        Constraint::Top(Top::Count { k, of: Some(of) }) => Some((Rate::PositiveRate, *k as f64 / *of as f64)),
        _ => None,
    };
    goal.constraints.iter().filter_map(of).collect()
}
