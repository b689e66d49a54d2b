//! Settings of a fit, by their names.

use serde::Deserialize;
use serde_json::{Map, Value};
use setpoint::goal::Goal;
use setpoint::rank::Empty;
use setpoint_data::SplitPlan;
use setpoint_run::{Job, ModelChoice};

use crate::error::{Wrong, goal_text};

/// What Python sends as JSON.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Options {
    goal: String,
    model: String,
    hidden: Vec<usize>,
    dropout: f64,
    search: Option<usize>,
    rounds: Option<usize>,
    time: Option<f64>,
    confidence: Option<f64>,
    split: String,
    min_group: Option<u64>,
    empty_queries: Option<String>,
    at_least: Option<f64>,
    /// What the rows were brought to before they came here, for the model file.
    classes: Option<Vec<String>>,
    min_class: Option<u64>,
    text: Option<Vec<String>>,
    /// Names of all columns, so that arrays without names can be matched later.
    columns: Value,
    #[serde(flatten)]
    training: Map<String, Value>,
}

/// What to run.
pub struct FitPlan {
    pub job: Job,
    pub split: SplitPlan,
    pub min_group: Option<u64>,
    pub texts: Vec<String>,
}

impl FitPlan {
    /// Of a goal in money, whether more is better.
    pub fn profit(&self) -> Option<bool> {
        self.job.goal.two().and_then(Goal::money).map(|money| money.profit)
    }

    /// Checks the settings.
    pub fn new(text: &str) -> Result<Self, Wrong> {
        let options: Options = serde_json::from_str(text)?;
        let (min_group, confidence) = (options.min_group, options.confidence);
        if let Some(confidence) = confidence
            && !(confidence > 0.0 && confidence < 1.0)
        {
            return Err(Wrong::input(format!(
                "confidence={confidence}: expected a probability between 0 and 1, such as 0.95, or None for no certificate"
            )));
        }
        let split: SplitPlan = options.split.parse()?;
        let model = match options.model.as_str() {
            "auto" => ModelChoice::auto(options.search, options.rounds),
            "linear" => ModelChoice::Linear,
            "mlp" => ModelChoice::Mlp { hidden: options.hidden, dropout: options.dropout },
            "trees" => ModelChoice::Trees { search: options.search, rounds: options.rounds },
            other => {
                let expected = "expected \"auto\", \"linear\", \"mlp\" or \"trees\" (\"cnn\", for images, is on the command line)";
                return Err(Wrong::input(format!("model={other:?}: {expected}")));
            }
        };
        let mut job = Job::new(goal_text(&options.goal)?, model, &options.training, &split, confidence)?;
        if let Some(seconds) = options.time {
            job = job.within(seconds)?;
        }
        let empty = options.empty_queries.as_deref().and_then(Empty::named);
        (job.empty_queries, job.at_least) = (empty.unwrap_or_default(), options.at_least);
        let recorded = [("min-group", min_group.into()), ("columns", options.columns)];
        let of_classes = [
            ("classes", options.classes.map(Value::from)),
            ("min-class", options.min_class.map(Value::from)),
            ("text", options.text.clone().map(Value::from)),
        ];
        let of_classes = of_classes.into_iter().filter_map(|(name, value)| Some((name, value?)));
        job.recorded
            .extend(recorded.into_iter().chain(of_classes).map(|(name, value)| (name.to_owned(), value)));
        Ok(Self { job, split, min_group, texts: options.text.unwrap_or_default() })
    }
}
