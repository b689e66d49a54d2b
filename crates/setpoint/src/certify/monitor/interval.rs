//! Intervals for a rate that hold at every look together.
//!
//! Of examples that are draws, s of n counted, the interval holds every p at which
//!
//! ```text
//! B(s + 1/2, n - s + 1/2) / B(1/2, 1/2) < p^s (1 - p)^(n - s) / alpha
//! ```
//!
//! (Robbins): the left side is the mean likelihood over Jeffreys' prior, and its ratio to that of the true p
//! exceeds 1/alpha ever with a chance of at most alpha. The rate is taken not to change; of one that does, the
//! interval is for its mean so far, about so.
//!
//! Entities, and examples with weights, have an interval that holds so for many draws and not for few
//! (Waudby-Smith and others, 2024): with V the mean square of c - R n over m draws, R = sum c / sum n,
//!
//! ```text
//! sum n |R - rate| <= m sqrt(V) sqrt(2 (m v + 1) / (m^2 v) ln(sqrt(m v + 1) / alpha))
//! ```

use serde::{Deserialize, Serialize};

use crate::metric::interval::Interval;

/// Draws at which the interval of entities and weights is narrowest.
const NARROWEST_AT: f64 = 300.0;

/// Sums over the draws so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sums {
    /// What the rate counts.
    pub counted: f64,
    /// What it is a share of.
    pub examples: f64,
    draws: f64,
    squares: [f64; 3],
}

impl Sums {
    pub(super) fn is_sound(&self) -> bool {
        let sums = [self.counted, self.examples, self.draws].into_iter().chain(self.squares);
        sums.into_iter().all(|sum| (0.0..1e150).contains(&sum))
            && self.counted <= self.examples * (1.0 + 1e-9)
    }

    pub(super) fn add(&mut self, counted: f64, examples: f64) {
        self.counted += counted;
        self.examples += examples;
        self.draws += f64::from(u8::from(examples > 0.0));
        for (sum, term) in
            self.squares.iter_mut().zip([counted * counted, counted * examples, examples * examples])
        {
            *sum += term;
        }
    }

    /// Adds examples that are draws.
    pub(super) fn add_examples(&mut self, counted: u64, examples: u64) {
        let (counted, examples) = (counted as f64, examples as f64);
        self.counted += counted;
        self.examples += examples;
        self.draws += examples;
        for (sum, term) in self.squares.iter_mut().zip([counted, counted, examples]) {
            *sum += term;
        }
    }

    /// The rate so far.
    pub(super) fn rate(&self) -> Option<f64> {
        (self.examples > 0.0).then(|| self.counted / self.examples)
    }

    /// The interval of examples that are draws.
    pub(super) fn of_examples(&self, alpha: f64) -> Interval {
        let (s, n) = (self.counted, self.examples);
        let limit = log_beta(s + 0.5, n - s + 0.5) - log_beta(0.5, 0.5) + alpha.ln();
        let log_likelihood = |p: f64| {
            let term = |count: f64, log: f64| if count == 0.0 { 0.0 } else { count * log };
            term(s, p.ln()) + term(n - s, (-p).ln_1p())
        };
        let rate = self.rate().unwrap_or(0.5);
        // The likelihood falls on both sides of the rate.
        let end = |mut outside: f64| {
            let mut inside = rate;
            if log_likelihood(outside) > limit {
                return outside;
            }
            for _ in 0..50 {
                let middle = 0.5 * (inside + outside);
                if log_likelihood(middle) > limit { inside = middle } else { outside = middle }
            }
            outside
        };
        Interval { lower: end(0.0), upper: end(1.0), confidence: 1.0 - alpha }
    }

    /// The interval of entities or examples with weights.
    pub(super) fn of_units(&self, alpha: f64) -> Interval {
        let Some(rate) = self.rate() else {
            return Interval { lower: 0.0, upper: 1.0, confidence: 1.0 - alpha };
        };
        let [cc, cn, nn] = self.squares;
        let m = self.draws;
        let variance = ((cc - rate * (2.0 * cn - rate * nn)) / m).max(0.0);
        let log = -2.0 * alpha.ln();
        let v = (log + log.ln() + 1.0) / NARROWEST_AT;
        let spread = (2.0 * (m * v + 1.0) / (m * m * v) * ((m * v + 1.0).sqrt() / alpha).ln()).sqrt();
        let half = m * variance.sqrt() * spread / self.examples;
        let (lower, upper) = ((rate - half).max(0.0), (rate + half).min(1.0));
        Interval { lower, upper, confidence: 1.0 - alpha }
    }
}

/// ln B(a, b) for a, b >= 1/2.
fn log_beta(a: f64, b: f64) -> f64 {
    log_gamma(a) + log_gamma(b) - log_gamma(a + b)
}

/// ln Gamma(x) for x >= 1/2, by Stirling's series from 15 on.
fn log_gamma(mut x: f64) -> f64 {
    let mut product = 1.0;
    while x < 15.0 {
        product *= x;
        x += 1.0;
    }
    let square = x * x;
    let series = (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / square) / square) / square) / x;
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - f64::ln(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_gamma_is_that_of_factorials_and_of_a_half() {
        let mut factorial = 1.0_f64;
        for n in 1..40 {
            assert!(
                (log_gamma(f64::from(n)) - factorial.ln()).abs() < 1e-12 * factorial.ln().max(1.0),
                "{n}"
            );
            factorial *= f64::from(n);
        }
        assert!((log_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-13);
    }

    #[test]
    fn intervals_hold_the_rate_and_are_wider_than_those_of_one_look() {
        for (counted, examples) in [(0, 50), (7, 1000), (50, 50), (900, 1000)] {
            let mut sums = Sums::default();
            sums.add_examples(counted, examples);
            let always = sums.of_examples(0.05);
            let once = crate::metric::interval::clopper_pearson(counted, examples, 0.95).unwrap();
            let rate = sums.rate().unwrap();
            assert!(always.lower <= rate && rate <= always.upper);
            assert!(always.upper - always.lower > once.upper - once.lower, "{always:?} {once:?}");
            assert!(always.upper - always.lower < 3.0 * (once.upper - once.lower), "{always:?} {once:?}");
        }
        let none = Sums::default().of_examples(0.05);
        assert_eq!((none.lower, none.upper), (0.0, 1.0));
    }

    #[test]
    fn units_of_one_example_have_about_the_interval_of_examples() {
        let (mut units, mut examples) = (Sums::default(), Sums::default());
        (0..2000).for_each(|row| units.add(f64::from(u8::from(row % 10 == 0)), 1.0));
        examples.add_examples(200, 2000);
        assert_eq!(units, examples);
        let (one, other) = (units.of_units(0.05), examples.of_examples(0.05));
        assert!(
            (one.lower - other.lower).abs() < 0.01 && (one.upper - other.upper).abs() < 0.01,
            "{one:?} {other:?}"
        );
    }
}
