//! Implicit constrained optimisation: the engine as a loss over a whole sample.
//!
//! The objective is that of standardised scores ([`Standard`]), so that its sharpness means the same
//! at every step; the bandwidth 1 / sharpness is given in these units, or taken from the tail of the
//! scores that the goal's conditions look at. A bandwidth in units of the scores themselves
//! ([`Bandwidth::Score`]) leaves the scores as they are, as the paper does: they then grow until the
//! surrogate is as sharp as training wants it.

use std::sync::Mutex;

use super::{Asking, Loss, Plan};
use crate::count::{Cell, Counter};
use crate::engine::{Engine, EngineOptions, Scored};
use crate::examples::{Answer, Moments, Question};
use crate::goal::Goal;
use crate::optimizer::State;
use crate::sample::{Sample, SampleError};
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
        self.units(rows, || Standard::of(rows, scores))
    }

    fn units(&self, rows: &dyn Shard, measured: impl FnOnce() -> Standard) -> Standard {
        match self.bandwidth {
            Bandwidth::Score(_) => Standard { mean: 0.0, deviation: 1.0, total: rows.rows() as f64 },
            Bandwidth::Deviations(_) | Bandwidth::Tail(_) => measured(),
        }
    }

    /// Brings the engine to the units of these scores.
    ///
    /// The first scores seen fix the sharpness, so that the objective stays one function.
    fn prepare(
        &mut self,
        standard: &Standard,
        first: impl FnOnce(Bandwidth, &Goal) -> Result<f64, TrainError>,
    ) -> Result<(), TrainError> {
        let sharpness = match self.sharpness {
            Some(sharpness) => sharpness,
            None => *self.sharpness.insert(standard.deviation * first(self.bandwidth, &self.goal)?),
        };
        self.engine.set_sharpness(sharpness / standard.deviation);
        if let Some(thresholds) = &self.thresholds {
            let thresholds: Vec<f64> = thresholds.iter().map(|t| standard.to_score(*t)).collect();
            self.engine.set_thresholds(&thresholds)?;
        }
        Ok(())
    }

    /// Takes note of what the engine has settled; the loss.
    fn settled(&mut self, standard: &Standard, passes: usize) -> f64 {
        let step = self.engine.last(passes);
        let loss = step.loss + step.penalty;
        self.clamped += step.clamped as u64;
        let mut detail = Detail::of(&step);
        detail.thresholds.iter_mut().for_each(|t| *t = standard.from_score(*t));
        self.detail = Some(detail);
        self.engine.descend_slack(self.slack_rate);
        self.keep(standard);
        loss
    }

    /// Keeps the engine's thresholds in standardised units.
    fn keep(&mut self, standard: &Standard) {
        let kept = self.engine.thresholds();
        self.thresholds = kept.map(|thresholds| thresholds.iter().map(|t| standard.from_score(*t)).collect());
    }
}

/// Rows from which scores are sorted by one stage at a time.
const MANY: usize = 1 << 20;

/// Rows that keep their scores.
struct Kept<'k, 'a> {
    asking: &'k mut Asking<'a>,
    parameters: Vec<f32>,
}

impl Kept<'_, '_> {
    fn ask(&mut self, question: Question) -> Result<Answer, SampleError> {
        (self.asking.ask)(question).map_err(|error| match error {
            TrainError::Sample(error) => error,
            // There is nobody to answer, because the run has ended.
            _ => SampleError::Empty,
        })
    }
}

impl Scored for Kept<'_, '_> {
    fn rows(&self) -> &dyn Shard {
        self.asking.rows
    }

    fn count(
        &mut self,
        counter: &mut Counter,
        thresholds: &[f64],
        curvature: bool,
        cells: &mut [Cell],
    ) -> Result<(), SampleError> {
        let (column, counts) = (self.asking.column, counter.counts(thresholds, curvature, cells.len()));
        cells.copy_from_slice(&self.ask(Question::Count { column, counts })?.cells);
        Ok(())
    }

    fn with_scores(&mut self, call: &mut dyn FnMut(&Sample, &[f32])) -> Result<(), SampleError> {
        // One stage after another, where rows are many: whoever asks for scores sorts them, which takes ten times their
        // memory.
        static ONE: Mutex<()> = Mutex::new(());
        let scores = self.ask(Question::Scores { parameters: self.parameters.clone() })?.scores;
        let _alone = (scores.len() >= MANY).then(|| ONE.lock());
        call(self.asking.rows.whole(), &scores);
        Ok(())
    }
}

impl Loss for Ico {
    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        let raw = matches!(self.bandwidth, Bandwidth::Score(_));
        let standard = self.standard(rows, scores);
        if raw || !(standard.mean.is_finite() && scores.len() == rows.rows()) {
            rows.whole().check_scores(scores)?;
        }
        self.prepare(&standard, |bandwidth, goal| Ok(bandwidth.sharpness(goal, rows, scores)))?;
        let passes = self.engine.settle(rows, scores)?;
        self.engine.spread(rows, scores, v)?;
        let loss = self.settled(&standard, passes);
        if !raw {
            standard.pull_back(rows, scores, v);
        }
        Ok(loss)
    }

    fn plan(&mut self, rows: &mut Asking<'_>, parameters: &[f32]) -> Result<Option<Plan>, TrainError> {
        let parameters = parameters.to_vec();
        let column = rows.column;
        let moments = (rows.ask)(Question::Score { column, parameters: parameters.clone() })?.moments;
        let Some(measured) = moments.map(Moments::standard) else { return Ok(None) };
        let standard = self.units(rows.rows, || measured);
        let mut kept = Kept { asking: rows, parameters };
        if !measured.mean.is_finite() {
            let mut checked = Ok(());
            kept.with_scores(&mut |rows, scores| checked = rows.check_scores(scores))?;
            checked?;
        }
        self.prepare(&standard, |bandwidth, goal| match bandwidth {
            Bandwidth::Deviations(share) => Ok(1.0 / (share * measured.deviation)),
            _ => {
                let mut sharpness = f64::NAN;
                kept.with_scores(&mut |rows, scores| sharpness = bandwidth.sharpness(goal, rows, scores))?;
                Ok(sharpness)
            }
        })?;
        let passes = self.engine.settle_on(&mut kept)?;
        let mut of = self.engine.function();
        let loss = self.settled(&standard, passes);
        if !matches!(self.bandwidth, Bandwidth::Score(_)) {
            let slopes = (rows.ask)(Question::Slopes { column, of: of.clone(), standard })?.slopes;
            of.lines.push(standard.line(slopes));
        }
        let value = Box::new(move |_: &[Cell]| loss);
        Ok(Some(Plan { column: Some(column), of, standard: Some(measured), value }))
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
        self.prepare(&standard, |bandwidth, goal| Ok(bandwidth.sharpness(goal, rows, scores)))?;
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
