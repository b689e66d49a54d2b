//! The pairwise loss: positives against the negatives that would be false alarms.
//!
//! ```text
//! f = Σ_{i positive} Σ_{j in S} w_i u_j φ(-k (s_i - s_j)) / (Σ w_i Σ u_j)
//! ```
//!
//! S are the negatives in the top fraction b by score, whose u_j are their weights; negatives tied at
//! the boundary share what is left of the fraction. With b = 1 it is the loss of roc-auc; a smaller b
//! that of the stretch fpr in 0..b (Narasimhan and Agarwal 2013, and the paper's baseline). S is held
//! constant in the gradient, as in the paper: it changes only where two negatives change places.
//!
//! **How it is computed.** For a negative, its sum over the positives is a smooth count of false
//! negatives with its score as the threshold: the vector code of [`count`](crate::count) over the
//! positives. That is P |S| pairs, exact up to `EXACT_PAIRS` (2^24) of them. Beyond, negatives whose scores
//! lie within `BUCKET` (1/32) bandwidths are replaced by their mean: by Taylor's formula the loss then errs
//! by at most φ'' BUCKET² / 8 < 4e-5, and the gradient is the exact one of that loss.
//!
//! The rule of the paper starts from zeros; there a loss of standardised scores says nothing, and on
//! Letter and IJCNN1 (seeds 10 to 12, recall at fpr<=1%) a loss of the scores themselves ends 0 to 5
//! points lower than from cross-entropy. So [`fit`](crate::train::fit) starts it from cross-entropy.

use super::Loss;
use crate::count::{Cell, CellPartial, Counter};
use crate::goal::{Area, Constraint, Curve, Goal, Objective, Rate, Relation};
use crate::optimizer::State;
use crate::sample::{Sample, SampleError};
use crate::shard::Shard;
use crate::surrogate::Surrogate;
use crate::train::{Bandwidth, Standard, TrainError};

/// Pairs up to which each is counted by itself.
const EXACT_PAIRS: usize = 1 << 24;
/// Width, in bandwidths, within which negatives are replaced by their mean beyond `EXACT_PAIRS`.
const BUCKET: f64 = 1.0 / 32.0;

/// What the method can be asked for; part of its error message.
const ABLE: &str = "recall or fnr under one limit on fpr (or tnr), roc-auc, and roc-auc @ fpr in 0..b";

/// The pairwise loss over a sample.
#[derive(Debug)]
pub struct Pairwise {
    goal: Goal,
    fraction: f64,
    bandwidth: Bandwidth,
    surrogate: Surrogate,
    /// 1 / bandwidth in standardised units; fixed by the first scores seen.
    sharpness: Option<f64>,
    exact_pairs: usize,
}

/// The rows by class.
struct Classes<'s> {
    sample: &'s Sample,
    positives: Vec<u32>,
    negatives: Vec<u32>,
    /// The positives as a sample of their own.
    positive_sample: Sample,
}

impl<'s> Classes<'s> {
    fn of(sample: &'s Sample) -> Result<Self, TrainError> {
        let of_class = |class: bool| -> Vec<u32> {
            let labels = sample.labels().iter().enumerate();
            labels.filter(|(_, label)| **label == class).map(|(row, _)| row as u32).collect()
        };
        let (positives, negatives) = (of_class(true), of_class(false));
        for (rows, missing) in [(&positives, "positives"), (&negatives, "negatives")] {
            if rows.is_empty() {
                let rate = "the pairwise loss".to_owned();
                return Err(SampleError::OneClass { missing, rows: sample.len(), rate }.into());
            }
        }
        let mut positive_sample = Sample::none();
        positive_sample.refill(sample, &positives);
        Ok(Self { sample, positives, negatives, positive_sample })
    }
}

/// A negative of S, and its share u of the loss.
#[derive(Clone, Copy, Debug)]
struct Top {
    row: u32,
    score: f32,
    share: f64,
}

/// Negatives that count as one.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    threshold: f64,
    share: f64,
    end: usize,
}

impl Pairwise {
    /// The loss of a goal over rows such as these.
    ///
    /// The bandwidth is in standardised units, as ico's, and the loss then that of standardised
    /// scores; but [`Bandwidth::Score`] is in units of the scores themselves, which are left as they
    /// are: the paper's baseline.
    ///
    /// # Errors
    /// If the goal is not one of top negatives, or the rows lack a class.
    pub fn new(
        goal: &Goal,
        rows: &dyn Shard,
        surrogate: Surrogate,
        bandwidth: Bandwidth,
    ) -> Result<Self, TrainError> {
        let fraction = top_fraction(goal).map_err(|reason| TrainError::Method {
            method: "pairwise",
            goal: goal.to_string(),
            reason,
            able: ABLE,
        })?;
        Classes::of(rows.whole())?;
        Ok(Self {
            goal: goal.clone(),
            fraction,
            bandwidth,
            surrogate,
            sharpness: None,
            exact_pairs: EXACT_PAIRS,
        })
    }

    /// S, by descending score.
    fn top(&self, classes: &Classes<'_>, scores: &[f32]) -> Vec<Top> {
        let member = |row: &u32| Top {
            row: *row,
            score: scores[*row as usize],
            share: classes.sample.weight(*row as usize),
        };
        let mut members: Vec<Top> = classes.negatives.iter().map(member).collect();
        let descending = |a: &Top, b: &Top| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row));
        let total: f64 = members.iter().map(|member| member.share).sum();
        let wanted = self.fraction * total;
        if classes.sample.weights().is_none() && self.fraction < 1.0 {
            // Equal weights say how many: only these, and those tied with the last, need a sort.
            let last = (wanted.ceil() as usize).clamp(1, members.len()) - 1;
            let boundary = members.select_nth_unstable_by(last, descending).1.score;
            members.retain(|member| member.score >= boundary);
        }
        members.sort_unstable_by(descending);
        let mut above = 0.0;
        let mut start = 0;
        while start < members.len() {
            let score = members[start].score;
            let tied = members[start..].iter().take_while(|member| member.score == score);
            let (count, weight) = tied.fold((0, 0.0), |(count, sum), member| (count + 1, sum + member.share));
            if above + weight >= wanted {
                let share = ((wanted - above) / weight).min(1.0);
                members[start..start + count].iter_mut().for_each(|member| member.share *= share);
                members.truncate(start + count);
                break;
            }
            above += weight;
            start += count;
        }
        members
    }

    /// Each negative by itself, or those within a bucket's width together.
    fn buckets(&self, top: &[Top], positives: usize, sharpness: f64) -> Vec<Bucket> {
        let exact = top.len().saturating_mul(positives) <= self.exact_pairs;
        let width = if exact { 0.0 } else { BUCKET / sharpness };
        let mut buckets = Vec::new();
        let mut start = 0;
        while start < top.len() {
            let first = f64::from(top[start].score);
            let members = top[start..].iter().take_while(|member| first - f64::from(member.score) <= width);
            let (mut count, mut share, mut below) = (0, 0.0, 0.0);
            for member in members {
                count += 1;
                share += member.share;
                below += member.share * (first - f64::from(member.score));
            }
            start += count;
            buckets.push(Bucket { threshold: first - below / share, share, end: start });
        }
        buckets
    }

    /// Loss and gradient in units of the scores.
    fn pairs(
        &self,
        classes: &Classes<'_>,
        scores: &[f32],
        sharpness: f64,
        v: &mut [f32],
    ) -> Result<f64, TrainError> {
        let top = self.top(classes, scores);
        let buckets = self.buckets(&top, classes.positives.len(), sharpness);
        let thresholds: Vec<f64> = buckets.iter().map(|bucket| bucket.threshold).collect();
        let own: Vec<f32> = classes.positives.iter().map(|row| scores[*row as usize]).collect();
        let mut counter = Counter::new(1, self.surrogate, sharpness);
        let mut cells = vec![Cell::default(); 2 * buckets.len()];
        counter.count(&classes.positive_sample, &own, &thresholds, false, &mut cells)?;
        let pairs = classes.positive_sample.totals().positives
            * buckets.iter().map(|bucket| bucket.share).sum::<f64>();
        let partials: Vec<CellPartial> = buckets
            .iter()
            .flat_map(|bucket| {
                let positives = CellPartial { negative: bucket.share / pairs, ..CellPartial::default() };
                [CellPartial::default(), positives]
            })
            .collect();
        let mut gradient = vec![0.0; own.len()];
        counter.gradient(&classes.positive_sample, &own, &thresholds, &partials, false, &mut gradient)?;
        v.fill(0.0);
        for (row, gradient) in classes.positives.iter().zip(gradient) {
            v[*row as usize] = gradient;
        }
        let (mut loss, mut start) = (0.0, 0);
        for (bucket, cell) in buckets.iter().zip(cells.iter().skip(1).step_by(2)) {
            loss += bucket.share / pairs * cell.negative;
            for member in &top[start..bucket.end] {
                // A threshold rises as the scores fall.
                v[member.row as usize] = (-member.share / pairs * cell.negative_slope) as f32;
            }
            start = bucket.end;
        }
        Ok(loss)
    }
}

/// b, or why the goal has none.
fn top_fraction(goal: &Goal) -> Result<f64, &'static str> {
    match (&goal.objective, &goal.constraints[..]) {
        (Objective::Area(Area { curve: Curve::Roc, axis: Rate::FalsePositiveRate, from, to }), []) => {
            if *from == 0.0 { Ok(*to) } else { Err("its fpr range does not start at 0") }
        }
        (Objective::Area(_), _) => Err("its area is not one over fpr"),
        (Objective::Rate(Rate::Recall | Rate::FalseNegativeRate), constraints) => match constraints {
            [Constraint::Rate { rate: Rate::FalsePositiveRate, relation, target }]
                if *relation != Relation::AtLeast =>
            {
                Ok(*target)
            }
            [Constraint::Rate { rate: Rate::TrueNegativeRate, relation, target }]
                if *relation != Relation::AtMost =>
            {
                Ok(1.0 - target)
            }
            [_] => Err("its condition does not limit the negatives over all rows"),
            _ => Err("it needs exactly one condition"),
        },
        _ => Err("its objective does not compare positives with negatives"),
    }
}

impl Loss for Pairwise {
    fn evaluate(&mut self, rows: &dyn Shard, scores: &[f32], v: &mut [f32]) -> Result<f64, TrainError> {
        let sample = rows.whole();
        sample.check_scores(scores)?;
        let classes = Classes::of(sample)?;
        if let Bandwidth::Score(bandwidth) = self.bandwidth {
            return self.pairs(&classes, scores, 1.0 / bandwidth, v);
        }
        let standard = Standard::of(rows, scores);
        let sharpness = *self
            .sharpness
            .get_or_insert_with(|| standard.deviation * self.bandwidth.sharpness(&self.goal, rows, scores));
        let loss = self.pairs(&classes, scores, sharpness / standard.deviation, v)?;
        standard.pull_back(rows, scores, v);
        Ok(loss)
    }

    fn state(&self) -> State {
        State::default().with_some("sharpness", self.sharpness.map(|sharpness| vec![sharpness]))
    }

    fn restore(&mut self, state: &State) -> Result<(), TrainError> {
        self.sharpness = state.find("sharpness")?.and_then(|values| values.first().copied());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
