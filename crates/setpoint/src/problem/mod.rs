//! A goal tied to a sample: the loss and the constraints as functions of counts.
//!
//! ```text
//! f = constant + sum weight (a.C + a0) / (b.C + b0)         the loss, smaller is better
//! g = the same form, = 0 or <= 0                            one for each condition
//! ```
//!
//! where C are the cells of [`count`](crate::count). Rates of one label slice
//! have constant denominators; precision and its like do not. A goal with group
//! conditions has one threshold per group (or one that they share), any other
//! goal one per operating point (one, or as many as an area has bins).

mod build;
mod combination;

pub use combination::{Combination, Form, FormTerm, Monotone, Ratio};

use thiserror::Error;

use build::Build;

use crate::count::Shape;
use crate::goal::{Constraint, Direction, Goal, Objective, Top};
use crate::message::quote;
use crate::sample::{ClassTotals, SampleError};
use crate::shard::Shard;

/// How a constraint binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// g = 0.
    Equal,
    /// g <= 0.
    AtMost,
}

/// One constraint on the thresholds.
#[derive(Clone, Debug, PartialEq)]
pub struct SolvedCondition {
    /// g.
    pub expression: Combination,
    /// = 0 or <= 0.
    pub sense: Sense,
    /// Which of the goal's constraints it comes from; for an area, which bin.
    pub source: usize,
}

/// How a goal is tied to a sample.
#[derive(Clone, Debug, Default)]
pub struct ProblemOptions {
    /// Thresholds that stand for an area; by default 10 for roc-auc and 5 for pr-auc.
    pub bins: Option<usize>,
    /// Rows of the data that `k=100` will be asked of; by default those of the sample.
    pub rows_scored: Option<u64>,
    /// One threshold for all groups of a goal with group conditions.
    pub shared_threshold: bool,
}

/// Why a goal does not fit a sample.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ProblemError {
    /// The sample lacks what a rate needs.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The goal speaks of groups and the sample has none, or has another column.
    #[error("the goal has a condition by {}, but the sample {found}", quote(column))]
    Groups {
        /// The column of the goal.
        column: String,
        /// What the sample has instead.
        found: String,
    },
    /// Thresholds cannot meet that many equalities.
    #[error(
        "{equalities} equalities need as many thresholds, but the goal has {thresholds}; turn all but one into limits (<= or >=)"
    )]
    TooManyEqualities {
        /// Number of equalities.
        equalities: usize,
        /// Number of thresholds.
        thresholds: usize,
    },
    /// More examples asked for than there are.
    #[error("k={k} of {rows} rows leaves nothing to choose; k must be below the number of rows")]
    TopTooLarge {
        /// Examples asked for.
        k: u64,
        /// Rows to pick from.
        rows: u64,
    },
    /// An area without bins, or a curve without that axis.
    #[error("{message}")]
    Area {
        /// What is wrong.
        message: String,
    },
    /// An objective without a direction.
    #[error(
        "positive-rate has no better direction; make it a condition and name an objective such as recall"
    )]
    NoDirection,
}

/// What is paid, a row, by decisions that lose some share of what hangs on them.
#[derive(Clone, Copy, Debug)]
struct Amounts {
    best: f64,
    at_stake: f64,
}

impl Amounts {
    fn of(rows: &dyn Shard) -> Option<Self> {
        let (staked, all) = (rows.staked(false)?, rows.totals(false)[0]);
        let (all, hangs) = (all.positives + all.negatives, staked.totals[0]);
        let at_stake = (hangs.positives + hangs.negatives) / all;
        Some(Self { best: staked.best / all, at_stake: if staked.profit { at_stake } else { -at_stake } })
    }

    fn paid(&self, lost: f64) -> f64 {
        self.best - lost * self.at_stake
    }
}

/// A goal as functions of the counts of one sample.
#[derive(Clone, Debug)]
pub struct Problem {
    shape: Shape,
    by_group: bool,
    per_group: bool,
    higher_is_better: bool,
    money: Option<Amounts>,
    loss: Combination,
    conditions: Vec<SolvedCondition>,
    diagonal: bool,
    totals: Vec<ClassTotals>,
    /// Whether conditions have numbers of the sample in them beside totals.
    fixed: bool,
}

impl Problem {
    /// Ties a goal to a sample.
    ///
    /// # Errors
    /// If the sample lacks a class or the groups that the goal speaks of, or
    /// the conditions cannot be met by thresholds.
    pub fn new(goal: &Goal, rows: &dyn Shard, options: &ProblemOptions) -> Result<Self, ProblemError> {
        let mut build = Build::new(goal, rows)?;
        let mut conditions = Vec::new();
        let loss = match &goal.objective {
            Objective::Rate(_) | Objective::Money(_) => {
                if goal.objective.direction() == Direction::Neither {
                    return Err(ProblemError::NoDirection);
                }
                for (source, constraint) in goal.constraints.iter().enumerate() {
                    build.condition(constraint, source, options, &mut conditions)?;
                }
                let loss = match &goal.objective {
                    Objective::Rate(rate) => build.overall(*rate, 0)?,
                    _ => build.regret(),
                };
                if goal.abstains() {
                    let (expression, source) = (build.order(), conditions.len());
                    conditions.push(SolvedCondition { expression, sense: Sense::AtMost, source });
                }
                loss
            }
            Objective::Area(area) => {
                let bins = options.bins.unwrap_or_else(|| area.default_bins());
                let Some(height) = area.height().filter(|_| bins > 0) else {
                    let message = if bins == 0 {
                        "an area needs at least one bin".to_owned()
                    } else {
                        format!("a {:?} curve has no {:?} axis", area.curve, area.axis)
                    };
                    return Err(ProblemError::Area { message });
                };
                build.columns = bins;
                let mut loss = Combination::default();
                for (bin, target) in area.midpoints(bins).enumerate() {
                    loss = loss.minus(build.overall(height, bin)?, -1.0 / bins as f64);
                    let mut expression = build.overall(area.axis, bin)?;
                    expression.constant -= target;
                    conditions.push(SolvedCondition { expression, sense: Sense::Equal, source: bin });
                }
                loss
            }
        };
        // What is lost in money is a loss already.
        let higher_is_better = goal.objective.direction() == Direction::Up && goal.money().is_none();
        let mut problem = Self {
            shape: build.shape(),
            by_group: build.groups > 1,
            per_group: build.groups > 1 && !options.shared_threshold,
            higher_is_better,
            money: Amounts::of(rows),
            loss: if higher_is_better { loss.scaled(-1.0) } else { loss },
            conditions,
            diagonal: false,
            fixed: goal.constraints.iter().any(|constraint| match constraint {
                Constraint::Ratio { .. } => options.shared_threshold,
                Constraint::Top(Top::Count { of, .. }) => of.or(options.rows_scored).is_none(),
                _ => false,
            }),
            totals: build.totals,
        };
        let equalities = problem.conditions.iter().filter(|c| c.sense == Sense::Equal).count();
        if equalities > problem.thresholds() {
            return Err(ProblemError::TooManyEqualities { equalities, thresholds: problem.thresholds() });
        }
        problem.diagonal = problem.is_diagonal();
        Ok(problem)
    }

    /// Ties the same goal to other rows: at once, where these have the same classes and groups.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn tie(
        &mut self,
        goal: &Goal,
        rows: &dyn Shard,
        options: &ProblemOptions,
    ) -> Result<(), ProblemError> {
        let totals = &build::totals(goal, rows, self.by_group)?;
        self.money = Amounts::of(rows);
        if *totals == self.totals {
            return Ok(());
        }
        let classes = |totals: &ClassTotals| (totals.positives > 0.0, totals.negatives > 0.0);
        if self.fixed || !totals.iter().map(classes).eq(self.totals.iter().map(classes)) {
            *self = Self::new(goal, rows, options)?;
        } else {
            self.totals.copy_from_slice(totals);
            self.loss.tie(totals);
            self.conditions.iter_mut().for_each(|condition| condition.expression.tie(totals));
        }
        Ok(())
    }

    /// The layout of the cells.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Number of thresholds, m.
    #[must_use]
    pub fn thresholds(&self) -> usize {
        if self.per_group { self.shape.groups } else { self.shape.columns }
    }

    /// Whether each group has its own cells.
    #[must_use]
    pub fn by_group(&self) -> bool {
        self.by_group
    }

    /// Whether each group has its own threshold.
    #[must_use]
    pub fn per_group(&self) -> bool {
        self.per_group
    }

    /// Which threshold the counts of a cell depend on.
    #[must_use]
    pub fn threshold_of(&self, cell: usize) -> usize {
        let cell = cell % self.shape.layer();
        if self.per_group { cell / 2 / self.shape.columns } else { cell / 2 % self.shape.columns }
    }

    /// f: the objective as something to minimise.
    #[must_use]
    pub fn loss(&self) -> &Combination {
        &self.loss
    }

    /// g: the constraints.
    #[must_use]
    pub fn conditions(&self) -> &[SolvedCondition] {
        &self.conditions
    }

    /// Spreads m thresholds over the cells' grid: a row of columns for each group.
    pub fn fill_grid(&self, thresholds: &[f64], grid: &mut [f64]) {
        for (group, row) in grid.chunks_mut(self.shape.columns).enumerate() {
            if self.per_group {
                row.fill(thresholds[group]);
            } else {
                row.copy_from_slice(thresholds);
            }
        }
    }

    /// The objective's own value, from the loss.
    #[must_use]
    pub fn objective(&self, loss: f64) -> f64 {
        match &self.money {
            Some(money) if self.shape.layers > 1 => money.paid(loss),
            _ if self.higher_is_better => -loss,
            _ => loss,
        }
    }

    /// Whether condition k ties threshold k and no other, and is sure to be active.
    #[must_use]
    pub fn diagonal(&self) -> bool {
        self.diagonal
    }

    fn is_diagonal(&self) -> bool {
        self.conditions.len() == self.thresholds()
            && self.conditions.iter().enumerate().all(|(k, condition)| {
                condition.expression.cells().all(|cell| self.threshold_of(cell) == k)
                    && match condition.sense {
                        Sense::Equal => true,
                        // A loss that rises with the threshold pushes it down until the condition stops it.
                        Sense::AtMost => matches!(
                            (self.loss.monotone(self, k), condition.expression.monotone(self, k)),
                            (Some(Monotone::Rising), Some(Monotone::Falling))
                                | (Some(Monotone::Falling), Some(Monotone::Rising))
                        ),
                    }
            })
    }

    /// Which way condition k moves with threshold k, where its form alone tells.
    #[must_use]
    pub fn monotone(&self, k: usize) -> Option<Monotone> {
        self.conditions[k].expression.monotone(self, k)
    }
}
