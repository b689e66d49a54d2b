//! One step in score space, on the host.
//!
//! ```text
//! v = mix v_ce + (1 - mix) b v_goal,      b = E[mean |v_ce|] / E[mean |v_goal|]
//! ```
//!
//! E is a moving average: the two gradients are brought to the same size before they are mixed. The
//! goal's comes from the pool; the newest batch stands for all of it.

use setpoint::Sample;
use setpoint::engine::{Engine, EngineError, EngineOptions};
use setpoint::problem::ProblemError;
use setpoint::threshold::ThresholdError;
use setpoint::train::method::{CrossEntropy, Loss, tail_scale};
use setpoint::train::{Bandwidth, Standard, TrainError};

use crate::{GoalLoss, LossError};

/// Steps between measurements of the scores' scale.
const REFRESH: u64 = 10;
/// Memory of the moving averages that balance the two gradients.
const MEMORY: f64 = 0.95;

/// A loss and its derivative by each score of the batch.
type Gradient = (f64, Vec<f32>);

impl GoalLoss {
    /// The loss of a checked batch; the state is brought up to date.
    pub(crate) fn step(&mut self, scores: Vec<f32>, labels: Vec<bool>) -> Result<Gradient, LossError> {
        let mix = self.config.mix;
        let entropy = self.cross_entropy(&scores, &labels)?;
        let rows = scores.len();
        self.state.pool.push(scores, labels, self.config.pool_batches);
        self.state.steps += 1;
        if self.state.steps <= self.config.warmup || mix == 1.0 {
            return Ok(entropy);
        }
        let Some(goal) = self.on_pool(rows)? else {
            self.state.alone += 1;
            return Ok(entropy);
        };
        if mix == 0.0 {
            return Ok(goal);
        }
        let balance = self.balance(&entropy.1, &goal.1);
        let mixed = |entropy: f64, goal: f64| mix * entropy + (1.0 - mix) * balance * goal;
        let pairs = entropy.1.iter().zip(&goal.1);
        let v = pairs.map(|(entropy, goal)| mixed(f64::from(*entropy), f64::from(*goal)) as f32).collect();
        Ok((mixed(entropy.0, goal.0), v))
    }

    fn cross_entropy(&self, scores: &[f32], labels: &[bool]) -> Result<Gradient, LossError> {
        let batch = Sample::new(labels.to_vec())?;
        let mut v = vec![0.0; scores.len()];
        let value = CrossEntropy::new(&batch, self.config.positive_weight).evaluate(scores, &mut v)?;
        Ok((value, v))
    }

    /// The goal's loss on the pool and its derivative by the newest scores, as if they were the whole
    /// pool; none where the pool cannot place the thresholds.
    fn on_pool(&mut self, newest: usize) -> Result<Option<Gradient>, LossError> {
        let (sample, scores) = self.state.pool.joined()?;
        let totals = sample.totals();
        if totals.positives == 0.0 || totals.negatives == 0.0 {
            return Ok(None);
        }
        let Some(sharpness) = self.refresh(&sample, &scores) else {
            return Ok(None);
        };
        let (value, mut v, thresholds) = match self.solve(&sample, &scores, sharpness) {
            Ok(found) => found,
            Err(error) if is_about_the_scores(&error) => return Ok(None),
            Err(error) => return Err(TrainError::Engine(error).into()),
        };
        self.state.thresholds = Some(thresholds);
        let share = scores.len() as f32 / newest as f32;
        let v = v.split_off(scores.len() - newest).into_iter().map(|v| share * v).collect();
        Ok(Some((value, v)))
    }

    fn solve(
        &self,
        sample: &Sample,
        scores: &[f32],
        sharpness: f64,
    ) -> Result<(f64, Vec<f32>, Vec<f64>), EngineError> {
        let options =
            EngineOptions { surrogate: self.config.surrogate, sharpness, ..EngineOptions::default() };
        let mut engine = Engine::new(&self.goal, sample, options)?;
        if let Some(thresholds) = &self.state.thresholds {
            engine.set_thresholds(thresholds)?;
        }
        let mut v = vec![0.0; scores.len()];
        let value = match engine.step(scores, &mut v).map(|step| step.loss) {
            // A warm start can lie where the smooth conditions have no root within reach.
            Err(EngineError::Threshold(_)) => {
                engine.correct(scores)?;
                engine.step(scores, &mut v)?.loss
            }
            found => found?,
        };
        Ok((value, v, engine.thresholds().map(<[f64]>::to_vec).unwrap_or_default()))
    }

    /// The surrogate's sharpness, measured now and then; none where the scores have no width.
    fn refresh(&mut self, sample: &Sample, scores: &[f32]) -> Option<f64> {
        if self.state.sharpness.is_none() || self.state.steps.is_multiple_of(REFRESH) {
            let width = match self.config.bandwidth {
                Bandwidth::Deviations(share) => share * Standard::of(sample, scores).deviation,
                Bandwidth::Tail(share) => share * tail_scale(&self.goal, sample, scores),
                Bandwidth::Score(width) => width,
            };
            self.state.sharpness =
                (width > 0.0).then(|| 1.0 / width).filter(|sharpness| sharpness.is_finite());
        }
        self.state.sharpness
    }

    /// How much larger cross-entropy's gradient is than the goal's, on average over the last steps.
    fn balance(&mut self, entropy: &[f32], goal: &[f32]) -> f64 {
        let size = |v: &[f32]| v.iter().map(|v| f64::from(v.abs())).sum::<f64>() / v.len() as f64;
        let now = [size(entropy), size(goal)];
        let kept = self.state.sizes.unwrap_or(now);
        let sizes = [0, 1].map(|i| MEMORY * kept[i] + (1.0 - MEMORY) * now[i]);
        self.state.sizes = Some(sizes);
        if sizes[1] > 0.0 { sizes[0] / sizes[1] } else { 0.0 }
    }
}

/// Whether the same goal may be met on other scores.
fn is_about_the_scores(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::Problem(ProblemError::Sample(_))
            | EngineError::Threshold(
                ThresholdError::Infeasible { .. }
                    | ThresholdError::NotSettled { .. }
                    | ThresholdError::Metric(_)
            )
    )
}
