//! A training run, checked.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use setpoint::Goal;
use setpoint::engine::Inequality;
use setpoint::message::{clip, number, quote};
use setpoint::surrogate::Surrogate;
use setpoint::train::{
    Bandwidth, BatchOrder, MethodChoice, OptimizerChoice, PositiveWeight, Schedule, Scope, Settings,
    Thresholds,
};
use setpoint_data::{ImageOptions, ReadOptions, Roles, SplitPlan, list};
use setpoint_run::{CnnSize, Failure, Job, ModelChoice, hidden_layers};

use super::image::image_options;
use super::read::{confidence, positive, read_options};
use crate::args::{
    BatchesArg, CnnArg, InequalityArg, MethodArg, ModelArg, OptimizerArg, ReportFlags, ScheduleArg, ScopeArg,
    SurrogateArg, ThresholdsArg, TrainArgs,
};

/// Everything a training run needs to know.
#[derive(Clone, Debug)]
pub struct TrainPlan {
    /// The file that settings came from.
    pub run_file: Option<PathBuf>,
    /// The data.
    pub data: PathBuf,
    /// A file to test on.
    pub test: Option<PathBuf>,
    /// How files are read.
    pub read: ReadOptions,
    /// How images are read, for models that take them.
    pub images: ImageOptions,
    /// What the columns are for.
    pub roles: Roles,
    /// How rows are shared out.
    pub split: SplitPlan,
    /// Groups with fewer rows are pooled.
    pub min_group: Option<u64>,
    /// What to train for, and how.
    pub job: Job,
    /// The model file.
    pub output: PathBuf,
    /// Reports besides.
    pub report: ReportFlags,
    /// Where checkpoints go.
    pub checkpoint: Option<PathBuf>,
    /// Whether to go on from the one there.
    pub resume: bool,
}

impl TrainPlan {
    /// Checks what was typed.
    pub fn new(args: &TrainArgs) -> Result<Self, Failure> {
        let text = args
            .goal
            .as_ref()
            .ok_or_else(|| Failure::input("no goal: give one, such as --goal \"recall @ fpr<=1%\""))?;
        let goal: Goal = text.parse()?;
        let data = match &args.data {
            Some(data) => data.clone(),
            None if crate::config::is_run_file(&args.path) => {
                let path = args.path.display();
                return Err(Failure::input(format!("{path}: no data: name the file with data = \"...\"")));
            }
            None => args.path.clone(),
        };
        let roles = roles(args, &goal)?;
        let split = split(args)?;
        let model = model(args)?;
        let settings = settings(args, &model)?;
        let confidence = confidence(&args.confidence)?;
        let confidence = (!args.no_certificate).then_some(confidence);
        let recorded = recorded(args, &goal, &split, confidence);
        Ok(Self {
            run_file: Some(args.path.clone()).filter(|path| crate::config::is_run_file(path)),
            data,
            test: args.test.clone(),
            read: read_options(&args.read)?,
            images: image_options(&args.images)?,
            roles,
            split,
            min_group: args.min_group,
            job: Job {
                goal,
                model,
                settings,
                method: method(args.method).1.to_owned(),
                rotations: rotations(args)?,
                confidence,
                recorded,
            },
            output: args.output.clone(),
            report: args.report.clone(),
            checkpoint: args.checkpoint.clone(),
            resume: args.resume,
        })
    }
}

/// Rows that belong together, or follow each other in time, must not change places.
fn rotations(args: &TrainArgs) -> Result<Option<usize>, Failure> {
    let fixed = args.split_by.is_some() || args.split_time.is_some();
    match args.rotations {
        Some(rotations @ (0 | 2)) => {
            Err(Failure::input(format!("--rotations {rotations}: expected 1 for none, or at least 3")))
        }
        Some(rotations) if rotations > 1 && fixed => Err(Failure::input(format!(
            "--rotations {rotations}: rows split by --split-by or --split-time cannot change places; leave it out"
        ))),
        None if fixed => Ok(Some(1)),
        given => Ok(given),
    }
}

fn roles(args: &TrainArgs, goal: &Goal) -> Result<Roles, Failure> {
    if let (Some(given), Some(named)) = (args.group.as_deref(), goal.column())
        && given != named
    {
        return Err(Failure::input(format!(
            "--group {}: the goal's conditions are on groups of {}; leave --group out",
            quote(given),
            quote(named)
        )));
    }
    Ok(Roles {
        label: args.label.clone(),
        positive: positive(args.positive.as_ref())?,
        missing: args.read.missing.as_deref().map(list),
        drop: args.drop.as_deref().map(list).unwrap_or_default(),
        weight: args.weight.clone(),
        group: args.group.clone().or_else(|| goal.column().map(str::to_owned)),
        group_is_feature: args.group_feature,
        split_by: args.split_by.clone(),
        split_time: args.split_time.clone(),
        categorical: args.categorical.as_deref().map(list).unwrap_or_default(),
        ..Roles::default()
    })
}

fn split(args: &TrainArgs) -> Result<SplitPlan, Failure> {
    let plan: SplitPlan = args.split.as_deref().map_or_else(|| Ok(SplitPlan::default()), str::parse)?;
    let has = |part| plan.shares().iter().any(|(name, _)| *name == part);
    if !has("validation") {
        return Err(Failure::input(format!(
            "--split {plan}: no validation part; training chooses between fits on it, so give it a share"
        )));
    }
    if has("test") && args.test.is_some() {
        return Err(Failure::input(format!(
            "--split {plan}: has a test part and --test names a file; give one of them"
        )));
    }
    Ok(plan)
}

fn model(args: &TrainArgs) -> Result<ModelChoice, Failure> {
    Ok(match args.model {
        ModelArg::Linear => ModelChoice::Linear,
        ModelArg::Mlp => ModelChoice::Mlp { hidden: hidden_layers(&args.hidden)?, dropout: args.dropout },
        ModelArg::Cnn => ModelChoice::Cnn {
            size: match args.cnn {
                CnnArg::Paper => CnnSize::Paper,
                CnnArg::Small => CnnSize::Small,
            },
        },
        ModelArg::Trees => ModelChoice::Trees {
            search: usize::from(args.search),
            rounds: args.rounds.map(|rounds| rounds as usize),
        },
    })
}

fn settings(args: &TrainArgs, model: &ModelChoice) -> Result<Settings, Failure> {
    let default = model.settings();
    let bandwidth = match (&args.bandwidth, args.sharpness) {
        (Some(text), _) => text.parse()?,
        (None, Some(sharpness)) if sharpness > 0.0 => Bandwidth::Score(1.0 / sharpness),
        (None, Some(sharpness)) => {
            return Err(Failure::input(format!(
                "--sharpness {}: expected a positive number",
                number(sharpness)
            )));
        }
        (None, None) => default.bandwidth,
    };
    let positive_weight: PositiveWeight = args.positive_weight.parse().map_err(|_| {
        let text = clip(&args.positive_weight);
        Failure::input(format!("--positive-weight {text}: expected a positive number or auto"))
    })?;
    for (flag, value) in [("--ridge", args.ridge), ("--regulariser", args.regulariser)] {
        if value.is_some_and(|value| !(value.is_finite() && value >= 0.0)) {
            let value = number(value.unwrap_or_default());
            return Err(Failure::input(format!("{flag} {value}: expected a number of 0 or more")));
        }
    }
    for (flag, value) in [
        ("--steps", args.steps),
        ("--correct-every", args.correct_every),
        ("--correct-batches", args.correct_batches.map(|value| value as u64)),
        ("--pool", args.pool.map(|value| value as u64)),
        ("--bins", args.bins.map(|value| value as u64)),
    ] {
        if value == Some(0) {
            return Err(Failure::input(format!("{flag} 0: expected at least 1")));
        }
    }
    Ok(Settings {
        method: method(args.method).0,
        positive_weight,
        optimizer: match args.optimizer {
            OptimizerArg::Auto => OptimizerChoice::Auto,
            OptimizerArg::Lbfgs => OptimizerChoice::Lbfgs,
            OptimizerArg::Adam => OptimizerChoice::Adam,
            OptimizerArg::Adagrad => OptimizerChoice::Adagrad,
            OptimizerArg::Sgd => OptimizerChoice::Sgd,
        },
        learning_rate: args.learning_rate.unwrap_or(default.learning_rate),
        dual_learning_rate: args.dual_learning_rate.unwrap_or(default.dual_learning_rate),
        batch_size: args.batch_size.or(default.batch_size),
        steps: args.steps,
        epochs: args.epochs.unwrap_or(default.epochs),
        batches: match args.batches {
            BatchesArg::Shuffled => BatchOrder::Shuffled,
            BatchesArg::Stratified => BatchOrder::Stratified,
        },
        schedule: match args.schedule {
            Some(ScheduleArg::Constant) => Schedule::Constant,
            Some(ScheduleArg::Cosine) => Schedule::Cosine,
            None => default.schedule,
        },
        weight_decay: args.weight_decay.unwrap_or(default.weight_decay),
        weight_average: args.weight_average.unwrap_or(default.weight_average),
        patience: args.patience.unwrap_or(default.patience),
        thresholds: match args.thresholds {
            ThresholdsArg::Smooth => Thresholds::Smooth,
            ThresholdsArg::Exact => Thresholds::Exact,
            ThresholdsArg::Track => Thresholds::Track,
            ThresholdsArg::Hold => Thresholds::Hold,
        },
        correct_every: args.correct_every.unwrap_or(default.correct_every),
        correct_batches: args.correct_batches.unwrap_or(default.correct_batches),
        pool: args.pool.unwrap_or(default.pool),
        mix: args.mix.unwrap_or(default.mix),
        warm_up: args.warm_up,
        scope: match args.implicit_scope {
            ScopeArg::All => Scope::All,
            ScopeArg::Head => Scope::Head,
        },
        surrogate: match args.surrogate {
            SurrogateArg::Sigmoid => Surrogate::Sigmoid,
            SurrogateArg::Softplus => Surrogate::Softplus,
        },
        bandwidth,
        ridge: args.ridge.unwrap_or(default.ridge),
        regulariser: args.regulariser.unwrap_or(default.regulariser),
        inequality: match args.inequality {
            InequalityArg::ActiveSet => Inequality::ActiveSet,
            InequalityArg::Slack => Inequality::Slack,
        },
        bins: args.bins,
        shared_threshold: args.shared_threshold,
        seed: args.seed,
        ..default
    })
}

fn method(method: MethodArg) -> (MethodChoice, &'static str) {
    match method {
        MethodArg::Auto => (MethodChoice::Auto, "auto"),
        MethodArg::Ico => (MethodChoice::Ico, "ico"),
        MethodArg::CrossEntropy => (MethodChoice::CrossEntropy, "cross-entropy"),
        MethodArg::Lagrangian => (MethodChoice::Lagrangian, "lagrangian"),
        MethodArg::Pairwise => (MethodChoice::Pairwise, "pairwise"),
    }
}

/// What the result depends on, by the names of the flags; what was left to its default is null.
fn recorded(args: &TrainArgs, goal: &Goal, split: &SplitPlan, confidence: Option<f64>) -> Map<String, Value> {
    let choice = |value: &dyn std::fmt::Debug| Value::String(format!("{value:?}").to_lowercase());
    let settings = json!({
        "label": args.label, "positive": args.positive, "drop": args.drop,
        "categorical": args.categorical, "weight": args.weight,
        "group": args.group.as_deref().or_else(|| goal.column()), "group-feature": args.group_feature,
        "min-group": args.min_group, "missing": args.read.missing,
        "format": args.read.format, "separator": args.read.separator, "header": args.read.header,
        "split": split.to_string(), "split-by": args.split_by, "split-time": args.split_time,
        "rotations": args.rotations,
        "confidence": confidence, "model": choice(&args.model), "method": method(args.method).1,
        "positive-weight": args.positive_weight, "optimizer": choice(&args.optimizer),
        "learning-rate": args.learning_rate, "dual-learning-rate": args.dual_learning_rate,
        "batch-size": args.batch_size, "steps": args.steps, "epochs": args.epochs,
        "patience": args.patience, "thresholds": choice(&args.thresholds),
        "correct-every": args.correct_every, "correct-batches": args.correct_batches,
        "pool": args.pool, "mix": args.mix, "surrogate": choice(&args.surrogate),
        "bandwidth": args.bandwidth, "sharpness": args.sharpness, "ridge": args.ridge,
        "regulariser": args.regulariser, "inequality": choice(&args.inequality), "bins": args.bins,
    });
    let of_networks = json!({
        "batches": choice(&args.batches), "schedule": args.schedule.map(|schedule| choice(&schedule)),
        "weight-decay": args.weight_decay, "weight-average": args.weight_average,
        "warm-up": args.warm_up, "implicit-scope": choice(&args.implicit_scope),
    });
    let of_kind = match args.model {
        ModelArg::Linear => json!({}),
        ModelArg::Mlp => json!({ "hidden": args.hidden, "dropout": args.dropout }),
        ModelArg::Cnn => json!({ "cnn": choice(&args.cnn) }),
        ModelArg::Trees => json!({ "search": args.search, "rounds": args.rounds }),
    };
    let all = [settings, of_networks, of_kind].into_iter().filter_map(|settings| match settings {
        Value::Object(map) => Some(map),
        _ => None,
    });
    all.flatten().collect()
}
