//! `setpoint monitor`, `setpoint recertify` and `setpoint sample`

use std::path::{Path, PathBuf};

use clap::Args;

use super::{ImageArgs, MeasureArgs, MeasuredQueryArgs, PredictArgs, QueryArgs, ReadArgs, ScoresArgs};

pub const MONITOR: &str = "\
Each call adds a batch of labelled rows, of any size and in any order, also late ones, and tells where every
certified condition stands. The chance that it ever raises an alarm while all conditions hold is at most --alpha,
however often it is called. Rows that have no labels yet (--unlabelled) give hints only.
Exit codes: 0 quiet, 1 alarm.

Examples:
  setpoint monitor fraud.safetensors january.csv --state fraud.watch
  setpoint monitor fraud.safetensors today.csv --state fraud.watch --unlabelled
  setpoint monitor fraud.safetensors january.csv --state fraud.watch --report fraud.html || page-somebody";

pub const RECERTIFY: &str = "\
The model stays as it is; thresholds, certificate and probabilities are new, and the old certificate is kept in the
file. Rows are draws of what the model will score, unless --inclusion says with which chance each was sampled
from that, or another share of positives is meant.

Examples:
  setpoint recertify fraud.safetensors june.csv -o fraud-june.safetensors
  setpoint recertify fraud.safetensors labelled.csv --inclusion inclusion -o fraud-june.safetensors
  setpoint recertify fraud.safetensors june.csv --prevalence 2% -o fraud-abroad.safetensors
  setpoint recertify fraud.safetensors june.csv --unlabelled abroad.csv -o fraud-abroad.safetensors";

pub const SAMPLE: &str = "\
Writes the rows to have labelled, with all their columns, their number in the file (row), their score and the
chance with which they were drawn (inclusion): all near the threshold, few elsewhere, as suits the conditions of the
goal. Add the labels as a column, and give the file to recertify --inclusion inclusion. Each row is drawn by itself,
so that their number is about that of --labels.

Examples:
  setpoint sample fraud.safetensors june.csv --labels 1000 -o to-label.csv
  setpoint recertify fraud.safetensors labelled.csv --inclusion inclusion -o fraud-june.safetensors";

/// What the columns of labelled rows are.
#[derive(Args, Clone, Debug)]
pub struct RowsArgs {
    /// The label column, if it is not called as in training; of a file of several labels, which of them
    #[arg(long, value_name = "COL")]
    pub label: Option<String>,
    /// Which labels are positive, if not as in training
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub positive: Option<String>,
    /// Column with the weight of each row, if not that of training
    #[arg(long, value_name = "COL")]
    pub weight: Option<String>,
    /// Count every row once, though the model was trained with weights
    #[arg(long, conflicts_with = "weight")]
    pub unweighted: bool,
    /// Column that says which rows belong together, if not that of training
    #[arg(long, value_name = "COL")]
    pub split_by: Option<String>,
    /// Which rows are results of the same query.
    #[command(flatten)]
    pub queries: QueryArgs,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArgs,
    /// How images are read.
    #[command(flatten)]
    pub images: ImageArgs,
}

impl RowsArgs {
    /// The same as the flags of `evaluate`.
    pub fn measure(&self) -> MeasureArgs {
        MeasureArgs {
            model: None,
            data: None,
            of_scores: ScoresArgs::default(),
            label: self.label.clone(),
            positive: self.positive.clone(),
            weight: self.weight.clone(),
            unweighted: self.unweighted,
            group: None,
            split_by: self.split_by.clone(),
            confidence: String::new(),
            importance: 0,
            memory: None,
            scratch: None,
            queries: MeasuredQueryArgs { of: self.queries.clone(), empty_queries: None },
            read: self.read.clone(),
            images: self.images.clone(),
        }
    }

    /// The same as the flags of `predict`, for rows whose labels do not count.
    pub fn predict(&self, model: &Path, data: &Path) -> PredictArgs {
        let (model, data, output) = (model.to_owned(), data.to_owned(), PathBuf::new());
        let (queries, read, images) = (self.queries.clone(), self.read.clone(), self.images.clone());
        PredictArgs { model, data, output, keep: None, abstain: None, queries, read, images }
    }
}

/// Watch a certificate.
#[derive(Args, Clone, Debug)]
pub struct MonitorArgs {
    /// The model file
    pub model: PathBuf,
    /// A batch of new rows
    pub data: PathBuf,
    /// Where the watch is kept from call to call; begun if it is not there
    #[arg(long, value_name = "FILE")]
    pub state: PathBuf,
    /// The chance of ever raising a false alarm, over all conditions and groups [default: 5%, or that of the state]
    #[arg(long, value_name = "P")]
    pub alpha: Option<String>,
    /// The rows have no labels yet: look at decisions and scores, for a hint
    #[arg(long)]
    pub unlabelled: bool,
    /// Their columns.
    #[command(flatten)]
    pub rows: RowsArgs,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Write a page with evidence and rates over time
    #[arg(long, value_name = "FILE", help_heading = "Report")]
    pub report: Option<PathBuf>,
}

/// Certify a model anew.
#[derive(Args, Clone, Debug)]
pub struct RecertifyArgs {
    /// The model file
    pub model: PathBuf,
    /// Labelled rows that the model was not trained on
    pub data: PathBuf,
    /// Where to write the new model file
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Confidence of the certificate
    #[arg(long, value_name = "P", default_value = "95%")]
    pub confidence: String,
    /// Column with the chance with which each row was sampled, as `sample` writes it
    #[arg(long, value_name = "COL", conflicts_with_all = ["weight", "prevalence", "unlabelled"])]
    pub inclusion: Option<String>,
    /// The share of positives to certify for, each class scoring as in these rows
    #[arg(long, value_name = "SHARE", conflicts_with = "unlabelled")]
    pub prevalence: Option<String>,
    /// Rows without labels whose share of positives is to be estimated, and certified for
    #[arg(long, value_name = "FILE")]
    pub unlabelled: Option<PathBuf>,
    /// The columns.
    #[command(flatten)]
    pub rows: RowsArgs,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
}

/// Choose rows to have labelled.
#[derive(Args, Clone, Debug)]
pub struct SampleArgs {
    /// The model file
    pub model: PathBuf,
    /// Rows without labels
    pub data: PathBuf,
    /// Which model, of a file of several labels
    #[arg(long, value_name = "COL")]
    pub label: Option<String>,
    /// About how many rows to have labelled
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub labels: u64,
    /// Where to write them: a .csv file
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Seed of the draw
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArgs,
}
