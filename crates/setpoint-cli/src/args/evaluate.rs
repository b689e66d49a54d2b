//! `setpoint evaluate`

use std::path::PathBuf;

use clap::Args;

use super::{ImageArgs, ReadArgs, ReportFlags};
use crate::plan::Files;

pub const EXAMPLES: &str = "\
Examples:
  setpoint evaluate fraud.safetensors january.csv
  setpoint evaluate fraud.safetensors january.csv --json > january.json
  setpoint evaluate fraud.safetensors january.csv --check || echo \"the certificate no longer holds\"";

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
    pub model: PathBuf,
    /// Labelled data
    pub data: PathBuf,
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
    /// Confidence of the intervals
    #[arg(long, value_name = "P", default_value = "95%")]
    pub confidence: String,
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
        let files = Files::default().read("the model", &self.model).read("the data", &self.data);
        files.read_any("the label table", self.images.labels.as_ref())
    }
}
