//! Implicit constrained optimisation: the engine as a loss over a whole sample.
//!
//! The objective is that of standardised scores ([`Standard`]), so that its sharpness means the same
//! at every step; the bandwidth 1 / sharpness is given in these units, or taken from the tail of the
//! scores that the goal's conditions look at. A bandwidth in units of the scores themselves
//! ([`Bandwidth::Score`]) leaves the scores as they are, as the paper does: they then grow until the
//! surrogate is as sharp as training wants it.

use super::Loss;
use crate::engine::{Engine, EngineOptions};
use crate::goal::Goal;
use crate::optimizer::State;
use crate::shard::Shard;
use crate::train::{Bandwidth, Detail, Standard, TrainError};

/// The goal's smooth loss through its thresholds, over a sample.
#[derive(Debug)]
pub struct Ico {
    engine: Engine,
    bandwidth: Bandwidth,
    goal: Goal,
    /// 1 / bandwidth in standardised units; fixed by the first scores seen.
    sharpness: Option<f64>,
    /// The thresholds in standardised units: where the next solve starts.
    thresholds: Option<Vec<f64>>,
    /// Step size of slack variables, where limits are met by them.
    slack_rate: f64,
    clamped: u64,
    /// The last evaluation, told to observers.
    detail: Option<Detail>,
}

impl Ico {
    /// Ties a goal to rows; `options.sharpness` is replaced by the bandwidth's.
    ///
    /// # Errors
    /// If the goal does not fit the rows.
    pub fn new(
        goal: &Goal,
        rows: &dyn Shard,
        options: EngineOptions,
        bandwidth: Bandwidth,
    ) -> Result<Self, TrainError> {
        Ok(Self {
            engine: Engine::new(goal, rows, options)?,
            bandwidth,
            goal: goal.clone(),
            sharpness: None,
            thresholds: None,
            slack_rate: 0.05,
            clamped: 0,
            detail: None,
        })
    }

    /// Sets the step size of slack variables: one step at every evaluation, which only first-order
    /// optimizers can follow.
    #[must_use]
    pub fn with_slack_rate(self, slack_rate: f64) -> Self {
        Self { slack_rate, ..self }
    }

    /// The engine, for slack variables and thresholds (in units of standardised scores).
    pub fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// How many slopes were raised to their floor so far.
    #[must_use]
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// The units of the objective at these scores.
    fn standard(&self, rows: &dyn Shard, scores: &[f32]) -> Standard {
        match self.bandwidth {
            Bandwidth::Score(_) => Standard { mean: 0.0, deviation: 1.0, total: rows.rows() as f64 },
            Bandwidth::Deviations(_) | Bandwidth::Tail(_) => Standard::of(rows, scores),
        }
    }

    /// Brings the engine to the units of these scores.
    ///
    /// The first scores seen fix the sharpness, so that the objective stays one function.
    fn prepare(&mut self, rows: &dyn Shard, standard: &Standard, scores: &[f32]) -> Result<(), TrainError> {
        let sharpness = *self
            .sharpness
            .get_or_insert_with(|| standard.deviation * self.bandwidth.sharpness(&self.goal, rows, scores));
        self.engine.set_sharpness(sharpness / standard.deviation);
        if let Some(thresholds) = &self.thresholds {
            let thresholds: Vec<f64> = thresholds.iter().map(|t| standard.to_score(*t)).collect();
            self.engine.set_thresholds(&thresholds)?;
        }
        Ok(())
    }

    /// Keeps the engine's thresholds in standardised units.
    fn keep(&mut self, standard: &Standard) {
        let kept = self.engine.thresholds();
        self.thresholds = kept.map(|thresholds| thresholds.iter().map(|t| standard.from_score(*t)).collect());
    }
}

impl Loss for Ico {
    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        let raw = matches!(self.bandwidth, Bandwidth::Score(_));
        let standard = self.standard(rows, scores);
        if raw || !(standard.mean.is_finite() && scores.len() == rows.rows()) {
            rows.whole().check_scores(scores)?;
        }
        self.prepare(rows, &standard, scores)?;
        let step = self.engine.step(rows, scores, v)?;
        let loss = step.loss + step.penalty;
        self.clamped += step.clamped as u64;
        let mut detail = Detail::of(&step);
        detail.thresholds.iter_mut().for_each(|t| *t = standard.from_score(*t));
        self.detail = Some(detail);
        self.engine.descend_slack(self.slack_rate);
        self.keep(&standard);
        if !raw {
            standard.pull_back(rows, scores, v);
        }
        Ok(loss)
    }

    fn after_step(&mut self, rows: &dyn Shard, before: &[f32], after: &[f32]) -> Result<(), TrainError> {
        // The scores as they would be, had their mean and spread not changed: thresholds are kept in
        // standardised units.
        let (old, new) = (self.standard(rows, before), self.standard(rows, after));
        let moved =
            |after: &f32, before: &f32| (old.to_score(new.from_score(f64::from(*after))) as f32) - before;
        let motion: Vec<f32> = after.iter().zip(before).map(|(after, before)| moved(after, before)).collect();
        self.engine.track(rows, before, &motion)?;
        self.keep(&old);
        Ok(())
    }

    fn correct(&mut self, rows: &dyn Shard, scores: &[f32]) -> Result<(), TrainError> {
        let standard = self.standard(rows, scores);
        self.prepare(rows, &standard, scores)?;
        self.engine.correct(rows, scores)?;
        self.keep(&standard);
        Ok(())
    }

    fn detail(&self) -> Option<Detail> {
        self.detail.clone()
    }

    fn state(&self) -> State {
        State::default()
            .with_some("thresholds", self.thresholds.clone())
            .with_some("sharpness", self.sharpness.map(|sharpness| vec![sharpness]))
            .with_some("slack", self.engine.slack().map(<[f64]>::to_vec))
    }

    fn restore(&mut self, state: &State) -> Result<(), TrainError> {
        self.thresholds = state.find("thresholds")?.map(<[f64]>::to_vec);
        self.sharpness = state.find("sharpness")?.and_then(|values| values.first().copied());
        if let Some(slack) = state.find("slack")? {
            self.engine.set_slack(slack);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    /// Forty scores, a quarter of them positive and higher.
    fn sample() -> (Sample, Vec<f32>) {
        let labels: Vec<bool> = (0..40).map(|i| i % 4 == 0).collect();
        let score = |(i, label): (usize, &bool)| (i as f32 * 1.7).sin() + f32::from(u8::from(*label));
        let scores = labels.iter().enumerate().map(score).collect();
        (Sample::new(labels).unwrap(), scores)
    }

    fn evaluate(bandwidth: Bandwidth, sample: &Sample, scores: &[f32]) -> (f64, Vec<f32>) {
        let goal = "recall @ fpr=20%".parse().unwrap();
        let mut loss = Ico::new(&goal, sample, EngineOptions::default(), bandwidth).unwrap();
        let mut v = vec![0.0; scores.len()];
        (loss.evaluate(sample, scores, &mut v).unwrap(), v)
    }

    #[test]
    fn gradients_match_finite_differences_in_units_of_the_scores_and_of_their_spread() {
        let (sample, scores) = sample();
        for bandwidth in [Bandwidth::Score(0.5), Bandwidth::Deviations(0.5)] {
            let (_, v) = evaluate(bandwidth, &sample, &scores);
            for row in [0, 1, 8, 17] {
                // A step of 2^-7 errs by its square, and by the solver's tolerance over it.
                let h = 0.007_812_5;
                let mut moved = scores.clone();
                moved[row] += h;
                let above = evaluate(bandwidth, &sample, &moved).0;
                moved[row] -= 2.0 * h;
                let numeric = (above - evaluate(bandwidth, &sample, &moved).0) / (2.0 * f64::from(h));
                assert!((f64::from(v[row]) - numeric).abs() < 1e-4, "{bandwidth:?}: {} {numeric}", v[row]);
            }
        }
    }

    #[test]
    fn only_units_of_the_scores_know_their_scale() {
        let (sample, scores) = sample();
        let twice: Vec<f32> = scores.iter().map(|score| 2.0 * score).collect();
        let change = |bandwidth| {
            (evaluate(bandwidth, &sample, &twice).0 - evaluate(bandwidth, &sample, &scores).0).abs()
        };
        assert!(change(Bandwidth::Deviations(0.5)) < 1e-6);
        assert!(change(Bandwidth::Score(0.5)) > 0.01);
    }
}
