//! The model file: what training puts in, and what is checked when it is opened.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use setpoint::Goal;
use setpoint::artifact::{Document, ModelFile, Tensor, TensorData};
use setpoint::certify::Certificate;
use setpoint::certify::monitor::Sketch;
use setpoint::features::Features;
use setpoint::model::Architecture;
use setpoint::train::selection::as_fraction;
use setpoint_report::{Confusion, TrainRecord};

use crate::blueprint::Blueprint;
use crate::evaluate::Subject;
use crate::examples::Loaded;
use crate::failure::Failure;
use crate::fit::Fitted;
use crate::group::strangers;
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
/// The tensor with slope and intercept of the probabilities.
const PROBABILITY: &str = "probability";

/// The tensors with the sketch of the calibration scores: its edges, then negatives and positives in each cell and
/// the rows decided positive.
const SKETCH: [&str; 2] = ["sketch-edges", "sketch-counts"];
/// The setting that holds the certificates before this one, the first one first.
pub(crate) const EARLIER: &str = "earlier-certificates";

/// A model ready to score.
pub struct Opened {
    /// What the file says.
    pub document: Document,
    /// Its goal, `k=` as a fraction of the rows it was trained for.
    pub goal: Goal,
    /// How rows become numbers.
    pub schema: Schema,
    /// What the model is built from.
    pub blueprint: Blueprint,
    /// The model.
    pub scorer: Scorer,
    /// Cross-entropy's, for comparisons; `None` in files without it.
    pub baseline: Option<Scorer>,
    /// Its thresholds.
    pub shipped: Shipped,
    /// Whether its groups share one threshold.
    pub shared_threshold: bool,
    /// Scores as probabilities; files of earlier versions have none.
    pub probability: Option<Probability>,
    /// The scores of the calibration part in few numbers; files of earlier versions have none.
    pub sketch: Option<Sketch>,
}

impl Opened {
    /// What is measured on labelled data.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            text: &self.document.goal,
            goal: &self.goal,
            shipped: &self.shipped,
            shared_threshold: self.shared_threshold,
        }
    }

    /// The column that tells which rows belong together, where the thresholds were chosen by it.
    pub fn entity_column(&self) -> Option<&str> {
        let chosen = self.shipped.certificate.as_ref().or(self.shipped.approximate.as_ref())?;
        Some(chosen.entities.as_ref()?.column.as_str())
    }

    /// What is to be known of the rows that the certificate is from.
    #[must_use]
    pub fn certificate_caution(&self) -> Option<&str> {
        self.document.settings.get(CAUTION).and_then(Value::as_str)
    }

    /// What to say of groups that get the threshold of the pool though training never had them.
    #[must_use]
    pub fn unknown_groups(&self, names: &[String], codes: &[u32]) -> Option<String> {
        let pooled = self.document.settings.get(POOLED).and_then(Value::as_array);
        let pooled: Option<Vec<&str>> = pooled.map(|names| names.iter().filter_map(Value::as_str).collect());
        strangers(self.shipped.groups.as_ref()?, pooled.as_deref(), names, codes)
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

/// Opens a model file.
pub fn open(path: &Path) -> Result<Opened, Failure> {
    let file = ModelFile::load(path)?;
    opened(&file).map_err(|failure| failure.context(path.display()))
}

/// Makes the content of a model file ready to score.
pub fn opened(file: &ModelFile) -> Result<Opened, Failure> {
    let document = file.document.clone();
    let bad = |reason: String| Failure::input(reason);
    let schema = Schema::from_json(&document.features)?;
    let blueprint = match document.model.as_str() {
        "linear" => Blueprint::Linear,
        "mlp" | "cnn" => {
            let layers = document.settings.get(ARCHITECTURE).cloned().unwrap_or_default();
            let architecture: Architecture = serde_json::from_value(layers)
                .map_err(|error| bad(format!("its layers cannot be read: {error}")))?;
            Blueprint::network(architecture)?
        }
        "trees" => Blueprint::trees(schema.encoder()?),
        other => {
            return Err(bad(format!("holds a model of kind {other:?}, which this version does not know")));
        }
    };
    let columns = schema.columns();
    let scorer = Scorer::restore(file, "", &blueprint, columns)?
        .ok_or_else(|| bad("holds no parameters".to_owned()))?;
    let baseline = Scorer::restore(file, BASELINE, &blueprint, columns)?;
    let read = |value: &Option<Value>| -> Result<Option<Certificate>, Failure> {
        let read = value.clone().map(serde_json::from_value).transpose();
        read.map_err(|error| bad(format!("its certificate cannot be read: {error}")))
    };
    let (certificate, approximate) = (read(&document.certificate)?, read(&document.approximate)?);
    if certificate.as_ref().is_some_and(Certificate::is_approximate) {
        return Err(bad("its certificate proves nothing".to_owned()));
    }
    let probability = match file.tensors.contains_key(PROBABILITY) {
        true => {
            let curve = file.tensor::<f64>(PROBABILITY, &[2])?;
            Some(Probability { slope: curve[0], intercept: curve[1] })
        }
        false => None,
    };
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
    let goal = document.parse_goal()?;
    let rows = document.settings.get("rows-scored").and_then(Value::as_u64);
    let shipped = Shipped {
        thresholds: document.thresholds.clone(),
        groups: document.groups.clone(),
        certificate,
        approximate,
        refused: None,
        from: "calibration",
    };
    let goal = rows.map_or_else(|| goal.clone(), |rows| as_fraction(&goal, rows.max(1)));
    let shared_threshold =
        document.settings.get("shared-threshold").and_then(Value::as_bool).unwrap_or_default();
    Ok(Opened {
        document,
        goal,
        schema,
        blueprint,
        scorer,
        baseline,
        shipped,
        shared_threshold,
        probability,
        sketch: sketch(file)?,
    })
}

/// The sketch that a file holds.
fn sketch(file: &ModelFile) -> Result<Option<Sketch>, Failure> {
    let [edges, counts] = SKETCH;
    let Some(found) = file.tensors.get(edges) else { return Ok(None) };
    let edges = file.tensor::<f32>(edges, &[found.data.len()])?.to_vec();
    let numbers = file.tensor::<f64>(counts, &[2 * edges.len() + 3])?;
    let whole = |number: &f64| *number >= 0.0 && *number < 1e15 && number.fract() == 0.0;
    let cells = numbers.chunks_exact(2).map(|pair| [pair[0] as u64, pair[1] as u64]).collect();
    let sketch = Sketch::checked(edges, cells, numbers[numbers.len() - 1] as u64);
    match sketch.filter(|_| numbers.iter().all(whole)) {
        Some(sketch) => Ok(Some(sketch)),
        None => Err(Failure::input("its sketch of the calibration scores is damaged")),
    }
}

/// Puts what depends on the calibration rows into a file, in the place of what was there.
pub(crate) fn store_calibration(
    file: &mut ModelFile,
    shipped: &Shipped,
    probability: Probability,
    sketch: Option<&Sketch>,
) -> Result<(), Failure> {
    let document = &mut file.document;
    document.thresholds.clone_from(&shipped.thresholds);
    document.groups.clone_from(&shipped.groups);
    document.certificate = shipped.certificate.as_ref().map(serde_json::to_value).transpose()?;
    document.approximate = shipped.approximate.as_ref().map(serde_json::to_value).transpose()?;
    let curve = vec![probability.slope, probability.intercept];
    file.tensors.insert(PROBABILITY.to_owned(), Tensor::vector(TensorData::F64(curve)));
    for name in SKETCH {
        file.tensors.remove(name);
    }
    if let Some(sketch) = sketch {
        let counts = sketch.counts.iter().flatten().chain([&sketch.decided]).map(|count| *count as f64);
        let numbers = [TensorData::F32(sketch.edges.clone()), TensorData::F64(counts.collect())];
        for (name, data) in SKETCH.into_iter().zip(numbers) {
            file.tensors.insert(name.to_owned(), Tensor::vector(data));
        }
    }
    Ok(())
}

/// The file of a model that was just trained.
pub fn file(
    job: &Job,
    loaded: &Loaded,
    fitted: &Fitted,
    shipped: &Shipped,
    probability: Probability,
    sketch: Option<&Sketch>,
    record: &TrainRecord,
) -> Result<ModelFile, Failure> {
    let method = job.settings.method.to_string();
    let mut document = Document::new(&job.goal, job.model.name(), &method, shipped.thresholds.clone());
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
    document.metrics = metrics(record);
    let mut file = ModelFile::new(document);
    fitted.scorer.store(&loaded.blueprint, "", &mut file);
    fitted.baseline.store(&loaded.blueprint, BASELINE, &mut file);
    store_calibration(&mut file, shipped, probability, sketch)?;
    Ok(file)
}

/// The metrics that travel with the model: at the condition, and at the threshold.
fn metrics(record: &TrainRecord) -> BTreeMap<String, BTreeMap<String, f64>> {
    let mut metrics = BTreeMap::new();
    for ((split, value), (_, shipped)) in record.objective.iter().zip(record.shipped.iter()) {
        let Some(shipped) = shipped else { continue };
        let named = [
            ("objective", *value),
            ("recall", shipped.recall),
            ("fpr", shipped.fpr),
            ("precision", shipped.precision),
            ("positive-share", positive_share(&shipped.confusion)),
        ];
        let known = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        metrics.insert(split.to_owned(), known.collect());
    }
    metrics
}

/// The share of the positives, by weight.
fn positive_share(confusion: &Confusion) -> Option<f64> {
    let Confusion { true_positives, false_negatives, false_positives, true_negatives } = confusion;
    let positives = true_positives + false_negatives;
    let all = positives + false_positives + true_negatives;
    (all > 0.0).then(|| positives / all)
}
