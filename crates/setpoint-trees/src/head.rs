//! A linear head over boosters' held-out scores, trained for the goal by ico.
//!
//! With z the boosters' scores in units of their spread, b the average that the head starts from and
//! is held to, and sd(a) the spread of the head's scores:
//!
//! ```text
//! s = Σ a_j z_j,    minimise  goal(s) + ρ | a / sd(a) - b / sd(b) |²
//! ```
//!
//! Signs are free: a booster may be subtracted. The distance does not depend on the scale of a, as
//! the goal does not.

use setpoint::Sample;
use setpoint::engine::EngineOptions;
use setpoint::goal::Goal;
use setpoint::optimizer::{Lbfgs, LbfgsConfig};
use setpoint::train::method::{Ico, Loss};
use setpoint::train::{Bandwidth, Standard, TrainError};

/// ρ; see `docs/decisions.md` for what it was measured against.
const PENALTY: f64 = 0.1;
/// The surrogate's width, in units of the tail that the goal looks at.
const BANDWIDTH: Bandwidth = Bandwidth::Tail(0.5);
/// Most evaluations of the goal.
const EVALUATIONS: u64 = 30;

/// The head's weights over members, each with one score of unit spread for each row; `start` holds the
/// weights to begin with and to stay near.
///
/// # Errors
/// If a member or `start` is not as long as it should be, or the goal has no gradient on this sample.
pub fn fit(
    goal: &Goal,
    sample: &Sample,
    members: &[Vec<f32>],
    start: &[f64],
) -> Result<Vec<f64>, TrainError> {
    for member in members {
        sample.check_scores(member)?;
    }
    if members.len() != start.len() {
        let found = format!("{} for {} boosters", start.len(), members.len());
        return Err(TrainError::Setting { what: "weights", found, expected: "one for each booster" });
    }
    let mut ico = Ico::new(goal, sample, EngineOptions::default(), BANDWIDTH)?;
    let narrow: Vec<f32> = start.iter().map(|weight| *weight as f32).collect();
    let mut scores = vec![0.0; sample.len()];
    let mut v = vec![0.0; sample.len()];
    mix(members, &narrow, &mut scores);
    let spread = Standard::of(sample, &scores).deviation;
    let anchor: Vec<f64> = start.iter().map(|weight| weight / spread).collect();
    let config =
        LbfgsConfig { max_evaluations: EVALUATIONS, decrease_tolerance: 1e-5, ..LbfgsConfig::default() };
    let mut lbfgs = Lbfgs::new(config, narrow)?;
    let mut evaluate = |weights: &[f32], gradient: &mut [f64]| {
        mix(members, weights, &mut scores);
        let loss = match ico.evaluate(sample, &scores, &mut v) {
            Ok(loss) => loss,
            // No threshold at these scores: the line search steps back.
            Err(TrainError::Threshold(_) | TrainError::Engine(_)) => return Ok(f64::INFINITY),
            Err(error) => return Err(error),
        };
        let penalty = pull(sample, &scores, weights, &anchor, &mut v, gradient);
        for (gradient, member) in gradient.iter_mut().zip(members) {
            *gradient += member.iter().zip(&v).map(|(z, v)| f64::from(*z) * f64::from(*v)).sum::<f64>();
        }
        Ok::<f64, TrainError>(loss + penalty)
    };
    lbfgs.minimize(&mut evaluate)?;
    Ok(lbfgs.parameters().iter().map(|weight| f64::from(*weight)).collect())
}

/// The head's scores.
fn mix(members: &[Vec<f32>], weights: &[f32], scores: &mut [f32]) {
    for (row, score) in scores.iter_mut().enumerate() {
        let terms = members.iter().zip(weights);
        *score =
            terms.map(|(member, weight)| f64::from(member[row]) * f64::from(*weight)).sum::<f64>() as f32;
    }
}

/// The penalty; its gradient by the weights is written to `gradient`, that by the scores (through
/// their spread) added to `v`.
fn pull(
    sample: &Sample,
    scores: &[f32],
    weights: &[f32],
    anchor: &[f64],
    v: &mut [f32],
    gradient: &mut [f64],
) -> f64 {
    let standard = Standard::of(sample, scores);
    let sd = standard.deviation;
    let (mut penalty, mut by_spread) = (0.0, 0.0);
    for ((weight, anchor), gradient) in weights.iter().zip(anchor).zip(gradient) {
        let weight = f64::from(*weight);
        let distance = weight / sd - anchor;
        penalty += PENALTY * distance * distance;
        by_spread -= 2.0 * PENALTY * distance * weight / (sd * sd);
        *gradient = 2.0 * PENALTY * distance / sd;
    }
    // d sd / d s_i = w_i (s_i - mean) / (sd Σ w)
    let factor = by_spread / (sd * standard.total);
    for (row, (v, score)) in v.iter_mut().zip(scores).enumerate() {
        *v += (factor * sample.weight(row) * (f64::from(*score) - standard.mean)) as f32;
    }
    penalty
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two members that help, at different ends, and one of noise.
    fn task(rows: usize) -> (Sample, Vec<Vec<f32>>) {
        let noise = |row: usize, k: f32| ((row as f32 * k).sin() * 43_758.547).fract();
        let labels: Vec<bool> = (0..rows).map(|row| row % 6 == 0).collect();
        let member = |lift: f32, k: f32| {
            labels.iter().enumerate().map(|(row, y)| noise(row, k) + lift * f32::from(u8::from(*y))).collect()
        };
        let members = vec![member(0.4, 12.9), member(0.9, 78.2), member(0.0, 39.4)];
        (Sample::new(labels.clone()).unwrap(), members)
    }

    #[test]
    fn the_penaltys_gradient_matches_finite_differences() {
        let (sample, members) = task(90);
        let anchor = [0.3, 0.6, 0.1];
        let evaluate = |weights: &[f32]| {
            let (mut scores, mut v, mut gradient) = (vec![0.0; 90], vec![0.0; 90], vec![0.0; 3]);
            mix(&members, weights, &mut scores);
            let value = pull(&sample, &scores, weights, &anchor, &mut v, &mut gradient);
            for (gradient, member) in gradient.iter_mut().zip(&members) {
                *gradient += member.iter().zip(&v).map(|(z, v)| f64::from(z * v)).sum::<f64>();
            }
            (value, gradient)
        };
        let weights = [0.5f32, -0.25, 0.75];
        let (value, gradient) = evaluate(&weights);
        for index in 0..3 {
            let h = 0.007_812_5;
            let mut moved = weights;
            moved[index] += h;
            let above = evaluate(&moved).0;
            moved[index] -= 2.0 * h;
            let numeric = (above - evaluate(&moved).0) / (2.0 * f64::from(h));
            // Scores are f32, and a central difference errs by h² of the third derivative.
            assert!((gradient[index] - numeric).abs() < 2e-3 * value, "{} {numeric}", gradient[index]);
        }
    }

    #[test]
    fn a_head_raises_the_goal_above_the_average_it_starts_from() {
        let (sample, members) = task(3000);
        let goal: Goal = "recall @ fpr<=5%".parse().unwrap();
        let start = [1.0 / 3.0; 3];
        let weights = fit(&goal, &sample, &members, &start).unwrap();
        let value = |weights: &[f64]| {
            let narrow: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
            let mut scores = vec![0.0; sample.len()];
            mix(&members, &narrow, &mut scores);
            setpoint::train::Judge::new(&goal, &sample).exact(&scores).unwrap()
        };
        let (before, after) = (value(&start), value(&weights));
        assert!(after > before + 0.05, "{before} to {after} with {weights:?}");
    }
}
