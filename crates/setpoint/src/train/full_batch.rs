//! One stage of training on the full batch: a loss, an optimizer, and the best iterate by validation.
//!
//! With L-BFGS the thresholds are solved again at every evaluation, so that the objective is one
//! smooth function of the parameters; ten to twenty evaluations then do what hundreds of first-order
//! steps do. Where there are many rows, it first comes close on a few of them, and goes on from there with the
//! curvature it met. First-order optimizers take the paper's algorithm 1: the thresholds are held, tracked to
//! first order after each step, and corrected on the unrelaxed rates every `correct_every` steps.

use super::desk::Desk;
use super::method::{Asking, Loss, Plan};
use super::selection::Best;
use super::stage::Running;
use super::{OptimizerChoice, Settings, Standard, Thresholds, TrainError};
use crate::examples::{Answer, Question};
use crate::goal::Direction;
use crate::optimizer::{Lbfgs, LbfgsConfig, Optimizer, Outcome};
use crate::shard::Shard;

/// What keeps the weights in check; the biases, which come last, are left out.
#[derive(Clone, Debug)]
pub(super) enum Penalty {
    /// λ |w|² / 2.
    Shrinkage(f64),
    /// ρ |w|² / sd(s)²: shrinkage for an objective that is scale-free itself, on which the plain
    /// kind does nothing.
    ScaleFreeRidge(f64),
    /// λ |w - start|² / 2, for an objective that is scale-free itself and starts from a fit.
    Near { start: Vec<f32>, strength: f64 },
}

/// A penalty at some parameters.
struct Penalised {
    value: f64,
    /// The factor of the weights in its gradient by them.
    pull: f64,
    /// What it adds to the derivative by each score.
    line: Option<[f64; 2]>,
}

impl Penalty {
    fn at(&self, parameters: &[f32], outputs: usize, standard: impl FnOnce() -> Standard) -> Penalised {
        let places = weights(parameters, outputs).iter().enumerate();
        let squares: f64 = places.map(|(place, w)| f64::from(w - self.origin(place)).powi(2)).sum();
        match *self {
            Self::Near { strength: lambda, .. } | Self::Shrinkage(lambda) => {
                Penalised { value: 0.5 * lambda * squares, pull: lambda, line: None }
            }
            Self::ScaleFreeRidge(0.0) => Penalised { value: 0.0, pull: 0.0, line: None },
            Self::ScaleFreeRidge(rho) => {
                let standard = standard();
                let variance = standard.deviation.powi(2);
                // d(sd²)/ds_i = 2 w_i (s_i - mean) / Σ w
                let factor = -rho * squares / (variance * variance) * 2.0 / standard.total;
                let line = Some([-factor * standard.mean, factor]);
                Penalised { value: rho * squares / variance, pull: 2.0 * rho / variance, line }
            }
        }
    }

    /// Adds the penalty's gradient by the scores to `v`; returns the penalty, and the factor of the
    /// weights in its gradient by them.
    pub(super) fn add_to_scores(
        &self,
        parameters: &[f32],
        outputs: usize,
        rows: &dyn Shard,
        scores: &[f32],
        v: &mut [f32],
    ) -> (f64, f64) {
        let Penalised { value, pull, line } = self.at(parameters, outputs, || Standard::of(rows, scores));
        if let Some([at_zero, slope]) = line {
            rows.add_line(scores, at_zero, slope, v);
        }
        (value, pull)
    }

    /// A gradient with what the penalty adds to it directly, in the precision of parameters.
    pub(super) fn pulled(
        &self,
        parameters: &[f32],
        outputs: usize,
        pull: f64,
        mut gradient: Vec<f64>,
    ) -> Vec<f64> {
        gradient.iter_mut().for_each(|gradient| *gradient = f64::from(*gradient as f32));
        let weights = weights(parameters, outputs);
        for (place, (gradient, weight)) in gradient.iter_mut().zip(weights).enumerate() {
            let pull = (pull * f64::from(weight - self.origin(place))) as f32;
            *gradient = f64::from(*gradient as f32 + pull);
        }
        gradient
    }

    /// Where it holds a weight.
    fn origin(&self, place: usize) -> f32 {
        match self {
            Self::Near { start, .. } => start[place],
            Self::Shrinkage(_) | Self::ScaleFreeRidge(_) => 0.0,
        }
    }
}

/// All parameters but the biases, one for each output.
fn weights(parameters: &[f32], outputs: usize) -> &[f32] {
    &parameters[..parameters.len().saturating_sub(outputs)]
}

/// Up to so many rows, all scores at once cost less than several questions.
const FEW: usize = 1 << 15;

/// Makes a loss of some rows.
type MakeLoss<'a> = Box<dyn Fn(&dyn Shard) -> Result<Box<dyn Loss>, TrainError> + Send + Sync + 'a>;

/// A stage on the full batch, to be run.
pub(super) struct Stage<'a> {
    /// The rows to learn from, all of them first, then ever fewer to come close on.
    pub(super) levels: Vec<&'a dyn Shard>,
    /// The rows to select on.
    pub(super) held_out: &'a dyn Shard,
    pub(super) outputs: usize,
    /// Whether features are elsewhere: then all scores do not come together.
    pub(super) elsewhere: bool,
    /// Makes the loss of some rows.
    pub(super) loss: MakeLoss<'a>,
    pub(super) penalty: Penalty,
    /// Not `Auto`.
    pub(super) optimizer: OptimizerChoice,
    pub(super) settings: &'a Settings,
    pub(super) direction: Direction,
    pub(super) start: Vec<f32>,
    pub(super) steps: u64,
}

impl Stage<'_> {
    /// Runs the stage from its start, or from where a checkpoint left it.
    pub(super) fn run(&self, desk: &mut Desk) -> Result<Best, TrainError> {
        match self.optimizer {
            OptimizerChoice::Lbfgs => self.quasi_newton(desk),
            choice => self.first_order(desk, choice.build(self.settings)?),
        }
    }

    /// Loss and gradient at these parameters; infinite where the goal cannot be met there.
    fn evaluate(
        &self,
        desk: &mut Desk,
        level: u64,
        loss: &mut Option<Box<dyn Loss>>,
        parameters: &[f32],
        gradient: &mut [f64],
    ) -> Result<f64, TrainError> {
        let rows = self.rows(level)?;
        let level = level as usize;
        let column = desk.column;
        let mut ask = |question| desk.ask(level, question);
        let planned = match rows.rows() {
            0..=FEW if !self.elsewhere => Ok(None),
            _ => lent(loss)?.plan(&mut Asking { rows, column, ask: &mut ask }, parameters),
        };
        let found = match planned {
            Ok(Some(Plan { column, mut of, standard, value })) => {
                let standard = || standard.unwrap_or_default();
                let Penalised { value: penalty, pull, line } =
                    self.penalty.at(parameters, self.outputs, standard);
                of.lines.extend(line);
                let question = Question::Gradient { column, parameters: parameters.to_vec(), of };
                let Answer { cells, gradient: found, .. } = desk.ask(level, question)?;
                let found = self.penalty.pulled(parameters, self.outputs, pull, found);
                Ok((value(&cells) + penalty, found))
            }
            Ok(None) => {
                let (value, _, found) = desk.evaluate(level, loss, parameters, &self.penalty)?;
                value.map(|value| (value, found))
            }
            Err(error) => Err(error),
        };
        match found {
            Ok((value, found)) => {
                gradient.copy_from_slice(&found);
                Ok(value)
            }
            Err(error) if error.is_about_the_scores() => Ok(f64::INFINITY),
            Err(error) => Err(error),
        }
    }

    fn quasi_newton(&self, desk: &mut Desk) -> Result<Best, TrainError> {
        // From a fit the first step is a small one: half of the weights' length would leave it for good.
        let first_step = if matches!(self.penalty, Penalty::Near { .. }) { 0.05 } else { 0.5 };
        let config = |level: u64| LbfgsConfig {
            max_evaluations: self.steps,
            decrease_tolerance: self.tolerance(level),
            first_step,
            ..LbfgsConfig::default()
        };
        let mut best = Best::none();
        let mut level = self.levels.len() as u64 - 1;
        // Evaluations of the rounds and levels that are done.
        let mut before = 0;
        let resumed = desk.resume.take();
        if let Some(running) = &resumed {
            ([before], [level]) = (running.extra.array("before")?, running.extra.array("level")?);
        }
        let mut loss = Some((self.loss)(self.rows(level)?)?);
        let mut lbfgs = match resumed {
            Some(running) => {
                lent(&mut loss)?.restore(&running.extra)?;
                best = running.best;
                Lbfgs::restore(config(level), &running.optimizer)?
            }
            None => Lbfgs::new(config(level), self.start.clone())?,
        };
        let steps = self.steps * lent(&mut loss)?.rounds();
        loop {
            let outcome = lbfgs.next_iter(&mut |parameters: &[f32], gradient: &mut [f64]| {
                self.evaluate(desk, level, &mut loss, parameters, gradient)
            })?;
            let (evaluations, value) = (before + lbfgs.iterate().evaluations, lbfgs.iterate().value);
            desk.evaluations = evaluations;
            let parameters = lbfgs.parameters().to_vec();
            let done = matches!(outcome, Outcome::Done(_));
            // Every second iterate: a look sorts the validation rows, which costs about as much as a step. Where most
            // steps were taken on fewer rows, iterates differ less.
            let every = if self.levels.len() > 1 { 4 } else { 2 };
            let look = level == 0 && (done || lbfgs.iterate().iteration.is_multiple_of(every));
            let (mut validation, mut scores) = (None, Vec::new());
            if look {
                (validation, scores) = desk.look(&parameters)?;
                best.offer(&parameters, validation, self.direction.merit(validation), evaluations);
            }
            desk.step(evaluations, steps.max(evaluations), value, validation, lent(&mut loss)?.detail())?;
            if done && level > 0 {
                // More rows: from here on, with the curvature met so far.
                level -= 1;
                let state = lent(&mut loss)?.state();
                loss.insert((self.loss)(self.rows(level)?)?).restore(&state)?;
                before = evaluations;
                lbfgs = lbfgs.again(config(level))?;
            } else if done {
                if !self.next_round(desk, lent(&mut loss)?, &parameters, &scores)? {
                    return Ok(best);
                }
                before = evaluations;
                lbfgs = Lbfgs::new(config(level), parameters)?;
            }
            let state = lent(&mut loss)?.state();
            desk.save(|| {
                let extra = state.with("before", vec![before]).with("level", vec![level]);
                Running { best: best.clone(), optimizer: lbfgs.state(), extra }
            })?;
        }
    }

    /// When to stop: where there are many rows, at a tenth of what chance makes of a mean over them.
    fn tolerance(&self, level: u64) -> f64 {
        match (self.levels.len(), self.rows(level)) {
            (2.., Ok(rows)) => (0.1 / (rows.rows() as f64).sqrt()).max(1e-5),
            _ => 1e-5,
        }
    }

    /// The rows of a level.
    fn rows(&self, level: u64) -> Result<&dyn Shard, TrainError> {
        let rows = self.levels.get(level as usize).copied();
        rows.ok_or_else(|| TrainError::from(crate::optimizer::damaged("level")))
    }

    /// Begins another round of the loss by what it comes to on validation, whose scores have just been looked
    /// up; on the training rows where validation lacks one of the groups.
    fn next_round(
        &self,
        desk: &mut Desk,
        loss: &mut dyn Loss,
        parameters: &[f32],
        looked_up: &[f32],
    ) -> Result<bool, TrainError> {
        let rows = self.levels[0];
        if loss.rounds() == 1 || self.held_out.groups() == rows.groups() {
            return loss.next_round(self.held_out, looked_up);
        }
        let scores = desk.ask(0, Question::Scores { parameters: parameters.to_vec() })?.scores;
        loss.next_round(rows, &scores)
    }

    fn first_order(&self, desk: &mut Desk, mut optimizer: Box<dyn Optimizer>) -> Result<Best, TrainError> {
        let mut parameters = self.start.clone();
        let mut best = Best::none();
        let (mut first, mut stale) = (0, 0);
        let mut loss = Some((self.loss)(self.levels[0])?);
        if let Some(running) = desk.resume.take() {
            optimizer.restore(&running.optimizer)?;
            parameters = running.extra.get("parameters")?.to_vec();
            ([first], [stale]) = (running.extra.array("step")?, running.extra.array("stale")?);
            lent(&mut loss)?.restore(&running.extra)?;
            best = running.best;
        }
        let thresholds = self.settings.thresholds;
        let every = self.settings.correct_every.max(1);
        desk.evaluations = first;
        for step in first..self.steps {
            desk.evaluations = step + 1;
            let (value, scores, gradient) = desk.evaluate(0, &mut loss, &parameters, &self.penalty)?;
            let value = match value {
                Err(error) if error.is_about_the_scores() => return Err(TrainError::Diverged { step }),
                value => value?,
            };
            if !value.is_finite() {
                return Err(TrainError::Diverged { step });
            }
            let gradient: Vec<f32> = gradient.into_iter().map(|gradient| gradient as f32).collect();
            optimizer.step(&mut parameters, &gradient)?;
            let correct = (step + 1) % every == 0;
            if thresholds.corrected() && (correct || thresholds == Thresholds::Track) {
                // Where there are none on these scores, the old thresholds stay.
                match desk.correct(&mut loss, &parameters, (!correct).then_some(scores))? {
                    Err(error) if correct && error.is_about_the_scores() => {}
                    corrected => drop(corrected?),
                }
            }
            let look = correct || step + 1 == self.steps;
            let validation = if look { desk.look(&parameters)?.0 } else { None };
            if look {
                let merit = self.direction.merit(validation);
                stale = if best.offer(&parameters, validation, merit, step + 1) { 0 } else { stale + every };
            }
            desk.step(step + 1, self.steps, value, validation, lent(&mut loss)?.detail())?;
            if self.settings.patience.is_some_and(|most| stale >= most) {
                break;
            }
            if correct {
                let state = lent(&mut loss)?.state();
                desk.save(|| {
                    let extra = state
                        .with("parameters", parameters.clone())
                        .with("step", vec![step + 1])
                        .with("stale", vec![stale]);
                    Running { best: best.clone(), optimizer: optimizer.state(), extra }
                })?;
            }
        }
        Ok(best)
    }
}

/// The loss, which is here but while it is lent.
fn lent(loss: &mut Option<Box<dyn Loss>>) -> Result<&mut dyn Loss, TrainError> {
    match loss {
        Some(loss) => Ok(&mut **loss),
        None => Err(TrainError::Stopped),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Features;
    use crate::model::{Linear, Model, Rows};
    use crate::sample::Sample;

    /// The penalty with its gradient, through the scores of a small linear model.
    #[test]
    fn gradients_of_the_penalties_match_finite_differences() {
        let values: Vec<f32> = (0..60).map(|i| ((i * i) as f32 * 0.37).sin()).collect();
        let mut model = Linear::new(Features::from_row_major(values, 3).unwrap());
        let sample = Sample::new((0..20).map(|i| i % 4 == 0).collect())
            .unwrap()
            .with_weights((0..20).map(|i| 0.5 + i as f32 / 20.0).collect())
            .unwrap();
        let parameters = [0.5f32, -1.0, 0.75, 0.25];
        for penalty in [Penalty::Shrinkage(0.3), Penalty::ScaleFreeRidge(0.3)] {
            let mut evaluate = |parameters: &[f32]| {
                let (mut scores, mut v, mut gradient) = (vec![0.0; 20], vec![0.0; 20], vec![0.0; 4]);
                model.scores(parameters, Rows::All, &mut scores).unwrap();
                let (value, pull) = penalty.add_to_scores(parameters, 1, &sample, &scores, &mut v);
                model.backward(parameters, &v, &mut gradient).unwrap();
                gradient
                    .iter_mut()
                    .zip(weights(parameters, 1))
                    .for_each(|(g, w)| *g += (pull * f64::from(*w)) as f32);
                (value, gradient)
            };
            let (value, gradient) = evaluate(&parameters);
            for index in 0..4 {
                let h = 0.007_812_5;
                let mut moved = parameters;
                moved[index] += h;
                let above = evaluate(&moved).0;
                moved[index] -= 2.0 * h;
                let numeric = (above - evaluate(&moved).0) / (2.0 * f64::from(h));
                // Scores are f32: errors of 1e-7 of the value, over the step; and h² of it.
                assert!(
                    (f64::from(gradient[index]) - numeric).abs() < 5e-4 * value,
                    "{penalty:?}: {numeric}"
                );
            }
        }
    }
}
