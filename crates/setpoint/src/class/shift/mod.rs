//! Shifts by counted decisions: the best that a goal can have of given scores.
//!
//! With the other shifts held, a class is decided where z_i = s_ic - max_{k≠c} (s_ik - λ_k) is above its shift:
//! one sort of z and one walk along it find the best shift of a class exactly. Class after class, again while it
//! helps, from several starts. Of many rows a part is searched, then a larger one and all of them are gone over,
//! where only rows near another decision can change. Conditions come first: where they are missed, the least miss
//! is best.
//!
//! Coverages that must equal their shares tie every shift. Those are found by Newton steps on the counts, whose
//! Jacobian is counted too: rows that would change from one class to another within a small window.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

mod choose;
mod far;
mod ledger;
#[cfg(test)]
mod tests;
mod walk;

use choose::{BANDWIDTH, smooth_start};
pub use choose::{choose, smooth};
use far::Far;
use ledger::{Decided, Merit};
use walk::Walk;

use super::confusion::Confusion;
use super::{ClassError, Classes};
use crate::algebra::damped_least_squares;
use crate::goal::{ClassCondition, ClassGoal, ClassObjective, ClassRate, Over, Rate, Relation};
use crate::sample::Sample;

/// Most rows that are searched whole; of more, so many are searched, and so many gone over before all are.
const SEARCHED: usize = 50_000;
const COARSE: usize = 5_000;
/// Rows counted as one unit, so that sums do not depend on the number of threads.
const CHUNK: usize = 8_192;
/// Rounds over the classes: of a search, of one that another with more rows comes after, and of a quick look.
const ROUNDS: usize = 8;
const FEW: usize = 4;
const QUICK: usize = 2;
/// Steps towards coverages: of a search, and of one that another with fewer rows comes after.
const COVERING: usize = 60;
const NEARING: usize = 6;
/// About so many rows are looked at to find out how far rows are from another decision.
const SAMPLED: usize = 8_192;
/// How often coverages are sought near the decisions of the time before.
const TURNS: usize = 6;
/// The share of rows near enough to where a search on fewer of them ended: of a part, and of all. Coverages are
/// off on a part by more rows than the others' best is.
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

/// How a search for coverages ended.
#[derive(PartialEq)]
enum Covered {
    Met,
    Missed,
    /// The shifts lie beyond those that were allowed.
    Further,
}

/// What is known of the rows of a search.
struct Search<'a> {
    goal: &'a ClassGoal,
    classes: &'a Classes<'a>,
    scores: &'a [f32],
    /// Decisions of further rows, which do not change.
    fixed: Option<&'a Decided>,
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
    let covers = goal.conditions.iter().any(ties_all);
    if rows <= SEARCHED {
        let mut shifts = whole.search(starts, ROUNDS);
        if covers {
            // What is still off by a few rows, and the goal within what is allowed.
            whole.improve(&mut shifts, ROUNDS);
        }
        let value = Confusion::at(&classes, scores, &shifts)?.value(goal)?;
        return Ok(Shifts { shifts, value });
    }
    let part = |most: usize| {
        let picked: Vec<u32> = (0..rows as u32).step_by(rows.div_ceil(most)).collect();
        (sample.select(&picked), picked_scores(scores, classes.count(), &picked))
    };
    let (coarse, coarse_scores) = part(COARSE);
    let (fine, fine_scores) = part(SEARCHED);
    let fine_classes = Classes::new(&fine);
    let part = Search::new(goal, &fine_classes, &fine_scores);
    let value = |shifts: &[f64]| Confusion::at(&classes, scores, shifts)?.value(goal);
    let nearest = if covers { NEAR } else { NEAREST };
    if part.pulls() && !covers {
        // A step of one class takes others with it, near or not.
        let mut shifts = part.search(starts, ROUNDS);
        whole.improve(&mut shifts, ROUNDS);
        let value = value(&shifts)?;
        return Ok(Shifts { shifts, value });
    }
    let mut shifts = Search::new(goal, &Classes::new(&coarse), &coarse_scores).search(starts, FEW);
    part.go_over(&mut shifts, NEAR, FEW);
    whole.go_over(&mut shifts, nearest, QUICK);
    let mut found = value(&shifts);
    if matches!(&found, Err(error) if error.is_no_value()) {
        // What few rows led to does not suit all.
        shifts = part.search(starts, ROUNDS);
        whole.go_over(&mut shifts, nearest, QUICK);
        found = value(&shifts);
    }
    Ok(Shifts { shifts, value: found? })
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
    let mut picked = Vec::with_capacity(rows.len() * count);
    rows.iter().for_each(|row| picked.extend_from_slice(&scores[*row as usize * count..][..count]));
    picked
}

impl<'a> Search<'a> {
    fn new(goal: &'a ClassGoal, classes: &'a Classes<'a>, scores: &'a [f32]) -> Self {
        Self { goal, classes, scores, fixed: None }
    }

    /// The best of several starts, of so many rounds each: as the scores are, by the classes' shares, at random, and
    /// where classes pull against each other the best of the smooth goal.
    fn search(&self, starts: usize, rounds: usize) -> Vec<f64> {
        let count = self.classes.count();
        let mut best = vec![0.0; count];
        let spread = self.classes.spread(self.scores);
        if self.cover(&mut best, 0.5 * spread, f64::INFINITY, COVERING).is_some() {
            return best;
        }
        let mut merit = self.improve(&mut best, if starts > 1 { rounds } else { QUICK });
        let mut offer = |mut shifts: Vec<f64>| {
            let found = self.improve(&mut shifts, rounds);
            if found.better_than(&merit) {
                (best, merit) = (shifts, found);
            }
        };
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        for start in 1..starts {
            offer(match start {
                1 => by_share(self.classes, 1.0),
                2 => by_share(self.classes, 0.5),
                _ => (0..count).map(|_| spread * rng.random_range(-1.0..1.0)).collect(),
            });
        }
        if starts > 1
            && self.pulls()
            && let Ok(shifts) = smooth_start(self.goal, self.classes, self.scores, BANDWIDTH)
        {
            offer(shifts);
        }
        if (starts > 1 || !merit.meets())
            && let Some(mut shifts) = self.among_named()
        {
            let found = self.improve(&mut shifts, rounds);
            if found.better_than(&merit) {
                best = shifts;
            }
        }
        best
    }

    /// Shifts that decide all rows among the classes that conditions name, where there are several: recalls of these that
    /// can be had at all can be had there, and class after class from elsewhere may not come to it.
    fn among_named(&self) -> Option<Vec<f64>> {
        let named = |class: usize| {
            self.goal.conditions.iter().any(|condition| condition.rate.over == Over::Class(class))
        };
        let largest = self.scores.iter().fold(0.0f32, |most, score| most.max(score.abs()));
        let far = -2.0 * f64::from(largest) - 1.0;
        let shifts: Vec<f64> =
            (0..self.classes.count()).map(|class| if named(class) { far } else { 0.0 }).collect();
        (shifts.iter().filter(|shift| **shift != 0.0).count() > 1).then_some(shifts)
    }

    /// Whether what helps one class harms the goal through another: class after class then comes to an end early.
    fn pulls(&self) -> bool {
        let goal = self.goal;
        let worst = matches!(&goal.objective, ClassObjective::Rate(rate) if rate.over == Over::Worst);
        worst || goal.conditions.iter().any(|condition| condition.rate.over == Over::Each)
    }

    fn names(&self, class: usize) -> bool {
        let named = |rate: &ClassRate| rate.over == Over::Class(class);
        let objective = matches!(&self.goal.objective, ClassObjective::Rate(rate) if named(rate));
        objective || self.goal.conditions.iter().any(|condition| named(&condition.rate))
    }

    /// Class after class while it helps.
    fn improve(&self, shifts: &mut [f64], rounds: usize) -> Merit {
        Walk::new(self, shifts).improve(rounds, f64::INFINITY)
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
            || self.cover(shifts, 0.5 * self.classes.spread(self.scores), f64::INFINITY, COVERING).is_some()
        {
            return;
        }
        let of = |class: &usize| {
            let mut over = conditions.iter().map(|condition| condition.rate.over);
            over.any(|over| over == Over::Each || over == Over::Class(*class))
        };
        let mut walk = Walk::new(self, shifts);
        for class in (0..self.classes.count()).filter(of) {
            walk.along(class, f64::INFINITY);
        }
    }

    /// Improves shifts where only rows near another decision change, such a share of them.
    fn go_over(&self, shifts: &mut [f64], share: f64, rounds: usize) {
        for _ in 0..TURNS {
            // Two shifts that move apart by half of the reach each pass no row beyond it.
            let done = self.near_decisions(shifts, share, |near, shifts, reach| {
                match near.cover(shifts, reach / 2.0, reach / 2.0, NEARING) {
                    Some(Covered::Missed) => near.near_decisions(shifts, share, |nearest, shifts, reach| {
                        nearest.cover(shifts, reach / 2.0, reach / 2.0, COVERING) == Some(Covered::Met)
                    }),
                    Some(covered) => covered == Covered::Met,
                    None => {
                        Walk::new(near, shifts).improve(rounds, reach / 2.0);
                        true
                    }
                }
            });
            if done {
                return;
            }
        }
    }

    /// Works on the rows near another decision alone, such a share of them; the others are counted once. Their
    /// decisions hold as long as no two shifts move apart by more than what `work` is told.
    fn near_decisions<T>(
        &self,
        shifts: &mut [f64],
        share: f64,
        work: impl FnOnce(&Search<'_>, &mut [f64], f64) -> T,
    ) -> T {
        let (count, classes) = (self.classes.count(), self.classes);
        let sampled = self.scores.chunks_exact(count).step_by(classes.codes.len().div_ceil(SAMPLED).max(1));
        let mut gaps: Vec<f64> = sampled.map(|scores| first_two(scores, shifts).2).collect();
        let place = (share * gaps.len() as f64) as usize;
        let reach = *gaps.select_nth_unstable_by(place, f64::total_cmp).1;
        let far = Far::new(shifts, reach);
        let partial = |(chunk, scores): (usize, &[f32])| {
            let mut decided = Decided::none(count);
            let mut near: Vec<u32> = Vec::new();
            let leaders = far.leaders(scores);
            for ((row, scores), leader) in (chunk * CHUNK..).zip(scores.chunks_exact(count)).zip(leaders) {
                let leader = leader.or_else(|| {
                    let (class, _, gap) = first_two(scores, shifts);
                    (gap > reach).then_some(class)
                });
                match leader {
                    Some(class) => {
                        decided.add_row(self.goal, classes.codes[row] as usize, class, classes.weight(row));
                    }
                    None => near.push(row as u32),
                }
            }
            (decided, near)
        };
        let partials: Vec<_> = self.scores.par_chunks(CHUNK * count).enumerate().map(partial).collect();
        let mut fixed = self.fixed.cloned().unwrap_or_else(|| Decided::none(count));
        let mut near = Vec::new();
        for (part, rows) in partials {
            fixed.add(&part);
            near.extend(rows);
        }
        let codes: Vec<u32> = near.iter().map(|row| classes.codes[*row as usize]).collect();
        let weights: Option<Vec<f32>> =
            classes.weights.map(|weights| near.iter().map(|row| weights[*row as usize]).collect());
        let rows = Classes { codes: &codes, weights: weights.as_deref(), ..classes.clone() };
        let scores = picked_scores(self.scores, count, &near);
        let near = Search { goal: self.goal, classes: &rows, scores: &scores, fixed: Some(&fixed) };
        work(&near, shifts, reach)
    }

    /// Coverages that equal their targets, by Newton steps with a Jacobian that is counted within a window, at first of
    /// this width, and no shift moved further than `far`: the second step that would ends it. `None` where no
    /// condition asks for coverages.
    fn cover(&self, shifts: &mut [f64], mut window: f64, far: f64, steps: usize) -> Option<Covered> {
        let condition = self.goal.conditions.iter().find(|condition| ties_all(condition))?;
        let start = shifts.to_vec();
        let (count, classes) = (self.classes.count(), self.classes);
        let targets: Vec<f64> =
            (0..count).map(|class| condition.target.of(classes.prior(class)) * classes.total).collect();
        let mut best = (f64::INFINITY, shifts.to_vec());
        let mut damping = 1e-6;
        let mut walled = 0;
        for _ in 0..steps {
            let (decided, pairs) = self.near(shifts, window);
            let off: Vec<f64> = decided.iter().zip(&targets).map(|(found, target)| found - target).collect();
            let missed = off.iter().fold(0.0f64, |most, off| most.max(off.abs()));
            if missed < best.0 {
                best = (missed, shifts.to_vec());
                damping = (damping * 0.1f64).max(1e-9);
                // The window shrinks with what is left to move, and keeps some rows in it.
                let inside: f64 = pairs.iter().sum();
                if inside > 20.0 * missed.max((count * count) as f64) {
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
            let step: Vec<f64> = step.iter().map(|step| scale * step).collect();
            let left = |((shift, step), start): ((&f64, &f64), &f64)| {
                (far - (shift - start) * step.signum()) / step.abs()
            };
            let within = shifts.iter().zip(&step).zip(&start).map(left).fold(1.0, f64::min);
            walled += usize::from(within < 1.0);
            if walled > 1 {
                break;
            }
            shifts.iter_mut().zip(&step).for_each(|(shift, step)| *shift += within * step);
        }
        shifts.copy_from_slice(&best.1);
        Some(match best.0 <= 1e-4 * classes.total {
            true => Covered::Met,
            false if walled > 1 => Covered::Further,
            false => Covered::Missed,
        })
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

/// What a search over all rows finds, however many they are.
#[cfg(test)]
fn whole(goal: &ClassGoal, classes: &Classes<'_>, scores: &[f32], starts: usize) -> Vec<f64> {
    Search::new(goal, classes, scores).search(starts, ROUNDS)
}

/// Whether a condition leaves no shift free.
fn ties_all(condition: &ClassCondition) -> bool {
    condition.relation == Relation::Equal
        && condition.rate.rate == Rate::PositiveRate
        && condition.rate.over == Over::Each
}
