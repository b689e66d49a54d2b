//! Losses of several classes: the smooth goal through its shifts, and cross-entropy with weights by class.

use super::Loss;
use crate::class::{Ask, Classes, ShiftEngine, Softmax, Tally};
use crate::goal::ClassGoal;
use crate::optimizer::State;
use crate::shard::Shard;
use crate::train::{Bandwidth, Detail, TrainError};

/// The smooth loss of a goal of classes, through its shifts.
///
/// The first scores seen fix the sharpness in units of their spread.
#[derive(Debug)]
pub struct ClassIco {
    goal: ClassGoal,
    bandwidth: Bandwidth,
    engine: Option<ShiftEngine>,
    sharpness: Option<f64>,
    shifts: Option<Vec<f64>>,
    ties: Vec<u32>,
    detail: Option<Detail>,
}

impl ClassIco {
    /// A loss for this goal; the bandwidth is in units of the scores or of their spread.
    #[must_use]
    pub fn new(goal: &ClassGoal, bandwidth: Bandwidth) -> Self {
        let goal = goal.clone();
        Self { goal, bandwidth, engine: None, sharpness: None, shifts: None, ties: Vec::new(), detail: None }
    }
}

impl Loss for ClassIco {
    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        let classes = Classes::of(&self.goal, rows.whole())?;
        let width = || self.bandwidth.of_classes(&classes, scores);
        let sharpness = *self.sharpness.get_or_insert_with(|| 1.0 / width());
        let engine = match &mut self.engine {
            Some(engine) => engine,
            None => {
                let mut engine = ShiftEngine::new(&self.goal, &classes, sharpness)?;
                if let Some(shifts) = &self.shifts {
                    engine.start_from(shifts);
                    engine.tie_as(&self.ties);
                }
                self.engine.insert(engine)
            }
        };
        let step = engine.step(&classes, scores, v)?;
        self.detail = Some(Detail::of_classes(&step));
        Ok(step.loss)
    }

    fn detail(&self) -> Option<Detail> {
        self.detail.clone()
    }

    fn state(&self) -> State {
        let (Some(engine), Some(sharpness)) = (&self.engine, self.sharpness) else { return State::default() };
        State::default()
            .with("shifts", engine.shifts().to_vec())
            .with("ties", engine.ties())
            .with("sharpness", vec![sharpness])
    }

    fn restore(&mut self, state: &State) -> Result<(), TrainError> {
        let shifts = state.find::<f64>("shifts")?.map(|_| state.sized("shifts", self.goal.classes.len()));
        self.shifts = shifts.transpose()?.map(<[f64]>::to_vec);
        self.ties = state.find("ties")?.unwrap_or_default().to_vec();
        self.sharpness = state.find("sharpness")?.and_then(|values| values.first().copied());
        self.engine = None;
        Ok(())
    }
}

/// Softmax cross-entropy,
///
/// ```text
/// f = Σ w_i k_y (ln Σ_c e^{s_ic} - s_iy) / Σ w_i k_y,      k_y = share of class y ^ -balance
/// ```
///
/// so that a balance of 0 counts rows alike, and one of 1 classes.
#[derive(Debug)]
pub struct ClassCrossEntropy {
    balance: f64,
    softmax: Softmax,
    tally: Tally,
}

impl ClassCrossEntropy {
    /// The loss with classes weighted by their shares to the power of minus `balance`.
    #[must_use]
    pub fn new(balance: f64) -> Self {
        Self { balance, softmax: Softmax::default(), tally: Tally::default() }
    }
}

impl Loss for ClassCrossEntropy {
    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        let classes = Classes::new(rows.whole());
        let count = classes.count();
        let weight = |class: usize| match classes.prior(class) {
            prior if prior > 0.0 => prior.powf(-self.balance),
            _ => 0.0,
        };
        let mut weights: Vec<f64> = (0..count).map(weight).collect();
        let total: f64 = weights.iter().zip(classes.totals()).map(|(weight, rows)| weight * rows).sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        let ask = Ask { sharpness: 1.0, shifts: &vec![0.0; count], loss: Some(&weights), ..Ask::default() };
        if scores.len() != v.len() || !self.softmax.count(&classes, scores, ask, v, &mut self.tally) {
            classes.check_scores(scores)?;
        }
        Ok(self.tally.loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    #[test]
    fn the_gradient_of_cross_entropy_matches_differences() {
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let sample = Sample::of_classes("label", names, vec![0, 1, 2, 0]).unwrap();
        let sample = sample.with_weights(vec![1.0, 2.0, 0.5, 1.0]).unwrap();
        let scores: Vec<f32> = (0..12).map(|at| (at as f32 * 1.3).sin()).collect();
        for balance in [0.0, 0.5, 1.0] {
            let mut loss = ClassCrossEntropy::new(balance);
            let mut v = vec![0.0; 12];
            loss.evaluate(&sample, &scores, &mut v).unwrap();
            for place in 0..12 {
                let h = 0.015_625;
                let mut at = |h: f32| {
                    let mut moved = scores.clone();
                    moved[place] += h;
                    loss.evaluate(&sample, &moved, &mut [0.0; 12]).unwrap()
                };
                let numeric = (at(h) - at(-h)) / (2.0 * f64::from(h));
                // Third derivatives are below 0.1: h² / 60; and rounding of the loss, 1e-7 / h.
                assert!((f64::from(v[place]) - numeric).abs() < 2e-5, "{} is not {numeric}", v[place]);
            }
        }
        let plain = ClassCrossEntropy::new(0.0).evaluate(&sample, &[0.0; 12], &mut [0.0; 12]).unwrap();
        assert!((plain - 3.0f64.ln()).abs() < 1e-6);
    }
}
