//! Shifts by counted decisions: the best that a goal can have of given scores.
//!
//! With the other shifts held, a class is decided where z_i = s_ic - max_{k≠c} (s_ik - λ_k) is above its shift:
//! one sort of z and one walk along it find the best shift of a class exactly. Class after class, again while it
//! helps, from several starts. Of many rows a part is searched, then a larger one and all of them are gone over once,
//! where only rows near another decision can change. Conditions come first: where they are missed, the least miss
//! is best.
//!
//! Coverages that must equal their shares tie every shift. Those are found by Newton steps on the counts, whose
//! Jacobian is counted too: rows that would change from one class to another within a small window.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

mod choose;
mod ledger;

pub use choose::{choose, smooth};
use ledger::{Ledger, Merit};

use super::confusion::Confusion;
use super::{ClassError, Classes};
use crate::algebra::damped_least_squares;
use crate::goal::{ClassCondition, ClassGoal, ClassObjective, ClassRate, Over, Rate, Relation};
use crate::sample::Sample;

/// Most rows that are searched whole; of more, so many are searched, and so many gone over before all are.
const SEARCHED: usize = 50_000;
const COARSE: usize = 2_000;
/// Rows counted as one unit, so that sums do not depend on the number of threads.
const CHUNK: usize = 8_192;
/// Rounds over the classes: of a search, and of a quick look.
const ROUNDS: usize = 8;
const QUICK: usize = 2;
/// The share of rows near enough to where a search on fewer of them ended: of a part, and of all.
const NEAR: f64 = 0.1;
const NEAREST: f64 = 0.02;
/// Steps of the one-parameter adjustment, a tenth of the logarithms of the shares each.
const ADJUSTED: i32 = 20;

/// Shifts, and what the goal is worth at them.
#[derive(Clone, Debug, PartialEq)]
pub struct Shifts {
    /// One for each class.
    pub shifts: Vec<f64>,
    /// The goal's value.
    pub value: f64,
}

/// What is known of the rows of a search.
struct Search<'a> {
    goal: &'a ClassGoal,
    classes: &'a Classes<'a>,
    scores: &'a [f32],
    /// Decisions of further rows, which do not change.
    fixed: Option<&'a Fixed>,
}

/// Rows that are decided, counted.
#[derive(Default)]
struct Fixed {
    right: Vec<f64>,
    decided: Vec<f64>,
    cost: f64,
}

/// The best shifts for a goal on these rows, from so many starts; one alone is a quick look.
///
/// # Errors
/// If no shifts were found that meet the conditions, or the scores do not fit.
pub fn best(goal: &ClassGoal, sample: &Sample, scores: &[f32], starts: usize) -> Result<Shifts, ClassError> {
    let classes = Classes::of(goal, sample)?;
    classes.check_scores(scores)?;
    let whole = Search::new(goal, &classes, scores);
    let rows = classes.codes.len();
    if rows <= SEARCHED {
        let shifts = whole.search(starts, ROUNDS);
        let value = Confusion::at(&classes, scores, &shifts)?.value(goal)?;
        return Ok(Shifts { shifts, value });
    }
    let part = |most: usize| {
        let picked: Vec<u32> = (0..rows as u32).step_by(rows.div_ceil(most)).collect();
        (sample.select(&picked), picked_scores(scores, classes.count(), &picked))
    };
    let (coarse, coarse_scores) = part(COARSE);
    let mut shifts = Search::new(goal, &Classes::new(&coarse), &coarse_scores).search(starts, QUICK);
    let (fine, fine_scores) = part(SEARCHED);
    let fine_classes = Classes::new(&fine);
    let part = Search::new(goal, &fine_classes, &fine_scores);
    for (search, share) in [(&part, NEAR), (&whole, NEAREST)] {
        search.near_decisions(&mut shifts, share, |near, shifts, reach| {
            // Two shifts that move apart by this much each pass no row beyond reach.
            if !near.cover(shifts, reach / 2.0) {
                near.once(shifts, Some(reach / 2.0));
            }
        });
    }
    let value = Confusion::at(&classes, scores, &shifts)?.value(goal)?;
    Ok(Shifts { shifts, value })
}

/// The best shifts that are a multiple of the logarithms of the classes' shares: one parameter, for scores that
/// are logits. Shifts of classes that conditions are on are then moved to meet them.
///
/// # Errors
/// As [`best`].
pub fn adjusted(goal: &ClassGoal, sample: &Sample, scores: &[f32]) -> Result<Shifts, ClassError> {
    let classes = Classes::of(goal, sample)?;
    classes.check_scores(scores)?;
    let search = Search::new(goal, &classes, scores);
    let at = |tenth: i32| {
        let mut shifts = by_share(&classes, f64::from(tenth) / 10.0);
        search.tie(&mut shifts);
        let value = Confusion::at(&classes, scores, &shifts)?.value(goal)?;
        Ok(Shifts { shifts, value })
    };
    let merit = |found: &Result<Shifts, ClassError>| {
        goal.objective.direction().merit(found.as_ref().ok().map(|found| found.value))
    };
    let first = at(0);
    (1..=ADJUSTED).map(at).fold(first, |best, next| if merit(&next) > merit(&best) { next } else { best })
}

/// How far each row is from being decided as a class, with the other shifts as they are: the score of a decision
/// between this class and the rest, at threshold `shifts[class]`.
#[must_use]
pub fn margins(scores: &[f32], shifts: &[f64], class: usize) -> Vec<f32> {
    let rows = scores.par_chunks_exact(shifts.len());
    rows.map(|scores| (f64::from(scores[class]) - runner_up(scores, shifts, class).1) as f32).collect()
}

fn by_share(classes: &Classes<'_>, factor: f64) -> Vec<f64> {
    (0..classes.count()).map(|class| factor * classes.prior(class).max(1e-12).ln()).collect()
}

/// The class that a row is decided as, the next best, and by how much.
fn first_two(scores: &[f32], shifts: &[f64]) -> (usize, usize, f64) {
    let (mut first, mut second) = ((0, f64::NEG_INFINITY), (1, f64::NEG_INFINITY));
    for (class, (score, shift)) in scores.iter().zip(shifts).enumerate() {
        let margin = f64::from(*score) - shift;
        if margin > first.1 {
            (first, second) = ((class, margin), first);
        } else if margin > second.1 {
            second = (class, margin);
        }
    }
    (first.0, second.0, first.1 - second.1)
}

/// The best of the other classes and its margin.
fn runner_up(scores: &[f32], shifts: &[f64], class: usize) -> (usize, f64) {
    let mut best = (usize::from(class == 0), f64::NEG_INFINITY);
    for (other, (score, shift)) in scores.iter().zip(shifts).enumerate() {
        let margin = f64::from(*score) - shift;
        if other != class && margin > best.1 {
            best = (other, margin);
        }
    }
    best
}

/// The scores of these rows.
fn picked_scores(scores: &[f32], count: usize, rows: &[u32]) -> Vec<f32> {
    rows.iter().flat_map(|row| &scores[*row as usize * count..][..count]).copied().collect()
}

impl<'a> Search<'a> {
    fn new(goal: &'a ClassGoal, classes: &'a Classes<'a>, scores: &'a [f32]) -> Self {
        Self { goal, classes, scores, fixed: None }
    }

    /// The best of several starts, of so many rounds each: as the scores are, by the classes' shares, and at random.
    fn search(&self, starts: usize, rounds: usize) -> Vec<f64> {
        let count = self.classes.count();
        let mut best = vec![0.0; count];
        let spread = self.classes.spread(self.scores);
        if self.cover(&mut best, 0.5 * spread) {
            // What is still off by a few rows, and the goal within what is allowed.
            self.improve(&mut best, rounds);
            return best;
        }
        let mut merit = self.improve(&mut best, if starts > 1 { rounds } else { QUICK });
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        for start in 1..starts {
            let mut shifts = match start {
                1 => by_share(self.classes, 1.0),
                2 => by_share(self.classes, 0.5),
                _ => (0..count).map(|_| spread * rng.random_range(-1.0..1.0)).collect(),
            };
            let found = self.improve(&mut shifts, rounds);
            if found.better_than(&merit) {
                (best, merit) = (shifts, found);
            }
        }
        best
    }

    fn names(&self, class: usize) -> bool {
        let named = |rate: &ClassRate| rate.over == Over::Class(class);
        let objective = matches!(&self.goal.objective, ClassObjective::Rate(rate) if named(rate));
        objective || self.goal.conditions.iter().any(|condition| named(&condition.rate))
    }

    /// Class after class while it helps.
    fn improve(&self, shifts: &mut [f64], rounds: usize) -> Merit {
        let mut merit = self.once(shifts, None);
        for _ in 1..rounds {
            let next = self.once(shifts, None);
            if !next.better_than(&merit) {
                break;
            }
            merit = next;
        }
        merit
    }

    /// Sets the shifts of the classes that conditions are on, where they are missed.
    fn tie(&self, shifts: &mut [f64]) {
        let conditions = &self.goal.conditions;
        let missed = |shifts: &[f64]| {
            let counted = Confusion::at(self.classes, self.scores, shifts);
            counted.is_ok_and(|counted| conditions.iter().any(|condition| counted.missed(condition) > 0.0))
        };
        if conditions.is_empty()
            || !missed(shifts)
            || self.cover(shifts, 0.5 * self.classes.spread(self.scores))
        {
            return;
        }
        let of = |class: &usize| {
            let mut over = conditions.iter().map(|condition| condition.rate.over);
            over.any(|over| over == Over::Each || over == Over::Class(*class))
        };
        for class in (0..self.classes.count()).filter(of) {
            self.along(shifts, class, None);
        }
    }

    /// Every class once, those that the goal names first: another one must not be moved to meet a condition that
    /// the class itself can meet. What the goal is worth then.
    fn once(&self, shifts: &mut [f64], within: Option<f64>) -> Merit {
        let mut order: Vec<usize> = (0..self.classes.count()).collect();
        order.sort_by_key(|class| !self.names(*class));
        order.into_iter().map(|class| self.along(shifts, class, within)).last().unwrap_or_default()
    }

    /// Works on the rows near another decision alone, such a share of them; the others are counted once. Their
    /// decisions hold as long as no two shifts move apart by more than what `work` is told.
    fn near_decisions(
        &self,
        shifts: &mut [f64],
        share: f64,
        work: impl FnOnce(&Search<'_>, &mut [f64], f64),
    ) {
        let (count, classes) = (self.classes.count(), self.classes);
        let sampled = self.scores.chunks_exact(count).step_by(64);
        let mut gaps: Vec<f64> = sampled.map(|scores| first_two(scores, shifts).2).collect();
        let place = (share * gaps.len() as f64) as usize;
        let reach = *gaps.select_nth_unstable_by(place, f64::total_cmp).1;
        let partial = |(chunk, scores): (usize, &[f32])| {
            let mut ledger = Ledger::new(self.goal, classes);
            let mut near: Vec<u32> = Vec::new();
            for (row, scores) in (chunk * CHUNK..).zip(scores.chunks_exact(count)) {
                let (class, _, gap) = first_two(scores, shifts);
                if gap <= reach {
                    near.push(row as u32);
                } else {
                    ledger.move_row(classes.codes[row] as usize, None, class, classes.weight(row));
                }
            }
            (Fixed { right: ledger.right, decided: ledger.decided, cost: ledger.cost }, near)
        };
        let partials: Vec<_> = self.scores.par_chunks(CHUNK * count).enumerate().map(partial).collect();
        let mut fixed = Fixed { right: vec![0.0; count], decided: vec![0.0; count], cost: 0.0 };
        let mut near = Vec::new();
        for (part, rows) in partials {
            fixed.right.iter_mut().zip(part.right).for_each(|(sum, more)| *sum += more);
            fixed.decided.iter_mut().zip(part.decided).for_each(|(sum, more)| *sum += more);
            fixed.cost += part.cost;
            near.extend(rows);
        }
        let codes: Vec<u32> = near.iter().map(|row| classes.codes[*row as usize]).collect();
        let weights: Option<Vec<f32>> =
            classes.weights.map(|weights| near.iter().map(|row| weights[*row as usize]).collect());
        let rows = Classes { codes: &codes, weights: weights.as_deref(), ..classes.clone() };
        let scores = picked_scores(self.scores, count, &near);
        work(
            &Search { goal: self.goal, classes: &rows, scores: &scores, fixed: Some(&fixed) },
            shifts,
            reach,
        );
    }

    /// Sets the shift of one class to the best there is, with the others held, or to the best of those within
    /// so far of it.
    fn along(&self, shifts: &mut [f64], class: usize, within: Option<f64>) -> Merit {
        let count = self.classes.count();
        let mut rows: Vec<(f64, u32, u32)> = self
            .scores
            .par_chunks_exact(count)
            .enumerate()
            .map(|(row, scores)| {
                let (other, margin) = runner_up(scores, shifts, class);
                (f64::from(scores[class]) - margin, row as u32, other as u32)
            })
            .collect();
        let at = shifts[class];
        let ends =
            || rows.iter().fold((at, at), |(high, low), row| (high.max(row.0 + 1.0), low.min(row.0 - 1.0)));
        let (high, low) = within.map_or_else(ends, |far| (at + far, at - far));
        let mut ledger = Ledger::new(self.goal, self.classes);
        if let Some(Fixed { right, decided, cost }) = self.fixed {
            ledger.right.copy_from_slice(right);
            ledger.decided.copy_from_slice(decided);
            ledger.cost = *cost;
        }
        for (z, row, other) in &rows {
            let y = self.classes.codes[*row as usize] as usize;
            let to = if *z > high { class } else { *other as usize };
            ledger.move_row(y, None, to, self.classes.weight(*row as usize));
        }
        (0..count).for_each(|class| ledger.update(class));
        rows.retain(|row| row.0 <= high && row.0 >= low);
        rows.par_sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut best = (ledger.merit(), high);
        for (place, (z, row, other)) in rows.iter().enumerate() {
            let (y, weight) =
                (self.classes.codes[*row as usize] as usize, self.classes.weight(*row as usize));
            ledger.move_row(y, Some(*other as usize), class, weight);
            ledger.update(*other as usize);
            let next = rows.get(place + 1).map_or(low, |row| row.0);
            if next == *z {
                continue;
            }
            ledger.update(class);
            let (merit, at) = (ledger.merit(), f64::midpoint(*z, next));
            let nearer = || (at - shifts[class]).abs() < (best.1 - shifts[class]).abs();
            if merit.better_than(&best.0) || (!best.0.better_than(&merit) && nearer()) {
                best = (merit, at);
            }
        }
        shifts[class] = best.1;
        best.0
    }

    /// Coverages that equal their targets, by Newton steps with a Jacobian that is counted within a window, at first of
    /// this width; false where no condition asks for that.
    fn cover(&self, shifts: &mut [f64], mut window: f64) -> bool {
        let Some(condition) = self.goal.conditions.iter().find(|condition| ties_all(condition)) else {
            return false;
        };
        let (count, classes) = (self.classes.count(), self.classes);
        let targets: Vec<f64> =
            (0..count).map(|class| condition.target.of(classes.prior(class)) * classes.total).collect();
        let mut best = (f64::INFINITY, shifts.to_vec());
        let mut damping = 1e-6;
        for _ in 0..60 {
            let (decided, pairs) = self.near(shifts, window);
            let off: Vec<f64> = decided.iter().zip(&targets).map(|(found, target)| found - target).collect();
            let missed = off.iter().fold(0.0f64, |most, off| most.max(off.abs()));
            if missed < best.0 {
                best = (missed, shifts.to_vec());
                damping = (damping * 0.1f64).max(1e-9);
                // The window shrinks with what is left to move, and keeps some rows in it.
                let inside: f64 = pairs.iter().sum();
                if inside > 20.0 * missed.max(50.0) {
                    window *= 0.5;
                }
            } else {
                damping *= 10.0;
                shifts.copy_from_slice(&best.1);
                window *= 1.2;
                if damping > 1e3 {
                    break;
                }
            }
            if best.0 <= 1e-5 * classes.total {
                break;
            }
            // Rows that change between two classes when their shifts move apart by one.
            let mut jacobian = vec![0.0; count * count];
            for a in 0..count {
                for b in 0..count {
                    if a != b {
                        let rate = (pairs[a * count + b] + pairs[b * count + a]) / (2.0 * window);
                        jacobian[a * count + b] += rate;
                        jacobian[a * count + a] -= rate;
                    }
                }
            }
            let off: Vec<f64> = off.iter().map(|off| -off).collect();
            let step = damped_least_squares(&jacobian, &off, count, damping);
            let longest = step.iter().fold(0.0f64, |most, step| most.max(step.abs()));
            let scale = (4.0 * window / longest).min(1.0);
            shifts.iter_mut().zip(step).for_each(|(shift, step)| *shift += scale * step);
        }
        shifts.copy_from_slice(&best.1);
        true
    }

    /// Weight decided as each class, and of the rows within a window of another one, by both.
    fn near(&self, shifts: &[f64], window: f64) -> (Vec<f64>, Vec<f64>) {
        let count = self.classes.count();
        let partial = |(chunk, scores): (usize, &[f32])| {
            let (mut decided, mut pairs) = (vec![0.0; count], vec![0.0; count * count]);
            for (row, scores) in (chunk * CHUNK..).zip(scores.chunks_exact(count)) {
                let (class, other, gap) = first_two(scores, shifts);
                let weight = self.classes.weight(row);
                decided[class] += weight;
                if gap < window {
                    pairs[class * count + other] += weight;
                }
            }
            (decided, pairs)
        };
        let partials: Vec<_> = self.scores.par_chunks(CHUNK * count).enumerate().map(partial).collect();
        let decided = self.fixed.map_or_else(|| vec![0.0; count], |fixed| fixed.decided.clone());
        let mut sums = (decided, vec![0.0; count * count]);
        for (decided, pairs) in partials {
            sums.0.iter_mut().zip(decided).for_each(|(sum, more)| *sum += more);
            sums.1.iter_mut().zip(pairs).for_each(|(sum, more)| *sum += more);
        }
        sums
    }
}

/// Whether a condition leaves no shift free.
fn ties_all(condition: &ClassCondition) -> bool {
    condition.relation == Relation::Equal
        && condition.rate.rate == Rate::PositiveRate
        && condition.rate.over == Over::Each
}
