//! `setpoint evaluate`

use std::path::PathBuf;

use clap::Args;

use super::train::bytes;
use super::{ImageArgs, MeasuredQueryArgs, ReadArgs, ReportFlags, ScoresArgs};
use crate::plan::Files;

pub const EXAMPLES: &str = "\
Examples:
  setpoint evaluate fraud.safetensors january.csv
  setpoint evaluate fraud.safetensors january.csv --json > january.json
  setpoint evaluate fraud.safetensors decade.parquet --memory 200MB --scratch /fast/disk
  setpoint evaluate fraud.safetensors january.csv --check || echo \"the certificate no longer holds\"

The scores of any other model, with the threshold that is in use, and the test of its certificate:
  setpoint evaluate --scores january.csv --label y --score p --goal \"recall @ fpr<=1%\" --threshold 0.7
  setpoint certify december.csv --label y --score p --goal \"recall @ fpr<=1%\" --json > certificate.json
  setpoint evaluate --scores january.csv --label y --score p --goal \"recall @ fpr<=1%\" \\
      --certificate certificate.json --check";

/// Measure a model on labelled data.
#[derive(Args, Clone, Debug)]
pub struct EvaluateArgs {
    /// What is measured.
    #[command(flatten)]
    pub measure: MeasureArgs,
    /// Exit with 1 unless every certified condition was tested on this data and none is violated
    #[arg(long)]
    pub check: bool,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// Reports besides.
    #[command(flatten)]
    pub report: ReportFlags,
}

/// A model, and labelled data to measure it on.
#[derive(Args, Clone, Debug)]
pub struct MeasureArgs {
    /// The model file
    #[arg(required_unless_present = "scores")]
    pub model: Option<PathBuf>,
    /// Labelled data
    #[arg(required_unless_present = "scores")]
    pub data: Option<PathBuf>,
    /// Any model's scores, in their place.
    #[command(flatten)]
    pub of_scores: ScoresArgs,
    /// The label column, if it is not called as in training
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
    /// Column with groups to report on; by default the one the model has thresholds for
    #[arg(long, value_name = "COL")]
    pub group: Option<String>,
    /// Column that says which rows belong together, if not that of training
    #[arg(long, value_name = "COL")]
    pub split_by: Option<String>,
    /// Confidence of the intervals, and of the threshold that is chosen with --scores
    #[arg(long, value_name = "P", default_value = "95%")]
    pub confidence: String,
    /// Columns whose importance for the goal is shown, those that matter most; 0 for none, which is faster
    #[arg(long, value_name = "N", default_value_t = setpoint_run::COLUMNS)]
    pub importance: usize,
    /// Memory that labels and scores may take: more of them go to a scratch file, to the same result. Without it they
    /// go there from 1GB on, where they can be measured there
    #[arg(long, value_name = "SIZE", value_parser = bytes, conflicts_with = "scores")]
    pub memory: Option<usize>,
    /// Folder of the scratch file [default: that of the data]
    #[arg(long, value_name = "DIR", requires = "memory")]
    pub scratch: Option<PathBuf>,
    /// Which rows are results of the same query.
    #[command(flatten)]
    pub queries: MeasuredQueryArgs,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArgs,
    /// How images are read.
    #[command(flatten)]
    pub images: ImageArgs,
}

impl MeasureArgs {
    /// What is read.
    pub fn files(&self) -> Files {
        Files::default()
            .read_any("the model", self.model.as_ref())
            .read_any("the data", self.data.as_ref())
            .read_any("the scores", self.of_scores.scores.as_ref())
            .read_any("the sizes of queries", self.queries.of.query_sizes.as_ref())
            .read_any("the certificate", self.of_scores.certificate.as_ref())
            .read_any("the label table", self.images.labels.as_ref())
    }
}
