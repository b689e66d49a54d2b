//! What losses on mini-batches share: the scores of the last batches, and two gradients as one.

use std::collections::VecDeque;

use super::TrainError;
use crate::optimizer::{State, damaged};
use crate::sample::Sample;

/// Memory of the moving averages that balance two gradients.
const MEMORY: f64 = 0.95;
/// Largest code of a group in a state that is not damaged.
const MOST_GROUPS: u32 = 1 << 20;

/// The last batches, with their scores as they were when computed.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) sample: Sample,
    pub(super) scores: Vec<f32>,
    /// Rows of each batch.
    sizes: VecDeque<usize>,
}

impl Pool {
    pub(super) fn none() -> Self {
        Self { sample: Sample::none(), scores: Vec::new(), sizes: VecDeque::new() }
    }

    /// Takes a batch in, and drops the oldest beyond `most`.
    pub(super) fn push(&mut self, batch: &Sample, scores: &[f32], most: usize) {
        let excess = (self.sizes.len() + 1).saturating_sub(most.max(1));
        let old: usize = self.sizes.drain(..excess).sum();
        let outputs = scores.len() / batch.len().max(1);
        self.sample.roll(old, batch);
        self.scores.drain(..old * outputs);
        self.scores.extend_from_slice(scores);
        self.sizes.push_back(batch.len());
    }

    /// Adds itself to a state.
    pub(super) fn save(&self, state: State) -> State {
        let Self { sample, scores, sizes } = self;
        let codes = sample.groups().map(|groups| groups.codes().to_vec());
        state
            .with("pool sizes", sizes.iter().map(|size| *size as u64).collect::<Vec<_>>())
            .with("pool scores", scores.clone())
            .with("pool labels", sample.labels().iter().map(|label| u32::from(*label)).collect::<Vec<_>>())
            .with_some("pool weights", sample.weights().map(<[f32]>::to_vec))
            .with_some("pool groups", codes)
    }

    /// What [`save`](Self::save) added, with so many scores for each row.
    pub(super) fn restored(state: &State, outputs: usize) -> Result<Self, TrainError> {
        let damaged = |name| TrainError::from(damaged(name));
        let scores: Vec<f32> = state.get("pool scores")?.to_vec();
        let labels: Vec<bool> = state.get::<u32>("pool labels")?.iter().map(|label| *label == 1).collect();
        let sizes: VecDeque<usize> =
            state.get::<u64>("pool sizes")?.iter().map(|size| *size as usize).collect();
        let rows = sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size));
        let expected = rows.and_then(|rows| rows.checked_mul(outputs));
        if expected != Some(scores.len()) || scores.iter().any(|score| !score.is_finite()) {
            return Err(damaged("pool scores"));
        }
        if rows != Some(labels.len()) {
            return Err(damaged("pool labels"));
        }
        if labels.is_empty() {
            return Ok(Self { sizes, ..Self::none() });
        }
        let mut sample = Sample::new(labels)?;
        if let Some(weights) = state.find("pool weights")? {
            sample = sample.with_weights(weights.to_vec())?;
        }
        if let Some(codes) = state.find::<u32>("pool groups")? {
            if codes.iter().any(|code| *code > MOST_GROUPS) {
                return Err(damaged("pool groups"));
            }
            sample = sample.with_codes(codes.to_vec())?;
        }
        Ok(Self { sample, scores, sizes })
    }
}

/// Two gradients, brought to the same size by moving averages E, as one:
///
/// ```text
/// v = mix v_ce + (1 - mix) b v_goal,      b = E[mean |v_ce|] / E[mean |v_goal|]
/// ```
#[derive(Debug, Default)]
pub(super) struct Balance {
    /// Moving averages of mean |v|: of cross-entropy, and of the goal's loss.
    sizes: Option<[f64; 2]>,
}

impl Balance {
    /// Mixes the gradient of cross-entropy into that of the goal, and into those besides that are not empty; returns the
    /// mixed loss.
    pub(super) fn mix(
        &mut self,
        mix: f64,
        (entropy, beside): (f64, &[f32]),
        (goal, v): (f64, &mut [f32]),
        more: &mut [f32],
    ) -> f64 {
        let size = |v: &[f32]| v.iter().map(|v| f64::from(v.abs())).sum::<f64>() / v.len() as f64;
        let now = [size(beside), size(v)];
        let kept = self.sizes.unwrap_or(now);
        let sizes = [0, 1].map(|i| MEMORY * kept[i] + (1.0 - MEMORY) * now[i]);
        self.sizes = Some(sizes);
        let balance = if sizes[1] > 0.0 { sizes[0] / sizes[1] } else { 0.0 };
        let mixed = |entropy: f64, goal: f64| mix * entropy + (1.0 - mix) * balance * goal;
        for v in [v, more] {
            let pairs = v.iter_mut().zip(beside);
            pairs.for_each(|(v, entropy)| *v = mixed(f64::from(*entropy), f64::from(*v)) as f32);
        }
        mixed(entropy, goal)
    }

    /// Adds itself to a state.
    pub(super) fn save(&self, state: State) -> State {
        state.with_some("sizes", self.sizes.map(|sizes| sizes.to_vec()))
    }

    /// What [`save`](Self::save) added.
    pub(super) fn restored(state: &State) -> Result<Self, TrainError> {
        let sizes: Option<[f64; 2]> =
            state.find::<f64>("sizes")?.map(|_| state.array("sizes")).transpose()?;
        if !sizes.is_none_or(|sizes| sizes.iter().all(|size| size.is_finite() && *size >= 0.0)) {
            return Err(damaged("sizes").into());
        }
        Ok(Self { sizes })
    }
}
