//! What a model file says about its weights.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::{ArtifactError, ArtifactErrorKind};
use super::tensor::find_not_finite;
use crate::goal::{AnyGoal, ClassGoal, ClassObjective};
use crate::rank::Empty;

/// The newest format of model files that this version writes and reads: 2 where the document has a
/// [`decision`](Document::decision), and 1 where it has none.
pub const FORMAT: u32 = 2;

/// Most bytes of a goal's text. The longest sensible goals have some hundred.
const MAX_GOAL: usize = 1 << 12;
/// Most classes of a label, so that a hostile file cannot ask for a matrix of all memory.
const MAX_CLASSES: usize = 1 << 12;

/// Everything about a model but its weights: what it was trained for, on which features, and what
/// is known about its thresholds.
///
/// A field that this version does not know is an error, since it may change what a prediction
/// means: a new field comes with a new [`FORMAT`]. So is a missing field; what is absent is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The format, up to [`FORMAT`].
    pub format: u32,
    /// The version of Setpoint that wrote it.
    pub setpoint: String,
    /// The goal, in the goal language.
    pub goal: String,
    /// The kind of model: `linear`.
    pub model: String,
    /// The method that trained it.
    pub method: String,
    /// The settings it was trained with.
    pub settings: Map<String, Value>,
    /// How a table becomes the model's features.
    pub features: Value,
    /// The thresholds: one for each group if there are groups; none where something else decides.
    pub thresholds: Vec<f32>,
    /// What decides in the place of thresholds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// The groups that have thresholds of their own.
    #[serde(deserialize_with = "Option::deserialize")]
    pub groups: Option<Groups>,
    /// What held-out data proves about the thresholds.
    #[serde(deserialize_with = "Option::deserialize")]
    pub certificate: Option<Value>,
    /// What it makes likely about them, where it proves nothing. Absent from files without it, which any
    /// version reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approximate: Option<Value>,
    /// The digest of the data it was trained on.
    #[serde(deserialize_with = "Option::deserialize")]
    pub data_hash: Option<String>,
    /// The seed of the run.
    pub seed: u64,
    /// Metrics by name, for each split.
    pub metrics: BTreeMap<String, BTreeMap<String, f64>>,
}

/// What decides where one score and thresholds do not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Decision {
    /// The largest of score minus shift.
    Classes {
        /// The classes, in the order of the scores.
        names: Vec<String>,
        /// A shift for each.
        shifts: Vec<f64>,
        /// The costs that the goal means, true class by true class; empty where it means none.
        costs: Vec<f64>,
    },
    /// The order of the scores, within each query.
    Queries {
        /// The column that the queries came from, if they came in one.
        column: Option<String>,
        /// What a query counts in which nothing is relevant: `skip`, `0` or `1`.
        empty: String,
    },
}

/// Groups with a threshold each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Groups {
    /// The column that tells the group of a row.
    pub column: String,
    /// The groups' names, in the order of the thresholds.
    pub names: Vec<String>,
}

impl Document {
    /// A document of this format and version, with nothing but the essentials: fill in the rest.
    #[must_use]
    pub fn new(goal: &impl Display, model: &str, method: &str, thresholds: Vec<f32>) -> Self {
        Self {
            format: 1,
            setpoint: env!("CARGO_PKG_VERSION").to_owned(),
            goal: goal.to_string(),
            model: model.to_owned(),
            method: method.to_owned(),
            settings: Map::new(),
            features: Value::Null,
            thresholds,
            decision: None,
            groups: None,
            certificate: None,
            approximate: None,
            data_hash: None,
            seed: 0,
            metrics: BTreeMap::new(),
        }
    }

    /// The same with something else to decide in the place of thresholds.
    #[must_use]
    pub fn with_decision(self, decision: Decision) -> Self {
        Self { format: FORMAT, thresholds: Vec::new(), decision: Some(decision), ..self }
    }

    /// The goal, parsed.
    ///
    /// # Errors
    /// If it does not parse; that of a file that was loaded does.
    pub fn parse_goal(&self) -> Result<AnyGoal, ArtifactError> {
        Ok(self.check_goal()?)
    }

    fn check_goal(&self) -> Result<AnyGoal, ArtifactErrorKind> {
        if self.goal.len() > MAX_GOAL {
            return Err(ArtifactErrorKind::document(format!("the goal is longer than {MAX_GOAL} bytes")));
        }
        let wrong = |error| ArtifactErrorKind::Goal { error: Box::new(error) };
        match &self.decision {
            None => Ok(AnyGoal::Two(self.goal.parse().map_err(wrong)?)),
            Some(Decision::Classes { names, costs, .. }) => {
                let goal = ClassGoal::parse(&self.goal, names).map_err(wrong)?;
                let goal = match goal.objective {
                    ClassObjective::Cost { .. } => {
                        goal.with_costs(costs.clone()).map_err(ArtifactErrorKind::document)?
                    }
                    ClassObjective::Rate(_) => goal,
                };
                Ok(AnyGoal::Classes(goal))
            }
            Some(Decision::Queries { .. }) => Ok(AnyGoal::Queries(self.goal.parse().map_err(wrong)?)),
        }
    }

    pub(super) fn from_text(text: &str) -> Result<Self, ArtifactErrorKind> {
        let document: Self = serde_json::from_str(text).map_err(ArtifactErrorKind::document)?;
        document.check()?;
        Ok(document)
    }

    pub(super) fn to_text(&self) -> Result<String, ArtifactErrorKind> {
        self.check()?;
        // Maps of JSON values are sorted by key anyway, unless some crate of the final program
        // turns on serde_json's `preserve_order`, which is then on for all.
        let mut sorted = self.clone();
        sorted.settings.sort_keys();
        sorted.settings.values_mut().for_each(Value::sort_all_objects);
        sorted.features.sort_all_objects();
        sorted.certificate.as_mut().map(Value::sort_all_objects);
        sorted.approximate.as_mut().map(Value::sort_all_objects);
        let text = serde_json::to_string(&sorted).map_err(ArtifactErrorKind::document)?;
        // What nests too deep to be read is found now rather than when it is needed.
        Self::from_text(&text)?;
        Ok(text)
    }

    fn check(&self) -> Result<(), ArtifactErrorKind> {
        if self.format != if self.decision.is_some() { FORMAT } else { 1 } {
            return Err(ArtifactErrorKind::document(
                "a decision goes with format 2, and thresholds with format 1",
            ));
        }
        self.check_goal()?;
        if let Some(decision) = &self.decision {
            decision.check()?;
        } else if self.thresholds.is_empty() {
            return Err(ArtifactErrorKind::NoThresholds);
        }
        let thresholds = self.thresholds.iter().map(|&threshold| f64::from(threshold));
        if let Some((index, value)) = find_not_finite(thresholds) {
            return Err(ArtifactErrorKind::NotFinite {
                what: "the list of thresholds".to_owned(),
                index,
                value,
            });
        }
        for (split, metrics) in &self.metrics {
            if let Some((index, value)) = find_not_finite(metrics.values().copied()) {
                let what = format!("the list of metrics of \"{split}\"");
                return Err(ArtifactErrorKind::NotFinite { what, index, value });
            }
        }
        self.groups.as_ref().map_or(Ok(()), |groups| groups.check(self.thresholds.len()))
    }
}

impl Decision {
    fn check(&self) -> Result<(), ArtifactErrorKind> {
        let (names, shifts) = match self {
            Self::Classes { names, shifts, .. } => (names, shifts),
            Self::Queries { empty, .. } => {
                let unknown =
                    || ArtifactErrorKind::document(format!("queries without a relevant row count {empty:?}"));
                return Empty::named(empty).map(|_| ()).ok_or_else(unknown);
            }
        };
        if names.len() != shifts.len() || !(2..=MAX_CLASSES).contains(&names.len()) {
            let (classes, shifts) = (names.len(), shifts.len());
            return Err(ArtifactErrorKind::document(format!("{shifts} shifts for {classes} classes")));
        }
        if let Some((index, value)) = find_not_finite(shifts.iter().copied()) {
            let what = "the list of shifts".to_owned();
            return Err(ArtifactErrorKind::NotFinite { what, index, value });
        }
        check_names(names)
    }
}

impl Groups {
    fn check(&self, thresholds: usize) -> Result<(), ArtifactErrorKind> {
        let groups = self.names.len();
        if groups != thresholds {
            return Err(ArtifactErrorKind::GroupThresholds { thresholds, groups });
        }
        check_names(&self.names)
    }
}

fn check_names(names: &[String]) -> Result<(), ArtifactErrorKind> {
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        Some(name) => Err(ArtifactErrorKind::GroupTwice { name: name.clone() }),
        None => Ok(()),
    }
}
