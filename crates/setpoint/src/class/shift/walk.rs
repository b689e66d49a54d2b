//! One class after another: the best shift of each, with the others held.
//!
//! Every row knows the two classes that lead it, so that the best of the others is known without looking at all of
//! them; a class that falls behind the second is the only reason to look again.

use rayon::prelude::*;

use super::Search;
use super::ledger::{Ledger, Merit};

/// The class that a row is decided as and the next, with their scores minus shifts.
#[derive(Clone, Copy)]
struct Lead {
    class: [u32; 2],
    margin: [f64; 2],
}

/// A search along the classes.
pub(super) struct Walk<'w, 's> {
    search: &'w Search<'s>,
    shifts: &'w mut [f64],
    leads: Vec<Lead>,
    ledger: Ledger<'w>,
    /// Rows in the order in which a falling shift takes them in: where, and which.
    order: Vec<u64>,
}

impl<'w, 's> Walk<'w, 's> {
    pub(super) fn new(search: &'w Search<'s>, shifts: &'w mut [f64]) -> Self {
        let rows = search.scores.par_chunks_exact(shifts.len());
        let leads: Vec<Lead> = rows.map(|scores| Lead::of(scores, shifts)).collect();
        let ledger = Ledger::new(search.goal, search.classes);
        let mut walk = Self { search, shifts, leads, ledger, order: Vec::new() };
        walk.count();
        walk
    }

    /// Counts all decisions anew.
    fn count(&mut self) {
        let classes = self.search.classes;
        self.ledger.begin(self.search.fixed);
        for (row, lead) in self.leads.iter().enumerate() {
            self.ledger.add_row(classes.codes[row] as usize, lead.class[0] as usize, classes.weight(row));
        }
    }

    /// Class after class while it helps, no shift further than `far` from where it was; what the goal is then worth.
    pub(super) fn improve(&mut self, rounds: usize, far: f64) -> Merit {
        // Those that the goal names first: another one must not be moved to meet a condition that the class itself
        // can meet.
        let mut order: Vec<usize> = (0..self.shifts.len()).collect();
        order.sort_by_key(|class| !self.search.names(*class));
        let start = self.shifts.to_vec();
        let mut merit: Option<Merit> = None;
        for _ in 0..rounds {
            self.count();
            let mut next = Merit::default();
            for class in &order {
                next = self.along_within(*class, start[*class] - far, start[*class] + far);
            }
            if merit.is_some_and(|merit| !next.better_than(&merit)) {
                break;
            }
            merit = Some(next);
        }
        merit.unwrap_or_default()
    }

    /// Sets the shift of one class to the best within so far of it.
    pub(super) fn along(&mut self, class: usize, far: f64) -> Merit {
        let at = self.shifts[class];
        self.along_within(class, at - far, at + far)
    }

    fn along_within(&mut self, class: usize, low: f64, high: f64) -> Merit {
        let Self { search, shifts, leads, ledger, order } = self;
        let (classes, count) = (search.classes, shifts.len());
        let at = shifts[class];
        order.clear();
        for ((row, lead), score) in
            leads.iter().enumerate().zip(search.scores.iter().skip(class).step_by(count))
        {
            let z = f64::from(*score) - lead.margin[usize::from(lead.class[0] as usize == class)];
            if z >= low && z <= high {
                order.push(u64::from(!ordered(z as f32)) << 32 | row as u64);
            }
        }
        order.par_sort_unstable();
        let z_of = |key: u64| f64::from(number(!((key >> 32) as u32)));
        let row_of = |key: u64| (key as u32) as usize;
        let ends = || (order.first().map_or(at, |key| z_of(*key)), order.last().map_or(at, |key| z_of(*key)));
        let (high, low) =
            if high.is_finite() { (high, low) } else { (ends().0.max(at) + 1.0, ends().1.min(at) - 1.0) };
        let shift = |ledger: &mut Ledger<'_>, key: u64, take: bool| {
            let row = row_of(key);
            let lead = &leads[row];
            let other = lead.class[usize::from(lead.class[0] as usize == class)] as usize;
            let (from, to) = if take { (other, class) } else { (class, other) };
            ledger.move_row(classes.codes[row] as usize, from, to, classes.weight(row));
            other
        };
        for key in &*order {
            if leads[row_of(*key)].class[0] as usize == class {
                shift(ledger, *key, false);
            }
        }
        ledger.update_all();
        let mut best = (ledger.merit(), high);
        for (place, key) in order.iter().enumerate() {
            let other = shift(ledger, *key, true);
            ledger.update(other);
            let (z, next) = (z_of(*key), order.get(place + 1).map_or(low, |key| z_of(*key)));
            if next == z {
                continue;
            }
            ledger.update(class);
            let (merit, middle) = (ledger.merit(), f64::midpoint(z, next));
            let nearer = || (middle - at).abs() < (best.1 - at).abs();
            if merit.better_than(&best.0) || (!best.0.better_than(&merit) && nearer()) {
                best = (merit, middle);
            }
        }
        for key in order.iter().rev().take_while(|key| z_of(**key) <= best.1) {
            shift(ledger, *key, false);
        }
        if best.1 != at {
            shifts[class] = best.1;
            for (lead, scores) in leads.iter_mut().zip(search.scores.chunks_exact(count)) {
                lead.follow(class, scores, shifts);
            }
        }
        best.0
    }
}

impl Lead {
    fn of(scores: &[f32], shifts: &[f64]) -> Self {
        let mut lead = Self { class: [0, 1], margin: [f64::NEG_INFINITY; 2] };
        for (class, (score, shift)) in scores.iter().zip(shifts).enumerate() {
            lead.offer(class as u32, f64::from(*score) - shift);
        }
        lead
    }

    /// A class that is not among the two; the first among equals leads.
    fn offer(&mut self, class: u32, margin: f64) {
        let ahead = |place: usize| {
            margin > self.margin[place] || (margin == self.margin[place] && class < self.class[place])
        };
        if ahead(0) {
            *self = Self { class: [class, self.class[0]], margin: [margin, self.margin[0]] };
        } else if ahead(1) {
            (self.class[1], self.margin[1]) = (class, margin);
        }
    }

    /// After the shift of a class has changed.
    fn follow(&mut self, class: usize, scores: &[f32], shifts: &[f64]) {
        let margin = f64::from(scores[class]) - shifts[class];
        match self.class.iter().position(|of| *of as usize == class) {
            None => self.offer(class as u32, margin),
            Some(0) if margin > self.margin[1] => self.margin[0] = margin,
            Some(1) if margin > self.margin[1] && margin < self.margin[0] => self.margin[1] = margin,
            Some(_) => *self = Self::of(scores, shifts),
        }
    }
}

/// A number that is ordered as the float is.
fn ordered(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The float of such a number.
fn number(ordered: u32) -> f32 {
    f32::from_bits(if ordered >> 31 == 1 { ordered & !(1 << 31) } else { !ordered })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_keep_their_order_as_numbers() {
        let values = [f32::MIN, -2.5, -1e-30, 0.0, 1e-30, 1.0, 7.25, f32::MAX];
        assert!(values.is_sorted_by(|a, b| ordered(*a) < ordered(*b)));
        assert!(values.iter().all(|value| number(ordered(*value)) == *value));
    }
}
