//! What losses on mini-batches keep from one batch to the next: the scores of the last ones, and how large gradients
//! are.

use std::collections::VecDeque;

use super::TrainError;
use crate::optimizer::{State, damaged};
use crate::sample::{Sample, Stakes};

/// Steps between measurements of the scores' scale.
pub(super) const REFRESH: u64 = 10;
/// Memory of the moving averages that balance two gradients.
const MEMORY: f64 = 0.95;
/// Largest code of a group in a state that is not damaged.
const MOST_GROUPS: u32 = 1 << 20;

/// The last batches, with their scores as they were when computed.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) sample: Sample,
    pub(super) scores: Vec<f32>,
    /// Scores of each batch.
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
        let outputs = if batch.len() == 0 { 1 } else { scores.len() / batch.len() };
        self.sample.roll(old / outputs, batch);
        self.scores.drain(..old);
        self.scores.extend_from_slice(scores);
        self.sizes.push_back(scores.len());
    }

    /// The examples and their scores; none before the first batch.
    pub(super) fn held(&self) -> Option<(&Sample, &[f32])> {
        (!self.scores.is_empty()).then_some((&self.sample, &self.scores))
    }

    pub(super) fn state(&self) -> State {
        let Self { sample, scores, sizes } = self;
        let paid = |stakes: &Stakes| {
            let kind = if stakes.profit() { 1.0 } else { 0.0 };
            [kind].into_iter().chain(stakes.pays().iter().flatten().copied()).collect::<Vec<f64>>()
        };
        let codes = sample.groups().map(|groups| groups.codes().to_vec());
        State::default()
            .with("pool sizes", sizes.iter().map(|size| *size as u64).collect::<Vec<_>>())
            .with("pool scores", scores.clone())
            .with("pool labels", sample.labels().iter().map(|label| u32::from(*label)).collect::<Vec<_>>())
            .with_some("pool weights", sample.weights().map(<[f32]>::to_vec))
            .with_some("pool groups", codes)
            .with_some("pool pays", sample.stakes().map(paid))
    }

    /// The pool of a state, with so many scores for each row.
    pub(super) fn restored(state: &State, outputs: usize) -> Result<Self, TrainError> {
        let damaged = |name| TrainError::from(damaged(name));
        let scores: Vec<f32> = state.get("pool scores")?.to_vec();
        let labels: Vec<bool> = state.get::<u32>("pool labels")?.iter().map(|label| *label == 1).collect();
        let sizes: VecDeque<usize> =
            state.get::<u64>("pool sizes")?.iter().map(|size| *size as usize).collect();
        let length = sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size));
        let whole = sizes.iter().all(|size| size.is_multiple_of(outputs));
        if length != Some(scores.len()) || !whole || scores.iter().any(|score| !score.is_finite()) {
            return Err(damaged("pool scores"));
        }
        if labels.len() * outputs != scores.len() {
            return Err(damaged("pool labels"));
        }
        let mut sample = Sample::none();
        if !labels.is_empty() {
            sample = Sample::new(labels)?;
            if let Some(weights) = state.find("pool weights")? {
                sample = sample.with_weights(weights.to_vec())?;
            }
            if let Some(codes) = state.find::<u32>("pool groups")? {
                if codes.iter().any(|code| *code > MOST_GROUPS) {
                    return Err(damaged("pool groups"));
                }
                sample = sample.with_codes(codes.to_vec())?;
            }
            if let Some([kind, pays @ ..]) = state.find::<f64>("pool pays")? {
                let pays = pays.chunks_exact(2).map(|pays| [pays[0], pays[1]]).collect();
                sample = sample.with_stakes(*kind == 1.0, pays)?;
            }
        }
        Ok(Self { sample, scores, sizes })
    }
}

/// Cross-entropy and a goal's loss brought to the same size, by moving averages of mean |v|.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Balance {
    sizes: Option<[f64; 2]>,
}

impl Balance {
    /// Mixes the gradient of cross-entropy into those of the goal's loss, the first of which is measured; returns
    /// the mixed loss. `sum` adds up over those who have a share of the batch.
    pub(super) fn mix(
        &mut self,
        mix: f64,
        beside: (f64, &[f32]),
        goal: f64,
        vs: [&mut [f32]; 2],
        sum: impl FnOnce(&mut [f64]),
    ) -> f64 {
        let (entropy, beside) = beside;
        let size = |v: &[f32]| v.iter().map(|v| f64::from(v.abs())).sum::<f64>();
        let mut sums = [size(beside), size(vs[0]), beside.len() as f64];
        sum(&mut sums);
        let now = [sums[0] / sums[2], sums[1] / sums[2]];
        let kept = self.sizes.unwrap_or(now);
        let sizes = [0, 1].map(|i| MEMORY * kept[i] + (1.0 - MEMORY) * now[i]);
        self.sizes = Some(sizes);
        let balance = if sizes[1] > 0.0 { sizes[0] / sizes[1] } else { 0.0 };
        let mixed = |entropy: f64, goal: f64| mix * entropy + (1.0 - mix) * balance * goal;
        for v in vs {
            let pairs = v.iter_mut().zip(beside);
            pairs.for_each(|(v, entropy)| *v = mixed(f64::from(*entropy), f64::from(*v)) as f32);
        }
        mixed(entropy, goal)
    }

    pub(super) fn state(self) -> State {
        State::default().with_some("sizes", self.sizes.map(|sizes| sizes.to_vec()))
    }

    pub(super) fn restored(state: &State) -> Result<Self, TrainError> {
        let sizes: Option<[f64; 2]> =
            state.find::<f64>("sizes")?.map(|_| state.array("sizes")).transpose()?;
        if !sizes.is_none_or(|sizes| sizes.iter().all(|size| size.is_finite() && *size >= 0.0)) {
            return Err(damaged("sizes").into());
        }
        Ok(Self { sizes })
    }
}

/// The sharpness of a state.
pub(super) fn sharpness(state: &State) -> Result<Option<f64>, TrainError> {
    let found: Option<&[f64]> = state.find("sharpness")?;
    match found {
        None => Ok(None),
        Some([sharpness]) if sharpness.is_finite() && *sharpness > 0.0 => Ok(Some(*sharpness)),
        Some(_) => Err(damaged("sharpness").into()),
    }
}
