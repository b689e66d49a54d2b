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
use setpoint_report::TrainRecord;

use crate::examples::linear;
use crate::failure::Failure;
use crate::probability::Probability;
use crate::threshold::Shipped;
use crate::train::Job;

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
    /// Its thresholds.
    pub shipped: Shipped,
    /// Scores as probabilities; files of earlier versions have none.
    pub probability: Option<Probability>,
}

impl Opened {
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
    if certificate.as_ref().is_some_and(|certificate| certificate.thresholds != document.thresholds) {
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
    Ok(Opened { document, goal, encoder, parameters, shipped, probability })
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
    let (weights, bias) = fitted.parameters.split_at(fitted.parameters.len().saturating_sub(1));
    file.tensors.insert("weights".to_owned(), Tensor::vector(TensorData::F32(weights.to_vec())));
    file.tensors.insert("bias".to_owned(), Tensor::vector(TensorData::F32(bias.to_vec())));
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
        ];
        let known = named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        metrics.insert(split.to_owned(), known.collect());
    }
    metrics
}
