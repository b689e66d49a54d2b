//! Shifts by counted decisions: the best that a goal can have of given scores.
//!
//! With the other shifts held, a class is decided where z_i = s_ic - max_{k≠c} (s_ik - λ_k) is above its shift:
//! one sort of z and one walk along it find the best shift of a class exactly. Class after class, again while it
//! helps, from several starts, on a part of the rows; then once over all of them. Conditions come first: where
//! they are missed, the least miss is best.
//!
//! Coverages that must equal their shares tie every shift. Those are found by Newton steps on the counts, whose
//! Jacobian is counted too: rows that would change from one class to another within a small window.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

mod choose;

pub use choose::{choose, smooth};

use super::confusion::{Confusion, decide, missed, one_against_rest};
use super::{ClassError, Classes};
use crate::algebra::damped_least_squares;
use crate::goal::{
    ClassCondition, ClassGoal, ClassObjective, ClassRate, Direction, Fraction, Over, Rate, Relation,
};
use crate::sample::Sample;

/// Rows that are searched from several starts.
const SEARCHED: usize = 50_000;
/// Rounds over the classes: of a search, and of a quick look.
const ROUNDS: usize = 8;
const QUICK: usize = 2;
/// One in so many rows is near enough to where a search on a part of them ended.
const NEAR: usize = 20;
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
}

/// The best shifts for a goal on these rows, from so many starts; one alone is a quick look.
///
/// # Errors
/// If no shifts were found that meet the conditions, or the scores do not fit.
pub fn best(goal: &ClassGoal, sample: &Sample, scores: &[f32], starts: usize) -> Result<Shifts, ClassError> {
    let classes = Classes::of(goal, sample)?;
    classes.check_scores(scores)?;
    let count = classes.count();
    let step = classes.codes.len().div_ceil(SEARCHED);
    let whole = Search { goal, classes: &classes, scores };
    let part = (step > 1).then(|| {
        let rows: Vec<u32> = (0..classes.codes.len() as u32).step_by(step).collect();
        let scores: Vec<f32> =
            rows.iter().flat_map(|row| &scores[*row as usize * count..][..count]).copied().collect();
        (sample.select(&rows), scores)
    });
    let shifts = match &part {
        Some((sample, scores)) => {
            let classes = Classes::new(sample);
            let part = Search { goal, classes: &classes, scores };
            let mut shifts = part.search(starts);
            if !whole.cover(&mut shifts) {
                whole.once(&mut shifts, true);
            }
            shifts
        }
        None => whole.search(starts),
    };
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
    let search = Search { goal, classes: &classes, scores };
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

impl Search<'_> {
    /// The best of several starts: as the scores are, by the classes' shares, and at random.
    fn search(&self, starts: usize) -> Vec<f64> {
        let count = self.classes.count();
        let mut best = vec![0.0; count];
        if self.cover(&mut best) {
            // What is still off by a few rows, and the goal within what is allowed.
            self.improve(&mut best, ROUNDS);
            return best;
        }
        let mut merit = self.improve(&mut best, if starts > 1 { ROUNDS } else { QUICK });
        let spread = self.classes.spread(self.scores);
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        for start in 1..starts {
            let mut shifts = match start {
                1 => by_share(self.classes, 1.0),
                2 => by_share(self.classes, 0.5),
                _ => (0..count).map(|_| spread * rng.random_range(-1.0..1.0)).collect(),
            };
            let found = self.improve(&mut shifts, ROUNDS);
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
        let mut merit = self.once(shifts, false);
        for _ in 1..rounds {
            let next = self.once(shifts, false);
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
        if conditions.is_empty() || !missed(shifts) || self.cover(shifts) {
            return;
        }
        let of = |class: &usize| {
            let mut over = conditions.iter().map(|condition| condition.rate.over);
            over.any(|over| over == Over::Each || over == Over::Class(*class))
        };
        for class in (0..self.classes.count()).filter(of) {
            self.along(shifts, class, false);
        }
    }

    /// Every class once, those that the goal names first: another one must not be moved to meet a condition that
    /// the class itself can meet. What the goal is worth then.
    fn once(&self, shifts: &mut [f64], near: bool) -> Merit {
        let mut order: Vec<usize> = (0..self.classes.count()).collect();
        order.sort_by_key(|class| !self.names(*class));
        order.into_iter().map(|class| self.along(shifts, class, near)).last().unwrap_or_default()
    }

    /// Sets the shift of one class to the best there is, with the others held, or to the best of those near.
    fn along(&self, shifts: &mut [f64], class: usize, near: bool) -> Merit {
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
        let (high, low) = if near {
            let mut away: Vec<f64> = rows.iter().step_by(64).map(|row| (row.0 - at).abs()).collect();
            let place = away.len() / NEAR;
            let width = *away.select_nth_unstable_by(place, f64::total_cmp).1;
            (at + width, at - width)
        } else {
            rows.iter().fold((at, at), |(high, low), row| (high.max(row.0 + 1.0), low.min(row.0 - 1.0)))
        };
        let mut ledger = Ledger::new(self.goal, self.classes);
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

    /// Coverages that equal their targets, by Newton steps with a counted Jacobian; false where no condition
    /// asks for that.
    fn cover(&self, shifts: &mut [f64]) -> bool {
        let Some(condition) = self.goal.conditions.iter().find(|condition| ties_all(condition)) else {
            return false;
        };
        let (count, classes) = (self.classes.count(), self.classes);
        let targets: Vec<f64> =
            (0..count).map(|class| condition.target.of(classes.prior(class)) * classes.total).collect();
        let mut window = 0.5 * self.classes.spread(self.scores);
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
        const CHUNK: usize = 8_192;
        let count = self.classes.count();
        let partial = |(chunk, scores): (usize, &[f32])| {
            let (mut decided, mut pairs) = (vec![0.0; count], vec![0.0; count * count]);
            for (row, scores) in (chunk * CHUNK..).zip(scores.chunks_exact(count)) {
                let class = decide(scores, shifts);
                let (other, margin) = runner_up(scores, shifts, class);
                let weight = self.classes.weight(row);
                decided[class] += weight;
                if f64::from(scores[class]) - shifts[class] - margin < window {
                    pairs[class * count + other] += weight;
                }
            }
            (decided, pairs)
        };
        let partials: Vec<_> = self.scores.par_chunks(CHUNK * count).enumerate().map(partial).collect();
        let mut sums = (vec![0.0; count], vec![0.0; count * count]);
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

/// What decisions are worth: conditions first.
#[derive(Clone, Copy, Debug, Default)]
struct Merit {
    missed: f64,
    worth: f64,
}

impl Merit {
    fn better_than(&self, other: &Self) -> bool {
        self.missed < other.missed - 1e-12
            || (self.missed <= other.missed + 1e-12 && self.worth > other.worth + 1e-12)
    }
}

/// Counts of decisions and what they come to, kept up as rows change their class.
struct Ledger<'a> {
    goal: &'a ClassGoal,
    /// What the objective and the conditions are of a class.
    fraction: Option<Fraction>,
    held: Vec<Option<Fraction>>,
    totals: &'a [f64],
    total: f64,
    row: f64,
    right: Vec<f64>,
    decided: Vec<f64>,
    cost: f64,
    /// The objective's rate and the miss of each class.
    terms: Vec<f64>,
    missed: Vec<f64>,
    term_sum: f64,
    missed_sum: f64,
    missing: usize,
}

impl<'a> Ledger<'a> {
    fn new(goal: &'a ClassGoal, classes: &'a Classes<'_>) -> Self {
        let count = classes.count();
        let most =
            classes.weights.map_or(1.0, |weights| f64::from(weights.iter().copied().fold(0.0, f32::max)));
        let fraction = |rate: Rate| rate.fractions().pop();
        Self {
            goal,
            fraction: match &goal.objective {
                ClassObjective::Rate(rate) => fraction(rate.rate),
                ClassObjective::Cost { .. } => None,
            },
            held: goal.conditions.iter().map(|condition| fraction(condition.rate.rate)).collect(),
            totals: &classes.totals,
            total: classes.total,
            row: most / classes.total,
            right: vec![0.0; count],
            decided: vec![0.0; count],
            cost: 0.0,
            terms: vec![0.0; count],
            missed: vec![0.0; count],
            term_sum: 0.0,
            missed_sum: 0.0,
            missing: 0,
        }
    }

    fn move_row(&mut self, y: usize, from: Option<usize>, to: usize, weight: f64) {
        for (class, weight) in from.map(|from| (from, -weight)).into_iter().chain([(to, weight)]) {
            self.decided[class] += weight;
            if class == y {
                self.right[class] += weight;
            }
            if let ClassObjective::Cost { table, .. } = &self.goal.objective {
                self.cost += weight * table[y * self.totals.len() + class];
            }
        }
    }

    /// Brings what a class comes to up to date with its counts.
    fn update(&mut self, class: usize) {
        let counts = one_against_rest(self.right[class], self.decided[class], self.totals[class], self.total);
        if let ClassObjective::Rate(rate) = &self.goal.objective {
            // Rates that are undefined count as the worst.
            let worst = if rate.rate.direction() == Direction::Up { 0.0 } else { 1.0 };
            let term = match rate.over {
                Over::All => counts.true_positives / self.total,
                Over::Class(of) if of != class => 0.0,
                _ => self.fraction.and_then(|fraction| fraction.of(&counts)).unwrap_or(worst),
            };
            self.term_sum += term - self.terms[class];
            self.terms[class] = term;
        }
        if self.goal.conditions.is_empty() {
            return;
        }
        let prior = self.totals[class] / self.total;
        let mut found = 0.0;
        for (condition, held) in self.goal.conditions.iter().zip(&self.held) {
            if matches!(condition.rate.over, Over::Class(of) if of != class) {
                continue;
            }
            let value = held.and_then(|held| held.of(&counts));
            found += missed(condition, value, prior, self.row);
        }
        self.missing = self.missing + usize::from(found > 0.0) - usize::from(self.missed[class] > 0.0);
        self.missed_sum += found - self.missed[class];
        self.missed[class] = found;
    }

    fn merit(&self) -> Merit {
        let missed = if self.missing == 0 { 0.0 } else { self.missed_sum };
        let worth = match &self.goal.objective {
            ClassObjective::Cost { .. } => -self.cost / self.total,
            ClassObjective::Rate(rate) => {
                let up = rate.rate.direction() == Direction::Up;
                let value = match rate.over {
                    Over::All if !up => 1.0 - self.term_sum,
                    Over::All | Over::Class(_) => self.term_sum,
                    Over::Worst if up => self.terms.iter().copied().fold(f64::INFINITY, f64::min),
                    Over::Worst => self.terms.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    Over::Each | Over::Mean => self.term_sum / self.terms.len() as f64,
                };
                if up { value } else { -value }
            }
        };
        Merit { missed, worth }
    }
}
