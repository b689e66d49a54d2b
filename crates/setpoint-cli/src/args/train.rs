//! `setpoint train`

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ImageArgs, ReadArgs, ReportFlags};

pub const EXAMPLES: &str = "\
Examples:
  setpoint train cards.csv --label fraud --goal \"recall @ fpr<=1%\" -o fraud.safetensors
  setpoint train scans.parquet --label malignant --goal \"precision @ recall>=0.95\" \\
      --split-by patient --confidence 99%
  setpoint train letter.data --label 1 --positive U --goal \"pr-auc @ recall in 0.95..1\"
  setpoint train adult.data --test adult.test --label 15 --positive \">50K\" --goal \"fnr @ fpr=5%\"
  setpoint train loans.csv --label paid --goal \"accuracy @ gap(positive-rate, sex)<=0.02\"
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
    /// The label column, by name or number from 1; SVMLight files have their own. Of images several, with
    /// commas between: a model for each
    #[arg(long, value_name = "COL")]
    pub label: Option<String>,
    /// What to improve, under which conditions: "recall @ fpr<=1%"
    #[arg(long)]
    pub goal: Option<String>,
    /// Where to write the model
    #[arg(long, short, value_name = "FILE", default_value = "model.safetensors")]
    pub output: PathBuf,
    /// Print one JSON object on stdout
    #[arg(long)]
    pub json: bool,

    /// Which labels are positive: a value, several with commas, "!=normal", or a rule such as ">0.28"
    #[arg(long, value_name = "VALUE", help_heading = "Columns", allow_hyphen_values = true)]
    pub positive: Option<String>,
    /// Columns to leave out: names, numbers and ranges, with commas between
    #[arg(long, value_name = "COLS", help_heading = "Columns")]
    pub drop: Option<String>,
    /// Columns to treat as categories even if they hold numbers
    #[arg(long, value_name = "COLS", help_heading = "Columns")]
    pub categorical: Option<String>,
    /// Column with the weight of each row
    #[arg(long, value_name = "COL", help_heading = "Columns")]
    pub weight: Option<String>,
    /// Column with the group of each row; by default the one the goal names
    #[arg(long, value_name = "COL", help_heading = "Columns")]
    pub group: Option<String>,
    /// Use the group column as a feature as well
    #[arg(long, help_heading = "Columns")]
    pub group_feature: bool,
    /// One threshold for all groups: predict needs no group, and the model itself must meet the
    /// conditions on groups
    #[arg(long, help_heading = "Threshold")]
    pub shared_threshold: bool,
    /// Pool groups with fewer rows than this into one, called "(other)"
    #[arg(long, value_name = "N", help_heading = "Columns")]
    pub min_group: Option<u64>,

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
    /// Seed of the split and of mini-batches
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Splits")]
    pub seed: u64,
    /// How often train and validation rows change places, the fits averaged; 1: never [default: 3 for auto
    /// with a calibration share, on at most 100,000 rows that may be split at random, else 1]
    #[arg(long, value_name = "N", help_heading = "Splits")]
    pub rotations: Option<usize>,

    /// Confidence of the certificate
    #[arg(long, value_name = "P", default_value = "95%", help_heading = "Threshold")]
    pub confidence: String,
    /// Ship the threshold that holds exactly on the calibration part, without a certificate
    #[arg(long, help_heading = "Threshold")]
    pub no_certificate: bool,

    /// The kind of model
    #[arg(long, value_enum, default_value_t = ModelArg::Linear, help_heading = "Model")]
    pub model: ModelArg,
    /// Sizes of the hidden layers, with --model mlp
    #[arg(long, value_name = "N,N", default_value = "256,128", help_heading = "Model")]
    pub hidden: String,
    /// Share of hidden values left out at random while learning, with --model mlp
    #[arg(long, value_name = "X", default_value_t = 0.0, help_heading = "Model")]
    pub dropout: f64,
    /// Configurations to try, with --model trees
    #[arg(long, value_name = "N", default_value_t = 12, help_heading = "Model",
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub search: u16,
    /// Most rounds of boosting, with --model trees [default: 400]
    #[arg(long, value_name = "N", help_heading = "Model", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub rounds: Option<u32>,
    /// The network, with --model cnn
    #[arg(long, value_enum, default_value_t = CnnArg::Paper, help_heading = "Model")]
    pub cnn: CnnArg,

    /// How images are read.
    #[command(flatten)]
    pub images: ImageArgs,
    /// How to train
    #[arg(long, value_enum, default_value_t = MethodArg::Auto, help_heading = "Training")]
    pub method: MethodArg,
    /// Weight of the positives in cross-entropy: a number, or auto to choose on validation
    #[arg(long, value_name = "X|auto", default_value = "auto", help_heading = "Training")]
    pub positive_weight: String,
    /// The optimizer
    #[arg(long, value_enum, default_value_t = OptimizerArg::Auto, help_heading = "Training")]
    pub optimizer: OptimizerArg,
    /// Step size of adam, adagrad and sgd [default: 0.05; mlp and small cnn: 0.005, cnn: 0.001]
    #[arg(long, value_name = "X", help_heading = "Training")]
    pub learning_rate: Option<f64>,
    /// Step size of the multipliers, with --method lagrangian
    #[arg(long, value_name = "X", help_heading = "Training")]
    pub dual_learning_rate: Option<f64>,
    /// Rows per step [default: all; mlp: 256, cnn: 512, small 128]
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub batch_size: Option<usize>,
    /// Passes over the rows in mini-batches [default: 20]
    #[arg(long, value_name = "N", help_heading = "Training", conflicts_with = "steps")]
    pub epochs: Option<u64>,
    /// How rows are dealt into mini-batches
    #[arg(long, value_enum, default_value_t = BatchesArg::Shuffled, help_heading = "Training")]
    pub batches: BatchesArg,
    /// How the learning rate goes over mini-batches [default: constant]
    #[arg(long, value_enum, help_heading = "Training")]
    pub schedule: Option<ScheduleArg>,
    /// Pull of the weights towards zero on mini-batches [default: 0]
    #[arg(long, value_name = "X", help_heading = "Training")]
    pub weight_decay: Option<f64>,
    /// Memory of the average of the parameters that mini-batches end in; 0: none [default: 0; networks: 0.99]
    #[arg(long, value_name = "X", help_heading = "Training")]
    pub weight_average: Option<f64>,
    /// Most gradient evaluations of each stage
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub steps: Option<u64>,
    /// Steps without a better validation value before a stage ends
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub patience: Option<u64>,
    /// Where thresholds come from in training with adam, adagrad and sgd
    #[arg(long, value_enum, default_value_t = ThresholdsArg::Smooth, help_heading = "Training")]
    pub thresholds: ThresholdsArg,
    /// Steps between exact corrections of tracked thresholds (the paper's N)
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub correct_every: Option<u64>,
    /// Mini-batches that a correction is made from (the paper's k)
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub correct_batches: Option<usize>,
    /// Mini-batches whose scores thresholds are solved on
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub pool: Option<usize>,
    /// Share of the cross-entropy gradient mixed in on mini-batches [default: 0; networks: 0.5]
    #[arg(long, value_name = "X", help_heading = "Training")]
    pub mix: Option<f64>,
    /// Ico on mini-batches from a fresh start, with cross-entropy alone for this share of the steps; by
    /// default it goes on from the best cross-entropy fit
    #[arg(long, value_name = "X", help_heading = "Training")]
    pub warm_up: Option<f64>,
    /// What thresholds are a function of on mini-batches: all parameters, or the last layer's
    #[arg(long, value_enum, default_value_t = ScopeArg::All, help_heading = "Training")]
    pub implicit_scope: ScopeArg,
    /// The smooth stand-in for decisions
    #[arg(long, value_enum, default_value_t = SurrogateArg::Sigmoid, help_heading = "Training")]
    pub surrogate: SurrogateArg,
    /// Width of the surrogate with --method ico: 0.1sd (of the scores), 0.5tail, or 0.2 (scores) [default: 0.1sd;
    /// networks: 0.5tail]
    #[arg(long, value_name = "X", help_heading = "Training", overrides_with = "sharpness")]
    pub bandwidth: Option<String>,
    /// The same as a sharpness, 1 / width in scores (the paper's temperature)
    #[arg(long, value_name = "X", help_heading = "Training", overrides_with = "bandwidth")]
    pub sharpness: Option<f64>,
    /// Scale-free ridge, with --method ico
    #[arg(long, value_name = "X", help_heading = "Training")]
    pub ridge: Option<f64>,
    /// The paper's penalty on the squared slope of the constraint
    #[arg(long, value_name = "X", help_heading = "Training")]
    pub regulariser: Option<f64>,
    /// How limits are met
    #[arg(long, value_enum, default_value_t = InequalityArg::ActiveSet, help_heading = "Training")]
    pub inequality: InequalityArg,
    /// Thresholds that stand for an area
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub bins: Option<usize>,

    /// Reports besides.
    #[command(flatten)]
    pub report: ReportFlags,

    /// Keep a checkpoint in this directory
    #[arg(long, value_name = "DIR", help_heading = "Long runs")]
    pub checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint; ends in the same bytes as a run never stopped
    #[arg(long, requires = "checkpoint", help_heading = "Long runs")]
    pub resume: bool,
}

/// Kinds of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelArg {
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

/// Orders of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BatchesArg {
    /// At random
    Shuffled,
    /// At random, with the same share of positives in each
    Stratified,
}

/// Schedules of the learning rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScheduleArg {
    /// The same throughout
    Constant,
    /// Half a cosine down to 0
    Cosine,
}

/// What thresholds are a function of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ScopeArg {
    /// All parameters
    All,
    /// The last layer's
    Head,
}

/// Methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MethodArg {
    /// Cross-entropy over a few weights, ico from there, the best averaged
    Auto,
    /// Ico alone, from a cross-entropy start
    Ico,
    /// The baseline alone
    CrossEntropy,
    /// The proxy-Lagrangian of TensorFlow Constrained Optimization
    Lagrangian,
    /// Pairs of positives and the highest negatives, for goals on fpr
    Pairwise,
}

/// Optimizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OptimizerArg {
    /// lbfgs on the full batch; adam on mini-batches and for lagrangian
    Auto,
    /// Quasi-Newton on the full batch
    Lbfgs,
    /// Adam
    Adam,
    /// Adagrad
    Adagrad,
    /// Gradient descent
    Sgd,
}

/// Sources of thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThresholdsArg {
    /// The smooth conditions, solved at every step
    Smooth,
    /// The unrelaxed conditions, solved at every step
    Exact,
    /// Tracked to first order, corrected now and then (the paper's algorithm 1)
    Track,
    /// Held until corrected now and then (as the paper does for areas)
    Hold,
}

/// Surrogates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SurrogateArg {
    /// Bounded
    Sigmoid,
    /// Convex
    Softplus,
}

/// Ways to meet limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InequalityArg {
    /// The best thresholds within the limits
    ActiveSet,
    /// Slack variables, as in the paper
    Slack,
}
