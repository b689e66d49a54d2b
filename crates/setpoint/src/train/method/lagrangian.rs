//! The proxy-Lagrangian: a game between parameters and multipliers, each with its own view of a rate.
//!
//! The rival that the paper compares with (Eban et al. 2017; Cotter et al. 2019; TensorFlow
//! Constrained Optimization). Thresholds t are parameters beside the model's:
//!
//! ```text
//! L(s, t) = f~ + Σ_k μ_k g~_k       descended in the scores s and the thresholds t   (softplus)
//! μ_k <- max(0, μ_k + step g_k)     ascended at the exact, unrelaxed g_k
//! ```
//!
//! by Adam on both sides, the multipliers with a rate of their own. A factor on the constraints
//! (TFCO's "dual scale") would do nothing under Adam.
//!
//! **Surrogates.** Each count enters by its convex bound: one that is to fall as φ(x), one that is to
//! rise as what is left of its total, W - φ(-x). So recall is trained as the softplus false negatives;
//! softplus true positives would grow without bound. φ has sharpness 1: the scores find their own
//! scale, as under cross-entropy.
//!
//! **Conditions.** A limit has one multiplier. An equality is two limits with one multiplier each, but
//! for the bins of an area: those are limits on the safe side of the axis (fpr at most, recall at
//! least), as TFCO has them, since the height pulls the other way.
//!
//! **Ratios.** Precision and its like have counts below the line. TFCO puts a slack variable in the
//! place of a ratio's counts, tied to them by a constraint and a multiplier of its own (Narasimhan et
//! al. 2019). At the best response of both, the slack is the exact count and its multiplier is the
//! ratio's derivative there. That is what is done here, without the extra variables: a ratio is
//! linearised at the exact counts, and the surrogates stand for the counts in the linear form. A
//! condition such as precision >= p is linearised at its *target*: that is TFCO's p FP - (1 - p) TP <= 0,
//! which has no ratio (softplus counts above and below the line would bound nothing, and a smooth
//! precision meets its target by inflating both), over the current number of predicted positives, so
//! that its multiplier means the same at any number.
//!
//! Measured on validation and test splits of Letter and IJCNN1 (seeds 10 to 12): smooth ratios of
//! softplus counts as the objective lose 0.3 to 1.3 points of pr-auc over recall in 0.95..1 on Letter
//! and gain 0 to 0.5 on IJCNN1. A cross-entropy start gains 0 to 4 points of recall at fpr<=1% over
//! zeros, TFCO's start, and ties for pr-auc; so that is where [`fit`](crate::train::fit) starts it.

use super::Loss;
use crate::count::{Cell, CellPartial, Counter, count_exact};
use crate::engine::EngineError;
use crate::goal::{Goal, Objective, Relation, safe_side};
use crate::optimizer::{Adam, Optimizer, OptimizerError, State};
use crate::problem::{Combination, Problem, ProblemOptions, Ratio, Sense};
use crate::shard::Shard;
use crate::surrogate::Surrogate;
use crate::threshold::exact;
use crate::train::TrainError;

/// Step sizes of the two players, and how the goal is tied to the sample.
#[derive(Clone, Debug)]
pub struct LagrangianOptions {
    /// Step size of the thresholds: that of the parameters.
    pub learning_rate: f64,
    /// Step size of the multipliers.
    pub dual_learning_rate: f64,
    /// How the goal is tied to the sample.
    pub problem: ProblemOptions,
}

/// The goal's Lagrangian, with its thresholds and multipliers.
///
/// Every evaluation is one step of the thresholds and of the multipliers, so the function moves: only
/// first-order optimizers can follow it.
#[derive(Debug)]
pub struct Lagrangian {
    goal: Goal,
    options: LagrangianOptions,
    problem: Problem,
    counter: Counter,
    limits: Vec<Limit>,
    /// Denominators are raised to the weight of one example.
    floor: f64,
    players: Option<Players>,
}

/// One limit: sign g <= 0.
#[derive(Clone, Copy, Debug)]
struct Limit {
    condition: usize,
    sign: f64,
}

/// What moves beside the parameters.
#[derive(Clone, Debug)]
struct Players {
    thresholds: Vec<f32>,
    multipliers: Vec<f32>,
    descent: Adam,
    ascent: Adam,
}

/// The Lagrangian as a linear form of counts: a constant, and no negative coefficient.
#[derive(Debug)]
struct Bound {
    constant: f64,
    partials: Vec<CellPartial>,
}

impl Lagrangian {
    /// Ties a goal to rows. The first scores place the thresholds; the multipliers start at 0.
    ///
    /// # Errors
    /// If the goal does not fit the rows, or a step size is not positive.
    pub fn new(goal: &Goal, rows: &dyn Shard, options: LagrangianOptions) -> Result<Self, TrainError> {
        let problem = Problem::new(goal, rows, &options.problem).map_err(EngineError::from)?;
        let area = match &goal.objective {
            Objective::Area(area) => Some(if safe_side(area.axis) == Relation::AtMost { 1.0 } else { -1.0 }),
            Objective::Rate(_) | Objective::Money(_) => None,
        };
        let mut limits = Vec::new();
        for (condition, of) in problem.conditions().iter().enumerate() {
            let signs = match (area, of.sense) {
                (Some(safe), _) => vec![safe],
                (None, Sense::AtMost) => vec![1.0],
                (None, Sense::Equal) => vec![1.0, -1.0],
            };
            limits.extend(signs.into_iter().map(|sign| Limit { condition, sign }));
        }
        Adam::new(options.learning_rate)?;
        Adam::new(options.dual_learning_rate)?;
        Ok(Self {
            goal: goal.clone(),
            counter: Counter::new(problem.shape().groups, Surrogate::Softplus, 1.0),
            limits,
            floor: mean_weight(rows),
            players: None,
            problem,
            options,
        })
    }

    /// The thresholds, once there are any.
    #[must_use]
    pub fn thresholds(&self) -> Option<&[f32]> {
        self.players.as_ref().map(|players| &*players.thresholds)
    }

    /// The multipliers, never negative, once there are any: one for each limit; two for an equality.
    #[must_use]
    pub fn multipliers(&self) -> Option<&[f32]> {
        self.players.as_ref().map(|players| &*players.multipliers)
    }

    /// The players at these first scores. Thresholds start where the unrelaxed conditions hold; at
    /// equal scores, or where they cannot hold, at the first score.
    fn start(&self, rows: &dyn Shard, scores: &[f32]) -> Result<Players, TrainError> {
        let first = scores.first().copied().unwrap_or(0.0);
        let spread = scores.iter().any(|score| *score != first);
        let solved = exact::solve(&self.goal, rows.whole(), scores, &self.options.problem).ok();
        let solved = solved.filter(|_| spread).map(|solved| solved.thresholds);
        let thresholds = solved.filter(|thresholds| thresholds.iter().all(|t| t.is_finite()));
        Ok(Players {
            thresholds: thresholds.unwrap_or_else(|| vec![first; self.problem.thresholds()]),
            multipliers: vec![0.0; self.limits.len()],
            descent: Adam::new(self.options.learning_rate)?,
            ascent: Adam::new(self.options.dual_learning_rate)?,
        })
    }

    fn grid(&self, thresholds: &[f32]) -> Vec<f64> {
        let thresholds: Vec<f64> = thresholds.iter().map(|t| f64::from(*t)).collect();
        let mut grid = vec![0.0; self.problem.shape().grid()];
        self.problem.fill_grid(&thresholds, &mut grid);
        grid
    }

    /// The exact g of every limit at these exact counts.
    fn violations(&self, exact: &[Cell]) -> Vec<f64> {
        let violation = |limit: &Limit| {
            let expression = &self.problem.conditions()[limit.condition].expression;
            limit.sign * self.exact_value(expression, exact, true)
        };
        self.limits.iter().map(violation).collect()
    }

    /// A combination at exact counts. Of a condition with one ratio, (N - target D) / D with D raised
    /// to the floor: 0, not undefined, where nothing is counted.
    fn exact_value(&self, expression: &Combination, exact: &[Cell], condition: bool) -> f64 {
        let denominator = |ratio: &Ratio| ratio.denominator.value(exact).max(self.floor);
        match &expression.ratios[..] {
            [ratio] if condition => {
                let free = ratio.weight * ratio.numerator.value(exact)
                    + expression.constant * ratio.denominator.value(exact);
                free / denominator(ratio)
            }
            ratios => ratios.iter().fold(expression.constant, |sum, ratio| {
                sum + ratio.weight * ratio.numerator.value(exact) / denominator(ratio)
            }),
        }
    }

    /// L around these exact counts, bounded from above count by count.
    fn bound(&self, exact: &[Cell], multipliers: &[f32]) -> Bound {
        let mut bound = Bound { constant: 0.0, partials: vec![CellPartial::default(); exact.len()] };
        self.add(self.problem.loss(), 1.0, exact, false, &mut bound);
        for (limit, multiplier) in self.limits.iter().zip(multipliers) {
            let expression = &self.problem.conditions()[limit.condition].expression;
            self.add(expression, limit.sign * f64::from(*multiplier), exact, true, &mut bound);
        }
        bound
    }

    /// Adds factor times a combination to the bound.
    fn add(&self, expression: &Combination, factor: f64, exact: &[Cell], condition: bool, bound: &mut Bound) {
        bound.constant += factor * self.exact_value(expression, exact, condition);
        // By predicted positives less by predicted negatives: P + N is the same for any threshold.
        let mut net = vec![0.0; exact.len()];
        for ratio in &expression.ratios {
            let denominator = ratio.denominator.value(exact).max(self.floor);
            let about = if condition && expression.ratios.len() == 1 {
                -expression.constant / ratio.weight
            } else {
                ratio.numerator.value(exact) / denominator
            };
            let scale = factor * ratio.weight / denominator;
            for term in &ratio.numerator.terms {
                net[term.cell] += scale * (term.positive - term.negative);
            }
            for term in &ratio.denominator.terms {
                net[term.cell] -= scale * about * (term.positive - term.negative);
            }
        }
        for ((net, partial), cell) in net.into_iter().zip(&mut bound.partials).zip(exact) {
            if net > 0.0 {
                partial.positive += net;
                bound.constant -= net * cell.positive;
            } else {
                partial.negative -= net;
                bound.constant += net * cell.negative;
            }
        }
    }
}

impl Bound {
    /// Its value at these smooth counts.
    fn value(&self, cells: &[Cell]) -> f64 {
        self.partials.iter().zip(cells).fold(self.constant, |sum, (partial, cell)| {
            sum + partial.positive * cell.positive + partial.negative * cell.negative
        })
    }

    /// Its derivative by each threshold.
    fn by_threshold(&self, problem: &Problem, cells: &[Cell]) -> Vec<f32> {
        let mut slopes = vec![0.0; problem.thresholds()];
        for (index, (partial, cell)) in self.partials.iter().zip(cells).enumerate() {
            slopes[problem.threshold_of(index)] -=
                partial.positive * cell.positive_slope + partial.negative * cell.negative_slope;
        }
        slopes.into_iter().map(|slope: f64| slope as f32).collect()
    }
}

fn mean_weight(rows: &dyn Shard) -> f64 {
    let totals = rows.totals(false)[0];
    (totals.positives + totals.negatives) / rows.rows() as f64
}

impl Loss for Lagrangian {
    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        rows.whole().check_scores(scores)?;
        self.problem.tie(&self.goal, rows, &self.options.problem).map_err(EngineError::from)?;
        self.floor = mean_weight(rows);
        let mut players = match self.players.take() {
            Some(players) => players,
            None => self.start(rows, scores)?,
        };
        let grid = self.grid(&players.thresholds);
        let mut exact = vec![Cell::default(); self.problem.shape().cells()];
        count_exact(rows.whole(), self.problem.shape().groups, scores, &grid, &mut exact)?;
        let bound = self.bound(&exact, &players.multipliers);
        let mut cells = vec![Cell::default(); exact.len()];
        self.counter.count(rows, scores, &grid, false, &mut cells)?;
        self.counter.gradient(rows, scores, &grid, &bound.partials, false, v)?;
        // Both players move from the same point.
        players.descent.step(&mut players.thresholds, &bound.by_threshold(&self.problem, &cells))?;
        let uphill: Vec<f32> = self.violations(&exact).iter().map(|g| -*g as f32).collect();
        players.ascent.step(&mut players.multipliers, &uphill)?;
        players.multipliers.iter_mut().for_each(|multiplier| *multiplier = multiplier.max(0.0));
        self.players = Some(players);
        Ok(bound.value(&cells))
    }

    fn state(&self) -> State {
        let Some(players) = &self.players else { return State::default() };
        State::default()
            .with("thresholds", players.thresholds.clone())
            .with("multipliers", players.multipliers.clone())
            .with_all("thresholds ", players.descent.state())
            .with_all("multipliers ", players.ascent.state())
    }

    fn restore(&mut self, state: &State) -> Result<(), TrainError> {
        self.players = None;
        if state.find::<f32>("thresholds")?.is_none() {
            return Ok(());
        }
        let optimizer = |player: &str, learning_rate: f64| {
            let mut adam = Adam::new(learning_rate)?;
            adam.restore(&state.all(player))?;
            Ok::<Adam, OptimizerError>(adam)
        };
        self.players = Some(Players {
            thresholds: state.sized("thresholds", self.problem.thresholds())?.to_vec(),
            multipliers: state.sized("multipliers", self.limits.len())?.to_vec(),
            descent: optimizer("thresholds ", self.options.learning_rate)?,
            ascent: optimizer("multipliers ", self.options.dual_learning_rate)?,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
