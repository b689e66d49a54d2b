//! A booster that is told of as it grows, and ends where it promises nothing better any more.

use std::ops::ControlFlow;
use std::time::Instant;

use setpoint::Sample;
use setpoint::train::{Progress, StageKind, TrainError};

use crate::ensemble::Ensemble;
use crate::error::TreesError;
use crate::features::FeatureView;
use crate::grow::{Growth, Look, Round, grow};
use crate::ico::Derivatives;
use crate::judge::Promise;
use crate::library::Dataset;
use crate::purpose::Referee;
use crate::side_by_side::Tell;

/// A booster, the looks at it, and what each promised each goal.
pub(crate) type Grown = (Ensemble, Vec<Look>, Vec<Promise>);

/// How a booster is told of and judged.
pub(crate) struct Watched<'w> {
    pub(crate) name: &'w str,
    /// Which stage it is, and how many there are.
    pub(crate) stage: (usize, usize),
    /// The goals; without any it takes all its rounds.
    pub(crate) judges: &'w [Referee<'w>],
    /// Rounds without a better promise for any goal before it ends.
    pub(crate) patience: usize,
    /// When it ends whatever it promises.
    pub(crate) until: Option<Instant>,
}

impl Watched<'_> {
    /// Grows it on binned rows of `columns` columns, with looks at the held-out rows where there are any, and what each
    /// look promised each goal.
    pub(crate) fn grow(
        &self,
        (bins, sample, columns): (&Dataset<'_>, &Sample, usize),
        held_out: Option<&FeatureView<'_>>,
        growth: &Growth<'_>,
        mixture: Option<&mut dyn Derivatives>,
        tell: Tell<'_>,
    ) -> Result<Grown, TreesError> {
        let mut best: Vec<Option<(Promise, usize)>> = vec![None; self.judges.len()];
        let mut promises = Vec::new();
        let mut after = |round: &Round<'_>| {
            let mut validation = None;
            for (judge, best) in self.judges.iter().zip(&mut best) {
                let Some(look) = round.look else { break };
                let promise = judge.promise(&look.scores)?;
                validation = validation.or(promise.value);
                promises.push(promise);
                if best.is_none_or(|(best, _)| promise.order(&best).is_lt()) {
                    *best = Some((promise, round.rounds));
                }
            }
            if tell(self.progress(round, growth.rounds, validation)).is_break() {
                return Err(TrainError::Stopped.into());
            }
            let last = best.iter().flatten().map(|(_, rounds)| *rounds).max().unwrap_or(round.rounds);
            let late = self.until.is_some_and(|until| Instant::now() >= until);
            let stale = round.look.is_some() && (late || round.rounds - last >= self.patience);
            Ok(if stale { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        };
        let (ensemble, looks) = grow(bins, sample, held_out, columns, growth, mixture, &mut after)?;
        Ok((ensemble, looks, promises))
    }

    fn progress(&self, round: &Round<'_>, rounds: usize, validation: Option<f64>) -> Progress {
        Progress {
            kind: StageKind::Boosting,
            stage: self.name.to_owned(),
            stage_index: self.stage.0,
            stages: self.stage.1,
            step: round.rounds as u64,
            steps: rounds as u64,
            loss: round.loss,
            validation,
            detail: None,
        }
    }
}
