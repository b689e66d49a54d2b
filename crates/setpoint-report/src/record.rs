//! The whole of a report as data: what the page shows, and what `--report-json` writes.

use serde::Serialize;
use setpoint::train::StageKind;

use crate::evaluate::{AtCondition, Bounds, EvaluateRecord, Measured};
use crate::few::LEAST;
use crate::picture::Pictures;
use crate::train::TrainRecord;

/// Everything in a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReportRecord {
    /// What the report is of, such as the name of the data file.
    pub title: String,
    /// The goal, as goals print.
    pub goal: String,
    /// The goal in words.
    pub goal_words: String,
    /// The goal that the shipped thresholds answer.
    pub operating: String,
    /// That in words.
    pub operating_words: String,
    /// What the conditions of the shipped thresholds ask for, in words.
    pub conditions: Vec<ConditionRecord>,
    /// The part that the answer and the pictures are of.
    pub shown: String,
    /// Every part that was measured.
    pub parts: Vec<PartRecord>,
    /// The model against cross-entropy on the part shown.
    pub comparison: Option<ComparisonRecord>,
    /// The same over several splits of the data, where it was run more than once.
    pub repeats: Option<RepeatRecord>,
    /// What to be careful about.
    pub cautions: Vec<CautionRecord>,
    /// What the pictures of scores and thresholds are drawn from; none where there are several classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pictures: Option<Pictures>,
    /// The training run, in a report of one.
    pub training: Option<TrainRecord>,
    /// Its steps.
    pub history: Vec<StageRecord>,
    /// How to run it again.
    pub run: RunRecord,
}

impl ReportRecord {
    /// Its sentences, in which a front end spells the settings.
    pub fn sentences(&mut self) -> impl Iterator<Item = &mut String> {
        let parts = self.parts.iter_mut().flat_map(|part| part.evaluation.sentences());
        self.cautions.iter_mut().map(|caution| &mut caution.text).chain(parts)
    }
}

/// A condition on a rate, held against its target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConditionRecord {
    /// As goals print it.
    pub condition: String,
    /// In words.
    pub words: String,
    /// The rate, where it is one of all rows or of each group.
    pub rate: Option<String>,
    /// Its target.
    pub target: f64,
}

/// One part of the data.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartRecord {
    /// `train`, `validation`, `calibration`, `test`, or the name of a file.
    pub name: String,
    /// What the model comes to on it.
    pub evaluation: EvaluateRecord,
}

/// Two methods under the same condition on the same rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonRecord {
    /// The other method.
    pub name: String,
    /// The model's value at the goal's condition.
    pub model: AtCondition,
    /// The other's.
    pub baseline: AtCondition,
    /// How much better the model is; below 0 where it is worse.
    pub gain: f64,
    /// The interval of that, from a paired bootstrap.
    pub interval: Option<Bounds>,
    /// The gain in whole examples.
    pub counts: Option<NaturalCount>,
    /// Rates of the other method at a threshold of its own, chosen as the model's was.
    pub baseline_ships: Vec<Measured>,
}

impl ComparisonRecord {
    /// Whether an interval or enough examples stand behind the gain.
    #[must_use]
    pub fn told(&self) -> bool {
        self.interval.is_some() || self.model.examples >= LEAST
    }
}

/// The comparison over several splits of the same data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RepeatRecord {
    /// How many.
    pub runs: u64,
    /// The model's mean value at the goal's condition, on the rows of each split that are shown.
    pub model: f64,
    /// The other's.
    pub baseline: f64,
    /// The mean gain, split by split.
    pub gain: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// A difference of rates as a number of examples among a thousand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NaturalCount {
    /// How many more, or where below 0 how many fewer.
    pub more: f64,
    /// Which examples: `positives caught`.
    pub noun: String,
    /// Of which thousand: `positives`.
    pub of: String,
}

/// Something to be careful about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CautionRecord {
    /// What kind: `not-certified`, `drift`, `ties`, and so on.
    pub kind: &'static str,
    /// In a sentence or two.
    pub text: String,
}

/// One stage of a training run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StageRecord {
    /// What it was fitted by.
    pub kind: StageKind,
    /// What was fitted.
    pub name: String,
    /// In which rotation of the train and validation rows, from 1.
    pub rotation: u64,
    /// Whether it is part of what was kept.
    pub kept: bool,
    /// Its steps, thinned where there are many.
    pub steps: Vec<StepRecord>,
}

/// A step of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StepRecord {
    /// Its number.
    pub step: u64,
    /// The training loss; `None` where it was not finite.
    pub loss: Option<f64>,
    /// The goal's exact value on validation, where it was looked at.
    pub validation: Option<f64>,
    /// The smooth objective on the training rows.
    pub objective: Option<f64>,
    /// How far the worst smooth condition is past its limit.
    pub constraint: Option<f64>,
    /// The first threshold, in standard deviations of the scores from their mean.
    pub threshold: Option<f64>,
}

/// What it takes to run it again.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunRecord {
    /// The command, quoted for a shell.
    pub command: Option<String>,
    /// Version of Setpoint that wrote the report.
    pub version: String,
    /// Version of Setpoint that trained the model; `None`, as what follows, for scores of a model from
    /// elsewhere.
    pub trained_with: Option<String>,
    /// The kind of model.
    pub model: Option<String>,
    /// The method it was trained by.
    pub method: Option<String>,
    /// The seed it was trained with.
    pub seed: Option<u64>,
    /// SHA-256 of the data it was trained on.
    pub trained_on: Option<String>,
    /// SHA-256 of the data shown, where that is another file.
    pub measured_on: Option<String>,
    /// Every setting of training that was not left to its default.
    pub settings: Vec<(String, String)>,
}

impl ReportRecord {
    /// What the model comes to on the part that is shown.
    #[must_use]
    pub fn evaluation(&self) -> Option<&EvaluateRecord> {
        let shown = self.parts.iter().find(|part| part.name == self.shown).or(self.parts.last());
        shown.map(|part| &part.evaluation)
    }
}
