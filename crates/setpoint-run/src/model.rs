//! The model file: what training puts in, and what is checked when it is opened.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use setpoint::artifact::{self, Document, ModelFile, Models};
use setpoint::certify::Certificate;
use setpoint::certify::monitor::Sketch;
use setpoint::class::ClassProbability;
use setpoint::features::Features;
use setpoint::goal::{AnyGoal, Money};
use setpoint::model::Architecture;
use setpoint::rank::Empty;
use setpoint::train::selection::as_fraction;
use setpoint_data::Codes;
use setpoint_report::TrainRecord;

use crate::blueprint::Blueprint;
use crate::examples::Loaded;
use crate::failure::Failure;
use crate::fit::Fitted;
use crate::group::strangers;
use crate::kind::{ByBand, ByPlace, ByShift, ByThreshold, DECIDED, Decision, PROBABILITY, Predicted, SKETCH};
use crate::probability::Probability;
use crate::schema::Schema;
use crate::scorer::Scorer;
use crate::threshold::Shipped;
use crate::train::Job;

/// Before the names of cross-entropy's parameters, kept beside the model's.
const BASELINE: &str = "baseline.";
/// The setting that holds a network's layers.
const ARCHITECTURE: &str = "architecture";
/// The setting that holds what is to be known of the rows that the certificate is from.
pub(crate) const CAUTION: &str = "certificate-caution";
/// The setting that holds the groups that were pooled into one.
pub(crate) const POOLED: &str = "pooled-groups";
/// The setting that holds the certificates before this one, the first one first.
pub(crate) const EARLIER: &str = "earlier-certificates";
/// A model ready to score.
pub struct Opened {
    /// What the file says.
    pub document: Document,
    /// How rows become numbers.
    pub schema: Schema,
    /// What the model is built from.
    pub blueprint: Blueprint,
    /// The model.
    pub scorer: Scorer,
    /// Cross-entropy's, for comparisons; `None` in files without it.
    pub baseline: Option<Scorer>,
    /// What it decides by, for which goal.
    pub decision: Decision,
}

impl Opened {
    /// The column that tells which rows belong together, where the thresholds were chosen by it.
    pub fn entity_column(&self) -> Option<&str> {
        let approximate = self.decision.threshold().ok().and_then(|one| one.shipped.approximate.as_ref());
        let chosen = self.decision.rule().certificate().or(approximate)?;
        Some(chosen.entities.as_ref()?.column.as_str())
    }

    /// What is to be known of the rows that the certificate is from.
    #[must_use]
    pub fn certificate_caution(&self) -> Option<&str> {
        self.document.settings.get(CAUTION).and_then(Value::as_str)
    }

    /// The groups that were pooled into one.
    pub(crate) fn pooled(&self) -> Option<Vec<&str>> {
        let pooled = self.document.settings.get(POOLED).and_then(Value::as_array)?;
        Some(pooled.iter().filter_map(Value::as_str).collect())
    }

    /// What decisions pay, of a goal in money.
    #[must_use]
    pub fn money(&self) -> Option<&Money> {
        self.decision.threshold().ok()?.goal.money()
    }

    /// The column whose groups have a threshold each.
    #[must_use]
    pub fn group_column(&self) -> Option<&str> {
        Some(self.decision.threshold().ok()?.shipped.groups.as_ref()?.column.as_str())
    }

    /// The column whose groups the certificate speaks of.
    #[must_use]
    pub fn certified_column(&self) -> Option<&str> {
        self.decision.rule().certificate()?.column.as_deref()
    }

    /// Whether it puts the rows of queries in order; with the column of these, if they came in one.
    #[must_use]
    pub fn query_column(&self) -> Option<Option<&str>> {
        match &self.decision {
            Decision::Place(order) => Some(order.column.as_deref()),
            Decision::Threshold(_) | Decision::Band(_) | Decision::Shift(_) => None,
        }
    }

    /// What to say of groups that get the threshold of the pool though training never had them.
    #[must_use]
    pub fn unknown_groups(&self, names: &[String], codes: &[u32]) -> Option<String> {
        let groups = self.decision.threshold().ok()?.shipped.groups.as_ref()?;
        strangers(groups, self.pooled().as_deref(), names, codes)
    }

    /// Decides rows with these scores; `groups` are theirs where there is a [`group_column`](Self::group_column).
    ///
    /// # Errors
    /// If the model has no threshold for a group.
    pub fn predict(&self, scores: &[f32], groups: Option<&Codes>) -> Result<Predicted, Failure> {
        self.decision.rule().predict(scores, groups, self.pooled().as_deref())
    }

    /// The score of each row that the encoder made.
    ///
    /// # Errors
    /// If the matrix is not the model's, or a score is not finite.
    pub fn scores(&self, features: Features) -> Result<Vec<f32>, Failure> {
        self.scorer.scores(&mut self.blueprint.hold(features)?)
    }

    /// The label column of the training file, by name, or by number where it had no header.
    /// SVMLight files have theirs.
    pub fn label_column(&self) -> Option<String> {
        let svmlight = matches!(&self.schema, Schema::Table(encoder)
            if matches!(encoder.inputs, setpoint_data::Inputs::Sparse { .. }));
        self.schema.label().filter(|_| !svmlight).map(|label| label.column.clone())
    }
}

/// Opens a model file; of one of several labels, the model of the label that is named.
///
/// # Errors
/// If it is no model file, or is of several labels, and none or another one is named.
pub fn open(path: &Path, label: Option<&str>) -> Result<(ModelFile, Opened), Failure> {
    let in_file = |failure: Failure| failure.context(path.display());
    let file = Models::load(path)?.of_label(label).map_err(|kind| in_file(Failure::input(kind)))?;
    let model = opened(&file).map_err(in_file)?;
    Ok((file, model))
}

/// Opens the models of a file: the only one, which goes without a label's name, or one for each label.
///
/// # Errors
/// If it is no model file.
pub fn open_all(path: &Path) -> Result<Vec<(Option<String>, Opened)>, Failure> {
    let models = match Models::load(path)? {
        Models::One(file) => vec![(None, *file)],
        Models::Labels(files) => files.into_iter().map(|(label, file)| (Some(label), file)).collect(),
    };
    let open = |(label, file)| Ok((label, opened(&file)?));
    models
        .into_iter()
        .map(open)
        .collect::<Result<_, _>>()
        .map_err(|failure: Failure| failure.context(path.display()))
}

/// Makes the content of a model file ready to score.
pub fn opened(file: &ModelFile) -> Result<Opened, Failure> {
    let document = file.document.clone();
    let bad = |reason: String| Failure::input(reason);
    let schema = Schema::from_json(&document.features)?;
    let outputs = schema.outputs();
    let blueprint = match document.model.as_str() {
        "linear" => Blueprint::Linear { outputs },
        "mlp" | "cnn" => {
            let layers = document.settings.get(ARCHITECTURE).cloned().unwrap_or_default();
            let architecture: Architecture = serde_json::from_value(layers)
                .map_err(|error| bad(format!("its layers cannot be read: {error}")))?;
            Blueprint::network(architecture)?
        }
        "trees" => Blueprint::trees(schema.encoder()?),
        "average" => match schema.encoder()? {
            encoder if encoder.beside.is_empty() => return Err(bad("its trees have no columns".to_owned())),
            encoder => Blueprint::Both { first: encoder.own_columns() },
        },
        other => {
            return Err(bad(format!("holds a model of kind {other:?}, which this version does not know")));
        }
    };
    let columns = schema.columns();
    let scorer = Scorer::restore(file, "", &blueprint, columns)?
        .ok_or_else(|| bad("holds no parameters".to_owned()))?;
    let baseline = Scorer::restore(file, BASELINE, &blueprint, columns)?;
    let decision = decision(file)?;
    let scores = match &blueprint {
        Blueprint::Network(architecture) => architecture.outputs(),
        Blueprint::Linear { .. } | Blueprint::Trees { .. } => outputs,
        Blueprint::Both { .. } => 1,
    };
    if decision.outputs() != outputs || scores != outputs {
        let decided = decision.outputs();
        return Err(bad(format!(
            "gives {scores} scores and decides by {decided}, of a label with {outputs}"
        )));
    }
    Ok(Opened { document, schema, blueprint, scorer, baseline, decision })
}

/// What a model file decides by.
fn decision(file: &ModelFile) -> Result<Decision, Failure> {
    let document = &file.document;
    let bad = |reason: String| Failure::input(reason);
    let read = |value: &Option<Value>| -> Result<Option<Certificate>, Failure> {
        let read = value.clone().map(serde_json::from_value).transpose();
        read.map_err(|error| bad(format!("its certificate cannot be read: {error}")))
    };
    let parsed = document.parse_goal()?;
    if let (AnyGoal::Queries(goal), Some(artifact::Decision::Queries { column, empty })) =
        (&parsed, &document.decision)
    {
        let certificate = document.certificate.clone().map(serde_json::from_value).transpose();
        return Ok(Decision::Place(ByPlace {
            goal: *goal,
            column: column.clone(),
            empty: Empty::named(empty).unwrap_or_default(),
            certificate: certificate
                .map_err(|error| bad(format!("its certificate cannot be read: {error}")))?,
            refused: None,
            from: "calibration",
        }));
    }
    let (certificate, approximate) = (read(&document.certificate)?, read(&document.approximate)?);
    if certificate.as_ref().is_some_and(Certificate::is_approximate) {
        return Err(bad("its certificate proves nothing".to_owned()));
    }
    let curve = |numbers: usize| match file.tensors.contains_key(PROBABILITY) {
        true => file.tensor::<f64>(PROBABILITY, &[numbers]).map(Some),
        false => Ok(None),
    };
    let goal = match (parsed, &document.decision) {
        (AnyGoal::Two(goal), _) => goal,
        (AnyGoal::Classes(goal), Some(artifact::Decision::Classes { shifts, .. })) => {
            let curve = curve(1 + shifts.len())?;
            return Ok(Decision::Shift(ByShift {
                goal,
                shifts: shifts.clone(),
                certificate,
                refused: None,
                from: "calibration",
                probability: curve
                    .map(|curve| ClassProbability { slope: curve[0], shifts: curve[1..].to_vec() }),
                decided: decided(file, shifts.len())?,
            }));
        }
        (AnyGoal::Queries(_), _) => return Err(bad("holds a goal per query and no queries".to_owned())),
        (AnyGoal::Classes(_), _) => return Err(bad("holds a goal of classes and no shifts".to_owned())),
    };
    if goal.abstains() {
        let ordered = matches!(document.thresholds[..], [upper, lower] if upper >= lower);
        let other = |certificate: &Certificate| certificate.thresholds != document.thresholds;
        if !ordered || document.groups.is_some() || certificate.as_ref().is_some_and(other) {
            return Err(bad(
                "leaves rows undecided, and its thresholds are not an upper and a lower one".to_owned()
            ));
        }
        let probability = curve(2)?.map(|curve| Probability { slope: curve[0], intercept: curve[1] });
        let (thresholds, groups) = (document.thresholds.clone(), None);
        let (approximate, refused, from) = (None, None, "calibration");
        let shipped = Shipped { thresholds, groups, certificate, approximate, refused, from };
        return Ok(Decision::Band(ByBand { goal, shipped, probability, sketch: sketch(file)? }));
    }
    if document.groups.is_none() && document.thresholds.len() != 1 {
        return Err(bad(format!("holds {} thresholds and no groups", document.thresholds.len())));
    }
    let other = |certificate: &Certificate| match &document.groups {
        Some(_) => certificate.thresholds != document.thresholds,
        // Groups may share the one threshold, certified for each.
        None => certificate.threshold(None) != document.thresholds.first().copied(),
    };
    if certificate.as_ref().is_some_and(other) || approximate.as_ref().is_some_and(other) {
        return Err(bad("its certificate is for other thresholds".to_owned()));
    }
    let rows = document.settings.get("rows-scored").and_then(Value::as_u64);
    Ok(Decision::Threshold(ByThreshold {
        goal: rows.map_or_else(|| goal.clone(), |rows| as_fraction(&goal, rows.max(1))),
        shared_threshold: document
            .settings
            .get("shared-threshold")
            .and_then(Value::as_bool)
            .unwrap_or_default(),
        shipped: Shipped {
            thresholds: document.thresholds.clone(),
            groups: document.groups.clone(),
            certificate,
            approximate,
            refused: None,
            from: "calibration",
        },
        probability: curve(2)?.map(|curve| Probability { slope: curve[0], intercept: curve[1] }),
        sketch: sketch(file)?,
    }))
}

/// The sketch that a file holds.
fn sketch(file: &ModelFile) -> Result<Option<Sketch>, Failure> {
    let [edges, counts] = SKETCH;
    let Some(found) = file.tensors.get(edges) else { return Ok(None) };
    let edges = file.tensor::<f32>(edges, &[found.data.len()])?.to_vec();
    let numbers = file.tensor::<f64>(counts, &[2 * edges.len() + 3])?;
    let cells = numbers.chunks_exact(2).map(|pair| [pair[0] as u64, pair[1] as u64]).collect();
    let sketch = Sketch::checked(edges, cells, numbers[numbers.len() - 1] as u64);
    match sketch.filter(|_| numbers.iter().all(is_count)) {
        Some(sketch) => Ok(Some(sketch)),
        None => Err(Failure::input("its sketch of the calibration scores is damaged")),
    }
}

/// The calibration rows decided as each class that a file holds.
fn decided(file: &ModelFile, classes: usize) -> Result<Option<Vec<u64>>, Failure> {
    if !file.tensors.contains_key(DECIDED) {
        return Ok(None);
    }
    let counts = file.tensor::<f64>(DECIDED, &[classes])?;
    if !counts.iter().all(is_count) || counts.iter().sum::<f64>() == 0.0 {
        return Err(Failure::input("its counts of the calibration rows are damaged"));
    }
    Ok(Some(counts.iter().map(|count| *count as u64).collect()))
}

fn is_count(number: &f64) -> bool {
    *number >= 0.0 && *number < 1e15 && number.fract() == 0.0
}

/// The file of a model that was just trained.
pub fn file(
    job: &Job,
    loaded: &Loaded,
    fitted: &Fitted,
    decision: &Decision,
    record: &TrainRecord,
) -> Result<ModelFile, Failure> {
    let method = job.settings.method.to_string();
    let mut document = Document::new(&record.goal, job.model.name(), &method, Vec::new());
    document.settings = job.recorded(loaded)?;
    if let Blueprint::Network(architecture) = &loaded.blueprint {
        document.settings.insert(ARCHITECTURE.to_owned(), serde_json::to_value(&**architecture)?);
    }
    if let Some(caution) = record.certificate_caution() {
        document.settings.insert(CAUTION.to_owned(), caution.into());
    }
    document.features = loaded.schema.to_json()?;
    document.data_hash = record.data_hash.clone();
    document.seed = job.settings.seed;
    document.metrics = metrics(decision, record);
    let mut file = ModelFile::new(document);
    decision.rule().store(&mut file)?;
    fitted.scorer.store(&loaded.blueprint, "", &mut file);
    fitted.baseline.store(&loaded.blueprint, BASELINE, &mut file);
    Ok(file)
}

/// The metrics that travel with the model: at the condition, and as it ships.
fn metrics(decision: &Decision, record: &TrainRecord) -> BTreeMap<String, BTreeMap<String, f64>> {
    let mut metrics = BTreeMap::new();
    for (split, value) in record.objective.iter() {
        let shipped = decision.rule().metrics(record, split);
        if !shipped.is_empty() {
            let objective = value.map(|value| ("objective".to_owned(), value));
            metrics.insert(split.to_owned(), objective.into_iter().chain(shipped).collect());
        }
    }
    metrics
}
