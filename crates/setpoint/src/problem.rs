//! A goal tied to a sample: the loss and the constraints as functions of counts.
//!
//! ```text
//! f = constant + sum weight (a.C + a0) / (b.C + b0)         the loss, smaller is better
//! g = the same form, = 0 or <= 0                            one for each condition
//! ```
//!
//! where C are the cells of [`count`](crate::count). Rates of one label slice
//! have constant denominators; precision and its like do not. A goal with group
//! conditions has one threshold per group, any other goal one per operating
//! point (one, or as many as an area has bins).

use thiserror::Error;

use crate::count::{Cell, Shape};
use crate::goal::{Constraint, Counts, Direction, Goal, Objective, Rate, Relation, Top};
use crate::sample::{ClassTotals, Sample, SampleError};

/// A linear form of counts: constant + Σ (positive P_c + negative N_c).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Form {
    /// The constant part: whole-class totals.
    pub constant: f64,
    /// Coefficients on the smooth counts of single cells.
    pub terms: Vec<FormTerm>,
}

/// Coefficients on the counts of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FormTerm {
    /// Which cell.
    pub cell: usize,
    /// On its predicted positives.
    pub positive: f64,
    /// On its predicted negatives.
    pub negative: f64,
}

impl Form {
    /// Its value for these counts.
    #[must_use]
    pub fn value(&self, cells: &[Cell]) -> f64 {
        self.terms.iter().fold(self.constant, |sum, term| {
            let cell = &cells[term.cell];
            sum + term.positive * cell.positive + term.negative * cell.negative
        })
    }
}

/// weight * numerator / denominator.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// Factor in front.
    pub weight: f64,
    /// Above the line.
    pub numerator: Form,
    /// Below the line; positive for any counts.
    pub denominator: Form,
}

/// A sum of ratios of counts and a constant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Combination {
    /// The constant part, such as minus a target.
    pub constant: f64,
    /// The ratios.
    pub ratios: Vec<Ratio>,
}

/// Which way a combination moves when a threshold rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Monotone {
    /// Never falls.
    Rising,
    /// Never rises.
    Falling,
}

impl Combination {
    /// Its value for these counts.
    #[must_use]
    pub fn value(&self, cells: &[Cell]) -> f64 {
        self.ratios.iter().fold(self.constant, |sum, ratio| {
            sum + ratio.weight * ratio.numerator.value(cells) / ratio.denominator.value(cells)
        })
    }

    /// Calls `visit(cell, by P, by N)` with the partial derivatives by the counts.
    ///
    /// A cell may be visited more than once; contributions add up.
    pub fn visit_partials(&self, cells: &[Cell], mut visit: impl FnMut(usize, f64, f64)) {
        for ratio in &self.ratios {
            let denominator = ratio.denominator.value(cells);
            let value = ratio.numerator.value(cells) / denominator;
            let scale = ratio.weight / denominator;
            for term in &ratio.numerator.terms {
                visit(term.cell, scale * term.positive, scale * term.negative);
            }
            for term in &ratio.denominator.terms {
                visit(term.cell, -value * scale * term.positive, -value * scale * term.negative);
            }
        }
    }

    /// Adds `factor` times the second derivatives by the thresholds to `hessian` (row-major).
    ///
    /// For one ratio R = N / D, with subscripts for derivatives by thresholds,
    ///
    /// ```text
    /// R_jl = (N_jl - R D_jl - R_l D_j - R_j D_l) / D,      N_jl = D_jl = 0 for j != l
    /// ```
    pub fn add_threshold_hessian(&self, problem: &Problem, cells: &[Cell], factor: f64, hessian: &mut [f64]) {
        let thresholds = problem.thresholds();
        let derivatives = |form: &Form| {
            let mut first = vec![0.0; thresholds];
            let mut second = vec![0.0; thresholds];
            for term in &form.terms {
                let (cell, j) = (&cells[term.cell], problem.threshold_of(term.cell));
                first[j] -= term.positive * cell.positive_slope + term.negative * cell.negative_slope;
                second[j] +=
                    term.positive * cell.positive_curvature + term.negative * cell.negative_curvature;
            }
            (first, second)
        };
        for ratio in &self.ratios {
            let (n, nn) = derivatives(&ratio.numerator);
            let (d, dd) = derivatives(&ratio.denominator);
            let denominator = ratio.denominator.value(cells);
            let value = ratio.numerator.value(cells) / denominator;
            let slope = |j: usize| (n[j] - value * d[j]) / denominator;
            let scale = factor * ratio.weight / denominator;
            for j in 0..thresholds {
                hessian[j * thresholds + j] += scale * (nn[j] - value * dd[j]);
                for l in 0..thresholds {
                    hessian[j * thresholds + l] -= scale * (slope(l) * d[j] + slope(j) * d[l]);
                }
            }
        }
    }

    /// Every cell the combination depends on, some perhaps twice.
    fn cells(&self) -> impl Iterator<Item = usize> + '_ {
        let forms = self.ratios.iter().flat_map(|ratio| [&ratio.numerator, &ratio.denominator]);
        forms.flat_map(|form| form.terms.iter().map(|term| term.cell))
    }

    /// Which way the combination moves with a threshold, where its form alone tells.
    fn monotone(&self, problem: &Problem, threshold: usize) -> Option<Monotone> {
        let (mut rising, mut falling) = (true, true);
        for ratio in &self.ratios {
            if ratio.denominator.terms.iter().any(|term| problem.threshold_of(term.cell) == threshold) {
                return None;
            }
            for term in &ratio.numerator.terms {
                if problem.threshold_of(term.cell) == threshold {
                    // P falls and N rises with the threshold.
                    let (positive, negative) = (ratio.weight * term.positive, ratio.weight * term.negative);
                    rising &= positive <= 0.0 && negative >= 0.0;
                    falling &= positive >= 0.0 && negative <= 0.0;
                }
            }
        }
        match (rising, falling) {
            (true, false) => Some(Monotone::Rising),
            (false, true) => Some(Monotone::Falling),
            _ => None,
        }
    }

    fn minus(mut self, other: Self, factor: f64) -> Self {
        self.constant -= factor * other.constant;
        self.ratios.extend(other.ratios.into_iter().map(|mut ratio| {
            ratio.weight *= -factor;
            ratio
        }));
        self
    }

    fn scaled(mut self, factor: f64) -> Self {
        self.constant *= factor;
        for ratio in &mut self.ratios {
            ratio.weight *= factor;
        }
        self
    }
}

/// How a constraint binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// g = 0.
    Equal,
    /// g <= 0.
    AtMost,
}

/// One constraint on the thresholds.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// g.
    pub expression: Combination,
    /// = 0 or <= 0.
    pub kind: Kind,
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
}

/// Why a goal does not fit a sample.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ProblemError {
    /// The sample lacks what a rate needs.
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The goal speaks of groups and the sample has none, or has another column.
    #[error("the goal has a condition by {column:?}, but the sample {found}")]
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

/// A goal as functions of the counts of one sample.
#[derive(Clone, Debug)]
pub struct Problem {
    shape: Shape,
    per_group: bool,
    higher_is_better: bool,
    loss: Combination,
    conditions: Vec<Condition>,
    diagonal: bool,
}

impl Problem {
    /// Ties a goal to a sample.
    ///
    /// # Errors
    /// If the sample lacks a class or the groups that the goal speaks of, or
    /// the conditions cannot be met by thresholds.
    pub fn new(goal: &Goal, sample: &Sample, options: &ProblemOptions) -> Result<Self, ProblemError> {
        let mut build = Build::new(goal, sample)?;
        let (loss, conditions, columns) = match &goal.objective {
            Objective::Rate(rate) => {
                if rate.direction() == Direction::Neither {
                    return Err(ProblemError::NoDirection);
                }
                let mut conditions = Vec::new();
                for (source, constraint) in goal.constraints.iter().enumerate() {
                    build.condition(constraint, source, options, &mut conditions)?;
                }
                (build.overall(*rate, 0)?, conditions, 1)
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
                let mut conditions = Vec::new();
                for (bin, target) in area.midpoints(bins).enumerate() {
                    loss = loss.minus(build.overall(height, bin)?, -1.0 / bins as f64);
                    let mut expression = build.overall(area.axis, bin)?;
                    expression.constant -= target;
                    conditions.push(Condition { expression, kind: Kind::Equal, source: bin });
                }
                (loss, conditions, bins)
            }
        };
        let higher_is_better = goal.objective.direction() == Direction::Up;
        let mut problem = Self {
            shape: Shape { groups: build.totals.len(), columns },
            per_group: build.totals.len() > 1,
            higher_is_better,
            loss: if higher_is_better { loss.scaled(-1.0) } else { loss },
            conditions,
            diagonal: false,
        };
        let equalities = problem.conditions.iter().filter(|c| c.kind == Kind::Equal).count();
        if equalities > problem.thresholds() {
            return Err(ProblemError::TooManyEqualities { equalities, thresholds: problem.thresholds() });
        }
        problem.diagonal = problem.is_diagonal();
        Ok(problem)
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

    /// Whether each group has its own threshold.
    #[must_use]
    pub fn per_group(&self) -> bool {
        self.per_group
    }

    /// Which threshold the counts of a cell depend on.
    #[must_use]
    pub fn threshold_of(&self, cell: usize) -> usize {
        if self.per_group { cell / 2 / self.shape.columns } else { cell / 2 % self.shape.columns }
    }

    /// f: the objective as something to minimise.
    #[must_use]
    pub fn loss(&self) -> &Combination {
        &self.loss
    }

    /// g: the constraints.
    #[must_use]
    pub fn conditions(&self) -> &[Condition] {
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
        if self.higher_is_better { -loss } else { loss }
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
                    && match condition.kind {
                        Kind::Equal => true,
                        // A loss that rises with the threshold pushes it down until the condition stops it.
                        Kind::AtMost => matches!(
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

/// What is known of the sample while the goal's rates are spelled out.
struct Build {
    totals: Vec<ClassTotals>,
    names: Vec<String>,
    column: String,
    rows: u64,
    columns: usize,
}

impl Build {
    fn new(goal: &Goal, sample: &Sample) -> Result<Self, ProblemError> {
        let rows = sample.len() as u64;
        let Some(column) = goal.column() else {
            return Ok(Self {
                totals: vec![sample.totals()],
                names: Vec::new(),
                column: String::new(),
                rows,
                columns: 1,
            });
        };
        let missing = |found: String| ProblemError::Groups { column: column.to_owned(), found };
        let groups =
            sample.groups().ok_or_else(|| missing("has no groups; name the column with --group".into()))?;
        if groups.column() != column {
            return Err(missing(format!("is grouped by {:?}", groups.column())));
        }
        if groups.names().len() < 2 {
            return Err(missing(format!("has only one group, {:?}", groups.names()[0])));
        }
        Ok(Self {
            totals: (0..groups.names().len()).map(|group| sample.group_totals(groups, group)).collect(),
            names: groups.names().to_vec(),
            column: column.to_owned(),
            rows,
            columns: 1,
        })
    }

    fn overall(&self, rate: Rate, column: usize) -> Result<Combination, ProblemError> {
        self.rate(rate, 0..self.totals.len(), column)
    }

    fn group(&self, rate: Rate, group: usize) -> Result<Combination, ProblemError> {
        self.rate(rate, group..group + 1, 0)
    }

    fn rate(
        &self,
        rate: Rate,
        groups: std::ops::Range<usize>,
        column: usize,
    ) -> Result<Combination, ProblemError> {
        self.check(rate, &groups)?;
        let fractions = rate.fractions();
        let weight = 1.0 / fractions.len() as f64;
        let ratios = fractions
            .iter()
            .map(|fraction| Ratio {
                weight,
                numerator: self.form(&fraction.numerator, groups.clone(), column),
                denominator: self.form(&fraction.denominator, groups.clone(), column),
            })
            .collect();
        Ok(Combination { constant: 0.0, ratios })
    }

    fn form(&self, counts: &Counts, groups: std::ops::Range<usize>, column: usize) -> Form {
        let shape = Shape { groups: self.totals.len(), columns: self.columns };
        let mut form = Form::default();
        for group in groups {
            let totals = self.totals[group];
            form.constant += counts.positives * totals.positives + counts.negatives * totals.negatives;
            for (label, positive, negative) in [
                (true, counts.true_positives, counts.false_negatives),
                (false, counts.false_positives, counts.true_negatives),
            ] {
                if positive != 0.0 || negative != 0.0 {
                    form.terms.push(FormTerm { cell: shape.cell(group, column, label), positive, negative });
                }
            }
        }
        form
    }

    fn check(&self, rate: Rate, groups: &std::ops::Range<usize>) -> Result<(), ProblemError> {
        let (positives, negatives) = rate.needs();
        let sum = |of: fn(&ClassTotals) -> f64| self.totals[groups.clone()].iter().map(of).sum::<f64>();
        let missing = if sum(|t| t.positives + t.negatives) == 0.0 {
            "examples"
        } else if positives && sum(|t| t.positives) == 0.0 {
            "positives"
        } else if negatives && sum(|t| t.negatives) == 0.0 {
            "negatives"
        } else {
            return Ok(());
        };
        let rate = rate.to_string();
        Err(ProblemError::Sample(if groups.len() < self.totals.len() {
            let group = self.names[groups.start].clone();
            SampleError::GroupWithoutClass { column: self.column.clone(), group, missing, rate }
        } else {
            SampleError::OneClass { missing, rows: self.rows as usize, rate }
        }))
    }

    fn condition(
        &self,
        constraint: &Constraint,
        source: usize,
        options: &ProblemOptions,
        conditions: &mut Vec<Condition>,
    ) -> Result<(), ProblemError> {
        let mut add = |expression: Combination, relation: Relation, target: f64| {
            let mut expression = expression;
            expression.constant -= target;
            let (expression, kind) = match relation {
                Relation::Equal => (expression, Kind::Equal),
                Relation::AtMost => (expression, Kind::AtMost),
                Relation::AtLeast => (expression.scaled(-1.0), Kind::AtMost),
            };
            conditions.push(Condition { expression, kind, source });
        };
        let groups = self.totals.len();
        match constraint {
            Constraint::Rate { rate, relation, target } => add(self.overall(*rate, 0)?, *relation, *target),
            Constraint::Top(top) => {
                add(self.overall(Rate::PositiveRate, 0)?, Relation::Equal, self.fraction(*top, options)?);
            }
            Constraint::PerGroup { rate, relation, target, .. } => {
                for group in 0..groups {
                    add(self.group(*rate, group)?, *relation, *target);
                }
            }
            // R_a - R_b <= target for every pair; no difference at all is an equality.
            Constraint::Gap { rate, target, .. } => {
                self.pairs(*target == 0.0, |a, b, relation| {
                    add(self.group(*rate, a)?.minus(self.group(*rate, b)?, 1.0), relation, *target);
                    Ok(())
                })?;
            }
            // R_a / R_b >= target for every pair, as target R_b - R_a <= 0.
            Constraint::Ratio { rate, target, .. } => {
                self.pairs(*target == 1.0, |a, b, relation| {
                    add(
                        self.group(*rate, b)?.scaled(*target).minus(self.group(*rate, a)?, 1.0),
                        relation,
                        0.0,
                    );
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Every ordered pair of groups with `AtMost`, or each later group against the first with `Equal`.
    fn pairs(
        &self,
        equal: bool,
        mut visit: impl FnMut(usize, usize, Relation) -> Result<(), ProblemError>,
    ) -> Result<(), ProblemError> {
        let groups = self.totals.len();
        if equal {
            return (1..groups).try_for_each(|a| visit(a, 0, Relation::Equal));
        }
        for a in 0..groups {
            for b in (0..groups).filter(|b| *b != a) {
                visit(a, b, Relation::AtMost)?;
            }
        }
        Ok(())
    }

    fn fraction(&self, top: Top, options: &ProblemOptions) -> Result<f64, ProblemError> {
        match top {
            Top::Fraction(fraction) => Ok(fraction),
            Top::Count { k, of } => {
                let rows = of.or(options.rows_scored).unwrap_or(self.rows);
                if k >= rows {
                    return Err(ProblemError::TopTooLarge { k, rows });
                }
                Ok(k as f64 / rows as f64)
            }
        }
    }
}
