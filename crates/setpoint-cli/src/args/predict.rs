//! `setpoint predict`

use std::path::PathBuf;

use clap::Args;

use super::{ImageArgs, QueryArgs, ReadArgs};

pub const EXAMPLES: &str = "\
Writes a row for each row of DATA, in order: the columns that --keep names, its score, the probability
that it is positive, and the decision 1 or 0. Images of a folder come in the order of their names, each
with the name of its file.
An example is positive when score >= threshold. No label is needed. Of a model that leaves rows to
people the decision of those is empty, or what --abstain says.
Of a goal per query each row has its score, its place within its query, and 1 or 0 for whether it is among the
first k; queries are in the column that the model was trained with, or say where (--query, --query-sizes).

Examples:
  setpoint predict fraud.safetensors today.csv -o decisions.csv
  setpoint predict fraud.safetensors today.parquet -o decisions.parquet
  setpoint predict fraud.safetensors today.csv --keep customer,date -o decisions.csv
  setpoint predict fraud.safetensors today.csv --keep all | head
  setpoint predict ranker.safetensors today.csv --query session -o places.csv
  setpoint predict faces.safetensors photos/ -o decisions.csv";

/// Score rows and decide them.
#[derive(Args, Clone, Debug)]
pub struct PredictArgs {
    /// The model file
    pub model: PathBuf,
    /// The rows, with the columns the model was trained on
    pub data: PathBuf,
    /// Where to write: a .csv or .parquet file, or - for CSV on stdout
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Columns of DATA to write beside: names, numbers and ranges, with commas between; all: every one
    #[arg(long, value_name = "COLS")]
    pub keep: Option<String>,
    /// Which rows are results of the same query.
    #[command(flatten)]
    pub queries: QueryArgs,
    /// What to write for rows that the model leaves undecided, in the place of nothing
    #[arg(long, value_name = "TEXT")]
    pub abstain: Option<String>,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArgs,
    /// How images are read.
    #[command(flatten)]
    pub images: ImageArgs,
}
