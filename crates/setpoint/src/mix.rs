//! The share of positives among rows without labels, where each class scores as in labelled rows (label shift).
//!
//! Labelled scores are counted between their quantiles, f1 of the positives and f0 of the negatives in each cell,
//! which makes p f1 / (p f1 + (1 - p) f0) a calibrated probability at every share p of positives. Rows without labels,
//! u of them in each cell, have the likelihood
//!
//! ```text
//! product over cells of (p f1 + (1 - p) f0)^u
//! ```
//!
//! and its maximum is found by the expectation of the labels and the share that they then have, in turn (Saerens
//! and others, 2002). The interval is that of draws of all three counts anew. That each class scores as before is an
//! assumption. Scores that no mixture of the two classes explains speak against it ([`Mix::p_value`]); and where new
//! labelled rows are there, so do scores within a class that are others than before ([`same_classes`]).

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::certify::monitor::{Sketch, count, edges};
use crate::metric::MetricError;
use crate::metric::interval::normal_quantile;
use crate::metric::two_sample::shares;
use crate::sample::Sample;

/// Draws for the interval and for the test.
const DRAWS: usize = 999;
/// Added to the count of each cell, so that none is impossible.
const SMOOTHING: f64 = 0.5;

/// A share of positives, and whether the scores can have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// The most likely share.
    pub share: f64,
    /// Lower end of its interval.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// Confidence of the interval.
    pub confidence: f64,
    /// The chance of scores so unlike any mixture of the two classes, were they one.
    pub p_value: f64,
}

/// Estimates the share of positives among rows without labels.
///
/// # Errors
/// If the labelled rows lack a class, there are no other rows, or the confidence is not in (0, 1).
pub fn estimate(
    sample: &Sample,
    scores: &[f32],
    unlabelled: &[f32],
    confidence: f64,
) -> Result<Mix, MetricError> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(MetricError::Confidence { value: confidence });
    }
    sample.check_scores(scores)?;
    let edges = edges(sample.labels(), scores);
    let labelled = count(&edges, sample.labels(), scores);
    let classes = [0, 1].map(|class| labelled.iter().map(|cell| cell[class] as f64).collect::<Vec<f64>>());
    let rows = count(&edges, &vec![false; unlabelled.len()], unlabelled);
    let rows: Vec<f64> = rows.iter().map(|cell| cell[0] as f64).collect();
    if unlabelled.is_empty() || classes.iter().any(|class| class.iter().sum::<f64>() == 0.0) {
        let reason = "it takes labelled rows of both classes and some rows without labels".to_owned();
        return Err(MetricError::Undefined { metric: "the share of positives".to_owned(), reason });
    }
    let (share, deviance) = fit(&classes, &rows);
    let parts = classes.each_ref().map(|class| normalised(class));
    let expected: Vec<f64> =
        parts[1].iter().zip(&parts[0]).map(|(one, other)| share * one + (1.0 - share) * other).collect();
    let sizes = [&classes[0], &classes[1], &rows].map(|counts| counts.iter().sum::<f64>());
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let (mut drawn, mut unlike) = (Vec::with_capacity(DRAWS), 0);
    for _ in 0..DRAWS {
        let again = [redrawn(&mut rng, &classes[0]), redrawn(&mut rng, &classes[1])];
        drawn.push(fit(&again, &redrawn(&mut rng, &rows)).0);
        let of = |rng: &mut ChaCha8Rng, parts: &[f64], size: f64| {
            redrawn(rng, &parts.iter().map(|part| part * size).collect::<Vec<f64>>())
        };
        let model = [of(&mut rng, &parts[0], sizes[0]), of(&mut rng, &parts[1], sizes[1])];
        unlike += usize::from(fit(&model, &of(&mut rng, &expected, sizes[2])).1 >= deviance);
    }
    drawn.sort_unstable_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let place = |share: f64| drawn[((share * DRAWS as f64) as usize).min(DRAWS - 1)];
    let p_value = (unlike + 1) as f64 / (DRAWS + 1) as f64;
    Ok(Mix { share, lower: place(tail), upper: place(1.0 - tail), confidence, p_value })
}

/// The most likely share, and how far the cells are from what it makes likely.
fn fit(classes: &[Vec<f64>; 2], rows: &[f64]) -> (f64, f64) {
    let [negatives, positives] = classes.each_ref().map(|class| normalised(class));
    let total: f64 = rows.iter().sum();
    let mut share = 0.5;
    for _ in 0..500 {
        let expected: f64 = (rows.iter().zip(positives.iter().zip(&negatives)))
            .map(|(count, (one, other))| count * share * one / (share * one + (1.0 - share) * other))
            .sum();
        let next = (expected / total.max(1.0)).clamp(1e-9, 1.0 - 1e-9);
        let step = (next - share).abs();
        share = next;
        if step < 1e-10 {
            break;
        }
    }
    let deviance = (rows.iter().zip(positives.iter().zip(&negatives)))
        .filter(|(count, _)| **count > 0.0)
        .map(|(count, (one, other))| {
            2.0 * count * (count / (total * (share * one + (1.0 - share) * other))).ln()
        })
        .sum();
    (share, deviance)
}

/// Counts as shares, none of them zero.
fn normalised(counts: &[f64]) -> Vec<f64> {
    let total: f64 = counts.iter().map(|count| count + SMOOTHING).sum();
    counts.iter().map(|count| (count + SMOOTHING) / total).collect()
}

/// Counts drawn anew around these: Poisson, by the product of uniform numbers where few, else nearly normal.
fn redrawn(rng: &mut ChaCha8Rng, counts: &[f64]) -> Vec<f64> {
    let one = |mean: &f64| {
        if *mean > 50.0 {
            let normal = normal_quantile(rng.random::<f64>().clamp(1e-12, 1.0 - 1e-12));
            return (mean + mean.sqrt() * normal).round().max(0.0);
        }
        let (limit, mut product, mut drawn) = ((-mean).exp(), rng.random::<f64>(), 0.0);
        while product > limit {
            product *= rng.random::<f64>();
            drawn += 1.0;
        }
        drawn
    };
    counts.iter().map(one).collect()
}

/// The chance of scores within the negatives, and within the positives, as unlike those of a sketch, were they alike:
/// Fisher's exact test at each of its edges, times their number. `None` for a class without rows.
#[must_use]
pub fn same_classes(sketch: &Sketch, sample: &Sample, scores: &[f32]) -> [Option<f64>; 2] {
    let found = Sketch { counts: count(&sketch.edges, sample.labels(), scores), ..sketch.clone() };
    [false, true].map(|class| {
        let of = |sketch: &Sketch| {
            let rows = sketch.counts.iter().map(|cell| cell[usize::from(class)]).sum::<u64>();
            sketch.above(Some(class)).into_iter().map(move |above| (above, rows))
        };
        let tests = of(sketch).zip(of(&found)).filter_map(|(before, now)| shares(before, now));
        let least = tests.map(|test| test.p_value).reduce(f64::min)?;
        Some((least * sketch.edges.len() as f64).min(1.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::interval::upper_tail;

    /// Labels with this share of positives; scores of positives are a normal number higher by `gap`.
    fn drawn(rng: &mut ChaCha8Rng, rows: usize, share: f64, gap: f64) -> (Sample, Vec<f32>) {
        let normal = |rng: &mut ChaCha8Rng| normal_quantile(rng.random::<f64>().clamp(1e-12, 1.0 - 1e-12));
        let labels: Vec<bool> = (0..rows).map(|_| rng.random::<f64>() < share).collect();
        let scores =
            labels.iter().map(|label| (normal(rng) + if *label { gap } else { 0.0 }) as f32).collect();
        (Sample::new(labels).unwrap(), scores)
    }

    #[test]
    fn intervals_of_the_share_hold_it_and_true_mixtures_are_not_refused() {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let (draws, share) = (60, 0.02);
        let (mut missed, mut refused) = (0, 0);
        for _ in 0..draws {
            let (sample, scores) = drawn(&mut rng, 3000, 0.1, 2.0);
            let (_, unlabelled) = drawn(&mut rng, 3000, share, 2.0);
            let mix = estimate(&sample, &scores, &unlabelled, 0.9).unwrap();
            missed += u64::from(!(mix.lower..=mix.upper).contains(&share));
            refused += u64::from(mix.p_value <= 0.1);
            assert!(
                mix.lower <= mix.share && mix.share <= mix.upper && (mix.share - share).abs() < 0.03,
                "{mix:?}"
            );
        }
        // An interval by draws is approximate: it may miss half as often again as it says.
        assert!(upper_tail(draws, missed, 0.15) > 1e-3, "{missed} of {draws}");
        assert!(upper_tail(draws, refused, 0.15) > 1e-3, "{refused} of {draws}");
    }

    #[test]
    fn scores_that_are_no_mixture_of_the_classes_speak_against_label_shift() {
        let mut rng = ChaCha8Rng::seed_from_u64(12);
        let (sample, scores) = drawn(&mut rng, 4000, 0.2, 2.0);
        let sketch = Sketch::of(&sample, &scores, 0).unwrap();
        let (other, moved) = drawn(&mut rng, 4000, 0.05, 2.0);
        let same = same_classes(&sketch, &other, &moved);
        assert!(same.iter().all(|p| p.unwrap() > 0.01), "{same:?}");
        let shifted: Vec<f32> = moved.iter().map(|score| score - 1.0).collect();
        assert!(estimate(&sample, &scores, &shifted, 0.95).unwrap().p_value < 0.01);
        let found = same_classes(&sketch, &other, &shifted);
        assert!(found.iter().all(|p| p.unwrap() < 0.01), "{found:?}");
        let negatives = Sample::new(vec![false; 10]).unwrap();
        assert!(estimate(&negatives, &[0.0; 10], &moved, 0.95).is_err());
        assert_eq!(same_classes(&sketch, &negatives, &[0.0; 10])[1], None);
    }
}
