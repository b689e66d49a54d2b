//! `setpoint certify`

use std::path::PathBuf;

use clap::Args;

use super::{MeasuredQueryArgs, ReadArgs};

pub const EXAMPLES: &str = "\
The scores may come from any model, but not from rows it was trained or tuned on. Higher must
mean more positive. The threshold printed holds on new data of the same kind with the confidence
asked for: predict positive when score >= threshold.

Examples:
  setpoint certify scores.csv --label y --score p --goal \"fpr<=1%\"
  setpoint certify scores.parquet --label y --score p --goal \"recall>=0.95\" --confidence 99%
  setpoint certify scores.csv --label y --score p --goal \"fpr(site)<=2%\" --json
  setpoint certify scores.csv --label y --score p --goal \"fpr<=5%\" --split-by patient
  setpoint certify scores.csv --label grade --score p --query session --goal \"ndcg @ k=10 per query\"
  setpoint certify held-out.csv --onnx model.onnx --label y --goal \"fpr<=1%\" -o certified.onnx

A goal per query has no threshold: what is certified is how much it is worth at least, on average over new queries.

With --onnx, the rows are scored by a classifier of anyone's, in onnxruntime: each of its inputs is fed by the
column of that name, or its only input by all columns without a role. The file written decides in its last node.";

/// Find a threshold that holds on new data.
#[derive(Args, Clone, Debug)]
pub struct CertifyArgs {
    /// A table with labels and scores, or with the columns that an ONNX model takes
    pub scores: PathBuf,
    /// The label column, by name or number from 1
    #[arg(long, value_name = "COL")]
    pub label: String,
    /// The score column, by name or number from 1; with --onnx the output that gives the scores, where
    /// there is doubt
    #[arg(long, value_name = "COL", required_unless_present = "onnx")]
    pub score: Option<String>,
    /// An ONNX classifier that scores the rows
    #[arg(long, value_name = "FILE", requires = "output")]
    pub onnx: Option<PathBuf>,
    /// Where to write the classifier with its decision
    #[arg(long, short, value_name = "FILE", requires = "onnx")]
    pub output: Option<PathBuf>,
    /// Columns that the ONNX classifier does not take, with commas between
    #[arg(long, value_name = "COLS", requires = "onnx")]
    pub drop: Option<String>,
    /// The conditions to hold, or a goal whose objective chooses among the thresholds allowed
    #[arg(long)]
    pub goal: String,
    /// Which labels are positive
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub positive: Option<String>,
    /// Column with the group of each row; by default the one the conditions name
    #[arg(long, value_name = "COL")]
    pub group: Option<String>,
    /// One threshold for all groups
    #[arg(long)]
    pub shared_threshold: bool,
    /// Column with the weight of each row; weights that differ are refused
    #[arg(long, value_name = "COL")]
    pub weight: Option<String>,
    /// Column that says which rows belong together (patient, customer, query): those are counted then
    #[arg(long, value_name = "COL")]
    pub split_by: Option<String>,
    /// Where rows come in too few entities for a proof: a limit that holds about so, and nothing proves
    #[arg(long, requires = "split_by")]
    pub approximate: bool,
    /// Confidence that all conditions hold
    #[arg(long, value_name = "P", default_value = "95%")]
    pub confidence: String,
    /// What a goal per query is to be worth at least; by default whatever bound the queries prove
    #[arg(long, value_name = "X")]
    pub at_least: Option<f64>,
    /// Which rows are results of the same query.
    #[command(flatten)]
    pub queries: MeasuredQueryArgs,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArgs,
}
