//! The steps of a run, kept for its report.

use std::ops::ControlFlow;

use setpoint::train::{Observer, Progress};
use setpoint_report::{StageRecord, StepRecord};

/// Most steps of a stage that are kept.
const MOST: usize = 200;

/// Keeps steps on their way to an observer.
pub(crate) struct Recorder<'r> {
    inner: &'r mut (dyn Observer + 'r),
    /// Each with every how many of its steps one is kept.
    stages: Vec<(StageRecord, u64)>,
    /// How many there will be.
    planned: usize,
}

impl<'r> Recorder<'r> {
    pub(crate) fn new(inner: &'r mut (dyn Observer + 'r)) -> Self {
        Self { inner, stages: Vec::new(), planned: 0 }
    }

    /// The stages, each with its rotation of the rows; those marked that the winner is made of.
    pub(crate) fn finish(mut self, kept: &[usize], rotations: usize) -> Vec<StageRecord> {
        let each = (self.planned / rotations.max(1)).max(1) as u64;
        for (stage, _) in &mut self.stages {
            stage.kept = kept.contains(&(stage.rotation as usize));
            stage.rotation = stage.rotation / each + 1;
        }
        self.stages.into_iter().map(|(stage, _)| stage).collect()
    }

    fn keep(&mut self, progress: &Progress) {
        self.planned = progress.stages;
        // Stages run side by side, and are kept in their order.
        let rotation = progress.stage_index as u64;
        let place = self.stages.partition_point(|(stage, _)| stage.rotation < rotation);
        if self.stages.get(place).is_none_or(|(stage, _)| stage.rotation != rotation) {
            let (kind, name) = (progress.kind, progress.stage.clone());
            let stage = StageRecord { kind, name, rotation, ..StageRecord::default() };
            self.stages.insert(place, (stage, 1));
        }
        let (stage, every) = &mut self.stages[place];
        let finite = |value: f64| value.is_finite().then_some(value);
        let detail = progress.detail.as_ref();
        let step = StepRecord {
            step: progress.step,
            loss: finite(progress.loss),
            validation: progress.validation,
            objective: detail.and_then(|detail| finite(detail.objective)),
            constraint: detail.and_then(|detail| detail.constraints.iter().copied().reduce(f64::max)),
            threshold: detail.and_then(|detail| detail.thresholds.first().copied()),
        };
        // Looks at validation are few and always kept, as far as there is room.
        if progress.step.is_multiple_of(*every) || progress.step == progress.steps {
            stage.steps.push(step);
        } else if let (Some(_), Some(last)) = (step.validation, stage.steps.last_mut()) {
            last.validation = step.validation;
        }
        if stage.steps.len() > MOST {
            *every *= 2;
            stage.steps.retain(|step| step.step.is_multiple_of(*every));
        }
    }
}

impl Observer for Recorder<'_> {
    fn observe(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.keep(progress);
        self.inner.observe(progress)
    }
}

#[cfg(test)]
mod tests {
    use setpoint::train::{Silent, StageKind};

    use super::*;

    #[test]
    fn long_stages_are_thinned_evenly_and_the_kept_ones_marked() {
        let mut silent = Silent;
        let mut recorder = Recorder::new(&mut silent);
        for (stage_index, stage, steps) in
            [(0, "cross-entropy", 10), (1, "ico", 5000), (2, "cross-entropy", 1), (3, "ico", 1)]
        {
            for step in 1..=steps {
                let progress = Progress {
                    kind: StageKind::Ico,
                    stage: stage.to_owned(),
                    stage_index,
                    stages: 4,
                    step,
                    steps,
                    loss: f64::NAN,
                    validation: Some(step as f64),
                    detail: None,
                };
                assert_eq!(recorder.observe(&progress), ControlFlow::Continue(()));
            }
        }
        let stages = recorder.finish(&[1, 3], 2);
        assert_eq!(stages.iter().map(|stage| stage.kept).collect::<Vec<_>>(), [false, true, false, true]);
        assert_eq!(stages.iter().map(|stage| stage.rotation).collect::<Vec<_>>(), [1, 1, 2, 2]);
        assert_eq!(stages[0].steps.len(), 10);
        let long = &stages[1].steps;
        assert!((MOST / 2..=MOST + 1).contains(&long.len()), "{}", long.len());
        assert_eq!(long[long.len() - 1].step, 5000);
        assert!(serde_json::to_string(&stages).is_ok());
    }
}
