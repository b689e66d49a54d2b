//! The scores of the last batches, as they were when computed.
//!
//! A batch of a few hundred rows has too few examples near a 1% threshold to place it. The last
//! twenty have enough, and the network moves little in that time.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use setpoint::Sample;
use setpoint::sample::SampleError;

/// Batches, the newest last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pool {
    batches: VecDeque<Batch>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Batch {
    scores: Vec<f32>,
    labels: Vec<bool>,
}

impl Pool {
    /// Adds a batch and lets go of those beyond the last `most`.
    pub fn push(&mut self, scores: Vec<f32>, labels: Vec<bool>, most: usize) {
        self.batches.push_back(Batch { scores, labels });
        while self.batches.len() > most {
            self.batches.pop_front();
        }
    }

    /// All that is held, in the order it came.
    ///
    /// # Errors
    /// If nothing is.
    pub fn joined(&self) -> Result<(Sample, Vec<f32>), SampleError> {
        let scores = self.batches.iter().flat_map(|batch| batch.scores.iter().copied()).collect();
        let labels = self.batches.iter().flat_map(|batch| batch.labels.iter().copied()).collect();
        Ok((Sample::new(labels)?, scores))
    }

    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// Whether every score is finite and has its label, as after [`push`](Self::push) of checked batches.
    pub fn is_sound(&self) -> bool {
        self.batches.iter().all(|batch| {
            batch.scores.len() == batch.labels.len() && batch.scores.iter().all(|score| score.is_finite())
        })
    }
}
