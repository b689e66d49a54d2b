//! The smooth metric of queries and its gradient, through a threshold for every query.
//!
//! In each query, with φ the sigmoid and a the sharpness over the spread of the query's scores,
//!
//! ```text
//! top k:               Σ φ(a (s_i - t)) = k           H = Σ y_i φ(a (s_i - t))
//! average precision:   Σ_rel φ(a (s_i - t)) = r - ½   P = r / (½ + Σ φ(a (s_i - t))),      r = 1 .. relevant
//! dH/ds_i = a φ'_i (y_i - ȳ),      ȳ = Σ y φ' / Σ φ'                                        through t
//! ```
//!
//! With z = a (s - mean), e^-z is computed once for each row; a pass at another threshold is then one division for each.
//! Thresholds are in units of z, start where they were and are found by Newton's method on the logit of the count.
//! The spread moves with the scores too: what is left of the gradient has no part along the scores themselves.

use super::plan::{Plan, Planned, Term};
use super::{Queries, RankError};
use crate::goal::QueryGoal;
use crate::sample::SampleError;

/// Rows of queries that are worked on as one unit, at least.
const CHUNK: usize = 4_096;
/// Up to this e^-z and its products with e^t are numbers; beyond it a pass takes an exponential for each row.
const FAR: f64 = 300.0;
/// How well a count must be met, relative to what is above and below it. The value is then corrected to first order.
const TOLERANCE: f64 = 1e-9;
const MOST_PASSES: usize = 100;

/// How smooth the metric is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryOptions {
    /// Sharpness in units of the spread of a query's scores.
    pub sharpness: f64,
    /// Least spread that the sharpness is measured in. With 0, a query whose scores are all equal teaches nothing.
    pub least_spread: f64,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self { sharpness: 8.0, least_spread: 0.0 }
    }
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryStep {
    /// The smooth metric: the mean over the queries that have a value.
    pub value: f64,
    /// Queries that have a value.
    pub counted: usize,
    /// Those of them that no scores can change: too few rows, or all relevant.
    pub idle: usize,
    /// Those whose scores were all equal, or nearer than the least spread.
    pub tied: usize,
    /// Passes over the rows of a query, summed over thresholds.
    pub passes: u64,
}

/// The loss `1 - metric` of a goal on fixed rows.
#[derive(Clone, Debug)]
pub struct QueryEngine {
    options: QueryOptions,
    rows: usize,
    plan: Plan,
    /// Consecutive queries that are worked on as one unit.
    chunks: Vec<Chunk>,
    /// By term: where its threshold was, in units of z. NaN before the first step.
    thresholds: Vec<f64>,
    /// By row of the plan: its score, less the mean of its query.
    scores: Vec<f64>,
    /// e^-z; or z, in queries where that is too large.
    e: Vec<f64>,
    slopes: Vec<f64>,
    v: Vec<f64>,
    sums: Vec<Sums>,
}

#[derive(Clone, Debug)]
struct Chunk {
    queries: std::ops::Range<usize>,
    rows: usize,
    terms: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    value: f64,
    tied: usize,
    passes: u64,
    bad: bool,
}

impl QueryEngine {
    /// Ties a goal to rows.
    ///
    /// # Errors
    /// If no query has a relevant row, or a grade has no finite gain.
    pub fn new(goal: &QueryGoal, queries: &Queries, options: QueryOptions) -> Result<Self, RankError> {
        let plan = Plan::new(goal, queries)?;
        let mut chunks: Vec<Chunk> = Vec::new();
        for (index, query) in plan.queries.iter().enumerate() {
            let (rows, terms) = (query.to - query.from, query.terms.len());
            match chunks.last_mut() {
                Some(chunk) if chunk.rows < CHUNK => {
                    chunk.queries.end = index + 1;
                    chunk.rows += rows;
                    chunk.terms += terms;
                }
                _ => chunks.push(Chunk { queries: index..index + 1, rows, terms }),
            }
        }
        let rows = plan.rows.len();
        Ok(Self {
            options,
            rows: queries.row_count(),
            thresholds: vec![f64::NAN; plan.terms.len()],
            scores: vec![0.0; rows],
            e: vec![0.0; rows],
            slopes: vec![0.0; rows],
            v: vec![0.0; rows],
            sums: vec![Sums::default(); chunks.len()],
            chunks,
            plan,
        })
    }

    /// The smooth metric at these scores, and the derivative of `1 - metric` by each of them.
    ///
    /// # Errors
    /// If there is not one finite score for each row.
    pub fn step(&mut self, scores: &[f32], v: &mut [f32]) -> Result<QueryStep, RankError> {
        for got in [scores.len(), v.len()] {
            if got != self.rows {
                return Err(SampleError::Length { what: "scores", expected: self.rows, got }.into());
            }
        }
        // Also of queries that no step looks at.
        if let Some(index) = scores.iter().position(|score| !score.is_finite()) {
            return Err(SampleError::Score { index, value: scores[index] }.into());
        }
        let step = self.step_of(&|row| f64::from(scores[row as usize]));
        v.fill(0.0);
        for (row, value) in self.plan.rows.iter().zip(&self.v) {
            v[*row as usize] = *value as f32;
        }
        Ok(step)
    }

    /// Thresholds that the next step starts from.
    #[must_use]
    pub fn thresholds(&self) -> &[f64] {
        &self.thresholds
    }

    /// Starts from the thresholds of another step on the same rows.
    pub fn start_from(&mut self, thresholds: &[f64]) {
        if thresholds.len() == self.thresholds.len() {
            self.thresholds.copy_from_slice(thresholds);
        }
    }

    /// The step with scores from anywhere; the gradient stays in `self.v`, in the plan's order.
    pub(super) fn step_of(&mut self, score: &(dyn Fn(u32) -> f64 + Sync)) -> QueryStep {
        let Self { options, plan, chunks, thresholds, scores, e, slopes, v, sums, .. } = self;
        let work = Work { plan, options: *options, score, thresholds, scores, e, slopes, v };
        work.share(chunks, sums);
        let mut all = Sums { value: plan.settled, ..Sums::default() };
        for sums in &*sums {
            all.value += if sums.bad { f64::NAN } else { sums.value };
            all.tied += sums.tied;
            all.passes += sums.passes;
        }
        QueryStep {
            value: all.value / plan.counted as f64,
            counted: plan.counted,
            idle: plan.idle,
            tied: all.tied,
            passes: all.passes,
        }
    }

    /// The plan's rows with their derivatives, in 64 bits.
    #[cfg(test)]
    pub(super) fn gradient(&self) -> Vec<f64> {
        let mut all = vec![0.0; self.rows];
        for (row, value) in self.plan.rows.iter().zip(&self.v) {
            all[*row as usize] = *value;
        }
        all
    }
}

/// The part of everything that belongs to some chunks.
struct Work<'w> {
    plan: &'w Plan,
    options: QueryOptions,
    score: &'w (dyn Fn(u32) -> f64 + Sync),
    thresholds: &'w mut [f64],
    scores: &'w mut [f64],
    e: &'w mut [f64],
    slopes: &'w mut [f64],
    v: &'w mut [f64],
}

/// Sums over the rows of a query at a threshold: of φ and y φ, and of their slopes.
#[derive(Clone, Copy, Debug, Default)]
struct Pass {
    all: f64,
    worth: f64,
    all_slope: f64,
    worth_slope: f64,
}

impl Work<'_> {
    /// Goes through chunks, in halves on two threads.
    fn share(mut self, chunks: &[Chunk], sums: &mut [Sums]) {
        match sums {
            // No scores can change any query.
            [] => return,
            [sums] => {
                *sums = self.run(&self.plan.queries[chunks[0].queries.clone()]);
                return;
            }
            _ => {}
        }
        let middle = chunks.len() / 2;
        let (first, second) = chunks.split_at(middle);
        let (first_sums, second_sums) = sums.split_at_mut(middle);
        let (rows, terms) = first.iter().fold((0, 0), |sum, chunk| (sum.0 + chunk.rows, sum.1 + chunk.terms));
        let (thresholds, thresholds_after) = self.thresholds.split_at_mut(terms);
        let (scores, scores_after) = self.scores.split_at_mut(rows);
        let (e, e_after) = self.e.split_at_mut(rows);
        let (slopes, slopes_after) = self.slopes.split_at_mut(rows);
        let (v, v_after) = self.v.split_at_mut(rows);
        let Self { plan, options, score, .. } = self;
        let before = Work { plan, options, score, thresholds, scores, e, slopes, v };
        let after = Work {
            plan,
            options,
            score,
            thresholds: thresholds_after,
            scores: scores_after,
            e: e_after,
            slopes: slopes_after,
            v: v_after,
        };
        rayon::join(|| before.share(first, first_sums), || after.share(second, second_sums));
    }

    fn run(&mut self, queries: &[Planned]) -> Sums {
        let scale = -1.0 / self.plan.counted as f64;
        let mut sums = Sums::default();
        let (mut row, mut term) = (0, 0);
        for query in queries {
            let rows = row..row + (query.to - query.from);
            let terms = term..term + query.terms.len();
            (row, term) = (rows.end, terms.end);
            let scores = &mut self.scores[rows.clone()];
            let e = &mut self.e[rows.clone()];
            let slopes = &mut self.slopes[rows.clone()];
            let v = &mut self.v[rows.clone()];
            for (at, row) in scores.iter_mut().zip(&self.plan.rows[query.from..query.to]) {
                *at = (self.score)(*row);
            }
            let count = scores.len() as f64;
            let mean = scores.iter().sum::<f64>() / count;
            scores.iter_mut().for_each(|score| *score -= mean);
            let spread = (scores.iter().map(|s| s * s).sum::<f64>() / count).sqrt();
            v.fill(0.0);
            if !spread.is_finite() {
                sums.bad = true;
                continue;
            }
            let floor = self.options.least_spread;
            // Scores of 1e-40 would have slopes that 32 bits do not hold.
            let steepest = 1e-30 * self.options.sharpness;
            let tied = spread <= floor.max(1e-12 * mean.abs()).max(steepest);
            sums.tied += usize::from(tied);
            let unit = if tied { floor } else { spread };
            let sharpness = if unit > 0.0 { self.options.sharpness / unit } else { 0.0 };
            let mut far = 0.0_f64;
            for (e, s) in e.iter_mut().zip(&*scores) {
                *e = sharpness * s;
                far = far.max(e.abs());
            }
            if far <= FAR {
                e.iter_mut().for_each(|e| *e = (-*e).exp());
            }
            let y = &self.plan.y[query.from..query.to];
            sums.value += query.base;
            for (threshold, term) in
                self.thresholds[terms].iter_mut().zip(&self.plan.terms[query.terms.clone()])
            {
                let total = if self.plan.by_relevant { query.total } else { count };
                let solve = Solve { e, y, by_relevant: self.plan.by_relevant, total, far };
                let (pass, passes) = solve.run(term, threshold, slopes);
                sums.passes += passes;
                sums.value += solve.add(term, &pass, scale * sharpness, slopes, v);
            }
            if !tied {
                // What would only stretch the scores changes nothing: the spread moves with them.
                let along: f64 = v.iter().zip(&*scores).map(|(v, s)| v * s).sum();
                let factor = along / (count * spread * spread);
                v.iter_mut().zip(&*scores).for_each(|(v, s)| *v -= factor * s);
            }
        }
        sums
    }
}

/// One threshold of one query.
struct Solve<'s> {
    /// e^-z; or z where `far` is beyond [`FAR`].
    e: &'s [f64],
    y: &'s [f64],
    by_relevant: bool,
    /// What the count that ties the threshold comes to far below all scores.
    total: f64,
    /// Largest |z|.
    far: f64,
}

impl Solve<'_> {
    /// Finds the threshold, and leaves the slopes there.
    fn run(&self, term: &Term, threshold: &mut f64, slopes: &mut [f64]) -> (Pass, u64) {
        let (target, total) = (term.target, self.total);
        let logit = (target / (total - target)).ln();
        // Were all scores the lowest, or the highest, the threshold would be logit below them.
        let (mut low, mut high) = (-self.far - logit, self.far - logit);
        let enough = TOLERANCE * target.min(total - target);
        let mut at = if threshold.is_nan() { -logit } else { threshold.clamp(low, high) };
        let mut passes = 0;
        loop {
            passes += 1;
            let pass = match self.far <= FAR {
                true => {
                    let x = at.exp();
                    self.pass(|e| e * x, slopes)
                }
                false => self.pass(|z| (at - z).exp(), slopes),
            };
            let (count, slope) =
                if self.by_relevant { (pass.worth, pass.worth_slope) } else { (pass.all, pass.all_slope) };
            let off = count - target;
            if off.abs() <= enough || passes == MOST_PASSES || high - low <= 1e-13 * self.far.max(1.0) {
                *threshold = at;
                return (pass, passes as u64);
            }
            if off > 0.0 {
                low = at
            } else {
                high = at
            }
            let step = ((count / (total - count)).ln() - logit) * count * (total - count) / (slope * total);
            at += step;
            if !(at > low && at < high) {
                at = 0.5 * (low + high);
            }
        }
    }

    /// Sums at a threshold, in four lanes, given the odds of being below it; a row's slope is φ (1 - φ).
    fn pass(&self, odds: impl Fn(f64) -> f64, slopes: &mut [f64]) -> Pass {
        const LANES: usize = 4;
        let mut sums = [[0.0; LANES]; 4];
        let (e, e_rest) = self.e.as_chunks::<LANES>();
        let (y, y_rest) = self.y.as_chunks::<LANES>();
        let (d, d_rest) = slopes.as_chunks_mut::<LANES>();
        for ((e, y), d) in e.iter().zip(y).zip(d) {
            for lane in 0..LANES {
                let p = 1.0 / (1.0 + odds(e[lane]));
                d[lane] = p * (1.0 - p);
                sums[0][lane] += p;
                sums[1][lane] += y[lane] * p;
                sums[2][lane] += d[lane];
                sums[3][lane] += y[lane] * d[lane];
            }
        }
        for (lane, ((e, y), d)) in e_rest.iter().zip(y_rest).zip(d_rest).enumerate() {
            let p = 1.0 / (1.0 + odds(*e));
            *d = p * (1.0 - p);
            sums[0][lane] += p;
            sums[1][lane] += y * p;
            sums[2][lane] += *d;
            sums[3][lane] += y * *d;
        }
        let [all, worth, all_slope, worth_slope] = sums.map(|lanes| lanes.iter().sum());
        Pass { all, worth, all_slope, worth_slope }
    }

    /// The term's value; adds its derivative by each score to `v`, `scale` times.
    fn add(&self, term: &Term, pass: &Pass, scale: f64, slopes: &[f64], v: &mut [f64]) -> f64 {
        let Pass { all, worth, all_slope, worth_slope } = *pass;
        let slope = if self.by_relevant { worth_slope } else { all_slope };
        // Nobody is near the threshold, and nothing moves.
        let ratio = |other: f64| if slope > 1e-290 { other / slope } else { 0.0 };
        let (value, outer, constant, linear) = if self.by_relevant {
            let mean = ratio(all_slope);
            let count = all + mean * (term.target - worth) + 0.5;
            let r = term.target + 0.5;
            (term.weight * r / count, -term.weight * r / (count * count), 1.0, -mean)
        } else {
            let mean = ratio(worth_slope);
            (term.weight * (worth + mean * (term.target - all)), term.weight, -mean, 1.0)
        };
        let factor = scale * outer;
        for ((v, slope), y) in v.iter_mut().zip(slopes).zip(self.y) {
            *v += factor * slope * (constant + linear * y);
        }
        value
    }
}
