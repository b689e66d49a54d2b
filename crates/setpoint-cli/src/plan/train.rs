//! A training run, checked.

use std::path::PathBuf;

use serde_json::{Value, json};
use setpoint::goal::{Goal, GoalText};
use setpoint::message::quote;
use setpoint_data::{
    ClassOptions, ImageOptions, QuerySource, ReadOptions, Roles, Several, SplitPlan, list, recognise_images,
};
use setpoint_run::{CnnSize, Failure, Job, ModelChoice, check_volume, confidence_of_each};

use super::image::image_options;
use super::label::{file_name, goals, joined, labels, reports_of};
use super::query::{check_queries, empty_queries, query_source};
use super::read::{confidence, positive, read_options, spill};
use crate::args::{CnnArg, ImageArgs, ModelArg, ReportFlags, TrainArgs};

/// Everything a training run needs to know.
#[derive(Clone, Debug)]
pub struct TrainPlan {
    /// The file that settings came from.
    pub run_file: Option<PathBuf>,
    /// The label, where there are several.
    pub label: Option<String>,
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
    /// A plan for each label, checked. Each is certified at a confidence at which all hold together at that asked for.
    pub fn for_labels(args: &TrainArgs) -> Result<Vec<Self>, Failure> {
        if args.goal.is_empty() {
            return Err(Failure::input("no goal: give one, such as --goal \"recall @ fpr<=1%\""));
        }
        let args = &TrainArgs { model: resolved(args)?, ..args.clone() };
        let named = args.label.as_deref().map(labels).transpose()?.unwrap_or_default();
        let several = named.len() > 1;
        let known = if named.is_empty() { vec!["label".to_owned()] } else { named.clone() };
        let goals = goals(&args.goal, &known)?;
        if several && args.classes.is_some() {
            return Err(Failure::input(
                "--classes: names classes of one label; train labels of it one by one",
            ));
        }
        let plan = |(place, goal): (usize, &GoalText)| {
            let mut own = TrainArgs { label: named.get(place).cloned(), ..args.clone() };
            if several && args.model != ModelArg::Cnn {
                // What is told of a row must not be what another label says of it.
                let others = named.iter().enumerate().filter(|(other, _)| *other != place);
                let others = others.map(|(_, label)| label.clone());
                let dropped = args.drop.as_deref().map(list).unwrap_or_default();
                own.drop = Some(joined(dropped.into_iter().chain(others)));
            }
            let mut plan = Self::new(&own, goal.clone())?;
            if several {
                let label = &named[place];
                plan.label = Some(label.clone());
                plan.job.confidence = plan.job.confidence.map(|joint| confidence_of_each(joint, &goals));
                plan.report = reports_of(&plan.report, Some(label));
                plan.checkpoint = plan.checkpoint.map(|checkpoint| checkpoint.join(file_name(label)));
            }
            Ok(plan)
        };
        goals.iter().enumerate().map(plan).collect()
    }

    /// Checks what was typed, for one label.
    fn new(args: &TrainArgs, goal: GoalText) -> Result<Self, Failure> {
        let data = match &args.data {
            Some(data) => data.clone(),
            None if crate::config::is_run_file(&args.path) => {
                let path = args.path.display();
                return Err(Failure::input(format!("{path}: no data: name the file with data = \"...\"")));
            }
            None => args.path.clone(),
        };
        let whole = "queries stay whole in every part, and a split of them goes by nothing else";
        let of_rows = [
            ("split-by", args.split_by.is_some(), whole),
            ("split-time", args.split_time.is_some(), whole),
            ("weight", args.weight.is_some(), "every query counts the same in a goal per query"),
            ("group", args.group.is_some(), "a goal per query has no conditions on groups"),
            ("model cnn", args.model == ModelArg::Cnn, "goals per query are of rows of tables"),
        ];
        check_queries(&args.queries, &goal, &of_rows)?;
        if goal.queries().is_none() && args.at_least.is_some() {
            return Err(Failure::input(
                "--at-least: is for goals per query; others say in their conditions what is to hold",
            ));
        }
        check_volume(args.report.volume, goal.two().is_some_and(Goal::abstains))?;
        let roles = roles(args, &goal)?;
        check_idle(args, &roles)?;
        let split = split(args)?;
        let confidence = confidence(&args.confidence)?;
        let confidence = (!args.no_certificate).then_some(confidence);
        let mut job = Job::new(goal, model(args), &args.settings.given, &split, confidence)?;
        job.empty_queries = empty_queries(&args.queries).unwrap_or_default();
        job.at_least = args.at_least;
        if let Some(seconds) = args.time {
            job = job.within(seconds)?;
        }
        job.settings.rotations = rotations(args, job.settings.rotations)?;
        if let Value::Object(recorded) = recorded(args, &job.goal) {
            job.recorded.extend(recorded);
        }
        let spills = args.memory.map(|bytes| spill(bytes, args.scratch.as_ref(), &data));
        Ok(Self {
            label: None,
            run_file: Some(args.path.clone()).filter(|path| crate::config::is_run_file(path)),
            test: args.test.clone(),
            read: ReadOptions { spill: spills, ..read_options(&args.read)? },
            data,
            images: image_options(&args.images)?,
            roles,
            split,
            min_group: args.min_group,
            job,
            output: args.output.clone(),
            report: args.report.clone(),
            checkpoint: args.checkpoint.clone(),
            resume: args.resume,
        })
    }
}

impl TrainPlan {
    /// The file with the sizes of queries.
    pub fn query_sizes(&self) -> Option<&PathBuf> {
        match &self.roles.queries {
            Some(QuerySource::Sizes(path)) => Some(path),
            _ => None,
        }
    }
}

/// Rows that follow each other in time must not change places.
fn rotations(args: &TrainArgs, given: Option<usize>) -> Result<Option<usize>, Failure> {
    match given {
        Some(rotations) if rotations > 1 && args.split_time.is_some() => Err(Failure::input(format!(
            "--rotations {rotations}: rows split by --split-time cannot change places; leave it out"
        ))),
        None if args.split_time.is_some() => Ok(Some(1)),
        given => Ok(given),
    }
}

fn roles(args: &TrainArgs, goal: &GoalText) -> Result<Roles, Failure> {
    if let (Some(given), Some(named)) = (args.group.as_deref(), goal.column())
        && given != named
    {
        return Err(Failure::input(format!(
            "--group {}: the goal's conditions are on groups of {}; leave --group out",
            quote(given),
            quote(named)
        )));
    }
    let positive = positive(args.positive.as_ref())?;
    let classes = classes(args, goal)?;
    // What the goal names is a group column if the label has two values, and a class if it has more.
    let either = classes.when == Several::IfMore && args.group.is_none();
    let named = goal.column().map(str::to_owned);
    Ok(Roles {
        label: args.label.clone(),
        positive,
        classes,
        missing: args.read.missing.as_deref().map(list),
        drop: args.drop.as_deref().map(list).unwrap_or_default(),
        weight: args.weight.clone(),
        money: goal.two().and_then(Goal::money).cloned(),
        group: args.group.clone().or_else(|| named.clone().filter(|_| !either)),
        group_if_there: named.filter(|_| either),
        group_is_feature: args.group_feature,
        split_by: args.split_by.clone(),
        queries: goal.queries().map(|_| query_source(&args.queries.of, None)),
        split_time: args.split_time.clone(),
        categorical: args.categorical.as_deref().map(list).unwrap_or_default(),
        text: args.text.as_deref().map(list).unwrap_or_default(),
        ..Roles::default()
    })
}

/// Whether the label is of several classes, and which count.
fn classes(args: &TrainArgs, goal: &GoalText) -> Result<ClassOptions, Failure> {
    let given = [("classes", args.classes.is_some()), ("min-class", args.min_class.is_some())];
    let given = given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag);
    let refused = match (given, &args.positive) {
        (Some(flag), Some(_)) => {
            Some(format!("--{flag}: with --positive the label has two classes; give one of them"))
        }
        (Some(flag), None) if !goal.may_be_of_classes() => Some(format!(
            "--{flag}: the goal is of two classes; give one of several, such as macro-f1, or leave it out"
        )),
        _ => None,
    };
    if let Some(refused) = refused {
        return Err(Failure::input(refused));
    }
    Ok(ClassOptions {
        when: if args.positive.is_some() { Several::Never } else { Several::for_goal(goal) },
        keep: args.classes.as_deref().map(list).unwrap_or_default(),
        least: args.min_class,
    })
}

fn split(args: &TrainArgs) -> Result<SplitPlan, Failure> {
    let plan: SplitPlan = args.split.as_deref().map_or_else(|| Ok(SplitPlan::default()), str::parse)?;
    if plan.shares().iter().any(|(name, _)| *name == "test") && args.test.is_some() {
        return Err(Failure::input(format!(
            "--split {plan}: has a test part and --test names a file; give one of them"
        )));
    }
    Ok(plan)
}

/// The model asked for; what suits images where the data are images.
fn resolved(args: &TrainArgs) -> Result<ModelArg, Failure> {
    if args.model != ModelArg::Auto {
        return Ok(args.model);
    }
    let images = args.images != ImageArgs::default() || args.cnn.is_some();
    let data = args.data.as_ref().unwrap_or(&args.path);
    // What is not there is told of when it is read.
    let found = data.exists() && recognise_images(data)?.is_some();
    Ok(if images || found { ModelArg::Cnn } else { ModelArg::Auto })
}

fn model(args: &TrainArgs) -> ModelChoice {
    match args.model {
        ModelArg::Auto => ModelChoice::auto(args.search, args.rounds),
        ModelArg::Linear => ModelChoice::Linear,
        ModelArg::Mlp => ModelChoice::Mlp {
            hidden: args.hidden.clone().unwrap_or_else(|| vec![256, 128]),
            dropout: args.dropout.unwrap_or_default(),
        },
        ModelArg::Cnn => ModelChoice::Cnn {
            size: match args.cnn {
                None | Some(CnnArg::Paper) => CnnSize::Paper,
                Some(CnnArg::Small) => CnnSize::Small,
            },
        },
        ModelArg::Trees => ModelChoice::Trees { search: args.search, rounds: args.rounds },
    }
}

/// Refuses flags that would have no effect with this model or without groups.
fn check_idle(args: &TrainArgs, roles: &Roles) -> Result<(), Failure> {
    let of_model = [
        ("hidden", args.hidden.is_some(), &[ModelArg::Mlp][..], "mlp"),
        ("dropout", args.dropout.is_some(), &[ModelArg::Mlp], "mlp"),
        ("time", args.time.is_some(), &[ModelArg::Trees, ModelArg::Auto], "trees"),
        ("search", args.search.is_some(), &[ModelArg::Trees, ModelArg::Auto], "trees"),
        ("rounds", args.rounds.is_some(), &[ModelArg::Trees, ModelArg::Auto], "trees"),
        ("cnn", args.cnn.is_some(), &[ModelArg::Cnn], "cnn"),
    ];
    if let Some((flag, .., needed)) =
        of_model.into_iter().find(|(_, given, needed, _)| *given && !needed.contains(&args.model))
    {
        return Err(Failure::input(format!(
            "--{flag}: has no effect without --model {needed}; give that too, or leave it out"
        )));
    }
    if args.memory.is_some() && args.model == ModelArg::Cnn {
        return Err(Failure::input("--memory: is for tables; leave it out for images"));
    }
    if args.images != ImageArgs::default() && args.model != ModelArg::Cnn {
        return Err(Failure::input(
            "flags on images have no effect without --model cnn; give that too, or leave them out",
        ));
    }
    let of_groups = [("group-feature", args.group_feature), ("min-group", args.min_group.is_some())];
    match of_groups
        .into_iter()
        .find(|(_, given)| *given && roles.group.is_none() && roles.group_if_there.is_none())
    {
        Some((flag, _)) => Err(Failure::input(format!(
            "--{flag}: has no effect without groups; name their column with --group, or leave it out"
        ))),
        None => Ok(()),
    }
}

/// How the files were read, by the names of the flags.
fn recorded(args: &TrainArgs, goal: &GoalText) -> Value {
    let mut recorded = json!({
        "label": args.label, "positive": args.positive, "drop": args.drop,
        "categorical": args.categorical, "text": args.text, "weight": args.weight,
        "group": args.group.as_deref().or_else(|| goal.column()), "group-feature": args.group_feature,
        "min-group": args.min_group, "missing": args.read.missing,
        "format": args.read.format, "separator": args.read.separator, "header": args.read.header,
        "split-by": args.split_by, "split-time": args.split_time,
    });
    if goal.queries().is_some() {
        recorded["query"] = json!(args.queries.of.query);
        recorded["query-sizes"] = json!(args.queries.of.query_sizes);
    }
    if let Some(classes) = &args.classes {
        recorded["classes"] = json!(classes);
    }
    if let Some(least) = args.min_class {
        recorded["min-class"] = json!(least);
    }
    recorded
}
