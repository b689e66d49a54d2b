//! The stages of a run: which there are, and how each is fitted.

use super::aim::Aim;
use super::full_batch::{Penalty, Stage};
use super::method::{
    ClassCrossEntropy, Compare, CrossEntropy, Ico, Lagrangian, LagrangianOptions, Loss, Multipliers, Pairwise,
};
use super::mini_batch;
use super::selection::{Best, Selection};
use super::stage::Reporter;
use super::{
    Bandwidth, BatchLoss, BatchOptions, MethodChoice, OptimizerChoice, Part, PositiveWeight, Settings,
    StageKind, Thresholds, TrainError,
};
use crate::engine::{EngineOptions, Inequality, Solve};
use crate::goal::Goal;
use crate::implicit::ImplicitOptions;
use crate::model::{Model, Rows};
use crate::problem::ProblemOptions;
use crate::rank::Queries;
use crate::sample::Sample;
use crate::shard::Shard;

/// Weights of the positives that `auto` tries.
const POSITIVE_WEIGHTS: [f64; 5] = [1.0, 3.0, 10.0, 30.0, 100.0];
/// Bandwidths and ridges that `auto` tries, see `docs/decisions.md`.
const BANDWIDTHS: [Bandwidth; 3] =
    [Bandwidth::Deviations(0.05), Bandwidth::Deviations(0.1), Bandwidth::Tail(0.5)];
/// Of a goal in money, where amounts stretch the scores.
const MONEY_BANDWIDTHS: [Bandwidth; 3] =
    [Bandwidth::Deviations(0.01), Bandwidth::Deviations(0.03), Bandwidth::Tail(0.3)];
const RIDGES: [f64; 3] = [0.0, 0.01, 0.1];
/// Shrinkages of cross-entropy that `auto` tries, and where there are fewer rows than these for each parameter.
const SHRINKAGES: [f64; 2] = [0.0, 0.01];
const FEW_SHRINKAGES: [f64; 4] = [0.0, 0.001, 0.01, 0.1];
const FEW_ROWS: usize = 20;

/// The same for networks, each from a start of its own.
const NETWORK_WEIGHTS: [f64; 3] = [1.0, 3.0, 10.0];
/// Ico goes on from a fitted network more slowly, and not for as long.
const FINE_RATE: f64 = 0.3;
const FINE_STEPS: f64 = 1.0 / 3.0;
/// Rows of a batch, for models that need batches.
const BATCH: usize = 512;

/// The same where groups share a threshold.
const SHARED_BANDWIDTHS: [f64; 2] = [0.1, 0.2];
const SHARED_RIDGES: [f64; 2] = [0.0, 0.01];

/// Where ico starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// From the cross-entropy fit that is this many places behind the best.
    Ranked(usize),
    /// Where the model starts.
    Initial,
}

/// One stage of a run.
#[derive(Clone)]
pub(super) enum Task {
    CrossEntropy {
        positive_weight: f64,
        shrinkage: f64,
        restart: u64,
        /// Whether rows are weighed by what hangs on the decision about them.
        staked: bool,
    },
    /// Cross-entropy of several classes.
    Balanced {
        balance: f64,
        shrinkage: f64,
    },
    /// A baseline of queries: pairs, lists, or single rows.
    Queries {
        compare: Option<Compare>,
        shrinkage: f64,
        restart: u64,
    },
    Ico {
        bandwidth: Bandwidth,
        ridge: f64,
        start: Start,
        positive_weight: f64,
    },
    Lagrangian {
        dual_learning_rate: f64,
        ridge: f64,
    },
    Pairwise {
        bandwidth: Bandwidth,
        ridge: f64,
    },
    Multipliers {
        bandwidth: f64,
        ridge: f64,
    },
}

impl Task {
    pub(super) fn kind(&self) -> StageKind {
        match self {
            Self::CrossEntropy { .. } | Self::Balanced { .. } | Self::Queries { .. } => {
                StageKind::CrossEntropy
            }
            Self::Ico { .. } => StageKind::Ico,
            Self::Lagrangian { .. } => StageKind::Lagrangian,
            Self::Pairwise { .. } => StageKind::Pairwise,
            Self::Multipliers { .. } => StageKind::Multipliers,
        }
    }

    pub(super) fn name(&self) -> String {
        let width = |bandwidth: &Bandwidth| match bandwidth {
            Bandwidth::Deviations(b) => format!("bandwidth {b} sd"),
            Bandwidth::Tail(b) => format!("bandwidth {b} tail"),
            Bandwidth::Score(b) => format!("bandwidth {b}"),
        };
        let (mut name, ridge) = match self {
            Self::CrossEntropy { positive_weight, shrinkage, restart, staked } => {
                let mut name = "cross-entropy".to_owned();
                if *staked {
                    name += ", weighed by amounts";
                }
                if *positive_weight != 1.0 {
                    name += &format!(", positive weight {positive_weight}");
                }
                if *shrinkage > 0.0 {
                    name += &format!(", shrinkage {shrinkage}");
                }
                if *restart > 0 {
                    name += &format!(", start {}", restart + 1);
                }
                (name, 0.0)
            }
            Self::Queries { compare, shrinkage, .. } => {
                let mut name = match compare {
                    Some(Compare::Pairs) => "pairwise",
                    Some(Compare::Lists) => "listwise",
                    None => "cross-entropy",
                }
                .to_owned();
                if *shrinkage > 0.0 {
                    name += &format!(", shrinkage {shrinkage}");
                }
                (name, 0.0)
            }
            Self::Balanced { balance, shrinkage } => {
                let mut name = format!("cross-entropy, balance {balance}");
                if *shrinkage > 0.0 {
                    name += &format!(", shrinkage {shrinkage}");
                }
                (name, 0.0)
            }
            Self::Ico { bandwidth, ridge, start, .. } => {
                let from = match start {
                    Start::Ranked(rank @ 1..) => format!(", from fit {}", rank + 1),
                    _ => String::new(),
                };
                (format!("ico, {}{from}", width(bandwidth)), *ridge)
            }
            Self::Lagrangian { dual_learning_rate, ridge } => {
                (format!("lagrangian, dual learning rate {dual_learning_rate}"), *ridge)
            }
            Self::Pairwise { bandwidth, ridge } => (format!("pairwise, {}", width(bandwidth)), *ridge),
            Self::Multipliers { bandwidth, ridge } => {
                (format!("multipliers, bandwidth {bandwidth} sd"), *ridge)
            }
        };
        if ridge > 0.0 {
            name += &format!(", ridge {ridge}");
        }
        name
    }

    /// What the stage minimises for a goal of two classes, over this sample or on batches of it.
    pub(super) fn loss(
        &self,
        goal: &Goal,
        rows: &dyn Shard,
        settings: &Settings,
        batches: Option<u64>,
    ) -> Result<Box<dyn Loss>, TrainError> {
        let problem = problem(settings);
        Ok(match self {
            Self::CrossEntropy { staked: true, .. } => Box::new(CrossEntropy::of_stakes()),
            Self::CrossEntropy { positive_weight, .. } => Box::new(CrossEntropy::new(*positive_weight)),
            Self::Queries { .. } => Box::new(CrossEntropy::new(1.0)),
            Self::Balanced { balance, .. } => Box::new(ClassCrossEntropy::new(*balance)),
            Self::Ico { bandwidth, positive_weight, .. } if batches.is_some() => Box::new(BatchLoss::new(
                goal,
                BatchOptions {
                    engine: engine(settings),
                    bandwidth: *bandwidth,
                    pool: settings.pool,
                    mix: settings.mix,
                    warm_up: batches.unwrap_or_default(),
                    positive_weight: *positive_weight,
                    scope: settings.implicit_scope,
                },
            )),
            Self::Ico { bandwidth, .. } => {
                let ico = Ico::new(goal, rows, engine(settings), *bandwidth)?;
                Box::new(ico.with_slack_rate(settings.learning_rate))
            }
            Self::Lagrangian { dual_learning_rate, .. } => {
                let options = LagrangianOptions {
                    learning_rate: settings.learning_rate,
                    dual_learning_rate: *dual_learning_rate,
                    problem,
                };
                Box::new(Lagrangian::new(goal, rows, options)?)
            }
            Self::Pairwise { bandwidth, .. } => {
                Box::new(Pairwise::new(goal, rows, settings.surrogate, *bandwidth)?)
            }
            Self::Multipliers { bandwidth, .. } => {
                Box::new(Multipliers::new(goal, rows, settings.surrogate, *bandwidth)?)
            }
        })
    }

    /// Rows of a batch, where the stage learns from batches.
    pub(super) fn batch_size(settings: &Settings, linear: bool) -> Option<usize> {
        settings.batch_size.or((!linear).then_some(BATCH))
    }

    /// Fits the stage by batches of `size` rows, from `start` or from where a checkpoint left it.
    pub(super) fn run_batches(
        &self,
        aim: &dyn Aim,
        parts: (&mut Part<'_>, &mut Selection<'_>),
        reporter: &mut Reporter<'_>,
        settings: &Settings,
        (index, start, size): (usize, &[f32], usize),
    ) -> Result<(Best, u64), TrainError> {
        let (train, selection) = parts;
        let (sample, linear) = (train.sample, train.model.linear());
        let epochs = settings.epochs * (sample.rows() as u64).div_ceil(size as u64);
        let steps = settings.steps.unwrap_or(epochs);
        let fine = matches!(self, Self::Ico { start: Start::Ranked(_), .. }) && !linear;
        let steps = if fine { (steps as f64 * FINE_STEPS).ceil() as u64 } else { steps };
        let warm_up = (settings.warm_up.unwrap_or(0.0) * steps as f64).round() as u64;
        let mut loss = aim.loss(self, sample, settings, Some(warm_up))?;
        let corrected = matches!(self, Self::Ico { .. }) && settings.thresholds.corrected();
        let mut stage = mini_batch::Stage {
            train,
            selection,
            reporter,
            index,
            settings,
            size,
            steps,
            learning_rate: settings.learning_rate * if fine { FINE_RATE } else { 1.0 },
            start_is_fit: fine,
            corrected_from: corrected.then_some(warm_up),
        };
        stage.run(&mut *loss, start)
    }

    /// The stage on all rows at once, to be fitted from `start`; `levels` are fewer of the rows.
    pub(super) fn stage<'a>(
        &self,
        aim: &'a dyn Aim,
        (model, sample): (&mut dyn Model, &'a dyn Shard),
        levels: impl Iterator<Item = &'a Sample>,
        held_out: &'a dyn Shard,
        settings: &'a Settings,
        start: &[f32],
    ) -> Result<Stage<'a>, TrainError> {
        let (penalty, quasi_newton_steps) = match self {
            Self::CrossEntropy { shrinkage, .. }
            | Self::Balanced { shrinkage, .. }
            | Self::Queries { shrinkage, .. } => (Penalty::Shrinkage(*shrinkage), 100),
            Self::Ico { ridge, .. } if aim.held_near_start() => {
                let mut scores = vec![0.0; sample.rows()];
                model.scores(start, Rows::All, &mut scores)?;
                let spread = Queries::of_sample(sample.whole())?.spread(&scores);
                (Penalty::Near { start: start.to_vec(), strength: ridge / spread.powi(2) }, 30)
            }
            // The sharpness is that of the start's scores: so is the weights' scale.
            Self::Ico { ridge, .. } if model.outputs() > 1 => {
                let squares: f64 = start.iter().map(|w| f64::from(*w).powi(2)).sum();
                (Penalty::Shrinkage(ridge / squares.max(f64::MIN_POSITIVE)), 60)
            }
            Self::Ico { ridge, .. } | Self::Lagrangian { ridge, .. } | Self::Pairwise { ridge, .. } => {
                (Penalty::ScaleFreeRidge(*ridge), 30)
            }
            Self::Multipliers { ridge, .. } => (Penalty::ScaleFreeRidge(*ridge), 15),
        };
        let optimizer = match (settings.optimizer, self) {
            (OptimizerChoice::Auto, Self::Lagrangian { .. }) => OptimizerChoice::Adam,
            (OptimizerChoice::Auto, Self::Ico { .. }) if settings.inequality == Inequality::Slack => {
                OptimizerChoice::Adam
            }
            (OptimizerChoice::Auto, _) => OptimizerChoice::Lbfgs,
            (chosen, _) => chosen,
        };
        let steps = settings.steps.unwrap_or(match optimizer {
            OptimizerChoice::Lbfgs => quasi_newton_steps,
            _ => 500,
        });
        let mut start = start.to_vec();
        if let (Self::Multipliers { .. }, Some(bias)) = (self, start.last()) {
            // Decisions are `score >= 0`: the bias, which comes last, is the threshold.
            let (bias, mut scores) = (*bias, vec![0.0; sample.rows()]);
            model.scores(&start, Rows::All, &mut scores)?;
            let place = start.len() - 1;
            start[place] = bias - aim.threshold(sample.whole(), &scores);
        }
        let all = std::iter::once(sample);
        // Steps that hang on held-out rows, and those of first order, are taken on all rows.
        let close = optimizer == OptimizerChoice::Lbfgs && !matches!(self, Self::Multipliers { .. });
        let levels = all.chain(levels.filter(|_| close).map(|level| level as &dyn Shard)).collect();
        let task = self.clone();
        Ok(Stage {
            levels,
            held_out,
            outputs: model.outputs(),
            elsewhere: model.examples().is_some(),
            loss: Box::new(move |rows| aim.loss(&task, rows, settings, None)),
            penalty,
            optimizer,
            settings,
            direction: aim.direction(),
            start,
            steps,
        })
    }
}

fn problem(settings: &Settings) -> ProblemOptions {
    let Settings { bins, shared_threshold, .. } = *settings;
    ProblemOptions { bins, shared_threshold, ..ProblemOptions::default() }
}

fn engine(settings: &Settings) -> EngineOptions {
    EngineOptions {
        surrogate: settings.surrogate,
        inequality: settings.inequality,
        implicit: ImplicitOptions { regulariser: settings.regulariser, ..ImplicitOptions::default() },
        problem: problem(settings),
        solve: match settings.thresholds {
            Thresholds::Smooth => Solve::Smooth,
            Thresholds::Exact => Solve::Exact,
            Thresholds::Track | Thresholds::Hold => Solve::Hold,
        },
        ..EngineOptions::default()
    }
}

/// The stages of a run on these rows, in order; the method that was asked for comes last.
pub(super) fn tasks(settings: &Settings, train: &Part<'_>, money: bool) -> Vec<Task> {
    let linear = train.model.linear();
    let mut tasks = cross_entropy(settings, train, money);
    if settings.shared_threshold {
        // Where ico would differentiate through thresholds, multipliers press on the model.
        match (settings.method, settings.bandwidth) {
            (MethodChoice::Auto, _) => {
                for bandwidth in SHARED_BANDWIDTHS {
                    tasks.extend(SHARED_RIDGES.map(|ridge| Task::Multipliers { bandwidth, ridge }));
                }
                return tasks;
            }
            (MethodChoice::Ico, Bandwidth::Deviations(bandwidth)) => {
                tasks.push(Task::Multipliers { bandwidth, ridge: settings.ridge });
                return tasks;
            }
            _ => {}
        }
    }
    let Settings { bandwidth, ridge, .. } = *settings;
    let ico = |bandwidth, ridge, start| Task::Ico { bandwidth, ridge, start, positive_weight: 1.0 };
    match settings.method {
        MethodChoice::CrossEntropy => {}
        MethodChoice::Ico => {
            let start = if settings.warm_up.is_some() { Start::Initial } else { Start::Ranked(0) };
            tasks.push(ico(bandwidth, ridge, start));
        }
        MethodChoice::Lagrangian => {
            tasks.push(Task::Lagrangian { dual_learning_rate: settings.dual_learning_rate, ridge });
        }
        MethodChoice::Pairwise => tasks.push(Task::Pairwise { bandwidth, ridge }),
        MethodChoice::Auto if linear => {
            for bandwidth in if money { MONEY_BANDWIDTHS } else { BANDWIDTHS } {
                tasks.extend(RIDGES.map(|ridge| ico(bandwidth, ridge, Start::Ranked(0))));
            }
        }
        MethodChoice::Auto => {
            let ranks = 0..tasks.len();
            tasks.extend(ranks.map(|rank| ico(bandwidth, 0.0, Start::Ranked(rank))));
        }
    }
    tasks
}

/// The fits of cross-entropy that a run begins with.
fn cross_entropy(settings: &Settings, train: &Part<'_>, money: bool) -> Vec<Task> {
    let linear = train.model.linear();
    let fit = |positive_weight, shrinkage, restart| {
        let staked = false;
        Task::CrossEntropy { positive_weight, shrinkage, restart, staked }
    };
    let staked =
        |shrinkage, restart| Task::CrossEntropy { positive_weight: 1.0, shrinkage, restart, staked: true };
    let weights: &[f64] = match (&settings.positive_weight, linear) {
        (PositiveWeight::Fixed(weight), true) => &[*weight],
        (PositiveWeight::Fixed(weight), false) => &[*weight; NETWORK_WEIGHTS.len()],
        (PositiveWeight::Auto, true) => &POSITIVE_WEIGHTS,
        (PositiveWeight::Auto, false) => &NETWORK_WEIGHTS,
    };
    // One start for each rotation: averages of several are worth more over other rows than over the same.
    let weights = if !linear && settings.rotations() > 1 { &weights[..1] } else { weights };
    if linear {
        let few = train.sample.rows() < FEW_ROWS * train.model.parameter_count();
        let shrinkages: &[f64] = if few { &FEW_SHRINKAGES } else { &SHRINKAGES };
        let shrunk = |weight: &f64| {
            let weight = *weight;
            shrinkages.iter().map(move |shrinkage| fit(weight, *shrinkage, 0))
        };
        let by_amounts = shrinkages.iter().filter(|_| money).map(|shrinkage| staked(*shrinkage, 0));
        return weights.iter().flat_map(shrunk).chain(by_amounts).collect();
    }
    let by_amounts = money.then(|| staked(0.0, weights.len() as u64));
    (0..).zip(weights).map(|(restart, weight)| fit(*weight, 0.0, restart)).chain(by_amounts).collect()
}
