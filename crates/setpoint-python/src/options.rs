//! Settings of a fit, by the names of the command line's flags.

use serde::Deserialize;
use serde_json::{Map, Value};
use setpoint::train::{Bandwidth, Settings};
use setpoint_data::SplitPlan;
use setpoint_run::{Job, ModelChoice};

use crate::error::{Wrong, goal};

/// What Python sends as JSON.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Options {
    goal: String,
    model: String,
    hidden: Vec<usize>,
    dropout: f64,
    search: usize,
    rounds: Option<usize>,
    method: String,
    confidence: Option<f64>,
    split: String,
    rotations: Option<usize>,
    min_group: Option<u64>,
    positive_weight: String,
    optimizer: String,
    learning_rate: Option<f64>,
    dual_learning_rate: Option<f64>,
    batch_size: Option<usize>,
    steps: Option<u64>,
    epochs: Option<u64>,
    batches: String,
    schedule: Option<String>,
    weight_decay: Option<f64>,
    weight_average: Option<f64>,
    warm_up: Option<f64>,
    implicit_scope: String,
    patience: Option<u64>,
    thresholds: String,
    correct_every: Option<u64>,
    correct_batches: Option<usize>,
    pool: Option<usize>,
    mix: Option<f64>,
    surrogate: String,
    bandwidth: Option<String>,
    ridge: Option<f64>,
    regulariser: Option<f64>,
    inequality: String,
    shared_threshold: bool,
    bins: Option<usize>,
    seed: u64,
    /// Names of all columns, so that arrays without names can be matched later.
    #[serde(rename = "columns")]
    _columns: Value,
}

/// What to run.
pub struct Plan {
    pub job: Job,
    pub split: SplitPlan,
    pub min_group: Option<u64>,
    pub seed: u64,
}

impl Plan {
    /// Checks the settings.
    pub fn new(text: &str) -> Result<Self, Wrong> {
        let mut recorded: Map<String, Value> = serde_json::from_str(text)?;
        let options: Options = serde_json::from_str(text)?;
        let model = model(&options)?;
        if let Some(confidence) = options.confidence
            && !(confidence > 0.0 && confidence < 1.0)
        {
            return Err(Wrong::input(format!(
                "confidence {confidence}: expected a probability between 0 and 1, such as 0.95, or None for no certificate"
            )));
        }
        let split: SplitPlan = options.split.parse()?;
        if !split.shares().iter().any(|(name, _)| *name == "validation") {
            return Err(Wrong::input(format!(
                "split {split}: no validation part; training chooses between fits on it, so give it a share"
            )));
        }
        recorded.remove("goal");
        recorded.remove("seed");
        let job = Job {
            goal: goal(&options.goal)?,
            settings: settings(&options, &model)?,
            model,
            method: options.method,
            rotations: options.rotations,
            confidence: options.confidence,
            recorded,
        };
        Ok(Self { job, split, min_group: options.min_group, seed: options.seed })
    }
}

fn model(options: &Options) -> Result<ModelChoice, Wrong> {
    let (hidden, dropout) = (options.hidden.clone(), options.dropout);
    Ok(match options.model.as_str() {
        "linear" => ModelChoice::Linear,
        "mlp" => {
            if let Some(size) = hidden.iter().find(|size| !(1..=65_536).contains(*size)) {
                return Err(Wrong::input(format!(
                    "hidden: a layer of {size}: expected sizes from 1 to 65536"
                )));
            }
            ModelChoice::Mlp { hidden, dropout }
        }
        "trees" => ModelChoice::Trees { search: options.search, rounds: options.rounds },
        other => {
            let expected =
                "expected \"linear\", \"mlp\" or \"trees\" (\"cnn\", for images, is on the command line)";
            return Err(Wrong::input(format!("model {other:?}: {expected}")));
        }
    })
}

fn settings(options: &Options, model: &ModelChoice) -> Result<Settings, Wrong> {
    let default = model.settings();
    for (name, value) in
        [("ridge", options.ridge), ("regulariser", options.regulariser), ("mix", options.mix)]
    {
        if let Some(value) = value
            && !(value.is_finite() && value >= 0.0)
        {
            return Err(Wrong::input(format!("{name} {value}: expected a number of 0 or more")));
        }
    }
    for (name, value, most) in [("search", Some(options.search), 1000), ("rounds", options.rounds, 100_000)] {
        if value.is_some_and(|value| !(1..=most).contains(&value)) {
            let value = value.unwrap_or_default();
            return Err(Wrong::input(format!("{name} {value}: expected a number from 1 to {most}")));
        }
    }
    for (name, value) in [
        ("batch_size", options.batch_size.map(|value| value as u64)),
        ("steps", options.steps),
        ("correct_every", options.correct_every),
        ("correct_batches", options.correct_batches.map(|value| value as u64)),
        ("pool", options.pool.map(|value| value as u64)),
        ("bins", options.bins.map(|value| value as u64)),
    ] {
        if value == Some(0) {
            return Err(Wrong::input(format!("{name} 0: expected at least 1")));
        }
    }
    let bandwidth: Option<Bandwidth> = options.bandwidth.as_deref().map(str::parse).transpose()?;
    Ok(Settings {
        method: options.method.parse()?,
        positive_weight: options.positive_weight.parse()?,
        optimizer: options.optimizer.parse()?,
        learning_rate: options.learning_rate.unwrap_or(default.learning_rate),
        dual_learning_rate: options.dual_learning_rate.unwrap_or(default.dual_learning_rate),
        batch_size: options.batch_size.or(default.batch_size),
        steps: options.steps,
        epochs: options.epochs.unwrap_or(default.epochs),
        batches: options.batches.parse()?,
        schedule: options.schedule.as_deref().map_or(Ok(default.schedule), str::parse)?,
        weight_decay: options.weight_decay.unwrap_or(default.weight_decay),
        weight_average: options.weight_average.unwrap_or(default.weight_average),
        warm_up: options.warm_up,
        scope: options.implicit_scope.parse()?,
        patience: options.patience.unwrap_or(default.patience),
        thresholds: options.thresholds.parse()?,
        correct_every: options.correct_every.unwrap_or(default.correct_every),
        correct_batches: options.correct_batches.unwrap_or(default.correct_batches),
        pool: options.pool.unwrap_or(default.pool),
        mix: options.mix.unwrap_or(default.mix),
        surrogate: options.surrogate.parse()?,
        bandwidth: bandwidth.unwrap_or(default.bandwidth),
        ridge: options.ridge.unwrap_or(default.ridge),
        regulariser: options.regulariser.unwrap_or(default.regulariser),
        inequality: options.inequality.parse()?,
        shared_threshold: options.shared_threshold,
        bins: options.bins,
        seed: options.seed,
        ..default
    })
}
