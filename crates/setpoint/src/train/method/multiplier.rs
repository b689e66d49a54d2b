//! Conditions that thresholds cannot meet, met by the model: an augmented Lagrangian on smooth rates.
//!
//! Where all groups share one threshold, a condition between or within groups is a condition on the
//! model. Each has a multiplier μ_k, and the model minimises
//!
//! ```text
//! L(s) = f + Σ_k ρ/2 (max(0, g_k + μ_k / ρ)² - (μ_k / ρ)²)        (an equality without the max)
//! ```
//!
//! over the smooth rates f, g of the decisions `s >= 0`: the model's bias is the threshold. For fixed
//! multipliers that is one smooth function, which a quasi-Newton method takes to its minimum; then
//! the multipliers move by the *exact* rates of the *validation* rows, μ_k <- max(0, μ_k + ρ g_k)
//! (two players with two data sets: Cotter et al. 2019), so that they make up for what smoothing and
//! the training rows get wrong; and so on, for a few rounds.
//!
//! The surrogate's width is a share of the scores' spread, so that their scale does not matter:
//! with σ the deviation of the scores and v the gradient at a fixed σ,
//!
//! ```text
//! dL/ds_i = v_i - w_i (s_i - mean) / (W σ²) Σ_j v_j s_j
//! ```

use super::Loss;
use crate::count::{Cell, CellPartial, Counter, count_exact};
use crate::engine::EngineError;
use crate::goal::{Constraint, Goal};
use crate::optimizer::State;
use crate::problem::{Problem, ProblemOptions, Sense};
use crate::sample::Sample;
use crate::shard::Shard;
use crate::surrogate::Surrogate;
use crate::threshold::exact;
use crate::train::{Standard, TrainError};

/// ρ: how steeply a missed condition costs beside its multiplier. See `docs/decisions.md`.
const STEEPNESS: f64 = 10.0;

/// Times the multipliers move.
const ROUNDS: u64 = 12;

/// The augmented Lagrangian of a goal, with its multipliers.
#[derive(Debug)]
pub struct Multipliers {
    goal: Goal,
    problem: Problem,
    counter: Counter,
    /// In deviations of the scores.
    bandwidth: f64,
    multipliers: Vec<f64>,
    rounds: u64,
}

impl Multipliers {
    /// Ties a goal to rows; the multipliers start at 0. The bandwidth is in deviations of the
    /// scores.
    ///
    /// # Errors
    /// If the goal does not fit the rows.
    pub fn new(
        goal: &Goal,
        rows: &dyn Shard,
        surrogate: Surrogate,
        bandwidth: f64,
    ) -> Result<Self, TrainError> {
        let problem = Problem::new(goal, rows, &options()).map_err(EngineError::from)?;
        Ok(Self {
            goal: goal.clone(),
            counter: Counter::new(problem.shape().groups, surrogate, 1.0),
            bandwidth,
            multipliers: vec![0.0; problem.conditions().len()],
            rounds: 0,
            problem,
        })
    }

    /// The multipliers, one for each condition and pair of groups.
    #[must_use]
    pub fn multipliers(&self) -> &[f64] {
        &self.multipliers
    }

    /// Moves the multipliers by the exact rates of these decisions, `score >= 0`, which may be of
    /// other rows than the model is fitted on, of the same groups.
    ///
    /// # Errors
    /// If the goal does not fit the rows, or the scores do not.
    pub fn ascend(&mut self, rows: &dyn Shard, scores: &[f32]) -> Result<(), TrainError> {
        let problem = Problem::new(&self.goal, rows, &options()).map_err(EngineError::from)?;
        let mut cells = vec![Cell::default(); problem.shape().cells()];
        let grid = vec![0.0; cells.len() / 2];
        count_exact(rows.whole(), problem.shape().groups, scores, &grid, &mut cells)?;
        for (multiplier, condition) in self.multipliers.iter_mut().zip(problem.conditions()) {
            let violation = condition.expression.value(&cells);
            // A rate that is undefined here says nothing.
            if violation.is_finite() {
                *multiplier += STEEPNESS * violation;
            }
            if condition.sense == Sense::AtMost {
                *multiplier = multiplier.max(0.0);
            }
        }
        self.rounds += 1;
        Ok(())
    }
}

/// Where to begin: the best threshold under the conditions that a threshold can meet, those between
/// groups left to the model.
pub(crate) fn threshold_to_start_at(goal: &Goal, sample: &Sample, scores: &[f32]) -> f32 {
    let mut goal = goal.clone();
    goal.constraints
        .retain(|constraint| !matches!(constraint, Constraint::Gap { .. } | Constraint::Ratio { .. }));
    let solved = exact::solve(&goal, sample, scores, &options()).ok().map(|solved| solved.thresholds[0]);
    solved.filter(|threshold| threshold.is_finite()).unwrap_or_else(|| {
        let mut sorted = scores.to_vec();
        sorted.sort_by(f32::total_cmp);
        sorted[sorted.len() / 2]
    })
}

fn options() -> ProblemOptions {
    ProblemOptions { shared_threshold: true, ..ProblemOptions::default() }
}

impl Loss for Multipliers {
    fn rounds(&self) -> u64 {
        ROUNDS + 1
    }

    fn next_round(&mut self, rows: &dyn Shard, scores: &[f32]) -> Result<bool, TrainError> {
        let more = self.rounds < ROUNDS;
        if more {
            self.ascend(rows, scores)?;
        }
        Ok(more)
    }

    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        self.problem.tie(&self.goal, rows, &options()).map_err(EngineError::from)?;
        let standard = Standard::of(rows, scores);
        self.counter.set_sharpness(1.0 / (self.bandwidth * standard.deviation));
        let mut cells = vec![Cell::default(); self.problem.shape().cells()];
        let grid = vec![0.0; cells.len() / 2];
        self.counter.count(rows, scores, &grid, false, &mut cells)?;
        let mut partials = vec![CellPartial::default(); cells.len()];
        let mut add = |expression: &crate::problem::Combination, factor: f64| {
            expression.visit_partials(&cells, |cell, positive, negative| {
                partials[cell].positive += factor * positive;
                partials[cell].negative += factor * negative;
            });
        };
        let mut value = self.problem.loss().value(&cells);
        add(self.problem.loss(), 1.0);
        for (condition, multiplier) in self.problem.conditions().iter().zip(&self.multipliers) {
            let offset = multiplier / STEEPNESS;
            let shifted = condition.expression.value(&cells) + offset;
            let pressed = if condition.sense == Sense::AtMost { shifted.max(0.0) } else { shifted };
            value += 0.5 * STEEPNESS * (pressed * pressed - offset * offset);
            if pressed != 0.0 {
                add(&condition.expression, STEEPNESS * pressed);
            }
        }
        self.counter.gradient(rows, scores, &grid, &partials, false, v)?;
        let along: f64 = v.iter().zip(scores).map(|(v, score)| f64::from(*v) * f64::from(*score)).sum();
        let factor = along / (standard.total * standard.deviation * standard.deviation);
        rows.add_line(scores, factor * standard.mean, -factor, v);
        Ok(value)
    }

    fn state(&self) -> State {
        State::default().with("multipliers", self.multipliers.clone()).with("rounds", vec![self.rounds])
    }

    fn restore(&mut self, state: &State) -> Result<(), TrainError> {
        self.multipliers = state.sized("multipliers", self.multipliers.len())?.to_vec();
        [self.rounds] = state.array("rounds")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Sample, Vec<f32>) {
        let labels = (0..60).map(|i| (i * 7 % 10) < 4).collect();
        let codes = (0..60).map(|i| u32::from(i % 3 == 0)).collect();
        let weights = (0..60).map(|i| 1.0 + (i % 4) as f32 / 4.0).collect();
        let sample = Sample::new(labels).unwrap().with_weights(weights).unwrap();
        let sample = sample.with_groups("g", vec!["a".into(), "b".into()], codes).unwrap();
        let scores = (0..60).map(|i| ((i * i) as f32 * 0.31).sin() * 2.0 + 0.3).collect();
        (sample, scores)
    }

    #[test]
    fn the_gradient_matches_finite_differences_through_the_moving_width() {
        let (sample, scores) = sample();
        for goal in [
            "accuracy @ gap(positive-rate, g)<=0.05",
            "recall @ fpr<=20%, ratio(recall, g)>=0.8",
            "recall @ precision(g)>=0.9",
        ] {
            let goal: Goal = goal.parse().unwrap();
            let mut loss = Multipliers::new(&goal, &sample, Surrogate::Sigmoid, 0.5).unwrap();
            loss.ascend(&sample, &scores).unwrap();
            let (mut v, mut unused) = (vec![0.0; 60], vec![0.0; 60]);
            loss.evaluate(&sample, &scores, &mut v).unwrap();
            for row in [0, 7, 33] {
                let h = 0.007_812_5;
                let mut moved = scores.clone();
                moved[row] += h;
                let above = loss.evaluate(&sample, &moved, &mut unused).unwrap();
                moved[row] -= 2.0 * h;
                let numeric =
                    (above - loss.evaluate(&sample, &moved, &mut unused).unwrap()) / (2.0 * f64::from(h));
                // Second-order differences of a function with scale 1/2: h² / (6 · 0.5³) of the slope.
                let error = (f64::from(v[row]) - numeric).abs();
                assert!(error < 1e-4 + 1e-3 * numeric.abs(), "{goal}: {} {numeric}", v[row]);
            }
        }
    }

    #[test]
    fn multipliers_rise_where_a_condition_is_missed_and_never_fall_below_zero() {
        let labels = vec![true, false, true, false];
        let sample = Sample::new(labels).unwrap();
        let sample = sample.with_groups("g", vec!["a".into(), "b".into()], vec![0, 0, 1, 1]).unwrap();
        let goal: Goal = "accuracy @ gap(positive-rate, g)<=0.1".parse().unwrap();
        let mut loss = Multipliers::new(&goal, &sample, Surrogate::Sigmoid, 0.1).unwrap();
        // All of a, none of b: a is ahead of b by 1.
        loss.ascend(&sample, &[1.0, 1.0, -1.0, -1.0]).unwrap();
        assert_eq!(loss.multipliers(), [STEEPNESS * 0.9, 0.0]);
        let state = loss.state();
        // Half of each: no gap, 0.1 to spare.
        loss.ascend(&sample, &[1.0, -1.0, 1.0, -1.0]).unwrap();
        assert!((loss.multipliers()[0] - STEEPNESS * 0.8).abs() < 1e-12);
        assert_eq!((loss.multipliers()[1], loss.rounds), (0.0, 2));
        loss.restore(&state).unwrap();
        assert_eq!((loss.multipliers(), loss.rounds), (&[STEEPNESS * 0.9, 0.0][..], 1));
    }
}
