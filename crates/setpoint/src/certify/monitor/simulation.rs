//! The promise of a watch: 4,000 streams at the boundary of their conditions, looked at after every batch.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::evidence::{Draws, Evidence};
use crate::metric::interval::{lower_tail, upper_tail};

const STREAMS: u64 = 4000;
const ROWS: u64 = 100_000;
const BATCH: u64 = 100;
const ALPHA: f64 = 0.05;

/// Successes of n trials, by the inverse of the distribution.
fn binomial(rng: &mut ChaCha8Rng, n: u64, p: f64) -> u64 {
    let (mut left, odds) = (rng.random::<f64>(), p / (1.0 - p));
    let mut term = (n as f64 * (-p).ln_1p()).exp();
    let mut k = 0;
    while left > term && k < n {
        left -= term;
        term *= (n - k) as f64 / (k + 1) as f64 * odds;
        k += 1;
    }
    k
}

/// The streams in which `alarmed` is ever true after a batch.
fn alarms<S>(
    seed: u64,
    start: impl Fn() -> S + Sync,
    step: impl Fn(&mut S, &mut ChaCha8Rng) -> bool + Sync,
) -> u64 {
    let stream = |index: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(index);
        let mut state = start();
        u64::from((0..ROWS / BATCH).any(|_| step(&mut state, &mut rng)))
    };
    (0..STREAMS).into_par_iter().map(stream).sum()
}

/// At most the alarms of chance alpha, but for a chance of 1e-4 that the seed is unlucky.
fn assert_rare(alarms: u64) {
    assert!(upper_tail(STREAMS, alarms, ALPHA) > 1e-4, "{alarms} of {STREAMS}");
}

#[test]
fn one_condition_at_its_boundary_alarms_rarely_and_not_needlessly_rarely() {
    // fpr<=1%, recall>=0.9 and precision>=0.8 with positives such that all are at their boundary: 4.3%.
    for (seed, allowed, examples) in [(1, 0.01, 96), (2, 0.1, 4), (3, 0.2, 5)] {
        let found = alarms(seed, Evidence::default, |evidence, rng| {
            let bad = binomial(rng, examples, allowed);
            evidence.add(allowed, Draws::Examples { bad, examples }, -ALPHA.ln());
            evidence.log(allowed) >= -ALPHA.ln()
        });
        assert_rare(found);
        // At least a third of alpha, but for the same chance of bad luck.
        assert!(lower_tail(STREAMS, found, ALPHA / 3.0) > 1e-4, "{found} of {STREAMS} at {allowed}");
        assert!(found as f64 >= ALPHA / 3.0 * STREAMS as f64, "{found} of {STREAMS} at {allowed}");
    }
}

#[test]
fn three_conditions_in_two_groups_share_the_chance_of_a_false_alarm() {
    let limits = [0.01, 0.1, 0.2];
    let (start, goal) = (|| vec![Evidence::default(); 6], (6.0 / ALPHA).ln());
    let found = alarms(4, start, |state, rng| {
        let mut alarm = false;
        for group in 0..2 {
            let positives = binomial(rng, BATCH / 2, 0.0426);
            let (missed, false_alarms) =
                (binomial(rng, positives, 0.1), binomial(rng, BATCH / 2 - positives, 0.01));
            let caught = positives - missed;
            let batches = [
                (false_alarms, BATCH / 2 - positives),
                (missed, positives),
                (false_alarms, caught + false_alarms),
            ];
            for (place, (bad, examples)) in batches.into_iter().enumerate() {
                let evidence = &mut state[3 * group + place];
                evidence.add(limits[place], Draws::Examples { bad, examples }, goal);
                alarm |= evidence.log(limits[place]) >= goal;
            }
        }
        alarm
    });
    assert_rare(found);
    // Six exact levels of alpha/6 that know nothing of each other would come to 4.9%; a third of that is seen.
    assert!(found as f64 >= ALPHA / 4.0 * STREAMS as f64, "{found} of {STREAMS}");
}

#[test]
fn entities_of_alike_rows_and_rows_with_weights_keep_the_promise() {
    // Entities of 1 to 5 rows that are all bad together, and rows of weight 1 to 5: a tenth is bad.
    let found = alarms(5, Evidence::default, |evidence, rng| {
        let unit = |rng: &mut ChaCha8Rng| {
            let size = f64::from(rng.random_range(1..=5_u32));
            (if rng.random::<f64>() < 0.1 { size } else { 0.0 }, size)
        };
        let units: Vec<(f64, f64)> = (0..6).map(|_| unit(rng)).collect();
        evidence.add(0.1, Draws::Units { units: &units, largest: 5.0 }, -ALPHA.ln());
        evidence.log(0.1) >= -ALPHA.ln()
    });
    assert_rare(found);
}

#[test]
fn intervals_hold_at_every_look_together() {
    // Looked at after every twentieth batch.
    let found = alarms(
        6,
        || (super::Sums::default(), 0),
        |(sums, batches), rng| {
            sums.add_examples(binomial(rng, BATCH, 0.02), BATCH);
            *batches += 1;
            let interval = (*batches % 20 == 0).then(|| sums.of_examples(ALPHA));
            interval.is_some_and(|interval| !(interval.lower..=interval.upper).contains(&0.02))
        },
    );
    assert_rare(found);
}

#[test]
fn a_rate_of_twice_the_target_is_told_after_a_long_quiet_time() {
    // 50,000 quiet rows, then 2% instead of 1%: simulated to take 2,500 rows in the mean.
    let told = |index: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        rng.set_stream(index);
        let mut evidence = Evidence::default();
        for _ in 0..500 {
            evidence.add(
                0.01,
                Draws::Examples { bad: binomial(&mut rng, 100, 0.01), examples: 100 },
                -ALPHA.ln(),
            );
        }
        let mut rows = 0;
        while evidence.log(0.01) < -ALPHA.ln() {
            evidence.add(
                0.01,
                Draws::Examples { bad: binomial(&mut rng, 100, 0.02), examples: 100 },
                -ALPHA.ln(),
            );
            rows += 100;
        }
        rows
    };
    let mean = (0..400).into_par_iter().map(told).sum::<u64>() as f64 / 400.0;
    // The standard error of the mean is about 70.
    assert!((2200.0..2900.0).contains(&mean), "{mean}");
}
