//! The model file: what training puts in, and what is checked when it is opened.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};
use setpoint::Goal;
use setpoint::artifact::{Document, ModelFile, Tensor, TensorData};
use setpoint::certify::Certificate;
use setpoint::model::{Model, Rows};
use setpoint::train::Fit;
use setpoint::train::selection::as_fraction;
use setpoint_data::{Encoder, Features};
use setpoint_report::{Confusion, TrainRecord};

use crate::evaluate::Subject;
use crate::examples::linear;
use crate::failure::Failure;
use crate::probability::Probability;
use crate::threshold::Shipped;
use crate::train::Job;

/// Where cross-entropy's parameters are kept, beside the model's.
const BASELINE_WEIGHTS: &str = "baseline.weights";
const BASELINE_BIAS: &str = "baseline.bias";
/// The tensor with slope and intercept of the probabilities.
const PROBABILITY: &str = "probability";

/// A model ready to score.
pub struct Opened {
    /// What the file says.
    pub document: Document,
    /// Its goal, `k=` as a fraction of the rows it was trained for.
    pub goal: Goal,
    /// How rows become numbers.
    pub encoder: Encoder,
    /// Weights and bias.
    pub parameters: Vec<f32>,
    /// Those of cross-entropy, for comparisons; `None` in files without them.
    pub baseline: Option<Vec<f32>>,
    /// Its thresholds.
    pub shipped: Shipped,
    /// Whether its groups share one threshold.
    pub shared_threshold: bool,
    /// Scores as probabilities; files of earlier versions have none.
    pub probability: Option<Probability>,
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

    /// The score of each row of a matrix that the encoder made.
    ///
    /// # Errors
    /// If the matrix is not the model's, or a score is not finite.
    pub fn scores(&self, features: Features) -> Result<Vec<f32>, Failure> {
        let mut scorer = linear(features)?;
        let mut scores = vec![0.0; scorer.rows()];
        scorer.scores(&self.parameters, Rows::All, &mut scores)?;
        match scores.iter().position(|score| !score.is_finite()) {
            None => Ok(scores),
            Some(row) => {
                let (score, row) = (scores[row], row + 1);
                Err(Failure::input(format!("row {row}: its score is {score}; are its numbers too large?")))
            }
        }
    }

    /// The label column of the training file, by name, or by number where it had no header.
    /// SVMLight files have theirs.
    pub fn label_column(&self) -> Option<String> {
        let table = matches!(self.encoder.inputs, setpoint_data::Inputs::Table(_));
        self.encoder.label.as_ref().filter(|_| table).map(|label| label.column.clone())
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
    if document.model != "linear" {
        return Err(bad(format!("holds a model of kind {:?}; this version knows linear", document.model)));
    }
    let encoder: Encoder = serde_json::from_value(document.features.clone())
        .map_err(|error| bad(format!("its features cannot be read: {error}")))?;
    encoder.check().map_err(|error| bad(error.to_string()))?;
    let mut parameters = file.tensor_f32("weights", &[encoder.columns()])?.to_vec();
    parameters.extend_from_slice(file.tensor_f32("bias", &[1])?);
    let baseline = match file.tensors.contains_key(BASELINE_WEIGHTS) {
        true => {
            let mut baseline = file.tensor_f32(BASELINE_WEIGHTS, &[encoder.columns()])?.to_vec();
            baseline.extend_from_slice(file.tensor_f32(BASELINE_BIAS, &[1])?);
            Some(baseline)
        }
        false => None,
    };
    let certificate: Option<Certificate> = document
        .certificate
        .clone()
        .map(serde_json::from_value)
        .transpose()
        .map_err(|error| bad(format!("its certificate cannot be read: {error}")))?;
    let probability = match file.tensors.contains_key(PROBABILITY) {
        true => {
            let curve = file.tensor_f64(PROBABILITY, &[2])?;
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
    if certificate.as_ref().is_some_and(other) {
        return Err(bad("its certificate is for other thresholds".to_owned()));
    }
    let goal = document.parse_goal()?;
    let rows = document.settings.get("rows-scored").and_then(Value::as_u64);
    let shipped = Shipped {
        thresholds: document.thresholds.clone(),
        groups: document.groups.clone(),
        certificate,
        refused: None,
        from: "calibration",
    };
    let goal = rows.map_or_else(|| goal.clone(), |rows| as_fraction(&goal, rows.max(1)));
    let shared_threshold =
        document.settings.get("shared-threshold").and_then(Value::as_bool).unwrap_or_default();
    Ok(Opened { document, goal, encoder, parameters, baseline, shipped, shared_threshold, probability })
}

/// The file of a model that was just trained.
pub fn file(
    job: &Job,
    encoder: &Encoder,
    fitted: &Fit,
    shipped: &Shipped,
    probability: Probability,
    record: &TrainRecord,
    recorded: Map<String, Value>,
) -> Result<ModelFile, Failure> {
    let mut document = Document::new(&job.goal, "linear", &job.method, shipped.thresholds.clone());
    document.settings = recorded;
    document.features = serde_json::to_value(encoder)?;
    document.groups = shipped.groups.clone();
    document.certificate = shipped.certificate.as_ref().map(serde_json::to_value).transpose()?;
    document.data_hash = record.data_hash.clone();
    document.seed = job.settings.seed;
    document.metrics = metrics(record);
    let mut file = ModelFile::new(document);
    let mut put = |names: [&str; 2], parameters: &[f32]| {
        let (weights, bias) = parameters.split_at(parameters.len().saturating_sub(1));
        for (name, values) in names.into_iter().zip([weights, bias]) {
            file.tensors.insert(name.to_owned(), Tensor::vector(TensorData::F32(values.to_vec())));
        }
    };
    put(["weights", "bias"], &fitted.parameters);
    put([BASELINE_WEIGHTS, BASELINE_BIAS], &fitted.baseline.parameters);
    let curve = vec![probability.slope, probability.intercept];
    file.tensors.insert(PROBABILITY.to_owned(), Tensor::vector(TensorData::F64(curve)));
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
