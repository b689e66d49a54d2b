//! From values to positions along an axis, and the round values worth a tick.

/// How values are spread along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    Linear,
    Log,
}

/// A range of values along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    spread: Spread,
    from: f64,
    to: f64,
}

impl Scale {
    /// Evenly spread from one value to another. A range that is empty or not finite is widened to
    /// one that can be drawn.
    #[must_use]
    pub fn linear(from: f64, to: f64) -> Self {
        let (from, to) = if from.is_finite() && to.is_finite() { (from, to) } else { (0.0, 1.0) };
        let room = 1e-6 * from.abs().max(to.abs()).max(1e-6);
        let (from, to) = if to - from > room { (from, to) } else { (from - room, from + room) };
        Self { spread: Spread::Linear, from, to }
    }

    /// Evenly spread by magnitude. Falls back to [`linear`](Self::linear) where the range is not
    /// above zero.
    #[must_use]
    pub fn log(from: f64, to: f64) -> Self {
        if from > 0.0 && from < to && to.is_finite() {
            Self { spread: Spread::Log, from, to }
        } else {
            Self::linear(from, to)
        }
    }

    /// The range.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        (self.from, self.to)
    }

    /// Where a value lies: 0 at the start of the range, 1 at its end, beyond them outside of it.
    #[must_use]
    pub fn position(&self, value: f64) -> f64 {
        match self.spread {
            Spread::Linear => (value - self.from) / (self.to - self.from),
            // What is not above zero lies far outside, yet at a finite place.
            Spread::Log => (value.max(self.from * 1e-9) / self.from).ln() / (self.to / self.from).ln(),
        }
    }

    /// Round values within the range, about as many as asked for.
    #[must_use]
    pub fn ticks(&self, about: usize) -> Vec<f64> {
        let about = about.max(2);
        match self.spread {
            Spread::Linear => linear_ticks(self.from, self.to, about),
            Spread::Log => log_ticks(self.from, self.to, about),
        }
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks(from: f64, to: f64, about: usize) -> Vec<f64> {
    let rough = (to - from) / about as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step =
        step.into_iter().find(|step| (to - from) / step <= 1.25 * about as f64).unwrap_or(10.0 * power);
    // A range bound that is a multiple but for rounding still gets its tick.
    let slack = 1e-9;
    let first = (from / step - slack).ceil() as i64;
    let last = (to / step + slack).floor() as i64;
    (first..=last).map(|place| rounded(place as f64 * step, step)).collect()
}

/// Powers of ten, with 2 and 5 between them where there is room.
fn log_ticks(from: f64, to: f64, about: usize) -> Vec<f64> {
    let (first, last) = (from.log10().floor() as i32, to.log10().ceil() as i32);
    let inside = |value: &f64| *value >= from * (1.0 - 1e-9) && *value <= to * (1.0 + 1e-9);
    let with = |factors: &[f64]| -> Vec<f64> {
        let all = (first..=last).flat_map(|power| factors.iter().map(move |factor| (*factor, power)));
        all.map(|(factor, power)| rounded(factor * 10f64.powi(power), 10f64.powi(power)))
            .filter(inside)
            .collect()
    };
    let fine = with(&[1.0, 2.0, 5.0]);
    if fine.len() <= about + 1 {
        return if fine.len() >= 2 { fine } else { linear_ticks(from, to, about) };
    }
    let powers = with(&[1.0]);
    let every = powers.len().div_ceil(about);
    powers.into_iter().step_by(every.max(1)).collect()
}

/// Without the noise of multiplying: 0.3, not 0.30000000000000004.
fn rounded(value: f64, step: f64) -> f64 {
    let digits = (1.0 - step.log10().floor()).clamp(0.0, 300.0) as usize;
    format!("{value:.digits$}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_reach_the_ends() {
        assert_eq!(Scale::linear(0.0, 1.0).ticks(5), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        assert_eq!(Scale::linear(0.0, 0.02).ticks(5), [0.0, 0.005, 0.01, 0.015, 0.02]);
        assert_eq!(Scale::linear(-3.2, 7.9).ticks(5), [-2.0, 0.0, 2.0, 4.0, 6.0]);
        assert_eq!(Scale::linear(0.95, 1.0).ticks(5), [0.95, 0.96, 0.97, 0.98, 0.99, 1.0]);
        assert_eq!(Scale::log(0.001, 1.0).ticks(5), [0.001, 0.01, 0.1, 1.0]);
        assert_eq!(Scale::log(0.05, 1.0).ticks(5), [0.05, 0.1, 0.2, 0.5, 1.0]);
        assert_eq!(Scale::log(1e-12, 1.0).ticks(4).len(), 4);
        assert_eq!(Scale::log(0.31, 0.39).ticks(4), [0.32, 0.34, 0.36, 0.38]);
    }

    #[test]
    fn ranges_that_cannot_be_drawn_are_widened() {
        for scale in [
            Scale::linear(3.0, 3.0),
            Scale::linear(2.0, 1.0),
            Scale::linear(0.0, 0.0),
            Scale::linear(f64::NAN, 1.0),
            Scale::linear(f64::NEG_INFINITY, 1.0),
            Scale::log(0.0, 1.0),
            Scale::log(-1.0, -1.0),
        ] {
            let (from, to) = scale.range();
            assert!(from < to, "{scale:?}");
            assert!(scale.position(from).is_finite() && scale.ticks(5).len() < 20, "{scale:?}");
        }
    }

    #[test]
    fn positions_run_from_zero_to_one() {
        assert_eq!(Scale::linear(2.0, 4.0).position(3.0), 0.5);
        assert!((Scale::log(0.01, 1.0).position(0.1) - 0.5).abs() < 1e-12);
        assert!(Scale::log(0.01, 1.0).position(0.0) < -1.0);
    }
}
