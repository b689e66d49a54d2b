//! `setpoint train`

use std::num::ParseIntError;
use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};

use super::{ImageArgs, MeasuredQueryArgs, ReadArgs, ReportFlags, SettingArgs};

pub const EXAMPLES: &str = "\
Examples:
  setpoint train cards.csv --label fraud --goal \"recall @ fpr<=1%\" -o fraud.safetensors
  setpoint train scans.parquet --label malignant --goal \"precision @ recall>=0.95\" \\
      --split-by patient --confidence 99%
  setpoint train letter.data --label 1 --positive U --goal \"pr-auc @ recall in 0.95..1\"
  setpoint train adult.data --test adult.test --label 15 --positive \">50K\" --goal \"fnr @ fpr=5%\"
  setpoint train loans.csv --label paid --goal \"accuracy @ gap(positive-rate, sex)<=0.02\"
  setpoint train cards.csv --label fraud,chargeback --goal \"fraud: recall @ fpr<=1%\" \\
      --goal \"chargeback: precision @ recall>=0.9\"
  setpoint train shop.csv --label item --goal \"recall(shirt) @ precision(shirt)>=0.9\"
  setpoint train search.csv --label grade --query session --goal \"ndcg @ k=10 per query\"
  setpoint train letor.txt --goal \"precision @ k=5 per query\" --positive \">=2\" --model trees
  setpoint train ijcnn1.gz --goal \"recall @ fpr<=1%\" --model mlp --hidden 64,32
  setpoint train cards.csv --label fraud --goal \"recall @ fpr<=0.1%\" --model trees
  setpoint train faces/ --label smiling --goal \"fnr @ fpr=1%\" --model cnn --cnn small
  setpoint train run.toml --seed 1

A run file holds the same settings as flags, by their names; flags win:
  data = \"cards.csv\"
  label = \"fraud\"
  goal = \"recall @ fpr<=1%\"
  drop = [\"id\", \"name\"]";

/// Train a model for a goal.
#[derive(Args, Clone, Debug)]
pub struct TrainArgs {
    /// The data (CSV, Parquet or SVMLight, also compressed; with --model cnn a folder, NPZ, IDX or CIFAR
    /// file of images), or a run file ending in .toml
    #[arg(value_name = "DATA")]
    pub path: PathBuf,
    /// The data, in place of what a run file names
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// The label column, by name or number from 1; SVMLight files have their own. Several with commas
    /// between: a model for each, in one file. A name with a comma goes in double quotes
    #[arg(long, value_name = "COL")]
    pub label: Option<String>,
    /// What to improve, under which conditions: "recall @ fpr<=1%". Of several labels for all, or for one
    /// as in "fraud: recall @ fpr<=1%", and then as often as there are labels
    #[arg(long)]
    pub goal: Vec<String>,
    /// Where to write the model
    #[arg(long, short, value_name = "FILE", default_value = "model.safetensors")]
    pub output: PathBuf,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,

    /// Which labels are positive: a value, several with commas, "!=normal", or a rule such as ">0.28"
    #[arg(long, value_name = "VALUE", help_heading = "Columns", allow_hyphen_values = true)]
    pub positive: Option<String>,
    /// Of a label of several classes these alone, in this order; rows of others are left out
    #[arg(long, value_name = "NAMES", help_heading = "Columns")]
    pub classes: Option<String>,
    /// Pool classes with fewer rows than this into one, called "(other)"
    #[arg(long, value_name = "N", help_heading = "Columns")]
    pub min_class: Option<u64>,
    /// Columns to leave out: names, numbers and ranges, with commas between
    #[arg(long, value_name = "COLS", help_heading = "Columns")]
    pub drop: Option<String>,
    /// Columns to treat as categories even if they hold numbers
    #[arg(long, value_name = "COLS", help_heading = "Columns")]
    pub categorical: Option<String>,
    /// Columns to read as texts, word by word, even if they do not look like it
    #[arg(long, value_name = "COLS", help_heading = "Columns")]
    pub text: Option<String>,
    /// Column with the weight of each row
    #[arg(long, value_name = "COL", help_heading = "Columns")]
    pub weight: Option<String>,
    /// Column with the group of each row; by default the one the goal names
    #[arg(long, value_name = "COL", help_heading = "Columns")]
    pub group: Option<String>,
    /// Use the group column as a feature as well
    #[arg(long, help_heading = "Columns")]
    pub group_feature: bool,
    /// Pool groups with fewer rows than this into one, called "(other)"
    #[arg(long, value_name = "N", help_heading = "Columns")]
    pub min_group: Option<u64>,

    /// Which rows are results of the same query.
    #[command(flatten)]
    pub queries: MeasuredQueryArgs,

    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArgs,

    /// Shares of the rows [default: train=0.6,validation=0.2,calibration=0.2]
    #[arg(long, value_name = "SHARES", help_heading = "Splits")]
    pub split: Option<String>,
    /// Rows with the same value in this column stay together
    #[arg(long, value_name = "COL", help_heading = "Splits")]
    pub split_by: Option<String>,
    /// Later rows by this column are held out
    #[arg(long, value_name = "COL", help_heading = "Splits")]
    pub split_time: Option<String>,
    /// A file to test on, laid out as DATA
    #[arg(long, value_name = "FILE", help_heading = "Splits")]
    pub test: Option<PathBuf>,

    /// Confidence of the certificate
    #[arg(long, value_name = "P", default_value = "95%", help_heading = "Threshold")]
    pub confidence: String,
    /// Certify that a goal per query is worth this much at least, or say how many queries that takes; by
    /// default whatever bound they prove
    #[arg(long, value_name = "X", help_heading = "Threshold")]
    pub at_least: Option<f64>,
    /// Ship the threshold that holds exactly on the calibration part, without a certificate
    #[arg(long, help_heading = "Threshold")]
    pub no_certificate: bool,

    /// The kind of model
    #[arg(long, value_enum, default_value_t = ModelArg::Auto, help_heading = "Model")]
    pub model: ModelArg,
    /// About how long training may take, such as 90s, 5m or 1h: what boosted trees have by then is used.
    /// The model depends on the machine then
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = "Model")]
    pub time: Option<f64>,
    /// Sizes of the hidden layers, with --model mlp
    /// [default: 256,128]
    #[arg(long, value_name = "N,N", help_heading = "Model",
          value_delimiter = ',', action = ArgAction::Set, value_parser = size)]
    pub hidden: Option<Vec<usize>>,
    /// Share of hidden values left out at random while learning, with --model mlp
    /// [default: 0]
    #[arg(long, value_name = "X", help_heading = "Model")]
    pub dropout: Option<f64>,
    /// Configurations of boosted trees to try [default: 12, fewer of many rows]
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub search: Option<usize>,
    /// Most rounds of boosting [default: 400]
    #[arg(long, value_name = "N", help_heading = "Model")]
    pub rounds: Option<usize>,
    /// The network, with --model cnn [default: paper]
    #[arg(long, value_enum, help_heading = "Model")]
    pub cnn: Option<CnnArg>,

    /// How images are read.
    #[command(flatten)]
    pub images: ImageArgs,
    /// How to train.
    #[command(flatten)]
    pub settings: SettingArgs,

    /// Reports besides.
    #[command(flatten)]
    pub report: ReportFlags,

    /// Keep a checkpoint in this directory
    #[arg(long, value_name = "DIR", help_heading = "Long runs")]
    pub checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint; ends in the same bytes as a run never stopped
    #[arg(long, requires = "checkpoint", help_heading = "Long runs")]
    pub resume: bool,
    /// Memory that rows may take, such as 2GB: more of them go to a scratch file, from which linear models of
    /// two classes are trained, to the same bytes
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "Long runs")]
    pub memory: Option<usize>,
    /// Folder of the scratch file [default: that of the data]
    #[arg(long, value_name = "DIR", requires = "memory", help_heading = "Long runs")]
    pub scratch: Option<PathBuf>,
}

fn size(text: &str) -> Result<usize, ParseIntError> {
    text.trim().parse()
}

/// Seconds of a time such as `5m`.
fn seconds(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.len() - usize::from(text.ends_with(['s', 'm', 'h'])));
    let unit = [("s", 1.0), ("m", 60.0), ("h", 3600.0)].into_iter().find(|(name, _)| *name == unit);
    let found = number.trim().parse::<f64>().ok().zip(unit).map(|(number, (_, seconds))| number * seconds);
    found.ok_or_else(|| "expected a number with s, m or h, such as 90s or 5m".to_owned())
}

/// Bytes of a size such as `2GB`.
pub fn bytes(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let powers = [("b", 0), ("kb", 1), ("mb", 2), ("gb", 3), ("tb", 4)];
    let power = powers.into_iter().find(|(name, _)| unit.to_lowercase() == *name);
    let found =
        number.trim().parse::<f64>().ok().zip(power).map(|(number, (_, power))| number * 1e3f64.powi(power));
    let found = found.filter(|bytes| *bytes >= 1.0 && bytes.is_finite());
    found
        .map(|bytes| bytes as usize)
        .ok_or_else(|| "expected a number with kB, MB or GB, such as 2GB".to_owned())
}

/// Kinds of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelArg {
    /// The better of linear and trees on validation; for images cnn
    Auto,
    /// A weight for each column
    Linear,
    /// Dense layers (--hidden), for tables
    Mlp,
    /// Convolutions (--cnn), for images
    Cnn,
    /// Boosted trees, grown by LightGBM (pip install lightgbm), for tables
    Trees,
}

/// Networks for images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CnnArg {
    /// That of the paper's reference code, for images from 23 x 23
    Paper,
    /// A hundredth of its work, for images from 8 x 8
    Small,
}
