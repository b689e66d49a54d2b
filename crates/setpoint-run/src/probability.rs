//! Scores as probabilities: a logistic curve through held-out rows (Platt, 1999).
//!
//! ```text
//! p(s) = 1 / (1 + exp(-(slope s + intercept))),        slope >= 0
//! ```
//!
//! Two numbers fitted by Newton's method to the calibration part, or to validation where there is no
//! calibration part. Rows of the class that is rarer than the other cannot make the curve a step:
//! labels are drawn in towards 1/2 by one row of each class, as Platt does. Nor can a few scores far out of
//! all others (a ratio with a divisor near 0) make it flat: they count as no further than thrice the distance
//! of all but one in a hundred. Never falling in the score, so a ranking by probability is the ranking by score.

use setpoint::Sample;

/// Newton steps; a dozen settle it.
const STEPS: usize = 100;

/// From scores to probabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probability {
    /// How steeply the log-odds rise with the score; not negative.
    pub slope: f64,
    /// The log-odds at score 0.
    pub intercept: f64,
}

impl Probability {
    /// Fits the curve to scores and labels.
    #[must_use]
    pub fn fit(sample: &Sample, scores: &[f32]) -> Self {
        let totals = sample.totals();
        let high = (totals.positives + 1.0) / (totals.positives + 2.0);
        let low = 1.0 / (totals.negatives + 2.0);
        let constant =
            Self { slope: 0.0, intercept: ((totals.positives + 1.0) / (totals.negatives + 1.0)).ln() };
        let scores = &drawn_in(scores)[..];
        // In units of the scores' own spread, so that steps and stops do not depend on their scale.
        let standard = setpoint::train::Standard::of(sample, scores);
        let rows: Vec<(f64, f64, f64)> = (0..sample.len())
            .map(|row| {
                let target = if sample.labels()[row] { high } else { low };
                (standard.from_score(f64::from(scores[row])), target, sample.weight(row))
            })
            .collect();
        let (mut slope, mut intercept) = (0.0, constant.intercept);
        let mut loss = loss_at(&rows, slope, intercept);
        for _ in 0..STEPS {
            let (step, decrease) = newton(&rows, slope, intercept);
            if decrease <= 1e-12 * loss.abs() {
                break;
            }
            // Halved until the loss falls as a fraction of what its slope promises.
            let mut size = 1.0;
            let moved = loop {
                let (a, b) = (slope + size * step.0, intercept + size * step.1);
                let next = loss_at(&rows, a, b);
                if next <= loss - 1e-4 * size * decrease {
                    break Some((a, b, next));
                }
                size /= 2.0;
                if size < 1e-10 {
                    break None;
                }
            };
            let Some(moved) = moved else { break };
            (slope, intercept, loss) = moved;
        }
        if !(slope > 0.0 && slope.is_finite() && intercept.is_finite()) {
            return constant;
        }
        let slope = slope / standard.deviation;
        Self { slope, intercept: intercept - slope * standard.mean }
    }

    /// The probability that a row with this score is positive.
    #[must_use]
    pub fn of(&self, score: f32) -> f64 {
        let odds = self.slope * f64::from(score) + self.intercept;
        let small = (-odds.abs()).exp();
        if odds >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) }
    }
}

/// The scores, those far out drawn in.
fn drawn_in(scores: &[f32]) -> Vec<f32> {
    let mut sorted = scores.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let place = |share: f64| sorted[((sorted.len() - 1) as f64 * share).round() as usize];
    let (low, middle, high) = (place(0.01), place(0.5), place(0.99));
    let (lowest, highest) = (low - 3.0 * (middle - low), high + 3.0 * (high - middle));
    scores.iter().map(|score| score.clamp(lowest, highest)).collect()
}

/// Cross-entropy with targets between 0 and 1, summed.
fn loss_at(rows: &[(f64, f64, f64)], slope: f64, intercept: f64) -> f64 {
    rows.iter()
        .map(|(score, target, weight)| {
            let odds = slope * score + intercept;
            weight * (odds.max(0.0) + (-odds.abs()).exp().ln_1p() - target * odds)
        })
        .sum()
}

/// The Newton step, and the decrease it promises to first order.
fn newton(rows: &[(f64, f64, f64)], slope: f64, intercept: f64) -> ((f64, f64), f64) {
    // A little on the diagonal keeps equal scores from making the system singular.
    let (mut aa, mut ab, mut bb) = (1e-9, 0.0, 1e-9);
    let (mut ga, mut gb) = (0.0, 0.0);
    for (score, target, weight) in rows {
        let odds = slope * score + intercept;
        let p = 1.0 / (1.0 + (-odds).exp());
        let (error, curve) = (weight * (p - target), weight * p * (1.0 - p));
        ga += error * score;
        gb += error;
        aa += curve * score * score;
        ab += curve * score;
        bb += curve;
    }
    let determinant = aa * bb - ab * ab;
    let step = (-(bb * ga - ab * gb) / determinant, -(aa * gb - ab * ga) / determinant);
    (step, -(step.0 * ga + step.1 * gb))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Labels drawn with log-odds 2 s - 1, whatever the unit that s is written in.
    fn drawn(rows: usize, unit: f32) -> (Sample, Vec<f32>) {
        let mut state = 11u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as f64 / (1u64 << 31) as f64
        };
        let (mut labels, mut scores) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let score = 4.0 * random() - 2.0;
            labels.push(random() < 1.0 / (1.0 + (1.0 - 2.0 * score).exp()));
            scores.push(score as f32 * unit);
        }
        (Sample::new(labels).unwrap(), scores)
    }

    #[test]
    fn the_curve_that_drew_the_labels_is_found_in_any_unit() {
        for unit in [1.0, 1e-3, 1e4] {
            let (sample, scores) = drawn(20_000, unit);
            let found = Probability::fit(&sample, &scores);
            // Standard errors of about 0.03 and 0.02 at 20,000 rows.
            assert!((found.slope * f64::from(unit) - 2.0).abs() < 0.1, "{found:?}");
            assert!((found.intercept + 1.0).abs() < 0.07, "{found:?}");
        }
    }

    #[test]
    fn a_few_scores_far_out_do_not_flatten_the_curve() {
        let (sample, mut scores) = drawn(20_000, 1.0);
        // Negatives among them, as where a ratio's divisor is near 0.
        scores.iter_mut().step_by(500).for_each(|score| *score = 2000.0);
        let found = Probability::fit(&sample, &scores);
        assert!((found.slope - 2.0).abs() < 0.3 && (found.intercept + 1.0).abs() < 0.2, "{found:?}");
    }

    #[test]
    fn separable_and_equal_and_reversed_scores_have_probabilities() {
        let sample = Sample::new(vec![true, true, false, false, false, false]).unwrap();
        let separable = Probability::fit(&sample, &[3.0, 2.0, 1.0, 0.0, -1.0, -2.0]);
        assert!(separable.of(3.0) > 0.6 && separable.of(-2.0) < 0.3 && separable.slope < 100.0);
        let equal = Probability::fit(&sample, &[1.0; 6]);
        assert!((equal.of(1.0) - 3.0 / 8.0).abs() < 0.05, "{equal:?}");
        let reversed = Probability::fit(&sample, &[-3.0, -2.0, -1.0, 0.0, 1.0, 2.0]);
        assert_eq!(reversed.slope, 0.0);
    }
}
