//! Evidence that a share is past its limit, valid however often one looks.
//!
//! Of n examples in a batch b are bad, and the share of bad ones is allowed to be a. Whoever stakes the share l
//! of a capital on each example being bad multiplies it by
//!
//! ```text
//! (1 + l (1 - a))^b (1 - l a)^(n - b),      l = (r - 1) / (1 - a + r a)
//! ```
//!
//! the likelihood ratio of odds r times those allowed. While the share is within its limit that has a mean of at
//! most 1, so a capital of 1 ever reaches 1/alpha with a chance of at most alpha (Ville), and looking costs
//! nothing. Where draws are entities or have weights, with b bad of n examples each and n at most L, the factor
//! of a draw is 1 + (l / L) (b - a n).
//!
//! Bets that began long ago have lost everything by the time a share gets worse. So not all of the capital is at
//! stake from the start: a third is, and the rest follows batch by batch. By the time u = a N bad ones were
//! allowed, N examples, there are
//!
//! ```text
//! 1/3 + 2/3 u / (u + 200)
//! ```
//!
//! at stake, on each r equally. What is not yet at stake counts as it is. Each stake needs one number, whatever
//! was seen; of a batch nothing counts but its sums.
//!
//! A batch that is large enough to tell by itself is told soonest by an exact test. That too is a bet: for a price
//! of P\[Binomial(n, a) >= k\] / g it pays 1/g if k or more are bad, g being the level of the alarm. Three tenths of
//! the capital are for such bets, of which 3/10 u / (u + 1000) may be spent; k is the least that is paid for.
//! What a price leaves, k being whole, is there for the next batch.
//!
//! All these numbers are from simulations (`docs/results/operate.md`): wider grids and more capital kept back raise
//! fewer false alarms than allowed and take longer to tell a change.

use serde::{Deserialize, Serialize};

use crate::metric::interval::upper_tail;

/// Odds of a bad example that are betted on, as multiples of those allowed.
const RATIOS: [f64; 5] = [1.2, 1.4, 1.7, 2.2, 3.0];
/// The share of the capital of all ratios that is at stake from the start.
const AT_ONCE: f64 = 1.0 / 3.0;
/// Bad examples allowed by the time half of the rest is at stake.
const HALF: f64 = 200.0;
/// The share of the capital for tests of single batches.
const TESTS: f64 = 0.3;
/// Bad examples allowed by the time half of that may be spent.
const HALF_TESTS: f64 = 1000.0;

/// Far beyond any number of examples, and any logarithm of a capital.
const FURTHEST: f64 = 1e18;

/// Draws of one batch: what is bad, out of what.
#[derive(Clone, Copy, Debug)]
pub(super) enum Draws<'a> {
    /// Every example is a draw.
    Examples { bad: u64, examples: u64 },
    /// Entities, or examples with weights, none above `largest`.
    Units { units: &'a [(f64, f64)], largest: f64 },
}

impl Draws<'_> {
    /// What is bad, and out of what.
    pub(super) fn sums(&self) -> (f64, f64) {
        match self {
            Self::Examples { bad, examples } => (*bad as f64, *examples as f64),
            Self::Units { units, .. } => {
                units.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
            }
        }
    }
}

/// What the bets against one share came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Evidence {
    /// The logarithm of what is at stake, for each ratio; empty before the first batch.
    at_stake: Vec<f64>,
    /// Examples seen, or their weight in units of the largest draw.
    examples: f64,
    /// What tests of single batches cost, and what they paid.
    spent: f64,
    paid: f64,
}

impl Evidence {
    /// Whether bets can have come to this: the capital that is left is none below zero.
    pub(super) fn is_sound(&self) -> bool {
        let Self { at_stake, examples, spent, paid } = self;
        (at_stake.is_empty() || at_stake.len() == RATIOS.len())
            && at_stake.iter().all(|log| log.abs() <= FURTHEST)
            && (0.0..=FURTHEST).contains(examples)
            && (0.0..=TESTS).contains(spent)
            && (0.0..=f64::MAX).contains(paid)
    }

    /// Bets on a batch, the share of bad ones being allowed to be `allowed`, and the alarm being raised where the
    /// logarithm of the capital is `goal`.
    pub(super) fn add(&mut self, allowed: f64, draws: Draws, goal: f64) {
        let scale = match draws {
            Draws::Examples { .. } => 1.0,
            Draws::Units { largest, .. } => largest,
        };
        let examples = draws.sums().1 / scale;
        if examples == 0.0 {
            return;
        }
        let before = self.started(allowed);
        self.examples += examples;
        let fresh = ((started(allowed * self.examples) - before) / RATIOS.len() as f64).ln();
        if let Draws::Examples { bad, examples } = draws {
            self.test(allowed, bad, examples, goal);
        }
        self.at_stake.resize(RATIOS.len(), f64::NEG_INFINITY);
        for (wealth, ratio) in self.at_stake.iter_mut().zip(RATIOS) {
            let stake = stake(ratio, allowed);
            let gained = match draws {
                Draws::Examples { bad, examples } => {
                    let (won, lost) = (bad as f64, (examples - bad) as f64);
                    won * (stake * (1.0 - allowed)).ln_1p() + lost * (-stake * allowed).ln_1p()
                }
                Draws::Units { units, largest } => {
                    let gain = |(bad, examples): &(f64, f64)| stake / largest * (bad - allowed * examples);
                    units.iter().map(|unit| gain(unit).ln_1p()).sum()
                }
            };
            *wealth = log_sum(*wealth, fresh) + gained;
        }
    }

    /// Tests a batch by itself, with what may be spent on that.
    fn test(&mut self, allowed: f64, bad: u64, examples: u64, goal: f64) {
        let due = allowed * self.examples;
        let purse = TESTS * due / (due + HALF_TESTS) - self.spent;
        let price = |least: u64| upper_tail(examples, least, allowed) * goal.exp();
        // The least that is paid for is among these, or there is none.
        let (mut dear, mut least) = ((allowed * examples as f64) as u64, examples + 1);
        while least - dear > 1 {
            let middle = dear + (least - dear) / 2;
            if price(middle) <= purse { least = middle } else { dear = middle }
        }
        if least <= examples {
            self.spent += price(least);
            self.paid += if bad >= least { goal.exp() } else { 0.0 };
        }
    }

    /// The logarithm of the capital: alarm where it is the logarithm of 1/alpha or more.
    pub(super) fn log(&self, allowed: f64) -> f64 {
        let kept = 1.0 - self.started(allowed) - self.spent + self.paid;
        self.at_stake.iter().copied().fold(kept.ln(), log_sum)
    }

    /// The share of the capital that was put at stake so far.
    fn started(&self, allowed: f64) -> f64 {
        if self.at_stake.is_empty() { 0.0 } else { started(allowed * self.examples) }
    }

    /// Examples after which the capital should have grown to the logarithm `goal`, were the share `share` from
    /// now on and but for tests of single batches; `None` beyond 10^12.
    pub(super) fn needed(&self, allowed: f64, share: f64, goal: f64) -> Option<u64> {
        let (seen, before) = (allowed * self.examples, self.started(allowed));
        let enough = |examples: u64| {
            let fresh = ((started(seen + allowed * examples as f64) - before) / RATIOS.len() as f64).ln();
            let place = |place: usize| self.at_stake.get(place).copied().unwrap_or(f64::NEG_INFINITY);
            let grown = RATIOS.iter().enumerate().map(|(index, ratio)| {
                let stake = stake(*ratio, allowed);
                let growth =
                    share * (stake * (1.0 - allowed)).ln_1p() + (1.0 - share) * (-stake * allowed).ln_1p();
                log_sum(place(index), fresh) + examples as f64 * growth
            });
            grown.fold(f64::NEG_INFINITY, log_sum) >= goal
        };
        if self.log(allowed) >= goal {
            return Some(0);
        }
        let (mut failed, mut passed) = (0, 1);
        while !enough(passed) {
            (failed, passed) = (passed, passed * 2);
            if passed > 1_000_000_000_000 {
                return None;
            }
        }
        while passed - failed > 1 {
            let middle = failed + (passed - failed) / 2;
            if enough(middle) { passed = middle } else { failed = middle }
        }
        Some(passed)
    }
}

/// The share of the capital at stake once this many bad examples would have been allowed.
fn started(allowed: f64) -> f64 {
    (1.0 - TESTS) * (AT_ONCE + (1.0 - AT_ONCE) * allowed / (allowed + HALF))
}

fn stake(ratio: f64, allowed: f64) -> f64 {
    (ratio - 1.0) / (1.0 - allowed + ratio * allowed)
}

/// ln(e^a + e^b).
pub(super) fn log_sum(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWED: f64 = 0.01;
    const GOAL: f64 = 3.0;

    fn added(batches: &[(u64, u64)]) -> Evidence {
        let mut evidence = Evidence::default();
        for (bad, examples) in batches {
            evidence.add(ALLOWED, Draws::Examples { bad: *bad, examples: *examples }, GOAL);
        }
        evidence
    }

    #[test]
    fn what_no_bets_come_to_is_not_sound() {
        let sound = added(&[(3, 100), (0, 50)]);
        assert!(sound.is_sound() && Evidence::default().is_sound());
        // More spent than there is: the capital would be below zero, and its logarithm no number.
        for damaged in [
            Evidence { spent: 4120.0, ..sound.clone() },
            Evidence { spent: -1.0, ..sound.clone() },
            Evidence { examples: -5.0, ..sound.clone() },
            Evidence { paid: f64::INFINITY, ..sound.clone() },
            Evidence { at_stake: vec![0.0; 3], ..sound.clone() },
            Evidence { at_stake: vec![1e300; 5], ..sound },
        ] {
            assert!(!damaged.is_sound(), "{damaged:?}");
        }
    }

    #[test]
    fn a_batch_multiplies_what_is_at_stake_by_its_likelihood_ratio() {
        let evidence = added(&[(3, 100), (0, 50)]);
        let fresh = |from: f64, to: f64| (started(to) - from) / 5.0;
        let expected: f64 = RATIOS
            .iter()
            .map(|ratio| {
                let q = ratio * ALLOWED / (1.0 - ALLOWED + ratio * ALLOWED);
                let factor =
                    |bad: f64, good: f64| (q / ALLOWED).powf(bad) * ((1.0 - q) / (1.0 - ALLOWED)).powf(good);
                (fresh(0.0, 1.0) * factor(3.0, 97.0) + fresh(started(1.0), 1.5)) * factor(0.0, 50.0)
            })
            .sum::<f64>()
            + 1.0
            - started(1.5)
            - evidence.spent;
        assert!(evidence.spent < 1.5e-3 * TESTS && evidence.paid == 0.0);
        assert!(
            (evidence.log(ALLOWED).exp() - expected).abs() < 1e-12,
            "{} {expected}",
            evidence.log(ALLOWED).exp()
        );
    }

    #[test]
    fn empty_batches_change_nothing_and_examples_are_units_of_weight_one() {
        let one = added(&[(3, 100), (0, 0), (1, 40)]);
        assert_eq!(one, added(&[(3, 100), (1, 40)]));
        assert_eq!(Evidence::default().log(ALLOWED), 0.0);
        let units: Vec<(f64, f64)> = (0..100).map(|row| (if row < 3 { 2.0 } else { 0.0 }, 2.0)).collect();
        let mut weighted = Evidence::default();
        weighted.add(ALLOWED, Draws::Units { units: &units, largest: 2.0 }, GOAL);
        let plain = added(&[(3, 100)]);
        assert!((weighted.log(ALLOWED).exp() - plain.log(ALLOWED).exp() - plain.spent).abs() < 1e-12);
    }

    #[test]
    fn the_capital_grows_where_the_share_is_past_its_limit_and_as_was_said() {
        let quiet = added(&[(100, 10_000)]);
        let goal = 20_f64.ln();
        let needed = quiet.needed(ALLOWED, 0.02, goal).unwrap();
        assert!((1000..10_000).contains(&needed), "{needed}");
        let mut told = quiet.clone();
        told.add(ALLOWED, Draws::Examples { bad: needed / 50 + 1, examples: needed }, goal);
        assert!(told.log(ALLOWED) >= goal);
        assert_eq!(told.needed(ALLOWED, 0.02, goal), Some(0));
        assert_eq!(quiet.needed(ALLOWED, 0.009, goal), None);
    }

    #[test]
    fn a_batch_is_tested_by_itself_for_what_may_be_spent_and_for_no_more() {
        let goal = 20_f64.ln();
        let (mut quiet, mut total) = (Evidence::default(), 0.0);
        for _ in 0..1000 {
            quiet.add(ALLOWED, Draws::Examples { bad: 7, examples: 700 }, goal);
            total += 7.0;
            let purse = TESTS * total / (total + HALF_TESTS);
            assert!(quiet.spent <= purse);
        }
        // Little is left over.
        assert!(quiet.spent > 0.99 * TESTS * total / (total + HALF_TESTS), "{}", quiet.spent);
        assert_eq!(quiet.paid, 0.0);
        let mut early = added(&[(100, 10_000)]);
        early.add(ALLOWED, Draws::Examples { bad: 30, examples: 1000 }, goal);
        assert!(early.paid >= 20.0 - 1e-9 && early.log(ALLOWED) >= goal);
        // One example tells nothing by itself.
        let before = early.spent;
        early.add(ALLOWED, Draws::Examples { bad: 1, examples: 1 }, goal);
        assert_eq!(early.spent, before);
    }
}
