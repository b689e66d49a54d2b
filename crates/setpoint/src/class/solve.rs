//! The shifts that conditions tie, solved, and what follows from them: everything of an engine but the rows.

use super::kernel::{Ask, Tally};
use super::minimise::minimise;
use super::problem::{Partial, Problem};
use crate::algebra::{damped_least_squares, dot};

/// Most steps of one search.
const STEPS: usize = 40;
/// A condition this close to its limit is met; what is left of it is made up for to first order.
const MET: f64 = 2e-5;
/// A limit passed by no more than this ties nothing.
const SLACK: f64 = 1e-6;
/// Halvings of the way back from shifts that meet conditions with room to spare.
const HALVINGS: usize = 12;
/// Sharpnesses that a search from afar goes through, as parts of the one asked for.
const ANNEALED: [f64; 6] = [1.0 / 32.0, 1.0 / 16.0, 1.0 / 8.0, 1.0 / 4.0, 1.0 / 2.0, 1.0];

/// Rows that can be passed over.
pub(super) trait Pass {
    /// Adds up what is asked for; false where a score is not finite.
    fn count(&mut self, ask: Ask<'_>, out: &mut Tally) -> bool;
}

/// Everything but the rows.
#[derive(Debug)]
pub(super) struct State {
    pub(super) problem: Problem,
    tolerance: f64,
    pub(super) shifts: Vec<f64>,
    pub(super) held: Vec<f64>,
    pub(super) active: Vec<bool>,
    pub(super) met: bool,
    tally: Tally,
    pub(super) excess: Vec<f64>,
    slopes: Vec<f64>,
    pub(super) prices: Vec<f64>,
    pub(super) loss: f64,
    pub(super) partial: Partial,
    gradient: Vec<f64>,
    pub(super) passes: usize,
}

impl State {
    pub(super) fn new(problem: Problem) -> Self {
        let count = problem.classes;
        Self {
            tolerance: MET,
            shifts: vec![0.0; count],
            held: vec![0.0; count],
            active: problem.conditions.iter().map(|held| held.equal).collect(),
            met: true,
            tally: Tally::default(),
            excess: Vec::new(),
            slopes: Vec::new(),
            prices: Vec::new(),
            loss: 0.0,
            partial: Partial::default(),
            gradient: Vec::new(),
            passes: 0,
            problem,
        }
    }

    /// The largest error of a condition that ties.
    #[cfg(test)]
    pub(super) fn with_tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    #[cfg(test)]
    pub(super) fn start_at(&mut self, shifts: &[f64]) {
        self.shifts.copy_from_slice(shifts);
    }

    #[cfg(test)]
    pub(super) fn found(&self) -> (f64, bool, &[bool], &[f64]) {
        (self.loss, self.met, &self.active, &self.shifts)
    }

    /// Counts at these shifts, with every condition's g and its slopes; false where a rate is undefined.
    fn look(&mut self, pass: &mut dyn Pass, sharpness: f64, shifts: &[f64], all: bool) -> bool {
        let Self { problem, tally, excess, slopes, .. } = self;
        let gram: &[usize] = if all || !problem.conditions.is_empty() { &problem.gram } else { &[] };
        let ask = Ask { sharpness, shifts, gram, costs: &problem.costs, loss: None };
        self.passes += 1;
        if !pass.count(ask, tally) {
            return false;
        }
        excess.clear();
        slopes.clear();
        for held in &problem.conditions {
            let Some(value) = problem.excess(held, tally) else { return false };
            excess.push(value);
            let mut partial = problem.no_partial();
            problem.add_condition(held, tally, 1.0, &mut partial);
            slopes.extend(problem.slopes(&partial, tally, sharpness, gram));
        }
        true
    }

    /// Solves the shifts and differentiates; false where a rate is undefined or a score not finite.
    pub(super) fn settle(&mut self, pass: &mut dyn Pass, sharpness: f64) -> bool {
        self.passes = 0;
        self.solve(pass, sharpness, false) && self.differentiate(sharpness, false)
    }

    pub(super) fn improve(&mut self, pass: &mut dyn Pass, sharpness: f64) -> bool {
        self.passes = 0;
        let mut held = self.held.clone();
        let tolerance = self.tolerance.min(SLACK) * sharpness;
        let found = minimise(&mut held, tolerance, 200, |held, gradient| {
            // Shifts that are tied move along, so that their search starts near its end.
            for (class, held) in held.iter().enumerate() {
                self.shifts[class] += held - self.held[class];
            }
            self.held.copy_from_slice(held);
            let solved = self.solve(pass, sharpness, true) && self.differentiate(sharpness, true);
            // Where a rate is undefined there is none.
            if solved {
                gradient.copy_from_slice(&self.gradient);
            }
            solved.then_some(self.loss)
        });
        found.is_some()
    }

    fn tied(&self) -> Vec<usize> {
        let mut tied: Vec<usize> = self.ties().iter().map(|k| self.problem.conditions[*k].class).collect();
        tied.sort_unstable();
        tied.dedup();
        tied
    }

    fn ties(&self) -> Vec<usize> {
        (0..self.active.len()).filter(|k| self.active[*k]).collect()
    }

    /// Finds the conditions that tie, and their shifts.
    fn solve(&mut self, pass: &mut dyn Pass, sharpness: f64, all: bool) -> bool {
        let mut dropped = vec![false; self.active.len()];
        // A condition is taken in, dropped, and taken in again at the most.
        for _ in 0..3 * self.active.len() + 1 {
            let (ties, tied) = (self.ties(), self.tied());
            let mut shifts = self.held.clone();
            tied.iter().for_each(|class| shifts[*class] = self.shifts[*class]);
            if !self.look(pass, sharpness, &shifts, all) {
                // What is undefined where the last step ended may be defined where shifts are held.
                shifts.clone_from(&self.held);
                if !self.look(pass, sharpness, &shifts, all) {
                    return false;
                }
            }
            if !ties.is_empty() && !self.meet(pass, sharpness, &mut shifts, &ties, &tied, all) {
                // An approach from afar is worth its passes where the step before met them.
                let mut found =
                    if self.met { self.approach(pass, sharpness, &ties, &tied, all) } else { None };
                if found.is_none() {
                    if !self.nearest(pass, sharpness, &mut shifts, all) {
                        (self.met, self.shifts) = (false, shifts);
                        return true;
                    }
                    let nearest = shifts.clone();
                    if self.meet(pass, sharpness, &mut shifts, &ties, &tied, all)
                        || self.back_off(pass, sharpness, &nearest, &mut shifts, all)
                            && self.meet(pass, sharpness, &mut shifts, &ties, &tied, all)
                    {
                        found = Some(shifts.clone());
                    }
                    if found.is_none() {
                        // They hold with room to spare, and there is no way to where they hold just so.
                        let conditions = self.problem.conditions.iter().zip(&mut self.active);
                        conditions.for_each(|(held, active)| *active = held.equal);
                        let looked = self.look(pass, sharpness, &nearest, all);
                        (self.met, self.shifts) = (true, nearest);
                        return looked;
                    }
                }
                shifts = found.unwrap_or(shifts);
            }
            self.met = true;
            self.shifts = shifts;
            let count = self.problem.classes;
            let mut changed = false;
            let conditions = self.problem.conditions.iter().zip(&mut self.active).zip(&mut dropped);
            for (k, ((held, active), dropped)) in conditions.enumerate() {
                let moved = self.shifts[held.class] - self.held[held.class];
                let wrong_way = self.slopes[k * count + held.class] * moved > 0.0;
                if *active && !held.equal && !*dropped && wrong_way {
                    // The limit holds without the shift's help.
                    (*active, *dropped, changed) = (false, true, true);
                } else if !*active && self.excess[k] > SLACK {
                    (*active, changed) = (true, true);
                }
            }
            if !changed {
                return true;
            }
        }
        true
    }

    /// Shifts that meet the conditions that tie, from the held ones with the sharpness growing to its own.
    fn approach(
        &mut self,
        pass: &mut dyn Pass,
        sharpness: f64,
        ties: &[usize],
        tied: &[usize],
        all: bool,
    ) -> Option<Vec<f64>> {
        let mut shifts = self.held.clone();
        let met = ANNEALED.iter().all(|part| {
            self.look(pass, part * sharpness, &shifts, all)
                && (self.meet(pass, part * sharpness, &mut shifts, ties, tied, all) || *part < 1.0)
        });
        met.then_some(shifts)
    }

    /// Goes back from shifts that meet all conditions with room to spare towards those held, to where one has none;
    /// false where a rate is undefined on the way.
    fn back_off(
        &mut self,
        pass: &mut dyn Pass,
        sharpness: f64,
        from: &[f64],
        shifts: &mut [f64],
        all: bool,
    ) -> bool {
        let (mut missed, mut met) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let part = f64::midpoint(missed, met);
            for ((shift, from), held) in shifts.iter_mut().zip(from).zip(&self.held) {
                *shift = held + part * (from - held);
            }
            if !self.look(pass, sharpness, shifts, all) {
                return false;
            }
            let holds = self.missed().iter().all(|g| g.abs() <= MET);
            if holds { met = part } else { missed = part }
        }
        true
    }

    /// Newton's method with Levenberg's damping on the conditions that tie; whether they are met. What was
    /// looked at last are the shifts.
    fn meet(
        &mut self,
        pass: &mut dyn Pass,
        sharpness: f64,
        shifts: &mut [f64],
        ties: &[usize],
        tied: &[usize],
        all: bool,
    ) -> bool {
        let count = self.problem.classes;
        let missed = |state: &Self| ties.iter().map(|k| state.excess[*k].powi(2)).sum::<f64>();
        let mut damping = 1e-10;
        let mut value = missed(self);
        let (mut good, mut stale) = (true, 0);
        for _ in 0..STEPS {
            if ties.iter().all(|k| self.excess[*k].abs() <= self.tolerance) || stale > 3 {
                break;
            }
            let matrix: Vec<f64> = {
                let slopes = &self.slopes;
                ties.iter().flat_map(|k| tied.iter().map(move |class| slopes[k * count + class])).collect()
            };
            let right: Vec<f64> = ties.iter().map(|k| -self.excess[*k]).collect();
            let (before, mut lower) = (shifts.to_vec(), false);
            while damping < 1e9 {
                let step = damped_least_squares(&matrix, &right, tied.len(), damping);
                // No further than the surrogate can see.
                let longest = step.iter().fold(0.0f64, |most, step| most.max(step.abs()));
                let scale = (4.0 / (sharpness * longest)).min(1.0);
                tied.iter()
                    .zip(&step)
                    .for_each(|(class, step)| shifts[*class] = before[*class] + scale * step);
                good = self.look(pass, sharpness, shifts, all);
                let next = if good { missed(self) } else { f64::INFINITY };
                if next < value {
                    stale = if next > 0.99 * value { stale + 1 } else { 0 };
                    (value, lower) = (next, true);
                    damping = (damping * 0.03).max(1e-11);
                    break;
                }
                damping *= 30.0;
                if value.sqrt() < MET {
                    break;
                }
            }
            if !lower {
                shifts.copy_from_slice(&before);
                good = self.look(pass, sharpness, shifts, all);
                break;
            }
        }
        good && value.sqrt() < MET * (ties.len() as f64).sqrt()
    }

    /// Goes where all conditions together are missed least; whether that is not at all.
    fn nearest(&mut self, pass: &mut dyn Pass, sharpness: f64, shifts: &mut [f64], all: bool) -> bool {
        let count = self.problem.classes;
        let mut classes: Vec<usize> = self.problem.conditions.iter().map(|held| held.class).collect();
        classes.sort_unstable();
        classes.dedup();
        let mut x: Vec<f64> = classes.iter().map(|class| shifts[*class]).collect();
        let tolerance = self.tolerance.min(SLACK) * sharpness;
        let found = minimise(&mut x, tolerance, 3 * STEPS, |x, gradient| {
            classes.iter().zip(x).for_each(|(class, x)| shifts[*class] = *x);
            if !self.look(pass, sharpness, shifts, all) {
                return None;
            }
            let missed = self.missed();
            for (gradient, class) in gradient.iter_mut().zip(&classes) {
                *gradient = missed.iter().enumerate().map(|(k, g)| g * self.slopes[k * count + class]).sum();
            }
            Some(0.5 * dot(&missed, &missed))
        });
        found.is_some_and(|value| (2.0 * value).sqrt() < MET)
    }

    /// By how much each condition is missed; 0 within a limit.
    fn missed(&self) -> Vec<f64> {
        let conditions = self.excess.iter().zip(&self.problem.conditions);
        conditions.map(|(g, held)| if held.equal { *g } else { g.max(0.0) }).collect()
    }

    /// The loss at the shifts looked at last, its derivatives through those that are tied, and by those held.
    fn differentiate(&mut self, sharpness: f64, all: bool) -> bool {
        let (ties, tied) = (self.ties(), self.tied());
        let problem = &self.problem;
        self.prices.clear();
        self.prices.resize(problem.conditions.len(), 0.0);
        if !self.met {
            let missed = self.missed();
            let distance = dot(&missed, &missed).sqrt();
            self.loss = problem.bound + distance;
            self.partial = problem.no_partial();
            for (held, missed) in problem.conditions.iter().zip(&missed) {
                problem.add_condition(held, &self.tally, missed / distance, &mut self.partial);
            }
            self.gradient = problem.slopes(&self.partial, &self.tally, sharpness, &problem.gram);
            return true;
        }
        let Some((loss, partial)) = problem.loss(&self.tally) else { return false };
        (self.loss, self.partial) = (loss, partial);
        let gram: &[usize] = if all || !problem.conditions.is_empty() { &problem.gram } else { &[] };
        if !ties.is_empty() {
            let count = problem.classes;
            let slopes = problem.slopes(&self.partial, &self.tally, sharpness, gram);
            let right: Vec<f64> = tied.iter().map(|class| slopes[*class]).collect();
            let matrix: Vec<f64> = {
                let (ties, slopes) = (&ties, &self.slopes);
                tied.iter().flat_map(|class| ties.iter().map(move |k| slopes[k * count + class])).collect()
            };
            let prices = damped_least_squares(&matrix, &right, ties.len(), 0.0);
            for (k, price) in ties.iter().zip(prices) {
                self.prices[*k] = price;
                // Where the condition is met, df = df/dλ dλ and dλ = -g / (dg/dλ).
                self.loss -= price * self.excess[*k];
                problem.add_condition(&problem.conditions[*k], &self.tally, -price, &mut self.partial);
            }
        }
        if all {
            self.gradient = problem.slopes(&self.partial, &self.tally, sharpness, gram);
            tied.iter().for_each(|class| self.gradient[*class] = 0.0);
        }
        true
    }
}
